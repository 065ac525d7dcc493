import { hasBit } from "../../base/bits.js";
import { eachInSteps } from "../../base/yielding.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { Repository } from "../../model/repository.js";
import { skipReasons } from "../../model/skip-reason.js";
import type { Omission, ReceiptPage, ReceiptRepository, ReceiptRevision } from "../../model/stream-events.js";
import { isSymbolFault, symbolFaults } from "../../model/shard-record.js";
import {
  addMatch,
  addToDigest,
  emptyDigest,
  repositoryKey,
  type ResultDigest,
} from "../../native/kernel/result-digest.js";
import type { ExcludedFile, UnsearchedFile } from "../../protocol/messages.js";
import { commitAt, type Resolution, searchedChoices } from "../repositories/repository-resolver.js";
import { listOmissions, type OmissionGroup, type ReceiptPart } from "../source/receipt-part.js";
import type { MissingRevision } from "../source/search-part.js";
import type { LeftOutNames, SourceRecord, UnsearchedGroup } from "./source-record.js";

/** Files of these kinds have no text that could be searched, or are searched as they are. */
const withoutGap: ReadonlySet<string> = new Set(["binary", "not-regular", "not-decoded", "ignored"]);

/** What a source covers: what it chose, and what it left out of that. */
export interface Covered {
  readonly resolutions: readonly Resolution[];
  /** Of all resolutions, each once. */
  readonly repositories: readonly Repository[];
  readonly names: LeftOutNames;
  readonly missingRevisions: readonly MissingRevision[];
  readonly record: SourceRecord;
  readonly nameOf: (repositoryId: number) => string;
}

/** The receipt of what one source in this process searched. */
export class SourceReceipt implements ReceiptPart {
  readonly #resolutions: readonly Resolution[];
  readonly #repositories: readonly Repository[];
  readonly groups: readonly OmissionGroup[];
  readonly documentCount: number;
  readonly generation: ResultDigest;
  readonly listedCount = 0;
  readonly isOfNode = false;

  private constructor(covered: Covered, generation: ResultDigest) {
    this.#resolutions = covered.resolutions;
    this.#repositories = covered.repositories;
    this.groups = omissionGroups(covered);
    this.documentCount = covered.record.coverage?.documentCount ?? 0;
    this.generation = generation;
  }

  /** In steps, because there may be a million repositories. */
  static *inSteps(covered: Covered): Generator<void, SourceReceipt> {
    return new SourceReceipt(covered, yield* digestState(covered));
  }

  repositories(from: number, count: number): ReceiptPage<ReceiptRepository> {
    return {
      count: this.#repositories.length,
      items: this.#repositories.slice(from, from + count).map((repository) => ({
        repository: repository.name,
        generation: repository.generation,
        revisions: this.#revisions(repository),
      })),
    };
  }

  isVisibleIn(table: Pick<RepositoryTable, "id" | "byId" | "byName">): boolean {
    if (this.#resolutions.every(({ tableId }) => tableId === table.id)) return true;
    return (
      this.#repositories.every(({ id }) => table.byId(id) !== undefined) &&
      this.#resolutions.every(
        ({ excludedForks, excludedArchived, cloning, missing }) =>
          [...excludedForks, ...excludedArchived].every((id) => table.byId(id) !== undefined) &&
          [...cloning, ...missing].every((name) => table.byName(name) !== undefined),
      )
    );
  }

  revisions(): BaseRevisions {
    return new Map(
      this.#repositories.map((repository) => [
        repository.name,
        new Map(this.#revisions(repository).map(({ revision, commit }) => [revision, commit])),
      ]),
    );
  }

  #revisions(repository: Repository): ReceiptRevision[] {
    const revisions = new Map<string, string>();
    for (const resolution of this.#resolutions) {
      if (!isSelected(resolution, repository)) continue;
      for (const choice of searchedChoices(resolution, repository))
        revisions.set(choice.typed, commitAt(repository, choice)?.commit ?? "");
    }
    return [...revisions].map(([revision, commit]) => ({ revision, commit }));
  }
}

function isSelected({ selection: { repositoryIds } }: Resolution, { id }: Repository): boolean {
  return repositoryIds === undefined || hasBit(repositoryIds, id);
}

const noHash = new Uint32Array(4);

/** The state of all repositories, and the commits of revisions that were typed. */
function* digestState({ resolutions, repositories }: Covered): Generator<void, ResultDigest> {
  const sum = emptyDigest();
  yield* eachInSteps(repositories, ({ id, generation }) => addMatch(sum, noHash, id, generation));
  for (const { selection } of resolutions) {
    if (selection.revisions === undefined) continue;
    yield* eachInSteps([...selection.revisions], ([id, choices]) => {
      for (const { typed, unindexed } of choices)
        addToDigest(sum, repositoryKey(String(id), unindexed?.commit ?? ""), Buffer.from(typed), 0, 0);
    });
  }
  return sum;
}

function omissionGroups({ resolutions, names, missingRevisions, record, nameOf }: Covered): OmissionGroup[] {
  const { historyGaps } = record;
  const namesById = (find: (resolution: Resolution) => readonly number[]): readonly string[] => [
    ...new Set(resolutions.flatMap(find).map(nameOf)),
  ];
  return [
    listNames("timeout", names.timedOut),
    listNames("repository-missing", names.missing),
    listNames("repository-cloning", names.cloning),
    listOmissions("repository-excluded", record.excluded, ({ repository, reason }) => ({ repository, detail: reason })),
    listOmissions("revision-missing", missingRevisions, ({ repository, revision }) => ({
      repository,
      detail: revision,
    })),
    listOmissions("failure", record.failures, (detail) => ({ detail })),
    listOmissions("costly", [...record.costlyFiles.values()], describeFile),
    listOmissions("symbols-failed", [...record.failedFiles.values()], describeFile),
    listNames("history", [...historyGaps.repositories].sort()),
    listNames("history-cut", [...historyGaps.cutRepositories].sort()),
    listNames("repository-quarantined", names.quarantined),
    listNames("objects-missing", names.incomplete),
    listNames(
      "fork",
      namesById(({ excludedForks }) => excludedForks),
      false,
    ),
    listNames(
      "archived",
      namesById(({ excludedArchived }) => excludedArchived),
      false,
    ),
    ...[...(record.coverage?.files ?? [])].map(([reason, group]) => unsearchedFiles(reason, group)),
  ];
}

function listNames(reason: string, all: readonly string[], isGap = true): OmissionGroup {
  return { ...listOmissions(reason, all, (repository) => ({ repository })), isGap };
}

function describeFile({ repository, path, reason }: ExcludedFile): Omit<Omission, "reason"> {
  return { repository, path, detail: isSymbolFault(reason) ? `ctags ${symbolFaults[reason]}` : reason };
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
