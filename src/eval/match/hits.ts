import type { RepositorySummary } from "../../protocol/repository-summaries.js";
import type { RevisionChoice } from "../../protocol/search-options.js";
import type { BasicQueryEvaluator } from "./basic-query-evaluator.js";
import type { Rows } from "./rows.js";

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
