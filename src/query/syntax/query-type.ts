import type { PatternType } from "../plan/plan.js";

/**
 * How a query text is parsed. Structural patterns are parsed, so that an error in such a query is detected, and
 * rejected by the planner: no plan has this type.
 */
export type QueryType = PatternType | "structural";
