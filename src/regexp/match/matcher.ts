import { characterBytesMax, choiceCount, itemCount, matchBytesMax, memoryBytes } from "../analysis/extent.js";
import { Finder } from "./finder.js";
import { unboundedWork, type MatchWork } from "./match-work.js";
import { withOpenEnd } from "../analysis/open-end.js";
import type { Regexp } from "../syntax/syntax.js";

/** Takes match after match, as byte offsets. A plain array of numbers is one. */
export interface RangeSink {
  push(start: number, end: number): unknown;
}

/** How a text is cut into windows. */
export interface WindowSizes {
  /** A text of so many bytes or fewer is one window, whatever it holds. */
  readonly wholeBytesMax: number;
  /** 4 or more, which is the longest character. */
  readonly bytesMin: number;
  readonly bytesFirst: number;
  /** Bounds what is read between two looks at the stop flag, unless a match goes on past the window. */
  readonly bytesMax: number;
  /** Attempts to find a match in one window: each counts what follows in it as looked at. */
  readonly attemptCountMax: number;
  /** A window that is so many times as long as any match is far longer. */
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

/** A part of a text; matches that begin in it are looked for. */
interface Window {
  /** Its end. */
  readonly to: number;
  /** The end of what the finder is given, at or behind `to`. */
  readonly view: number;
  readonly finder: Finder;
}

/** With more choices the automaton may be too large for RE2's cache of its states: 4,096 of them take about 1.2 MiB. */
const choiceCountMax = 12;

/**
 * Then RE2 follows each item of the regexp by itself, at up to 25 ns for each item and byte: measured with
 * `(?s:.*[ab].{15}){60}z` on random text, 40 KB a second. So a window has so many bytes times items (13 ms at most),
 * and one that has to grow past the other bound (1 s) is too much work: a call of RE2 cannot be interrupted.
 */
const windowWork = 512 * 1024;
const windowWorkMax = 40 * 1024 * 1024;

/**
 * A compiled regexp over UTF-8 bytes. Bytes that are not UTF-8 are matched by nothing, not even by `.`.
 *
 * RE2 reads on behind a match for as long as a better one may follow: with `\w(?s:.*zqz)?` up to the end of the text,
 * for each match, and one call of RE2 cannot be interrupted. So it is given a window of the text at a time, in which
 * the regexp with an open end says which matches do not depend on what follows; only for one that does, a larger window
 * is taken. With an open end RE2 does not jump from one place of the first characters to the next, which otherwise
 * makes it twice as fast where they are rare (22 November 2026). So where a window is far longer than any match, the
 * regexp itself is searched for, with as much more in view as a match that begins in the window may take.
 *
 * Each attempt to find a match is charged with the rest of the window as work. A window ends after 16 attempts, and the
 * next window has the size that 16 attempts took, so the work of usual patterns is 10 to 20 times the size of the text,
 * however dense the matches are.
 */
export class Matcher {
  /** True when a line of a text has a match exactly where the line alone has one, but for matches that span lines. */
  readonly isLocal: boolean;
  /** An estimate of the memory that it comes to take. */
  readonly memoryBytes: number;
  readonly #tree: Regexp;
  readonly #foldCase: boolean;
  readonly #sizes: WindowSizes;
  /** Of a window that a match goes on past. */
  readonly #grownBytesMax: number;
  readonly #whole: Finder;
  /** Bytes from the start of a match to behind what its anchors look at, at most. */
  readonly #reach: number;
  /**
   * For windows; null before it is needed, undefined where that is too large for RE2: then the whole text is one
   * window.
   */
  #windowed: Finder | undefined | null = null;

  constructor(tree: Regexp, foldCase: boolean, sizes: WindowSizes) {
    this.#tree = tree;
    this.#foldCase = foldCase;
    this.#whole = new Finder(tree, foldCase);
    this.isLocal = !hasTextAnchor(tree);
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

  /** RE2 is given so many bytes at a time, as one call of it cannot be interrupted. */
  get windowBytesMax(): number {
    return this.#sizes.bytesMax;
  }

  /** Where the leftmost match at or after `from` starts, which may be empty; -1 without one. */
  startFrom(text: Uint8Array, from: number): number {
    return from < text.length ? this.#whole.search(text, from, text.length) : -1;
  }

  /**
   * Gives `base` + start and `base` + end of every match that is not empty, leftmost first and without overlap; no more
   * than `countMax`. False when it takes too much work, as `work` said or as a single match does, after some matches.
   * Anchors see the whole text, and nothing beyond it.
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
          // What begins at `start` goes on past the window, and nothing before it does.
          at = start;
          break;
        }
        at = end > start ? end : nextCharacter(text, start);
        if (end === start) continue;
        sink.push(base + start, base + end);
        if (--left === 0) return true;
      }
      bytes = this.#nextWindow(bytes, at - from, attempts);
    }
    return true;
  }

  /** The window of about so many bytes that begins at `from`. */
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
    // A match that goes on past the window needs a larger one, however large.
    if (doneBytes === 0) return bytes * 2;
    if (attempts >= attemptCountMax) return Math.max(bytesMin, doneBytes);
    return bytes > bytesMax ? Math.max(bytesMax, Math.ceil(bytes / 2)) : Math.min(bytes * 2, bytesMax);
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

/** The place behind the character at `at`; a byte that is not UTF-8 counts as one. */
function nextCharacter(text: Uint8Array, at: number): number {
  let next = at + 1;
  while (next < text.length && (text[next] & 0xc0) === 0x80) next++;
  return next;
}

/** The last position at or before `at` that does not part a character, unless it is not UTF-8 there anyway. */
function characterStart(text: Uint8Array, at: number): number {
  for (let back = 0; back < 4; back++) if ((text[at - back] & 0xc0) !== 0x80) return at - back;
  return at;
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
