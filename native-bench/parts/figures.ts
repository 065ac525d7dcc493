import { smallFileCount, type CommitTimes } from "./commits.js";
import type { Corpus } from "../corpus/corpus.js";
import type { IndexRun, RestMemory } from "./indexing.js";
import type { ManyResult } from "./many.js";
import type { Spread } from "../system/measure.js";
import { short, type Figure } from "../report/table.js";

/** What one run measured beside the searches. */
export interface Measured {
  readonly index: IndexRun;
  /** An HTTP answer without a search. */
  readonly floor: Spread;
  readonly firstMatch: Spread;
  readonly commits: CommitTimes;
  readonly rest: RestMemory;
  readonly many: ManyResult | undefined;
}

/** Each number with what it must reach and what it should. */
export function figuresOf(corpus: Corpus, { index, firstMatch, commits, rest, many }: Measured): Figure[] {
  const { fetchSeconds, indexSeconds, peak, dataBytes } = index;
  return [
    atMost("first matches event, p50", "ms", firstMatch.median, 4, 2, ""),
    atMost("first matches event, p99", "ms", firstMatch.p99, 20, 10, ""),
    {
      what: "index from git to searchable", unit: "MB/s", better: "more", value: corpus.textBytes / 1e6 / (fetchSeconds + indexSeconds),
      must: 40, aim: 60, note: `fetch ${short(fetchSeconds)} s, index ${short(indexSeconds)} s`,
    },
    atMost("resident while indexing", "GB", peak.residentBytes / 1e9, 1.5, 1.5,
      `of it anonymous ${megabytes(peak.anonymousBytes)}; git's processes ${megabytes(peak.childrenBytes)} more`),
    atMost("data beside the mirror", "x the text", dataBytes / corpus.textBytes, 1.3, 1.25, ""),
    atMost("commit of one file in the corpus, p50", "ms", commits.corpus.median, 1000, 100, span(commits.corpus)),
    atMost(`commit of one file among ${smallFileCount}, p50`, "ms", commits.small.median, 1000, 100, span(commits.small)),
    atMost("daemon at rest, anonymous", "MB", rest.afterLoadBytes / 1e6, 300, 200, `${megabytes(rest.afterRestartBytes)} after a restart`),
    ...many === undefined ? [] : figuresOfMany(many),
  ];
}

function figuresOfMany({ repositoryCount, indexSeconds, failedCount, peak, firstAnswerMs, bytesEachAfterIndex, bytesEachAfterRestart }: ManyResult): Figure[] {
  const each = Math.max(bytesEachAfterIndex, bytesEachAfterRestart);
  return [
    atMost(`${repositoryCount} repositories: index`, "min", indexSeconds / 60, 15, 5, `${failedCount} failed; anonymous ${megabytes(peak.anonymousBytes)} at most`),
    atMost(`${repositoryCount} repositories: first answer after start`, "s", firstAnswerMs / 1000, 2, 1, ""),
    atMost(`${repositoryCount} repositories: memory each`, "KB", each / 1000, 60, 31,
      `${short(bytesEachAfterIndex / 1000)} after indexing, ${short(bytesEachAfterRestart / 1000)} after a restart`),
  ];
}

function atMost(what: string, unit: string, value: number, must: number, aim: number, note: string): Figure {
  return { what, unit, value, better: "less", must, aim, note };
}

function span({ min, max }: Spread): string {
  return `${short(min)} to ${short(max)}`;
}

function megabytes(bytes: number): string {
  return `${short(bytes / 1e6)} MB`;
}
