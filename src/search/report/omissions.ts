import type { Omission, Skipped } from "../../model/stream-events.js";
import { isSymbolFault, symbolFaults } from "../../model/symbol-failure.js";
import { countMax } from "../../query/fields/values.js";
import { skipReasons } from "../../model/skip-reason.js";
import type { UnsearchedFile, ExcludedFile } from "../../protocol/messages.js";
import type { MissingRevision } from "../repositories/repository-resolver.js";

/** A repository that is not searched, because information about it could not be obtained. */
export interface ExcludedRepository {
  readonly repository: string;
  /** Follows its name, as in "there was not enough time to read it". */
  readonly reason: string;
  readonly isLate: boolean;
}

/** What was left out for one reason. Items are made when they are asked for, because there may be a million. */
export interface OmissionGroup {
  readonly count: number;
  /** Whether it may have contained a result that the query asks for. */
  readonly isGap: boolean;
  readonly reason: string;
  /** The item with this index, of `count`; undefined if only its number is known. */
  item(index: number): Omission | undefined;
}

/** The data from which the groups are derived. */
export interface OmissionSource {
  readonly missing: readonly string[];
  readonly cloning: readonly string[];
  readonly timedOut: readonly string[];
  readonly quarantined: readonly string[];
  readonly incomplete: readonly string[];
  readonly forks: readonly string[];
  readonly archived: readonly string[];
  readonly excluded: readonly ExcludedRepository[];
  readonly missingRevisions: readonly MissingRevision[];
  readonly costlyFiles: readonly ExcludedFile[];
  /** Files for which ctags has failed. */
  readonly filesWithoutSymbols: readonly ExcludedFile[];
  readonly historyGaps: HistoryGaps;
  /** A sentence. */
  readonly budgetError: string | undefined;
  /** Sentences. */
  readonly failures: readonly string[];
  readonly shardsWithoutSymbols: number;
  /** The limits, if they were reached. */
  readonly matchLimit: number | undefined;
  readonly displayLimit: number | undefined;
}

/** Files of these kinds have no text that could be searched, or are searched as they are. */
const withoutGap: ReadonlySet<string> = new Set(["binary", "not-regular", "not-decoded"]);

/** The groups that are not empty. */
export function omissionGroups(source: OmissionSource, files: ReadonlyMap<string, UnsearchedGroup>): OmissionGroup[] {
  const { historyGaps, matchLimit, displayLimit, shardsWithoutSymbols } = source;
  const groups = [
    limit("match-limit", matchLimit),
    limit("display-limit", displayLimit),
    names("timeout", source.timedOut),
    names("repository-missing", source.missing),
    names("repository-cloning", source.cloning),
    listed("repository-excluded", source.excluded, ({ repository, reason }) => ({ repository, detail: reason })),
    listed("revision-missing", source.missingRevisions, ({ repository, revision }) => ({
      repository,
      detail: revision,
    })),
    listed("budget", source.budgetError === undefined ? [] : [source.budgetError], (detail) => ({ detail })),
    listed("failure", source.failures, (detail) => ({ detail })),
    listed("costly", source.costlyFiles, describeFile),
    listed("symbols-failed", source.filesWithoutSymbols, describeFile),
    names("history", [...historyGaps.repositories].sort()),
    names("history-cut", [...historyGaps.cutRepositories].sort()),
    names("repository-quarantined", source.quarantined),
    names("objects-missing", source.incomplete),
    listed("symbols", Array.from({ length: Math.min(1, shardsWithoutSymbols) }), () => ({
      detail: `${shardsWithoutSymbols} shards`,
    })),
    names("fork", source.forks, false),
    names("archived", source.archived, false),
    ...[...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([reason, group]) => unsearchedFiles(reason, group)),
  ];
  return groups.filter(({ count }) => count > 0);
}

function describeFile({ repository, path, reason }: ExcludedFile): Omit<Omission, "reason"> {
  return { repository, path, detail: isSymbolFault(reason) ? `ctags ${symbolFaults[reason]}` : reason };
}

/** Files without a searchable text, for one reason. Only the first ones are listed. */
export interface UnsearchedGroup {
  count: number;
  readonly files: UnsearchedFile[];
}

function unsearchedFiles(reason: string, { count, files }: UnsearchedGroup): OmissionGroup {
  const detail = `the file ${skipReasons[reason as keyof typeof skipReasons].explanation}`;
  return {
    reason,
    count,
    isGap: !withoutGap.has(reason),
    item: (i) => {
      const file = files[i] as UnsearchedFile | undefined;
      return file && { reason, repository: file.repository, path: file.path, detail };
    },
  };
}

function limit(reason: string, count: number | undefined): OmissionGroup {
  return listed(reason, count === undefined ? [] : [count], (countMax) => ({ detail: `${countMax} matches` }));
}

function names(reason: string, all: readonly string[], isGap = true): OmissionGroup {
  return { ...listed(reason, all, (repository) => ({ repository })), isGap };
}

function listed<T>(reason: string, all: readonly T[], describe: (one: T) => Omit<Omission, "reason">): OmissionGroup {
  return { reason, count: all.length, isGap: true, item: (i) => ({ reason, ...describe(all[i]) }) };
}

/** What durations are rounded up to for viewers who do not see all repositories. */
const durationStepMs = 10;

/**
 * A duration as a viewer may see it: exact ones would tell something about the load by searches of what others see.
 */
export function visibleMs(ms: number, seesAll: boolean): number {
  return seesAll ? ms : Math.ceil(ms / durationStepMs) * durationStepMs;
}

/** Names of repositories that were not searched, or not completely, by reason. */
export interface NotSearched {
  readonly missing: readonly string[];
  readonly cloning: readonly string[];
  readonly timedOut: readonly string[];
}

/** Files that were excluded for one kind of reason. */
export interface ListedFiles {
  readonly count: number;
  /** Each consists of a repository, a path and a reason. */
  readonly names: readonly string[];
}

/** The data from which the skipped items are derived. */
export interface SkippedSource extends NotSearched {
  /** Whether the query is about the missing ones, or they had been searchable: results are missing that somebody expects. */
  readonly isMissingWanted: boolean;
  readonly limitHit: boolean;
  /** The limit that a larger `count:` would raise; undefined if the query has several. */
  readonly matchCountMax: number | undefined;
  /** Names of searched repositories with files whose contents a thread could not index. */
  readonly quarantined: readonly string[];
  /** Names of searched repositories with missing git objects. */
  readonly incomplete: readonly string[];
  /** Sentences, one per shard that could not be searched. */
  readonly shardFailures: readonly string[];
  /** Why the client's budget ended the search; undefined if it did not. */
  readonly budgetError: string | undefined;
  /** Ids of shards that were still being searched when the search ended. */
  readonly unfinishedShards: readonly number[];
  /** Files in which matching the pattern takes too much work. */
  readonly costlyFiles: ListedFiles;
  readonly historyGaps: HistoryGaps;
  /** Shards whose symbols are not known. */
  readonly shardsWithoutSymbols: number;
  /** Why symbols of revisions that are not indexed could not be extracted. */
  readonly symbolFaults: readonly string[];
  /** Files for which ctags has failed. */
  readonly filesWithoutSymbols: ListedFiles;
  readonly excludedForkCount: number;
  readonly excludedArchivedCount: number;
  /** The display limit if it withheld results, otherwise undefined. */
  readonly displayLimitHit: number | undefined;
}

/** Names listed in a message. */
const listedNamesMax = 10;

/** The reasons in their fixed order; those that do not apply are omitted. */
export function makeSkipped(source: SkippedSource): Skipped[] {
  const skipped: Skipped[] = [];
  const { missing, cloning, timedOut, shardFailures } = source;
  if (missing.length > 0) {
    skipped.push({
      reason: "repository-missing",
      title: `${number(missing.length)} missing`,
      severity: source.isMissingWanted ? "warn" : "info",
      message: namesMessage(missing, "could not be searched"),
    });
  }
  if (cloning.length > 0) {
    const still = cloning.length === 1 ? "it is still cloning" : "they are still cloning";
    skipped.push({
      reason: "repository-cloning",
      title: `${number(cloning.length)} cloning`,
      severity: "info",
      message: namesMessage(cloning, `could not be searched because ${still}`),
    });
  }
  if (source.limitHit) skipped.push(matchLimit(source.matchCountMax));
  if (timedOut.length > 0) skipped.push(lateRepositories(timedOut, source.unfinishedShards));
  if (source.costlyFiles.count > 0) skipped.push(excludedFiles(source.costlyFiles));
  skipped.push(...describeGaps(source.historyGaps));
  if (source.shardsWithoutSymbols + source.filesWithoutSymbols.count > 0) skipped.push(missingSymbols(source));
  if (shardFailures.length > 0) skipped.push(failedShards(shardFailures));
  if (source.budgetError !== undefined)
    skipped.push({ reason: "budget", title: "budget used up", severity: "warn", message: source.budgetError });
  if (source.quarantined.length + source.incomplete.length > 0) skipped.push(partlyIndexed(source));
  if (source.excludedForkCount > 0) {
    skipped.push(excluded("repository-fork", source.excludedForkCount, "forked", "fork:yes"));
  }
  if (source.excludedArchivedCount > 0) {
    skipped.push(excluded("excluded-archive", source.excludedArchivedCount, "archived", "archived:yes"));
  }
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

function missingSymbols({ shardsWithoutSymbols, symbolFaults, filesWithoutSymbols }: SkippedSource): Skipped {
  const { count, names } = filesWithoutSymbols;
  const pending = [
    "Part of the files was not searched for symbols. Those of new commits are extracted in the background; `trawl_index_shards_without_symbols` in /metrics counts what is left, and without Universal Ctags the log says so.",
    ...symbolFaults.slice(0, listedNamesMax).map((fault) => `* Those of revisions that are not indexed: ${fault}`),
  ];
  const failed = [
    `ctags failed for ${count === 1 ? "1 file" : `${number(count)} files`}, which ${count === 1 ? "is" : "are"} tried again when the text changes. A search with \`receipt=1\` lists them.`,
    ...listLines({ count, names }),
  ];
  const message = [...(shardsWithoutSymbols > 0 ? pending : []), ...(count > 0 ? failed : [])].join("\n");
  return { reason: "document-skipped", title: "symbols missing", severity: "warn", message };
}

function partlyIndexed({ quarantined, incomplete }: SkippedSource): Skipped {
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
    .filter(([names]) => names.length > 0)
    .map(
      ([names, what]) =>
        `${what}: ${names.slice(0, listedNamesMax).join(", ")}${names.length > listedNamesMax ? ", ..." : ""}`,
    )
    .join("\n");
  const count = new Set([...quarantined, ...incomplete]).size;
  return { reason: "document-skipped", title: `${number(count)} not indexed completely`, severity: "warn", message };
}

function lateRepositories(names: readonly string[], shardIds: readonly number[]): Skipped {
  const late =
    shardIds.length === 0
      ? ""
      : `\nA search thread was still searching ${shardIds.length === 1 ? "shard" : "shards"} ${shardIds.join(", ")}.`;
  return {
    reason: "shard-timeout",
    title: `${number(names.length)} timed out`,
    severity: "warn",
    message: namesMessage(names, "could not be searched in time") + late,
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

function failedShards(sentences: readonly string[]): Skipped {
  const title = `${number(sentences.length)} ${sentences.length === 1 ? "backend" : "backends"} down`;
  const lines = sentences.slice(0, listedNamesMax).map((sentence) => `* ${sentence}`);
  const rest = sentences.length > listedNamesMax ? ["* ..."] : [];
  return {
    reason: "backend-missing",
    title,
    severity: "warn",
    message: [
      "Part of the index was not searched, so the results are incomplete. Damaged shards are being rebuilt from the mirrors: try again later.",
      ...lines,
      ...rest,
    ].join("\n"),
  };
}

/** Uses a reason known to clients of this interface: it means that files may contain more results than are shown. */
function excludedFiles({ count, names }: ListedFiles): Skipped {
  const files = count === 1 ? "1 file" : `${number(count)} files`;
  return {
    reason: "document-match-limit",
    title: `${files} excluded`,
    severity: "warn",
    message: [
      `${files} ${count === 1 ? "was" : "were"} excluded because matching this pattern there takes too much work, or a line has more matches than an event holds. Use a longer pattern,` +
        " or one with shorter matches, for example without an optional part that can extend to the end of the line or of the file.",
      ...listLines({ count, names }),
    ].join("\n"),
  };
}

function listLines({ count, names }: ListedFiles): string[] {
  const lines = names.slice(0, listedNamesMax).map((name) => `* ${name}`);
  return count > lines.length ? [...lines, "* ..."] : lines;
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

function namesMessage(names: readonly string[], what: string): string {
  const advice = "Try searching again or reducing the scope of your query with `repo:`, `context:` or other filters.";
  if (names.length === 1) return `\`${names[0]}\` ${what}. ${advice}`;
  const lines = names.slice(0, listedNamesMax).map((name) => `* \`${name}\``);
  const rest = names.length > listedNamesMax ? ["* ..."] : [];
  return [`${number(names.length)} repositories ${what}. ${advice}`, ...lines, ...rest].join("\n");
}

/** The first files, as a message lists them. */
export function listExcluded(files: ReadonlyMap<string, ExcludedFile>): ListedFiles {
  return { count: files.size, names: [...files.values()].slice(0, listedNamesMax).map(describeExcluded) };
}

export function describeExcluded({ repository, path, reason }: ExcludedFile): string {
  return `\`${repository}\` ${path}: ${describeReason(reason)}`;
}

function describeReason(reason: ExcludedFile["reason"]): string {
  if (reason === "work") return "matching the pattern takes too many passes over the text";
  return isSymbolFault(reason) ? `ctags ${symbolFaults[reason]}` : "too many matches on one line";
}

/** Parts of histories that were not searched. */
export interface HistoryGaps {
  /** Names of the repositories. */
  readonly repositories: Set<string>;
  /** Names of those with shallow sources, which lack the older part. */
  readonly cutRepositories: Set<string>;
  /** Commits that their mirrors do not have, or cannot read completely. */
  brokenCommits: number;
  /** Changed files whose changes exceed the limit. */
  largeFiles: number;
  /** Commits with a message that exceeds the limit: its end was not searched. */
  cutMessages: number;
}

/** The notices about the gaps; none if there are none. */
function describeGaps(gaps: HistoryGaps): Skipped[] {
  return [...describeCut(gaps), ...describeUnread(gaps)];
}

function describeCut({ cutRepositories: { size }, cutRepositories }: HistoryGaps): Skipped[] {
  if (size === 0) return [];
  const names = [...cutRepositories].sort().slice(0, listedNamesMax);
  return [
    {
      reason: "document-skipped",
      title: `${count(size, "shallow repository", "shallow repositories")}`,
      severity: "warn",
      message: `The history of ${names.join(", ")}${size > names.length ? ", ..." : ""} is cut off, because the source is a shallow clone.`,
    },
  ];
}

function describeUnread({ repositories, brokenCommits, largeFiles, cutMessages }: HistoryGaps): Skipped[] {
  if (repositories.size === 0) return [];
  const names = [...repositories].sort().slice(0, listedNamesMax);
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
      message: `In the history of ${names.join(", ")}${repositories.size > names.length ? ", ..." : ""}: ${parts.join("; ")}.`,
    },
  ];
}

function count(number: number, what: string, several = `${what}s`): string {
  return `${number} ${number === 1 ? what : several}`;
}
