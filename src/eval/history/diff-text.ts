import { entryPathShift, entryStatus, runSigns } from "../../history/format.js";
import { type HistoryReader, HunkReader, noSection } from "../../history/history-reader.js";
import type { StopCheck } from "../../protocol/control-block.js";
import { Rows } from "../match/rows.js";
import { type FoundFile, type OnlySign, readStatus } from "./changed-files.js";
import type { RecordLeaf } from "./record-leaf.js";

/** Beyond these, matches are counted and not shown. */
const textUnitsMax = 1024 * 1024;
const rangeCountMax = 10_000;

/** What is shown of files without a match to highlight: a preview. */
const previewFilesMax = 5;
const previewHunksMax = 3;
const previewLinesMax = 5;

const signText = [" ", "+", "-"];

/**
 * The changes of a commit in these files, as a diff: per file a line with its path before and after, and the hunks with
 * matches, cut to the matched lines and one line around each. Files without matches are shown in part.
 */
export function renderDiff(
  reader: HistoryReader,
  files: readonly FoundFile[],
  onlySign: OnlySign,
  stop: StopCheck,
): HistoryText {
  const writer = new DiffWriter(reader, onlySign, stop);
  for (const file of files) writer.write(file);
  return writer.result;
}

class DiffWriter {
  readonly #reader: HistoryReader;
  readonly #hunks: HunkReader;
  readonly #onlySign: OnlySign;
  readonly #stop: StopCheck;
  readonly #hunk = new HunkLines();
  readonly #rows = new Rows(16);
  #text = "";
  #lineCount = 0;
  readonly #ranges: HighlightRange[] = [];
  #matchCount = 0;
  #previewFiles = 0;
  #isCut = false;

  constructor(reader: HistoryReader, onlySign: OnlySign, stop: StopCheck) {
    this.#reader = reader;
    this.#hunks = new HunkReader(reader);
    this.#onlySign = onlySign;
    this.#stop = stop;
  }

  get result(): HistoryText {
    return { text: this.#text, ranges: this.#ranges, matchCount: this.#matchCount, isCut: this.#isCut };
  }

  write({ entry, reported }: FoundFile): void {
    if (reported.length === 0 && ++this.#previewFiles > previewFilesMax) {
      this.#isCut = true;
      return;
    }
    this.#writePaths(entry);
    const hunks = this.#hunks;
    hunks.begin(entry);
    for (let count = 0; hunks.nextHunk(); count++) {
      this.#stop.check();
      if (reported.length === 0 && count === previewHunksMax) {
        this.#isCut = true;
        return;
      }
      const { oldStart, newStart, section } = hunks;
      this.#hunk.read(hunks);
      if (reported.length > 0) this.#writeMatches(reported, oldStart, newStart, section);
      else this.#writePart(0, Math.min(this.#hunk.count, previewLinesMax), oldStart, newStart, section);
    }
  }

  /** Two paths, of which one is `/dev/null` if the file was added or removed. */
  #writePaths(entry: number): void {
    const { paths, entryInfo } = this.#reader;
    const path = escapePath(paths.path(entryInfo[entry] >>> entryPathShift));
    const status = readStatus(this.#reader, entry);
    const before = status === entryStatus.added ? "/dev/null" : path;
    const after = status === entryStatus.removed ? "/dev/null" : path;
    this.#writeLine(`${before} ${after}`);
  }

  #writeMatches(reported: readonly RecordLeaf[], oldStart: number, newStart: number, section: number): void {
    const { count } = this.#hunk;
    let from = -1;
    let to = -1;
    for (let i = 0; i < count; i++) {
      if (!this.#isReported(i, reported)) continue;
      if (from >= 0 && i - 1 > to) {
        this.#writePart(from, to, oldStart, newStart, section, reported);
        from = -1;
      }
      if (from < 0) from = Math.max(0, i - 1);
      to = Math.min(count, i + 2);
    }
    if (from >= 0) this.#writePart(from, to, oldStart, newStart, section, reported);
  }

  #isReported(i: number, reported: readonly RecordLeaf[]): boolean {
    const sign = signText[this.#hunk.signs[i]];
    if (sign === " " || (this.#onlySign !== undefined && sign !== this.#onlySign)) return false;
    return reported.some((leaf) => leaf.reports(this.#hunk.lines[i]));
  }

  /** Writes lines `[from, to)` of the hunk, which begins at these lines of the file, as a hunk. */
  #writePart(
    from: number,
    to: number,
    oldStart: number,
    newStart: number,
    section: number,
    reported: readonly RecordLeaf[] = [],
  ): void {
    if (from === to) return;
    const before = this.#hunk.countSides(0, from);
    const own = this.#hunk.countSides(from, to);
    const heading = section === noSection ? "" : ` ${this.#lineText(section).toString("utf8")}`;
    this.#writeLine(
      `@@ -${side(oldStart + before.old, own.old)} +${side(newStart + before.new, own.new)} @@${heading}`,
    );
    for (let i = from; i < to; i++) {
      this.#stop.check();
      const text = this.#lineText(this.#hunk.lines[i]);
      // A line that is shown has its first ranges, also if they are the last ones.
      const isShown = !this.#isFull;
      if (reported.length > 0 && this.#isReported(i, reported)) this.#addRanges(i, text, reported);
      if (!isShown) this.#isCut = true;
      else this.#appendLine(signText[this.#hunk.signs[i]] + text.toString("utf8"));
    }
    if (to < this.#hunk.count && reported.length === 0) this.#isCut = true;
  }

  #addRanges(i: number, text: Buffer, reported: readonly RecordLeaf[]): void {
    const rows = this.#rows;
    rows.clear();
    for (const leaf of reported) if (leaf.reports(this.#hunk.lines[i])) leaf.findAll(text, rows);
    for (const [from, to] of distinctRows(rows)) {
      this.#matchCount++;
      if (this.#isFull) {
        this.#isCut = true;
        continue;
      }
      const character = 1 + codePoints(text.subarray(0, from));
      this.#ranges.push([this.#lineCount, character, codePoints(text.subarray(from, to))]);
    }
  }

  get #isFull(): boolean {
    return this.#text.length > textUnitsMax || this.#ranges.length >= rangeCountMax;
  }

  #writeLine(line: string): void {
    if (this.#isFull) {
      this.#isCut = true;
      return;
    }
    this.#appendLine(line);
  }

  #appendLine(line: string): void {
    this.#text += `${line}\n`;
    this.#lineCount++;
  }

  #lineText(line: number): Buffer {
    const start = this.#reader.lineStart(line);
    return this.#reader.lines.content.subarray(start, this.#reader.lineEnd(start));
  }
}

/** The lines of one hunk, in arrays that are reused. */
class HunkLines {
  count = 0;
  /** Line numbers of the shard, and `runSigns`. */
  lines = new Uint32Array(64);
  signs = new Uint8Array(64);

  read(hunks: HunkReader): void {
    this.count = 0;
    while (hunks.nextRun()) {
      while (this.count + hunks.end - hunks.first > this.lines.length) this.#grow();
      for (let line = hunks.first; line < hunks.end; line++) {
        this.lines[this.count] = line;
        this.signs[this.count++] = hunks.sign;
      }
    }
  }

  /** How many of the lines `[from, to)` the old and the new file have. */
  countSides(from: number, to: number): { old: number; new: number } {
    const sides = { old: 0, new: 0 };
    for (let i = from; i < to; i++) {
      if (this.signs[i] !== runSigns.added) sides.old++;
      if (this.signs[i] !== runSigns.removed) sides.new++;
    }
    return sides;
  }

  #grow(): void {
    const lines = new Uint32Array(this.lines.length * 2);
    lines.set(this.lines);
    this.lines = lines;
    const signs = new Uint8Array(lines.length);
    signs.set(this.signs);
    this.signs = signs;
  }
}

/** As git does, an empty range names the line before it. */
function side(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`;
}

/** A blank separates two paths, and a newline would begin another line. */
function escapePath(path: Buffer): string {
  return path.toString("utf8").replaceAll(" ", "\\ ").replaceAll("\n", "\\n");
}

/** The ranges in the order of their starts, the longer first; equal ones, of two patterns, once. */
export function* distinctRows(rows: Rows): Generator<readonly [from: number, to: number]> {
  rows.sort(0);
  const { words, count } = rows;
  for (let i = 0; i < count; i++) {
    const [from, to] = [words[i * 2], words[i * 2 + 1]];
    if (i === 0 || from !== words[i * 2 - 2] || to !== words[i * 2 - 1]) yield [from, to];
  }
}

/** A highlighted part of one line of a text: line from 0, start and length in code points. */
export type HighlightRange = readonly [line: number, character: number, length: number];

/** The text of a result, without the fence that clients expect around it, and the matches in it. */
export interface HistoryText {
  /** Empty for a message, of which the shard has the bytes. */
  readonly text: string;
  readonly ranges: readonly HighlightRange[];
  /** The ranges, including those of lines that are not in the text because it would be too long. */
  readonly matchCount: number;
  /** Whether a part of the text or some ranges were left out. */
  readonly isCut: boolean;
}

/** Number of code points in UTF-8 text; each byte that is not part of valid UTF-8 counts as one. */
export function codePoints(bytes: Buffer): number {
  const text = bytes.toString("utf8");
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) count--;
  }
  return count;
}
