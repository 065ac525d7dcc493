import { isAscii } from "node:buffer";
import { TrawlError } from "../base/errors.js";
import { lastAtMost } from "../base/sorted-search.js";
import { crc32, populate } from "../native/memory/memory.js";
import type { PathTable, TextIndex } from "../shard/text-index.js";
import {
  formatVersion,
  headerBytes,
  headerWordCount,
  headerWords,
  magic,
  newlineStepBytes,
  sections,
  sectionWordCount,
  textSections,
  unitBytes,
  withoutPostings,
  type Section,
} from "./format.js";
import { headerCrc } from "./shard-bytes.js";
import { structureFault } from "./structure.js";

const newline = 10;

/** Name and e-mail address. */
export interface Person {
  readonly name: Buffer;
  readonly email: Buffer;
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
  /** Document i is path i. */
  readonly paths: PathTable;
  /** Newlines in `lines` before each multiple of `newlineStepBytes`. */
  readonly newlines: Uint32Array;
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;

  constructor(id: number, bytes: Uint8Array) {
    this.id = id;
    // Typed arrays of words need an aligned start; a copied value may be anywhere in its buffer.
    this.#bytes = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
    this.#words = this.#checkHeader();
    this.checksum = this.#words[headerWords.headerCrc];
    this.commitCount = this.#words[headerWords.commitCount];
    this.entryCount = this.#words[headerWords.entryCount];
    this.lineCount = this.#words[headerWords.lineCount];
    this.oidBytes = this.#words[headerWords.oidBytes];
    this.hasPostings = (this.#words[headerWords.flags] & withoutPostings) === 0;
    const { commitCount, entryCount } = this;
    this.oids = this.#section("oids");
    this.parentStart = this.#readWords("parentStart", commitCount + 1);
    this.parents = this.#readWords("parents", undefined);
    this.authorDates = this.#readDates("authorDates");
    this.committerDates = this.#readDates("committerDates");
    this.zones = this.#readWords("zones", commitCount);
    this.authors = this.#readWords("authors", commitCount);
    this.committers = this.#readWords("committers", commitCount);
    this.commitFlags = this.#readWords("commitFlags", commitCount);
    this.commitFirstEntry = this.#readWords("commitFirstEntry", commitCount + 1);
    this.entryInfo = this.#readWords("entryInfo", entryCount);
    this.entryStart = this.#readWords("entryStart", entryCount + 1);
    this.entryFirstLine = this.#readWords("entryFirstLine", entryCount + 1);
    this.hunks = this.#section("hunks");
    this.personStart = this.#readWords("personStart", undefined);
    this.persons = this.#section("persons");
    this.newlines = this.#readWords("newlines", undefined);
    if (this.oidBytes !== 20 && this.oidBytes !== 32) this.#fail(`it has oids of ${this.oidBytes} bytes`);
    if (this.oids.length % this.oidBytes !== 0 || this.oidCount < commitCount) this.#fail("it has too few oids");
    this.messageStart = this.#readWords("messageStart", commitCount + 1);
    this.messages = this.#readText("message");
    this.lines = this.#readText("line");
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
    sections.forEach((section, i) => {
      if (textSections.includes(section) !== (part === "text")) return;
      const bytes = this.#section(section);
      populate(bytes);
      if (crc32(bytes) !== this.#words[headerWordCount + i * sectionWordCount + 2])
        this.#fail(`section ${section} has a wrong checksum`);
    });
    const fault = part === "index" ? structureFault(this) : undefined;
    if (fault !== undefined) this.#fail(fault);
  }

  /** Throws `corrupt-shard` if this is not the shard to which the catalog refers. */
  requireChecksum(expected: number | undefined): void {
    if (expected !== undefined && expected !== this.checksum) this.#fail("another shard is stored under its id");
  }

  /** The oid with this number as hex. */
  oid(number: number): string {
    return this.oids.toString("hex", number * this.oidBytes, (number + 1) * this.oidBytes);
  }

  message(commit: number): Buffer {
    return this.messages.content.subarray(this.messageStart[commit], this.messageStart[commit + 1] - 1);
  }

  person(number: number): Person {
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
    return this.#fail(what);
  }

  #checkHeader(): Uint32Array {
    const bytes = this.#bytes;
    if (bytes.length < headerBytes) this.#fail(`it has ${bytes.length} bytes, fewer than a header`);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, headerBytes / 4);
    if (words[headerWords.magic0] !== magic[0] || words[headerWords.magic1] !== magic[1])
      this.#fail("it does not begin like a history shard");
    if (words[headerWords.headerCrc] !== headerCrc(bytes)) this.#fail("its header has a wrong checksum");
    if (words[headerWords.version] !== formatVersion) {
      throw new TrawlError(
        "format-version",
        `history shard ${this.id} has format version ${words[headerWords.version]}; this program supports ${formatVersion}. Index the history again, or use the program that wrote it.`,
      );
    }
    if (words[headerWords.sectionCount] !== sections.length) this.#fail("it has the wrong number of sections");
    if (words[headerWords.totalBytes] > bytes.length)
      this.#fail(`it should have ${words[headerWords.totalBytes]} bytes and has ${bytes.length}`);
    return words;
  }

  /** The sections of `messages` or `lines`, whose names begin with this word. */
  #readText(name: "message" | "line"): TextIndex {
    const contentStart = this.#readWords(`${name}BlockStart`, undefined);
    const contentCount = contentStart.length - 1;
    if (contentCount < 0) this.#fail("it has no blocks");
    const contentFirstUnit = this.#readWords(`${name}FirstUnit`, contentCount + 1);
    const keys = this.#readWords(`${name}Keys`, undefined);
    const unitCount = contentFirstUnit[contentCount];
    return {
      contentCount,
      contentStart,
      contentFirstUnit,
      foldExceptions: this.#readWords(`${name}FoldExceptions`, undefined),
      hasPostings: this.hasPostings,
      keys,
      postingStart: this.#readWords(`${name}PostingStart`, keys.length + 1),
      postings: this.#section(`${name}Postings`),
      content: this.#section(`${name}s`),
      unitBytes,
      requireUnits: (units) => {
        if (units.length > 0 && units[units.length - 1] >= unitCount)
          this.#fail("a posting list names a unit that does not exist");
      },
    };
  }

  #readPaths(): PathTable {
    const pathStart = this.#readWords("pathStart", undefined);
    const paths = this.#section("paths");
    const path = (number: number): Buffer => paths.subarray(pathStart[number], pathStart[number + 1] - 1);
    return {
      documentCount: pathStart.length - 1,
      pathStart,
      paths,
      path,
      plainPath: (number) => {
        const bytes = path(number);
        return isAscii(bytes) && !bytes.includes(newline) ? bytes.toString("latin1") : undefined;
      },
    };
  }

  #section(section: Section): Buffer {
    const entry = headerWordCount + sections.indexOf(section) * sectionWordCount;
    const offset = this.#words[entry];
    const length = this.#words[entry + 1];
    if (offset % 8 !== 0 || offset + length > this.#bytes.length)
      this.#fail(`section ${section} extends beyond the value`);
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + offset, length);
  }

  #readWords(section: Section, count: number | undefined): Uint32Array {
    const bytes = this.#section(section);
    if (bytes.length % 4 !== 0 || (count !== undefined && bytes.length !== count * 4))
      this.#fail(`section ${section} has ${bytes.length} bytes`);
    return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  }

  #readDates(section: Section): Float64Array {
    const bytes = this.#section(section);
    if (bytes.length !== this.commitCount * 8) this.#fail(`section ${section} has ${bytes.length} bytes`);
    return new Float64Array(bytes.buffer, bytes.byteOffset, this.commitCount);
  }

  #fail(what: string): never {
    throw new TrawlError(
      "corrupt-shard",
      `history shard ${this.id} is damaged: ${what}. \`trawl check --repair\` rebuilds it.`,
    );
  }
}
