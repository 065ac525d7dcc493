/** The catalog's record of a history shard that is live. */
export interface HistoryShardRecord {
  readonly id: number;
  /** The checksum of the shard's header, which identifies the shard. */
  readonly checksum: number;
  /** In a fleet with a database: the SHA-256 of the stored value, by which all nodes find it. */
  readonly object?: string;
  readonly repositoryId: number;
  /** Size of the stored value in bytes. */
  readonly storedBytes: number;
  /** Bytes of distinct lines and messages. */
  readonly textBytes: number;
  readonly commitCount: number;
  /** When its newest commit was committed, in Unix seconds. */
  readonly newest: number;
}

/** How much of the history of a repository is indexed. */
export interface HistoryState {
  /**
   * Oids of the commits from which everything is indexed that can be read and that the limits admit, sorted. Empty while
   * something is missing.
   */
  readonly tips: readonly string[];
  /** The limits for which this holds: an index with other limits is made anew. */
  readonly limits: string;
  /** Whether the mirror lacked parents of commits, which later fetches may bring. */
  readonly isShallow: boolean;
  /** Commits that the indexed branches reach. */
  readonly reachableCount: number;
  /** Those of them that are in history shards. */
  readonly indexedCount: number;
  /** Commits that git cannot read, and commits some of whose files it cannot read. */
  readonly brokenCount: number;
}

/** How much of the history of a repository is indexed, as its status shows it. */
export interface HistoryStatus {
  /** What is to be indexed: "all", "off", "since 2020-01-31" or "1000 commits". */
  readonly wanted: string;
  /** Whether all of that is indexed, as far as the size limit admits it. */
  readonly isUpToDate: boolean;
  /** Commits that the indexed branches reach; null before they are counted. */
  readonly reachableCount: number | null;
  readonly indexedCount: number;
  /** Size of the history shards. */
  readonly storedBytes: number;
  /** Why it could not be indexed the last time; "" if it could. */
  readonly error: string;
}

/**
 * Which commits of a history are indexed: the newest `commitCountMax` of those that were committed at `since`, in Unix
 * seconds, or later.
 */
export interface HistoryScope {
  readonly commitCountMax: number;
  readonly since: number;
}

/** What a repository's `history` may be. */
export const historyScopePattern = "^(?:all|off|since [0-9]{4}-[0-9]{2}-[0-9]{2}|[1-9][0-9]{0,8} commits?)$";

/** Whether a text that matches the pattern names a day that exists, if it names one. */
export function isHistoryScope(text: string): boolean {
  const day = /^since (.*)$/.exec(text)?.[1];
  if (day === undefined) return true;
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(`${day}T`);
}

/** Parses the attribute `history` of a repository. */
export function parseHistoryScope(text: string): HistoryScope {
  if (text === "off") return { commitCountMax: 0, since: -Infinity };
  const [word, value] = text.split(" ");
  if (word === "since") return { commitCountMax: Infinity, since: Date.parse(`${value}T00:00:00Z`) / 1000 };
  return { commitCountMax: word === "all" ? Infinity : Number(word), since: -Infinity };
}
