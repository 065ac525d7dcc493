import { assert } from "../base/assert.js";
import { TrawlError } from "../base/errors.js";
import { minusSign, type PatchFile, plusSign } from "../git/history/patch-file.js";
import type { PatchCommit, PatchPerson } from "../git/history/patch-visitor.js";
import type { Kernel, Postings } from "../native/kernel/kernel.js";
import { crc32 } from "../native/memory/memory.js";
import { newlineStepBytes } from "../shard/format.js";
import { withoutPostings } from "../shard/section-layout.js";
import { type HeaderValues, layOut, writeSections } from "../shard/section-writer.js";
import { findFoldExceptions, makeUnits, noPostings } from "../shard/text-sections.js";
import {
  blockBytes,
  commitFlags,
  entryFlags,
  entryPathShift,
  entryStatus,
  historyFormat,
  pathCountMax,
  runSignBits,
  runSigns,
  type Section,
  sections,
  textPaddingBytes,
  unitBytes,
} from "./format.js";
import { hashLine, LineDictionary } from "./line-dictionary.js";
import { uninitializedBytes } from "../base/bytes.js";

/** Larger than any number of languages. */
const languageCountMax = 2 ** 16;

/** What `build` may leave out for a shard that stays in memory and is searched a few times. */
export type BuildKind = "with-postings" | "without-postings";

/**
 * Collects commits with their changes, and builds one history shard of them.
 *
 * Contract: `addCommit`, then `addFile` for each of its files, then `endCommit`; the newest commit comes first, that
 * is, commits descend by committer date, and ascend by oid where dates are equal. After `build` the builder is empty.
 */
export class HistoryBuilder {
  readonly #kernel: Kernel;
  readonly #oidBytes: number;
  #commits = new Columns();
  #lines = new LineDictionary();
  #hunks = new HunkWriter(this.#lines);
  #persons = new StringTable();
  #paths = new StringTable();
  #languages = new StringTable();

  /** `oidBytes` is 20 or 32. */
  constructor(kernel: Kernel, oidBytes: number) {
    this.#kernel = kernel;
    this.#oidBytes = oidBytes;
  }

  get commitCount(): number {
    return this.#commits.oids.length;
  }

  /** When its newest commit was committed, in Unix seconds. Caller guarantees: there is one. */
  get newest(): number {
    return this.#commits.committerDates[0];
  }

  /** Bytes of distinct lines and messages: most of the size of the shard. */
  get textBytes(): number {
    return this.#lines.textBytes + this.#commits.messageBytes;
  }

  addCommit({ oid, parents, author, committer, message, isMessageCut }: PatchCommit): void {
    const columns = this.#commits;
    assert(oid.length === this.#oidBytes * 2, "all oids of a shard have the same length");
    for (const parent of parents) assert(parent.length === oid.length, "parents have oids of the same length");
    for (const { zoneMinutes } of [author, committer])
      assert(zoneMinutes >= -0x8000 && zoneMinutes < 0x8000, "a time zone fits in 16 bits");
    columns.oids.push(oid);
    columns.parents.push(parents);
    columns.authorDates.push(author.seconds);
    columns.committerDates.push(committer.seconds);
    columns.zones.push(((author.zoneMinutes + 0x8000) * 0x10000 + committer.zoneMinutes + 0x8000) >>> 0);
    columns.authors.push(this.#personNumber(author));
    columns.committers.push(this.#personNumber(committer));
    columns.flags.push(isMessageCut ? commitFlags.messageCut : 0);
    columns.messages.push(Buffer.from(message));
    columns.messageBytes += message.length + 1;
    columns.firstEntry.push(columns.entryStatus.length);
  }

  /** `language` is "" if it is not known, or set later. */
  addFile(file: PatchFile, language: string): void {
    assert(this.commitCount > 0, "a file belongs to the commit that was added last");
    const columns = this.#commits;
    const status =
      file.status === "A" ? entryStatus.added : file.status === "D" ? entryStatus.removed : entryStatus.changed;
    const flags = (file.isBinary ? entryFlags.binary : 0) | (file.isTooLarge ? entryFlags.tooLarge : 0);
    columns.entryStatus.push(status | flags);
    columns.entryPaths.push(this.#paths.add(file.path.toString("latin1")));
    columns.entryLanguages.push(this.#languages.add(language));
    columns.entryStart.push(this.#hunks.byteCount);
    columns.entryFirstLine.push(this.#lines.count);
    this.#hunks.write(file);
  }

  /** Files that were added, of all commits. */
  get fileCount(): number {
    return this.#commits.entryStatus.length;
  }

  /** Sets the language of a file, which is known by how many were added before. */
  setLanguage(file: number, language: string): void {
    assert(file < this.fileCount, "a language is set for a file that was added");
    this.#commits.entryLanguages[file] = this.#languages.add(language);
  }

  /** The changes of these files were left out because they are too large; they are known by how many were added before. */
  markTooLarge(files: readonly number[]): void {
    for (const file of files) {
      assert(file < this.fileCount, "a file that is too large was added");
      this.#commits.entryStatus[file] |= entryFlags.tooLarge;
    }
  }

  /** `isComplete` is false if some files of the commit are missing. */
  endCommit(isComplete: boolean): void {
    assert(this.commitCount > 0, "a commit ends after it was added");
    if (!isComplete) this.#commits.flags[this.commitCount - 1] |= commitFlags.incomplete;
  }

  /** Builds the shard in the memory that `allocate` returns for its size, and fills any excess with zeros. */
  build(kind: BuildKind, allocate: (byteCount: number) => Buffer): Buffer {
    assert(this.commitCount > 0, "a history shard holds at least one commit");
    const isIndexed = kind === "with-postings";
    const header: HeaderValues = {
      counts: [this.commitCount, this.#commits.entryStatus.length, this.#lines.count],
      oidBytes: this.#oidBytes,
      flags: isIndexed ? 0 : withoutPostings,
    };
    const parts = {
      ...this.#commitSections(),
      ...this.#messageSections(isIndexed),
      ...this.#lineSections(isIndexed),
    };
    const layout = layOut(sections, parts);
    const bytes = allocate(layout.totalBytes);
    writeSections(bytes, historyFormat, header, parts, layout, sections, isIndexed ? crc32 : () => 0);
    bytes.fill(0, layout.totalBytes);
    this.#reset();
    return bytes;
  }

  #reset(): void {
    this.#commits = new Columns();
    this.#lines = new LineDictionary();
    this.#hunks = new HunkWriter(this.#lines);
    this.#persons = new StringTable();
    this.#paths = new StringTable();
    this.#languages = new StringTable();
  }

  #personNumber({ name, email }: PatchPerson): number {
    return this.#persons.add(`${name.toString("latin1")}\0${email.toString("latin1")}`);
  }

  #commitSections(): Record<CommitSection, Uint8Array> {
    const columns = this.#commits;
    const { oids, parentStart, parents } = this.#numberParents();
    const { entryInfo, paths, pathLanguages } = this.#numberPaths();
    return {
      oids,
      parentStart: words(parentStart),
      parents: words(parents),
      authorDates: toBytes(Float64Array.from(columns.authorDates)),
      committerDates: toBytes(Float64Array.from(columns.committerDates)),
      zones: words(columns.zones),
      authors: words(columns.authors),
      committers: words(columns.committers),
      commitFlags: words(columns.flags),
      commitFirstEntry: words([...columns.firstEntry, columns.entryStatus.length]),
      entryInfo: words(entryInfo),
      entryStart: words([...columns.entryStart, this.#hunks.byteCount]),
      entryFirstLine: words([...columns.entryFirstLine, this.#lines.count]),
      hunks: this.#hunks.bytes.subarray(0, this.#hunks.byteCount),
      personStart: words(this.#persons.starts()),
      persons: this.#persons.bytes(),
      pathStart: words(paths.starts()),
      paths: paths.bytes(),
      pathLanguages: words(pathLanguages),
      languages: Buffer.from(this.#languages.texts().join("\n"), "latin1"),
    };
  }

  /** A path is stored once for each language that its files have. */
  #numberPaths(): { entryInfo: number[]; paths: StringTable; pathLanguages: number[] } {
    const { entryStatus: statuses, entryPaths, entryLanguages } = this.#commits;
    const texts = this.#paths.texts();
    const paths = new StringTable();
    const pathLanguages: number[] = [];
    assert(this.#languages.texts().length < languageCountMax, "languages have numbers of 16 bits");
    const numberOf = new Map<number, number>();
    const entryInfo = statuses.map((status, entry) => {
      const key = entryPaths[entry] * languageCountMax + entryLanguages[entry];
      let path = numberOf.get(key);
      if (path === undefined) {
        path = paths.append(texts[entryPaths[entry]]);
        if (path >= pathCountMax) throw new TrawlError("git", "the commits of a history shard change too many paths");
        pathLanguages.push(entryLanguages[entry]);
        numberOf.set(key, path);
      }
      return path * 2 ** entryPathShift + status;
    });
    return { entryInfo, paths, pathLanguages };
  }

  /** The oids of the commits, then those of parents that are not among them. */
  #numberParents(): { oids: Buffer; parentStart: number[]; parents: number[] } {
    const numberOf = new Map(this.#commits.oids.map((oid, i) => [oid, i]));
    assert(numberOf.size === this.commitCount, "a history shard has each of its commits once");
    const parentStart = [0];
    const parents: number[] = [];
    for (const list of this.#commits.parents) {
      for (const oid of list) {
        const number = numberOf.get(oid) ?? numberOf.size;
        numberOf.set(oid, number);
        parents.push(number);
      }
      parentStart.push(parents.length);
    }
    return { oids: Buffer.from([...numberOf.keys()].join(""), "hex"), parentStart, parents };
  }

  #messageSections(isIndexed: boolean): Record<MessageSection, Uint8Array> {
    const { messages, messageBytes } = this.#commits;
    const text = Buffer.alloc(messageBytes + textPaddingBytes);
    const start = new Uint32Array(messages.length + 1);
    messages.forEach((message, i) => {
      text.set(message, start[i]);
      start[i + 1] = start[i] + message.length + 1;
    });
    assert(start[messages.length] === messageBytes, "messages are counted as they are added");
    const index = this.#index(text.subarray(0, messageBytes), start, isIndexed);
    return {
      messageStart: toBytes(start),
      messageBlockStart: toBytes(index.contentStart),
      messageFirstUnit: toBytes(index.contentFirstUnit),
      messageFoldExceptions: toBytes(index.foldExceptions),
      messageKeys: toBytes(index.postings.keys),
      messagePostingStart: toBytes(index.postings.offsets),
      messagePostings: index.postings.bytes,
      messages: text,
    };
  }

  #lineSections(isIndexed: boolean): Record<LineSection, Uint8Array> {
    const { textBytes, count } = this.#lines;
    const padded = this.#lines.padded(textPaddingBytes);
    const text = padded.subarray(0, textBytes);
    const index = this.#index(text, this.#lines.start.subarray(0, count + 1), isIndexed);
    const newlines = new Uint32Array(Math.floor(textBytes / newlineStepBytes) + 1);
    this.#kernel.newlineTable(text, newlineStepBytes, newlines);
    return {
      lineBlockStart: toBytes(index.contentStart),
      lineFirstUnit: toBytes(index.contentFirstUnit),
      lineFoldExceptions: toBytes(index.foldExceptions),
      lineKeys: toBytes(index.postings.keys),
      linePostingStart: toBytes(index.postings.offsets),
      linePostings: index.postings.bytes,
      newlines: toBytes(newlines),
      lines: padded,
    };
  }

  /** `start` holds the start of each line or message, and the end of the text. */
  #index(text: Buffer, start: Uint32Array, isIndexed: boolean): TextSections {
    const contentStart = blockStarts(start);
    const { contentFirstUnit, units } = makeUnits(contentStart, unitBytes);
    const postings = isIndexed ? this.#kernel.buildPostings(text, units, units.length / 2) : noPostings;
    return { contentStart, contentFirstUnit, postings, foldExceptions: findFoldExceptions(text, contentStart) };
  }
}

/** Blocks of whole lines or messages; the last element is the end of the text. */
function blockStarts(start: Uint32Array): Uint32Array {
  const end = start[start.length - 1];
  const blocks = [0];
  for (const at of start) {
    if (at - blocks[blocks.length - 1] >= blockBytes && at < end) blocks.push(at);
  }
  if (end > 0) blocks.push(end);
  return Uint32Array.from(blocks);
}

interface TextSections {
  readonly contentStart: Uint32Array;
  readonly contentFirstUnit: Uint32Array;
  readonly postings: Postings;
  readonly foldExceptions: Uint32Array;
}

type MessageSection = Extract<Section, `message${string}`>;
type LineSection = Extract<Section, `line${string}` | "newlines">;
type CommitSection = Exclude<Section, MessageSection | LineSection>;

/** The columns of the commits and entries that were added. */
class Columns {
  readonly oids: string[] = [];
  readonly parents: (readonly string[])[] = [];
  readonly authorDates: number[] = [];
  readonly committerDates: number[] = [];
  readonly zones: number[] = [];
  readonly authors: number[] = [];
  readonly committers: number[] = [];
  readonly flags: number[] = [];
  readonly messages: Buffer[] = [];
  /** Including a zero byte after each. */
  messageBytes = 0;
  readonly firstEntry: number[] = [];
  readonly entryStatus: number[] = [];
  readonly entryPaths: number[] = [];
  readonly entryLanguages: number[] = [];
  readonly entryStart: number[] = [];
  readonly entryFirstLine: number[] = [];
}

function words(numbers: readonly number[]): Uint8Array {
  return toBytes(Uint32Array.from(numbers));
}

function toBytes(array: Uint32Array | Float64Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

const bytesStart = 1 << 16;

/** A longer context line is cut: it is only shown. */
const contextBytesMax = 512;

/** The varints of one run take at most this many bytes. */
const runBytesMax = 16;

/** Writes the hunks of one entry after another, in the coding that FORMAT.md describes. */
class HunkWriter {
  bytes: Buffer = uninitializedBytes(bytesStart);
  byteCount = 0;
  readonly #lines: LineDictionary;
  /** The number of the line that was written last. */
  #last = 0;
  /** The number of the first line that was not written yet: new lines are used in the order of their numbers. */
  #next = 0;

  constructor(lines: LineDictionary) {
    this.#lines = lines;
  }

  write(file: PatchFile): void {
    this.#next = this.#lines.count;
    this.#last = this.#next - 1;
    let oldLine = 1;
    let newLine = 1;
    for (let i = 0; i < file.hunkCount; i++) {
      const { oldStart, newStart, sectionFrom, sectionTo, firstLine } = file.hunks[i];
      const end = i + 1 < file.hunkCount ? file.hunks[i + 1].firstLine : file.lineCount;
      const gap = oldStart - oldLine;
      if (gap < 0 || newStart - newLine !== gap) throw new TrawlError("git", "git diff-tree wrote overlapping hunks");
      this.#reserve(runBytesMax);
      this.#varint(gap);
      this.#writeSection(file, sectionFrom, sectionTo);
      this.#writeLines(file, firstLine, end);
      oldLine = oldStart;
      newLine = newStart;
      for (let line = firstLine; line < end; line++) {
        if (file.lineSign[line] !== plusSign) oldLine++;
        if (file.lineSign[line] !== minusSign) newLine++;
      }
    }
  }

  #writeSection({ bytes }: PatchFile, from: number, to: number): void {
    if (from === to) {
      this.#varint(0);
      return;
    }
    const line = this.#lines.add(bytes, from, to, hashLine(bytes, from, to));
    this.#varint(this.#codeOf(line) + 1);
    this.#next = Math.max(this.#next, line + 1);
  }

  /** Runs of lines with the same sign and consecutive numbers, then 0. */
  #writeLines(file: PatchFile, from: number, to: number): void {
    const { lineSign } = file;
    let line = this.#add(file, from);
    for (let at = from; at < to; ) {
      const first = line;
      const sign = lineSign[at];
      let end = at + 1;
      for (; end < to; end++) {
        line = this.#add(file, end);
        if (lineSign[end] !== sign || line !== first + end - at) break;
      }
      this.#writeRun(sign, end - at, first);
      at = end;
    }
    this.#reserve(1);
    this.#varint(0);
  }

  #add({ bytes, lineFrom, lineTo, lineHash, lineSign }: PatchFile, line: number): number {
    const from = lineFrom[line];
    const to = lineTo[line];
    if (to - from <= contextBytesMax || lineSign[line] === plusSign || lineSign[line] === minusSign)
      return this.#lines.add(bytes, from, to, lineHash[line]);
    let end = from + contextBytesMax;
    for (let back = 0; back < 3 && (bytes[end] & 0xc0) === 0x80; back++) end--;
    return this.#lines.add(bytes, from, end, hashLine(bytes, from, end));
  }

  #writeRun(sign: number, length: number, first: number): void {
    const code = sign === plusSign ? runSigns.added : sign === minusSign ? runSigns.removed : runSigns.context;
    this.#reserve(runBytesMax);
    this.#varint(length * 2 ** runSignBits + code);
    this.#varint(this.#codeOf(first));
    this.#last = first + length - 1;
    this.#next = Math.max(this.#next, this.#last + 1);
  }

  /** 0 for the line after the last one, 1 for the next new line, otherwise the distance. */
  #codeOf(line: number): number {
    const distance = line - (this.#last + 1);
    if (distance === 0) return 0;
    if (line === this.#next) return 1;
    return (distance > 0 ? 2 * distance : -2 * distance - 1) + 1;
  }

  #varint(value: number): void {
    let rest = value >>> 0;
    for (; rest >= 0x80; rest >>>= 7) this.bytes[this.byteCount++] = (rest & 0x7f) | 0x80;
    this.bytes[this.byteCount++] = rest;
  }

  #reserve(byteCount: number): void {
    if (this.byteCount + byteCount <= this.bytes.length) return;
    const grown = uninitializedBytes(this.bytes.length * 2);
    this.bytes.copy(grown, 0, 0, this.byteCount);
    this.bytes = grown;
  }
}

/** Texts, numbered in the order in which they were added. One character per byte. */
class StringTable {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];

  /** The number of the text, which is added if it is not in the table. */
  add(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.append(text);
    this.#numbers.set(text, number);
    return number;
  }

  /** Adds the text even if it is in the table. */
  append(text: string): number {
    return this.#texts.push(text) - 1;
  }

  texts(): readonly string[] {
    return this.#texts;
  }

  /** Start of each text in `bytes`; the last element is the end. */
  starts(): number[] {
    const starts = [0];
    let end = 0;
    for (const text of this.#texts) starts.push((end += text.length + 1));
    return starts;
  }

  /** Each text followed by a zero byte. */
  bytes(): Buffer {
    return Buffer.from(this.#texts.map((text) => `${text}\0`).join(""), "latin1");
  }
}
