import { assert } from "../../base/assert.js";
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
  /** Something has changed: its next results may be passed on. */
  proceed(): void;
  /** Tells how many shards of all sources share the budget of ranking. */
  share(shardCount: number): void;
}

/**
 * Whose turn it is, of the sources of one search. Each says which place its next result has, or that it has no result before
 * a place; the one with the first place may pass on its results. So a source that is silent holds up the others, until it
 * has said where it is, or is left out.
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
  /** Of all, once they have said it. */
  #sum: number | undefined;
  #isWaking = false;
  #mustWakeAgain = false;
  /** The source whose turn it is; undefined if it has to be found, because a place has changed. */
  #first: number | undefined;

  /** `othersInTurn` tells that also results without an order are passed on source by source, because they share a limit. */
  constructor(first: OrderKey, othersInTurn: boolean) {
    this.first = first;
    this.#othersInTurn = othersInTurn;
  }

  /** Returns the number of the source. To be called for all sources before any of them runs. */
  join(source: OrderedSource): number {
    this.#keys.push(this.first);
    this.#first = undefined;
    this.#rankable.push(undefined);
    return this.#sources.push(source) - 1;
  }

  /** The source has no result before this place. */
  reach(source: number, key: OrderKey): void {
    if (this.#keys[source] === undefined || compareKeys(this.#keys[source], key) === 0) return;
    this.#keys[source] = key;
    this.#first = undefined;
    this.#wake();
  }

  /** The source has no result any more. */
  end(source: number): void {
    if (this.#keys[source] === undefined) return;
    this.#keys[source] = undefined;
    this.#first = undefined;
    this.rankable(source, 0);
    this.#wake();
  }

  isTurn(source: number): boolean {
    const own = this.#keys[source];
    if (own === undefined) return false;
    const first = (this.#first ??= this.#findFirst());
    if (source === first) return true;
    const isFree = own[0] === sections.others && !this.#othersInTurn;
    return isFree && compareKeys(own, this.#keys[first] ?? own) === 0;
  }

  /** The source with the first place; among equals, the one that joined first. It is kept, since each source asks about each of its messages. */
  #findFirst(): number {
    let first = -1;
    for (const [source, key] of this.#keys.entries()) {
      const least = this.#keys[first];
      if (key !== undefined && (least === undefined || compareKeys(key, least) < 0)) first = source;
    }
    assert(first >= 0, "a source has not ended");
    return first;
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
    for (const one of this.#sources) one.share(sum);
  }

  #wake(): void {
    if (this.#isWaking) {
      this.#mustWakeAgain = true;
      return;
    }
    this.#isWaking = true;
    do {
      this.#mustWakeAgain = false;
      for (const source of this.#sources) source.proceed();
    } while (this.#mustWakeAgain);
    this.#isWaking = false;
  }
}
