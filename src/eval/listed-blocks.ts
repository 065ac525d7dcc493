import type { SearchOptions, SearchStats } from "../protocol/search-options.js";
import type { StopCheck } from "../protocol/stop-check.js";
import { intersect } from "./match/content-set.js";
import type { ShardReader } from "../shard/shard-reader.js";
import type { BasicQueryEvaluator, Listing } from "./basic-query-evaluator.js";
import type { WriterStop } from "./results/result-list.js";
import type { ResultWriter } from "./results/result-writer.js";
import type { WantedDocuments } from "./wanted-documents.js";

/** With fewer matches left to the limit, each document is counted, so that exactly as many are found as are wanted. */
const matchesLeftMin = 64 * 1024;

/** A block whose results were listed and written. */
export interface ListedBlock {
  /** Undefined if all results are written. */
  readonly stop: WriterStop | undefined;
  /** The documents that were counted, ascending. */
  readonly documents: Uint32Array;
  /** How many of them are results to write, and the rows of the last of these. */
  readonly shownCount: number;
  readonly shownRows: number;
}

/** What the search of a shard lists, and where it writes. */
export interface ListedShard {
  readonly reader: ShardReader;
  readonly writer: ResultWriter;
  readonly options: SearchOptions;
  readonly tombstones: Uint32Array | undefined;
  readonly documents: WantedDocuments;
  /** Documents with more rows are decided one by one. */
  readonly rowCountMax: number;
}

/** The blocks of one shard whose results can be listed without a look at single documents. */
export class ListedBlocks {
  readonly #shard: ListedShard;
  readonly #listing: Listing;
  readonly #stop: StopCheck;

  /** Undefined if the query needs decisions about single documents. */
  static of(evaluators: readonly BasicQueryEvaluator[], shard: ListedShard, stop: StopCheck): ListedBlocks | undefined {
    const listing = evaluators.length === 1 && isWhole(shard) ? evaluators[0].listing() : undefined;
    return listing && new ListedBlocks(shard, listing, stop);
  }

  private constructor(shard: ListedShard, listing: Listing, stop: StopCheck) {
    this.#shard = shard;
    this.#listing = listing;
    this.#stop = stop;
  }

  /** Undefined if something in the block needs a decision about a single document: nothing has been counted then. */
  search(block: Uint32Array, stats: SearchStats): ListedBlock | undefined {
    this.#stop.check();
    const { reader, writer, tombstones, rowCountMax } = this.#shard;
    const { listed, limits } = writer;
    if (limits.left < matchesLeftMin) return undefined;
    const { scan, pathContents, repositories } = this.#listing;
    if (intersect(block, pathContents)?.length !== 0) return undefined;
    const contents = listed.choose(block, reader, repositories, tombstones);
    scan.find(contents);
    if (scan.tooCostly.size === 0) listed.list(contents, scan.rows);
    if (scan.tooCostly.size > 0 || listed.rowCountMax > rowCountMax || !limits.countAll(listed.matchCount)) {
      listed.discard();
      scan.rewind();
      return undefined;
    }
    stats.documentsFiltered += listed.documentCount;
    const { count, shownCount, shownRows } = writer.addListed();
    stats.documentsMatched += count;
    // Counted results are written even if the limit is reached meanwhile.
    this.#stop.finishesCounted = true;
    const stop = writer.write(scan.rows, 0, scan.labels === undefined ? [] : [scan.labels]);
    return { stop, documents: listed.documents.subarray(0, count), shownCount, shownRows };
  }
}

/** Whether all documents are results, with all of their matches. */
function isWhole({ options: { plan, resultLimits, claims }, documents }: ListedShard): boolean {
  const { select } = plan.resultOptions[0];
  const hasAll = documents.only === undefined && (documents.except?.size ?? 0) === 0;
  return hasAll && resultLimits === undefined && claims === undefined && (select === undefined || select === "content");
}
