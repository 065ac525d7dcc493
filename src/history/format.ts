import { countHeaderBytes, type SectionFormat } from "../shard/section-layout.js";

/**
 * Constants of the format of history shards; FORMAT.md describes it in prose.
 *
 * Versions: 1: first. 2: languages of files.
 */
export const formatVersion = 2;

/** "TRWLHIST" in two little-endian words. */
export const magic = [0x4c575254, 0x54534948] as const;

/**
 * Lines and messages are divided into blocks of whole lines or messages, each of at least this many bytes except the
 * last.
 */
export const blockBytes = 64 * 1024;

/**
 * Size of a unit, the granularity of postings. Of git's own history, 115 MB of lines and messages, posting lists take 51
 * MB with 4 KiB, as in a shard, and 23 MB with 16 KiB; a unit is scanned in about 10 µs.
 */
export const unitBytes = 64 * 1024;

/** Zero bytes after each text, so that wide loads at its end stay within the value. */
export const textPaddingBytes = 64;

/** Sections in file order. Each starts at a multiple of 8. */
export const sections = [
  "oids",
  "parentStart",
  "parents",
  "authorDates",
  "committerDates",
  "zones",
  "authors",
  "committers",
  "commitFlags",
  "commitFirstEntry",
  "entryInfo",
  "entryStart",
  "entryFirstLine",
  "hunks",
  "personStart",
  "persons",
  "pathStart",
  "paths",
  "pathLanguages",
  "languages",
  "messageStart",
  "messageBlockStart",
  "messageFirstUnit",
  "messageFoldExceptions",
  "messageKeys",
  "messagePostingStart",
  "messagePostings",
  "lineBlockStart",
  "lineFirstUnit",
  "lineFoldExceptions",
  "lineKeys",
  "linePostingStart",
  "linePostings",
  "newlines",
  "messages",
  "lines",
] as const;

export type Section = (typeof sections)[number];

/** Sections that hold text; their checksums are verified separately, because they are most of the shard. */
export const textSections: readonly Section[] = ["messages", "lines"];

export const historyFormat: SectionFormat<Section> = {
  name: "history shard",
  magic,
  version: formatVersion,
  sections,
  remedy: "Index the history again",
};

export const headerBytes = countHeaderBytes(sections.length);

/** Bits of `commitFlags`. */
export const commitFlags = {
  /** The end of the message was left out. */
  messageCut: 1,
  /** git could not compare the commit with its parent: entries are missing. */
  incomplete: 2,
} as const;

/** The lowest bits of `entryInfo`: how the file changed, and why it has no hunks. The others are the path number. */
export const entryStatus = { changed: 0, added: 1, removed: 2 } as const;
export const entryStatusMask = 3;
export const entryFlags = { binary: 4, tooLarge: 8 } as const;
export const entryPathShift = 4;

/** Paths in one shard. */
export const pathCountMax = 2 ** (32 - entryPathShift);

/** The lowest bits of the head of a run of lines in `hunks`. */
export const runSigns = { context: 0, added: 1, removed: 2 } as const;
export const runSignBits = 2;
