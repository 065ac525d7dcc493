import { newlineStepBytes, contentPaddingBytes, unitBytes } from "./format.js";

/** The sections of an opened shard, as a `ShardReader` provides them; FORMAT.md explains the fields. */
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

/** Trigram keys are less than this. */
export const trigramCount = 2 ** 21;

/**
 * What is wrong with the sections of a shard; undefined if every offset in a section is within the section that it
 * refers to. The posting lists and the text are not read.
 *
 * A checksum shows that the bytes are those that were written, not that they were correct: data written by a faulty
 * program would be read by all others. After this check, code that follows offsets need not check them. It costs less
 * than the checksums.
 */
export function structureFault(reader: ShardSections): string | undefined {
  return documentFault(reader) ?? contentFault(reader) ?? postingFault(reader) ?? newlineFault(reader);
}

/** The same for the sections that describe documents. */
export function documentFault(reader: ShardSections): string | undefined {
  const { documentCount, repositories, documentRepository, documentsByPath, contentFirstDocument, pathStart, paths } =
    reader;
  const languageCount = reader.languages().length;
  if (!isAscending(contentFirstDocument, 0, documentCount)) return "documents of contents are not ascending";
  if (!isAscending(pathStart, 1, paths.length)) return "paths are not ascending";
  for (let document = 0; document < documentCount; document++) {
    if (documentRepository[document] >= repositories.length) return `document ${document} belongs to no repository`;
    if (documentsByPath[document] >= documentCount) return `there is no document ${documentsByPath[document]}`;
    if (reader.documentInfo[document] >>> 16 >= languageCount) return `document ${document} has no language`;
  }
  return undefined;
}

function contentFault(reader: ShardSections): string | undefined {
  const { contentCount, contentStart, contentFirstUnit, unitCount, foldExceptions } = reader;
  const textBytes = contentStart[contentCount];
  if (!isAscending(contentStart, 0, textBytes) || textBytes + contentPaddingBytes > reader.content.length)
    return "contents are not ascending";
  if (!isAscending(contentFirstUnit, 0, unitCount)) return "units are not ascending";
  const content = reader.hasPostings ? findWrongUnits(contentStart, contentFirstUnit, unitBytes) : undefined;
  if (content !== undefined) return `content ${content} has the wrong number of units`;
  return isStrictlyAscending(foldExceptions, contentCount) ? undefined : "exceptions are not ascending";
}

function postingFault({ keys, postingStart, postings }: ShardSections): string | undefined {
  if (!isAscending(postingStart, 1, postings.length)) return "posting lists are not ascending";
  return isStrictlyAscending(keys, trigramCount) ? undefined : "trigrams are not ascending";
}

function newlineFault({ contentCount, contentStart, contentFirstLine, newlines }: ShardSections): string | undefined {
  const fault = newlineTableFault(newlines, contentStart[contentCount]);
  if (fault !== undefined) return fault;
  for (let content = 0; content < contentCount; content++) {
    const step = Math.floor(contentStart[content] / newlineStepBytes);
    const past = contentStart[content] - step * newlineStepBytes;
    const extra = contentFirstLine[content] - newlines[step];
    if (extra < 0 || extra > past) return `content ${content} begins at the wrong line`;
  }
  return undefined;
}

/** What is wrong with a table of the newlines in a text of that size; undefined if nothing is. */
export function newlineTableFault(newlines: Uint32Array, textBytes: number): string | undefined {
  if (newlines.length !== Math.floor(textBytes / newlineStepBytes) + 1)
    return "the table of newlines has the wrong length";
  for (let i = 0; i < newlines.length; i++) {
    const before = i === 0 ? 0 : newlines[i - 1];
    if (newlines[i] < before || newlines[i] - before > (i === 0 ? 0 : newlineStepBytes))
      return "newlines are not ascending";
  }
  return undefined;
}

/** The first content with another number of units than its size requires; undefined if there is none. */
export function findWrongUnits(
  contentStart: Uint32Array,
  contentFirstUnit: Uint32Array,
  unitBytes: number,
): number | undefined {
  for (let content = 0; content < contentStart.length - 1; content++) {
    const units = Math.ceil((contentStart[content + 1] - contentStart[content]) / unitBytes);
    if (contentFirstUnit[content + 1] - contentFirstUnit[content] !== units) return content;
  }
  return undefined;
}

/** Whether the words ascend from 0 to `end`, each at least `stepMin` more than the previous one. */
export function isAscending(words: Uint32Array, stepMin: number, end: number): boolean {
  if (words[0] !== 0 || words[words.length - 1] !== end) return false;
  for (let i = 1; i < words.length; i++) if (words[i] < words[i - 1] + stepMin) return false;
  return true;
}

/** Whether each word is greater than the previous one, and all are less than `limit`. */
export function isStrictlyAscending(words: Uint32Array, limit: number): boolean {
  for (let i = 0; i < words.length; i++) if (words[i] >= limit || (i > 0 && words[i] <= words[i - 1])) return false;
  return true;
}
