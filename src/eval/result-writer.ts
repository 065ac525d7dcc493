import { uninitializedBytes } from "../base/bytes.js";
import type { RepositoryCard } from "../catalog/repository-cards.js";
import type { Kernel } from "../kernel/kernel.js";
import { fileKinds } from "../model/file-kind.js";
import { fileKindMaskOfInfo, languageNumberOf, newlineStepBytes } from "../shard/format.js";
import type { ShardReader } from "../shard/shard-reader.js";
import { Rows } from "./rows.js";
import { hasCredit } from "../task/credit.js";
import { controlWords, type RevisionChoice, type SearchOptions } from "../task/search-options.js";
import { emptyTally, increase, type Tally } from "../task/tally.js";

/** Capacity of a batch's buffer. A document whose matches need more goes on in a further match object. */
const bufferBytes = 256 * 1024;

/** Room kept for what closes a match object: language and brackets. */
const closingBytes = 1024;

/** A batch is sent when it holds this many selected results. */
const selectedCountMax = 256;

const newline = 10;

/** Finished JSON: elements of the `matches` array, comma-separated, and what they count as. */
export interface ResultBatch {
  /** Own memory, ready to be transferred. */
  readonly bytes: Uint8Array;
  readonly tally: Tally;
  /** Results of a `select:` that makes many matches one: the main thread keeps the first of each key, and counts it. */
  readonly selected: readonly SelectedResult[];
}

export interface SelectedResult {
  /** Equal for equal results, whichever worker found them. */
  readonly key: string;
  readonly repositoryId: number;
  readonly revision: string;
  /** The match object, or "" for a repository, which the main thread writes. */
  readonly json: string;
}

/** A result that needs more room than the client has read: where its rows go on. */
export interface RowProgress {
  readonly row: number;
  /** One past the last row that this result may write. */
  readonly rowTo: number;
}

/** What one result is written from. */
export interface ResultSource {
  readonly reader: ShardReader;
  readonly document: number;
  readonly content: number;
  readonly card: RepositoryCard;
  readonly revision: RevisionChoice;
  readonly languages: readonly LanguageTail[];
}

/** A language of the shard, and how a match object of it ends. */
export interface LanguageTail {
  readonly name: string;
  readonly tail: Buffer;
}

export function languageTail(name: string): LanguageTail {
  return { name, tail: Buffer.from(name === "" ? "}" : `,"language":${JSON.stringify(name)}}`) };
}

/** What all results of one repository and revision share. */
interface ResultShape {
  readonly card: RepositoryCard;
  readonly typed: string;
  /** Repository id, "@" and the revision as typed. */
  readonly key: string;
  /** Members from `repositoryID` on, up to the rows or the language. */
  readonly members: Buffer;
}

const contentHead = Buffer.from('{"type":"content","path":');
const pathHead = Buffer.from('{"type":"path","path":');
const lineRowsHead = Buffer.from(',"hunks":null,"lineMatches":[');
const chunkRowsHead = Buffer.from(',"hunks":null,"chunkMatches":[');

/**
 * Writes results as JSON bytes into batches, and keeps to the limits.
 *
 * A match counts as it is found: `matchCount` in the control block is shared by all workers, so their sum never
 * passes the limit by a single match. What lies past the display limit is counted, not written.
 */
export class ResultWriter {
  readonly #kernel: Kernel;
  readonly #options: SearchOptions;
  readonly #control: Int32Array;
  readonly #batchBytes: number;
  readonly #send: (batch: ResultBatch) => void;
  readonly #result = new Uint32Array(4);
  readonly #shapes = new Map<string, ResultShape>();
  /** The shape of the last result: most results of a shard are of one repository and revision. */
  #shape: ResultShape | undefined;
  #buffer: Buffer = uninitializedBytes(bufferBytes);
  #position = 0;
  #tally: Tally = emptyTally();
  #hasTally = false;
  #selected: SelectedResult[] = [];
  readonly #selectedKeys = new Set<string>();

  /** A batch is sent when it passes `batchBytes`. */
  constructor(kernel: Kernel, options: SearchOptions, control: Int32Array, batchBytes: number, send: (batch: ResultBatch) => void) {
    this.#kernel = kernel;
    this.#options = options;
    this.#control = control;
    this.#batchBytes = batchBytes;
    this.#send = send;
  }

  get isEmpty(): boolean {
    return this.#position === 0;
  }

  /** True when the limit is reached or the search is to stop for another reason. */
  get isStopped(): boolean {
    return Atomics.load(this.#control, controlWords.stop) !== 0;
  }

  /**
   * Counts and writes one document at one revision. `rows` are its content ranges, sorted and disjoint; `progress`
   * is where an earlier call left off. Returns where to go on when credit ran out on the way, else undefined.
   */
  write(source: ResultSource, rows: Rows, pathRows: Rows, progress: RowProgress | undefined): RowProgress | undefined {
    if (progress !== undefined) return this.#writeContent(source, rows, pathRows, progress);
    switch (this.#options.plan.select) {
      case "repo": this.#selectRepository(source); return undefined;
      case "file.directory": this.#selectDirectory(source); return undefined;
      case "content": if (rows.count === 0) return undefined; break;
      case "file":
      case "file.path":
        rows.clear();
        pathRows.clear();
        break;
      default: break;
    }
    const matchCount = rows.count > 0 ? rows.count : 1;
    const counted = this.#count(matchCount);
    if (counted === 0) return undefined;
    this.#addToTally(source, rows.count > 0, counted, pathRows.count);
    const shown = this.#show(counted);
    if (shown === 0) return undefined;
    if (rows.count === 0) {
      this.#writePath(source, pathRows);
      return undefined;
    }
    return this.#writeContent(source, rows, pathRows, { row: 0, rowTo: shown });
  }

  /** Sends what is there, if anything. */
  flush(): void {
    if (this.#position === 0 && !this.#hasTally && this.#selected.length === 0) return;
    // What is transferred is cut to size, so that memory in flight is what it is counted as.
    const bytes = new Uint8Array(this.#position);
    bytes.set(this.#buffer.subarray(0, this.#position));
    const batch = { bytes, tally: this.#tally, selected: this.#selected };
    this.#position = 0;
    this.#selected = [];
    this.#tally = emptyTally();
    this.#hasTally = false;
    Atomics.sub(this.#control, controlWords.credit, bytes.length);
    this.#send(batch);
  }

  #selectRepository({ card, revision }: ResultSource): void {
    this.#select({ key: `${card.id}@${revision.typed}`, repositoryId: card.id, revision: revision.typed, json: "" });
  }

  #selectDirectory(source: ResultSource): void {
    const { card, revision, reader, document } = source;
    const path = reader.pathOf(document).toString();
    const directory = path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : "./";
    const members = this.#shapeOf(source).members.toString();
    const json = `{"type":"path","path":${JSON.stringify(directory)}${members}}`;
    this.#select({ key: `${card.id}@${revision.typed}:${directory}`, repositoryId: card.id, revision: revision.typed, json });
  }

  #select(result: SelectedResult): void {
    if (this.#selectedKeys.has(result.key)) return;
    this.#selectedKeys.add(result.key);
    this.#selected.push(result);
    if (this.#selected.length >= selectedCountMax) this.flush();
  }

  /** Takes up to `wanted` matches of what the limit leaves; sets the flags when it leaves too little. */
  #count(wanted: number): number {
    const before = Atomics.add(this.#control, controlWords.matchCount, wanted);
    const left = this.#options.matchCountMax - before;
    if (left < wanted) {
      Atomics.store(this.#control, controlWords.limitHit, 1);
      Atomics.store(this.#control, controlWords.stop, 1);
    }
    return Math.max(0, Math.min(wanted, left));
  }

  #show(wanted: number): number {
    const left = this.#options.displayCountMax - Atomics.add(this.#control, controlWords.displayCount, wanted);
    return Math.max(0, Math.min(wanted, left));
  }

  #addToTally(source: ResultSource, isContent: boolean, count: number, pathRowCount: number): void {
    const info = source.reader.documentInfo[source.document];
    this.#hasTally = true;
    increase(this.#tally.repositories, this.#shapeOf(source).key, count);
    const language = source.languages[languageNumberOf(info)].name;
    if (language !== "") increase(this.#tally.languages, language, count);
    const kinds = fileKindMaskOfInfo(info);
    if (kinds !== 0) for (let i = 0; i < fileKinds.length; i++) if ((kinds >>> i) & 1) this.#tally.fileKinds[i] += count;
    if (isContent) this.#tally.contentMatches += count;
    if (pathRowCount > 0 || !isContent) this.#tally.pathMatches += Math.max(1, pathRowCount);
  }

  #writePath(source: ResultSource, pathRows: Rows): void {
    this.#makeRoom(this.#headBytes(source, pathRows));
    this.#openResult("path", source, pathRows);
    this.#closeResult(source);
    this.#flushIfFull();
  }

  /**
   * Writes rows `[progress.row, progress.rowTo)`. A result that does not fit in what is left of the batch begins the
   * next one; a result that does not fit in a whole batch goes on in a further match object of the same path.
   */
  #writeContent(source: ResultSource, rows: Rows, pathRows: Rows, progress: RowProgress): RowProgress | undefined {
    const { reader, content } = source;
    let { row } = progress;
    let lineStart = this.#lineStart(reader, content, rows.words[row * 2]);
    let lineNumber = this.#lineNumber(reader, content, lineStart);
    while (row < progress.rowTo) {
      this.#makeRoom(this.#headBytes(source, pathRows));
      const resultFrom = this.#position;
      this.#openResult("content", source, pathRows);
      const elementsFrom = this.#position;
      this.#encode(reader, content, rows, row, progress.rowTo, lineStart, lineNumber);
      const next = this.#result[1];
      if (next < progress.rowTo && resultFrom > 0) {
        this.#position = resultFrom;
        this.flush();
        continue;
      }
      if (next === row) {
        this.#position = resultFrom;
        this.#growBuffer(elementsFrom);
        continue;
      }
      this.#position = this.#result[0];
      this.#buffer[this.#position++] = 0x5d; // ]
      this.#closeResult(source);
      row = next;
      lineStart = this.#result[2];
      lineNumber = this.#result[3];
      if (row < progress.rowTo) {
        this.flush();
        if (this.isStopped) return undefined;
        if (!hasCredit(this.#control)) return { row, rowTo: progress.rowTo };
      }
    }
    this.#flushIfFull();
    return undefined;
  }

  #encode(reader: ShardReader, content: number, rows: Rows, row: number, rowTo: number, lineStart: number, lineNumber: number): void {
    const from = reader.contentStart[content];
    const to = reader.contentStart[content + 1];
    const { chunkMatches, contextLines, lineBytesMax } = this.#options;
    // The kernel writes up to the end of the array it is given, so the room for closing is held back here.
    const out = this.#buffer.subarray(0, this.#buffer.length - closingBytes);
    if (chunkMatches) {
      this.#kernel.encodeChunkMatches(reader.content, from, to, rows.words, row, rowTo, lineStart, lineNumber, contextLines, lineBytesMax, out, this.#position, this.#result);
    } else {
      this.#kernel.encodeLineMatches(reader.content, from, to, rows.words, row, rowTo, lineStart, lineNumber, lineBytesMax, out, this.#position, this.#result);
    }
  }

  /** Where the line that holds byte offset `at` of the shard's text starts. Most lines are short: a plain loop wins. */
  #lineStart(reader: ShardReader, content: number, at: number): number {
    const from = reader.contentStart[content];
    const text = reader.content;
    let start = at;
    while (start > from && text[start - 1] !== newline) start--;
    return start;
  }

  /** The 0-based number, within its content, of the line that starts at `lineStart`. */
  #lineNumber(reader: ShardReader, content: number, lineStart: number): number {
    const step = Math.floor(lineStart / newlineStepBytes);
    const before = reader.newlines[step] + this.#kernel.countNewlines(reader.content, step * newlineStepBytes, lineStart);
    return before - reader.contentFirstLine[content];
  }

  /** An upper bound on the bytes that a result has besides its elements. */
  #headBytes(source: ResultSource, pathRows: Rows): number {
    const { reader, document } = source;
    const pathBytes = reader.pathStart[document + 1] - reader.pathStart[document];
    return pathBytes * 6 + pathRows.count * 160 + this.#shapeOf(source).members.length + closingBytes + 256;
  }

  #makeRoom(byteCount: number): void {
    if (this.#position + byteCount <= this.#buffer.length) return;
    this.flush();
    if (byteCount > this.#buffer.length) this.#buffer = uninitializedBytes(byteCount);
  }

  /** Doubles the buffer for an element that alone is larger; the next batch begins with one of the usual size. */
  #growBuffer(keep: number): void {
    const grown = uninitializedBytes(this.#buffer.length * 2);
    this.#buffer.copy(grown, 0, 0, keep);
    this.#buffer = grown;
  }

  #flushIfFull(): void {
    if (this.#position < this.#batchBytes) return;
    this.flush();
    if (this.#buffer.length > bufferBytes) this.#buffer = uninitializedBytes(bufferBytes);
  }

  #openResult(type: "content" | "path", source: ResultSource, pathRows: Rows): void {
    const { reader, document } = source;
    if (this.#position > 0) this.#buffer[this.#position++] = 0x2c; // ,
    this.#append(type === "content" ? contentHead : pathHead);
    const pathFrom = reader.pathStart[document];
    const pathTo = reader.pathStart[document + 1] - 1;
    this.#position = this.#kernel.encodeString(reader.paths, pathFrom, pathTo, this.#buffer, this.#position);
    if (pathRows.count > 0) this.#append(Buffer.from(`,"pathMatches":[${pathRanges(reader.pathOf(document), pathRows)}]`));
    this.#append(this.#shapeOf(source).members);
    if (type === "content") this.#append(this.#options.chunkMatches ? chunkRowsHead : lineRowsHead);
  }

  #closeResult(source: ResultSource): void {
    this.#append(source.languages[languageNumberOf(source.reader.documentInfo[source.document])].tail);
  }

  #append(bytes: Buffer): void {
    this.#buffer.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  #shapeOf({ card, revision }: ResultSource): ResultShape {
    if (this.#shape !== undefined && this.#shape.card === card && this.#shape.typed === revision.typed) return this.#shape;
    const key = `${card.id}@${revision.typed}`;
    const shape = this.#shapes.get(key) ?? { card, typed: revision.typed, key, members: membersOf(card, revision) };
    this.#shapes.set(key, shape);
    this.#shape = shape;
    return shape;
  }
}

function membersOf(card: RepositoryCard, revision: RevisionChoice): Buffer {
  const members = {
    repositoryID: card.id,
    repository: card.name,
    repoStars: card.stars > 0 ? card.stars : undefined,
    repoLastFetched: card.lastFetched === "" ? undefined : card.lastFetched,
    branches: [revision.typed],
    commit: card.branches.find((branch) => branch.bit === revision.bit)?.commit,
  };
  return Buffer.from(`,${JSON.stringify(members).slice(1, -1)}`);
}

/** Ranges in a path as JSON; columns count code points, and a path is line 0. */
function pathRanges(path: Buffer, rows: Rows): string {
  const parts: string[] = [];
  for (let i = 0; i < rows.count; i++) {
    parts.push(`{"start":${pathLocation(path, rows.words[i * 2])},"end":${pathLocation(path, rows.words[i * 2 + 1])}}`);
  }
  return parts.join(",");
}

function pathLocation(path: Buffer, offset: number): string {
  const column = [...path.subarray(0, offset).toString()].length;
  return `{"offset":${offset},"line":0,"column":${column}}`;
}
