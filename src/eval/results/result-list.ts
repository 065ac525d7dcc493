import { assert } from "../../base/assert.js";
import type { SearchedRepository } from "../match/searched-revisions.js";
import { type Kernel, resultWordCount, resultWords } from "../../native/kernel/kernel.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { FragmentSpan, ResultTemplate, ResultTemplates } from "./result-templates.js";
import { countWords, type DocumentTable, repositoryWordCount } from "../../native/kernel/document-table.js";
import type { Tally } from "../../protocol/result-batch.js";
import type { Rows } from "../match/rows.js";

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

const noTombstones = new Uint32Array(0);

/**
 * Lists the results of a block of contents in two calls of the kernel, for queries that need no decision about a single
 * document: `choose` keeps the contents that are searched, and `list` adds all documents of those that have rows. Most
 * searches for a word are of that kind; JavaScript for each document took a third of their time.
 */
export class ListedResults {
  /** Documents of the results, in order, after `list`. */
  documents = new Uint32Array(64);
  /** The results' rows in total, and the largest number of rows of one, after `list`. */
  matchCount = 0;
  rowCountMax = 0;
  /** Results with highlights in their path, or without rows: none after `list`. */
  pathMatchCount = 0;
  readonly #kernel: Kernel;
  readonly #templates: ResultTemplates;
  readonly #results: ResultList;
  readonly #totals = new Uint32Array(3);
  #visible = new Uint32Array(64);
  #documentCount = 0;
  #table: DocumentTable | undefined;
  #found: readonly (ResultTemplate | undefined)[] = [];
  #counts = new Uint32Array(0);

  /** The templates are those of the reader that is passed to `choose`; `results` gets the results. */
  constructor(kernel: Kernel, templates: ResultTemplates, results: ResultList) {
    this.#kernel = kernel;
    this.#templates = templates;
    this.#results = results;
  }

  /** Number of visible documents of the chosen contents. */
  get documentCount(): number {
    return this.#documentCount;
  }

  /** Those of `contents` that have a visible document. Valid until the next call. */
  choose(
    contents: Uint32Array,
    reader: ShardReader,
    repositories: readonly (SearchedRepository | undefined)[],
    tombstones: Uint32Array | undefined,
  ): Uint32Array {
    if (this.#visible.length < contents.length) this.#visible = new Uint32Array(contents.length * 2);
    const table = this.#fillTable(reader, repositories, tombstones);
    this.#table = table;
    const count = this.#kernel.visibleContents(table, contents, contents.length, this.#visible, this.#totals);
    this.#documentCount = this.#totals[0];
    return this.#visible.subarray(0, count);
  }

  /** Drops the results that were listed. */
  discard(): void {
    this.#results.clear();
  }

  /** Adds the visible documents of `contents`, which `choose` returned, that have some of the rows. */
  list(contents: Uint32Array, rows: Rows): void {
    const table = this.#table as DocumentTable;
    if (this.documents.length < this.#documentCount) this.documents = new Uint32Array(this.#documentCount * 2);
    this.#results.clear();
    this.#results.reserve(this.documents.length);
    this.#kernel.listResults({
      table,
      contents,
      contentCount: contents.length,
      rows: rows.words,
      rowCount: rows.count,
      results: this.#results.words,
      documents: this.documents,
      counts: this.#counts,
      totals: this.#totals,
    });
    [this.#results.count, this.matchCount, this.rowCountMax] = this.#totals;
    this.pathMatchCount = 0;
  }

  /**
   * Counts documents that were found, which are searched at one revision each, and of which none can be shown: see
   * `countDocuments`. Returns how many matches they have; undefined if there are more than `countMax`. Valid until `addCounts`.
   */
  count(
    found: Uint32Array,
    leftOut: Uint32Array,
    countMax: number,
    reader: ShardReader,
    repositories: readonly (SearchedRepository | undefined)[],
  ): number | undefined {
    const table = this.#fillTable(reader, repositories, undefined);
    const request = { table, found, leftOut, countMax, counts: this.#counts, totals: this.#totals };
    const isCounted = this.#kernel.countDocuments(request);
    [, this.matchCount, this.pathMatchCount] = this.#totals;
    return isCounted ? this.#totals[0] : undefined;
  }

  /** The template of a listed document. */
  findTemplate(document: number): ResultTemplate {
    const template = this.#found[this.#table?.documentRepository[document] ?? -1];
    assert(template !== undefined, "a listed document is of a repository that is searched");
    return template;
  }

  /** Adds the numbers of matches by repository, language and kind of file to what is reported. */
  addCounts(tally: Tally): void {
    tally.contentMatches += this.matchCount;
    tally.pathMatches += this.pathMatchCount;
    const counts = this.#counts;
    this.#found.forEach((template, number) => {
      if (template !== undefined) template.matchCount += counts[number];
    });
    const kindsFrom = counts.length - tally.fileKinds.length;
    this.#templates.countLanguages(counts.subarray(this.#found.length, kindsFrom));
    for (let i = 0; i < tally.fileKinds.length; i++) tally.fileKinds[i] += counts[kindsFrom + i];
  }

  #fillTable(
    reader: ShardReader,
    repositories: readonly (SearchedRepository | undefined)[],
    tombstones: Uint32Array | undefined,
  ): DocumentTable {
    const words = new Uint32Array(repositories.length * repositoryWordCount);
    this.#found = repositories.map((repository, number) => {
      if (repository === undefined) return undefined;
      const template = this.#templates.find(repository.summary, repository.choice);
      words.set([1 << repository.choice.bit, template.from, template.to], number * repositoryWordCount);
      return template;
    });
    const table = {
      contentStart: reader.contentStart,
      contentFirstLine: reader.contentFirstLine,
      contentFirstDocument: reader.contentFirstDocument,
      pathStart: reader.pathStart,
      documentRepository: reader.documentRepository,
      documentBranches: reader.documentBranches,
      documentInfo: reader.documentInfo,
      tombstones: tombstones ?? noTombstones,
      repositories: words,
      tailStarts: this.#templates.endingStarts,
    };
    this.#counts = new Uint32Array(countWords(table));
    return table;
  }
}
