import { BoundedMap } from "../../base/bounded-map.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { RepositoryPredicate } from "../../query/plan/plan.js";
import { compileRegexp } from "../../regexp/match/compile.js";
import type { Matcher } from "../../regexp/match/matcher.js";
import { compilePredicate } from "./repository-predicate.js";

/**
 * If at least one in this many names matches, matches are dense: testing each name separately is then cheaper than
 * going from match to match.
 */
const denseEvery = 4;

/** Names tested in one step: most regexps take a few microseconds for them, the slowest a millisecond per name. */
const placesOfStep = 8;
const bytesOfStep = 32 * 1024;

/**
 * Limit on the cached bitmaps of a table, which have one byte per repository and regexp: 1,600 regexps over 10,000
 * repositories.
 */
const keptBytesMax = 16 * 1024 * 1024;

/** Overhead of a cache entry in addition to its bitmap: it limits the number of entries for a small table. */
const questionBytes = 256;

/** By table, then by condition. Entries live as long as their table. */
const cachedBitmaps = new WeakMap<RepositoryTable, BoundedMap<string, Uint8Array>>();

/** Sets 1, by row, for repositories whose name matches. The result is cached. Yields between steps. */
export function* matchingNames(
  table: RepositoryTable,
  source: string,
  foldCase: boolean,
): Generator<undefined, Uint8Array> {
  return yield* cachedBitmap(table, cacheKey(source, foldCase), () =>
    scanNames(table, compileRegexp(source, foldCase)),
  );
}

/**
 * Sets 1, by row, for repositories that satisfy the predicate before negation. The result is cached. Yields between
 * steps.
 */
export function* matchingPredicate(
  table: RepositoryTable,
  predicate: RepositoryPredicate,
): Generator<undefined, Uint8Array> {
  return yield* cachedBitmap(table, `predicate ${predicate.label}`, () =>
    markEach(table, new Uint8Array(table.count), 0, compilePredicate(table, predicate)),
  );
}

function* cachedBitmap(
  table: RepositoryTable,
  key: string,
  make: () => Generator<undefined, Uint8Array>,
): Generator<undefined, Uint8Array> {
  const kept = tableCache(table);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const marks = yield* make();
  kept.set(key, marks);
  return marks;
}

/** Whether the result for these names is cached. */
function isCached(table: RepositoryTable, source: string, foldCase: boolean): boolean {
  return tableCache(table).get(cacheKey(source, foldCase)) !== undefined;
}

/**
 * The rows whose name matches, or does not match, depending on `wanted`, computed in the cheaper way. Yields between
 * steps.
 */
export function* rowsByName(
  table: RepositoryTable,
  source: string,
  foldCase: boolean,
  wanted: boolean,
  rows: readonly number[],
): Generator<undefined, readonly number[]> {
  if (rows.length * 16 >= table.count || isCached(table, source, foldCase)) {
    const marks = yield* matchingNames(table, source, foldCase);
    return rows.filter((row) => (marks[row] === 1) === wanted);
  }
  const matcher = compileRegexp(source, foldCase);
  const kept: number[] = [];
  for (const [i, row] of rows.entries()) {
    if (matcher.test(table.nameAt(row)) === wanted) kept.push(row);
    if (i % placesOfStep === 0) yield;
  }
  return kept;
}

/**
 * All names are searched as one text, so that a pattern that few names match costs one pass over it. This misses
 * nothing: a match in a name alone is also a match there, because `^`, `$` and `\b` hold next to a newline. A match
 * found there may extend across a newline, so the name is also tested alone. After the first name that fails this test,
 * and if matches are dense, each name is tested alone. Measured with 10,000 names: 0.1 to 0.7 ms for a rare pattern,
 * 1.5 to 2 ms for one that matches all; 4 s for 8,000 characters of alternatives that RE2 tries one by one.
 */
function* scanNames(table: RepositoryTable, matcher: Matcher): Generator<undefined, Uint8Array> {
  const marks = new Uint8Array(table.count);
  const row = matcher.isLocal ? yield* scanTogether(table, matcher, marks) : 0;
  return yield* markEach(table, marks, row, (at) => matcher.test(table.nameAt(at)));
}

/**
 * Marks names up to the row that it returns. A call of RE2 cannot be interrupted, so each call covers only as many
 * names as take a short time.
 */
function* scanTogether(table: RepositoryTable, matcher: Matcher, marks: Uint8Array): Generator<undefined, number> {
  const bytesMax = Math.min(matcher.windowBytesMax, bytesOfStep);
  let row = 0;
  for (let matchCount = 0; row < table.count; ) {
    const next = table.placeAtByte(Math.min(table.nameStart[row] + bytesMax, table.names.length - 1), row) + 1;
    const start = matcher.startFrom(table.names.subarray(0, table.nameStart[next]), table.nameStart[row]);
    // An empty match may be after the last newline.
    if (start < 0 || start >= table.nameStart[next]) {
      row = next;
    } else {
      row = table.placeAtByte(start, row);
      if (!matcher.test(table.nameAt(row))) return row;
      marks[row++] = 1;
      if (++matchCount > 16 && matchCount * denseEvery > row) return row;
    }
    yield;
  }
  return row;
}

function* markEach(
  table: RepositoryTable,
  marks: Uint8Array,
  from: number,
  holds: (row: number) => boolean,
): Generator<undefined, Uint8Array> {
  for (let row = from; row < table.count; row++) {
    marks[row] = holds(row) ? 1 : 0;
    if (row % placesOfStep === 0) yield;
  }
  return marks;
}

function tableCache(table: RepositoryTable): BoundedMap<string, Uint8Array> {
  const kept =
    cachedBitmaps.get(table) ??
    new BoundedMap<string, Uint8Array>(keptBytesMax, (marks) => questionBytes + marks.length);
  cachedBitmaps.set(table, kept);
  return kept;
}

function cacheKey(source: string, foldCase: boolean): string {
  return `${foldCase ? "i" : "c"} ${source}`;
}
