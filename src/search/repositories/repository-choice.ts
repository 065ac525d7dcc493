import { repositoryFlags, type RepositoryTable } from "../../catalog/repository-table.js";
import { setBit } from "../../base/bits.js";
import type { RepositoryFilter, YesNoOnly } from "../../query/plan/plan.js";
import { matchingPredicate, matchingNames, rowsByName } from "./repository-bitmaps.js";

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
    const key = cacheKey(filter);
    const kept = filter.among === undefined ? (known.get(key) ?? keptDefaults.get(table)?.get(key)) : undefined;
    const choice = kept ?? (yield* decide(table, filter));
    choices.push(choice);
    if (kept !== undefined || filter.among !== undefined) continue;
    known.set(key, choice);
    if (saysNothing(filter)) tableCache(table).set(key, choice);
  }
  return choices;
}

/** Equal for filters that choose the same repositories. */
function cacheKey({
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

function tableCache(table: RepositoryTable): Map<string, RepositoryChoice> {
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
