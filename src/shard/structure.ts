import { newlineStepBytes, contentPaddingBytes, unitBytes } from "./format.js";

/** The sections of an opened shard, as a `ShardReader` has them, whose fields FORMAT.md explains. */
export interface ShardSections {
  readonly documentCount: number;
  readonly contentCount: number;
  readonly unitCount: number;
  readonly hasPostings: boolean;
  readonly repositories: Uint32Array;
  readonly documentRepository: Uint32Array;
  readonly documentsByPath: Uint32Array;
  readonly documentInfo: Uint32Array;
  readonly pathStart: Uint32Array;
  readonly paths: Buffer;
  readonly contentStart: Uint32Array;
  readonly contentFirstUnit: Uint32Array;
  readonly contentFirstLine: Uint32Array;
  readonly contentFirstDocument: Uint32Array;
  readonly foldExceptions: Uint32Array;
  readonly keys: Uint32Array;
  readonly postingStart: Uint32Array;
  readonly postings: Buffer;
  readonly newlines: Uint32Array;
  readonly content: Buffer;
  languages(): readonly string[];
}

/** Trigrams of the class alphabet are numbers below this. */
const trigramCount = 2 ** 21;

/**
 * What is wrong with the sections of a shard; undefined when every position in one of them lies in the other that it is
 * a position in. The posting lists and the text are not read.
 *
 * A checksum tells that the bytes are those that were written, not that they were right: a fault of the program that
 * wrote them would be read by all. After this, code that follows positions need not check them. Costs less than the
 * checksums.
 */
export function structureFault(reader: ShardSections): string | undefined {
  return documentFault(reader) ?? contentFault(reader) ?? postingFault(reader) ?? newlineFault(reader);
}

function documentFault(reader: ShardSections): string | undefined {
  const { documentCount, repositories, documentRepository, documentsByPath, contentFirstDocument, pathStart, paths } =
    reader;
  const languageCount = reader.languages().length;
  if (!isAscending(contentFirstDocument, 0, documentCount)) return "documents of contents are not ascending";
  if (!isAscending(pathStart, 1, paths.length)) return "paths are not ascending";
  for (let document = 0; document < documentCount; document++) {
    if (documentRepository[document] >= repositories.length) return `document ${document} is of no repository`;
    if (documentsByPath[document] >= documentCount) return `there is no document ${documentsByPath[document]}`;
    if (reader.documentInfo[document] >>> 16 >= languageCount) return `document ${document} is in no language`;
  }
  return undefined;
}

function contentFault(reader: ShardSections): string | undefined {
  const { contentCount, contentStart, contentFirstUnit, unitCount, foldExceptions } = reader;
  const textBytes = contentStart[contentCount];
  if (!isAscending(contentStart, 0, textBytes) || textBytes + contentPaddingBytes > reader.content.length)
    return "contents are not ascending";
  if (!isAscending(contentFirstUnit, 0, unitCount)) return "units are not ascending";
  for (let content = 0; content < contentCount; content++) {
    const units = Math.ceil((contentStart[content + 1] - contentStart[content]) / unitBytes);
    if (reader.hasPostings && contentFirstUnit[content + 1] - contentFirstUnit[content] !== units)
      return `content ${content} has another number of units`;
  }
  for (let i = 0; i < foldExceptions.length; i++) {
    if (foldExceptions[i] >= contentCount || (i > 0 && foldExceptions[i] <= foldExceptions[i - 1]))
      return "exceptions are not ascending";
  }
  return undefined;
}

function postingFault({ keys, postingStart, postings }: ShardSections): string | undefined {
  if (!isAscending(postingStart, 1, postings.length)) return "posting lists are not ascending";
  for (let i = 0; i < keys.length; i++) {
    if (keys[i] >= trigramCount || (i > 0 && keys[i] <= keys[i - 1])) return "trigrams are not ascending";
  }
  return undefined;
}

function newlineFault({ contentCount, contentStart, contentFirstLine, newlines }: ShardSections): string | undefined {
  if (newlines.length !== Math.floor(contentStart[contentCount] / newlineStepBytes) + 1)
    return "the table of newlines has another length";
  for (let i = 0; i < newlines.length; i++) {
    const before = i === 0 ? 0 : newlines[i - 1];
    if (newlines[i] < before || newlines[i] - before > (i === 0 ? 0 : newlineStepBytes))
      return "newlines are not ascending";
  }
  for (let content = 0; content < contentCount; content++) {
    const step = Math.floor(contentStart[content] / newlineStepBytes);
    const past = contentStart[content] - step * newlineStepBytes;
    const extra = contentFirstLine[content] - newlines[step];
    if (extra < 0 || extra > past) return `content ${content} begins at another line`;
  }
  return undefined;
}

/** From 0 to `end`, each at least `stepMin` more than the one before. */
function isAscending(words: Uint32Array, stepMin: number, end: number): boolean {
  if (words[0] !== 0 || words[words.length - 1] !== end) return false;
  for (let i = 1; i < words.length; i++) if (words[i] < words[i - 1] + stepMin) return false;
  return true;
}
