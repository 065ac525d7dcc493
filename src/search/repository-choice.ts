import { repositoryFlags, type RepositoryTable } from "../catalog/repository-table.js";
import type { Repository } from "../model/repository.js";
import type { RepositoryFilter, YesNoOnly } from "../query/plan.js";
import { compileRegexp, type Matcher } from "../regexp/compile.js";
import { compileFact } from "./repository-fact.js";
import { matchingNames, nameTest } from "./name-scan.js";

/** The repositories that a filter chooses by name and facts, whatever revisions it asks for. */
export interface RepositoryChoice {
  /** Those with more stars first, then the newer ones. */
  readonly repositories: readonly Repository[];
  /** Ids of repositories that matched but for being forks resp. archived, where the query says nothing of these. */
  readonly excludedForks: readonly number[];
  readonly excludedArchived: readonly number[];
}

/** Chooses among all repositories. Each condition looks only at what those before it left. */
export function chooseRepositories(table: RepositoryTable, filter: RepositoryFilter): RepositoryChoice {
  const named = filter.include.filter(({ source }) => source !== "");
  const isExact = named.length === 1 && named[0].exactName !== undefined;
  const places = placesByName(table, filter);
  const facts = filter.facts.map(compileFact);
  const kept = (place: number, flag: number, choice: YesNoOnly, given: boolean): boolean =>
    (isExact && !given) || accepts(choice, (table.flags[place] & flag) !== 0);
  const repositories: Repository[] = [];
  const excludedForks: number[] = [];
  const excludedArchived: number[] = [];
  for (const place of places) {
    if (!hasVisibility(table.flags[place], filter.visibility)) continue;
    if (facts.length > 0 && !facts.every((holds) => holds(table.at(place)))) continue;
    const forkKept = kept(place, repositoryFlags.fork, filter.fork, filter.forkGiven);
    const archivedKept = kept(place, repositoryFlags.archived, filter.archived, filter.archivedGiven);
    if (forkKept && archivedKept) repositories.push(table.at(place));
    else if (archivedKept && !filter.forkGiven) excludedForks.push(table.at(place).id);
    else if (forkKept && !filter.archivedGiven) excludedArchived.push(table.at(place).id);
  }
  return { repositories, excludedForks, excludedArchived };
}

/** The places whose name all includes match and no exclude does, ascending. */
function placesByName(table: RepositoryTable, { among, include, exclude }: RepositoryFilter): Places {
  const matchers = include.filter(({ source }) => source !== "").map(({ source }) => compileRegexp(source, true));
  let places = among === undefined ? undefined : placesOfNames(table, among);
  const keep = (matcher: Matcher, wanted: boolean): void => {
    if (places === undefined) {
      places = placesOf(matchingNames(table, matcher), wanted ? 1 : 0);
      return;
    }
    const matches = nameTest(table, matcher, places.length);
    places = places.filter((place) => matches(place) === wanted);
  };
  for (const matcher of matchers) keep(matcher, true);
  for (const source of exclude) keep(compileRegexp(source, true), false);
  return places ?? Uint32Array.from({ length: table.count }, (_, place) => place);
}

type Places = readonly number[] | Uint32Array;

function placesOfNames(table: RepositoryTable, names: readonly string[]): readonly number[] {
  return names.flatMap((name) => table.placeOfName(name) ?? []).sort((a, b) => a - b);
}

function placesOf(marks: Uint8Array, wanted: 0 | 1): readonly number[] {
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
