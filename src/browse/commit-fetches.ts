import { BoundedMap } from "../base/bounded-map.js";
import { TrawlError } from "../base/errors.js";
import { monotonicMs, sleep } from "../base/deadline.js";
import type { Repository } from "../model/repository.js";

/** The last fetch of a repository that was made because somebody waited for a commit. */
interface CommitFetch {
  readonly startedMs: number;
  /** Resolves with the reason if nothing was fetched; never rejects. */
  readonly done: Promise<TrawlError | undefined>;
  isDone: boolean;
}

/**
 * The error if it says that this node does not fetch, and nothing of the remote: another one does, nobody does at this moment, or the
 * daemon is stopping.
 */
export function refusedHere(error: unknown): TrawlError | undefined {
  return error instanceof TrawlError && refusals.has(error.code) ? error : undefined;
}

const refusals: ReadonlySet<string> = new Set(["conflict", "overloaded", "shutting-down"]);

/** Beyond this, repositories that nobody waited for recently are forgotten. */
const fetchesMax = 10_000;

/**
 * Fetches that are made because a client waits for a commit. Anybody who may search can ask for commits that do not exist:
 * after a fetch that brought nobody's commit, the repository is not fetched for such a client before the interval has
 * passed. Those who wait meanwhile share the next one.
 */
export class CommitFetches {
  readonly #sync: (name: string) => Promise<unknown>;
  readonly #intervalMs: number;
  readonly #last = new BoundedMap<number, CommitFetch>(fetchesMax, () => 1);

  constructor(sync: (name: string) => Promise<unknown>, intervalMs: number) {
    this.#sync = sync;
    this.#intervalMs = intervalMs;
  }

  /**
   * Resolves when the commit is covered after a fetch, or when it is not and no other fetch may begin within `leftMs`.
   * `isCovered` is asked after each fetch that began after this call or was running then. Rejects with why this node does not fetch.
   */
  async bring(
    { id, name }: Pick<Repository, "id" | "name">,
    isCovered: () => Promise<boolean>,
    isWanted: () => boolean,
    leftMs: number,
  ): Promise<void> {
    const endMs = monotonicMs() + leftMs;
    while (isWanted()) {
      const last = this.#last.get(id);
      const nextMs = last === undefined ? 0 : last.startedMs + this.#intervalMs;
      if (last === undefined || (last.isDone && nextMs <= monotonicMs())) {
        await this.#settle(id, this.#begin(id, name), isCovered);
        return;
      }
      if (!last.isDone) {
        if (await this.#settle(id, last, isCovered)) return;
      } else if (nextMs >= endMs) return;
      else await sleep(nextMs - monotonicMs());
    }
  }

  #begin(id: number, name: string): CommitFetch {
    const settled = this.#sync(name).then(() => undefined, refusedHere);
    const fetch: CommitFetch = { startedMs: monotonicMs(), done: settled, isDone: false };
    void settled.then(() => {
      fetch.isDone = true;
    });
    this.#last.set(id, fetch);
    return fetch;
  }

  /** Whether the commit is covered after the fetch, which then was worth it and does not count; neither does one that was refused. */
  async #settle(id: number, fetch: CommitFetch, isCovered: () => Promise<boolean>): Promise<boolean> {
    const refusal = await fetch.done;
    const isWorth = await isCovered();
    if ((isWorth || refusal !== undefined) && this.#last.get(id) === fetch) this.#last.delete(id);
    if (!isWorth && refusal !== undefined) throw refusal;
    return isWorth;
  }
}
