import type { RankedPart } from "./messages.js";
import type { RankedDocument } from "./rank-messages.js";

/**
 * The order of ranked documents, which is total: score, then stars of the repository, the date of its indexed commit,
 * its name, the path. Documents with the same path, which are of different branches, are ordered by their place.
 */
export function compareRanked(a: RankedDocument, b: RankedDocument): number {
  return (
    b.score - a.score ||
    b.stars - a.stars ||
    b.committedSeconds - a.committedSeconds ||
    compareTexts(a.repository, b.repository) ||
    compareTexts(a.path, b.path) ||
    a.shard - b.shard ||
    a.document - b.document
  );
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether the results of a task are written in a given order; see `RankedPart.only`. */
export function isOrdered(ranked: RankedPart | undefined): boolean {
  return ranked?.only !== undefined;
}

/** Keeps the first `countMax` documents of those that it is offered. */
export class BestDocuments {
  readonly #countMax: number;
  #documents: RankedDocument[] = [];
  /** With so many, those that are too many are dropped. */
  #sortedAt: number;
  #worst: RankedDocument | undefined;

  constructor(countMax: number) {
    this.#countMax = countMax;
    this.#sortedAt = countMax;
  }

  /** In order. */
  get documents(): readonly RankedDocument[] {
    return this.#sorted().slice(0, this.#countMax);
  }

  /** False if no document with this score can be among the first. */
  wants(score: number): boolean {
    return this.#worst === undefined || score >= this.#worst.score;
  }

  offer(document: RankedDocument): void {
    if (this.#worst !== undefined && compareRanked(document, this.#worst) > 0) return;
    this.#documents.push(document);
    if (this.#documents.length < this.#sortedAt) return;
    // Until the next time, the score that is required is too low by a few documents.
    this.#sortedAt = this.#countMax + (this.#countMax >> 2);
    this.#documents = this.#sorted().slice(0, this.#countMax);
    this.#worst = this.#documents.at(-1);
  }

  #sorted(): RankedDocument[] {
    return this.#documents.sort(compareRanked);
  }
}
