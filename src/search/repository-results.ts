import type { Repository } from "../model/repository.js";
import type { RepositoryNamePlan } from "../query/plan.js";
import { compileRegexp, type RangeSink } from "../regexp/compile.js";
import { nameBytesOf } from "./repository-resolver.js";

/** A condition on names, compiled. */
export type NameTest = (repository: Repository) => boolean;

/** Compiles the plan for repository results. */
export function compileNamePlan(plan: RepositoryNamePlan): NameTest {
  const sources = plan.sources.map((source) => compileRegexp(source, plan.foldCase));
  const excludes = plan.exclude.map((source) => compileRegexp(source, plan.foldCase));
  const tests: NameTest[] = [
    ...sources.map((matcher): NameTest => (repository) => matcher.test(nameBytesOf(repository))),
    ...plan.groups.map(compileNamePlan),
  ];
  const isExcluded: NameTest = (repository) => excludes.some((matcher) => matcher.test(nameBytesOf(repository)));
  if (tests.length === 0) return (repository) => !isExcluded(repository);
  if (plan.combine === "or") return (repository) => tests.some((test) => test(repository));
  return (repository) => tests.every((test) => test(repository)) && !isExcluded(repository);
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
  const name = nameBytesOf(repository);
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
