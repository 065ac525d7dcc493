import type { BaseRevisions } from "../../model/match-change.js";
import type { Progress } from "../../model/stream-events.js";
import type { Repository } from "../../model/repository.js";

/** A searched revision that is at another commit than before. */
export interface FoundChange {
  readonly repository: Pick<Repository, "id" | "name">;
  /** As typed. */
  readonly revision: string;
  /** The earlier commit; undefined if nothing was searched. */
  readonly base: string | undefined;
  /** The commit as of the search; undefined if the revision does not exist any more. */
  readonly commit: string | undefined;
  /** What results at one of the two commits are named after: see `sideName`. No other source of the search has this number. */
  readonly side: number;
}

/** The same, of the source that searches it. */
export interface RevisionChange extends FoundChange {
  readonly repository: Repository;
  /** Indexes of the basic queries that search it. */
  readonly basicQueries: Set<number>;
}

export interface RevisionChanges {
  readonly changes: readonly RevisionChange[];
  /** One bit for each repository that was searched, in the order of the base: whether it is still chosen. */
  readonly kept: Uint8Array;
}

/** What one source of a search for changes compares. */
export interface FoundChanges {
  readonly changes: readonly FoundChange[];
  /** As in `RevisionChanges`. */
  readonly kept: Uint8Array;
  /** Changes whose earlier commit does not exist any more; complete when the search has ended. */
  readonly basesGone: readonly FoundChange[];
}

/** The outcome of a search for changes, apart from its matches. */
export interface SearchChanges extends Omit<FoundChanges, "kept"> {
  /** Names of repositories that were searched and are not chosen any more. */
  readonly repositoriesGone: readonly string[];
  /** The last progress of the search. */
  readonly progress: () => Progress;
}

export function keptBytes(base: BaseRevisions): number {
  return Math.ceil(base.size / 8);
}

/**
 * Those of all sources, each of which was asked for all repositories of the base and has some of them. A source that could not tell may
 * have what no other one has: then none is gone.
 */
export function mergeChanges(
  all: readonly (FoundChanges | undefined)[],
  base: BaseRevisions,
): Omit<SearchChanges, "progress"> | undefined {
  const told = all.filter((one) => one !== undefined);
  if (told.length === 0) return undefined;
  const kept = new Uint8Array(keptBytes(base)).fill(told.length < all.length ? 0xff : 0);
  for (const one of told) for (let i = 0; i < kept.length; i++) kept[i] |= one.kept[i];
  const isKept = (i: number): boolean => (kept[i >>> 3] & (1 << (i & 7))) !== 0;
  const isOne = told.length === 1;
  return {
    changes: isOne ? told[0].changes : told.flatMap(({ changes }) => changes),
    repositoriesGone: [...base.keys()].filter((_, i) => !isKept(i)),
    basesGone: isOne ? told[0].basesGone : told.flatMap(({ basesGone }) => basesGone),
  };
}
