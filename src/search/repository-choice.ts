import { repositoryFlags, type RepositoryTable } from "../catalog/repository-table.js";
import type { Repository } from "../model/repository.js";
import type { RepositoryFact, RepositoryFilter, YesNoOnly } from "../query/plan.js";
import { isKept, matchingFacts, matchingNames, nameTest } from "./repository-marks.js";

/** The repositories that a filter chooses by name and facts, whatever revisions it asks for. */
export interface RepositoryChoice {
  /** Those with more stars first, then the newer ones. */
  readonly repositories: readonly Repository[];
  /** Ids of repositories that matched but for being forks resp. archived, where the query says nothing of these. */
  readonly excludedForks: readonly number[];
  readonly excludedArchived: readonly number[];
}

/** Choices by defaults alone, by table and what the filter says: the same for all searches without a filter. */
const keptDefaults = new WeakMap<RepositoryTable, Map<string, Verdict>>();

/** What was worked out in turns before a search began. */
const keptVerdicts = new WeakMap<RepositoryFilter, { readonly table: RepositoryTable; readonly verdict: Verdict }>();

/** A choice as places of the table. */
interface Verdict {
  readonly places: Places;
  readonly excludedForks: readonly number[];
  readonly excludedArchived: readonly number[];
}

/** Chooses among all repositories. Each condition looks only at what those before it left. */
export function chooseRepositories(table: RepositoryTable, filter: RepositoryFilter): RepositoryChoice {
  const kept = keptVerdicts.get(filter);
  const { places, excludedForks, excludedArchived } = kept?.table === table ? kept.verdict : verdictOf(table, filter);
  return { repositories: Array.from(places, (place) => table.at(place)), excludedForks, excludedArchived };
}

/** More filters, or more tests of a repository by a name or a fact, are worked off in turns: so many tests take 2 to 4 ms. */
const filterCountMax = 16;
const testCountMax = 20_000;

/**
 * The work of finding out what the filters ask for first, in pieces; undefined when it is little. What is found is kept,
 * and makes the choice itself cheap.
 */
export function prepareChoice(table: RepositoryTable, filters: readonly RepositoryFilter[]): Generator<undefined, void> | undefined {
  const sources = new Set(filters.flatMap(({ include, exclude }) => [...include.map(({ source }) => source), ...exclude]));
  const unkept = [...sources].filter((source) => source !== "" && !isKept(table, source, true));
  const facts = new Map(filters.flatMap((filter) => filter.facts.map((fact) => [fact.label, fact])));
  if ((unkept.length + facts.size) * table.count <= testCountMax && filters.length <= filterCountMax) return undefined;
  return chooseAll(table, unkept, [...facts.values()], filters);
}

function* chooseAll(table: RepositoryTable, sources: readonly string[], facts: readonly RepositoryFact[], filters: readonly RepositoryFilter[]): Generator<undefined, void> {
  for (const source of sources) yield void matchingNames(table, source, true);
  for (const fact of facts) yield void matchingFacts(table, fact);
  for (const filter of filters) yield void keptVerdicts.set(filter, { table, verdict: verdictOf(table, filter) });
}

function verdictOf(table: RepositoryTable, filter: RepositoryFilter): Verdict {
  const { among, include, exclude, facts, fork, forkGiven, archived, archivedGiven, visibility } = filter;
  if (among !== undefined || exclude.length + facts.length > 0 || include.some(({ source }) => source !== "")) return decide(table, filter);
  const kept = keptDefaults.get(table) ?? new Map<string, Verdict>();
  keptDefaults.set(table, kept);
  const key = `${fork} ${forkGiven} ${archived} ${archivedGiven} ${visibility}`;
  const verdict = kept.get(key) ?? decide(table, filter);
  kept.set(key, verdict);
  return verdict;
}

function decide(table: RepositoryTable, filter: RepositoryFilter): Verdict {
  const named = filter.include.filter(({ source }) => source !== "");
  const isExact = named.length === 1 && named[0].exactName !== undefined;
  const kept = (place: number, flag: number, choice: YesNoOnly, given: boolean): boolean =>
    (isExact && !given) || accepts(choice, (table.flags[place] & flag) !== 0);
  const places: number[] = [];
  const excludedForks: number[] = [];
  const excludedArchived: number[] = [];
  for (const place of placesByName(table, filter)) {
    if (!hasVisibility(table.flags[place], filter.visibility)) continue;
    const forkKept = kept(place, repositoryFlags.fork, filter.fork, filter.forkGiven);
    const archivedKept = kept(place, repositoryFlags.archived, filter.archived, filter.archivedGiven);
    if (forkKept && archivedKept) places.push(place);
    else if (archivedKept && !filter.forkGiven) excludedForks.push(table.at(place).id);
    else if (forkKept && !filter.archivedGiven) excludedArchived.push(table.at(place).id);
  }
  return { places, excludedForks, excludedArchived };
}

/** The places whose name all includes match and no exclude does, and of which all facts hold, ascending. */
function placesByName(table: RepositoryTable, { among, include, exclude, facts }: RepositoryFilter): Places {
  let places: Places | undefined = among === undefined ? undefined : placesOfNames(table, among);
  const keep = (source: string, wanted: boolean): void => {
    if (places === undefined) {
      places = placesOf(matchingNames(table, source, true), wanted ? 1 : 0, undefined);
    } else if (places.length > 0) {
      const matches = nameTest(table, source, true, places.length);
      places = places.filter((place) => matches(place) === wanted);
    }
  };
  for (const { source } of include) if (source !== "") keep(source, true);
  for (const source of exclude) keep(source, false);
  for (const fact of facts) {
    const marks = matchingFacts(table, fact);
    places = placesOf(marks, fact.negated ? 0 : 1, places);
  }
  return places ?? Array.from({ length: table.count }, (_, place) => place);
}

type Places = readonly number[];

function placesOfNames(table: RepositoryTable, names: readonly string[]): readonly number[] {
  return names.flatMap((name) => table.placeOfName(name) ?? []).sort((a, b) => a - b);
}

/** Those of the places, or of all, that are marked as wanted. */
function placesOf(marks: Uint8Array, wanted: 0 | 1, among: Places | undefined): Places {
  if (among !== undefined) return among.filter((place) => marks[place] === wanted);
  const places: number[] = [];
  for (let place = marks.indexOf(wanted); place >= 0; place = marks.indexOf(wanted, place + 1)) places.push(place);
  return places;
}

function accepts(choice: YesNoOnly, isSo: boolean): boolean {
  switch (choice) {
    case "yes": return true;
    case "no": return !isSo;
    case "only": return isSo;
  }
}

function hasVisibility(flags: number, visibility: RepositoryFilter["visibility"]): boolean {
  return visibility === "any" || (visibility === "private") === ((flags & repositoryFlags.private) !== 0);
}
