import { hasBit } from "../../base/bits.js";
import { eachInSteps } from "../../base/yielding.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { Repository } from "../../model/repository.js";
import type { Omission, Receipt, ReceiptPage, ReceiptRepository, ReceiptRevision } from "../../model/stream-events.js";
import {
  addMatch,
  addToDigest,
  emptyDigest,
  printDigest,
  repositoryKey,
  type ResultDigest,
} from "../../native/kernel/result-digest.js";
import type { Coverage } from "../../protocol/messages.js";
import { type Resolution, searchedChoices, commitAt } from "../repositories/repository-resolver.js";
import { type OmissionGroup, type OmissionSource, omissionGroups, type UnsearchedGroup } from "./omissions.js";

/** Files without a searchable text are listed up to this number in total, and counted beyond it. */
const listedFilesMax = 100_000;

/** Items of each list in the event. */
const eventItemsMax = 100;

/** What the report of a search tells its receipt. */
export interface ReceiptSource {
  readonly resolutions: readonly Resolution[];
  /** Of all resolutions, each once. */
  readonly repositories: readonly Repository[];
  readonly excluded: OmissionSource;
  readonly digest: ResultDigest;
  readonly digestedMatches: number;
  readonly matchCount: number;
}

/** Adds up what slices cover while the search runs. */
export class ReceiptCoverage {
  documentCount = 0;
  /** By reason. */
  readonly files = new Map<string, UnsearchedGroup>();
  #listedCount = 0;

  add({ documentCount, unsearched }: Coverage): void {
    this.documentCount += documentCount;
    for (const file of unsearched) {
      const group = this.files.get(file.reason) ?? { count: 0, files: [] };
      this.files.set(file.reason, group);
      group.count++;
      if (this.#listedCount++ < listedFilesMax) group.files.push(file);
    }
  }
}

/** The receipt of a search that has ended: what it searched, what it left out, and the digest of its results. */
export class SearchReceipt {
  readonly #source: ReceiptSource;
  readonly #documentCount: number;
  readonly #groups: readonly OmissionGroup[];
  readonly #generation: string;

  private constructor(source: ReceiptSource, { documentCount, files }: ReceiptCoverage, generation: string) {
    this.#source = source;
    this.#documentCount = documentCount;
    this.#groups = omissionGroups(source.excluded, files);
    this.#generation = generation;
  }

  /** In steps, because there may be a million repositories. */
  static *inSteps(source: ReceiptSource, coverage: ReceiptCoverage | undefined): Generator<void, SearchReceipt> {
    return new SearchReceipt(source, coverage ?? new ReceiptCoverage(), printDigest(yield* digestState(source)));
  }

  get isComplete(): boolean {
    return this.#groups.every(({ isGap }) => !isGap);
  }

  /** Why something was left out, each once. */
  get reasons(): readonly string[] {
    return this.#groups.map(({ reason }) => reason);
  }

  /** A sentence for people: what was left out. */
  get gaps(): string {
    const gaps = this.#groups.filter(({ isGap }) => isGap).map(({ reason, count }) => `${reason} (${count})`);
    return `the search is incomplete: ${gaps.join(", ")}; its receipt lists what was left out`;
  }

  /** The receipt with the first items of its lists. */
  summary(url: string): Receipt {
    const { digest, digestedMatches, matchCount } = this.#source;
    return {
      url,
      generation: this.#generation,
      complete: this.isComplete,
      matchCount,
      documentsSearched: this.#documentCount,
      digest: printDigest(digest),
      digestedMatches,
      repositories: this.repositories(0, eventItemsMax),
      excluded: this.excluded(0, eventItemsMax),
      excludedByReason: Object.fromEntries(this.#groups.map(({ reason, count }) => [reason, count])),
    };
  }

  repositories(from: number, count: number): ReceiptPage<ReceiptRepository> {
    const { repositories } = this.#source;
    return {
      count: repositories.length,
      items: repositories.slice(from, from + count).map((repository) => ({
        repository: repository.name,
        generation: repository.generation,
        revisions: this.#revisions(repository),
      })),
    };
  }

  /** Whether all repositories that it names are in the table of a viewer. */
  isVisibleIn(table: Pick<RepositoryTable, "id" | "byId" | "byName">): boolean {
    const { repositories, resolutions } = this.#source;
    if (resolutions.every(({ tableId }) => tableId === table.id)) return true;
    return (
      repositories.every(({ id }) => table.byId(id) !== undefined) &&
      resolutions.every(
        ({ excludedForks, excludedArchived, cloning, missing }) =>
          [...excludedForks, ...excludedArchived].every((id) => table.byId(id) !== undefined) &&
          [...cloning, ...missing].every((name) => table.byName(name) !== undefined),
      )
    );
  }

  /** All revisions, as the base of a search for changes. */
  revisions(): BaseRevisions {
    return new Map(
      this.#source.repositories.map((repository) => [
        repository.name,
        new Map(this.#revisions(repository).map(({ revision, commit }) => [revision, commit])),
      ]),
    );
  }

  excluded(from: number, count: number): ReceiptPage<Omission> {
    const items: Omission[] = [];
    let first = 0;
    for (const group of this.#groups) {
      for (let i = Math.max(0, from - first); i < group.count && items.length < count; i++) {
        const item = group.item(i);
        if (item === undefined) break;
        items.push(item);
      }
      first += group.count;
    }
    return { count: first, items };
  }

  #revisions(repository: Repository): ReceiptRevision[] {
    const revisions = new Map<string, string>();
    for (const resolution of this.#source.resolutions) {
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
function* digestState({ resolutions, repositories }: ReceiptSource): Generator<void, ResultDigest> {
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
