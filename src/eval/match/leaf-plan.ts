import { cursorWords, type Kernel } from "../../native/kernel/kernel.js";
import { requiredLiterals, trigramBytes, type Leaf } from "../../query/plan/plan.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { TextIndex } from "../../shard/text-sections.js";
import type { StopCheck } from "../../protocol/control-block.js";
import { type ContentSet, intersect, unite } from "./content-scan.js";
import { overlapBytes } from "../../shard/format.js";
import { gallop } from "../../base/sorted-search.js";
import { type Automaton, findAutomaton } from "../../regexp/match/automaton.js";

/** Another clause is looked up only if its lists are at most this many times longer than the first clause's. */
const clauseCostFactor = 16;

/**
 * Without the index, lines are located only by up to this many literals of two bytes or more: with more literals, or
 * with one byte, so many lines are candidates that a call of RE2 for each costs more than one for the whole content.
 */
const prefilterLiteralsMax = 4;

/**
 * Lines are not located if that would scan the candidates' text more often than this: RE2 reads it once, at a twentieth
 * of the kernel's speed. `(a|b|…) *\(` with 100 identifiers, whose literals are cut to three bytes, takes 390 ms over
 * 120 MB instead of 1,600 ms.
 */
const scannedTimesMax = 8;

/**
 * An automaton is tried on the first texts of a shard. It is not used if it accepts a line in fewer than this many bytes, since RE2
 * is called for each line (1 µs), or if the contents that it accepts have more than this share of the text.
 */
const sampleBytesMax = 256 * 1024;
const lineBytesMin = 250;
const foundShareMax = 0.25;

/** With less text to search, making an automaton takes longer than RE2. */
const automatonBytesMin = 4 * 1024 * 1024;

/** One literal to scan for, with the units in which it can start; no units: anywhere. */
export interface LiteralScan {
  readonly needle: Buffer;
  readonly units: Uint32Array | undefined;
}

/**
 * How one leaf is found in the contents of one shard.
 *
 * - `literals`: exact literals, found by the kernel alone; of several, ordered by start with the longer first, those
 *   that do not overlap an earlier one. For an `or` of texts, each is found independently.
 * - `lines`: each match lies in a line that contains one of the literals; the kernel finds those lines, RE2 searches
 *   them.
 * - `automaton`: the kernel finds lines or, if a match can have several, contents that an automaton accepts; RE2 searches them.
 * - `contents`: RE2 searches whole contents.
 * - `names`: RE2 searches each line as a text of its own.
 * - `set`: the kernel alone finds the literals of a set, those of a group in the units of its scan.
 */
export interface LeafPlan {
  readonly method: "literals" | "lines" | "automaton" | "contents" | "names" | "set";
  readonly scans: readonly LiteralScan[];
  /** For this method. */
  readonly automaton?: Automaton;
  /**
   * Contents that the index cannot rule out. Sound because a match contains at least one literal of each clause, a
   * literal is in the unit lists of all its trigrams, and the contents for which ignoring case reaches outside ASCII
   * (`foldExceptions`) are included unless the pattern has no letter that does.
   */
  readonly candidates: ContentSet;
  /** Contents that RE2 searches completely, regardless of the method. Ascending. */
  readonly exceptions: Uint32Array;
  /** Bytes of posting lists read. */
  readonly postingBytes: number;
}

/**
 * Plans `leaf` on a shard. If `useIndex` is false, every content is a candidate, which tests verification independently
 * of the index.
 */
export function planLeaf(leaf: Leaf, reader: TextIndex, kernel: Kernel, useIndex: boolean, stop: StopCheck): LeafPlan {
  const plan = planTexts(leaf, reader, kernel, useIndex, stop);
  // No match extends over several names.
  return reader instanceof SymbolView && leaf.analysis.crossesLines ? { ...plan, method: "names", scans: [] } : plan;
}

/** The plan with an automaton, if RE2 would have to search whole contents and an automaton finds most of them in vain. */
export function withAutomaton(plan: LeafPlan, leaf: Leaf, reader: TextIndex, kernel: Kernel): LeafPlan {
  // The text of a view of symbols is made while it is searched.
  if (plan.method !== "contents" || reader instanceof SymbolView) return plan;
  const automaton = usefulAutomaton(leaf, plan.candidates, reader, kernel);
  return automaton === undefined ? plan : { ...plan, method: "automaton", automaton, scans: everywhere };
}

/** Without a literal, each range is a whole content. */
const everywhere: readonly LiteralScan[] = [{ needle: Buffer.alloc(0), units: undefined }];

function usefulAutomaton(
  { source, either, foldCase, analysis }: Leaf,
  candidates: ContentSet,
  reader: TextIndex,
  kernel: Kernel,
): Automaton | undefined {
  if (either.length > 0 || analysis.matchesEmpty || reader.content.length < automatonBytesMin) return undefined;
  // Of contents that have its literals, most have a match.
  if (analysis.crossesLines && candidates !== undefined) return undefined;
  const automaton = findAutomaton(source, foldCase, !analysis.crossesLines);
  if (automaton === undefined) return undefined;
  const { contentStart } = reader;
  const ranges: number[] = [];
  let bytes = 0;
  for (let i = 0; i < (candidates?.length ?? reader.contentCount) && bytes < sampleBytesMax; i++) {
    const content = candidates?.[i] ?? i;
    if (content >= reader.contentCount) break;
    const [from, to] = [
      contentStart[content],
      Math.min(contentStart[content + 1], contentStart[content] + sampleBytesMax),
    ];
    ranges.push(from, to, to, from);
    bytes += to - from;
  }
  // One more than may be found.
  const rows = new Uint32Array(2 * (Math.ceil(bytes / lineBytesMin) + 1));
  const cursor = new Uint32Array(4);
  const [words, count] = [Uint32Array.from(ranges), ranges.length / 4];
  const { table, byLine } = automaton;
  while (!kernel.scanAutomaton(reader.content, words, count, table, byLine, 2 * sampleBytesMax, rows, cursor))
    if (2 * cursor[cursorWords.rows] === rows.length) return undefined;
  if (byLine) return automaton;
  let foundBytes = 0;
  for (let row = 0; row < cursor[cursorWords.rows]; row++) foundBytes += rows[2 * row + 1] - rows[2 * row];
  return foundBytes <= bytes * foundShareMax ? automaton : undefined;
}

function planTexts(leaf: Leaf, reader: TextIndex, kernel: Kernel, useIndex: boolean, stop: StopCheck): LeafPlan {
  const { exact, clauses, foldsOutsideAscii } = requiredLiterals(leaf);
  const exceptions = foldsOutsideAscii ? reader.foldExceptions : reader.foldExceptions.subarray(0, 0);
  const lookups = useIndex && reader.hasPostings ? lookUpClauses(clauses, reader, kernel, stop) : [];
  if (lookups.length === 0) return planWithoutIndex(leaf, exact, exceptions);
  const [best, ...others] = lookups;
  const scanOf = (found: LiteralLists): LiteralScan => {
    stop.check();
    return { needle: found.literal, units: intersectUnits(reader, kernel, found) };
  };
  const scans = best.alternatives.filter((found) => found.lists.length > 0).map(scanOf);
  let candidates = contentsOfScans(scans, reader, kernel);
  let postingBytes = best.cost;
  for (const clause of others) {
    if (clause.cost > best.cost * clauseCostFactor) continue;
    postingBytes += clause.cost;
    candidates = intersect(candidates, contentsOfScans(clause.alternatives.map(scanOf), reader, kernel));
  }
  candidates = unite(candidates, exceptions);
  if (exact !== undefined) {
    return { method: "literals", scans, candidates, exceptions, postingBytes };
  }
  const inLines =
    !leaf.analysis.crossesLines && scannedUnits(scans) <= scannedTimesMax * unitsOfContents(candidates, reader);
  return { method: inLines ? "lines" : "contents", scans, candidates, exceptions, postingBytes };
}

function scannedUnits(scans: readonly LiteralScan[]): number {
  return scans.reduce((sum, { units }) => sum + (units?.length ?? 0), 0);
}

function unitsOfContents(contents: ContentSet, { contentFirstUnit, contentCount }: TextIndex): number {
  if (contents === undefined) return contentFirstUnit[contentCount];
  let sum = 0;
  for (const content of contents) sum += contentFirstUnit[content + 1] - contentFirstUnit[content];
  return sum;
}

function planWithoutIndex(leaf: Leaf, exact: readonly Buffer[] | undefined, exceptions: Uint32Array): LeafPlan {
  const rest = { candidates: undefined, exceptions, postingBytes: 0 };
  if (exact !== undefined && (exact.length === 1 || leaf.either.length > 0)) {
    return { method: "literals", scans: exact.map((needle) => ({ needle, units: undefined })), ...rest };
  }
  const clause = leaf.analysis.clauses.find(
    (literals) => literals.length <= prefilterLiteralsMax && literals.every((text) => text.length > 1),
  );
  if (clause === undefined || leaf.analysis.crossesLines) return { method: "contents", scans: [], ...rest };
  return { method: "lines", scans: clause.map((text) => ({ needle: Buffer.from(text), units: undefined })), ...rest };
}

interface ClauseLookup {
  readonly alternatives: readonly LiteralLists[];
  /** Total size of the shortest lists of all alternatives. */
  readonly cost: number;
}

/** The clauses whose literals all have a trigram, cheapest first. */
function lookUpClauses(
  clauses: readonly (readonly Buffer[])[],
  reader: TextIndex,
  kernel: Kernel,
  stop: StopCheck,
): ClauseLookup[] {
  return clauses
    .filter((clause) => clause.every((literal) => literal.length >= trigramBytes))
    .map((clause) => {
      const alternatives = clause.map((literal) => {
        stop.check();
        return lookUpLiteral(reader, kernel, literal);
      });
      return { alternatives, cost: alternatives.reduce((sum, found) => sum + found.cost, 0) };
    })
    .sort((a, b) => a.cost - b.cost);
}

function contentsOfScans(scans: readonly LiteralScan[], reader: TextIndex, kernel: Kernel): ContentSet {
  let contents: ContentSet = new Uint32Array(0);
  for (const { units } of scans)
    contents = unite(contents, units === undefined ? undefined : contentsOfUnits(units, reader, kernel));
  return contents;
}

function contentsOfUnits(units: Uint32Array, reader: TextIndex, kernel: Kernel): Uint32Array {
  const out = new Uint32Array(Math.min(units.length, reader.contentCount));
  const count = kernel.contentsOfUnits(units, units.length, reader.contentFirstUnit, out);
  return out.subarray(0, count);
}

/** The posting lists of a literal's trigrams in one shard. */
interface LiteralLists {
  readonly literal: Buffer;
  /** Indexes in `reader.keys`, the shortest list first; distinct. Empty if some trigram is absent. */
  readonly lists: Uint32Array;
  /** Bytes of the shortest list: the cost of the literal, and a bound on its units. 0 if a trigram is absent. */
  readonly cost: number;
}

const noNumbers = new Uint32Array(0);

/** Reused by all calls: what they return is copied from it. */
const listsFound = new Uint32Array(overlapBytes);

/**
 * Units are decoded here if a list has at most this many bytes: otherwise a rare word would allocate and clear some
 * kilobytes for each shard.
 */
const unitsFound = new Uint32Array(64 * 1024);

/**
 * Finds the lists of `literal` (3 bytes or more). Only its first 64 bytes are looked up: their trigrams are all
 * attributed to the unit in which the literal starts, which is why a plain intersection of the lists keeps every unit
 * in which it can start.
 */
function lookUpLiteral(reader: TextIndex, kernel: Kernel, literal: Buffer): LiteralLists {
  const start = literal.length > overlapBytes ? literal.subarray(0, overlapBytes) : literal;
  const count = kernel.findLists(reader.keys, reader.postingStart, start, listsFound);
  if (count === 0) return { literal, lists: noNumbers, cost: 0 };
  const shortest = listsFound[0];
  return {
    literal,
    lists: listsFound.slice(0, count),
    cost: reader.postingStart[shortest + 1] - reader.postingStart[shortest],
  };
}

/** The units in which the literal can start, ascending. They include every unit in which it does start. */
function intersectUnits(reader: TextIndex, kernel: Kernel, { lists, cost }: LiteralLists): Uint32Array {
  if (lists.length === 0) return noNumbers;
  const isShort = cost <= unitsFound.length;
  const units = isShort ? unitsFound : new Uint32Array(cost);
  const count = kernel.unitsOfLists(reader.postings, reader.postingStart, lists, lists.length, units);
  const found = isShort ? units.slice(0, count) : units.subarray(0, count);
  reader.requireUnits(found);
  return found;
}

/**
 * The ranges of a shard's text that the kernel scans for one literal in one block of contents: the units that can
 * contain the literal, with adjacent ones joined.
 *
 * Contract: `fill` is called for each scan of the plan with ascending contents, over all calls.
 */
export class ScanRanges {
  /** `width` words per range: `from`, `to`, `end` of the content and, if `width` is 4, its start. */
  words = new Uint32Array(256);
  /** Number of ranges. */
  count = 0;
  /** Total size of all ranges, over all calls. */
  byteCount = 0;
  readonly #plan: LeafPlan;
  readonly #reader: TextIndex;
  /** For each scan of the plan, where its units of the next contents begin. */
  readonly #unitCursors: number[];

  constructor(plan: LeafPlan, reader: TextIndex) {
    this.#plan = plan;
    this.#reader = reader;
    this.#unitCursors = plan.scans.map(() => 0);
  }

  /** The next contents may be before those of the last call. */
  rewind(): void {
    this.#unitCursors.fill(0);
  }

  /**
   * Computes the ranges of scan `scanNumber` in `contents`. Exceptions are excluded, because they are searched
   * completely. The ones before index `exceptionFrom` precede `contents`.
   */
  fill(contents: Uint32Array, scanNumber: number, width: 3 | 4, exceptionFrom: number): void {
    const reader = this.#reader;
    const { exceptions, scans } = this.#plan;
    const { units } = scans[scanNumber];
    let exceptionCursor = exceptionFrom;
    this.count = 0;
    for (const content of contents) {
      if (content >= reader.contentCount) continue;
      while (exceptionCursor < exceptions.length && exceptions[exceptionCursor] < content) exceptionCursor++;
      if (exceptions[exceptionCursor] === content) continue;
      const start = reader.contentStart[content];
      const end = reader.contentStart[content + 1];
      if (units === undefined) this.#add(width, start, end, end, start);
      else this.#addUnits(units, scanNumber, content, start, end, width);
    }
  }

  #addUnits(units: Uint32Array, scanNumber: number, content: number, start: number, end: number, width: 3 | 4): void {
    const { unitBytes } = this.#reader;
    const firstUnit = this.#reader.contentFirstUnit[content];
    const endUnit = this.#reader.contentFirstUnit[content + 1];
    let at = gallop(units, this.#unitCursors[scanNumber], firstUnit, units.length);
    while (at < units.length && units[at] < endUnit) {
      const from = units[at++];
      let to = from + 1;
      while (at < units.length && units[at] === to && to < endUnit) {
        at++;
        to++;
      }
      this.#add(
        width,
        start + (from - firstUnit) * unitBytes,
        Math.min(end, start + (to - firstUnit) * unitBytes),
        end,
        start,
      );
    }
    this.#unitCursors[scanNumber] = at;
  }

  #add(width: 3 | 4, from: number, to: number, end: number, floor: number): void {
    const at = this.count * width;
    if (at + width > this.words.length) {
      const grown = new Uint32Array(this.words.length * 2);
      grown.set(this.words);
      this.words = grown;
    }
    this.words[at] = from;
    this.words[at + 1] = to;
    this.words[at + 2] = end;
    if (width === 4) this.words[at + 3] = floor;
    this.count++;
    this.byteCount += to - from;
  }
}
