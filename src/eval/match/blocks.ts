import { lowerBound } from "../../base/sorted-search.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { RevisionChoice, SearchOptions } from "../../protocol/search-options.js";
import type { ContentSet } from "./content-scan.js";
import type { ShardVisibility } from "./searched-revisions.js";
import type { RepositorySummary } from "../../protocol/repository-summaries.js";
import type { BasicQueryEvaluator } from "./basic-query-evaluator.js";
import type { Rows } from "./rows.js";

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

/** A basic query that a document satisfies, and the document's index in `evaluator.documents`. */
export interface Hit {
  readonly evaluator: BasicQueryEvaluator;
  readonly index: number;
}

/**
 * Calls `take` for each document that satisfies some basic query, ascending, with its hits, until `take` returns false.
 * The hits are valid until `take` returns.
 */
export function forEachFound(
  evaluators: readonly BasicQueryEvaluator[],
  take: (document: number, hits: readonly Hit[]) => boolean,
): void {
  if (evaluators.length !== 1) {
    const hitsByDocument = groupHits(evaluators);
    for (const document of [...hitsByDocument.keys()].sort((a, b) => a - b))
      if (!take(document, hitsByDocument.get(document) ?? [])) return;
    return;
  }
  const [evaluator] = evaluators;
  const { documents, satisfied } = evaluator;
  const hit = { evaluator, index: 0 };
  const hits = [hit];
  for (let i = 0; i < documents.length; i++) {
    if (satisfied[i] !== 1) continue;
    hit.index = i;
    if (!take(documents[i], hits)) return;
  }
}

function groupHits(evaluators: readonly BasicQueryEvaluator[]): Map<number, Hit[]> {
  const hitsByDocument = new Map<number, Hit[]>();
  for (const evaluator of evaluators) {
    evaluator.documents.forEach((document, index) => {
      if (evaluator.satisfied[index] !== 1) return;
      const hits = hitsByDocument.get(document);
      if (hits === undefined) hitsByDocument.set(document, [{ evaluator, index }]);
      else hits.push({ evaluator, index });
    });
  }
  return hitsByDocument;
}

/** The revisions at which some hit of a document is a result, without duplicates. */
export function mergeRevisions(hits: readonly Hit[]): readonly RevisionChoice[] {
  if (hits.length === 1) return hits[0].evaluator.revisions(hits[0].index);
  const revisions = new Map<string, RevisionChoice>();
  for (const { evaluator, index } of hits) {
    for (const revision of evaluator.revisions(index)) revisions.set(revision.typed, revision);
  }
  return [...revisions.values()];
}

/** Appends the ranges of all hits at this revision to `rows`, and sets `pathRows` to those in the path. */
export function addHitRows(hits: readonly Hit[], revision: RevisionChoice, rows: Rows, pathRows: Rows): void {
  const rowFrom = rows.count;
  pathRows.clear();
  let leafCount = 0;
  for (const { evaluator, index } of hits) {
    if (hits.length > 1 && !evaluator.revisions(index).some((choice) => choice.typed === revision.typed)) continue;
    leafCount += evaluator.addRows(index, rows);
    evaluator.addPathRows(index, pathRows);
  }
  if (leafCount > 1) rows.makeDisjoint(rowFrom);
  if (pathRows.count > 1) pathRows.makeDisjoint(0);
}

/** A document at one revision, of which a result is written. */
export interface ResultSource {
  readonly document: number;
  readonly content: number;
  readonly summary: RepositorySummary;
  readonly revision: RevisionChoice;
}
