import { errorMessage, TrawlError } from "../../base/errors.js";
import type { IngestLoss } from "../../pool/ingest-pool.js";
import type { SyncInput } from "../../protocol/ingest-messages.js";
import type { LossJudge } from "./loss.js";
import type { Quarantines } from "./quarantines.js";
import type { ShardFlips } from "../housekeeping/shard-flips.js";
import type { SyncOutcomes } from "./sync-outcomes.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { SyncServices } from "../sync-settings.js";

/**
 * Handles the loss of a sync's thread. Repositories that it was not working on continue in another task; the item on
 * which it hung or crashed is not retried.
 */
export class SyncLosses {
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
    for (const { repository, recreate, acceptsLoss } of inputs) {
      const { id } = repository;
      if (recreate) this.#queue.schedule(id).recreate = true;
      if (acceptsLoss === "asked") this.#queue.schedule(id).acceptsLoss = true;
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
