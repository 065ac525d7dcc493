import type { Repository } from "../../model/repository.js";
import type { StreamRange } from "../../model/stream-events.js";
import type { RepositoryNamePlan } from "../../query/plan/plan.js";
import { compileRegexp } from "../../regexp/match/compile.js";
import type { Matcher, RangeSink } from "../../regexp/match/matcher.js";
import { buildUnions } from "./name-unions.js";

/** Ranges in names that the patterns of a search match, for highlighting. */
export class NameHighlighter {
  readonly #matchers: readonly Matcher[];

  private constructor(matchers: readonly Matcher[]) {
    this.#matchers = matchers;
  }

  /** Yields between steps: thousands of patterns take 50 ms. */
  static *make(plans: readonly RepositoryNamePlan[]): Generator<undefined, NameHighlighter> {
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
    return new NameHighlighter(matchers);
  }

  /** Sorted and disjoint; of two overlapping ranges the earlier one, then the longer one, is kept. */
  ranges(name: Buffer): StreamRange[] {
    const pairs: [number, number][] = [];
    const sink: RangeSink = { push: (start, end) => pairs.push([start, end]) };
    for (const matcher of this.#matchers) matcher.findAll(name, 0, sink);
    pairs.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    const location = (offset: number) => ({
      offset,
      line: 0,
      column: [...name.subarray(0, offset).toString()].length,
    });
    const ranges: StreamRange[] = [];
    let last = -1;
    for (const [start, end] of pairs) {
      if (start < last) continue;
      ranges.push({ start: location(start), end: location(end) });
      last = end;
    }
    return ranges;
  }
}

/** One `repo` match object as JSON. `revision` is undefined if the query specified none. */
export function repositoryMatch(
  repository: Repository,
  revision: string | undefined,
  highlighter: NameHighlighter,
): string {
  const ranges = highlighter.ranges(Buffer.from(repository.name));
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

function allSources(plan: RepositoryNamePlan, foldCase: boolean): string[] {
  return [
    ...(plan.foldCase === foldCase ? plan.sources : []),
    ...plan.groups.flatMap((group) => allSources(group, foldCase)),
  ];
}
