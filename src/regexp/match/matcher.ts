import { unreachable } from "../../base/assert.js";
import { characterBytesMax, choiceCount, itemCount, matchBytesMax, memoryBytes } from "../analysis/extent.js";
import { expandRanges, rangesHold } from "../syntax/char-ranges.js";
import { Finder } from "./finder.js";
import { unboundedWork, type MatchWork } from "./match-work.js";
import { withOpenEnd } from "../analysis/open-end.js";
import type { Regexp } from "../syntax/syntax.js";

/** Receives one match after another, as byte offsets. A plain array of numbers satisfies it. */
export interface RangeSink {
  push(start: number, end: number): unknown;
}

const newline = 10;
const carriageReturn = 13;

/** A class of more characters, such as `\s`, has a newline only as one of many. */
const namingClassMax = 4;

/** How a text is divided into windows. */
export interface WindowSizes {
  /** A text of at most this many bytes is always a single window. */
  readonly wholeBytesMax: number;
  /** At least 4, the length of the longest character. */
  readonly bytesMin: number;
  readonly bytesFirst: number;
  /** Limits what is read between two checks of the stop flag, unless a match extends beyond the window. */
  readonly bytesMax: number;
  /** Number of attempts to find a match in one window: each counts the rest of the window as examined. */
  readonly attemptCountMax: number;
  /** A window this many times longer than any match is considered far longer. */
  readonly longTimes: number;
}

export const usualWindows: WindowSizes = {
  wholeBytesMax: 128,
  bytesMin: 16,
  bytesFirst: 64 * 1024,
  bytesMax: 1024 * 1024,
  attemptCountMax: 16,
  longTimes: 64,
};

/** A part of a text, in which matches that begin there are searched. */
interface Window {
  /** The end of the window. */
  readonly to: number;
  /** The end of the text passed to the finder, at or after `to`. */
  readonly view: number;
  readonly finder: Finder;
}

/** With more choices, the automaton may be too large for RE2's state cache: 4,096 states take about 1.2 MiB. */
const choiceCountMax = 12;

/**
 * In that case RE2 follows each item of the regexp separately, at up to 25 ns per item and byte: measured with
 * `(?s:.*[ab].{15}){60}z` on random text, 40 KB per second. Therefore the product of bytes and items in a window is
 * limited (13 ms at most), and a window that would have to exceed the other limit (1 s) is too much work: a call of RE2
 * cannot be interrupted.
 */
const windowWork = 512 * 1024;
const windowWorkMax = 40 * 1024 * 1024;

/**
 * A compiled regexp over UTF-8 bytes. Bytes that are not valid UTF-8 are matched by nothing, not even by `.`.
 *
 * RE2 continues to read after a match as long as a better one may follow: with `\w(?s:.*zqz)?` it reads to the end of
 * the text for each match, and a call of RE2 cannot be interrupted. Therefore it is given one window of the text at a
 * time, in which the regexp with an open end determines which matches do not depend on the following text; only for a
 * match that does, a larger window is used. With an open end, RE2 does not skip to occurrences of the first characters,
 * which otherwise makes it twice as fast if they are rare (22 November 2026). Therefore, if a window is far longer than
 * any match, the regexp itself is used, with as much additional text visible as a match that begins in the window may
 * take.
 *
 * Each attempt to find a match is charged with the rest of the window as work. A window ends after 16 attempts, and the
 * next window has the size that 16 attempts covered, so the work of typical patterns is 10 to 20 times the size of the
 * text, however dense the matches are.
 */
export class Matcher {
  /**
   * True if a match in a line of a text is always a match in the line alone and vice versa, apart from matches that
   * span lines.
   */
  readonly isLocal: boolean;
  /** An estimate of the memory that it will use. */
  readonly memoryBytes: number;
  /** Whether a match may consist of newlines only. */
  readonly #takesNewlines: boolean;
  readonly #tree: Regexp;
  readonly #foldCase: boolean;
  /** Whether a "\r" before the end of a line is cut off the end of a match: only `$` can have matched it. */
  readonly #cutsReturns: boolean;
  readonly #sizes: WindowSizes;
  /** Maximum size of a window that was enlarged because a match extends beyond it. */
  readonly #grownBytesMax: number;
  readonly #whole: Finder;
  /** Maximum distance from the start of a match to the end of what its anchors examine. */
  readonly #reach: number;
  /** For windows; null before it is needed, undefined if it is too large for RE2: then the whole text is one window. */
  #windowed: Finder | undefined | null = null;

  /** `withCrlf` is what `withCrlfEnds` made of the tree. */
  constructor(typed: Regexp, foldCase: boolean, sizes: WindowSizes, withCrlf?: Regexp) {
    this.#cutsReturns = withCrlf !== undefined;
    const tree = withCrlf ?? typed;
    this.#tree = tree;
    this.#foldCase = foldCase;
    this.#whole = new Finder(tree, foldCase);
    this.isLocal = !hasTextAnchor(tree);
    this.#takesNewlines = namesNewline(typed);
    this.#reach = this.isLocal ? matchBytesMax(tree) + characterBytesMax : Infinity;
    this.memoryBytes = memoryBytes(tree);
    const isSlow = choiceCount(tree) > choiceCountMax;
    const bytesMax = isSlow
      ? Math.max(sizes.wholeBytesMax, sizes.bytesMin, Math.min(sizes.bytesMax, Math.ceil(windowWork / itemCount(tree))))
      : sizes.bytesMax;
    this.#sizes = { ...sizes, bytesMax, bytesFirst: Math.min(sizes.bytesFirst, bytesMax) };
    this.#grownBytesMax = isSlow ? Math.max(bytesMax, Math.ceil(windowWorkMax / itemCount(tree))) : Infinity;
  }

  /** Whether the text has a match; it may be empty. */
  test(text: Uint8Array): boolean {
    return this.#whole.test(text);
  }

  /** RE2 is given at most this many bytes at a time, because a call of RE2 cannot be interrupted. */
  get windowBytesMax(): number {
    return this.#sizes.bytesMax;
  }

  /** The start of the leftmost match at or after `from`, which may be empty; -1 if there is none. */
  startFrom(text: Uint8Array, from: number): number {
    return from < text.length ? this.#whole.search(text, from, text.length) : -1;
  }

  /**
   * Whether the regexp matches in some line of the text; the match may be empty. There is no line after the last
   * newline, and none in an empty text. Undefined if it takes too much work, either according to `work` or for a single
   * match.
   */
  matchesInLine(text: Uint8Array, work: MatchWork): boolean | undefined {
    let bytes = this.#sizes.bytesFirst;
    let at = 0;
    while (at < text.length) {
      const { to, view, finder } = this.#windowAt(text, at, bytes);
      if (to - at > this.#grownBytesMax || !work.spend(view - at)) return undefined;
      const start = finder.search(text, at, view);
      if (start >= 0 && start < to) {
        // Whether there is a match at `start` depends on what follows the window, unless the match ends before that.
        if (view === text.length || finder.findEnd(text, start, view) < view) return true;
        bytes = this.#nextWindow(bytes, start - at, 1);
        at = start;
        continue;
      }
      if (start === text.length) return text[start - 1] !== newline;
      bytes = this.#nextWindow(bytes, to - at, 1);
      at = to;
    }
    return false;
  }

  /**
   * Passes `base` + start and `base` + end of every match to the sink, leftmost first and without overlap; at most
   * `countMax`. Empty matches are left out, and so are those that consist of newlines, unless the regexp asks for these:
   * a tool that searches line by line does not find `\s+$` at the end of a line without white space. Returns false,
   * possibly after some matches, if it takes too much work, either according to `work` or for a single match. Anchors
   * see the whole text, and nothing beyond it.
   */
  findAll(
    text: Uint8Array,
    base: number,
    sink: RangeSink,
    work: MatchWork = unboundedWork,
    countMax = Infinity,
  ): boolean {
    const isShort = text.length <= this.#sizes.wholeBytesMax;
    const attemptCountMax = isShort ? Infinity : this.#sizes.attemptCountMax;
    let bytes = isShort ? text.length : this.#sizes.bytesFirst;
    let at = 0;
    let left = countMax;
    while (at < text.length) {
      const from = at;
      const { to, view, finder } = this.#windowAt(text, from, bytes);
      if (to - from > this.#grownBytesMax) return false;
      let attempts = 0;
      while (attempts < attemptCountMax && at < to) {
        if (!work.spend(view - at)) return false;
        attempts++;
        const start = finder.search(text, at, view);
        if (start < 0 || start >= to) {
          at = to;
          break;
        }
        const end = finder.findEnd(text, start, view);
        if (end === view && view < text.length) {
          // A match that begins at `start` extends beyond the window, and no earlier one does.
          at = start;
          break;
        }
        at = end > start ? end : nextCharacter(text, start);
        const shown = this.#cutsReturns && endsWithReturn(text, start, end) ? end - 1 : end;
        if (shown === start || (!this.#takesNewlines && this.#areNewlines(text, start, shown))) continue;
        sink.push(base + start, base + shown);
        if (--left === 0) return true;
      }
      bytes = this.#nextWindow(bytes, at - from, attempts);
    }
    return true;
  }

  /** The window of about this many bytes that begins at `from`. */
  #windowAt(text: Uint8Array, from: number, bytes: number): Window {
    const rest: Window = { to: text.length, view: text.length, finder: this.#whole };
    if (from + bytes >= text.length) return rest;
    const to = characterStart(text, from + bytes);
    if (bytes >= this.#sizes.longTimes * this.#reach)
      return { to, view: Math.min(text.length, to + this.#reach), finder: this.#whole };
    const finder = this.#windowFinder;
    return finder === undefined ? rest : { to, view: to, finder };
  }

  /** The size of the window after one of `bytes`, of which `doneBytes` are done. */
  #nextWindow(bytes: number, doneBytes: number, attempts: number): number {
    const { bytesMin, bytesMax, attemptCountMax } = this.#sizes;
    // A match that extends beyond the window needs a larger one, however large.
    if (doneBytes === 0) return bytes * 2;
    if (attempts >= attemptCountMax) return Math.max(bytesMin, doneBytes);
    return bytes > bytesMax ? Math.max(bytesMax, Math.ceil(bytes / 2)) : Math.min(bytes * 2, bytesMax);
  }

  /** Whether the match consists of line ends. */
  #areNewlines(text: Uint8Array, start: number, end: number): boolean {
    while (start < end && (text[start] === newline || (this.#cutsReturns && text[start] === carriageReturn))) start++;
    return start === end;
  }

  get #windowFinder(): Finder | undefined {
    if (this.#windowed === null) this.#windowed = openFinder(this.#tree, this.#foldCase);
    return this.#windowed;
  }
}

function openFinder(tree: Regexp, foldCase: boolean): Finder | undefined {
  try {
    return new Finder(withOpenEnd(tree), foldCase);
  } catch {
    return undefined;
  }
}

/** The position after the character at `at`; a byte that is not valid UTF-8 counts as one. */
function nextCharacter(text: Uint8Array, at: number): number {
  let next = at + 1;
  while (next < text.length && (text[next] & 0xc0) === 0x80) next++;
  return next;
}

/** The last position at or before `at` that does not split a character, unless the text is not valid UTF-8 there. */
function characterStart(text: Uint8Array, at: number): number {
  for (let back = 0; back < 4; back++) if ((text[at - back] & 0xc0) !== 0x80) return at - back;
  return at;
}

/** Whether the match ends with a "\r" at the end of a line. */
function endsWithReturn(text: Uint8Array, start: number, end: number): boolean {
  return end > start && text[end - 1] === carriageReturn && (end === text.length || text[end] === newline);
}

function hasTextAnchor(tree: Regexp): boolean {
  switch (tree.kind) {
    case "anchor":
      return tree.at === "text-start" || tree.at === "text-end";
    case "repeat":
      return hasTextAnchor(tree.child);
    case "concat":
    case "alternate":
      return tree.children.some(hasTextAnchor);
    default:
      return false;
  }
}

/** Whether the regexp asks for a newline: by `\n`, in a small class such as `[\r\n]`, or with `.` and the flag `s`. */
function namesNewline(tree: Regexp): boolean {
  switch (tree.kind) {
    case "empty":
    case "anchor":
      return false;
    case "literal":
      return tree.text.includes("\n");
    case "class":
      return (
        !tree.negated &&
        tree.named.length === 0 &&
        rangesHold(tree.ranges, 10) &&
        expandRanges(tree.ranges, namingClassMax) !== undefined
      );
    case "any":
      return tree.newline;
    case "repeat":
      return namesNewline(tree.child);
    case "concat":
    case "alternate":
      return tree.children.some(namesNewline);
    default:
      return unreachable(tree);
  }
}
