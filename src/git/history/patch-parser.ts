import { TrawlError } from "../../base/errors.js";
import { PatchFile } from "./patch-file.js";
import { fieldCount, type PatchLimits, type PatchPerson, type PatchVisitor } from "./patch-visitor.js";
import { uninitializedBytes } from "../../base/bytes.js";

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

/** Start and count of the old and the new side, and where the section begins. */
type HunkHeader = [oldStart: number, oldCount: number, newStart: number, newCount: number, textFrom: number];

function readHunkHeader(data: Buffer, from: number, end: number): HunkHeader | undefined {
  const numbers: HunkHeader = [0, 1, 0, 1, 0];
  let at = from + 3;
  for (const [index, mark] of [45, 43].entries()) {
    if (data[at++] !== mark) return undefined;
    let number = 0;
    let slot = index * 2;
    for (; at < end && data[at] !== 32; at++) {
      if (data[at] === 44) {
        numbers[slot++] = number;
        number = 0;
      } else if (data[at] >= 48 && data[at] <= 57 && number < 2 ** 32) number = number * 10 + data[at] - 48;
      else return undefined;
    }
    if (slot > index * 2 + 1) return undefined;
    numbers[slot] = number;
    at++;
  }
  if (data[at] !== 64 || data[at + 1] !== 64) return undefined;
  numbers[4] = Math.min(end, at + 3);
  return numbers;
}

function startsWith(data: Buffer, from: number, end: number, wanted: Buffer): boolean {
  return end - from >= wanted.length && data.compare(wanted, 0, wanted.length, from, from + wanted.length) === 0;
}

/** `date` is `SECONDS ZONE`, or empty if the commit has none that git can read. */
function readPerson(name: Buffer, email: Buffer, date: Buffer): PatchPerson {
  const [seconds = "", zone = ""] = date.toString("latin1").split(" ");
  const parsed = /^-?\d{1,20}$/.test(seconds) ? Number(seconds) : 0;
  return {
    name,
    email,
    seconds: Math.min(Math.max(parsed, -(2 ** 53)), 2 ** 53),
    zoneMinutes: readZone(zone),
  };
}

/** `+HHMM`; 0 if no place on earth has such a zone. */
function readZone(zone: string): number {
  if (!/^[+-]\d{1,5}$/.test(zone)) return 0;
  const digits = Number(zone.slice(1));
  const minutes = Math.floor(digits / 100) * 60 + (digits % 100);
  return minutes > 24 * 60 ? 0 : zone.startsWith("-") ? -minutes : minutes;
}

function withoutNewlines(message: Buffer): Buffer {
  let end = message.length;
  while (end > 0 && message[end - 1] === newline) end--;
  return message.subarray(0, end);
}

/** A cut message does not end within a character. */
function withoutPartOfCharacter(message: Buffer): Buffer {
  let end = message.length;
  for (let back = 0; back < 3 && end > 0 && (message[end - 1] & 0xc0) === 0x80; back++) end--;
  return message.subarray(0, end > 0 && message[end - 1] >= 0xc0 ? end - 1 : message.length);
}

const bytesStart = 1 << 16;
const countStart = 1 << 10;
const space = 32;

/** With more bytes than this the memory is released after the commit. */
const keptBytesMax = 4 << 20;

/**
 * The list of files that git writes before the changes of a commit: path, status and the oids of the blobs. As bytes one
 * after the other, because a commit may have millions.
 */
class PatchRecords {
  count = 0;
  #bytes: Buffer = uninitializedBytes(bytesStart);
  #byteCount = 0;
  /** Where the oids of each record begin, which are followed by its path; then the end of the last one. */
  #start = new Uint32Array(countStart);
  #oidsLength = new Uint8Array(countStart);
  #status = new Uint8Array(countStart);

  clear(): void {
    this.count = 0;
    this.#byteCount = 0;
    if (this.#bytes.length <= keptBytesMax) return;
    this.#bytes = uninitializedBytes(bytesStart);
    this.#start = new Uint32Array(countStart);
    this.#oidsLength = new Uint8Array(countStart);
    this.#status = new Uint8Array(countStart);
  }

  /** `:MODE MODE OID OID STATUS`; its path is added next. */
  add(record: Buffer): void {
    if (this.count + 2 > this.#start.length) this.#grow();
    const statusAt = record.lastIndexOf(space) + 1;
    const oidsAt = record.indexOf(space, record.indexOf(space) + 1) + 1;
    const oids = record.subarray(oidsAt, Math.max(oidsAt, statusAt - 1));
    this.#status[this.count] = record[statusAt] ?? 0;
    // Others are not oids: those of SHA-256 have 64 digits each.
    this.#oidsLength[this.count] = oids.length <= 129 ? oids.length : 0;
    if (oids.length <= 129) this.#append(oids);
  }

  addPath(path: Buffer): void {
    this.#append(path);
    this.#start[++this.count] = this.#byteCount;
  }

  status(record: number): string {
    return String.fromCharCode(this.#status[record]);
  }

  /** Valid until `clear`, or until another record is added. */
  path(record: number): Buffer {
    return this.#bytes.subarray(this.#start[record] + this.#oidsLength[record], this.#start[record + 1]);
  }

  /** The oid before and after the change; zeros if there is none. */
  oids(record: number): string[] {
    const from = this.#start[record];
    return this.#bytes.toString("latin1", from, from + this.#oidsLength[record]).split(" ");
  }

  #append(bytes: Buffer): void {
    if (this.#byteCount + bytes.length > this.#bytes.length) {
      const grown = uninitializedBytes(Math.max(this.#bytes.length * 2, this.#byteCount + bytes.length));
      this.#bytes.copy(grown, 0, 0, this.#byteCount);
      this.#bytes = grown;
    }
    bytes.copy(this.#bytes, this.#byteCount);
    this.#byteCount += bytes.length;
  }

  #grow(): void {
    const length = this.#start.length * 2;
    const [start, oidsLength, status] = [new Uint32Array(length), new Uint8Array(length), new Uint8Array(length)];
    start.set(this.#start);
    oidsLength.set(this.#oidsLength);
    status.set(this.#status);
    [this.#start, this.#oidsLength, this.#status] = [start, oidsLength, status];
  }
}

const windowBytesStart = 256 * 1024;

/** Limit on a header line, a path or a name, and on what follows a file of the maximum size in the window. */
const tokenBytesMax = 1024 * 1024;

/** The part of git's output that was received and is still needed. */
class PatchWindow {
  data: Buffer = uninitializedBytes(windowBytesStart);
  /** The next byte to parse, and the end of the bytes. */
  at = 0;
  end = 0;
  /** The first byte that is needed, if that is not the next one: where the hunks of a file begin. -1 for none. */
  kept = -1;
  /** Whether the last token, or the one that is being read, is not complete because it is too long. */
  isCut = false;
  /** Of a token that is longer than allowed: its beginning. */
  #longToken: Buffer | undefined;

  /** Returns by how much the positions in `data`, which may be another buffer now, have changed. */
  append(chunk: Buffer): number {
    const from = this.kept >= 0 ? this.kept : this.at;
    const needed = this.end - from + chunk.length;
    let moved = 0;
    if (this.end + chunk.length > this.data.length) {
      const target = needed > this.data.length ? uninitializedBytes(Math.max(needed, this.data.length * 2)) : this.data;
      this.data.copy(target, 0, from, this.end);
      this.data = target;
      moved = -from;
      this.at += moved;
      this.end += moved;
      if (this.kept >= 0) this.kept = 0;
    }
    chunk.copy(this.data, this.end);
    this.end += chunk.length;
    return moved;
  }

  /**
   * The bytes up to the next zero byte; undefined if they are not complete. With `mayCut`, at most `bytesMax`,
   * otherwise throws `git` if there are more. Valid until the next call of a method.
   */
  readToken(bytesMax: number, mayCut: boolean): Buffer | undefined {
    const found = this.data.indexOf(0, this.at);
    const isWhole = found >= 0 && found < this.end;
    const to = isWhole ? found : this.end;
    const from = this.at;
    if (to - from <= bytesMax && this.#longToken === undefined) {
      if (!isWhole) return undefined;
      this.at = to + 1;
      this.isCut = false;
      return this.data.subarray(from, to);
    }
    if (!mayCut) throw new TrawlError("git", "git diff-tree wrote an endless name");
    this.#longToken ??= Buffer.from(this.data.subarray(from, from + bytesMax));
    this.isCut = true;
    this.at = isWhole ? to + 1 : to;
    if (!isWhole) return undefined;
    const token = this.#longToken;
    this.#longToken = undefined;
    return token;
  }

  /** The end of the line that begins at the next byte; undefined if it is not complete. */
  findLineEnd(): number | undefined {
    const end = this.data.indexOf(newline, this.at);
    if (end >= 0 && end < this.end) return end;
    if (this.end - this.at > tokenBytesMax) throw new TrawlError("git", "git diff-tree wrote an endless line");
    return undefined;
  }
}
