import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { oneLine } from "../../base/text.js";
import { type Repository, workingCopyName } from "../../model/repository.js";
import { IngestLoss } from "../../pool/ingest-pool.js";
import type { HistoryWork, IndexHistoryTaskResult } from "../../protocol/ingest-messages.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import { reportStoreLoss, type SyncServices } from "../services/sync-settings.js";
import type { ShardFlips } from "./shard-flips.js";
import type { Basis, Catalog } from "../../catalog/catalog.js";
import type { CatalogChange } from "../../catalog/catalog-change.js";
import type { HistoryShardRecord, HistoryState } from "../../model/history-record.js";
import { parseHistoryScope } from "../../model/history-record.js";

/** After a failure, the history of the repository is not tried again for this long. */
const retryMs = 10 * 60_000;

/** Maximum length of an error in a status. */
const errorCharsMax = 1_000;

/**
 * Indexes histories, one history shard at a time, in a thread of its own: the newest commits first, and after a fetch
 * the new ones. Small shards of earlier fetches are replaced by one, and shards with none of the wanted commits are
 * removed. The task waits while texts are being indexed.
 *
 * The repository is not locked meanwhile, because that would delay its next sync by half a minute: like a search, the task
 * only reads the mirror, and fails if that is replaced.
 *
 * Commits that are in no history shard, for whatever reason, are read from the mirror by searches: the index decides how
 * fast they are found, not whether.
 */
export class HistoryIndexing {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #flips: ShardFlips;
  readonly #policy: HistoryPolicy;
  /** Repositories whose history may not be completely indexed. */
  readonly #waiting = new Set<number>();
  /** By repository: before this time on the monotonic clock it is not tried again. */
  readonly #againMs = new Map<number, number>();
  /** Called when more commits of a repository than before could not be read completely. */
  onBroken: (repository: Repository, brokenCount: number) => void = () => undefined;
  #isRunning = false;

  constructor(services: SyncServices, tasks: IndexTasks, flips: ShardFlips) {
    this.#services = services;
    this.#tasks = tasks;
    this.#flips = flips;
    this.#policy = new HistoryPolicy(services.catalog, services.settings.historyBytesMax);
  }

  /** 1 while a history is being indexed, otherwise 0. */
  get runningCount(): number {
    return this.#isRunning ? 1 : 0;
  }

  /** Whether the index of the repository is as it shall be. */
  isUpToDate(repository: Repository): boolean {
    return this.#policy.next(repository) === "nothing";
  }

  /** Must be called when a repository may have other commits than before, or others of them are to be indexed. */
  enqueue(repositoryId: number): void {
    const repository = this.#services.catalog.repository(repositoryId);
    if (repository !== undefined && !this.isUpToDate(repository)) this.#waiting.add(repositoryId);
  }

  /** The same, and starts now if nothing else runs. */
  request(repositoryId: number): void {
    this.enqueue(repositoryId);
    this.#tasks.pump();
  }

  /** A history shard failed verification: its commits are indexed again. */
  async drop(shardId: number): Promise<void> {
    const { catalog, manifest } = this.#services;
    const record = catalog.historyShard(shardId);
    if (record === undefined) return;
    await manifest.publish(() => {
      const repository = catalog.repository(record.repositoryId);
      return {
        removedHistoryIds: [shardId],
        repositories: repository === undefined ? [] : [{ ...repository, historyState: undefined }],
      };
    });
    this.request(record.repositoryId);
  }

  /**
   * Everything of the repository was fetched again: if commits could not be read completely before, its history is
   * indexed anew, because its shards have these commits without what was missing.
   */
  forgetBroken(repositoryId: number): void {
    this.#tasks.track(this.#forgetBroken(repositoryId));
  }

  async #forgetBroken(repositoryId: number): Promise<void> {
    const { catalog, manifest } = this.#services;
    await manifest.publish(() => {
      const repository = catalog.repository(repositoryId);
      if (repository === undefined || (repository.historyState?.brokenCount ?? 0) === 0) return {};
      return {
        removedHistoryIds: catalog.historyOf(repositoryId).map(({ id }) => id),
        repositories: [{ ...repository, historyState: undefined }],
      };
    });
    this.request(repositoryId);
  }

  /** Returns false if there is currently nothing to index. */
  start(): boolean {
    if (this.#isRunning) return false;
    const repository = this.#takeNext();
    if (repository === undefined) return false;
    this.#isRunning = true;
    const work = this.#policy.next(repository) === "remove" ? this.#remove(repository) : this.#index(repository);
    this.#tasks.track(
      work.finally(() => {
        this.#isRunning = false;
      }),
    );
    return true;
  }

  #takeNext(): Repository | undefined {
    const nowMs = monotonicMs();
    for (const id of this.#waiting) {
      if (nowMs < (this.#againMs.get(id) ?? 0) || !this.#services.share.has(id)) continue;
      this.#waiting.delete(id);
      const repository = this.#services.catalog.repository(id);
      if (repository === undefined) this.#againMs.delete(id);
      else if (!this.isUpToDate(repository)) return repository;
    }
    return undefined;
  }

  /** Its history is not to be indexed any more. */
  async #remove({ id }: Repository): Promise<void> {
    const { catalog, manifest } = this.#services;
    await manifest.publish(() => {
      const repository = catalog.repository(id);
      if (repository === undefined || this.#policy.next(repository) !== "remove") return {};
      const removedHistoryIds = catalog.historyOf(id).map((shard) => shard.id);
      return { repositories: [{ ...repository, historyState: undefined }], removedHistoryIds };
    });
    catalog.recordHistoryError(id, "");
  }

  async #index(repository: Repository): Promise<void> {
    const { catalog, pool, log, activities } = this.#services;
    const { id, name } = repository;
    const basis = catalog.basis(id);
    const planned = this.#policy.work(repository);
    try {
      const result = await pool.history({
        kind: "history",
        repositoryId: id,
        ...planned.work,
        shardIds: this.#flips.shardIds,
        hold: activities.indexingWord,
        stop: this.#tasks.stopWord,
      });
      await this.#flip(repository, basis, planned, result);
      catalog.recordHistoryError(id, "");
      const brokenCount = catalog.repository(id)?.historyState?.brokenCount ?? 0;
      if (brokenCount > (repository.historyState?.brokenCount ?? 0)) this.onBroken(repository, brokenCount);
      this.#againMs.delete(id);
      this.enqueue(id);
      log.debug(
        { repository: name, commits: result.shard?.commitCount ?? 0, left: result.leftCount },
        "history indexed",
      );
    } catch (error) {
      await this.#handleFailure(repository, error);
    }
  }

  async #flip(before: Repository, basis: Basis, planned: PlannedWork, result: IndexHistoryTaskResult): Promise<void> {
    const { catalog, manifest } = this.#services;
    const { shard } = result;
    try {
      await manifest.publish(() => {
        const repository = catalog.repository(before.id);
        // It was removed, something else is to be indexed now, its mirror has got more history, or another node has changed the index
        // meanwhile: what was built is dropped.
        if (!catalog.isCurrent(basis)) return {};
        const hasChanged = repository !== undefined && (repository.cut ?? "") !== (before.cut ?? "");
        if (repository === undefined || hasChanged || this.#policy.limits(repository) !== this.#policy.limits(before))
          return {};
        return this.#policy.change(repository, planned, result);
      });
    } finally {
      if (shard !== undefined && catalog.historyShard(shard.id) === undefined) this.#flips.retire([shard.id]);
    }
  }

  async #handleFailure({ id, name }: Repository, error: unknown): Promise<void> {
    const { settings, log, catalog, pool } = this.#services;
    reportStoreLoss(settings, error);
    // After a conflict another node indexes it; when this one is to do it again, everything is looked at.
    if (error instanceof TrawlError && (error.code === "cancelled" || error.code === "conflict")) return;
    if (catalog.repository(id) === undefined) return;
    this.#againMs.set(id, error instanceof IngestLoss ? Infinity : monotonicMs() + retryMs);
    if (error instanceof IngestLoss) this.#flips.retire(error.doing.shardIds);
    const message = oneLine(errorMessage(error), errorCharsMax);
    catalog.recordHistoryError(id, message);
    log.warn({ repository: name }, `its history could not be indexed: ${message}`);
    this.#waiting.add(id);
    if (!(error instanceof TrawlError) || error.code !== "corrupt-shard") return;
    const shards = catalog.historyOf(id).map(({ id: shardId, checksum }) => ({ id: shardId, checksum }));
    const check = { kind: "check", shards, isHistory: true, part: "whole", stop: this.#tasks.stopWord } as const;
    for (const { shardId } of (await pool.check(check)).failures) await this.drop(shardId);
    this.#againMs.delete(id);
  }
}

/** With this many small shards, they are replaced by one. */
const smallCountMax = 8;

/** A smaller history shard counts as small. */
const smallTextBytes = 8 << 20;

/** The next task for a history, and the shards that its result replaces. */
interface PlannedWork {
  readonly work: HistoryWork;
  readonly replaced: readonly HistoryShardRecord[];
}

/**
 * Decides what is to be done for the history of a repository, from the catalog alone.
 *
 * A size limit keeps the newest commits. Commits that are newer than the newest one of the oldest shard are always indexed,
 * and then the oldest shards are removed while the others reach the limit. A removed shard has only commits that are older
 * than this, so they are not indexed again.
 */
class HistoryPolicy {
  readonly #catalog: Catalog;
  readonly #textBytesMax: number;

  /** `textBytesMax` is the option `index.historyBytes`. */
  constructor(catalog: Catalog, textBytesMax: number) {
    this.#catalog = catalog;
    this.#textBytesMax = textBytesMax;
  }

  /** What the index of the repository is made for; another value means that it must be compared with all commits again. */
  limits({ history }: Repository): string {
    return `${history} ${this.#textBytesMax}`;
  }

  next(repository: Repository): "nothing" | "index" | "remove" {
    const { id, indexedBranches, historyState, removedAt, history } = repository;
    if (this.#textBytesMax === 0 || history === "off")
      return historyState !== undefined || this.#catalog.historyOf(id).length > 0 ? "remove" : "nothing";
    if (removedAt !== "") return "nothing";
    if (historyState?.limits === this.limits(repository) && listTips(repository).join() === historyState.tips.join())
      return "nothing";
    // Without branches there are no commits, and no shard is needed.
    if (indexedBranches.length === 0) return this.#catalog.historyOf(id).length > 0 ? "remove" : "nothing";
    return "index";
  }

  work(repository: Repository): PlannedWork {
    const all = this.#catalog.historyOf(repository.id);
    const { historyState: state } = repository;
    const small = all.filter(({ textBytes }) => textBytes < smallTextBytes);
    const replaced = small.length >= smallCountMax ? small : [];
    const kept = all.filter((record) => !replaced.includes(record));
    const doneTips = state?.limits === this.limits(repository) && !state.isShallow ? state.tips : [];
    return {
      work: {
        tips: listTips(repository),
        doneTips: replaced.length === 0 && doneTips.length > 0 ? doneTips : undefined,
        scope: parseHistoryScope(repository.history),
        older: {
          since: Math.min(...kept.map(({ newest }) => newest)),
          textBytesMax: Math.max(0, this.#textBytesMax - sumBytes(kept)),
        },
        kept: kept.map(({ id, checksum }) => ({ id, checksum })),
      },
      replaced,
    };
  }

  /** What follows from the result of a task. */
  change(
    repository: Repository,
    { work: { tips, kept: keptBefore }, replaced }: PlannedWork,
    { shard, unusedIds, ...counts }: IndexHistoryTaskResult,
  ): CatalogChange {
    // One of them was found to be damaged meanwhile.
    const lacksSome = keptBefore.some(({ id }) => this.#catalog.historyShard(id) === undefined);
    const before = counts.isWhole ? undefined : repository.historyState;
    const removed = new Set([...unusedIds, ...replaced.map(({ id }) => id)]);
    const kept = this.#catalog.historyOf(repository.id).filter(({ id }) => !removed.has(id));
    const excess = this.#excess(shard === undefined ? kept : [...kept, shard]);
    // Without a new shard, nothing more can be indexed within the limits.
    const isDone = (counts.leftCount === 0 || shard === undefined) && excess.length === 0 && !lacksSome;
    const historyState: HistoryState = {
      tips: isDone ? tips : [],
      limits: this.limits(repository),
      isShallow: counts.isShallow,
      reachableCount: (before?.reachableCount ?? 0) + counts.reachableCount,
      indexedCount: (before?.indexedCount ?? 0) + counts.indexedCount,
      brokenCount: (before?.brokenCount ?? 0) + counts.brokenCount,
    };
    return {
      repositories: [{ ...repository, historyState }],
      addedHistory: shard === undefined ? [] : [shard],
      removedHistoryIds: [...removed, ...excess],
    };
  }

  /** The oldest shards, as many as the size limit does not admit. */
  #excess(shards: readonly HistoryShardRecord[]): number[] {
    const excess: number[] = [];
    let bytes = sumBytes(shards);
    for (const { id, textBytes } of [...shards].sort((a, b) => a.newest - b.newest)) {
      bytes -= textBytes;
      if (bytes < this.#textBytesMax) break;
      excess.push(id);
    }
    return excess;
  }
}

function sumBytes(shards: readonly HistoryShardRecord[]): number {
  return shards.reduce((sum, { textBytes }) => sum + textBytes, 0);
}

/** The commits of the indexed branches. */
function listTips({ indexedBranches }: Repository): string[] {
  // A working copy is a new commit after each change, so a search reads it from the mirror.
  const branches = indexedBranches.filter(({ name }) => name !== workingCopyName);
  return [...new Set(branches.map(({ commit }) => commit))].sort();
}
