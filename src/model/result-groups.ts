/** By what the matches of a search can be counted. */
export const groupKinds = ["repository", "path", "language", "author", "capture"] as const;

export type GroupKind = (typeof groupKinds)[number];

/** Groups that a client gets unless it asks for another number, and at most. */
export const groupCountDefault = 100;
export const groupCountMax = 1_000;

/** What a client wants to have counted. */
export interface WantedGroups {
  readonly by: GroupKind;
  /** At most so many groups are sent. */
  readonly countMax: number;
}

export interface ResultGroup {
  /** What the matches have in common: a name of a repository or language, a path, an e-mail address, or a captured text. */
  readonly value: string;
  /** The name of an author; otherwise the value. */
  readonly label: string;
  /** Of matches. */
  readonly count: number;
  /** The same search for this group alone; absent where no filter says that. */
  readonly query?: string;
}

/** The matches of a search, counted. */
export interface ResultGroups {
  readonly by: GroupKind;
  /** Those with the most matches, in descending order; equal ones by value. */
  readonly groups: readonly ResultGroup[];
  /** Other groups that are known, and the matches that are in none of `groups`. */
  readonly otherGroups: number;
  readonly otherMatches: number;
  /** Whether these are all matches, in all groups that there are. */
  readonly complete: boolean;
}
