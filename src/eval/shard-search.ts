import type { Kernel } from "../kernel/kernel.js";
import type { ShardReader } from "../shard/shard-reader.js";
import { Alternative, type ShardSight } from "./alternative.js";
import { unite, type ContentSet } from "./content-set.js";
import { languageTail, type LanguageTail, type ResultSource, type ResultWriter, type RowProgress } from "./result-writer.js";
import { Rows } from "./rows.js";
import { hasCredit } from "../task/credit.js";
import type { RevisionChoice, SearchOptions, SearchStats } from "../task/search-options.js";

/** A block ends at this many contents or this many bytes of text: the most work between two looks at the stop flag. */
const blockContentCountMax = 1024;
const blockBytesMax = 1024 * 1024;

/** The first block of a shard is small, so that a first result is found without a full block's work. */
const firstBlockBytesMax = 64 * 1024;

/** Where a search of one shard goes on: plain data that crosses threads. */
export interface ShardPosition {
  /** Contents before this one are done. */
  readonly content: number;
  /** Documents before this one are done; 0 when none of the content is. */
  readonly document: number;
  /** Revisions of that document that are done. */
  readonly revision: number;
  readonly rows: RowProgress | undefined;
}

export const shardStart: ShardPosition = { content: 0, document: 0, revision: 0, rows: undefined };

/**
 * Searches one shard: candidates from the index, then a block of contents at a time decided by the alternatives, then
 * each satisfying document written at each of its revisions.
 */
export class ShardSearch {
  readonly #reader: ShardReader;
  readonly #control: Int32Array;
  readonly #writer: ResultWriter;
  readonly #alternatives: Alternative[] = [];
  readonly #languages: readonly LanguageTail[];
  readonly #rows = new Rows(1024);
  readonly #pathRows = new Rows(16);
  readonly #checkContent: () => void;

  /** `checkContent` is called before the first content is read; it throws when the content is damaged. */
  constructor(reader: ShardReader, sight: ShardSight, options: SearchOptions, control: Int32Array, kernel: Kernel,
    writer: ResultWriter, checkContent: () => void) {
    this.#checkContent = checkContent;
    this.#reader = reader;
    this.#control = control;
    this.#writer = writer;
    this.#languages = reader.languages().map(languageTail);
    options.plan.alternatives.forEach((basic, i) => {
      if (basic.text === undefined) return;
      const alternative = new Alternative(basic.text, options.selections[i], reader, sight, kernel, options.useIndex);
      if (alternative.hasRepositories) this.#alternatives.push(alternative);
    });
  }

  /**
   * Goes on from `position` until the shard is done (undefined), or `pause` says so between blocks, or the credit is
   * used up: then it returns where to go on.
   */
  run(position: ShardPosition, stats: SearchStats, pause: () => boolean): ShardPosition | undefined {
    const candidates = this.#alternatives.map((alternative) => alternative.candidates()).reduce(unite, new Uint32Array(0));
    if (position === shardStart || position.content === 0) {
      stats.shardsSearched++;
      stats.candidateContents += candidates?.length ?? this.#reader.contentCount;
      if (candidates?.length === 0) stats.shardsRuledOut++;
    }
    const blocks = new Blocks(this.#reader, candidates, position.content);
    let from = position;
    let block = blocks.next(firstBlockBytesMax);
    if (block.length > 0) this.#checkContent();
    while (block.length > 0) {
      const stopped = this.#searchBlock(block, from, stats);
      if (stopped !== undefined) {
        this.#addStats(stats);
        return stopped;
      }
      const done = block[block.length - 1];
      block = blocks.next(blockBytesMax);
      from = shardStart;
      if (this.#writer.isStopped) break;
      if (block.length > 0 && pause()) {
        this.#addStats(stats);
        return { ...shardStart, content: done + 1 };
      }
    }
    this.#addStats(stats);
    return undefined;
  }

  #addStats(stats: SearchStats): void {
    for (const alternative of this.#alternatives) alternative.addStats(stats);
  }

  #searchBlock(block: Uint32Array, from: ShardPosition, stats: SearchStats): ShardPosition | undefined {
    for (const alternative of this.#alternatives) {
      alternative.decide(block);
      stats.documentsFiltered += alternative.documents.length;
    }
    for (const found of this.#foundDocuments()) {
      if (found.document < from.document) continue;
      const resumed = found.document === from.document ? from : shardStart;
      if (resumed === shardStart) stats.documentsMatched++;
      const stopped = this.#writeDocument(found, resumed);
      if (stopped !== undefined) return stopped;
      if (this.#writer.isStopped) return undefined;
    }
    return undefined;
  }

  /** Documents that some alternative is satisfied by, ascending, each with its places in those alternatives. */
  *#foundDocuments(): Generator<FoundDocument> {
    if (this.#alternatives.length === 1) {
      const [alternative] = this.#alternatives;
      const { documents, satisfied } = alternative;
      for (let i = 0; i < documents.length; i++) {
        if (satisfied[i] === 1) yield { document: documents[i], hits: [{ alternative, place: i }] };
      }
      return;
    }
    const hitsOf = new Map<number, Hit[]>();
    for (const alternative of this.#alternatives) {
      alternative.documents.forEach((document, place) => {
        if (alternative.satisfied[place] !== 1) return;
        const hits = hitsOf.get(document);
        if (hits === undefined) hitsOf.set(document, [{ alternative, place }]);
        else hits.push({ alternative, place });
      });
    }
    for (const document of [...hitsOf.keys()].sort((a, b) => a - b)) yield { document, hits: hitsOf.get(document) ?? [] };
  }

  #writeDocument(found: FoundDocument, from: ShardPosition): ShardPosition | undefined {
    const { document, hits } = found;
    const content = this.#reader.contentOf(document);
    const revisions = revisionsOf(hits);
    for (let r = from.revision; r < revisions.length; r++) {
      const revision = revisions[r];
      this.#gatherRows(hits, revision);
      const source: ResultSource = {
        reader: this.#reader, document, content, revision, card: hits[0].alternative.cardOf(document), languages: this.#languages,
      };
      const progress = r === from.revision ? from.rows : undefined;
      const stopped = this.#writer.write(source, this.#rows, this.#pathRows, progress);
      if (stopped !== undefined) return { content, document, revision: r, rows: stopped };
      if (this.#writer.isStopped) return undefined;
      const isLast = r + 1 === revisions.length;
      if (!hasCredit(this.#control)) {
        return isLast ? { content, document: document + 1, revision: 0, rows: undefined } : { content, document, revision: r + 1, rows: undefined };
      }
    }
    return undefined;
  }

  /** Unites the ranges of all alternatives that search this revision. */
  #gatherRows(hits: readonly Hit[], revision: RevisionChoice): void {
    this.#rows.clear();
    this.#pathRows.clear();
    let leafCount = 0;
    for (const { alternative, place } of hits) {
      if (hits.length > 1 && !alternative.revisionsOf(place).some((choice) => choice.typed === revision.typed)) continue;
      leafCount += alternative.addRows(place, this.#rows);
      alternative.addPathRows(place, this.#pathRows);
    }
    if (leafCount > 1) this.#rows.makeDisjoint(0);
    if (this.#pathRows.count > 1) this.#pathRows.makeDisjoint(0);
  }
}

interface Hit {
  readonly alternative: Alternative;
  /** Place in `alternative.documents`. */
  readonly place: number;
}

interface FoundDocument {
  readonly document: number;
  readonly hits: readonly Hit[];
}

function revisionsOf(hits: readonly Hit[]): readonly RevisionChoice[] {
  if (hits.length === 1) return hits[0].alternative.revisionsOf(hits[0].place);
  const revisions = new Map<string, RevisionChoice>();
  for (const { alternative, place } of hits) {
    for (const revision of alternative.revisionsOf(place)) revisions.set(revision.typed, revision);
  }
  return [...revisions.values()];
}

/** Cuts candidates into blocks. */
class Blocks {
  readonly #reader: ShardReader;
  readonly #candidates: ContentSet;
  /** Place in the candidates, or the content itself when all are candidates. */
  #at: number;

  constructor(reader: ShardReader, candidates: ContentSet, fromContent: number) {
    this.#reader = reader;
    this.#candidates = candidates;
    this.#at = candidates === undefined ? fromContent : lowerBound(candidates, fromContent);
  }

  /** The next contents, ascending: at least one, then up to the limits; none at the end. */
  next(bytesMax: number): Uint32Array {
    const { contentStart, contentCount } = this.#reader;
    const end = this.#candidates?.length ?? contentCount + 1;
    const block: number[] = [];
    let bytes = 0;
    while (this.#at < end && block.length < blockContentCountMax && bytes < bytesMax) {
      const content = this.#candidates?.[this.#at] ?? this.#at;
      this.#at++;
      block.push(content);
      if (content < contentCount) bytes += contentStart[content + 1] - contentStart[content];
    }
    return Uint32Array.from(block);
  }
}

function lowerBound(sorted: Uint32Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
