import type { RankedPart } from "./messages.js";
import type { RankedDocument } from "./rank-messages.js";

/**
 * The order of ranked documents, which is total: score, then stars of the repository, the date of its indexed commit,
 * its name, the path. Documents with the same path, which are of different branches, are ordered by their place.
 */
function compareRanked(a: RankedDocument, b: RankedDocument): number {
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

/**
 * Keeps the first documents of those that it is offered: `countMax`, or fewer if these have `matchCountMax` matches, the
 * limit of the search, because then no other document is sent.
 */
export class BestDocuments {
  readonly #countMax: number;
  readonly #matchCountMax: number;
  readonly #documents: RankedDocument[] = [];
  /** The matches of all documents. */
  #matchCount = 0;
  /** With so many documents, those that are too many are dropped. */
  #sortedAt: number;
  #worst: RankedDocument | undefined;

  constructor(countMax: number, matchCountMax: number) {
    this.#countMax = countMax;
    this.#matchCountMax = matchCountMax;
    this.#sortedAt = countMax;
  }

  /** In order. */
  get documents(): readonly RankedDocument[] {
    this.#dropOthers();
    return this.#documents;
  }

  /** False if no document with this score can be among the first. */
  wants(score: number): boolean {
    return this.#worst === undefined || score >= this.#worst.score;
  }

  offer(document: RankedDocument): void {
    if (this.#worst !== undefined && compareRanked(document, this.#worst) > 0) return;
    this.#documents.push(document);
    this.#matchCount += document.matchCount;
    const isFull = this.#worst === undefined && this.#matchCount >= this.#matchCountMax;
    if (!isFull && this.#documents.length < this.#sortedAt) return;
    this.#dropOthers();
    // Until the next time, the score that is required is too low by a few documents.
    this.#sortedAt = this.#documents.length + Math.max(1, this.#documents.length >> 2);
    this.#worst = this.#documents.at(-1);
  }

  #dropOthers(): void {
    const documents = this.#documents.sort(compareRanked);
    let count = 0;
    this.#matchCount = 0;
    while (count < Math.min(documents.length, this.#countMax) && this.#matchCount < this.#matchCountMax)
      this.#matchCount += documents[count++].matchCount;
    documents.length = count;
  }
}
