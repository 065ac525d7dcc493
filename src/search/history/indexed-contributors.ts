import { TrawlError } from "../../base/errors.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Repository } from "../../model/repository.js";
import type { ReadLimits, ReadPool } from "../../pool/read-pool.js";
import type { SearchPool } from "../../pool/search-pool.js";
import { ControlBlock } from "../../protocol/control-block.js";
import type {
  AuthorFilter,
  ContributorsResult,
  ContributorsTask,
  StoredHistory,
  VisibleHistory,
} from "../../protocol/history-messages.js";
import type { CommitOfRepository } from "../../protocol/read-messages.js";
import type { SliceScheduler } from "../slices/search-slices.js";
import { type CommitLists, toStoredHistories } from "./history-choice.js";

interface Services {
  readonly catalog: Pick<Catalog, "historyView">;
  readonly repository: (id: number) => Pick<Repository, "id" | "generation"> | undefined;
  readonly pool: Pick<SearchPool, "coverHistory" | "findContributors">;
  readonly scheduler: Pick<SliceScheduler, "run">;
  readonly lists: CommitLists;
  readonly reads: Pick<ReadPool, "run">;
}

/** Looks up in the history shards who changed which paths in the history of a commit. */
export class IndexedContributors {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  /**
   * Output of `encodePathMasks`. Undefined if the shards do not have all commits of the history, if changes of one are
   * missing, or if they cannot be read. `limits.stop` is the control block of a search.
   */
  async find(
    commit: CommitOfRepository,
    filters: readonly AuthorFilter[],
    limits: ReadLimits,
  ): Promise<Uint8Array | undefined> {
    const view = this.#services.catalog.historyView();
    try {
      const stored = toStoredHistories(view.shards.get(commit.repositoryId) ?? []);
      const shards = stored.length === 0 ? undefined : await this.#cover(commit, stored, limits);
      return shards && (await this.#search(shards, filters, limits));
    } catch (error) {
      if (error instanceof TrawlError) return undefined;
      throw error;
    } finally {
      view.release();
    }
  }

  /** Undefined if something is missing. */
  async #cover(
    { repositoryId, commit }: CommitOfRepository,
    shards: readonly StoredHistory[],
    limits: ReadLimits,
  ): Promise<readonly VisibleHistory[] | undefined> {
    const { pool, scheduler, lists, reads } = this.#services;
    const repository = this.#services.repository(repositoryId);
    if (repository === undefined) return undefined;
    const { list } = await lists.list(repository, { from: [commit], fromHead: false, without: [] }, reads, limits);
    const control = new ControlBlock(limits.stop);
    const cover = await lists.cover({ list, shards }, control, () =>
      scheduler.run("exhaustive", limits.client, () => pool.coverHistory({ list, shards, control: limits.stop })),
    );
    return control.isStopped || cover.missing.length > 0 || cover.brokenCount > 0 ? undefined : cover.shards;
  }

  async #search(
    shards: readonly VisibleHistory[],
    filters: readonly AuthorFilter[],
    { client, stop }: ReadLimits,
  ): Promise<Uint8Array | undefined> {
    const { pool, scheduler } = this.#services;
    let known: Uint8Array | undefined;
    let from: number | undefined = 0;
    while (from !== undefined) {
      const task: ContributorsTask = { shards, from, known, filters, control: stop };
      const { bytes, next }: ContributorsResult = await scheduler.run("exhaustive", client, () =>
        pool.findContributors(task),
      );
      if (bytes === undefined) return undefined;
      known = bytes;
      from = next;
    }
    return known;
  }
}
