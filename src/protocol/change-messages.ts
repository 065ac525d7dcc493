/**
 * Compares the matches of the older and the newer commit of some revisions. A match object names its revision and side
 * in `branches`: see `sideName`.
 */
export interface CompareMatches {
  readonly kind: "compare-matches";
  /** Arrays of match objects: JSON. */
  readonly matches: readonly Uint8Array[];
  /** By the number in `sideName`. */
  readonly revisions: readonly ComparedRevision[];
}

export interface ComparedRevision {
  readonly repository: string;
  readonly repositoryId: number;
  readonly revision: string;
}

export interface ComparedMatches {
  /** `MatchChange` objects separated by commas, each piece for one event. */
  readonly pieces: readonly Uint8Array[];
  readonly came: number;
  readonly went: number;
  readonly moved: number;
}

/** The name under which a search for changes searches one commit of revision `index`. */
export function sideName(index: number, isNew: boolean): string {
  return `${index}${isNew ? "+" : "-"}`;
}

/** The inverse of `sideName`. */
export function parseSideName(name: string): { readonly index: number; readonly isNew: boolean } {
  return { index: Number.parseInt(name, 10), isNew: name.endsWith("+") };
}
