import { newlineStepBytes } from "../shard/format.js";
import {
  findWrongUnits,
  isAscending,
  isStrictlyAscending,
  newlineTableFault,
  trigramCount,
} from "../shard/structure.js";
import type { PathTable, TextIndex } from "../shard/text-index.js";
import { entryPathShift, textPaddingBytes, unitBytes } from "./format.js";

/** The sections of an opened history shard, as a `HistoryReader` provides them; FORMAT.md explains the fields. */
export interface HistorySections {
  readonly commitCount: number;
  readonly entryCount: number;
  readonly lineCount: number;
  readonly oidCount: number;
  readonly personCount: number;
  readonly parentStart: Uint32Array;
  readonly parents: Uint32Array;
  readonly authors: Uint32Array;
  readonly committers: Uint32Array;
  readonly commitFirstEntry: Uint32Array;
  readonly entryInfo: Uint32Array;
  readonly entryStart: Uint32Array;
  readonly entryFirstLine: Uint32Array;
  readonly hunks: Buffer;
  readonly personStart: Uint32Array;
  readonly persons: Buffer;
  readonly messageStart: Uint32Array;
  readonly messages: TextIndex;
  readonly lines: TextIndex;
  readonly paths: Pick<PathTable, "documentCount" | "pathStart" | "paths" | "languages">;
  readonly pathLanguages: Uint32Array;
  readonly newlines: Uint32Array;
}

/**
 * What is wrong with the sections of a history shard; undefined if every offset in a section is within the section that
 * it refers to. The hunks, the posting lists and the texts are not read. See `structureFault` of shards for the reason.
 */
export function structureFault(reader: HistorySections): string | undefined {
  return (
    commitFault(reader) ??
    entryFault(reader) ??
    textFault("messages", reader.messages) ??
    textFault("lines", reader.lines) ??
    newlineFault(reader)
  );
}

function commitFault(reader: HistorySections): string | undefined {
  const { commitCount, personCount, parentStart, parents, personStart, persons, messages } = reader;
  if (!isAscending(parentStart, 0, parents.length)) return "parents are not ascending";
  if (!isAscending(reader.commitFirstEntry, 0, reader.entryCount)) return "entries of commits are not ascending";
  if (!isAscending(reader.messageStart, 1, messages.contentStart[messages.contentCount]))
    return "messages are not ascending";
  if (!isAscending(personStart, 1, persons.length)) return "persons are not ascending";
  if (parents.some((parent) => parent >= reader.oidCount)) return "a parent does not exist";
  for (let commit = 0; commit < commitCount; commit++) {
    if (reader.authors[commit] >= personCount || reader.committers[commit] >= personCount)
      return `commit ${commit} has no author or committer`;
  }
  return undefined;
}

function entryFault(reader: HistorySections): string | undefined {
  const { entryInfo, paths } = reader;
  if (!isAscending(paths.pathStart, 1, paths.paths.length)) return "paths are not ascending";
  const languageCount = paths.languages().length;
  if (reader.pathLanguages.some((language) => language >= languageCount)) return "a path has no language";
  if (!isAscending(reader.entryStart, 0, reader.hunks.length)) return "hunks are not ascending";
  const { entryFirstLine } = reader;
  if (entryFirstLine[0] !== 0 || !isAscending(entryFirstLine, 0, reader.lineCount)) return "lines are not ascending";
  for (let entry = 0; entry < entryInfo.length; entry++) {
    if (entryInfo[entry] >>> entryPathShift >= paths.documentCount) return `entry ${entry} has no path`;
  }
  return undefined;
}

function textFault(name: string, index: TextIndex): string | undefined {
  const { contentCount, contentStart, contentFirstUnit, foldExceptions, keys, postingStart, postings } = index;
  const textBytes = contentStart[contentCount];
  if (!isAscending(contentStart, 0, textBytes) || textBytes + textPaddingBytes > index.content.length)
    return `blocks of ${name} are not ascending`;
  if (!isAscending(contentFirstUnit, 0, contentFirstUnit[contentCount])) return `units of ${name} are not ascending`;
  const content = findWrongUnits(contentStart, contentFirstUnit, unitBytes);
  if (content !== undefined) return `content ${content} of ${name} has the wrong number of units`;
  if (!isStrictlyAscending(foldExceptions, contentCount)) return `exceptions of ${name} are not ascending`;
  if (!isAscending(postingStart, 1, postings.length)) return `posting lists of ${name} are not ascending`;
  return isStrictlyAscending(keys, trigramCount) ? undefined : `trigrams of ${name} are not ascending`;
}

function newlineFault({ newlines, lines, lineCount }: HistorySections): string | undefined {
  const textBytes = lines.contentStart[lines.contentCount];
  const fault = newlineTableFault(newlines, textBytes);
  if (fault !== undefined) return fault;
  const last = newlines[newlines.length - 1];
  if (lineCount < last || lineCount - last > textBytes % newlineStepBytes) return "it has another number of lines";
  return undefined;
}
