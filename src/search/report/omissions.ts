import type { Omission } from "../../model/stream-events.js";
import { isSymbolFault, symbolFaults } from "../../model/symbol-failure.js";
import { skipReasons } from "../../model/skip-reason.js";
import type { UnsearchedFile } from "../../protocol/coverage.js";
import type { ExcludedFile } from "../../protocol/messages.js";
import type { MissingRevision } from "../repositories/revision-resolver.js";
import type { HistoryGaps } from "./progress.js";

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
