import { commitAtBit, type RepositorySummary } from "../protocol/repository-summaries.js";
import type { RevisionChoice } from "../protocol/search-options.js";

/** The commit that a choice refers to; "" if none. */
export function commitOfChoice(summary: RepositorySummary, { bit, unindexed }: RevisionChoice): string {
  return unindexed?.commit ?? commitAtBit(summary, bit);
}
