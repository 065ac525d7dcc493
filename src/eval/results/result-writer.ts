import { uninitializedBytes } from "../../base/bytes.js";
import type { RepositorySummary } from "../../protocol/repository-summaries.js";
import { resultWordCount, resultWords, type Kernel } from "../../native/kernel/kernel.js";
import { fileKinds } from "../../model/file-kind.js";
import { fileKindMaskOfInfo, unpackLanguage, newlineStepBytes } from "../../shard/format.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { RevisionChoice, SearchOptions } from "../../protocol/search-options.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import { emptyTally, increase, type Tally } from "../../protocol/tally.js";
import { commitOfChoice } from "../choice-commit.js";
import { isDocumentSelect, type DocumentSelect } from "./document-select.js";
import { Fragments } from "./fragments.js";
import { makeLanguageEndings, type LanguageEndings } from "./language-endings.js";
import { keyOfPathRows, pathMatches } from "./path-matches.js";
import { People } from "../people/people.js";
import type { Rows } from "../match/rows.js";
import type { ResultBatch, SelectedResult } from "../../protocol/result-batch.js";

/** Capacity of a batch's buffer. A document whose matches need more goes on in a further match object. */
export const batchBufferBytes = 256 * 1024;

/**
 * Batches with less than this part of their buffer are copied, so that memory in flight is at most this many times its
 * bytes.
 */
const bufferBytesPerByteMax = 2;

/** Where a writer has its buffers of `batchBufferBytes` from. */
export interface BufferSource {
  take(): Buffer;
  put(buffer: Buffer): void;
}

/** A batch is sent when it holds this many selected results. */
const selectedCountMax = 256;

/** Fragments are made anew when paths with highlights have filled so many bytes. */
const fragmentBytesMax = 256 * 1024;

/** Where writing stopped because the client has not read: an index in the list of added results. */
export interface WriterStop {
  readonly result: number;
  /** Rows of that result that are written. */
  readonly rowsDone: number;
}

/** What one result is written from. */
export interface ResultSource {
  readonly document: number;
  readonly content: number;
  readonly card: RepositorySummary;
  readonly revision: RevisionChoice;
}

/** What all results of one repository and revision share. */
interface ResultTemplate {
  readonly card: RepositorySummary;
  readonly typed: string;
  /** Repository id, "@" and the revision as typed. */
  readonly key: string;
  /** Members from `repositoryID` on, up to the rows or the language. */
  readonly members: Buffer;
  /** Where the members are among the fragments. */
  readonly from: number;
  readonly to: number;
  /**
   * The members with highlights in a path before them, by those highlights: `file:` finds the same ones in many paths.
   */
  readonly heads: Map<number, FragmentSpan>;
  /** Matches counted since the tally was last sent. */
  matchCount: number;
}

interface FragmentSpan {
  readonly from: number;
  readonly to: number;
}

/**
 * Writes results as JSON bytes into batches, and keeps to the limits.
 *
 * A match counts as it is added: `matchCount` in the control block is shared by all workers, so their sum never
 * passes the limit by a single match. What lies past the display limit is counted, not written. Added results are
 * written together by the kernel: a call for each would cost more than the writing.
 */
export class ResultWriter {
  readonly #kernel: Kernel;
  readonly #options: SearchOptions;
  readonly #control: ControlBlock;
  readonly #batchBytes: number;
  readonly #send: (batch: ResultBatch) => void;
  readonly #buffers: BufferSource;
  readonly #people: People | undefined;
  readonly #fragments = new Fragments();
  /** By repository, then by revision as typed. */
  readonly #shapes = new Map<RepositorySummary, Map<string, ResultTemplate>>();
  /** The shape of the last result: most results of a shard are of one repository and revision. */
  #shape: ResultTemplate | undefined;
  /** Of the shard; they are among the fragments from `#tailsFrom` on. */
  #tails: LanguageEndings | undefined;
  #tailsFrom = 0;
  /** By language of the shard: matches counted since the tally was last sent. */
  #languageMatches: number[] = [];
  #reader: ShardReader | undefined;
  #results = new Uint32Array(64 * resultWordCount);
  #resultCount = 0;
  readonly #cursor = new Uint32Array(3);
  #buffer: Buffer;
  /** Bytes of the buffer that are written. */
  #position = 0;
  #tally: Tally = emptyTally();
  #hasTally = false;
  #selected: SelectedResult[] = [];
  readonly #selectedKeys = new Set<string>();

  /** A batch is sent when it passes `batchBytes`. */
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
    this.#batchBytes = batchBytes;
    this.#buffers = buffers;
    this.#buffer = buffers.take();
    this.#send = send;
  }

  /** The search's control block. */
  get control(): ControlBlock {
    return this.#control;
  }

  get isEmpty(): boolean {
    return this.#position === 0;
  }

  /** True when some worker has found something, which the search counts. */
  get hasMatches(): boolean {
    return this.#control.matchCount > 0;
  }

  /** True when nothing more is to be found: the limit is reached, or the search is to end for another reason. */
  get isStopped(): boolean {
    return this.#control.isStopped;
  }

  /** True when what is found is not wanted either. */
  get isCancelled(): boolean {
    return this.#control.isCancelled;
  }

  /**
   * Results that are added from here on are of this shard. Those of another one are written, or its search has failed.
   */
  open(reader: ShardReader): void {
    this.#resultCount = 0;
    this.#reader = reader;
    this.#forgetFragments();
  }

  /**
   * Counts one document at one revision, and adds it to what is to be written; `rows` pairs `[rowFrom, rowTo)` are its
   * content ranges, sorted and disjoint. Returns how many rows of it will be written, undefined when the result will
   * not.
   */
  add(source: ResultSource, rowFrom: number, rowTo: number, pathRows: Rows): number | undefined {
    const rowCount = this.#selectRows(source, rowTo - rowFrom, pathRows);
    if (rowCount === undefined) return undefined;
    const counted = this.#count(Math.max(1, rowCount));
    if (counted === 0) return undefined;
    this.#addToTally(source, rowCount > 0, counted, pathRows.count);
    const shown = this.#show(counted);
    if (shown === 0) return undefined;
    const shownRows = rowCount === 0 ? 0 : shown;
    this.#append(source, rowFrom, rowFrom + shownRows, pathRows);
    return shownRows;
  }

  /** Adds a document that an earlier slice has counted; of its rows at most `rowCountMax` are written. */
  addCounted(source: ResultSource, rowFrom: number, rowTo: number, pathRows: Rows, rowCountMax: number): void {
    const rowCount = this.#selectRows(source, rowTo - rowFrom, pathRows);
    if (rowCount !== undefined) this.#append(source, rowFrom, rowFrom + Math.min(rowCount, rowCountMax), pathRows);
  }

  /**
   * Writes all results that were added, whose rows are in `rows`; of the first one `rowsDone` rows are written already.
   * Returns where it stopped when credit ran out on the way, else undefined; the rest is forgotten in any case.
   */
  write(rows: Rows, rowsDone: number): WriterStop | undefined {
    const stopped = this.#resultCount === 0 ? undefined : this.#writeAdded(rows, rowsDone);
    this.#resultCount = 0;
    if (this.#fragments.length > fragmentBytesMax) this.#forgetFragments();
    return stopped;
  }

  /** Sends what is there, if anything. */
  flush(): void {
    if (this.#position === 0 && !this.#hasTally && this.#selected.length === 0) return;
    this.#sumUp();
    const isLent =
      this.#buffer.length === batchBufferBytes && this.#position * bufferBytesPerByteMax >= batchBufferBytes;
    const written = this.#buffer.subarray(0, this.#position);
    const batch = {
      bytes: isLent ? written : new Uint8Array(written),
      isLent,
      tally: this.#tally,
      selected: this.#selected,
    };
    if (isLent) this.#buffer = this.#buffers.take();
    this.#position = 0;
    this.#selected = [];
    this.#tally = emptyTally();
    this.#hasTally = false;
    this.#control.takeCredit(batch.bytes.length);
    this.#send(batch);
  }

  /** Sends what is there, and gives the buffer back. */
  close(): void {
    this.flush();
    this.#buffers.put(this.#buffer);
  }

  #writeAdded(rows: Rows, rowsDone: number): WriterStop | undefined {
    const reader = this.#reader as ShardReader;
    const { chunkMatches, contextLines, lineBytesMax } = this.#options;
    const cursor = this.#cursor;
    cursor[0] = 0;
    cursor[1] = rowsDone;
    for (;;) {
      cursor[2] = this.#position;
      const [result, row] = cursor;
      const isDone = this.#kernel.encodeResults(
        reader.content,
        reader.paths,
        reader.newlines,
        newlineStepBytes,
        this.#fragments.bytes,
        this.#results,
        this.#resultCount,
        rows.words,
        chunkMatches,
        contextLines,
        lineBytesMax,
        this.#buffer,
        this.#batchBytes,
        cursor,
      );
      const isTooSmall =
        !isDone && this.#position === 0 && cursor[2] === 0 && cursor[0] === result && cursor[1] === row;
      this.#position = cursor[2];
      if (isTooSmall) {
        this.#buffer = uninitializedBytes(this.#buffer.length * 2);
        continue;
      }
      if (!isDone || this.#position >= this.#batchBytes) this.#flushFull();
      if (isDone || this.isCancelled) return undefined;
      if (!this.#control.waitForCredit()) return { result: cursor[0], rowsDone: cursor[1] };
    }
  }

  /** A buffer that one large element had made grow gives its memory back. */
  #flushFull(): void {
    this.flush();
    if (this.#buffer.length > batchBufferBytes) this.#buffer = this.#buffers.take();
  }

  /** How many content rows the result has after `select:`; undefined when it is not to be written. */
  #selectRows(source: ResultSource, rowCount: number, pathRows: Rows): number | undefined {
    const { select } = this.#options.plan.resultOptions[0];
    if (this.#options.resultLimits !== undefined) return rowCount;
    if (isDocumentSelect(select)) {
      this.select(source, select, 0);
      return undefined;
    }
    switch (select) {
      case "content":
        return rowCount === 0 ? undefined : rowCount;
      case "file":
      case "file.path":
        pathRows.clear();
        return 0;
      default:
        return rowCount;
    }
  }

  /** Takes what the document belongs to in place of the document. */
  select(source: ResultSource, select: DocumentSelect, optionsIndex: number): void {
    switch (select) {
      case "repo":
        return this.#selectRepository(source, optionsIndex);
      case "file.directory":
        return this.#selectDirectory(source, optionsIndex);
      case "file.owners":
        return this.#selectOwners(source, optionsIndex);
    }
  }

  #selectRepository({ card, revision }: ResultSource, optionsIndex: number): void {
    this.#select({
      key: `${card.id}@${revision.typed}`,
      optionsIndex,
      repositoryId: card.id,
      revision: revision.typed,
      kind: "repository",
      json: "",
    });
  }

  #selectDirectory({ card, revision, document }: ResultSource, optionsIndex: number): void {
    const path = (this.#reader as ShardReader).path(document).toString();
    const directory = path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : "./";
    const members = this.#findTemplate(card, revision).members.toString();
    const json = `{"type":"path","path":${JSON.stringify(directory)}${members}}`;
    this.#select({
      key: `${card.id}@${revision.typed}:${directory}`,
      optionsIndex,
      repositoryId: card.id,
      revision: revision.typed,
      kind: "directory",
      json,
    });
  }

  #selectOwners({ card, revision, document }: ResultSource, optionsIndex: number): void {
    const commit = { repositoryId: card.id, commit: commitOfChoice(card, revision) };
    const owners = this.#people?.owners(commit, (this.#reader as ShardReader).path(document)) ?? [];
    for (const { kind, text } of owners) {
      const json = JSON.stringify({ type: "person", handle: "", email: "", [kind]: text });
      this.#select({
        key: `${kind}:${text.toLowerCase()}`,
        optionsIndex,
        repositoryId: card.id,
        revision: revision.typed,
        kind: "owner",
        json,
      });
    }
    if (owners.length > 0) return;
    this.#tally.unownedResults++;
    this.#hasTally = true;
  }

  #select(result: SelectedResult): void {
    const key = `${result.optionsIndex} ${result.key}`;
    if (this.#selectedKeys.has(key)) return;
    this.#selectedKeys.add(key);
    this.#selected.push(result);
    if (this.#selected.length >= selectedCountMax) this.flush();
  }

  /** Takes up to `wanted` matches of what the limit leaves; stops the search when it leaves too little. */
  #count(wanted: number): number {
    const before = this.#control.addMatches(wanted);
    const left = this.#options.matchCountMax - before;
    if (left < wanted) this.#control.stopAtLimit();
    return Math.max(0, Math.min(wanted, left));
  }

  #show(wanted: number): number {
    const left = this.#options.displayCountMax - this.#control.addDisplayed(wanted);
    return Math.max(0, Math.min(wanted, left));
  }

  #addToTally(
    { document, card, revision }: ResultSource,
    isContent: boolean,
    count: number,
    pathRowCount: number,
  ): void {
    const info = (this.#reader as ShardReader).documentInfo[document];
    this.#hasTally = true;
    this.#findTemplate(card, revision).matchCount += count;
    this.#languageMatches[unpackLanguage(info)] += count;
    const kinds = fileKindMaskOfInfo(info);
    if (kinds !== 0)
      for (let i = 0; i < fileKinds.length; i++) if ((kinds >>> i) & 1) this.#tally.fileKinds[i] += count;
    if (isContent) this.#tally.contentMatches += count;
    if (pathRowCount > 0 || !isContent) this.#tally.pathMatches += Math.max(1, pathRowCount);
  }

  #append({ document, content, card, revision }: ResultSource, rowFrom: number, rowTo: number, pathRows: Rows): void {
    const reader = this.#reader as ShardReader;
    const shape = this.#findTemplate(card, revision);
    const at = this.#nextResult();
    const words = this.#results;
    words[at + resultWords.pathFrom] = reader.pathStart[document];
    words[at + resultWords.pathTo] = reader.pathStart[document + 1] - 1;
    const head = pathRows.count === 0 ? shape : this.#writeHead(document, pathRows, shape);
    words[at + resultWords.headFrom] = head.from;
    words[at + resultWords.headTo] = head.to;
    const language = unpackLanguage(reader.documentInfo[document]);
    const { starts } = this.#tails as LanguageEndings;
    words[at + resultWords.tailFrom] = this.#tailsFrom + starts[language];
    words[at + resultWords.tailTo] = this.#tailsFrom + starts[language + 1];
    const hasContent = content < reader.contentCount;
    words[at + resultWords.contentFrom] = hasContent ? reader.contentStart[content] : 0;
    words[at + resultWords.contentTo] = hasContent ? reader.contentStart[content + 1] : 0;
    words[at + resultWords.linesBefore] = hasContent ? reader.contentFirstLine[content] : 0;
    words[at + resultWords.rowFrom] = rowFrom;
    words[at + resultWords.rowTo] = rowTo;
  }

  /** Moves the counts of repositories and languages into the tally. */
  #sumUp(): void {
    for (const shapes of this.#shapes.values()) {
      for (const shape of shapes.values()) {
        if (shape.matchCount > 0) increase(this.#tally.repositories, shape.key, shape.matchCount);
        shape.matchCount = 0;
      }
    }
    this.#languageMatches.forEach((matchCount, language) => {
      const name = this.#tails?.names[language] ?? "";
      if (matchCount > 0 && name !== "") increase(this.#tally.languages, name, matchCount);
      this.#languageMatches[language] = 0;
    });
  }

  /** Makes room for a result; returns where its words begin. */
  #nextResult(): number {
    const at = this.#resultCount++ * resultWordCount;
    if (at === this.#results.length) {
      const grown = new Uint32Array(this.#results.length * 2);
      grown.set(this.#results);
      this.#results = grown;
    }
    return at;
  }

  /** Where the members of a result with highlights in its path are among the fragments. */
  #writeHead(document: number, pathRows: Rows, shape: ResultTemplate): FragmentSpan {
    const reader = this.#reader as ShardReader;
    const key = reader.isPlainPath(document) ? keyOfPathRows(pathRows) : undefined;
    const known = key === undefined ? undefined : shape.heads.get(key);
    if (known !== undefined) return known;
    const from = this.#fragments.addAscii(pathMatches(reader.path(document), pathRows));
    this.#fragments.add(shape.members);
    const head = { from, to: this.#fragments.length };
    if (key !== undefined) shape.heads.set(key, head);
    return head;
  }

  #findTemplate(card: RepositorySummary, revision: RevisionChoice): ResultTemplate {
    if (this.#shape !== undefined && this.#shape.card === card && this.#shape.typed === revision.typed)
      return this.#shape;
    this.#shape = this.#shapes.get(card)?.get(revision.typed) ?? this.#addShape(card, revision);
    return this.#shape;
  }

  #addShape(card: RepositorySummary, revision: RevisionChoice): ResultTemplate {
    const members = encodeMembers(card, revision);
    const from = this.#fragments.add(members);
    const shape = {
      card,
      typed: revision.typed,
      key: `${card.id}@${revision.typed}`,
      members,
      from,
      to: this.#fragments.length,
      heads: new Map<number, FragmentSpan>(),
      matchCount: 0,
    };
    const known = this.#shapes.get(card);
    if (known === undefined) this.#shapes.set(card, new Map([[revision.typed, shape]]));
    else known.set(revision.typed, shape);
    return shape;
  }

  #forgetFragments(): void {
    this.#sumUp();
    this.#fragments.clear();
    this.#shapes.clear();
    this.#shape = undefined;
    this.#tails = makeLanguageEndings(this.#reader as ShardReader);
    this.#tailsFrom = this.#fragments.add(this.#tails.bytes);
    this.#languageMatches = new Array<number>(this.#tails.names.length).fill(0);
  }
}

function encodeMembers(card: RepositorySummary, revision: RevisionChoice): Buffer {
  const members = {
    repositoryID: card.id,
    repository: card.name,
    repoStars: card.stars > 0 ? card.stars : undefined,
    repoLastFetched: card.lastFetched === "" ? undefined : card.lastFetched,
    branches: [revision.typed],
    commit: commitOfChoice(card, revision) || undefined,
  };
  return Buffer.from(`,${JSON.stringify(members).slice(1, -1)}`);
}
