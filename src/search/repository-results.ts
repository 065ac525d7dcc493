import type { RepositoryTable } from "../catalog/repository-table.js";
import type { Repository } from "../model/repository.js";
import type { RepositoryNamePlan } from "../query/plan.js";
import { compileRegexp, type RangeSink } from "../regexp/compile.js";
import { nameTest } from "./repository-marks.js";

/** A condition on the name at a place of the table. */
export type NameTest = (place: number) => boolean;

/** Compiles the plan for repository results; about so many places will be asked. */
export function compileNamePlan(plan: RepositoryNamePlan, table: RepositoryTable, askedCount: number): NameTest {
  const testOf = (source: string): NameTest => nameTest(table, source, plan.foldCase, askedCount);
  const tests = [...plan.sources.map(testOf), ...plan.groups.map((group) => compileNamePlan(group, table, askedCount))];
  const excludes = plan.exclude.map(testOf);
  const isExcluded: NameTest = (place) => excludes.some((test) => test(place));
  if (tests.length === 0) return (place) => !isExcluded(place);
  if (plan.combine === "or") return (place) => tests.some((test) => test(place));
  return (place) => tests.every((test) => test(place)) && !isExcluded(place);
}

/** One `repo` match object as JSON. `revision` is undefined when the query named none. */
export function repositoryMatch(repository: Repository, revision: string | undefined, plans: readonly RepositoryNamePlan[]): string {
  const ranges = nameRanges(repository, plans);
  return JSON.stringify({
    type: "repo",
    repositoryID: repository.id,
    repository: repository.name,
    repositoryMatches: ranges.length > 0 ? ranges : undefined,
    branches: revision === undefined || revision === "" ? undefined : [revision],
    repoStars: repository.stars > 0 ? repository.stars : undefined,
    repoLastFetched: repository.lastFetched === "" ? undefined : repository.lastFetched,
    description: repository.description === "" ? undefined : repository.description,
    fork: repository.fork || undefined,
    archived: repository.archived || undefined,
    private: repository.private || undefined,
    metadata: Object.keys(repository.metadata).length > 0 ? repository.metadata : undefined,
    topics: repository.topics.length > 0 ? repository.topics : undefined,
  });
}

interface NameRange {
  readonly start: { readonly offset: number; readonly line: 0; readonly column: number };
  readonly end: { readonly offset: number; readonly line: 0; readonly column: number };
}

function nameRanges(repository: Repository, plans: readonly RepositoryNamePlan[]): NameRange[] {
  const name = Buffer.from(repository.name);
  const pairs: [number, number][] = [];
  const sink: RangeSink = { push: (start, end) => pairs.push([start, end]) };
  for (const plan of plans) for (const source of allSources(plan)) compileRegexp(source, plan.foldCase).findAll(name, 0, sink);
  pairs.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const location = (offset: number) => ({ offset, line: 0 as const, column: [...name.subarray(0, offset).toString()].length });
  const ranges: NameRange[] = [];
  let last = -1;
  for (const [start, end] of pairs) {
    if (start < last) continue;
    ranges.push({ start: location(start), end: location(end) });
    last = end;
  }
  return ranges;
}

function allSources(plan: RepositoryNamePlan): string[] {
  return [...plan.sources, ...plan.groups.flatMap(allSources)];
}
