import { errorMessage, TrawlError } from "../../base/errors.js";
import { escapeRegexp } from "../../base/text.js";
import { makePatternTable } from "../../native/kernel/pattern-table.js";
import { analyseLiteral, analyseRegexp } from "../../regexp/analysis/analyse.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";
import type { QueryType } from "../syntax/scan.js";
import {
  type Leaf,
  type PatternSet,
  type SearchPlan,
  type SetRegexp,
  type TextPlan,
  exactLiteral,
  isAscii,
  requiredLiterals,
  trigramBytes,
} from "./plan.js";

/** Limits on the patterns of one search. */
export const patternSetLimits = {
  countMax: 50_000,
  /** UTF-8 bytes of one pattern. */
  bytesMax: 4_096,
  /** UTF-8 bytes of all of them; in a request, with the JSON around them. Parsing 1 MiB takes 3 to 10 ms of the main thread. */
  allBytesMax: 1 << 20,
  /** Regexps that no literal of three bytes locates: each of them is tried on every file. */
  unlocatedMax: 100,
} as const;

/** Throws `bad-request` unless one search may have so many patterns. */
export function requirePatternCount(count: number): void {
  if (count === 0) throw bad("patterns is empty: name at least one");
  if (count > patternSetLimits.countMax)
    throw bad(`there are ${count} patterns; at most ${patternSetLimits.countMax} can be searched for at once`);
}

/** Returns the UTF-8 bytes of pattern `i` of a request. Throws `bad-request` that names it if it cannot be searched for. */
export function requirePattern(pattern: string, i: number): number {
  const bytes = Buffer.byteLength(pattern);
  if (pattern === "") throw bad(`patterns[${i}] is empty: it would match everywhere`);
  if (bytes > patternSetLimits.bytesMax)
    throw bad(`patterns[${i}] ${shown(pattern)} has ${bytes} bytes; at most ${patternSetLimits.bytesMax} are allowed`);
  if (/\p{Surrogate}/u.test(pattern)) throw bad(`patterns[${i}] has half of a surrogate pair, which is no character`);
  return bytes;
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-request", message);
}

/** The texts of a request as literals or regexps. */
export interface RequestedPatterns {
  readonly texts: readonly string[];
  readonly areRegexps: boolean;
}

/** The patterns as the pattern type of the search says. Throws `bad-request` for a type that sets do not have. */
export function toRequestedPatterns(texts: readonly string[], type: QueryType): RequestedPatterns {
  if (type === "keyword" || type === "structural")
    throw new TrawlError(
      "bad-request",
      `the pattern type ${type} cannot be used with patterns: use literal or regexp (the parameter t, or patternType: in the query)`,
    );
  return { texts, areRegexps: type === "regexp" };
}

/** Patterns that are analysed between two steps: about a millisecond for regexps. */
const patternsOfStep = 64;

/** Patterns that are checked, or literals that are copied, between two steps. */
const itemsOfStep = 1024;

/** Yields after each step. Throws `bad-query` that names the pattern. */
export function* makePatternSet(
  { texts, areRegexps }: RequestedPatterns,
  foldCase: boolean,
): Generator<undefined, PatternSet> {
  const literals = new SetLiterals();
  const regexps: SetRegexp[] = [];
  for (const [pattern, text] of texts.entries()) {
    if (pattern % patternsOfStep === 0) yield;
    const literal = areRegexps ? undefined : exactLiteral(text, foldCase);
    if (literal !== undefined) {
      literals.add(literal, pattern);
      continue;
    }
    const analysis = analyse(text, pattern, areRegexps, foldCase);
    const { exact, clauses } = requiredLiterals({ analysis, foldCase });
    if (exact?.length === 1) {
      literals.addBytes(exact[0], pattern);
      continue;
    }
    const clause = clauses.find((alternatives) => alternatives.every(({ length }) => length >= trigramBytes));
    for (const alternative of clause ?? []) literals.addBytes(alternative, texts.length + regexps.length);
    const source = areRegexps ? text : escapeRegexp(text);
    regexps.push({ pattern, source, isLocated: clause !== undefined });
    if (clause === undefined) requireFewUnlocated(regexps, pattern);
  }
  const { bytes, starts, targets, targetStarts } = yield* literals.sort();
  const table = yield* makePatternTable(bytes, starts, foldCase);
  return { count: texts.length, table, targetStarts, targets, regexps };
}

/** The plan as it is told to another node, which has the patterns of the request: without the sets, which take longer to send than to make. */
export function withoutSets(plan: SearchPlan): SearchPlan {
  return changeLeaves(plan, (leaf) => (leaf.set === undefined ? leaf : { ...leaf, set: undefined, wantsSet: true }));
}

/**
 * The plan with the sets of these patterns, in the leaves that want one. Yields after each step. Throws `bad-request` or `bad-query` for
 * patterns that no client may send.
 */
export function* withSets(plan: SearchPlan, texts: readonly string[]): Generator<undefined, SearchPlan> {
  requirePatternCount(texts.length);
  let bytes = 0;
  for (const [i, text] of texts.entries()) {
    if (i % itemsOfStep === 0) yield;
    bytes += requirePattern(text, i);
  }
  if (bytes > patternSetLimits.allBytesMax)
    throw bad(`the patterns have ${bytes} bytes; at most ${patternSetLimits.allBytesMax} are allowed`);
  const patterns = toRequestedPatterns(texts, plan.patternType);
  const leaves = plan.basicQueries.flatMap(
    ({ text }) => text?.leaves.filter(({ wantsSet }) => wantsSet === true) ?? [],
  );
  const sets = new Map<boolean, PatternSet>();
  for (const { foldCase } of leaves)
    if (!sets.has(foldCase)) sets.set(foldCase, yield* makePatternSet(patterns, foldCase));
  return changeLeaves(plan, ({ wantsSet, ...leaf }) => {
    const set = wantsSet === true ? sets.get(leaf.foldCase) : undefined;
    return set === undefined ? leaf : { ...leaf, set };
  });
}

/** The plan with other leaves in its texts. What basic queries share, they share again. */
function changeLeaves(plan: SearchPlan, change: (leaf: Leaf) => Leaf): SearchPlan {
  const changed = new Map<TextPlan, TextPlan>();
  const basicQueries = plan.basicQueries.map((basic) => {
    const { text } = basic;
    if (text === undefined) return basic;
    const known = changed.get(text) ?? { ...text, leaves: text.leaves.map(change) };
    changed.set(text, known);
    return { ...basic, text: known };
  });
  return { ...plan, basicQueries };
}

/** As `PatternTable` has them, the longest first, and what each of them locates. */
interface SortedLiterals extends Pick<PatternSet, "targets" | "targetStarts"> {
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
}

/** The literals of a set, and what each of them locates. */
class SetLiterals {
  /** By the bytes of a literal as characters: its number. */
  readonly #numbers = new Map<string, number>();
  /** By literal: how many targets it has, and the last of them. */
  readonly #counts: number[] = [];
  readonly #lasts: number[] = [];
  /** Each target, and the literal that locates it. */
  readonly #targets: number[] = [];
  readonly #literals: number[] = [];

  add(text: string, target: number): void {
    if (isAscii(text)) this.#add(text, target);
    else this.addBytes(Buffer.from(text), target);
  }

  addBytes(literal: Buffer, target: number): void {
    this.#add(literal.toString("latin1"), target);
  }

  #add(key: string, target: number): void {
    const number = this.#numbers.get(key) ?? this.#numbers.size;
    if (number === this.#numbers.size) {
      this.#numbers.set(key, number);
      this.#counts.push(0);
    } else if (this.#lasts[number] === target) return;
    this.#counts[number]++;
    this.#lasts[number] = target;
    this.#targets.push(target);
    this.#literals.push(number);
  }

  /** The longest first, as `PatternTable` has them. */
  *sort(): Generator<undefined, SortedLiterals> {
    const keys = [...this.#numbers.keys()];
    yield;
    const order = sortByLength(keys);
    yield;
    const starts = new Uint32Array(keys.length + 1);
    const targetStarts = new Uint32Array(keys.length + 1);
    const next = new Uint32Array(keys.length);
    for (let i = 0; i < order.length; i++) {
      const number = order[i];
      starts[i + 1] = starts[i] + keys[number].length;
      next[number] = targetStarts[i];
      targetStarts[i + 1] = targetStarts[i] + this.#counts[number];
    }
    const targets = new Uint32Array(this.#targets.length);
    for (let i = 0; i < targets.length; i++) targets[next[this.#literals[i]]++] = this.#targets[i];
    const bytes = Buffer.alloc(starts[keys.length]);
    for (const [i, number] of order.entries()) {
      if (i % itemsOfStep === 0) yield;
      bytes.write(keys[number], starts[i], "latin1");
    }
    return { bytes, starts, targets, targetStarts };
  }
}

/** The numbers of the texts, the longest first. */
function sortByLength(texts: readonly string[]): Uint32Array {
  const lengthMax = texts.reduce((most, { length }) => Math.max(most, length), 0);
  const firsts = new Uint32Array(lengthMax + 2);
  for (const { length } of texts) firsts[lengthMax - length + 1]++;
  for (let i = 1; i < firsts.length; i++) firsts[i] += firsts[i - 1];
  const order = new Uint32Array(texts.length);
  texts.forEach(({ length }, number) => {
    order[firsts[lengthMax - length]++] = number;
  });
  return order;
}

function analyse(text: string, pattern: number, isRegexp: boolean, foldCase: boolean): RegexpAnalysis {
  if (!isRegexp) return analyseLiteral(text, foldCase);
  try {
    return analyseRegexp(text, foldCase);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "bad-query") throw error;
    throw new TrawlError("bad-query", `patterns[${pattern}] ${shown(text)}: ${errorMessage(error)}`, { cause: error });
  }
}

function requireFewUnlocated(regexps: readonly SetRegexp[], pattern: number): void {
  const unlocated = regexps.filter(({ isLocated }) => !isLocated);
  if (unlocated.length <= patternSetLimits.unlocatedMax) return;
  throw new TrawlError(
    "bad-query",
    `patterns[${pattern}] ${shown(unlocated[unlocated.length - 1].source)}: more than ${patternSetLimits.unlocatedMax} ` +
      "patterns have no literal of three bytes or more that every match contains, so each is tried on every file; search for them separately",
  );
}

const shownLength = 60;

/** A pattern as shown in messages. */
export function shown(text: string): string {
  return JSON.stringify(text.length > shownLength ? `${text.slice(0, shownLength)}…` : text);
}
