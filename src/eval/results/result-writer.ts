import type { ResultSource } from "../match/blocks.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import { symbolCursorWords, symbolResultWordCount, symbolResultWords } from "../../native/kernel/symbol-kernel.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import {
  allWritten,
  creditOfBatch,
  emptyTally,
  increase,
  type ResultBatch,
  ResultMarks,
  type SelectedResult,
  type SentMark,
  SentMarks,
  type Tally,
} from "../../protocol/result-batch.js";
import { isDocumentSelect, type DocumentSelect } from "../../query/plan/plan.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { joinLabels, Labels, Rows } from "../match/rows.js";
import { People } from "../people/people.js";
import { NameScore } from "../ranking/name-score.js";
import { GroupCounter } from "./group-counter.js";
import { type ContentGroup, ContentGroups } from "./content-groups.js";
import { ListedResults, ResultList, type WriterStop } from "./result-list.js";
import { type ResultTemplate, ResultTemplates } from "./result-templates.js";
import { emptyDigest, type ResultDigest } from "../../native/kernel/result-digest.js";
import { toJson } from "../../base/text.js";
import { decodePath, escapeUrlPath, isForeignPath, shownPath } from "../../base/path-text.js";
import { commitOfChoice, type SearchedRepository } from "../match/searched-revisions.js";
import { fileKinds } from "../../model/file-kind.js";
import { fileKindMaskOfInfo, newlineStepBytes } from "../../shard/format.js";
import { uninitializedBytes } from "../../base/bytes.js";

/** A batch is sent when it holds this many selected results. */
const selectedCountMax = 256;

const noLabels = new Labels();

/** The kernel counts matches in 32 bits. */
const countedMax = 2 ** 32 - 1;

/**
 * Counts results, writes them as JSON into batches, and enforces the limits.
 *
 * A match is counted when it is added: `matchCount` in the control block is shared by all workers, so together they
 * never pass the limit by a single match. Matches past the display limit are counted, but not written. The kernel
 * writes the added results together, because a call for each result would cost more than the writing.
 */
export class ResultWriter {
  readonly #kernel: Kernel;
  readonly #options: SearchOptions;
  readonly #control: ControlBlock;
  readonly #batchBytes: number;
  readonly #send: (batch: ResultBatch) => void;
  readonly #people: People | undefined;
  readonly #templates: ResultTemplates;
  readonly #results = new ResultList();
  /** Undefined unless results with the same content are grouped. */
  readonly #groups: ContentGroups | undefined;
  /** Undefined unless matches are counted by path or captured text. */
  readonly #counter: GroupCounter | undefined;
  /** Lists many results at once. */
  readonly listed: ListedResults;
  /** Undefined if the search has none. */
  readonly #digest: BatchDigest | undefined;
  readonly limits: MatchLimits;
  /** Undefined unless another process may have to go on behind what was sent. */
  readonly #marks: ResultMarks | undefined;
  /** What another process has sent; undefined unless this one goes on behind it. */
  readonly #sent: SentMarks | undefined;
  readonly #run: number;
  readonly #cursor = new Uint32Array(symbolCursorWords);
  /** Their number only. */
  readonly #countedPathRows = new Rows(0);
  readonly #batch: BatchBuffer;
  #reader: ShardReader | undefined;
  readonly #sources: ResultSource[] = [];
  #tally: Tally = emptyTally();
  #hasTally = false;
  /** Undefined until a limit cuts symbols. */
  #names: NameScore | undefined;
  #selected: SelectedResult[] = [];
  /** Keys of all selected results, with the index of their result options. */
  readonly #selectedKeys = new Set<string>();

  /** A batch is sent when it has `batchBytes` or more. */
  constructor(
    kernel: Kernel,
    options: SearchOptions,
    control: ControlBlock,
    batchBytes: number,
    buffers: BufferSource,
    send: (batch: ResultBatch) => void,
  ) {
    this.#kernel = kernel;
    this.#options = options;
    this.#people = options.people === undefined ? undefined : new People(options.people, options.plan);
    this.#control = control;
    const { marks } = options;
    this.#templates = new ResultTemplates(options.receipt, options.idBase, marks?.secret);
    this.#marks = marks && new ResultMarks();
    this.#sent = marks?.sent && new SentMarks(marks.sent);
    this.#run = marks?.run ?? 0;
    this.#digest = options.receipt ? new BatchDigest(kernel, this.#templates, this.#results) : undefined;
    this.#groups = options.claims && new ContentGroups(options.claims, control, options.tellsContents === true);
    this.#counter = options.group && new GroupCounter(options);
    this.listed = new ListedResults(kernel, this.#templates, this.#results);
    this.limits = new MatchLimits(control, options);
    this.#batchBytes = batchBytes;
    this.#batch = new BatchBuffer(buffers);
    this.#send = send;
  }

  /** The search's control block. */
  get control(): ControlBlock {
    return this.#control;
  }

  get isEmpty(): boolean {
    return this.#batch.length === 0;
  }

  /** True when some worker has found a match. */
  get hasMatches(): boolean {
    return this.#control.matchCount > 0;
  }

  /** True when the search must not look for more: the limit is reached, or it was stopped. */
  get isStopped(): boolean {
    return this.#control.isStopped;
  }

  /** True when results that were found are not wanted either. */
  get isCancelled(): boolean {
    return this.#control.isCancelled;
  }

  /** Results added from here on are of this shard, with this member `debug`. Results not yet written are dropped. */
  open(reader: ShardReader, debug: string | undefined): void {
    this.#dropResults();
    this.#reader = reader;
    this.#templates.open(reader, this.#tally, debug);
  }

  /**
   * Counts one document at one revision, and adds it to the results to write. Its content ranges are the pairs from
   * `rowFrom` on of the rows that `write` will get, sorted and disjoint. Returns how many of them will be written, or
   * undefined when the result will not be written.
   */
  add(source: ResultSource, rowFrom: number, rows: Rows, pathRows: Rows): number | undefined {
    const rowCount = this.#selectRows(source, rows.count - rowFrom, pathRows);
    if (rowCount === undefined) return undefined;
    const group = this.#findGroup(source, rows, rowFrom, rowCount);
    const isDuplicate = group?.isFirst === false;
    const taken = this.limits.count(isDuplicate ? 1 : Math.max(1, rowCount));
    if (taken === 0) return undefined;
    if (!isDuplicate) this.#keepBest(source, rows, rowFrom, rowCount, taken);
    const counted = isDuplicate ? Math.max(1, rowCount) : taken;
    if (this.#groups?.isFull === true) this.flush();
    if (group !== undefined) this.#groups?.count(group, counted);
    const template = this.#templates.find(source.summary, source.revision);
    this.#addToTally(source.document, template, rowCount > 0, counted, pathRows.count);
    if (rowCount > 0 && this.#reader instanceof SymbolView)
      countKinds(this.#tally, this.#reader, source.content, rows, rowFrom, rowFrom + counted, this.#kernel);
    this.#countGroup(source.document, rows, rowFrom, counted, rowCount > 0);
    const shown = this.limits.show(taken);
    if (shown === 0) {
      this.#marks?.hide(this.#templates.markHash(source.document, template));
      return undefined;
    }
    const shownRows = rowCount === 0 || isDuplicate ? 0 : shown;
    if (!isDuplicate) this.#keepBest(source, rows, rowFrom, rowCount, shown);
    this.#append(source, template, rowFrom, rowFrom + shownRows, pathRows, group);
    this.#marks?.add(this.#templates.markHash(source.document, template), shownRows, 0, false);
    if (isDuplicate) this.#results.omitRows(rowFrom + rowCount);
    return shownRows;
  }

  /**
   * Like `add`, for a result of which nothing can be shown, and of whose ranges only the number is known. Of texts, and
   * of searches without claims, of which results are documents or their parts.
   */
  count({ document, summary, revision }: Omit<ResultSource, "content">, rowCount: number, hasPathRows: boolean): void {
    const { select } = this.#options.plan.resultOptions[0];
    const pathRows = this.#countedPathRows;
    pathRows.count = Number(hasPathRows);
    const selected = selectRowCount(select, rowCount, pathRows);
    const taken = selected === undefined ? 0 : this.limits.count(Math.max(1, selected));
    if (selected === undefined || taken === 0) return;
    const template = this.#templates.find(summary, revision);
    this.#addToTally(document, template, selected > 0, taken, pathRows.count);
    this.#marks?.hide(this.#templates.markHash(document, template));
  }

  /**
   * Like `count`, for all documents that were found in the shard, but those that are left out, if each has one revision and the
   * limit leaves as many matches as they have. Otherwise returns false: none is counted.
   */
  countAll(
    found: Uint32Array,
    leftOut: Uint32Array,
    repositories: readonly (SearchedRepository | undefined)[] | undefined,
  ): boolean {
    const { plan, marks } = this.#options;
    const left = Math.min(this.limits.left, countedMax);
    const isPlain = plan.resultOptions[0].select === undefined && marks === undefined;
    if (repositories === undefined || !isPlain || left < 0) return false;
    const count = this.listed.count(found, leftOut, left, this.#reader as ShardReader, repositories);
    if (count === undefined || !this.limits.countAll(count)) return false;
    if (count === 0) return true;
    this.#hasTally = true;
    this.listed.addCounts(this.#tally);
    return true;
  }

  /** Where a limit cuts the symbols of a file, the best of them are kept, not the first. */
  #keepBest({ content }: ResultSource, rows: Rows, rowFrom: number, rowCount: number, countMax: number): void {
    if (rowCount <= countMax || !(this.#reader instanceof SymbolView)) return;
    const texts = this.#options.plan.basicQueries.flatMap(({ text }) => text ?? []);
    this.#names ??= NameScore.forCuts(texts, this.#control);
    this.#names.keepBest(this.#reader, content, rows, rowFrom, countMax, this.#kernel);
  }

  #findGroup(source: ResultSource, rows: Rows, rowFrom: number, rowCount: number): ContentGroup | undefined {
    return this.#groups?.find(this.#reader as ShardReader, source, rows, rowFrom, rowFrom + rowCount);
  }

  /** Adds the results that `listed` has listed, whose matches are counted; `rows` has their ranges. */
  addListed(rows: Rows): { readonly count: number; readonly shownCount: number; readonly shownRows: number } {
    const results = this.#results;
    const { count } = results;
    if (count === 0) return { count, shownCount: 0, shownRows: 0 };
    this.#hasTally = true;
    this.listed.addCounts(this.#tally);
    for (let i = 0; i < count && this.#counter !== undefined && !this.isCancelled; i++) {
      const { rowFrom, rowTo } = results.rowsOf(i);
      this.#countGroup(this.listed.documents[i], rows, rowFrom, rowTo - rowFrom, true);
    }
    results.keepRows(this.limits.show(this.listed.matchCount));
    this.#endForeignPaths();
    if (this.#marks !== undefined) this.#markListed(this.#marks, count);
    const { rowFrom, rowTo } = results.rowsOf(Math.max(0, results.count - 1));
    return { count, shownCount: results.count, shownRows: rowTo - rowFrom };
  }

  #markListed(marks: ResultMarks, count: number): void {
    for (let i = 0; i < count; i++) {
      const document = this.listed.documents[i];
      const hash = this.#templates.markHash(document, this.listed.findTemplate(document));
      const { rowFrom, rowTo } = this.#results.rowsOf(i);
      if (i < this.#results.count) marks.add(hash, rowTo - rowFrom, 0, false);
      else marks.hide(hash);
    }
  }

  /** The kernel has listed results with the endings of their languages only. */
  #endForeignPaths(): void {
    const reader = this.#reader as ShardReader;
    if (reader.hasUtf8Paths) return;
    for (let i = 0; i < this.#results.count; i++) {
      const document = this.listed.documents[i];
      if (!reader.isUtf8Path(document)) this.#results.setTail(i, this.#templates.ending(document, undefined));
    }
  }

  /** Adds a document that an earlier slice has counted; at most `rowCountMax` of its rows are written. */
  addCounted(source: ResultSource, rowFrom: number, rows: Rows, pathRows: Rows, rowCountMax: number): void {
    const rowCount = this.#selectRows(source, rows.count - rowFrom, pathRows);
    if (rowCount === undefined) return;
    const template = this.#templates.find(source.summary, source.revision);
    const group = this.#findGroup(source, rows, rowFrom, rowCount);
    const isDuplicate = group?.isFirst === false;
    const shownRows = isDuplicate ? 0 : Math.min(rowCount, rowCountMax);
    if (!isDuplicate) this.#keepBest(source, rows, rowFrom, rowCount, shownRows);
    this.#append(source, template, rowFrom, rowFrom + shownRows, pathRows, group);
    this.#marks?.add(this.#templates.markHash(source.document, template), shownRows, 0, true);
    if (isDuplicate) this.#results.omitRows(rowFrom + rowCount);
  }

  /** What another process has counted and sent of a result; undefined if it has not counted it. */
  findSent({ document, summary, revision }: Omit<ResultSource, "content">): SentMark | undefined {
    return this.#sent?.find(this.#templates.markHash(document, this.#templates.find(summary, revision)));
  }

  /** The same for a result that is found here: the search need not go on for it any more. */
  takeSent({ document, summary, revision }: Omit<ResultSource, "content">): SentMark | undefined {
    if (this.#sent === undefined) return undefined;
    const hash = this.#templates.markHash(document, this.#templates.find(summary, revision));
    const sent = this.#sent.find(hash);
    if (sent !== undefined && sent.rowsDone !== allWritten && this.#sent.settle(hash, this.#run))
      this.#control.settleSent();
    return sent;
  }

  /** Adds what another process has counted and not written of a result. Returns false if nothing of it is wanted. */
  addSent(source: ResultSource, rowFrom: number, rows: Rows, pathRows: Rows, sent: SentMark): boolean {
    const rowCount = this.#selectRows(source, rows.count - rowFrom, pathRows);
    if (rowCount === undefined) return false;
    const shownRows = Math.min(rowCount, sent.shownRows);
    this.#keepBest(source, rows, rowFrom, rowCount, shownRows);
    const template = this.#templates.find(source.summary, source.revision);
    const rowsDone = Math.min(sent.rowsDone, shownRows);
    this.#append(source, template, rowFrom + rowsDone, rowFrom + shownRows, pathRows, undefined);
    this.#marks?.add(this.#templates.markHash(source.document, template), shownRows, rowsDone, true);
    return true;
  }

  /**
   * Writes all results that were added, whose rows are in `rows`, with the patterns in `labels`; `rowsDone` rows of the first one are written already.
   * Returns where it stopped when the credit ran out, and otherwise undefined; the other results are dropped.
   */
  write(rows: Rows, rowsDone: number, labels: readonly Labels[]): WriterStop | undefined {
    const stopped = this.#results.count === 0 ? undefined : this.#writeAdded(rows, rowsDone, labels);
    this.#dropResults();
    this.#templates.limitMemory(this.#tally);
    return stopped;
  }

  #dropResults(): void {
    this.#results.clear();
    this.#marks?.clear();
    this.#sources.length = 0;
  }

  /** Sends what is in the batch, if anything. */
  flush(): void {
    if (this.#batch.length === 0 && !this.#hasTally && this.#selected.length === 0) return;
    this.#templates.addCounts(this.#tally);
    const marks = this.#marks && { records: this.#marks.take(), commits: this.#templates.takeCommits() };
    const contents = this.#groups?.take();
    const digest = this.#digest?.take();
    const { bytes, isLent } = this.#batch.take();
    const batch = { bytes, isLent, tally: this.#tally, digest, selected: this.#selected, marks, contents };
    this.#selected = [];
    this.#tally = emptyTally();
    this.#hasTally = false;
    this.#control.takeCredit(creditOfBatch(batch));
    this.#send(batch);
  }

  /** Sends what is in the batch, and returns its buffer to the source. */
  close(): void {
    this.flush();
    this.#batch.close();
  }

  /** Returns a function that writes the added results from the cursor on, as far as they fit. */
  #encoder(rows: Rows, labels: Labels): (out: Uint8Array) => boolean {
    const reader = this.#reader as ShardReader;
    if (reader instanceof SymbolView) {
      const results = { view: reader, sources: this.#sources, results: this.#results, rows };
      return symbolEncoder(results, this.#templates, this.#kernel, this.#batchBytes, this.#cursor);
    }
    const written = { results: this.#results, rows, labels, templates: this.#templates, cursor: this.#cursor };
    return textEncoder(reader, written, this.#options, this.#kernel, this.#batchBytes);
  }

  #writeAdded(rows: Rows, rowsDone: number, labels: readonly Labels[]): WriterStop | undefined {
    const cursor = this.#cursor.fill(0);
    cursor[1] = rowsDone;
    const encode = this.#encoder(rows, joinLabels(labels, this.#kernel) ?? noLabels);
    this.#digest?.start(rowsDone);
    this.#marks?.moveTo(0, rowsDone);
    for (;;) {
      cursor[2] = this.#batch.length;
      const [result, row] = cursor;
      const isDone = encode(this.#batch.buffer);
      const isTooSmall =
        !isDone && this.#batch.length === 0 && cursor[2] === 0 && cursor[0] === result && cursor[1] === row;
      this.#batch.length = cursor[2];
      this.#digest?.addUpTo(cursor[0], cursor[1], this.#reader as ShardReader, rows);
      this.#marks?.moveTo(cursor[0], cursor[1]);
      if (isTooSmall) {
        this.#batch.grow();
        continue;
      }
      if (!isDone || this.#batch.length >= this.#batchBytes) {
        this.flush();
        this.#batch.shrink();
      }
      if (isDone || this.isCancelled) return undefined;
      if (!this.#control.waitForCredit()) return { result: cursor[0], rowsDone: cursor[1] };
    }
  }

  /** The number of content rows that `select:` leaves, or undefined when the document is not written. */
  #selectRows(source: ResultSource, rowCount: number, pathRows: Rows): number | undefined {
    const { select } = this.#options.plan.resultOptions[0];
    if (this.#options.resultLimits !== undefined) return rowCount;
    if (isDocumentSelect(select)) {
      this.select(source, select, 0);
      return undefined;
    }
    return selectRowCount(select, rowCount, pathRows);
  }

  /** Adds what the document belongs to instead of the document. */
  select(source: ResultSource, select: DocumentSelect, optionsIndex: number): void {
    const members = (): Buffer => this.#templates.find(source.summary, source.revision).members;
    const reader = this.#reader as ShardReader;
    const results = selectResults(select, source, optionsIndex, reader, members, this.#people);
    for (const result of results) this.#addSelected(result);
    if (results.length > 0) return;
    this.#tally.unownedResults++;
    this.#hasTally = true;
  }

  /**
   * A batch with many selected results is sent. Each result is sent once; the main thread drops those of other slices.
   */
  #addSelected(result: SelectedResult): void {
    const key = `${result.optionsIndex} ${result.key}`;
    if (this.#selectedKeys.has(key)) return;
    this.#selectedKeys.add(key);
    this.#selected.push(result);
    if (this.#selected.length >= selectedCountMax) this.flush();
  }

  /** `hasRows` is false for a document that is a result by its path. */
  #countGroup(document: number, rows: Rows, rowFrom: number, count: number, hasRows: boolean): void {
    if (this.#counter === undefined) return;
    // Of many documents that are counted together, an earlier one may have ended a batch.
    this.#hasTally = true;
    const reader = this.#reader as ShardReader;
    if (!this.#counter.add(this.#tally.groups, reader, document, rows, rowFrom, count, hasRows)) return;
    this.flush();
    // Once, and for a bounded time: a client that does not read must not hold a worker.
    this.#control.waitForCredit();
  }

  #addToTally(
    document: number,
    template: ResultTemplate,
    isContent: boolean,
    count: number,
    pathRowCount: number,
  ): void {
    this.#hasTally = true;
    this.#templates.count(template, document, count);
    tallyResult(this.#tally, this.#reader as ShardReader, document, isContent, count, pathRowCount > 0);
  }

  #append(
    source: ResultSource,
    template: ResultTemplate,
    rowFrom: number,
    rowTo: number,
    pathRows: Rows,
    group: ContentGroup | undefined,
  ): void {
    const { document, content } = source;
    if (this.#reader instanceof SymbolView) this.#sources.push(source);
    const head = pathRows.count === 0 ? template : this.#templates.head(document, pathRows, template);
    const tail = this.#templates.ending(document, group);
    this.#results.add(this.#reader as ShardReader, document, content, head, tail, rowFrom, rowTo);
  }
}

/** The digest of the results in a batch, which is sent with it. */
class BatchDigest {
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

/** The limits on the matches of all slices of a search together. */
class MatchLimits {
  readonly #control: ControlBlock;
  readonly #countMax: number;
  readonly #displayMax: number;
  /** Whether the search may go on when its limit is reached. */
  readonly #goesOn: boolean;

  constructor(control: ControlBlock, { matchCountMax, displayCountMax, marks }: SearchOptions) {
    this.#control = control;
    this.#goesOn = marks?.sent !== undefined;
    this.#countMax = matchCountMax;
    this.#displayMax = displayCountMax;
  }

  /** Matches that can be counted until the limit. */
  get left(): number {
    return this.#countMax - this.#control.matchCount;
  }

  /** Whether more of the counted matches may be written, or of those that another process has counted. */
  get mayShow(): boolean {
    return this.#control.displayedCount < this.#displayMax || this.#control.hasPendingSent;
  }

  /** Counts up to `wanted` matches of what the limit leaves; stops the search when that is less. */
  count(wanted: number): number {
    if (this.#goesOn && this.#control.isLimitReached) return 0;
    const before = this.#control.addMatches(wanted);
    const left = this.#countMax - before;
    if (left < wanted) this.#control.stopAtLimit();
    return Math.max(0, Math.min(wanted, left));
  }

  /** Counts `wanted` matches if the limit leaves as many; otherwise returns false. */
  countAll(wanted: number): boolean {
    return this.#control.addMatchesWithin(wanted, this.#countMax);
  }

  /** How many of these counted matches may be written. */
  show(wanted: number): number {
    const left = this.#displayMax - this.#control.addDisplayed(wanted);
    return Math.max(0, Math.min(wanted, left));
  }
}

/**
 * What `select:` chooses instead of a document: the repository, the directory or the owners that it belongs to.
 * `members` returns those of the document's template. Only a document without owners has none.
 */
function selectResults(
  select: DocumentSelect,
  source: ResultSource,
  optionsIndex: number,
  reader: ShardReader,
  members: () => Buffer,
  people: People | undefined,
): SelectedResult[] {
  const { summary, revision } = source;
  const common = { optionsIndex, repositoryId: summary.id, revision: revision.typed };
  const repositoryKey = `${summary.id}@${revision.typed}`;
  switch (select) {
    case "repo":
      return [{ ...common, kind: "repository", key: repositoryKey, json: "" }];
    case "file.directory": {
      const directory = directoryName(decodePath(reader.path(source.document)));
      const escaped = isForeignPath(directory) ? `,"escapedPath":${toJson(escapeUrlPath(directory))}` : "";
      const json = `{"type":"path","path":${toJson(shownPath(directory))}${members().toString()}${escaped}}`;
      return [{ ...common, kind: "directory", key: `${repositoryKey}:${directory}`, json }];
    }
    case "file.owners": {
      const commit = { repositoryId: summary.id, commit: commitOfChoice(summary, revision) };
      const owners = people?.owners(commit, reader.path(source.document)) ?? [];
      return owners.map(({ kind, text }) => {
        const json = toJson({ type: "person", handle: "", email: "", [kind]: text });
        return { ...common, kind: "owner", key: `${kind}:${text.toLowerCase()}`, json };
      });
    }
  }
}

function directoryName(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : "./";
}

/** Counts the matches of a document by the kinds of its file, and by the kind of result. */
function tallyResult(
  tally: Tally,
  reader: ShardReader,
  document: number,
  isContent: boolean,
  count: number,
  hasPathRows: boolean,
): void {
  const kinds = fileKindMaskOfInfo(reader.documentInfo[document]);
  if (kinds !== 0) for (let i = 0; i < fileKinds.length; i++) if ((kinds >>> i) & 1) tally.fileKinds[i] += count;
  if (isContent && reader instanceof SymbolView) tally.symbolMatches += count;
  else if (isContent) tally.contentMatches += count;
  if (hasPathRows || !isContent) tally.pathMatches++;
}

/** Results whose rows are ranges of texts. */
interface TextResults {
  readonly results: ResultList;
  readonly rows: Rows;
  readonly labels: Labels;
  readonly templates: ResultTemplates;
  readonly cursor: Uint32Array;
}

/** Returns a function that calls `encodeResults` of the kernel for the results. */
function textEncoder(
  reader: ShardReader,
  { results, rows, labels, templates, cursor }: TextResults,
  { chunkMatches, contextLines, lineBytesMax, cutsAround }: SearchOptions,
  kernel: Kernel,
  pauseAt: number,
): (out: Uint8Array) => boolean {
  const request = {
    text: reader.content,
    paths: reader.paths,
    newlines: reader.newlines,
    newlineStep: newlineStepBytes,
    fragments: templates.bytes,
    results: results.words,
    resultCount: results.count,
    rows: rows.words,
    chunks: chunkMatches,
    contextLines,
    lineBytesMax,
    out: new Uint8Array(0) as Uint8Array,
    pauseAt,
    cursor,
    labels: labels.words,
    labelCount: labels.count,
    cutsAround,
  };
  return (out) => {
    request.out = out;
    return kernel.encodeResults(request);
  };
}

/** Results with symbols, the rows of which are names; `sources[i]` is that of result i. */
interface SymbolResults {
  readonly view: SymbolView;
  readonly sources: readonly ResultSource[];
  readonly results: ResultList;
  readonly rows: Rows;
}

/** Counts the symbols whose names are the rows `[rowFrom, rowTo)` of a part, by the kind that `select:symbol.` names. */
function countKinds(
  tally: Tally,
  view: SymbolView,
  part: number,
  { words }: Rows,
  rowFrom: number,
  rowTo: number,
  kernel: Kernel,
): void {
  const kinds = view.symbols.kindsOf(part, words, rowFrom, rowTo, kernel);
  for (let i = 0; i < rowTo - rowFrom; i++) {
    const kind = view.selectedKinds[kinds[i]] ?? "";
    if (kind !== "") increase(tally.symbolKinds, kind, 1);
  }
}

/** Returns a function that calls `encodeSymbols` of the kernel for the results. Throws `corrupt-shard`. */
function symbolEncoder(
  { view, sources, results, rows }: SymbolResults,
  templates: ResultTemplates,
  kernel: Kernel,
  pauseAt: number,
  cursor: Uint32Array,
): (out: Uint8Array) => boolean {
  const kindStarts = templates.kindStarts(view.symbols.kinds);
  const words = describeResults(view, sources, results, templates);
  const request = {
    text: view.text.content,
    records: view.symbols.records,
    paths: view.paths,
    newlines: view.text.newlines,
    newlineStep: newlineStepBytes,
    fragments: templates.bytes,
    kindStarts,
    results: words,
    resultCount: results.count,
    rows: rows.words,
    out: new Uint8Array(0) as Uint8Array,
    pauseAt,
    cursor,
  };
  return (out) => {
    request.out = out;
    return view.symbols.guarded(() => kernel.encodeSymbols(request));
  };
}

/** The words of `symbolResultWords` of each result. */
function describeResults(
  view: SymbolView,
  sources: readonly ResultSource[],
  results: ResultList,
  templates: ResultTemplates,
): Uint32Array {
  const words = new Uint32Array(results.count * symbolResultWordCount);
  sources.forEach(({ document, content: part, summary, revision }, i) => {
    const own = i * symbolResultWordCount;
    const template = templates.find(summary, revision);
    const link = templates.link(template);
    const { rowFrom, rowTo } = results.rowsOf(i);
    const tail = results.tailOf(i);
    const { text, symbols } = view;
    const hasPart = part < view.contentCount;
    const content = hasPart ? symbols.parts.contents[part] : 0;
    const [recordFrom, recordTo] = hasPart ? symbols.recordRange(part) : [0, 0];
    words[own + symbolResultWords.pathFrom] = view.pathStart[document];
    words[own + symbolResultWords.pathTo] = view.pathStart[document + 1] - 1;
    words[own + symbolResultWords.headFrom] = template.from;
    words[own + symbolResultWords.headTo] = template.to;
    words[own + symbolResultWords.tailFrom] = tail.from;
    words[own + symbolResultWords.tailTo] = tail.to;
    words[own + symbolResultWords.linkFrom] = link.from;
    words[own + symbolResultWords.linkTo] = link.to;
    words[own + symbolResultWords.recordFrom] = recordFrom;
    words[own + symbolResultWords.recordTo] = recordTo;
    words[own + symbolResultWords.textFrom] = hasPart ? text.contentStart[content] : 0;
    words[own + symbolResultWords.textTo] = hasPart ? text.contentStart[content + 1] : 0;
    words[own + symbolResultWords.linesBefore] = hasPart ? text.contentFirstLine[content] : 0;
    words[own + symbolResultWords.namesFrom] = hasPart ? view.contentStart[part] : 0;
    words[own + symbolResultWords.rowFrom] = rowFrom;
    words[own + symbolResultWords.rowTo] = rowTo;
  });
  return words;
}

/** The number of content rows that a `select:` of parts of a document leaves; undefined if nothing of it is left. */
function selectRowCount(select: string | undefined, rowCount: number, pathRows: Rows): number | undefined {
  switch (select) {
    case "content":
      pathRows.clear();
      return rowCount === 0 ? undefined : rowCount;
    case "file":
    case "file.path":
      pathRows.clear();
      return 0;
    default:
      return rowCount;
  }
}

/** Capacity of a batch's buffer. A document whose matches need more continues in another match object. */
export const batchBufferBytes = 256 * 1024;

/**
 * Batches that fill less than this part of their buffer are copied, so that memory in flight is at most this many times
 * the bytes of its batches.
 */
const bufferBytesPerByteMax = 2;

const comma = 44;

/** Where buffers of `batchBufferBytes` come from. */
interface BufferSource {
  take(): Buffer;
  put(buffer: Buffer): void;
}

/** The bytes of a batch, and whether they are in a buffer of the source, which the receiver must return. */
interface BatchBytes {
  readonly bytes: Uint8Array;
  readonly isLent: boolean;
}

/** The buffer that results are written into until they are sent as a batch. */
class BatchBuffer {
  readonly #source: BufferSource;
  #buffer: Buffer;
  /** Bytes that are written. */
  length = 0;

  constructor(source: BufferSource) {
    this.#source = source;
    this.#buffer = source.take();
  }

  /** The whole buffer; the first `length` bytes are written. */
  get buffer(): Buffer {
    return this.#buffer;
  }

  /** Appends an element, with a comma before all but the first. */
  append(element: Buffer): void {
    const needed = this.length + element.length + 1;
    if (needed > this.#buffer.length) {
      const grown = uninitializedBytes(2 * needed);
      this.#buffer.copy(grown, 0, 0, this.length);
      if (this.#buffer.length === batchBufferBytes) this.#source.put(this.#buffer);
      this.#buffer = grown;
    }
    if (this.length > 0) this.#buffer[this.length++] = comma;
    this.length += element.copy(this.#buffer, this.length);
  }

  /** Doubles an empty buffer. */
  grow(): void {
    this.#buffer = uninitializedBytes(this.#buffer.length * 2);
  }

  /** Replaces a buffer that has grown, once it is empty. */
  shrink(): void {
    if (this.#buffer.length > batchBufferBytes) this.#buffer = this.#source.take();
  }

  /** Returns the bytes that are written, and empties the buffer. */
  take(): BatchBytes {
    const isLent = this.#buffer.length === batchBufferBytes && this.length * bufferBytesPerByteMax >= batchBufferBytes;
    const written = this.#buffer.subarray(0, this.length);
    const bytes = isLent ? written : new Uint8Array(written);
    if (isLent) this.#buffer = this.#source.take();
    this.length = 0;
    return { bytes, isLent };
  }

  /** Returns the buffer to its source. */
  close(): void {
    this.#source.put(this.#buffer);
  }
}
