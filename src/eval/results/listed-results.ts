import { countWords, repositoryWordCount, type DocumentTable } from "../../native/kernel/document-table.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { RepositorySummary } from "../../protocol/repository-summaries.js";
import type { RevisionChoice } from "../../protocol/search-options.js";
import type { Tally } from "../../protocol/tally.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { Rows } from "../match/rows.js";
import type { ResultList } from "./result-list.js";
import type { ResultTemplate, ResultTemplates } from "./result-templates.js";

/** The one revision at which the documents of a repository are searched. */
export interface SearchedRepository {
  readonly summary: RepositorySummary;
  readonly choice: RevisionChoice;
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
  }

  /** Adds the numbers of matches by repository, language and kind of file to what is reported. */
  addCounts(tally: Tally): void {
    tally.contentMatches += this.matchCount;
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
