import type { PatternType } from "../plan/plan.js";

/**
 * How a query text is read. Structural patterns are parsed, so that an error in such a query is found, and refused by
 * the planner: no plan has this type.
 */
export type QueryType = PatternType | "structural";
