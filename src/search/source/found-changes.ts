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
  /** What the bits are of, if the source was told only a part of the base. */
  readonly told?: BaseRevisions;
  /** Changes whose earlier commit does not exist any more; complete when the search has ended. */
  readonly basesGone: readonly FoundChange[];
}

/** The outcome of a search for changes, apart from its matches. */
export interface SearchChanges extends Omit<FoundChanges, "kept"> {
  /** Names of repositories that were searched and are not chosen any more. */
  readonly repositoriesGone: readonly string[];
  /** Whether some source could not tell. What it has is compared with the same base the next time. */
  readonly isPartial: boolean;
  /** The last progress of the search. */
  readonly progress: () => Progress;
}

export function keptBytes(base: BaseRevisions): number {
  return Math.ceil(base.size / 8);
}

/**
 * Those of all sources, each of which was asked for all repositories of the base and has some of them. A source that could not tell may
 * have what no other one has: then none is gone. Undefined if no source could tell; but nodes may tell the next time.
 */
export function mergeChanges(
  all: readonly (FoundChanges | undefined)[],
  base: BaseRevisions,
  areNodes: boolean,
): Omit<SearchChanges, "progress"> | undefined {
  const told = all.filter((one) => one !== undefined);
  if (told.length === 0 && !areNodes) return undefined;
  const isPartial = told.length < all.length;
  const isOne = told.length === 1;
  return {
    changes: isOne ? told[0].changes : told.flatMap(({ changes }) => changes),
    repositoriesGone: isPartial ? [] : listUnkept(told, base),
    isPartial,
    basesGone: isOne ? told[0].basesGone : told.flatMap(({ basesGone }) => basesGone),
  };
}

/**
 * What the next search has to compare of the base although this one has not covered it: a source that could not tell may have it, and no
 * other one does. Nothing if all have told.
 */
export function untoldRevisions(all: readonly (FoundChanges | undefined)[], base: BaseRevisions): BaseRevisions {
  const told = all.filter((one) => one !== undefined);
  if (told.length === all.length) return new Map();
  return new Map(listUnkept(told, base).map((name) => [name, base.get(name) ?? new Map<string, string>()]));
}

/** Repositories of the base that no source has chosen. */
function listUnkept(told: readonly Pick<FoundChanges, "kept" | "told">[], base: BaseRevisions): string[] {
  const all = new Uint8Array(keptBytes(base));
  const names = new Set<string>();
  for (const { kept, told: part = base } of told) {
    if (part === base) for (let i = 0; i < all.length; i++) all[i] |= kept[i];
    else for (const [i, name] of [...part.keys()].entries()) if (hasBit(kept, i)) names.add(name);
  }
  return [...base.keys()].filter((name, i) => !hasBit(all, i) && !names.has(name));
}

function hasBit(bits: Uint8Array, i: number): boolean {
  return (bits[i >>> 3] & (1 << (i & 7))) !== 0;
}
