import type { Lane } from "../../protocol/messages.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import { requiredLiterals, trigramBytes } from "../../query/plan/leaf-literals.js";
import type { Leaf, TextNode } from "../../query/plan/plan.js";
import type { SliceScheduler } from "./slice-scheduler.js";

/** A search that asks for more threads while others wait is considered again after this time. */
export const helpRetryMs = 20;

/** While other interactive searches wait, a second thread for one of them delays those, and takes time to wake. */
export function mustStayAlone(scheduler: Pick<SliceScheduler, "waitingIn">, lane: Lane): boolean {
  return lane === "interactive" && scheduler.waitingIn("interactive") > 0;
}

/** With more shards, their look-ups alone are worth a second thread: each takes 10 to 20 µs. */
const smallRowCountMax = 64;

/**
 * Whether a search of these shards may be too small to be worth more than one thread: there are few, and their posting
 * lists tell what has to be read.
 */
export function mayBeSmall({
  options,
  rows,
}: {
  readonly options: SearchOptions;
  readonly rows: Uint32Array;
}): boolean {
  return (
    rows.length <= smallRowCountMax &&
    options.useIndex &&
    options.plan.basicQueries.every(({ text }) => text?.pattern !== undefined && isBounded(text.pattern, text.leaves))
  );
}

/** Whether the index bounds the candidates of the node: it has a literal that each of them contains. */
function isBounded(node: TextNode, leaves: readonly Leaf[]): boolean {
  switch (node.kind) {
    case "leaf":
      return requiredLiterals(leaves[node.leaf]).clauses.some((clause) =>
        clause.every(({ length }) => length >= trigramBytes),
      );
    case "not":
      return false;
    case "and":
      return node.children.some((child) => isBounded(child, leaves));
    case "or":
      return node.children.every((child) => isBounded(child, leaves));
  }
}
