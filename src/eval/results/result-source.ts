import type { RepositorySummary } from "../../protocol/repository-summaries.js";
import type { RevisionChoice } from "../../protocol/search-options.js";

/** A document at one revision, of which a result is written. */
export interface ResultSource {
  readonly document: number;
  readonly content: number;
  readonly summary: RepositorySummary;
  readonly revision: RevisionChoice;
}
