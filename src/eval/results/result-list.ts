import { resultWordCount, resultWords } from "../../native/kernel/kernel.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { FragmentSpan } from "./result-templates.js";

/** Where writing stopped because the client has not read: an index in the list of results. */
export interface WriterStop {
  readonly result: number;
  /** Rows of that result that are written. */
  readonly rowsDone: number;
}

/** The results that one call of the kernel writes, as the words of `resultWords`. */
export class ResultList {
  #words = new Uint32Array(64 * resultWordCount);
  /** By result: the end of its rows, if they are not written. */
  readonly #omittedRows = new Map<number, number>();
  #wordsInFull: Uint32Array | undefined;
  /** Of results. */
  count = 0;

  /** Words of the results; valid until the next `add`. */
  get words(): Uint32Array {
    return this.#words;
  }

  clear(): void {
    this.count = 0;
    this.#omittedRows.clear();
    this.#wordsInFull = undefined;
  }

  /** Makes room for this many results, without keeping those that are in the list. */
  reserve(count: number): void {
    const wordCount = count * resultWordCount;
    if (this.#words.length < wordCount) this.#words = new Uint32Array(wordCount);
  }

  /** Keeps the first results, with at most this many rows in total. */
  keepRows(rowCountMax: number): void {
    let left = rowCountMax;
    for (let result = 0; result < this.count; result++) {
      const { rowFrom, rowTo } = this.rowsOf(result);
      if (rowTo - rowFrom > left) this.#words[result * resultWordCount + resultWords.rowTo] = rowFrom + left;
      if (left === 0) this.count = result;
      left = Math.max(0, left - (rowTo - rowFrom));
    }
  }

  /** Adds the rows `[rowFrom, rowTo)` of a document. A content past the last one stands for a document without text. */
  add(
    reader: ShardReader,
    document: number,
    content: number,
    head: FragmentSpan,
    tail: FragmentSpan,
    rowFrom: number,
    rowTo: number,
  ): void {
    const at = this.#makeRoom();
    const words = this.#words;
    words[at + resultWords.pathFrom] = reader.pathStart[document];
    words[at + resultWords.pathTo] = reader.pathStart[document + 1] - 1;
    words[at + resultWords.headFrom] = head.from;
    words[at + resultWords.headTo] = head.to;
    words[at + resultWords.tailFrom] = tail.from;
    words[at + resultWords.tailTo] = tail.to;
    const hasContent = content < reader.contentCount;
    words[at + resultWords.contentFrom] = hasContent ? reader.contentStart[content] : 0;
    words[at + resultWords.contentTo] = hasContent ? reader.contentStart[content + 1] : 0;
    words[at + resultWords.linesBefore] = hasContent ? reader.contentFirstLine[content] : 0;
    words[at + resultWords.rowFrom] = rowFrom;
    words[at + resultWords.rowTo] = rowTo;
  }

  /** The rows of a result. */
  rowsOf(result: number): { readonly rowFrom: number; readonly rowTo: number } {
    const at = result * resultWordCount;
    return { rowFrom: this.#words[at + resultWords.rowFrom], rowTo: this.#words[at + resultWords.rowTo] };
  }

  /** How a result ends. */
  tailOf(result: number): FragmentSpan {
    const at = result * resultWordCount;
    return { from: this.#words[at + resultWords.tailFrom], to: this.#words[at + resultWords.tailTo] };
  }

  setTail(result: number, tail: FragmentSpan): void {
    const at = result * resultWordCount;
    this.#words[at + resultWords.tailFrom] = tail.from;
    this.#words[at + resultWords.tailTo] = tail.to;
  }

  /** The last result has rows up to this one, of which none is written, because another result has the same ones. */
  omitRows(rowTo: number): void {
    this.#omittedRows.set(this.count - 1, rowTo);
    this.#wordsInFull = undefined;
  }

  /** The words with all rows, also those that are not written. */
  get wordsInFull(): Uint32Array {
    if (this.#omittedRows.size === 0) return this.#words;
    this.#wordsInFull ??= this.#addOmittedRows();
    return this.#wordsInFull;
  }

  #addOmittedRows(): Uint32Array {
    const words = this.#words.slice(0, this.count * resultWordCount);
    for (const [result, rowTo] of this.#omittedRows) words[result * resultWordCount + resultWords.rowTo] = rowTo;
    return words;
  }

  /** Makes room for a result; returns the index of its first word. */
  #makeRoom(): number {
    const at = this.count++ * resultWordCount;
    if (at + resultWordCount > this.#words.length) {
      const grown = new Uint32Array(this.#words.length * 2);
      grown.set(this.#words);
      this.#words = grown;
    }
    return at;
  }
}
