import type { HistoryPlanWithOptions, LineLiterals } from "../../protocol/history-messages.js";
import { requiredLiterals, trigramBytes } from "../../query/plan/leaf-literals.js";
import type { HistoryPlan } from "../../query/plan/history-plan.js";
import type { Leaf, TextNode } from "../../query/plan/pattern-plan.js";

/** With more texts, reading each file once for each of them takes longer than comparing the files. */
const textCountMax = 16;

/**
 * Texts of which each file that the plans find has one in a changed line; undefined if they require none. Sound because a
 * file has a changed line that matches each leaf without which the pattern does not hold, and that line contains a literal of
 * each clause of the leaf.
 */
export function lineLiterals(plans: readonly HistoryPlanWithOptions[]): LineLiterals | undefined {
  const texts = unite(plans.map(({ plan }) => findPlanLiterals(plan)));
  if (texts === undefined || texts.length === 0 || texts.length > textCountMax) return undefined;
  const foldCase = plans.some(({ plan }) => plan.leaves.some((leaf) => leaf.foldCase));
  return { texts: foldCase ? texts.map(lowerAscii) : texts, foldCase };
}

function findPlanLiterals({ kind, pattern, leaves }: HistoryPlan): readonly Buffer[] | undefined {
  return kind === "diff" && pattern !== undefined ? findLiterals(pattern, leaves) : undefined;
}

function findLiterals(node: TextNode, leaves: readonly Leaf[]): readonly Buffer[] | undefined {
  switch (node.kind) {
    case "leaf":
      return bestClause(leaves[node.leaf]);
    case "not":
      return undefined;
    case "and":
      return best(node.children.map((child) => findLiterals(child, leaves)));
    case "or":
      return unite(node.children.map((child) => findLiterals(child, leaves)));
  }
}

function bestClause(leaf: Leaf): readonly Buffer[] | undefined {
  if (leaf.set !== undefined || leaf.analysis.matchesEmpty) return undefined;
  return best(requiredLiterals(leaf).clauses);
}

/** The one whose shortest text is longest. */
function best(sets: readonly (readonly Buffer[] | undefined)[]): readonly Buffer[] | undefined {
  let found: readonly Buffer[] | undefined;
  let length = trigramBytes - 1;
  for (const texts of sets) {
    if (texts === undefined || texts.length > textCountMax || texts.some((text) => text.includes(0))) continue;
    const shortest = Math.min(...texts.map((text) => text.length));
    if (shortest > length) [found, length] = [texts, shortest];
  }
  return found;
}

function unite(sets: readonly (readonly Buffer[] | undefined)[]): readonly Buffer[] | undefined {
  return sets.every((texts) => texts !== undefined) ? sets.flat() : undefined;
}

function lowerAscii(text: Uint8Array): Uint8Array {
  return text.map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte));
}
