import type { HistoryPlanWithOptions } from "../../protocol/history-messages.js";
import type { HistoryPlan } from "../../query/plan/history-plan.js";
import type { Leaf, TextNode } from "../../query/plan/pattern-plan.js";

/** Whether the plans depend on what the commits changed. */
export function needsFiles(plans: readonly HistoryPlanWithOptions[]): boolean {
  return plans.some(({ plan }) => plan.kind === "diff" || plan.fileFilters.length > 0);
}

/** Whether the plans depend on the languages of what the commits changed. */
export function needsLanguages(plans: readonly HistoryPlanWithOptions[]): boolean {
  return plans.some(({ plan }) => plan.fileFilters.some(({ kind }) => kind === "language"));
}

/** Whether the plans depend on messages. */
export function needsMessages(plans: readonly HistoryPlanWithOptions[]): boolean {
  return plans.some(({ plan }) => plan.messages.length > 0 || (plan.kind === "commit" && plan.pattern !== undefined));
}

/**
 * Plans that find every commit that the given plans find, and depend on headers and messages only. Undefined if that
 * excludes nothing.
 */
export function headerPlans(plans: readonly HistoryPlanWithOptions[]): readonly HistoryPlanWithOptions[] | undefined {
  if (!plans.every(({ plan }) => testsHeader(plan))) return undefined;
  return plans.map(({ plan, optionsIndex }) => ({ plan: headerPlan(plan), optionsIndex }));
}

function testsHeader({ kind, persons, messages, pattern }: HistoryPlan): boolean {
  return persons.length + messages.length > 0 || (kind === "commit" && pattern !== undefined);
}

function headerPlan(plan: HistoryPlan): HistoryPlan {
  const ofMessage = plan.kind === "commit" ? { pattern: plan.pattern, leaves: plan.leaves } : requireMessages(plan);
  return { ...plan, ...ofMessage, kind: "commit", fileFilters: [], messages: [], onlySign: undefined };
}

/** The filters on messages as a pattern. */
function requireMessages({ messages }: HistoryPlan): { pattern: TextNode | undefined; leaves: readonly Leaf[] } {
  const children = messages.map(({ negated }, leaf): TextNode => {
    const node: TextNode = { kind: "leaf", leaf };
    return negated ? { kind: "not", child: node } : node;
  });
  return {
    pattern: children.length > 1 ? { kind: "and", children } : children[0],
    leaves: messages.map(({ leaf }) => leaf),
  };
}
