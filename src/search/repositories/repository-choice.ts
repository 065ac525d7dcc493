import { repositoryFlags, type RepositoryTable } from "../../catalog/repository-table.js";
import { setBit } from "../../base/bits.js";
import type { RepositoryFilter, YesNoOnly } from "../../query/plan/plan.js";
import { matchingPredicate, matchingNames, rowsByName } from "./repository-bitmaps.js";

/** What a filter chooses by name and predicates, whatever revisions it asks for. */
export interface RepositoryChoice {
  /** Places of the table: those with more stars first, then the newer ones. */
  readonly rows: Rows;
  /** The same as bits, by id. */
  readonly idBits: Uint32Array;
  /** Ids of repositories that matched but for being forks resp. archived, where the query says nothing of these. */
  readonly excludedForks: readonly number[];
  readonly excludedArchived: readonly number[];
}

/** Choices by defaults alone, by table and what the filter says: the same for all searches without a filter. */
const keptDefaults = new WeakMap<RepositoryTable, Map<string, RepositoryChoice>>();

/**
 * The choice of each filter among all repositories, one for those that say the same. Each condition looks only at what
 * those before it left. Yields between pieces of work.
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

/** Equal for filters that choose the same of all repositories. */
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

/** The ids as bits. */
export function toBitmap(ids: readonly number[]): Uint32Array {
  const bits = new Uint32Array((ids.reduce((most, id) => Math.max(most, id), 0) >>> 5) + 1);
  for (const id of ids) setBit(bits, id);
  return bits;
}

/** The rows whose name all includes match and no exclude does, and whose attributes satisfy all predicates, ascending. */
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

/** Those of the rows, or of all, that are marked as wanted. */
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
