import { TrawlError } from "../../base/errors.js";
import { PatchFile } from "./patch-file.js";
import { PatchRecords } from "./patch-records.js";
import { readHunkHeader, readPerson, startsWith, withoutNewlines, withoutPartOfCharacter } from "./patch-header.js";
import { PatchWindow, tokenBytesMax } from "./patch-window.js";
import { fieldCount, type PatchLimits, type PatchVisitor } from "./patch-visitor.js";

const newline = 10;
const commitStart = 1;

const fileHeader = Buffer.from("diff --git ");
const binaryHeader = Buffer.from("Binary files ");

const states = { between: 0, field: 1, record: 2, path: 3, section: 4, hunk: 5, skipLine: 6 } as const;
type State = (typeof states)[keyof typeof states];

/**
 * Parses the output of `git diff-tree --stdin -z --raw --patch --format=<patchFormat>` as it arrives.
 *
 *     commit = 0x01 field{9}, each with a zero byte; zero bytes and newlines; records; sections
 *     record = ":" modes, oids and status, zero byte, path, zero byte
 *     section = "diff --git" line, header lines, hunks: one per record in the same order, two if the type changed
 *
 * Texts that a commit controls cannot be mistaken for something else: fields and paths are counted and end with a zero
 * byte, which they cannot contain, and the lines of a hunk are counted. Memory is limited by the window, which holds
 * one section, and by the paths of one commit.
 */
export class PatchParser {
  readonly #visitor: PatchVisitor;
  readonly #limits: PatchLimits;
  readonly #file: PatchFile;
  readonly #window = new PatchWindow();
  #state: State = states.between;
  #fields: Buffer[] = [];
  #isInCommit = false;
  /** The commit's records; `#record` is the one that the next section belongs to. */
  readonly #records = new PatchRecords();
  #record = 0;
  /** Whether the section that ends next is the first of the two of a changed type. */
  #isFirstOfTwo = false;
  #hasSection = false;
  #oldLeft = 0;
  #newLeft = 0;
  #commitBytes = 0;
  #isEnded = false;

  constructor(visitor: PatchVisitor, limits: PatchLimits) {
    this.#visitor = visitor;
    this.#limits = limits;
    this.#file = new PatchFile();
  }

  /** The commit whose header was read and whose files may be incomplete. */
  get isInCommit(): boolean {
    return this.#isInCommit;
  }

  /** Returns false once the visitor wants no more. Throws `git` if this is not the output described above. */
  add(chunk: Buffer): boolean {
    if (this.#isEnded) return false;
    const moved = this.#window.append(chunk);
    this.#file.move(this.#window.data, moved);
    while (!this.#isEnded && this.#step());
    return !this.#isEnded;
  }

  /** After the last `add`. */
  finish(isComplete: boolean): void {
    if (this.#isEnded || !this.#isInCommit) return;
    const isWhole = isComplete && (this.#state === states.between || this.#state === states.section);
    this.#endCommit(isWhole);
  }

  /** Parses one token or several lines; returns false if more bytes are needed. */
  #step(): boolean {
    if (this.#window.at >= this.#window.end) return false;
    switch (this.#state) {
      case states.between:
        return this.#stepBetween();
      case states.field: {
        const isMessage = this.#fields.length === fieldCount - 1;
        const field = this.#window.readToken(isMessage ? this.#limits.messageBytesMax : tokenBytesMax, isMessage);
        if (field === undefined) return false;
        this.#fields.push(Buffer.from(field));
        if (this.#fields.length === fieldCount) this.#beginCommit();
        return true;
      }
      case states.record: {
        const record = this.#window.readToken(tokenBytesMax, false);
        if (record === undefined) return false;
        this.#records.add(record);
        this.#state = states.path;
        return true;
      }
      case states.path: {
        const path = this.#window.readToken(tokenBytesMax, false);
        if (path === undefined) return false;
        this.#records.addPath(path);
        this.#state = states.between;
        return true;
      }
      case states.section:
        return this.#stepSection();
      case states.hunk:
        return this.#stepHunk();
      case states.skipLine: {
        const end = this.#window.data.indexOf(newline, this.#window.at);
        this.#window.at = end < 0 || end >= this.#window.end ? this.#window.end : end + 1;
        if (this.#window.at === this.#window.end && (end < 0 || end >= this.#window.end)) return false;
        this.#state = this.#oldLeft + this.#newLeft > 0 ? states.hunk : states.section;
        return true;
      }
    }
  }

  #stepBetween(): boolean {
    const byte = this.#window.data[this.#window.at];
    if (byte === commitStart) {
      if (this.#isInCommit) this.#endCommit(true);
      if (this.#isEnded) return false;
      this.#fields = [];
      this.#state = states.field;
      this.#window.at++;
    } else if (!this.#isInCommit || (byte !== 0 && byte !== newline && byte !== 58 && byte !== 100)) {
      throw unexpected();
    } else if (byte === 58) {
      this.#state = states.record;
    } else if (byte === 100) {
      this.#state = states.section;
    } else {
      this.#window.at++;
    }
    return true;
  }

  #beginCommit(): void {
    const [oid, parents, authorName, authorEmail, authorDate, name, email, date, message] = this.#fields;
    this.#isInCommit = true;
    this.#records.clear();
    this.#record = 0;
    this.#hasSection = false;
    this.#isFirstOfTwo = false;
    this.#commitBytes = 0;
    this.#state = states.between;
    this.#visitor.commit({
      oid: oid.toString("latin1"),
      parents: parents.length === 0 ? [] : parents.toString("latin1").split(" "),
      author: readPerson(authorName, authorEmail, authorDate),
      committer: readPerson(name, email, date),
      message: this.#window.isCut ? withoutPartOfCharacter(message) : withoutNewlines(message),
      isMessageCut: this.#window.isCut,
    });
  }

  /** A header line of a section, the header of a hunk, or the start of the next section or commit. */
  #stepSection(): boolean {
    const first = this.#window.data[this.#window.at];
    if (first === commitStart) {
      this.#state = states.between;
      return true;
    }
    if (first === 0) {
      this.#window.at++;
      return true;
    }
    const end = this.#window.findLineEnd();
    if (end === undefined) return false;
    const { data, at: from } = this.#window;
    if (first === 100 && startsWith(data, from, end, fileHeader)) {
      this.#endSection();
      this.#beginSection(end + 1);
    } else if (first === 64 && this.#hasSection) {
      this.#beginHunk(from, end);
    } else if (first === 66 && startsWith(data, from, end, binaryHeader)) {
      this.#file.isBinary = true;
    }
    this.#window.at = end + 1;
    return true;
  }

  #beginSection(start: number): void {
    if (this.#record >= this.#records.count) throw unexpected();
    const record = this.#record;
    const status = this.#records.status(record);
    const file = this.#file;
    if (status === "T") this.#isFirstOfTwo = !this.#isFirstOfTwo;
    file.begin(
      this.#records.path(this.#record),
      status === "A" || status === "D" ? status : status === "T" ? (this.#isFirstOfTwo ? "D" : "A") : "M",
      this.#window.data,
      () => this.#records.oids(record),
    );
    this.#hasSection = true;
    this.#window.kept = start;
    if (this.#commitBytes >= this.#limits.commitBytesMax) this.#dropHunks();
  }

  #endSection(): void {
    if (!this.#hasSection) return;
    this.#hasSection = false;
    this.#window.kept = -1;
    if (!this.#isFirstOfTwo) this.#record++;
    this.#visitor.file(this.#file);
  }

  #dropHunks(): void {
    this.#file.dropHunks();
    this.#window.kept = -1;
  }

  /** `@@ -OLD[,COUNT] +NEW[,COUNT] @@[ SECTION]` */
  #beginHunk(from: number, end: number): void {
    const numbers = readHunkHeader(this.#window.data, from, end);
    if (numbers === undefined) throw unexpected();
    const [oldStart, oldCount, newStart, newCount, textFrom] = numbers;
    this.#oldLeft = oldCount;
    this.#newLeft = newCount;
    if (!this.#file.isTooLarge) this.#file.addHunk(oldStart, oldCount, newStart, newCount, textFrom, end);
    if (oldCount + newCount > 0) this.#state = states.hunk;
  }

  /** Parses as many lines of the hunk as the window holds. */
  #stepHunk(): boolean {
    const { data } = this.#window;
    const end = this.#window.end;
    const file = this.#file;
    let at = this.#window.at;
    while (this.#oldLeft + this.#newLeft > 0) {
      const sign = data[at];
      // FNV-1a, which is computed while the end of the line is searched.
      let hash = -2128831035;
      let to = at + 1;
      if (at < end && sign === newline) to = at;
      else for (; to < end && data[to] !== newline; to++) hash = Math.imul(hash ^ data[to], 16777619);
      if (to >= end) break;
      if (sign === 43 || sign === 45) {
        if (sign === 43) this.#newLeft--;
        else this.#oldLeft--;
      } else if (sign === 32 || sign === newline) {
        this.#oldLeft--;
        this.#newLeft--;
      } else if (sign !== 92) throw unexpected();
      if (this.#oldLeft < 0 || this.#newLeft < 0) throw unexpected();
      if (sign !== 92 && !file.isTooLarge) file.addLine(sign === newline ? 32 : sign, Math.min(at + 1, to), to, hash);
      at = to + 1;
    }
    const isDone = this.#oldLeft + this.#newLeft === 0;
    this.#commitBytes += at - this.#window.at;
    this.#window.at = at;
    if (
      !file.isTooLarge &&
      (at - this.#window.kept > this.#limits.fileBytesMax || end - this.#window.kept > this.#windowBytesMax)
    )
      this.#dropHunks();
    if (isDone) {
      this.#state = states.section;
      return true;
    }
    if (file.isTooLarge && end - at > tokenBytesMax) this.#skipLongLine(at);
    return this.#state === states.skipLine;
  }

  get #windowBytesMax(): number {
    return this.#limits.fileBytesMax + tokenBytesMax;
  }

  /** Only a line of a file that is too large is skipped without its end. */
  #skipLongLine(at: number): void {
    const sign = this.#window.data[at];
    if (sign !== 45) this.#newLeft--;
    if (sign !== 43) this.#oldLeft--;
    this.#state = states.skipLine;
  }

  #endCommit(isComplete: boolean): void {
    this.#endSection();
    this.#isInCommit = false;
    const isWhole = isComplete && this.#record === this.#records.count;
    if (!this.#visitor.endCommit(isWhole)) this.#isEnded = true;
  }
}

function unexpected(): TrawlError {
  return new TrawlError("git", "git diff-tree wrote something unexpected");
}
