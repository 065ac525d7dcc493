import type { Kernel } from "../../native/kernel/kernel.js";
import type { RepositorySummary } from "../../protocol/repository-summaries.js";
import type { RepositorySelection, RevisionChoice, SearchStats } from "../../protocol/search-options.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { PeopleFilter, TextPlan } from "../../query/plan/plan.js";
import type { SearchedRepository } from "./searched-revisions.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { commitOfChoice, SearchedRevisions, type ShardVisibility } from "./searched-revisions.js";
import { BoundPattern } from "./bound-pattern.js";
import type { ContentScan, ContentSet } from "./content-scan.js";
import { type Labels, Rows } from "./rows.js";
import { FileFilters } from "./file-filters.js";
import type { People } from "../people/people.js";
import type { SymbolKernel } from "../../native/kernel/symbol-kernel.js";

/** What finds the results of a basic query if no decision about a single document is needed. */
export interface Listing {
  /** The results are the documents whose contents have rows, */
  readonly scan: ContentScan;
  /** except for those of these contents, which are decided one by one. Ascending. */
  readonly pathContents: Uint32Array;
  /** By repository number, undefined if it is not searched. */
  readonly repositories: readonly (SearchedRepository | undefined)[];
}

/**
 * One basic query bound to one shard: it names candidates, and decides a block of contents at a time.
 *
 * A document is decided by the cheapest conditions first: whether a revision of it is searched, its path filters, the
 * pattern, and last the filters on people.
 *
 * Contract: `decide` is called with ascending contents. Its results (`documents`, `satisfied`, `tooCostly`,
 * `revisions`, `addRows`, `addPathRows`) are valid until the next call.
 */
export class BasicQueryEvaluator {
  /** Documents of the block that pass all path filters, ascending. */
  readonly documents: number[] = [];
  /** 1 where `documents[i]` satisfies the pattern and the filters on people. */
  satisfied: Uint8Array = new Uint8Array(0);
  /** Those of `documents` whose content takes too much work to search for the pattern: they are not satisfied. */
  readonly tooCostly: number[] = [];
  readonly #text: TextPlan;
  readonly #stop: StopCheck;
  readonly reader: ShardReader;
  readonly #kernel: Kernel;
  readonly #revisions: SearchedRevisions;
  readonly #filters: FileFilters;
  readonly #pattern: BoundPattern | undefined;
  /** Undefined when the query has no filters on people, or people are not looked up yet: every document passes. */
  readonly #people: People | undefined;
  readonly #peopleFilters: readonly PeopleFilter[];
  /** By index in `documents`: the revisions at which the filters on people hold. Empty without such filters. */
  #heldRevisions: (readonly RevisionChoice[])[] = [];
  readonly #symbolKind: string | undefined;
  /** False when no path has anything to highlight. */
  readonly #hasPathRows: boolean;
  /** For each of `documents`, the index of its content in the block. */
  readonly #contentIndexes: number[] = [];

  constructor(
    text: TextPlan,
    selection: RepositorySelection,
    reader: ShardReader,
    visibility: ShardVisibility,
    kernel: Kernel,
    useIndex: boolean,
    people: People | undefined,
    stop: StopCheck,
  ) {
    this.#text = text;
    this.#stop = stop;
    this.reader = reader;
    this.#kernel = kernel;
    this.#people = people;
    this.#peopleFilters = text.people;
    this.#revisions = new SearchedRevisions(reader, visibility, selection);
    this.#filters = new FileFilters(text.fileFilters, reader, kernel, stop);
    this.#pattern =
      text.pattern === undefined
        ? undefined
        : new BoundPattern(text.pattern, text.leaves, reader, kernel, useIndex, stop);
    this.#symbolKind = text.symbols?.kind;
    this.#hasPathRows = text.path || this.#filters.hasHighlights;
  }

  /** True when deciding reads little more than the rows it finds: RE2 is not needed. */
  get isCheap(): boolean {
    return this.#pattern === undefined || this.#pattern.isCheap;
  }

  /** True when all leaves are sets of long literals. */
  get hasFewLabels(): boolean {
    return this.#pattern?.hasFewLabels === true;
  }

  /** True when this basic query searches some repository of the shard. */
  get hasRepositories(): boolean {
    return this.#revisions.hasRepositories;
  }

  /**
   * Stops searching the branches of `branchMask` of the repository with this number in the shard. Returns false when no
   * branch is left.
   */
  excludeBranches(number: number, branchMask: number): boolean {
    return this.#revisions.excludeBranches(number, branchMask);
  }

  /** Undefined unless visible documents are results at one revision, with all rows of their contents. */
  listing(): Listing | undefined {
    if (!this.#filters.isEmpty || this.#peopleFilters.length > 0 || this.reader instanceof SymbolView) return undefined;
    if (this.#pattern?.onlyScan === undefined) return undefined;
    const repositories = this.#revisions.singleRevisions();
    return repositories && { scan: this.#pattern.onlyScan, pathContents: this.contentsWithPathMatch(), repositories };
  }

  /** Contents that can hold a satisfying document; sound because the pattern's candidates are. */
  candidates(): ContentSet {
    const candidates = this.#pattern?.candidates();
    if (candidates === undefined && !this.#filters.isEmpty) this.#filters.decideAll();
    return candidates;
  }

  /** Contents of documents whose path a pattern matches, ascending. */
  contentsWithPathMatch(): Uint32Array {
    return this.#pattern?.contentsWithPathMatch() ?? new Uint32Array(0);
  }

  /** Those of the contents that have a document which is searched and passes the filters on paths, ascending. */
  keepSearched(contents: ContentSet): Uint32Array {
    const { contentCount, contentFirstDocument } = this.reader;
    const all = contents ?? Uint32Array.from({ length: contentCount + 1 }, (_, i) => i);
    if (this.#filters.isEmpty && this.#revisions.seesAll) return all;
    if (!this.#filters.isEmpty) this.#filters.decideAll();
    return all.filter((content) => {
      this.#stop.check();
      const end = contentFirstDocument[content + 1];
      for (let document = contentFirstDocument[content]; document < end; document++)
        if (this.#revisions.isVisible(document) && this.#filters.passes(document)) return true;
      return false;
    });
  }

  /** True if the texts of files decide. */
  get searchesText(): boolean {
    return this.#text.content && this.hasPattern;
  }

  /** Whether the document is searched at some revision, and passes the filters on paths. */
  covers(document: number): boolean {
    return this.#revisions.isVisible(document) && this.#filters.passes(document);
  }

  /** True if there is a pattern: documents cannot be decided by their path and repository alone. */
  get hasPattern(): boolean {
    return this.#pattern !== undefined;
  }

  /** The labels of the block's contents, if the query has a set of patterns. */
  get labels(): readonly Labels[] {
    return this.#pattern?.labels ?? [];
  }

  addStats(stats: SearchStats): void {
    this.#pattern?.addStats(stats);
  }

  /** The next contents need not follow those of the last block. */
  rewind(): void {
    this.#pattern?.rewind();
  }

  /** Decides a block without looking at it: it has no documents. */
  skip(): void {
    this.documents.length = 0;
    this.tooCostly.length = 0;
  }

  /** Throws `cancelled` when the search is stopped. */
  decide(contents: Uint32Array): void {
    this.#takeDocuments(contents);
    const block = { contents, documents: this.documents, contentIndexes: this.#contentIndexes };
    this.satisfied =
      this.#pattern === undefined ? new Uint8Array(this.documents.length).fill(1) : this.#pattern.evaluate(block);
    if (this.reader instanceof SymbolView) this.#keepWithSymbols(this.reader, contents);
    this.#dropTooCostly(contents);
    this.#heldRevisions = [];
    if (this.#people !== undefined && this.#peopleFilters.length > 0)
      this.satisfied = this.#keepByPeople(this.#people, this.satisfied);
  }

  /** The revisions at which document `documents[i]`, if it is satisfied, is a result. */
  revisions(i: number): readonly RevisionChoice[] {
    return this.#heldRevisions.length > 0 ? this.#heldRevisions[i] : this.#revisions.revisions(this.documents[i]);
  }

  /** The summary of the repository of one of `documents`. */
  repositorySummary(document: number): RepositorySummary {
    return this.#revisions.repositorySummary(document);
  }

  /**
   * Adds to `rows` the ranges in the content of `documents[i]` of all leaves that hold on the way from the root.
   * Returns the largest number of patterns that can have added some; with more than one the caller makes them disjoint.
   */
  addRows(i: number, rows: Rows): number {
    if (this.reader instanceof SymbolView) return this.#addNames(this.reader, i, rows);
    return this.#pattern === undefined ? 0 : this.#pattern.addRows(i, rows);
  }

  /** A document without a symbol of the wanted kind is no result. With a pattern, it has one that matches. */
  #keepWithSymbols(view: SymbolView, contents: Uint32Array): void {
    if (this.#pattern !== undefined && this.#symbolKind === undefined) return;
    const rows = new Rows(16);
    this.documents.forEach((_, i) => {
      const part = contents[this.#contentIndexes[i]];
      if (this.satisfied[i] !== 1) return;
      rows.clear();
      this.#stop.check();
      const has = this.#symbolKind === undefined ? view.contentStart[part + 1] > view.contentStart[part] : undefined;
      this.satisfied[i] = Number(part < view.contentCount && (has ?? this.#addNames(view, i, rows) > 0));
    });
  }

  /** Adds the names of the symbols that match, each once. */
  #addNames(view: SymbolView, i: number, rows: Rows): number {
    const part = view.contentId(this.documents[i]);
    if (part >= view.contentCount) return 0;
    const rowFrom = rows.count;
    if (this.#pattern === undefined) {
      view.fill(Uint32Array.of(part), this.#kernel);
      addAllNames(view, part, rows);
    } else {
      if (this.#pattern.addRows(i, rows) > 1) rows.sort(rowFrom);
      widenToNames(view, part, rows, rowFrom);
    }
    if (this.#symbolKind !== undefined) keepKind(view, part, this.#symbolKind, rows, rowFrom, this.#kernel);
    return rows.count > rowFrom ? 1 : 0;
  }

  /** Adds the ranges in the path of `documents[i]`: of satisfied leaves, and of `file:` filters. */
  addPathRows(i: number, rows: Rows): void {
    if (!this.#hasPathRows) return;
    this.#filters.addRows(this.documents[i], rows);
    this.#pattern?.addPathRows(i, rows);
  }

  #takeDocuments(contents: Uint32Array): void {
    const reader = this.reader;
    this.documents.length = 0;
    this.#contentIndexes.length = 0;
    for (let index = 0; index < contents.length; index++) {
      this.#stop.check();
      const end = reader.contentFirstDocument[contents[index] + 1];
      for (let document = reader.contentFirstDocument[contents[index]]; document < end; document++) {
        if (!this.#revisions.isVisible(document) || !this.#filters.passes(document)) continue;
        this.documents.push(document);
        this.#contentIndexes.push(index);
      }
    }
  }

  /** A content that was not searched to its end is no result, not even for a pattern under *not*. */
  #dropTooCostly(contents: Uint32Array): void {
    this.tooCostly.length = 0;
    if (this.#pattern === undefined || !this.#pattern.hasTooCostly) return;
    for (let i = 0; i < this.documents.length; i++) {
      if (!this.#pattern.isTooCostly(contents[this.#contentIndexes[i]])) continue;
      this.satisfied[i] = 0;
      this.tooCostly.push(this.documents[i]);
    }
  }

  /**
   * Keeps the satisfying documents for which the filters on people hold at some revision. Evaluated last because it is
   * expensive.
   */
  #keepByPeople(people: People, satisfied: Uint8Array): Uint8Array {
    return satisfied.map((bit, i) => {
      this.#stop.check();
      const document = this.documents[i];
      const held =
        bit === 0 ? [] : this.#revisions.revisions(document).filter((choice) => this.#isHeld(people, document, choice));
      this.#heldRevisions.push(held);
      return held.length > 0 ? 1 : 0;
    });
  }

  #isHeld(people: People, document: number, choice: RevisionChoice): boolean {
    const summary = this.repositorySummary(document);
    const commit = commitOfChoice(summary, choice);
    return people.hold(this.#peopleFilters, { repositoryId: summary.id, commit }, this.reader.path(document));
  }
}

const newline = 10;

/** Replaces the rows from `rowFrom` on, which are sorted and within names of the part, by those of the whole names. */
function widenToNames(view: SymbolView, part: number, rows: Rows, rowFrom: number): void {
  const { words, count } = rows;
  const partStart = view.contentStart[part];
  let kept = rowFrom;
  for (let i = rowFrom; i < count; i++) {
    const start = words[2 * i];
    if (kept > rowFrom && start <= words[2 * kept - 1]) continue;
    words[2 * kept] = start === partStart ? start : view.content.lastIndexOf(newline, start - 1) + 1;
    if (words[2 * kept] < partStart) words[2 * kept] = partStart;
    words[2 * kept + 1] = view.content.indexOf(newline, start);
    kept++;
  }
  rows.count = kept;
}

/** Adds the names of all symbols of a part. */
function addAllNames(view: SymbolView, part: number, rows: Rows): void {
  const end = view.contentStart[part + 1];
  for (let from = view.contentStart[part]; from < end; ) {
    const to = view.content.indexOf(newline, from);
    rows.push(from, to);
    from = to + 1;
  }
}

/** Removes the rows from `rowFrom` on of symbols of other kinds. The rows are whole names. */
function keepKind(
  view: SymbolView,
  part: number,
  kind: string,
  rows: Rows,
  rowFrom: number,
  kernel: SymbolKernel,
): void {
  const { words, count } = rows;
  const kinds = view.symbols.kindsOf(part, words, rowFrom, count, kernel);
  let kept = rowFrom;
  for (let i = rowFrom; i < count; i++) {
    if (view.selectedKinds[kinds[i - rowFrom]] !== kind) continue;
    words[2 * kept] = words[2 * i];
    words[2 * kept + 1] = words[2 * i + 1];
    kept++;
  }
  rows.count = kept;
}
