import { cursorWords, type Kernel } from "../../native/kernel/kernel.js";
import { requiredLiterals, type Leaf, type PathFilter } from "../../query/plan/plan.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { PathTable } from "../../shard/text-sections.js";
import { scanBytesMax } from "./content-scan.js";
import { Rows } from "./rows.js";
import { lastAtMost } from "../../base/sorted-search.js";
import { foldedCharacters } from "../../base/ascii-folding.js";
import { trigramAt, trigramBits } from "../../native/kernel/alphabet.js";
import { compileRegexp, type MatchWork, type Matcher } from "../../regexp/match/matcher.js";
import { type PlainForm, toPlainForm } from "../../regexp/analysis/plain-form.js";
import type { ShardText } from "../../protocol/shard-filter.js";
import type { ShardReader } from "../../shard/shard-reader.js";

interface PathTester {
  test(document: number): boolean;
}

/** With more literals than this, one pass over the paths per literal costs more than testing every path. */
const scannedLiteralsMax = 8;

/** A condition on the text of a path. */
export type PathCondition = Pick<Leaf | PathFilter, "analysis" | "foldCase">;

/**
 * One byte per document, 1 if the regexp matches its path; undefined if it matches none.
 *
 * The kernel searches the list of paths for the regexp's required literals, and RE2 tests the paths that contain one.
 * Sound because a matching path contains a literal of each clause; if case folding could reach outside ASCII, every
 * path is tested. Throws `cancelled` if the search is stopped.
 */
export function matchPaths(
  reader: PathTable,
  kernel: Kernel,
  condition: PathCondition,
  tester: PathTester,
  stop: StopCheck,
): Uint8Array | undefined {
  const { clauses, foldsOutsideAscii } = requiredLiterals(condition);
  const { foldCase } = condition;
  const trigrams = findPathTrigrams(reader);
  const reachesFurther = foldsOutsideAscii && (trigrams?.hasFoldException ?? holdsFoldException(reader.paths));
  if (trigrams !== undefined && !reachesFurther)
    if (clauses.some((literals) => literals.every((literal) => !trigrams.mayContain(literal)))) return undefined;
  let matches: Uint8Array | undefined;
  const test = (document: number): void => {
    stop.check();
    if (matches?.[document] === 1 || !tester.test(document)) return;
    matches ??= new Uint8Array(reader.documentCount);
    matches[document] = 1;
  };
  const clause = clauses.find(
    (literals) => literals.length <= scannedLiteralsMax && literals.every((literal) => literal.length > 0),
  );
  if (clause === undefined || reachesFurther) {
    for (let document = 0; document < reader.documentCount; document++) test(document);
    return matches;
  }
  const rows = new Rows(64);
  const ranges = Uint32Array.of(0, reader.paths.length, reader.paths.length, 0);
  const cursor = new Uint32Array(4);
  for (const literal of clause) {
    rows.clear();
    cursor.fill(0);
    while (!kernel.scanLines(reader.paths, ranges, 1, literal, foldCase, 0, scanBytesMax, rows.words, cursor)) {
      rows.count = cursor[cursorWords.rows];
      if (rows.count * 2 === rows.words.length) rows.grow();
      stop.check();
    }
    rows.count = cursor[cursorWords.rows];
    for (let i = 0; i < rows.count; i++) test(lastAtMost(reader.pathStart, rows.words[i * 2], reader.documentCount));
  }
  return matches;
}

/**
 * Number of bits (as a power of two) to which trigrams are hashed: 8 KiB for each shard and thread. The paths of a shard
 * of Linux (4,000 of them) have about 7,000 distinct trigrams, so a word of five letters that occurs in none passes in
 * one of a thousand shards.
 */
const hashBits = 16;

/**
 * The trigrams that occur in the paths of a shard, regardless of ASCII case: a superset of them, hashed. Most words
 * occur in no path, and looking at a few bits takes a hundredth of the time of a scan over all paths.
 */
export class PathTrigrams {
  /** Whether some path contains a character that folds into ASCII from outside ASCII. */
  readonly hasFoldException: boolean;
  readonly bits = new Uint32Array((1 << hashBits) / 32);

  constructor(paths: Buffer) {
    this.hasFoldException = holdsFoldException(paths);
    for (let at = 0; at + 2 < paths.length; at++) {
      const bit = hash(trigramAt(paths, at));
      this.bits[bit >>> 5] |= 1 << (bit & 31);
    }
  }

  /**
   * False if no path contains the literal in any ASCII case; sound because such a path contains each of its trigrams,
   * and trigrams fold case. A literal shorter than a trigram may occur anywhere.
   */
  mayContain(literal: Uint8Array): boolean {
    for (let at = 0; at + 2 < literal.length; at++) {
      const bit = hash(trigramAt(literal, at));
      if (((this.bits[bit >>> 5] >>> (bit & 31)) & 1) === 0) return false;
    }
    return true;
  }
}

/** Valid as long as the readers: their paths do not change. */
const known = new WeakMap<PathTable, PathTrigrams | undefined>();

/**
 * The trigrams of the paths of a shard. Undefined when they are requested for the first time: for a reader that is used
 * once, as for a revision that is not indexed, a scan is cheaper.
 */
export function findPathTrigrams(reader: PathTable): PathTrigrams | undefined {
  let trigrams = known.get(reader);
  if (trigrams === undefined && known.has(reader)) trigrams = new PathTrigrams(reader.paths);
  known.set(reader, trigrams);
  return trigrams;
}

/** Whether some path contains a character that folds into ASCII from outside ASCII. */
export function holdsFoldException(paths: Buffer): boolean {
  return foldedCharacters.some(({ bytes }) => paths.includes(bytes));
}

/** Multiplicative hashing, as in `ShardFilter`. */
function hash(key: number): number {
  return Math.imul(key << (32 - trigramBits), 0x9e3779b1) >>> (32 - hashBits);
}

/**
 * Finds one pattern in the paths of a shard. Paths are so short that a call of RE2 costs more than the search itself:
 * for a filter on 3,654 results in Linux the highlights took 9 ms, and for `file:.` 380 ms. Therefore plain regexps are
 * found in plain paths without RE2, and so is `.`, which matches each character.
 */
export class PathFinder {
  readonly #reader: PathTable;
  readonly #source: string;
  readonly #foldCase: boolean;
  readonly #isDot: boolean;
  /** Null before it is needed. */
  #form: PlainForm | undefined | null = null;
  #compiled: Matcher | undefined;

  readonly #work: MatchWork;

  constructor(reader: PathTable, source: string, foldCase: boolean, work: MatchWork) {
    this.#reader = reader;
    this.#work = work;
    this.#source = source;
    this.#foldCase = foldCase;
    this.#isDot = source === ".";
  }

  test(document: number): boolean {
    const text = this.#pathText(document);
    if (text === undefined) return this.#matcher.test(this.#reader.path(document));
    return this.#isDot ? text.length > 0 : this.#plain?.test(text) === true;
  }

  /** Adds the ranges of all non-empty matches. */
  findAll(document: number, rows: Rows): void {
    const text = this.#isDot || this.#plain?.findsRanges === true ? this.#pathText(document) : undefined;
    if (text === undefined) this.#matcher.findAll(this.#reader.path(document), 0, rows, this.#work);
    else if (this.#isDot) for (let i = 0; i < text.length; i++) rows.push(i, i + 1);
    else this.#plain?.findAll(text, rows);
  }

  /** The path in the form that the plain form requires; undefined if RE2 must be used. */
  #pathText(document: number): string | undefined {
    const text = this.#isDot || this.#plain !== undefined ? this.#reader.plainPath(document) : undefined;
    return this.#foldCase ? text?.toLowerCase() : text;
  }

  get #plain(): PlainForm | undefined {
    if (this.#form === null) this.#form = toPlainForm(this.#source, this.#foldCase);
    return this.#form;
  }

  get #matcher(): Matcher {
    return (this.#compiled ??= compileRegexp(this.#source, this.#foldCase));
  }
}

/** The texts with which the shard's column of the filter is filled. */
export function columnText(reader: ShardReader): ShardText {
  const { keys, paths, foldExceptions } = reader;
  return { keys, paths, hasFoldExceptions: foldExceptions.length > 0 || holdsFoldException(paths) };
}
