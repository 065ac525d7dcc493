import type { Skipped } from "../../model/stream-events.js";
import { countMax } from "../../query/fields/values.js";
import type { HistoryGaps, Listed, SearchPart } from "../source/search-part.js";

/** What durations are rounded up to for viewers who do not see all repositories. */
const durationStepMs = 10;

/**
 * A duration as a viewer may see it: exact ones would tell something about the load by searches of what others see.
 */
export function visibleMs(ms: number, seesAll: boolean): number {
  return seesAll ? ms : Math.ceil(ms / durationStepMs) * durationStepMs;
}

/** Names of repositories that were not searched, or not completely, by reason: the first of each list. */
export interface NotSearched {
  readonly missing: readonly string[];
  readonly cloning: readonly string[];
  readonly timedOut: readonly string[];
}

/** The data from which the skipped items are derived. */
export interface SkippedSource {
  readonly part: SearchPart;
  /** Whether the query is about the missing ones, or they had been searchable: results are missing that somebody expects. */
  readonly isMissingWanted: boolean;
  readonly limitHit: boolean;
  /** The limit that a larger `count:` would raise; undefined if the query has several. */
  readonly matchCountMax: number | undefined;
  /** Sentences: of the part, and of the root of the search. */
  readonly failures: Listed<string>;
  /** Why the client's budget ended the search; undefined if it did not. */
  readonly budgetError: string | undefined;
  /** The display limit if it withheld results, otherwise undefined. */
  readonly displayLimitHit: number | undefined;
}

/** Names listed in a message. */
const listedNamesMax = 10;

/** The reasons in their fixed order; those that do not apply are omitted. */
export function makeSkipped(source: SkippedSource): Skipped[] {
  const skipped: Skipped[] = [];
  const { part, failures } = source;
  const { missing, cloning, timedOut, costlyFiles, excludedForkCount, excludedArchivedCount } = part;
  if (missing.count > 0) {
    skipped.push({
      reason: "repository-missing",
      title: `${number(missing.count)} missing`,
      severity: source.isMissingWanted ? "warn" : "info",
      message: namesMessage(missing, "could not be searched"),
    });
  }
  if (cloning.count > 0) {
    const still = cloning.count === 1 ? "it is still cloning" : "they are still cloning";
    skipped.push({
      reason: "repository-cloning",
      title: `${number(cloning.count)} cloning`,
      severity: "info",
      message: namesMessage(cloning, `could not be searched because ${still}`),
    });
  }
  if (source.limitHit) skipped.push(matchLimit(source.matchCountMax));
  if (timedOut.count > 0) skipped.push(lateRepositories(part));
  if (costlyFiles.count > 0) skipped.push(excludedFiles(costlyFiles));
  skipped.push(...describeGaps(part.historyGaps));
  if (part.shardsWithoutSymbols + part.filesWithoutSymbols.count > 0) skipped.push(missingSymbols(part));
  const isNodeLost = part.excluded.first.some(({ isOfLostNode }) => isOfLostNode === true);
  if (failures.count > 0) skipped.push(failedShards(failures, isNodeLost));
  if (source.budgetError !== undefined)
    skipped.push({ reason: "budget", title: "budget used up", severity: "warn", message: source.budgetError });
  if (part.partlyIndexedCount > 0) skipped.push(partlyIndexed(part));
  if (excludedForkCount > 0) skipped.push(excluded("repository-fork", excludedForkCount, "forked", "fork:yes"));
  if (excludedArchivedCount > 0)
    skipped.push(excluded("excluded-archive", excludedArchivedCount, "archived", "archived:yes"));
  if (source.displayLimitHit !== undefined) {
    skipped.push({
      reason: "display",
      title: "display limit hit",
      severity: "info",
      message: `We only display ${source.displayLimitHit} ${source.displayLimitHit === 1 ? "result" : "results"} even if your search returned more results. To see all results, use our CLI.`,
    });
  }
  return skipped;
}

function missingSymbols({ shardsWithoutSymbols, symbolFaults, filesWithoutSymbols }: SearchPart): Skipped {
  const { count } = filesWithoutSymbols;
  const pending = [
    "Part of the files was not searched for symbols. Those of new commits are extracted in the background; `trawl_index_shards_without_symbols` in /metrics counts what is left, and without Universal Ctags the log says so.",
    ...symbolFaults.map((fault) => `* Those of revisions that are not indexed: ${fault}`),
  ];
  const failed = [
    `ctags failed for ${count === 1 ? "1 file" : `${number(count)} files`}, which ${count === 1 ? "is" : "are"} tried again when the text changes. A search with \`receipt=1\` lists them.`,
    ...listLines(filesWithoutSymbols),
  ];
  const message = [...(shardsWithoutSymbols > 0 ? pending : []), ...(count > 0 ? failed : [])].join("\n");
  return { reason: "document-skipped", title: "symbols missing", severity: "warn", message };
}

function partlyIndexed({ quarantined, incomplete, partlyIndexedCount }: SearchPart): Skipped {
  const sentences = [
    [
      quarantined,
      "Some files or commits could not be indexed within the time and memory limits; `trawl repo list` names them. They belong to",
    ],
    [
      incomplete,
      "Some files or directories could not be read, because objects in the repository are missing or damaged; `trawl repo list` counts them. They belong to",
    ],
  ] as const;
  const message = sentences
    .filter(([names]) => names.count > 0)
    .map(([names, what]) => `${what}: ${listInLine(names)}`)
    .join("\n");
  const title = `${number(partlyIndexedCount)} not indexed completely`;
  return { reason: "document-skipped", title, severity: "warn", message };
}

function lateRepositories({ timedOut, unfinishedShards: { count, first } }: SearchPart): Skipped {
  const late =
    count === 0 ? "" : `\nA search thread was still searching ${count === 1 ? "shard" : "shards"} ${first.join(", ")}.`;
  return {
    reason: "shard-timeout",
    title: `${number(timedOut.count)} timed out`,
    severity: "warn",
    message: namesMessage(timedOut, "could not be searched in time") + late,
  };
}

/** Formats a count for a title: plain below 1,000, with a comma below 10,000, then in thousands. */
export function number(count: number): string {
  if (count < 1000) return String(count);
  if (count < 10_000) return `${Math.floor(count / 1000)},${String(count % 1000).padStart(3, "0")}`;
  return `${Math.floor(count / 1000)}k`;
}

/** The next larger limit to suggest. */
function largerCount(limit: number): number | "all" {
  const larger = Math.floor((limit + 1500) / 1000) * 1000;
  return larger > countMax ? "all" : larger;
}

function matchLimit(limit: number | undefined): Skipped {
  return {
    reason: "shard-match-limit",
    title: "result limit hit",
    message: "Not all results have been returned due to hitting a match limit.",
    severity: "info",
    ...(limit === undefined
      ? {}
      : { suggested: { title: "increase limit", queryExpression: `count:${largerCount(limit)}` } }),
  };
}

function failedShards(sentences: Listed<string>, isNodeLost: boolean): Skipped {
  const title = `${number(sentences.count)} ${sentences.count === 1 ? "backend" : "backends"} down`;
  return {
    reason: "backend-missing",
    title,
    severity: "warn",
    message: [
      `Part of the index was not searched, so the results are incomplete. ${
        isNodeLost
          ? "A node that is down is asked again by the next search."
          : "Damaged shards are being rebuilt from the mirrors."
      } Try again later.`,
      ...listLines(sentences),
    ].join("\n"),
  };
}

/** Uses a reason known to clients of this interface: it means that files may contain more results than are shown. */
function excludedFiles(list: Listed<string>): Skipped {
  const { count } = list;
  const files = count === 1 ? "1 file" : `${number(count)} files`;
  return {
    reason: "document-match-limit",
    title: `${files} excluded`,
    severity: "warn",
    message: [
      `${files} ${count === 1 ? "was" : "were"} excluded because matching this pattern there takes too much work, or a line has more matches than an event holds. Use a longer pattern,` +
        " or one with shorter matches, for example without an optional part that can extend to the end of the line or of the file.",
      ...listLines(list),
    ].join("\n"),
  };
}

function listLines({ count, first }: Listed<string>): string[] {
  const lines = first.slice(0, listedNamesMax).map((name) => `* ${name}`);
  return count > lines.length ? [...lines, "* ..."] : lines;
}

function listInLine({ count, first }: Listed<string>): string {
  const names = first.slice(0, listedNamesMax);
  return `${names.join(", ")}${count > names.length ? ", ..." : ""}`;
}

function excluded(reason: string, count: number, word: string, query: string): Skipped {
  return {
    reason,
    title: `${number(count)} ${word}`,
    severity: "info",
    message: `By default we exclude ${word} repositories. Include them with \`${query}\` in your query.`,
    suggested: { title: `include ${word}`, queryExpression: query },
  };
}

function namesMessage(names: Listed<string>, what: string): string {
  const advice = "Try searching again or reducing the scope of your query with `repo:`, `context:` or other filters.";
  if (names.count === 1) return `\`${names.first[0]}\` ${what}. ${advice}`;
  const quoted = { count: names.count, first: names.first.slice(0, listedNamesMax).map((name) => `\`${name}\``) };
  return [`${number(names.count)} repositories ${what}. ${advice}`, ...listLines(quoted)].join("\n");
}

/** The notices about the gaps; none if there are none. */
function describeGaps(gaps: HistoryGaps): Skipped[] {
  return [...describeCut(gaps), ...describeUnread(gaps)];
}

function describeCut({ cutRepositories }: HistoryGaps): Skipped[] {
  if (cutRepositories.count === 0) return [];
  return [
    {
      reason: "document-skipped",
      title: `${count(cutRepositories.count, "shallow repository", "shallow repositories")}`,
      severity: "warn",
      message: `The history of ${listInLine(cutRepositories)} is cut off, because the source is a shallow clone.`,
    },
  ];
}

function describeUnread({ repositories, brokenCommits, largeFiles, cutMessages }: HistoryGaps): Skipped[] {
  if (repositories.count === 0) return [];
  const parts = [
    ...(brokenCommits === 0
      ? []
      : [
          `${count(brokenCommits, "commit")} could not be read completely, because objects are missing, damaged, or too large for git's memory`,
        ]),
    ...(largeFiles === 0
      ? []
      : [`the changes of ${count(largeFiles, "file")} are too large to be searched; their paths and commits were`]),
    ...(cutMessages === 0 ? [] : [`the messages of ${count(cutMessages, "commit")} were searched up to 1 MiB`]),
  ];
  return [
    {
      reason: "document-skipped",
      title: `${count(brokenCommits + largeFiles + cutMessages, "part")} of histories not searched`,
      severity: "warn",
      message: `In the history of ${listInLine(repositories)}: ${parts.join("; ")}.`,
    },
  ];
}

function count(number: number, what: string, several = `${what}s`): string {
  return `${number} ${number === 1 ? what : several}`;
}
