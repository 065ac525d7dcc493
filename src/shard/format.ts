import { countHeaderBytes, type SectionFormat } from "./section-layout.js";

/**
 * Constants of the shard format; FORMAT.md describes it in prose.
 *
 * Versions: 1: first; 2: texts in UTF-8 whatever the encoding of their blobs, and a mark for those that are not; 3: flags of
 * documents for what `.gitattributes` says.
 */
export const formatVersion = 3;

/** "TRWLSHRD" in two little-endian words. */
export const magic = [0x4c575254, 0x44524853] as const;

/** Size of a unit, the granularity of postings; and of the overlap whose trigrams are included in its postings. */
export const unitBytes = 4096;
export const overlapBytes = 64;

/** One entry of the newline table covers this many bytes. */
export const newlineStepBytes = 1024;

/** Zero bytes after the content, so that wide loads at its end stay within the value. */
export const contentPaddingBytes = 64;

/** Sections in file order. Each starts at a multiple of 8. */
export const sections = [
  "repositories",
  "languages",
  "contentStart",
  "contentFirstUnit",
  "contentFirstLine",
  "contentFirstDocument",
  "documentRepository",
  "documentBranches",
  "documentInfo",
  "documentOids",
  "documentsByPath",
  "pathStart",
  "foldExceptions",
  "keys",
  "postingStart",
  "newlines",
  "postings",
  "paths",
  "content",
] as const;

export type Section = (typeof sections)[number];

/** The sections that describe documents: where they are, and the sizes of their texts. */
export const documentSections: ReadonlySet<Section> = new Set([
  "repositories",
  "languages",
  "contentStart",
  "contentFirstDocument",
  "documentRepository",
  "documentBranches",
  "documentInfo",
  "documentOids",
  "documentsByPath",
  "pathStart",
  "paths",
]);

export const shardFormat: SectionFormat<Section> = {
  name: "shard",
  magic,
  version: formatVersion,
  sections,
  remedy: "Index it again",
};

export const headerBytes = countHeaderBytes(sections.length);

/** What the attributes of a file decided about its document. */
export const documentFlags = {
  /** The language. */
  language: 1,
  /** Whether it is generated and vendored, as the next two say, instead of its path. */
  kinds: 2,
  generated: 4,
  vendored: 8,
} as const;

/** Packs language number, file-kind mask, flags and skip reason into a word of `documentInfo`. */
export function packDocumentInfo(language: number, fileKindMask: number, flags: number, skipCode: number): number {
  return ((language << 16) | (fileKindMask << 8) | (flags << 4) | skipCode) >>> 0;
}

export const unpackLanguage = (info: number): number => info >>> 16;
export const fileKindMaskOfInfo = (info: number): number => (info >>> 8) & 0xff;
export const unpackFlags = (info: number): number => (info >>> 4) & 0xf;
export const unpackSkipCode = (info: number): number => info & 0xf;
