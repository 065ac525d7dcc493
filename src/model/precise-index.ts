/** What became of an upload; the names are those of the GraphQL schema. */
export type PreciseIndexState = "UPLOADING" | "QUEUED" | "PROCESSING" | "COMPLETED" | "ERRORED";

/** What an index has, and what of its upload it does not have; absent until it is built. */
export interface PreciseCounts {
  readonly documentCount: number;
  readonly symbolCount: number;
  readonly occurrenceCount: number;
  readonly storedBytes: number;
  /** Documents whose files the commit does not have, or that are not texts. */
  readonly missingCount: number;
  /** Documents that describe another text than that of the file. */
  readonly unfitCount: number;
  /** Occurrences outside of their files. */
  readonly outsideCount: number;
  /** Absent in records of versions that did not connect repositories. */
  readonly packages?: PrecisePackages;
}

/** The packages of the symbols in an index, such as `npm left-pad 1.3.0`, as numbers that are made of them. */
export interface PrecisePackages {
  /** Those of symbols that the index defines, and of others that it uses. */
  readonly defined: readonly number[];
  readonly used: readonly number[];
}

/** An uploaded index of definitions and references: a record of the record store, as JSON. */
export interface PreciseIndexRecord {
  readonly id: number;
  readonly repositoryId: number;
  /** Full oid. */
  readonly commit: string;
  /** "" for the whole repository, or a folder with a slash at its end. */
  readonly root: string;
  readonly indexer: string;
  readonly indexerVersion: string;
  readonly state: PreciseIndexState;
  /** Why it failed; "" otherwise. */
  readonly failure: string;
  /** The user who uploaded it. */
  readonly uploaderId: number;
  /** RFC 3339; "" until then. */
  readonly uploadedAt: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly uploadBytes: number;
  /** Of an upload in parts, how many there are; 0 for one in a single request. */
  readonly partCount: number;
  readonly counts: PreciseCounts | undefined;
  /** True if the daemon ended while it built the index, without having been stopped; a second time it gives up. */
  readonly isRetried?: boolean;
}

/** What read workers need to know of an index to look something up in it. */
export interface PreciseCandidate {
  readonly id: number;
  readonly commit: string;
  readonly root: string;
}

/** The folder of the uploaded indexes in the data directory. */
export const preciseFolder = "precise";

export function preciseIndexName(id: number): string {
  return `${id}.index`;
}
