import { commitAtBit, type RepositoryCard } from "../catalog/repository-cards.js";
import type { RevisionChoice } from "../task/search-options.js";

/** The commit that a choice stands for; "" for none. */
export function commitOfChoice(card: RepositoryCard, { bit, unindexed }: RevisionChoice): string {
  return unindexed?.commit ?? commitAtBit(card, bit);
}
