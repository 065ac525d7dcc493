import { callAfter, type PendingCall } from "../../base/deadline.js";
import { workInSteps } from "../../base/yielding.js";
import type { Repository } from "../../model/repository.js";
import type { RankedDocument } from "../../protocol/rank-messages.js";

/**
 * A place in the order of results, which is that of one host with all repositories: numbers and texts that are compared one
 * after the other. The first number is one of `sections`.
 */
export type OrderKey = readonly (number | string)[];

/** What follows what. Within `others` there is no order. */
export const sections = { repositories: 1, ranked: 2, others: 3, histories: 4, end: 5 } as const;

/** Repositories of more stars come first, then those with higher ids. */
export function repositoryKey(basicQuery: number, { stars }: Repository, id: number): OrderKey {
  return [sections.repositories, basicQuery, -stars, -id];
}

export function historyKey({ stars }: Repository, id: number): OrderKey {
  return [sections.histories, -stars, -id];
}

/** As `compareRanked` orders those of one host. A repository is at one node, so documents of two nodes never have the same key. */
export function rankedKey(document: RankedDocument, index: number): OrderKey {
  const { score, stars, committedSeconds, repository, path } = document;
  return [sections.ranked, -score, -stars, -committedSeconds, repository, path, index];
}

export function compareKeys(a: OrderKey, b: OrderKey): number {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return a.length - b.length;
}

/** A source whose results are put in order. */
export interface OrderedSource {
  /** Passes on its next message, if it is its turn and there is one that fits. Returns whether it has. Must not throw. */
  passOn(): boolean;
  /** Tells how many shards of all sources share the budget of ranking. */
  share(shardCount: number): void;
  /** Gives up its node, unless something else keeps it from saying how many shards it would rank. Must not throw. */
  giveUpRanking(): void;
}

/** Messages are passed on for so long, at least one; then other work has its share of the main thread. */
const stepMs = 1;

/**
 * Whose turn it is, of the sources of one search. Each says which place its next result has, or that it has no result before
 * a place; the one with the first place may pass on its results. So a source that is silent holds up the others, until it
 * has said where it is, or is left out.
 *
 * What a source holds when its turn comes may be much, so it is passed on in steps. A source is asked for its next message when
 * something has changed for it: its turn has come, or it calls `wake`.
 */
export class ResultOrder {
  readonly #sources: OrderedSource[] = [];
  /** By source; undefined for one that has ended. */
  readonly #keys: (OrderKey | undefined)[] = [];
  /** By source; undefined until it has said how many shards it would rank. */
  readonly #rankable: (number | undefined)[] = [];
  /** Where each source begins. */
  readonly first: OrderKey;
  readonly #othersInTurn: boolean;
  readonly #onPassedOn: () => void;
  /** Of all, once they have said it. */
  #sum: number | undefined;
  /** The times at which the sources that have not said it are given up. */
  readonly #waits: readonly PendingCall[];
  /** Sources that may have something to pass on. */
  readonly #awake = new Set<number>();
  #isScheduled = false;
  /** The source whose turn it is; undefined if all have ended. */
  #first: number | undefined;

  /**
   * `othersInTurn` tells that also results without an order are passed on source by source, because they share a limit. `onPassedOn` is
   * called when some results were passed on, and must not throw. `rankWaitsMs` are times, from this call, at which sources are given up
   * that keep the others from ranking.
   */
  constructor(first: OrderKey, othersInTurn: boolean, onPassedOn: () => void, rankWaitsMs: readonly number[]) {
    this.#waits = rankWaitsMs.map((ms) => callAfter(ms, () => this.#giveUpRanking()));
    this.first = first;
    this.#othersInTurn = othersInTurn;
    this.#onPassedOn = onPassedOn;
  }

  /** Returns the number of the source. To be called for all sources before any of them runs. */
  join(source: OrderedSource): number {
    this.#keys.push(this.first);
    this.#rankable.push(undefined);
    this.#first ??= 0;
    return this.#sources.push(source) - 1;
  }

  /** The source has no result before this place. */
  reach(source: number, key: OrderKey): void {
    if (this.#keys[source] === undefined || compareKeys(this.#keys[source], key) === 0) return;
    this.#keys[source] = key;
    this.#wakeFirst();
  }

  /** The source has no result any more. */
  end(source: number): void {
    if (this.#keys[source] === undefined) return;
    this.#keys[source] = undefined;
    this.rankable(source, 0);
    this.#wakeFirst();
  }

  isTurn(source: number): boolean {
    return this.isFirst(source) || this.#isFree(source);
  }

  /** Whether all others may have to wait for this one. */
  isFirst(source: number): boolean {
    return source === this.#first;
  }

  /** Whether it may pass on results that have no order, like the one whose turn it is. */
  #isFree(source: number): boolean {
    const own = this.#keys[source];
    if (own?.[0] !== sections.others || this.#othersInTurn || this.#first === undefined) return false;
    return compareKeys(own, this.#keys[this.#first] ?? own) === 0;
  }

  /** The source with the first place; among equals, the one that joined first. It is kept, since each source asks about each of its messages. */
  #findFirst(): number | undefined {
    let first: number | undefined;
    for (const [source, key] of this.#keys.entries()) {
      const least = first === undefined ? undefined : this.#keys[first];
      if (key !== undefined && (least === undefined || compareKeys(key, least) < 0)) first = source;
    }
    return first;
  }

  #wakeFirst(): void {
    this.#first = this.#findFirst();
    if (this.#first === undefined) return;
    this.wake(this.#first);
    for (const source of this.#keys.keys()) if (this.#isFree(source)) this.wake(source);
  }

  /** Records how many shards the source would rank. */
  rankable(source: number, shardCount: number): void {
    this.#rankable[source] ??= shardCount;
    // Another node goes on for one that has ranked before.
    if (this.#sum !== undefined) return this.#sources[source].share(this.#sum);
    let sum = 0;
    for (const count of this.#rankable) {
      if (count === undefined) return;
      sum += count;
    }
    this.#sum = sum;
    for (const wait of this.#waits) wait.cancel();
    for (const one of this.#sources) one.share(sum);
  }

  #giveUpRanking(): void {
    for (const [source, count] of this.#rankable.entries())
      if (count === undefined) this.#sources[source].giveUpRanking();
  }

  /** The source may have something to pass on: it is asked after whatever calls this. */
  wake(source: number): void {
    this.#awake.add(source);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      if (!this.#passOn()) workInSteps({ step: () => this.#passOn() });
    });
  }

  /** Returns true if nothing is left that may be passed on now. */
  #passOn(): boolean {
    const startMs = performance.now();
    let hasTime = true;
    let hasPassedOn = false;
    // Whoever is woken meanwhile is at the end of the set.
    for (const source of this.#awake) {
      this.#awake.delete(source);
      while (hasTime && this.#sources[source].passOn()) {
        hasPassedOn = true;
        hasTime = performance.now() - startMs < stepMs;
      }
      if (hasTime) continue;
      this.#awake.add(source);
      break;
    }
    if (hasPassedOn) this.#onPassedOn();
    this.#isScheduled = this.#awake.size > 0;
    return !this.#isScheduled;
  }
}
