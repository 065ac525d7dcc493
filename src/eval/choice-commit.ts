import { commitAtBit, type RepositorySummary } from "../catalog/repository-cards.js";
import type { RevisionChoice } from "../task/search-options.js";

/** The commit that a choice stands for; "" for none. */
export function commitOfChoice(card: RepositorySummary, { bit, unindexed }: RevisionChoice): string {
  return unindexed?.commit ?? commitAtBit(card, bit);
}
