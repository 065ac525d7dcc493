import type { Kernel } from "../../native/kernel/kernel.js";
import type { WindowGroup } from "../../native/kernel/pattern-kernel.js";
import type { PatternSet } from "../../query/plan/pattern-plan.js";
import type { TextIndex } from "../../shard/text-index.js";
import { unite, type ContentSet } from "./content-set.js";
import type { LeafPlan, LiteralScan } from "./leaf-plan.js";

/**
 * Posting lists are read if they have at most this many bytes per 64 KiB of the shard's text; otherwise the whole text is
 * scanned. Reading a list and those that it is intersected with takes about 200 times as long per byte as a scan, and
 * what it excludes is rarely the whole text: the look-up may cost a fifth of the scan. That of a small text may cost more,
 * because it takes microseconds.
 */
const listBytesPerBlock = 64;
const listBytesMin = 4096;
const blockBytes = 64 * 1024;

const noNumbers = new Uint32Array(0);
const noNeedle = Buffer.alloc(0);

/**
 * Plans a set of patterns on a shard; each group of literals has a scan. Sound: a pattern matches a content only if one of
 * the literals that locate it occurs there, or if it has none, and then every content is a candidate; a literal is in the
 * unit lists of all its trigrams; and contents in which ignoring case reaches outside ASCII are always candidates.
 */
export function planSet(
  set: PatternSet,
  foldCase: boolean,
  reader: TextIndex,
  kernel: Kernel,
  useIndex: boolean,
): LeafPlan {
  const exceptions = foldCase ? reader.foldExceptions : noNumbers;
  const method = set.regexps.length === 0 ? "set" : "contents";
  const mayLookUp = useIndex && reader.hasPostings;
  const found = set.table.groups.map((group) => (mayLookUp ? lookUp(set, group, reader, kernel) : undefined));
  const scans = found.map((units) => ({ needle: noNeedle, units: units?.units }));
  const postingBytes = found.reduce((sum, units) => sum + (units?.postingBytes ?? 0), 0);
  const isLocated = set.regexps.every((regexp) => regexp.isLocated);
  const candidates = isLocated ? contentsOfScans(scans, exceptions, reader, kernel) : undefined;
  return { method, scans, candidates, exceptions, postingBytes };
}

function contentsOfScans(
  scans: readonly LiteralScan[],
  exceptions: Uint32Array,
  reader: TextIndex,
  kernel: Kernel,
): ContentSet {
  return scans.reduce((contents: ContentSet, { units }) => {
    if (units === undefined || contents === undefined) return undefined;
    const out = new Uint32Array(Math.min(units.length, reader.contentCount));
    const count = kernel.contentsOfUnits(units, units.length, reader.contentFirstUnit, out);
    return unite(contents, out.subarray(0, count));
  }, exceptions);
}

/** The units in which a literal of the group can start; undefined if it costs less to scan all of them. */
function lookUp(
  { table }: PatternSet,
  { from, to }: WindowGroup,
  reader: TextIndex,
  kernel: Kernel,
): { readonly units: Uint32Array; readonly postingBytes: number } | undefined {
  const unitCount = reader.contentFirstUnit[reader.contentCount];
  const textBytes = reader.contentStart[reader.contentCount];
  const bits = new Uint32Array(Math.ceil(unitCount / 32) + 1);
  const totals = new Uint32Array(2);
  const isFound = kernel.unitsOfPatterns({
    keys: reader.keys,
    starts: reader.postingStart,
    postings: reader.postings,
    table,
    literalFrom: from,
    literalTo: to,
    costMax: Math.max(listBytesMin, Math.ceil(textBytes / blockBytes) * listBytesPerBlock),
    units: bits,
    totals,
  });
  if (!isFound) return undefined;
  const units = positionsOfBits(bits);
  reader.requireUnits(units);
  return { units, postingBytes: totals[1] };
}

function positionsOfBits(bits: Uint32Array): Uint32Array {
  const positions: number[] = [];
  for (let word = 0; word < bits.length; word++)
    for (let left = bits[word]; left !== 0; left &= left - 1) positions.push(32 * word + 31 - Math.clz32(left & -left));
  return Uint32Array.from(positions);
}
