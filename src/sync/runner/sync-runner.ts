import { callAfter, type PendingCall } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Repository } from "../../model/repository.js";
import { IngestLoss } from "../../pool/ingest-pool.js";
import type { SyncInput, SyncOutcome } from "../../protocol/ingest-messages.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { LossJudge } from "./loss.js";
import type { Quarantines } from "./quarantines.js";
import type { RepositoryLocks } from "../queue/repository-locks.js";
import { OutdatedWork, type ShardFlips } from "../housekeeping/shard-flips.js";
import type { ShardRepairs } from "../housekeeping/shard-repairs.js";
import { isLossConfirmed, toCatalogChange } from "./sync-change.js";
import type { SyncOutcomes } from "./sync-outcomes.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { FetchSecrets, SyncServices } from "../services/sync-settings.js";

/** A task with other repositories waits so long for what one is fetched with: a host answers within a second. */
const secretMs = 3_000;

/** The components that a sync uses. */
export interface SyncRunnerParts {
  readonly tasks: IndexTasks;
  readonly locks: RepositoryLocks;
  readonly queue: SyncQueue;
  readonly flips: ShardFlips;
  readonly repairs: ShardRepairs;
  readonly outcomes: SyncOutcomes;
  readonly judge: LossJudge;
  readonly quarantines: Quarantines;
}

/** One sync of some repositories: a worker fetches and indexes, the catalog flips, and the outcome is handled. */
export class SyncRunner {
  readonly #services: SyncServices;
  readonly #parts: SyncRunnerParts;
  readonly #losses: SyncLosses;
  secrets: FetchSecrets = { find: () => Promise.resolve(undefined), doubt: () => undefined };

  constructor(services: SyncServices, parts: SyncRunnerParts) {
    const { judge, queue, flips, outcomes, quarantines } = parts;
    this.#services = services;
    this.#parts = parts;
    this.#losses = new SyncLosses(services, judge, queue, flips, outcomes, quarantines);
  }

  /** Caller guarantees: the repositories are locked; they are released at the end. */
  async run(repositories: readonly Repository[], isPatient: boolean): Promise<void> {
    const { pool, settings, catalog } = this.#services;
    const { tasks, queue, flips, judge, outcomes, locks, repairs } = this.#parts;
    const startedMs = performance.now();
    const basis = catalog.basis(repositories[0]?.id ?? 0);
    const taken = repositories.map((repository) => this.#toInput(repository));
    // Without those that cannot be fetched now.
    let inputs: readonly SyncInput[] = taken;
    try {
      inputs = (await Promise.all(taken.map((input) => this.#withSecret(input, isPatient)))).flatMap(
        (one) => one ?? [],
      );
      if (inputs.length === 0) return;
      const result = await pool.sync({
        kind: "sync",
        shardIds: flips.shardIds,
        limits: settings.limits,
        fetch: settings.fetch,
        isPatient,
        stop: tasks.stopWord,
        repositories: inputs,
      });
      await flips.flip(result.shards, basis, () => toCatalogChange(catalog, judge, result));
      this.#doubtSecrets(inputs, result.outcomes);
      for (const outcome of result.outcomes) outcomes.settle(outcome, startedMs);
      const open = result.outcomes.filter(({ kind }) => kind === "deferred" || kind === "lacking");
      const openIds = new Set(open.map(({ repositoryId }) => repositoryId));
      for (const input of inputs) if (openIds.has(input.repository.id)) queue.askAgain(input);
    } catch (error) {
      const failure = error instanceof TrawlError ? error : new TrawlError("internal", errorMessage(error));
      if (failure instanceof IngestLoss && !tasks.isStopping) await this.#losses.settle(inputs, failure);
      else if (failure instanceof OutdatedWork && !tasks.isStopping) for (const input of inputs) this.#runAgain(input);
      else for (const { repository } of inputs) outcomes.recordFailure(repository.id, failure);
    } finally {
      locks.release(repositories.map(({ id }) => id));
      repairs.count();
    }
  }

  /**
   * With what the repository is fetched; undefined if that cannot be had, which is its failure, or not soon: then it runs in a task of
   * its own, so that others do not wait for its host.
   */
  async #withSecret(input: SyncInput, isPatient: boolean): Promise<SyncInput | undefined> {
    const { repository } = input;
    const { outcomes, queue } = this.#parts;
    let timer: PendingCall | undefined;
    const late = new Promise<"late">((resolve) => {
      if (!isPatient) timer = callAfter(secretMs, () => resolve("late"));
    });
    try {
      const secret = await Promise.race([this.secrets.find(repository), late]);
      if (secret !== "late") return { ...input, secret };
      queue.askAgain(input);
      outcomes.settle({ kind: "deferred", repositoryId: repository.id }, 0);
    } catch (error) {
      // The mirror is there.
      if (input.rebuild && !input.recreate) return input;
      queue.askAgain(input);
      outcomes.recordFailure(
        repository.id,
        error instanceof TrawlError ? error : new TrawlError("internal", errorMessage(error)),
      );
    } finally {
      timer?.cancel();
    }
    return undefined;
  }

  /** What was found is not wanted any more: callers wait for the next sync. */
  #runAgain(input: SyncInput): void {
    const { queue } = this.#parts;
    const { id } = input.repository;
    if (input.recreate) queue.schedule(id).recreate = true;
    queue.askAgain(input);
    queue.tryAgain(id, false);
  }

  #doubtSecrets(inputs: readonly SyncInput[], settled: readonly SyncOutcome[]): void {
    const failedIds = new Set(settled.flatMap((one) => (one.kind === "failed" ? [one.repositoryId] : [])));
    for (const { repository, secret } of inputs)
      if (secret !== undefined && failedIds.has(repository.id)) this.secrets.doubt(repository);
  }

  #toInput(repository: Repository): SyncInput {
    const { queue, outcomes, quarantines } = this.#parts;
    const schedule = queue.schedule(repository.id);
    const { rebuild, recreate, isRequested } = schedule;
    const isConfirmed = isLossConfirmed(repository, this.#services.settings.acceptEmptyMs, new Date());
    const acceptsLoss = schedule.acceptsLoss ? "asked" : isConfirmed ? "confirmed" : "no";
    schedule.recreate = false;
    schedule.isRequested = false;
    schedule.acceptsLoss = false;
    if (recreate) outcomes.recordRecreation(repository.id);
    schedule.attend();
    const shards = this.#services.catalog
      .shardsForRepository(repository.id)
      .map(({ record: { id, checksum }, tombstones }) => ({ id, checksum, tombstones }));
    return {
      repository: quarantines.isOutdated(repository) ? { ...repository, quarantine: undefined } : repository,
      shards,
      secret: undefined,
      rebuild,
      recreate,
      isRequested,
      mayRefetch: outcomes.mayRefetch(repository.id),
      indexedMirror: outcomes.indexedMirror(repository.id),
      acceptsLoss,
    };
  }
}

/**
 * Handles the loss of a sync's thread. Repositories that it was not working on continue in another task; the item on
 * which it hung or crashed is not retried.
 */
class SyncLosses {
  readonly #services: SyncServices;
  readonly #judge: LossJudge;
  readonly #queue: SyncQueue;
  readonly #flips: ShardFlips;
  readonly #outcomes: SyncOutcomes;
  readonly #quarantines: Quarantines;

  constructor(
    services: SyncServices,
    judge: LossJudge,
    queue: SyncQueue,
    flips: ShardFlips,
    outcomes: SyncOutcomes,
    quarantines: Quarantines,
  ) {
    this.#services = services;
    this.#judge = judge;
    this.#queue = queue;
    this.#flips = flips;
    this.#outcomes = outcomes;
    this.#quarantines = quarantines;
  }

  async settle(inputs: readonly SyncInput[], loss: IngestLoss): Promise<void> {
    this.#flips.retire(loss.doing.shardIds);
    const ids = inputs.map(({ repository }) => repository.id);
    const suspects = this.#judge.suspects(ids, loss);
    for (const input of inputs) {
      const { id } = input.repository;
      if (input.recreate) this.#queue.schedule(id).recreate = true;
      this.#queue.askAgain(input);
      if (suspects.length === 1 && suspects[0] === id) await this.#settleSuspect(id, loss);
      else this.#queue.tryAgain(id, suspects.includes(id));
    }
  }

  async #settleSuspect(id: number, loss: IngestLoss): Promise<void> {
    const repository = this.#services.catalog.repository(id);
    if (repository === undefined) return;
    const verdict = this.#judge.judge(repository, loss);
    const { path, oid, phase } = loss.doing;
    this.#services.log.error(
      { repository: repository.name, phase, path, blob: oid, reason: loss.reason, verdict: verdict.kind },
      loss.message,
    );
    if (verdict.kind === "failed") return this.#outcomes.recordFailure(id, loss);
    try {
      if (verdict.kind === "quarantine") await this.#quarantines.set(id, verdict.quarantine);
      this.#queue.tryAgain(id, true);
    } catch (error) {
      const failure = error instanceof TrawlError ? error : new TrawlError("internal", errorMessage(error));
      this.#outcomes.recordFailure(id, failure);
    }
  }
}
