import type { Kernel } from "../../native/kernel/kernel.js";
import { emptyDigest, type ResultDigest } from "../../native/kernel/result-digest.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { Rows } from "../match/rows.js";
import type { ResultList } from "./result-list.js";
import type { ResultTemplates } from "./result-templates.js";

/** The digest of the results in a batch, which is sent with it. */
export class BatchDigest {
  readonly #kernel: Kernel;
  readonly #templates: ResultTemplates;
  readonly #results: ResultList;
  /** The results and rows to add: from a result and its row to another one. */
  readonly #range = new Uint32Array(4);
  #sum = emptyDigest();

  /** The templates must have keys for digests. */
  constructor(kernel: Kernel, templates: ResultTemplates, results: ResultList) {
    this.#kernel = kernel;
    this.#templates = templates;
    this.#results = results;
  }

  /** The list of results is written from its first one, of which `rowsDone` rows are written already. */
  start(rowsDone: number): void {
    this.#range[2] = 0;
    this.#range[3] = rowsDone;
  }

  /** Adds what was written since the last call, up to this row of this result. */
  addUpTo(result: number, row: number, { paths }: ShardReader, rows: Rows): void {
    const range = this.#range;
    range.copyWithin(0, 2);
    range[2] = result;
    range[3] = row;
    const { wordsInFull, count } = this.#results;
    this.#kernel.digestResults(paths, this.#templates.bytes, wordsInFull, count, rows.words, range, this.#sum);
  }

  /** Returns the digest, and begins that of the next batch. */
  take(): ResultDigest {
    const sum = this.#sum;
    this.#sum = emptyDigest();
    return sum;
  }
}
