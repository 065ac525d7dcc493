import { lowerBound } from "../../base/sorted-search.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import type { ContentSet } from "./content-scan.js";
import type { ShardVisibility } from "./searched-revisions.js";

/** A block ends at this many contents. */
const contentCountMax = 1024;

/**
 * With many revisions a content has many results, and a block has fewer contents, because a slice that resumes in a
 * block visits all of its results again. A million results at 200 revisions of Linux took 5.7 s with full blocks.
 */
const contentCountMin = 8;

/** The most contents of a block of this search; the same whenever a slice resumes in the shard. */
export function blockContentCountMax(options: SearchOptions, { sets }: ShardVisibility): number {
  if (sets === undefined) return contentCountMax;
  const counts = options.selections.flatMap(({ revisions }) =>
    [...(revisions?.values() ?? [])].map(({ length }) => length),
  );
  return Math.max(contentCountMin, Math.floor(contentCountMax / Math.max(1, ...counts)));
}

/**
 * A block ends at this many bytes of text: the most work between two checks of whether others wait. When a query has only
 * literals, a small part of the text is read, and more than ten times faster than by RE2. With a set of literals a block of
 * 4 MiB takes three milliseconds; blocks of 1 MiB took 6 % more processor time.
 */
export function blockBytesMax(
  evaluators: readonly { readonly isCheap: boolean; readonly hasFewLabels: boolean }[],
): number {
  if (evaluators.every(({ isCheap }) => isCheap)) return 8 * 1024 * 1024;
  return (evaluators.every(({ hasFewLabels }) => hasFewLabels) ? 4 : 1) * 1024 * 1024;
}

/** Divides the candidates of a shard into blocks: contents that are evaluated together. */
export class Blocks {
  readonly #reader: ShardReader;
  readonly #candidates: ContentSet;
  /** Index in the candidates, or the content itself when all contents are candidates. */
  #at: number;
  readonly #contentCountMax: number;

  constructor(reader: ShardReader, candidates: ContentSet, fromContent: number, contentCountMax: number) {
    this.#reader = reader;
    this.#contentCountMax = contentCountMax;
    this.#candidates = candidates;
    this.#at = candidates === undefined ? fromContent : lowerBound(candidates, fromContent);
  }

  /** Returns the next contents, ascending: at least one, then up to the limits; empty at the end. */
  next(bytesMax: number): Uint32Array {
    const { contentStart, contentCount } = this.#reader;
    const end = this.#candidates?.length ?? contentCount + 1;
    const first = this.#at;
    let bytes = 0;
    while (this.#at < end && this.#at - first < this.#contentCountMax && bytes < bytesMax) {
      const content = this.#candidates?.[this.#at] ?? this.#at;
      this.#at++;
      if (content < contentCount) bytes += contentStart[content + 1] - contentStart[content];
    }
    if (this.#candidates !== undefined) return this.#candidates.subarray(first, this.#at);
    return Uint32Array.from({ length: this.#at - first }, (_, i) => first + i);
  }
}
