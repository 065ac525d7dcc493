/** The JSON of what changed in the results of a search: elements of a `changes` event. */

/** A line, a symbol or a path that matches, in one file of one commit. */
export interface MatchPlace {
  readonly commit: string;
  readonly path: string;
  /** 0-based; absent for a path. */
  readonly lineNumber?: number;
}

/**
 * `came`: only the newer state has it. `went`: only the older state has it; its place is that of the older state.
 * `moved`: both have it, with the same content at another place.
 */
export interface MatchChange extends MatchPlace {
  readonly change: "came" | "went" | "moved";
  readonly type: "content" | "path" | "symbol";
  readonly repository: string;
  readonly repositoryID: number;
  /** As typed; "" for the default branch. */
  readonly revision: string;
  /** For a line. */
  readonly line?: string;
  /** Start and length of each match in the line, in code points. */
  readonly offsetAndLengths?: readonly (readonly [start: number, length: number])[];
  /** For a symbol. */
  readonly symbol?: { readonly name: string; readonly containerName: string; readonly kind: string };
  /** Where it was; only if it moved. */
  readonly from?: MatchPlace;
}

/** What was compared: part of the last `progress` event of a search for changes. */
export interface ChangeSummary {
  readonly came: number;
  readonly went: number;
  readonly moved: number;
  /** Revisions that are at another commit than in the receipt. */
  readonly revisionsChanged: number;
  /** Repositories of the receipt that the search does not choose any more: their matches are not listed. */
  readonly repositoriesGone: readonly string[];
  /** Revisions whose earlier commit does not exist any more, so that they could not be compared. */
  readonly basesGone: readonly { readonly repository: string; readonly revision: string; readonly commit: string }[];
}

/** Elements of each list of names in a summary. */
export const summaryNamesMax = 1_000;

/**
 * The revisions that an earlier search covered: by repository name, then by revision as typed, their commits; "" if a
 * revision had none.
 */
export type BaseRevisions = ReadonlyMap<string, ReadonlyMap<string, string>>;
