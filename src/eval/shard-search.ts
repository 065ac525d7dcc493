import type { Kernel } from "../native/kernel/kernel.js";
import type { ShardReader } from "../shard/shard-reader.js";
import { BasicQueryEvaluator, type ShardVisibility } from "./basic-query-evaluator.js";
import { unite, type ContentSet } from "./match/content-set.js";
import { isBefore, type ResultPosition } from "../protocol/result-position.js";
import { hasFullLine, lineMatchCountMax } from "./match/match-density.js";
import { People } from "./people/people.js";
import type { ResultSource, ResultWriter, WriterStop } from "./results/result-writer.js";
import { ResultCollector, type Hit } from "./results/result-collector.js";
import { Rows } from "./match/rows.js";
import type { RevisionChoice, SearchOptions, SearchStats } from "../protocol/search-options.js";
import { StopCheck } from "../protocol/stop-check.js";
import type { CountedResults, ShardPosition } from "../protocol/shard-position.js";
import { lowerBound } from "../base/sorted-search.js";

/**
 * A block ends at this many contents or this many bytes of text: the most work between two looks at the stop flag. With
 * only literals to look for, a small part of the text is read, and at more than ten times RE2's speed.
 */
const blockContentCountMax = 1024;

/**
 * With many revisions a content has many results, and a block fewer contents: a slice that comes back to a block goes
 * over all of its results again. A million results at 200 revisions of Linux took 5.7 s with full blocks.
 */
const blockContentCountMin = 8;
const blockBytesMax = { cheap: 8 * 1024 * 1024, dear: 1024 * 1024 } as const;

/**
 * The first block of a shard is small until something is found, so that a first result comes without a full block's
 * work.
 */
const firstBlockBytesMax = 64 * 1024;

/** Takes a document that is left out of the results: it takes too much work, or has too many matches on a line. */
export type ExcludedReceiver = (document: number, repository: string, reason: "work" | "full-line") => void;

const firstPosition: ResultPosition = { document: 0, revision: 0 };

export const shardStart: ShardPosition = { content: 0, result: firstPosition, rowsDone: 0, counted: undefined };

/**
 * Searches one shard: candidates from the index, then a block of contents at a time decided by the basic queries, then
 * each satisfying document written at each of its revisions.
 */
export class ShardSearch {
  readonly #reader: ShardReader;
  readonly #writer: ResultWriter;
  readonly #evaluators: BasicQueryEvaluator[] = [];
  /** Undefined where one set of rules holds for all results. */
  readonly #ruleGather: ResultCollector | undefined;
  /** Of all results of the block that are not written yet. */
  readonly #rows = new Rows(0);
  readonly #pathRows = new Rows(0);
  /** The results that the writer was given, in its order: pairs of document and revision. */
  readonly #added: number[] = [];
  /** Rows to be written of the last of them. */
  #shownRows = 0;
  /** The last result that was counted, also when it was one too many. */
  readonly #lastCounted = { document: -1, revision: 0 };
  readonly #checkContent: () => void;
  readonly #onLeftOut: ExcludedReceiver;
  readonly #lineMatchCountMax: number;
  readonly #stop: StopCheck;
  /** The same whenever a slice comes back to this shard. */
  readonly #blockContentCountMax: number;

  /**
   * `checkContent` is called before the first content is read; it throws when the content is damaged. `onLeftOut` is
   * told of documents that are not searched as that takes too much work; of the same ones again when a slice comes back
   * to their block.
   */
  constructor(
    reader: ShardReader,
    visibility: ShardVisibility,
    options: SearchOptions,
    kernel: Kernel,
    writer: ResultWriter,
    checkContent: () => void,
    onLeftOut: ExcludedReceiver,
  ) {
    this.#onLeftOut = onLeftOut;
    this.#lineMatchCountMax = lineMatchCountMax(options.chunkMatches);
    this.#stop = new StopCheck(writer.control);
    this.#checkContent = checkContent;
    this.#reader = reader;
    this.#writer = writer;
    const people = options.people === undefined ? undefined : new People(options.people, options.plan);
    const rulesOf = new Map<BasicQueryEvaluator, number>();
    options.plan.basicQueries.forEach((basic, i) => {
      if (basic.text === undefined) return;
      const evaluator = new BasicQueryEvaluator(
        basic.text,
        options.selections[i],
        reader,
        visibility,
        kernel,
        options.useIndex,
        people,
        this.#stop,
      );
      if (evaluator.hasRepositories) this.#evaluators.push(evaluator);
      rulesOf.set(evaluator, basic.rules);
    });
    const { ruleLimits } = options;
    const revisionCount =
      visibility.sets === undefined
        ? 1
        : Math.max(
            1,
            ...options.selections.flatMap(({ revisions }) =>
              [...(revisions?.values() ?? [])].map(({ length }) => length),
            ),
          );
    this.#blockContentCountMax = Math.max(blockContentCountMin, Math.floor(blockContentCountMax / revisionCount));
    this.#ruleGather =
      ruleLimits === undefined ? undefined : new ResultCollector(options.plan, ruleLimits, writer.control, rulesOf);
  }

  /**
   * Goes on from `position` until the shard is done (undefined), or `pause` says so between blocks, or the credit is
   * used up: then it returns where to go on. Throws `cancelled` when the search is stopped within a block.
   */
  run(position: ShardPosition, stats: SearchStats, pause: () => boolean): ShardPosition | undefined {
    try {
      return this.#searchBlocks(position, stats, pause);
    } finally {
      for (const evaluator of this.#evaluators) evaluator.addStats(stats);
    }
  }

  #searchBlocks(position: ShardPosition, stats: SearchStats, pause: () => boolean): ShardPosition | undefined {
    this.#stop.finishesCounted = position.counted !== undefined;
    const candidates = this.#evaluators.map((evaluator) => evaluator.candidates()).reduce(unite, new Uint32Array(0));
    if (position.content === 0 && position.counted === undefined) {
      stats.shardsSearched++;
      stats.candidateContents += candidates?.length ?? this.#reader.contentCount;
      if (candidates?.length === 0) stats.shardsRuledOut++;
    }
    const blocks = new Blocks(this.#reader, candidates, position.content, this.#blockContentCountMax);
    const bytesMax = blockBytesMax[this.#evaluators.every((evaluator) => evaluator.isCheap) ? "cheap" : "dear"];
    let from = position;
    // A block that goes on holds all that is counted, because it may be as large as the one that was left.
    let block = blocks.next(position.counted === undefined && !this.#writer.hasMatches ? firstBlockBytesMax : bytesMax);
    if (block.length > 0) {
      this.#checkContent();
      this.#writer.open(this.#reader);
    }
    while (block.length > 0) {
      const stopped = this.#searchBlock(block, from, stats);
      if (stopped !== undefined) return stopped;
      const done = block[block.length - 1];
      block = blocks.next(bytesMax);
      from = shardStart;
      if (this.#writer.isStopped) break;
      if (block.length > 0 && pause()) return { ...shardStart, content: done + 1 };
    }
    return undefined;
  }

  #searchBlock(block: Uint32Array, from: ShardPosition, stats: SearchStats): ShardPosition | undefined {
    this.#stop.finishesCounted = from.counted !== undefined;
    this.#ruleGather?.startBlock(from.counted?.cuts);
    for (const evaluator of this.#evaluators) {
      if (from.counted === undefined && this.#ruleGather?.isOver(evaluator) === true) evaluator.skip();
      else this.#decide(evaluator, block, stats);
      stats.documentsFiltered += evaluator.documents.length;
    }
    // From here on results are counted, and those are written whatever the limit says.
    this.#stop.finishesCounted = true;
    this.#rows.clear();
    this.#added.length = 0;
    this.#shownRows = from.counted?.shownRows ?? 0;
    this.#lastCounted.document = -1;
    this.#forFoundDocuments((document, hits) => {
      this.#stop.check();
      if (document < from.result.document) return true;
      if (!isCounted(from.counted, document, 0)) {
        if (this.#writer.isStopped) return false;
        stats.documentsMatched++;
      }
      this.#addDocument(document, hits, document === from.result.document ? from.result.revision : 0, from.counted);
      return true;
    });
    const stop = this.#writer.write(this.#rows, from.rowsDone);
    return stop === undefined ? undefined : this.#positionAt(stop, from);
  }

  #decide(evaluator: BasicQueryEvaluator, block: Uint32Array, stats: SearchStats): void {
    evaluator.decide(block);
    stats.documentsTooCostly += evaluator.tooCostly.length;
    for (const document of evaluator.tooCostly)
      this.#onLeftOut(document, evaluator.repositorySummary(document).name, "work");
  }

  /**
   * Calls `take` for each document that some basic query is satisfied by, ascending, with its positions in those
   * basic queries.
   */
  #forFoundDocuments(take: (document: number, hits: readonly Hit[]) => boolean): void {
    if (this.#evaluators.length === 1) {
      const [evaluator] = this.#evaluators;
      const { documents, satisfied } = evaluator;
      const hit = { evaluator, position: 0 };
      const hits = [hit];
      for (let i = 0; i < documents.length; i++) {
        if (satisfied[i] !== 1) continue;
        hit.position = i;
        if (!take(documents[i], hits)) return;
      }
      return;
    }
    const hitsOf = this.#hitsOfAlternatives();
    for (const document of [...hitsOf.keys()].sort((a, b) => a - b))
      if (!take(document, hitsOf.get(document) ?? [])) return;
  }

  #hitsOfAlternatives(): Map<number, Hit[]> {
    const hitsOf = new Map<number, Hit[]>();
    for (const evaluator of this.#evaluators) {
      evaluator.documents.forEach((document, position) => {
        if (evaluator.satisfied[position] !== 1) return;
        const hits = hitsOf.get(document);
        if (hits === undefined) hitsOf.set(document, [{ evaluator, position }]);
        else hits.push({ evaluator, position });
      });
    }
    return hitsOf;
  }

  /**
   * Gives the writer a document at each of its revisions from `firstRevision` on; what is counted is not counted again.
   */
  #addDocument(
    document: number,
    hits: readonly Hit[],
    firstRevision: number,
    counted: CountedResults | undefined,
  ): void {
    const content = this.#reader.contentId(document);
    const card = hits[0].evaluator.repositorySummary(document);
    const revisions = mergeRevisions(hits);
    for (let r = firstRevision; r < revisions.length; r++) {
      const isKnown = isCounted(counted, document, r);
      if (isKnown && isBefore(counted.shown, document, r)) continue;
      const rowFrom = this.#rows.count;
      const source: ResultSource = { document, content, card, revision: revisions[r] };
      if (!this.#gather(hits, source, r, isKnown)) continue;
      if (hasFullLine(this.#reader.content, this.#rows.words, rowFrom, this.#rows.count, this.#lineMatchCountMax)) {
        this.#rows.count = rowFrom;
        this.#onLeftOut(document, card.name, "full-line");
        continue;
      }
      if (isKnown) {
        const isLast = counted.shown.document === document && counted.shown.revision === r;
        const rowCountMax = isLast ? counted.shownRows : Number.POSITIVE_INFINITY;
        this.#writer.addCounted(source, rowFrom, this.#rows.count, this.#pathRows, rowCountMax);
        this.#added.push(document, r);
      } else {
        this.#addNew(source, r, rowFrom);
      }
    }
  }

  #addNew(source: ResultSource, revision: number, rowFrom: number): void {
    const shownRows = this.#writer.add(source, rowFrom, this.#rows.count, this.#pathRows);
    this.#lastCounted.document = source.document;
    this.#lastCounted.revision = revision;
    if (shownRows === undefined) {
      this.#rows.count = rowFrom;
      return;
    }
    this.#added.push(source.document, revision);
    this.#shownRows = shownRows;
  }

  /** Where a later slice goes on: all results of the block were added, and are written up to `stop`. */
  #positionAt(stop: WriterStop, from: ShardPosition): ShardPosition {
    const placeAt = (i: number): ResultPosition => ({ document: this.#added[2 * i], revision: this.#added[2 * i + 1] });
    const result = placeAt(stop.result);
    const shown = placeAt(this.#added.length / 2 - 1);
    const last = isCounted(from.counted, this.#lastCounted.document, this.#lastCounted.revision)
      ? from.counted.last
      : { ...this.#lastCounted };
    const counted = { last, shown, shownRows: this.#shownRows, cuts: this.#ruleGather?.cuts ?? [] };
    return { content: this.#reader.contentId(result.document), result, rowsDone: stop.rowsDone, counted };
  }

  /** Appends the ranges of a result. False when the rules of no basic query leave anything of it. */
  #gather(hits: readonly Hit[], source: ResultSource, revision: number, isKnown: boolean): boolean {
    if (this.#ruleGather === undefined) {
      this.#gatherRows(hits, source.revision);
      return true;
    }
    const at = { document: source.document, revision };
    return this.#ruleGather.gather(hits, source.revision, at, isKnown, this.#rows, this.#pathRows, (select, rules) =>
      this.#writer.select(source, select, rules),
    );
  }

  /** Appends the ranges of all basic queries that search this revision. */
  #gatherRows(hits: readonly Hit[], revision: RevisionChoice): void {
    const rowFrom = this.#rows.count;
    this.#pathRows.clear();
    let leafCount = 0;
    for (const { evaluator, position } of hits) {
      if (hits.length > 1 && !evaluator.revisions(position).some((choice) => choice.typed === revision.typed)) continue;
      leafCount += evaluator.addRows(position, this.#rows);
      evaluator.addPathRows(position, this.#pathRows);
    }
    if (leafCount > 1) this.#rows.makeDisjoint(rowFrom);
    if (this.#pathRows.count > 1) this.#pathRows.makeDisjoint(0);
  }
}

function isCounted(counted: CountedResults | undefined, document: number, revision: number): counted is CountedResults {
  return counted !== undefined && !isBefore(counted.last, document, revision);
}

function mergeRevisions(hits: readonly Hit[]): readonly RevisionChoice[] {
  if (hits.length === 1) return hits[0].evaluator.revisions(hits[0].position);
  const revisions = new Map<string, RevisionChoice>();
  for (const { evaluator, position } of hits) {
    for (const revision of evaluator.revisions(position)) revisions.set(revision.typed, revision);
  }
  return [...revisions.values()];
}

/** Cuts candidates into blocks. */
export class Blocks {
  readonly #reader: ShardReader;
  readonly #candidates: ContentSet;
  /** Place in the candidates, or the content itself when all are candidates. */
  #at: number;
  readonly #contentCountMax: number;

  constructor(reader: ShardReader, candidates: ContentSet, fromContent: number, contentCountMax: number) {
    this.#reader = reader;
    this.#contentCountMax = contentCountMax;
    this.#candidates = candidates;
    this.#at = candidates === undefined ? fromContent : lowerBound(candidates, fromContent);
  }

  /** The next contents, ascending: at least one, then up to the limits; none at the end. */
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
