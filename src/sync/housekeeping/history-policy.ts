import type { Catalog } from "../../catalog/catalog.js";
import type { CatalogChange } from "../../catalog/catalog-change.js";
import type { HistoryShardRecord, HistoryState } from "../../model/history-record.js";
import { parseHistoryScope } from "../../model/history-scope.js";
import type { Repository } from "../../model/repository.js";
import type { IndexHistoryTaskResult, HistoryWork } from "../../protocol/ingest-messages.js";

/** With this many small shards, they are replaced by one. */
const smallCountMax = 8;

/** A smaller history shard counts as small. */
const smallTextBytes = 8 << 20;

/** The next task for a history, and the shards that its result replaces. */
export interface PlannedWork {
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
export class HistoryPolicy {
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
  return [...new Set(indexedBranches.map(({ commit }) => commit))].sort();
}
