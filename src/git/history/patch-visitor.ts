import type { PatchFile } from "./patch-file.js";

/** The header of a commit. Texts are UTF-8 unless git could not convert them; then they are as the commit has them. */
export interface PatchCommit {
  readonly oid: string;
  /** Oids. */
  readonly parents: readonly string[];
  readonly author: PatchPerson;
  readonly committer: PatchPerson;
  /** Without the newlines at its end. Valid until the next call. */
  readonly message: Buffer;
  /** Whether the end of the message was left out because it is too long. */
  readonly isMessageCut: boolean;
}

export interface PatchPerson {
  readonly name: Buffer;
  readonly email: Buffer;
  /** Unix seconds; 0 if the date cannot be read. */
  readonly seconds: number;
  /** Minutes east of UTC. */
  readonly zoneMinutes: number;
}

/** Receives commits in the order of the request, each before its files. Exceptions end the reading. */
export interface PatchVisitor {
  commit(commit: PatchCommit): void;
  /** The file's arrays and bytes are valid during the call. */
  file(file: PatchFile): void;
  /**
   * `isComplete` is false if git failed at this commit, so that some or all of its files are missing. Returns false to
   * end the reading.
   */
  endCommit(isComplete: boolean): boolean;
}

export interface PatchLimits {
  /** A file whose hunks have more bytes is reported without them. */
  readonly fileBytesMax: number;
  /** After this many bytes of hunks in one commit, its other files are reported without theirs. */
  readonly commitBytesMax: number;
  readonly messageBytesMax: number;
}

/** `diff-tree` writes this before each commit: the fields of `PatchCommit`, each followed by a zero byte. */
export const patchFormat = "%x01%H%x00%P%x00%an%x00%ae%x00%ad%x00%cn%x00%ce%x00%cd%x00%B%x00";
export const fieldCount = 9;
