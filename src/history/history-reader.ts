import { assert } from "../base/assert.js";
import { isPlainText } from "../base/bytes.js";
import { lazy } from "../base/lazy.js";
import { lastAtMost } from "../base/sorted-search.js";
import { newlineStepBytes } from "../shard/format.js";
import { SectionReader } from "../shard/section-reader.js";
import type { PathTable, TextIndex } from "../shard/text-sections.js";
import {
  entryPathShift,
  historyFormat,
  runSignBits,
  runSigns,
  type Section,
  textPaddingBytes,
  textSections,
  unitBytes,
} from "./format.js";
import {
  findWrongUnits,
  isAscending,
  isStrictlyAscending,
  newlineTableFault,
  trigramCount,
} from "../shard/structure.js";

const newline = 10;

/** Name and e-mail address. */
export interface Person {
  readonly name: Buffer;
  readonly email: Buffer;
}

/** What a filter on persons is tried on: the name, the address, and both as `git log --author` has them. */
export function personTexts({ name, email }: Person): readonly Buffer[] {
  return [name, email, Buffer.concat([name, Buffer.from(" <"), email, Buffer.from(">")])];
}

/**
 * The sections of one history shard as typed arrays over its bytes, without copying.
 *
 * Contract: as for `ShardReader`: the arrays are valid as long as the bytes passed in; the constructor checks the
 * header and the bounds of each section; `verify` checks the checksums, and every offset but those in `hunks`, which
 * `HunkReader` checks. Data read before `verify` must not be trusted.
 */
export class HistoryReader {
  readonly id: number;
  /** The checksum of the header, which covers those of the sections. */
  readonly checksum: number;
  readonly commitCount: number;
  /** (Commit, file) pairs. */
  readonly entryCount: number;
  /** Distinct lines. */
  readonly lineCount: number;
  readonly oidBytes: number;
  readonly hasPostings: boolean;
  readonly oids: Buffer;
  /** Parents of commit i are the oids numbered `parents[parentStart[i], parentStart[i + 1])`. */
  readonly parentStart: Uint32Array;
  readonly parents: Uint32Array;
  /** Unix seconds. */
  readonly authorDates: Float64Array;
  readonly committerDates: Float64Array;
  readonly zones: Uint32Array;
  /** Person numbers. */
  readonly authors: Uint32Array;
  readonly committers: Uint32Array;
  readonly commitFlags: Uint32Array;
  readonly commitFirstEntry: Uint32Array;
  readonly entryInfo: Uint32Array;
  readonly entryStart: Uint32Array;
  readonly entryFirstLine: Uint32Array;
  readonly hunks: Buffer;
  readonly personStart: Uint32Array;
  readonly persons: Buffer;
  /** The message of commit i is `[messageStart[i], messageStart[i + 1] - 1)` of the messages; a zero byte follows. */
  readonly messageStart: Uint32Array;
  /** A content is a block of whole messages. */
  readonly messages: TextIndex;
  /** A content is a block of whole lines. */
  readonly lines: TextIndex;
  /** Document i is path i in one language: a path is listed once for each of its languages. */
  readonly paths: PathTable;
  /** By path: the number of its language in `paths.languages()`. */
  readonly pathLanguages: Uint32Array;
  /** Newlines in `lines` before each multiple of `newlineStepBytes`. */
  readonly newlines: Uint32Array;
  readonly #sections: SectionReader<Section>;

  constructor(id: number, bytes: Uint8Array) {
    const sections = new SectionReader(historyFormat, id, bytes);
    this.#sections = sections;
    this.id = id;
    this.checksum = sections.checksum;
    [this.commitCount, this.entryCount, this.lineCount] = sections.counts;
    this.oidBytes = sections.oidBytes;
    this.hasPostings = sections.hasPostings;
    const { commitCount, entryCount } = this;
    this.oids = sections.section("oids");
    this.parentStart = sections.words("parentStart", commitCount + 1);
    this.parents = sections.words("parents", undefined);
    this.authorDates = sections.doubles("authorDates", commitCount);
    this.committerDates = sections.doubles("committerDates", commitCount);
    this.zones = sections.words("zones", commitCount);
    this.authors = sections.words("authors", commitCount);
    this.committers = sections.words("committers", commitCount);
    this.commitFlags = sections.words("commitFlags", commitCount);
    this.commitFirstEntry = sections.words("commitFirstEntry", commitCount + 1);
    this.entryInfo = sections.words("entryInfo", entryCount);
    this.entryStart = sections.words("entryStart", entryCount + 1);
    this.entryFirstLine = sections.words("entryFirstLine", entryCount + 1);
    this.hunks = sections.section("hunks");
    this.personStart = sections.words("personStart", undefined);
    this.persons = sections.section("persons");
    this.newlines = sections.words("newlines", undefined);
    if (this.oidBytes !== 20 && this.oidBytes !== 32) sections.fail(`it has oids of ${this.oidBytes} bytes`);
    if (this.oids.length % this.oidBytes !== 0 || this.oidCount < commitCount) sections.fail("it has too few oids");
    this.messageStart = sections.words("messageStart", commitCount + 1);
    this.messages = this.#readText("message");
    this.lines = this.#readText("line");
    this.pathLanguages = sections.words("pathLanguages", sections.words("pathStart", undefined).length - 1);
    this.paths = this.#readPaths();
  }

  /** Commits, and parents that are not commits of this shard. */
  get oidCount(): number {
    return this.oids.length / this.oidBytes;
  }

  get personCount(): number {
    return this.personStart.length - 1;
  }

  /**
   * Throws `corrupt-shard` if the checksum of a section differs, or if an offset points outside the section that it
   * refers to. `part` selects messages and lines, or everything else.
   */
  verify(part: "index" | "text"): void {
    this.#sections.verify((section) => textSections.includes(section) === (part === "text"));
    const fault = part === "index" ? structureFault(this) : undefined;
    if (fault !== undefined) this.#sections.fail(fault);
  }

  /** Throws `corrupt-shard` if this is not the shard to which the catalog refers. */
  requireChecksum(expected: number | undefined): void {
    this.#sections.requireChecksum(expected);
  }

  /** The oid with this number as hex. */
  oid(number: number): string {
    assert(number < this.oidCount, "an oid is one of the shard");
    return this.oids.toString("hex", number * this.oidBytes, (number + 1) * this.oidBytes);
  }

  message(commit: number): Buffer {
    assert(commit < this.commitCount, "a message is that of a commit of the shard");
    return this.messages.content.subarray(this.messageStart[commit], this.messageStart[commit + 1] - 1);
  }

  person(number: number): Person {
    assert(number < this.personCount, "a person is one of the shard");
    const from = this.personStart[number];
    const to = this.personStart[number + 1] - 1;
    const middle = Math.min(to, this.persons.indexOf(0, from));
    return { name: this.persons.subarray(from, middle), email: this.persons.subarray(middle + 1, to) };
  }

  authorZoneMinutes(commit: number): number {
    return (this.zones[commit] >>> 16) - 0x8000;
  }

  committerZoneMinutes(commit: number): number {
    return (this.zones[commit] & 0xffff) - 0x8000;
  }

  /** Where a line starts in `lines`. Caller guarantees: `line` is at most `lineCount`. */
  lineStart(line: number): number {
    if (line === 0) return 0;
    // The line starts after this many newlines; the step is the last one with fewer before it.
    const step = lastAtMost(this.newlines, line - 1, this.newlines.length);
    let at = step * newlineStepBytes;
    for (let left = line - this.newlines[step]; left > 0; left--) at = this.lines.content.indexOf(newline, at) + 1;
    return at;
  }

  /** The end of a line that starts at `start`, before its newline. */
  lineEnd(start: number): number {
    return this.lines.content.indexOf(newline, start);
  }

  /** Throws `corrupt-shard`. */
  fail(what: string): never {
    return this.#sections.fail(what);
  }

  /** The sections of `messages` or `lines`, whose names begin with this word. */
  #readText(name: "message" | "line"): TextIndex {
    const sections = this.#sections;
    const contentStart = sections.words(`${name}BlockStart`, undefined);
    const contentCount = contentStart.length - 1;
    if (contentCount < 0) sections.fail("it has no blocks");
    const contentFirstUnit = sections.words(`${name}FirstUnit`, contentCount + 1);
    const keys = sections.words(`${name}Keys`, undefined);
    const unitCount = contentFirstUnit[contentCount];
    return {
      contentCount,
      contentStart,
      contentFirstUnit,
      foldExceptions: sections.words(`${name}FoldExceptions`, undefined),
      hasPostings: this.hasPostings,
      keys,
      postingStart: sections.words(`${name}PostingStart`, keys.length + 1),
      postings: sections.section(`${name}Postings`),
      content: sections.section(`${name}s`),
      unitBytes,
      requireUnits: (units) => sections.requireUnits(units, unitCount),
    };
  }

  #readPaths(): PathTable {
    const sections = this.#sections;
    const pathStart = sections.words("pathStart", undefined);
    const paths = sections.section("paths");
    const languages = lazy(() => sections.section("languages").toString().split("\n"));
    const path = (number: number): Buffer => paths.subarray(pathStart[number], pathStart[number + 1] - 1);
    return {
      documentCount: pathStart.length - 1,
      pathStart,
      paths,
      path,
      plainPath: (number) => {
        const bytes = path(number);
        return isPlainText(bytes) ? bytes.toString("latin1") : undefined;
      },
      languages,
      languageNumber: (number) => this.pathLanguages[number],
    };
  }
}

/** No text follows the numbers of the hunk. */
export const noSection = -1;

/**
 * Reads the hunks of one entry after another. `nextHunk` and `nextRun` move on and return false at the end; the fields
 * describe the hunk and the run that they moved to. Throws `corrupt-shard` for a line that does not exist.
 */
export class HunkReader {
  /** The first lines of the hunk in the old and in the new file, from 1. */
  oldStart = 0;
  newStart = 0;
  /** Number of the line that git shows after them, or `noSection`. */
  section = noSection;
  /** One of `runSigns`. */
  sign = 0;
  /** The lines of the run are numbered `[first, end)`. */
  first = 0;
  end = 0;
  readonly #reader: HistoryReader;
  readonly #hunks: Buffer;
  #at = 0;
  #to = 0;
  #last = 0;
  #next = 0;
  /** The lines after the last hunk. */
  #oldLine = 1;
  #newLine = 1;
  #isInHunk = false;

  constructor(reader: HistoryReader) {
    this.#reader = reader;
    this.#hunks = reader.hunks;
  }

  begin(entry: number): void {
    this.#at = this.#reader.entryStart[entry];
    this.#to = this.#reader.entryStart[entry + 1];
    this.#next = this.#reader.entryFirstLine[entry];
    this.#last = this.#next - 1;
    this.#oldLine = 1;
    this.#newLine = 1;
    this.#isInHunk = false;
  }

  /** Skips the runs of the previous hunk that were not read. */
  nextHunk(): boolean {
    while (this.#isInHunk) this.nextRun();
    if (this.#at >= this.#to) return false;
    const gap = this.#varint();
    this.oldStart = this.#oldLine += gap;
    this.newStart = this.#newLine += gap;
    const code = this.#varint();
    this.section = code === 0 ? noSection : this.#lineOf(code - 1);
    if (code !== 0) this.#use(this.section, this.section + 1);
    this.#isInHunk = true;
    return true;
  }

  nextRun(): boolean {
    const head = this.#varint();
    if (head === 0) {
      this.#isInHunk = false;
      return false;
    }
    const length = head >>> runSignBits;
    this.sign = head & ((1 << runSignBits) - 1);
    this.first = this.#lineOf(this.#varint());
    this.end = this.first + length;
    this.#last = this.end - 1;
    this.#use(this.first, this.end);
    if (this.sign !== runSigns.added) this.#oldLine += length;
    if (this.sign !== runSigns.removed) this.#newLine += length;
    return true;
  }

  #lineOf(code: number): number {
    if (code === 0) return this.#last + 1;
    if (code === 1) return this.#next;
    const folded = code - 1;
    const distance = (folded & 1) === 0 ? folded / 2 : -(folded + 1) / 2;
    return this.#last + 1 + distance;
  }

  #use(first: number, end: number): void {
    if (first < 0 || end > this.#reader.lineCount) this.#reader.fail("a hunk names a line that does not exist");
    if (end > this.#next) this.#next = end;
  }

  #varint(): number {
    const hunks = this.#hunks;
    let value = 0;
    for (let scale = 1; scale <= 2 ** 28; scale *= 128) {
      if (this.#at >= this.#to) this.#reader.fail("a hunk is not complete");
      const byte = hunks[this.#at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    return this.#reader.fail("a hunk has a number that is too large");
  }
}

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
