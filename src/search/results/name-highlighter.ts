import { toJson } from "../../base/text.js";
import type { Repository } from "../../model/repository.js";
import type { StreamRange } from "../../model/stream-events.js";
import type { RepositoryFilter, RepositoryNamePlan, SearchPlan } from "../../query/plan/plan.js";
import { compileRegexp } from "../../regexp/match/compile.js";
import type { Matcher, RangeSink } from "../../regexp/match/matcher.js";
import { buildUnions } from "./name-unions.js";

/** Ranges in names and descriptions that the patterns and predicates of a search match, for highlighting. */
export class NameHighlighter {
  readonly #names: readonly Matcher[];
  readonly #descriptions: readonly Matcher[];

  private constructor(names: readonly Matcher[], descriptions: readonly Matcher[]) {
    this.#names = names;
    this.#descriptions = descriptions;
  }

  /** Yields between steps: thousands of patterns take 50 ms. */
  static *make({ basicQueries }: SearchPlan): Generator<undefined, NameHighlighter> {
    const plans = basicQueries.flatMap(({ repositoryNames }) => repositoryNames ?? []);
    const matchers: Matcher[] = [];
    for (const foldCase of [true, false]) {
      const sources = new Set(plans.flatMap((plan) => allSources(plan, foldCase)));
      // In a union the first alternative that matches wins, so longer sources come before their prefixes.
      const ordered = [...sources].sort((a, b) => b.length - a.length);
      for (const union of yield* buildUnions(ordered, foldCase)) {
        matchers.push(compileRegexp(union, foldCase));
        yield;
      }
    }
    const descriptions: Matcher[] = [];
    for (const source of new Set(basicQueries.flatMap(({ repositories }) => descriptionSources(repositories)))) {
      descriptions.push(compileRegexp(source, true));
      yield;
    }
    return new NameHighlighter(matchers, descriptions);
  }

  nameRanges(name: string): StreamRange[] {
    return findRanges(this.#names, Buffer.from(name));
  }

  /** Lines count from 0, and end after a newline. */
  descriptionRanges(description: string): StreamRange[] {
    return this.#descriptions.length === 0 ? [] : findRanges(this.#descriptions, Buffer.from(description));
  }
}

function descriptionSources({ predicates }: RepositoryFilter): string[] {
  return predicates.flatMap(({ negated, test }) => (!negated && test.kind === "description" ? [test.source] : []));
}

/** Sorted and disjoint; of two overlapping ranges the earlier one, then the longer one, is kept. */
function findRanges(matchers: readonly Matcher[], text: Buffer): StreamRange[] {
  const pairs: [number, number][] = [];
  const sink: RangeSink = { push: (start, end) => pairs.push([start, end]) };
  for (const matcher of matchers) matcher.findAll(text, 0, sink);
  pairs.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const ranges: StreamRange[] = [];
  let last = -1;
  for (const [start, end] of pairs) {
    if (start < last) continue;
    ranges.push({ start: locate(text, start), end: locate(text, end) });
    last = end;
  }
  return ranges;
}

function locate(text: Buffer, offset: number): StreamRange["start"] {
  const lines = text.subarray(0, offset).toString().split("\n");
  return { offset, line: lines.length - 1, column: [...(lines.at(-1) ?? "")].length };
}

/** One `repo` match object as JSON. `revision` is undefined if the query specified none. */
export function repositoryMatch(
  repository: Repository,
  revision: string | undefined,
  highlighter: NameHighlighter,
): string {
  const ranges = highlighter.nameRanges(repository.name);
  const descriptionRanges = highlighter.descriptionRanges(repository.description);
  return toJson({
    type: "repo",
    repositoryID: repository.id,
    repository: repository.name,
    repositoryMatches: ranges.length > 0 ? ranges : undefined,
    branches: revision === undefined || revision === "" ? undefined : [revision],
    repoStars: repository.stars > 0 ? repository.stars : undefined,
    repoLastFetched: repository.lastFetched === "" ? undefined : repository.lastFetched,
    description: repository.description === "" ? undefined : repository.description,
    descriptionMatches: descriptionRanges.length > 0 ? descriptionRanges : undefined,
    fork: repository.fork || undefined,
    archived: repository.archived || undefined,
    private: repository.private || undefined,
    metadata: Object.keys(repository.metadata).length > 0 ? repository.metadata : undefined,
    topics: repository.topics.length > 0 ? repository.topics : undefined,
  });
}

function allSources(plan: RepositoryNamePlan, foldCase: boolean): string[] {
  return [
    ...(plan.foldCase === foldCase ? plan.sources : []),
    ...plan.groups.flatMap((group) => allSources(group, foldCase)),
  ];
}
