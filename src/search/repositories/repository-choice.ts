import { repositoryFlags, type RepositoryTable } from "../../catalog/repository-table.js";
import { setBit } from "../../base/bits.js";
import type { RepositoryFilter } from "../../query/plan/plan.js";
import type { MetadataTest, RepositoryPredicate, TextPredicate } from "../../query/fields/repository-predicates.js";
import type { YesNoOnly } from "../../query/fields/values.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { compileRegexp, type Matcher } from "../../regexp/match/matcher.js";
import { unreachable } from "../../base/assert.js";

/** The repositories that a filter chooses by name and attributes, regardless of its revisions. */
export interface RepositoryChoice {
  /** Rows of the table: more stars first, then newer ones first. */
  readonly rows: Rows;
  /** The same as a bitmap, by id. */
  readonly idBits: Uint32Array;
  /** Ids of repositories that match but are forks or archived, respectively, if the query does not mention these. */
  readonly excludedForks: readonly number[];
  readonly excludedArchived: readonly number[];
}

/** Choices that depend only on the defaults, by table and filter: identical for all searches without a filter. */
const keptDefaults = new WeakMap<RepositoryTable, Map<string, RepositoryChoice>>();

/**
 * The choice of each filter among all repositories; equal filters share one. Each condition examines only what the
 * previous ones have left. Yields between steps.
 */
export function* chooseRepositories(
  table: RepositoryTable,
  filters: readonly RepositoryFilter[],
): Generator<undefined, readonly RepositoryChoice[]> {
  const known = new Map<string, RepositoryChoice>();
  const choices: RepositoryChoice[] = [];
  for (const filter of filters) {
    const key = filterKey(filter);
    const kept = filter.among === undefined ? (known.get(key) ?? keptDefaults.get(table)?.get(key)) : undefined;
    const choice = kept ?? (yield* decide(table, filter));
    choices.push(choice);
    if (kept !== undefined || filter.among !== undefined) continue;
    known.set(key, choice);
    if (saysNothing(filter)) defaultChoices(table).set(key, choice);
  }
  return choices;
}

/** Equal for filters that choose the same repositories. */
function filterKey({
  include,
  exclude,
  predicates,
  fork,
  forkGiven,
  archived,
  archivedGiven,
  visibility,
}: RepositoryFilter): string {
  const named = include.filter(({ source }) => source !== "").map(({ source, exactName }) => [source, exactName]);
  return JSON.stringify([
    fork,
    forkGiven,
    archived,
    archivedGiven,
    visibility,
    named,
    exclude,
    predicates.map(({ label }) => label),
  ]);
}

function saysNothing({ include, exclude, predicates }: RepositoryFilter): boolean {
  return exclude.length + predicates.length === 0 && include.every(({ source }) => source === "");
}

function defaultChoices(table: RepositoryTable): Map<string, RepositoryChoice> {
  const kept = keptDefaults.get(table) ?? new Map<string, RepositoryChoice>();
  keptDefaults.set(table, kept);
  return kept;
}

function* decide(table: RepositoryTable, filter: RepositoryFilter): Generator<undefined, RepositoryChoice> {
  const named = filter.include.filter(({ source }) => source !== "");
  const isExact = named.length === 1 && named[0].exactName !== undefined;
  const kept = (row: number, flag: number, choice: YesNoOnly, given: boolean): boolean =>
    (isExact && !given) || accepts(choice, (table.flags[row] & flag) !== 0);
  const rows: number[] = [];
  const excludedForks: number[] = [];
  const excludedArchived: number[] = [];
  for (const row of yield* placesOfFilter(table, filter)) {
    if (!hasVisibility(table.flags[row], filter.visibility)) continue;
    const forkKept = kept(row, repositoryFlags.fork, filter.fork, filter.forkGiven);
    const archivedKept = kept(row, repositoryFlags.archived, filter.archived, filter.archivedGiven);
    if (forkKept && archivedKept) rows.push(row);
    else if (archivedKept && !filter.forkGiven) excludedForks.push(table.at(row).id);
    else if (forkKept && !filter.archivedGiven) excludedArchived.push(table.at(row).id);
  }
  yield;
  return { rows, idBits: toBitmap(rows.map((row) => table.at(row).id)), excludedForks, excludedArchived };
}

/** The ids as a bitmap. */
export function toBitmap(ids: readonly number[]): Uint32Array {
  const bits = new Uint32Array((ids.reduce((most, id) => Math.max(most, id), 0) >>> 5) + 1);
  for (const id of ids) setBit(bits, id);
  return bits;
}

/** The rows whose name matches all includes and no exclude, and whose attributes satisfy all predicates, ascending. */
function* placesOfFilter(
  table: RepositoryTable,
  { among, include, exclude, predicates }: RepositoryFilter,
): Generator<undefined, Rows> {
  const named = [
    ...include
      .map(({ source }) => source)
      .filter((source) => source !== "")
      .map((source) => ({ source, wanted: true })),
    ...exclude.map((source) => ({ source, wanted: false })),
  ];
  let rows: Rows | undefined = among === undefined ? undefined : placesOfNames(table, among);
  for (const { source, wanted } of named) {
    if (rows === undefined) rows = selectRows(yield* matchingNames(table, source, true), wanted ? 1 : 0, undefined);
    else if (rows.length > 0) rows = yield* rowsByName(table, source, true, wanted, rows);
    yield;
  }
  for (const predicate of predicates) {
    if (rows?.length === 0) break;
    rows = selectRows(yield* matchingPredicate(table, predicate), predicate.negated ? 0 : 1, rows);
    yield;
  }
  return rows ?? Array.from({ length: table.count }, (_, row) => row);
}

type Rows = readonly number[];

function placesOfNames(table: RepositoryTable, names: readonly string[]): readonly number[] {
  return names.flatMap((name) => table.findRowByName(name) ?? []).sort((a, b) => a - b);
}

/** Those of the given rows, or of all rows, whose mark is `wanted`. */
function selectRows(marks: Uint8Array, wanted: 0 | 1, among: Rows | undefined): Rows {
  if (among !== undefined) return among.filter((row) => marks[row] === wanted);
  const rows: number[] = [];
  for (let row = marks.indexOf(wanted); row >= 0; row = marks.indexOf(wanted, row + 1)) rows.push(row);
  return rows;
}

function accepts(choice: YesNoOnly, isSo: boolean): boolean {
  switch (choice) {
    case "yes":
      return true;
    case "no":
      return !isSo;
    case "only":
      return isSo;
  }
}

function hasVisibility(flags: number, visibility: RepositoryFilter["visibility"]): boolean {
  return visibility === "any" || (visibility === "private") === ((flags & repositoryFlags.private) !== 0);
}

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
  return yield* cachedBitmap(table, nameKey(source, foldCase), () => {
    const search = findWordSearch(table, source, foldCase);
    return search === undefined ? scanNames(table, compileRegexp(source, foldCase)) : scanForWord(table, search);
  });
}

/** A word to search for, and the names in which it is found without RE2. */
interface WordSearch {
  readonly word: string;
  readonly names: string;
}

/**
 * Undefined unless the regexp consists of letters, digits and underscores, and the names of ASCII, where RE2 finds what `indexOf`
 * finds: to compile a regexp for each word that somebody searches for takes longer than all else that is done for the names.
 */
function findWordSearch(table: RepositoryTable, source: string, foldCase: boolean): WordSearch | undefined {
  const names = /^\w+$/.test(source) ? table.asciiNames(foldCase) : undefined;
  return names === undefined ? undefined : { word: foldCase ? source.toLowerCase() : source, names };
}

/**
 * Sets 1, by row, for repositories that satisfy the predicate before negation. The result is cached. Yields between
 * steps.
 */
function* matchingPredicate(table: RepositoryTable, predicate: RepositoryPredicate): Generator<undefined, Uint8Array> {
  return yield* cachedBitmap(table, `predicate ${predicate.label}`, () =>
    markEach(table, new Uint8Array(table.count), 0, compilePredicate(table, predicate)),
  );
}

function* cachedBitmap(
  table: RepositoryTable,
  key: string,
  make: () => Generator<undefined, Uint8Array>,
): Generator<undefined, Uint8Array> {
  const kept = bitmapCache(table);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const marks = yield* make();
  kept.set(key, marks);
  return marks;
}

/** Whether the result for these names is cached. */
function isCached(table: RepositoryTable, source: string, foldCase: boolean): boolean {
  return bitmapCache(table).get(nameKey(source, foldCase)) !== undefined;
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
    if (!marks.includes(1)) return wanted ? [] : rows;
    return rows.filter((row) => (marks[row] === 1) === wanted);
  }
  const holds = compileNameTest(table, source, foldCase);
  const kept: number[] = [];
  for (const [i, row] of rows.entries()) {
    if (holds(row) === wanted) kept.push(row);
    if (i % placesOfStep === 0) yield;
  }
  return kept;
}

function compileNameTest(table: RepositoryTable, source: string, foldCase: boolean): RowTest {
  const search = findWordSearch(table, source, foldCase);
  if (search !== undefined)
    return (row) => search.names.slice(table.nameStart[row], table.nameStart[row + 1]).includes(search.word);
  const matcher = compileRegexp(source, foldCase);
  return (row) => matcher.test(table.nameAt(row));
}

function* scanForWord(table: RepositoryTable, { word, names }: WordSearch): Generator<undefined, Uint8Array> {
  const marks = new Uint8Array(table.count);
  for (let row = 0; row < table.count; ) {
    const next = table.placeAtByte(Math.min(table.nameStart[row] + bytesOfStep, names.length - 1), row) + 1;
    const part = names.slice(0, table.nameStart[next]);
    for (let at = part.indexOf(word, table.nameStart[row]); at >= 0; at = part.indexOf(word, table.nameStart[row])) {
      row = table.placeAtByte(at, row);
      marks[row++] = 1;
    }
    row = next;
    yield;
  }
  return marks;
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

function bitmapCache(table: RepositoryTable): BoundedMap<string, Uint8Array> {
  const kept =
    cachedBitmaps.get(table) ??
    new BoundedMap<string, Uint8Array>(keptBytesMax, (marks) => questionBytes + marks.length);
  cachedBitmaps.set(table, kept);
  return kept;
}

function nameKey(source: string, foldCase: boolean): string {
  return `${foldCase ? "i" : "c"} ${source}`;
}

type RowTest = (row: number) => boolean;

type TextTest = (text: string) => boolean;

/** Compiles a predicate on attributes for the repositories of the table. */
function compilePredicate(table: RepositoryTable, { test }: RepositoryPredicate): RowTest {
  switch (test.kind) {
    case "description": {
      const matcher = compileRegexp(test.source, true);
      return (row) => {
        const description = table.descriptionAt(row);
        return description.length > 0 && matcher.test(description);
      };
    }
    case "topic":
      return (row) => table.at(row).topics.includes(test.topic);
    case "metadata":
      return compileMetadata(table, test);
    default:
      return unreachable(test);
  }
}

function compileMetadata(table: RepositoryTable, { key, value }: MetadataTest): RowTest {
  const valueHolds = compileValue(value);
  if (!key.isRegexp) {
    return (row) => {
      const content = table.at(row).metadata[key.text] as string | null | undefined;
      return content !== undefined && Object.hasOwn(table.at(row).metadata, key.text) && valueHolds(content);
    };
  }
  const keyHolds = compileText(key);
  return (row) => {
    const { metadata } = table.at(row);
    return Object.keys(metadata).some((name) => keyHolds(name) && valueHolds(metadata[name]));
  };
}

function compileValue(value: MetadataTest["value"]): (content: string | null) => boolean {
  if (value === "any") return () => true;
  if (value === "none") return (content) => content === null;
  const holds = compileText(value);
  return (content) => content !== null && holds(content);
}

/** Repositories have many keys and values in common, so each text is tested once. */
function compileText({ text, isRegexp }: TextPredicate): TextTest {
  if (!isRegexp) return (content) => content === text;
  const matcher = compileRegexp(text, false);
  const verdicts = new Map<string, boolean>();
  return (content) => {
    const known = verdicts.get(content);
    if (known !== undefined) return known;
    const verdict = matcher.test(Buffer.from(content));
    verdicts.set(content, verdict);
    return verdict;
  };
}
