import { isPlainText } from "../base/bytes.js";
import { lazy } from "../base/lazy.js";
import { lastAtMost } from "../base/sorted-search.js";
import { newlineStepBytes } from "../shard/format.js";
import { SectionReader } from "../shard/section-reader.js";
import type { PathTable, TextIndex } from "../shard/text-index.js";
import { historyFormat, textSections, unitBytes, type Section } from "./format.js";
import { structureFault } from "./structure.js";

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
