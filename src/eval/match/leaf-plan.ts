import type { Kernel } from "../../native/kernel/kernel.js";
import { requiredLiterals, trigramBytes } from "../../query/plan/leaf-literals.js";
import type { Leaf } from "../../query/plan/plan.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { TextIndex } from "../../shard/text-index.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import { intersect, unite, type ContentSet } from "./content-set.js";
import { lookUpLiteral, intersectUnits, type LiteralLists } from "./posting-lookup.js";

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
 * - `contents`: RE2 searches whole contents.
 * - `names`: RE2 searches each line as a text of its own.
 * - `set`: the kernel alone finds the literals of a set, those of a group in the units of its scan.
 */
export interface LeafPlan {
  readonly method: "literals" | "lines" | "contents" | "names" | "set";
  readonly scans: readonly LiteralScan[];
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
