import type { RangeSink } from "../analysis/plain-form.js";
import RE2 from "re2";
import { unreachable } from "../../base/assert.js";
import { characterBytesMax, choiceCount, itemCount, matchBytesMax, memoryBytes } from "../analysis/extent.js";
import { expandRanges, rangesHold } from "../syntax/class-names.js";
import { withOpenEnd, withCrlfEnds } from "../analysis/line-ends.js";
import type { Regexp } from "../syntax/syntax.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { parseRegexp } from "../syntax/parse.js";
import { printSource } from "../syntax/print.js";
import { collectGarbage, collectYoungGarbage } from "../../base/garbage.js";

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

const usualWindows: WindowSizes = {
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

/**
 * Limit on the compiled regexps that one thread caches, as estimated by `Matcher.memoryBytes`: the memory of RE2's
 * automata, which grow while a text is searched. Each of 256 regexps has its share, so those of one query fit unless
 * they are unusual.
 *
 * Measured on random text: 15 KiB for a typical regexp such as `word_[a-z]+`, 1.2 MiB for 2,000 alternatives, 2.8 MiB
 * for `(?:a.*b.*c.*d){30}`. 256 regexps of the latter kind took 720 MB when only their number was limited.
 */
const cacheBytesMax = 64 * 1024 * 1024;
const cacheSizeMax = 256;

/** Memory of a typical regexp once it is in use, including the binding's own objects. */
const usualBytes = 32 * 1024;

const cache = new BoundedMap<string, Matcher>(cacheBytesMax, ({ memoryBytes }) =>
  Math.max(memoryBytes, cacheBytesMax / cacheSizeMax),
);

/**
 * Compiles a regexp in RE2 syntax, with `^` and `$` at line boundaries and, with `foldCase`, ignoring case. It is
 * parsed by our own parser first, because the binding interprets the source as JavaScript and changes it (`(?<`, `\c`,
 * `\u`). Recently compiled regexps are cached. Caller guarantees: a `Matcher` is no longer used when the same one is
 * requested again.
 */
export function compileRegexp(source: string, foldCase: boolean): Matcher {
  return cached(foldCase ? "i" : "c", source, foldCase, false);
}

/** The same for the text of files and commits, whose lines may end with CRLF: `$` also matches before that. */
export function compileTextRegexp(source: string, foldCase: boolean): Matcher {
  return cached(foldCase ? "I" : "C", source, foldCase, true);
}

function cached(prefix: string, source: string, foldCase: boolean, hasCrlf: boolean): Matcher {
  const key = prefix + source;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const matcher = compile(source, foldCase, hasCrlf);
  const before = cache.weight;
  cache.set(key, matcher);
  // Evicted regexps are older ones, so in the long run as much is evicted as is added.
  if (cache.weight < before + cacheBytesMax / cacheSizeMax) recordDropped(Math.max(matcher.memoryBytes, usualBytes));
  return matcher;
}

function compile(source: string, foldCase: boolean, hasCrlf: boolean): Matcher {
  const typed = parseRegexp(source, foldCase);
  const withCrlf = hasCrlf ? withCrlfEnds(typed) : undefined;
  try {
    return new Matcher(typed, foldCase, usualWindows, withCrlf);
  } catch (error) {
    throw new TrawlError("bad-query", `error parsing regexp: ${errorMessage(error)}`, { cause: error });
  }
}

/**
 * Finds one match after another with RE2.
 *
 * The binding's `exec` allocates an array and a copy of the match for every match, its `search` returns the position of
 * the first match as a number, and its `test` with a sticky flag moves `lastIndex` to the end of a match that begins at
 * a known position. The latter two allocate only the view to search in. Measured over 60 MB with 840,000 matches of
 * `[a-z]+_[a-z]+` on one core of the development machine: 2.8 µs per match with `exec`, 0.76 µs this way.
 */
class Finder {
  readonly #foldCase: boolean;
  readonly #source: string;
  readonly #searcher: RE2;
  /** Finds the end of a match; compiled when first needed, because that takes up to 100 ms for unusual regexps. */
  #sticky: RE2 | undefined;
  /** Whether an anchor depends on what precedes it. */
  readonly #looksBack: boolean;
  /** Finds a match from a position on, with everything before it visible; compiled when first needed. */
  #global: RE2 | undefined;

  /** Throws RE2's error if the regexp is too large for it. */
  constructor(tree: Regexp, foldCase: boolean) {
    this.#foldCase = foldCase;
    this.#source = printSource(tree, foldCase);
    this.#searcher = this.#compile("");
    this.#looksBack = looksBack(tree);
  }

  /** Whether the text has a match; it may be empty. */
  test(text: Uint8Array): boolean {
    return this.#searcher.test(text as Buffer);
  }

  /**
   * The start of the leftmost match in `[from, to)`, or -1, as if the text ended at `to`.
   *
   * Anchors look back at most one byte, except `\A`, which matches only at 0. Therefore the search begins one byte
   * early, and its result is valid unless it is at that byte: there the preceding byte is not visible to anchors, and
   * the slow method decides.
   */
  search(text: Uint8Array, from: number, to: number): number {
    if (from === 0) return this.#searcher.search(upTo(text, to) as Buffer);
    if (!this.#looksBack) {
      const start = this.#searcher.search(text.subarray(from, to) as Buffer);
      return start < 0 ? -1 : from + start;
    }
    const start = this.#searcher.search(text.subarray(from - 1, to) as Buffer);
    if (start !== 0) return start < 0 ? -1 : from - 1 + start;
    this.#global ??= this.#compile("g");
    this.#global.lastIndex = from;
    return this.#global.exec(upTo(text, to) as Buffer)?.index ?? -1;
  }

  /** The end of the match that starts at `start`, in the text up to `to`. */
  findEnd(text: Uint8Array, start: number, to: number): number {
    const sticky = (this.#sticky ??= this.#compile("y"));
    sticky.lastIndex = start;
    return sticky.test(upTo(text, to) as Buffer) ? sticky.lastIndex : start;
  }

  #compile(flag: string): RE2 {
    return new RE2(this.#source, (this.#foldCase ? "umi" : "um") + flag);
  }
}

function upTo(text: Uint8Array, to: number): Uint8Array {
  return to === text.length ? text : text.subarray(0, to);
}

function looksBack(tree: Regexp): boolean {
  switch (tree.kind) {
    case "anchor":
      return tree.at !== "line-end" && tree.at !== "text-end";
    case "repeat":
      return looksBack(tree.child);
    case "concat":
    case "alternate":
      return tree.children.some(looksBack);
    default:
      return false;
  }
}

/** Receives the amount of work of a search for matches. */
export interface MatchWork {
  /**
   * Counts bytes of text that will be examined; a byte counts each time. Returns false if there are too many: the
   * search ends. Throws `cancelled` if its result is no longer wanted.
   */
  spend(byteCount: number): boolean;
}

/** For texts whose size is limited elsewhere. */
const unboundedWork: MatchWork = { spend: () => true };

/** For texts of any size, where the search can be stopped but is not limited otherwise. */
export function untilStopped(isStopped: () => boolean): MatchWork {
  return {
    spend: () => {
      if (isStopped()) throw new TrawlError("cancelled", "the search for matches was stopped");
      return true;
    },
  };
}

/** Estimated memory of dropped compiled regexps after which young objects are collected: that of 512 typical ones. */
const youngBytesMax = 16 * 1024 * 1024;

/** A full collection follows after this much, for regexps that were old when they were dropped. */
const droppedBytesMax = 64 * 1024 * 1024;

/** A thread that has not returned to its event loop by then is collected at once. */
const waitingBytesMax = 2 * droppedBytesMax;

let droppedBytes = 0;
let youngBytes = 0;
let isPlanned = false;

/**
 * Records that compiled regexps of this many bytes were dropped, and collects garbage after each 16 MiB.
 *
 * The binding does not report the memory of a regexp to V8, so V8 sees a hundred bytes and has no reason to collect:
 * after 4,000 regexps of 400 alternatives, of which 16 were kept, a thread used 490 MB, and 89 MB with full collections
 * after each 16 MiB. Those discard optimized code: with a search for another word every 7 ms, they came every 6 s, and
 * compiling the code again was a quarter of the daemon's processor time.
 *
 * A full collection of the main thread's heap takes 60 to 90 ms with 10,000 repositories and as many users. It has a turn of
 * the event loop to itself, so that the thread is not blocked longer.
 */
function recordDropped(byteCount: number): void {
  droppedBytes += byteCount;
  youngBytes += byteCount;
  if (droppedBytes >= waitingBytesMax) collectAll();
  else if (droppedBytes >= droppedBytesMax) planCollection();
  else if (youngBytes >= youngBytesMax) {
    youngBytes = 0;
    collectYoungGarbage();
  }
}

function planCollection(): void {
  if (isPlanned) return;
  isPlanned = true;
  setImmediate(() => {
    isPlanned = false;
    if (droppedBytes >= droppedBytesMax) collectAll();
  });
}

function collectAll(): void {
  droppedBytes = 0;
  youngBytes = 0;
  collectGarbage();
}
