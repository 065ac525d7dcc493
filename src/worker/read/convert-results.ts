import { type FileHandle, open } from "node:fs/promises";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { ConvertedResults, ConvertResults } from "../../protocol/read-messages.js";
import { type ChunkMatch, pathOfMatch, type StreamMatch, type StreamRange } from "../../model/stream-events.js";
import type { ReadContext } from "./context.js";
import { escapeUrlPath } from "../../base/path-text.js";
import { csvField } from "../../base/text.js";
import { deserialize, serialize } from "node:v8";
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";

/** A part ends after the result that reaches one of these: it takes about 100 ms, and 100 MB of memory at most. */
const partSourceBytes = 8 << 20;
const partTargetBytes = 16 << 20;

/** The encoded rows of one part. */
interface ConvertedPart {
  readonly bytes: Uint8Array;
  readonly rowGroup: Uint8Array | undefined;
}

/** Converts one part, so that parts of several exports, and other reads, take turns. */
export async function answerConvertResults(request: ConvertResults, context: ReadContext): Promise<ConvertedResults> {
  const { from, to, targetBytes, rowGroups } = request;
  if (rowGroups !== undefined) {
    const end = await append(request, encodeFooter(targetBytes, rowGroups));
    return { to: from, targetBytes: end, rowGroup: undefined };
  }
  const source = from === to ? undefined : await open(request.source, "r");
  try {
    const reader = new LineReader(source, from, to);
    const convert = request.format === "csv" ? convertToCsv : convertToParquet;
    const { bytes, rowGroup } = await convert(request, readRows(request, reader, context));
    return { to: reader.at, targetBytes: await append(request, bytes), rowGroup };
  } finally {
    await source?.close();
  }
}

/** The rows of the match objects on the next lines, until a part is complete or its reader wants no more. */
async function* readRows({ from, baseUrl }: ConvertResults, reader: LineReader, { stop }: ReadContext) {
  while (reader.at - from < partSourceBytes) {
    const line = await reader.next();
    if (line === undefined) return;
    if (stop()) throw new TrawlError("cancelled", "the conversion of the results was stopped");
    yield [...makeRows(JSON.parse(line.toString()) as StreamMatch, baseUrl)];
  }
}

type RowLists = AsyncGenerator<readonly ResultRow[]>;

async function convertToCsv({ targetBytes }: ConvertResults, lists: RowLists): Promise<ConvertedPart> {
  const parts: Buffer[] = targetBytes === 0 ? [Buffer.from(csvHeader)] : [];
  let byteCount = 0;
  for await (const rows of lists) {
    const part = Buffer.from(rows.map(csvLine).join(""));
    parts.push(part);
    byteCount += part.length;
    if (byteCount >= partTargetBytes) break;
  }
  return { bytes: Buffer.concat(parts), rowGroup: undefined };
}

async function convertToParquet({ targetBytes }: ConvertResults, lists: RowLists): Promise<ConvertedPart> {
  const group = new RowGroup();
  let charCount = 0;
  for await (const rows of lists) {
    for (const row of rows) charCount += group.add(row);
    if (charCount >= partTargetBytes) break;
  }
  return group.encode(targetBytes);
}

/** Returns the size of the file. */
async function append(request: ConvertResults, bytes: Uint8Array): Promise<number> {
  const { target, targetBytes, targetBytesMax } = request;
  if (targetBytes + bytes.length > targetBytesMax)
    throw new TrawlError("storage", "there is no room for the converted results (jobs.exportBytes)");
  try {
    const file = await open(target, targetBytes === 0 ? "w" : "r+", 0o600);
    try {
      await file.truncate(targetBytes);
      for (let at = 0; at < bytes.length; )
        at += (await file.write(bytes, at, bytes.length - at, targetBytes + at)).bytesWritten;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new TrawlError("storage", `the converted results could not be written: ${errorMessage(error)}`);
  }
  return targetBytes + bytes.length;
}

/**
 * Longer texts and lists of ranges are cut: a cell of a spreadsheet holds as many characters (UTF-16 units), and the text of
 * a result may be a file in one line.
 */
export const cellCharsMax = 32_767;

/** One result as a row. Values that a result does not have are undefined. Documented in docs/query-syntax.md. */
export interface ResultRow {
  /** content, path, symbol, commit, diff, repository, or the type of another match object. */
  readonly kind: string;
  readonly repository?: string;
  /** The searched revision; a commit's own id is in `commit`. */
  readonly revision?: string;
  readonly commit?: string;
  readonly path?: string;
  readonly language?: string;
  /** From 1. */
  readonly line?: number;
  readonly matchCount: number;
  /** `LINE:COLUMN-LINE:COLUMN`, separated by blanks; lines and columns (code points) from 1, the end exclusive. */
  readonly ranges?: string;
  readonly text?: string;
  /** Whether `text` or `ranges` is not whole. */
  readonly isCut: boolean;
  readonly symbol?: string;
  readonly symbolKind?: string;
  readonly author?: string;
  readonly date?: string;
  readonly url?: string;
}

type Values = Omit<ResultRow, "isCut" | "ranges"> & {
  readonly ranges?: readonly string[];
  /** Of what was searched, whether a part is in the match object. */
  readonly isPart?: boolean;
};

/** The rows of a match object: one for each chunk, each symbol, and anything else that was found. */
export function* makeRows(match: StreamMatch, baseUrl: string): Generator<ResultRow> {
  const { type, repository, branches, commit, path, language } = match;
  const of = { kind: type, repository, revision: branches?.[0], commit, path, language };
  if (type === "commit" || type === "diff") return yield makeRow(commitValues(match, baseUrl));
  if (path === undefined) return yield makeRow(otherValues(match, baseUrl));
  const url = fileUrl(match, baseUrl);
  for (const { name, kind, line, url: symbolPath } of match.symbols ?? [])
    yield makeRow({ ...of, line, matchCount: 1, symbol: name, symbolKind: kind, url: baseUrl + symbolPath });
  for (const chunk of match.chunkMatches ?? []) yield makeRow({ ...of, ...chunkValues(chunk, url) });
  if (match.symbols !== undefined || match.chunkMatches !== undefined) return;
  const ranges = match.pathMatches ?? [];
  yield makeRow({ ...of, matchCount: Math.max(1, ranges.length), ranges: ranges.map(formatRange), url });
}

function chunkValues({ content, contentStart, ranges, contentTruncated }: ChunkMatch, url: string) {
  const line = contentStart.line + 1;
  return {
    line,
    matchCount: ranges.length,
    ranges: ranges.map(formatRange),
    text: content,
    isPart: contentTruncated === true,
    url: `${url}?L${line}`,
  };
}

/** The `content` of a commit is its message or its diff between two lines of a fence. */
function commitValues(match: StreamMatch, baseUrl: string): Values {
  const { repository, oid, authorName, authorDate, url = "", content = "", ranges = [], contentTruncated } = match;
  const [fence = ""] = /^```\w*\n/.exec(content) ?? [];
  const text = content.slice(fence.length, content.endsWith("\n```") ? -"\n```".length : undefined);
  return {
    kind: fence === "```diff\n" ? "diff" : "commit",
    repository,
    commit: oid,
    matchCount: Math.max(1, ranges.length),
    // Their lines count the fence as line 0.
    ranges: ranges.map(([line, from, length]) => `${line}:${from + 1}-${line}:${from + length + 1}`),
    text,
    isPart: contentTruncated === true,
    author: authorName,
    date: authorDate,
    url: baseUrl + url,
  };
}

function otherValues(match: StreamMatch, baseUrl: string): Values {
  const { type, repository, branches, repositoryMatches = [], description, handle, email } = match;
  return {
    kind: type === "repo" ? "repository" : type,
    repository,
    revision: branches?.[0],
    matchCount: Math.max(1, repositoryMatches.length),
    ranges: repositoryMatches.map(formatRange),
    text: description ?? handle ?? email,
    url: repository === undefined ? undefined : `${baseUrl}/${escapeUrlPath(repository)}`,
  };
}

function fileUrl(match: StreamMatch, baseUrl: string): string {
  const { repository = "", commit, branches } = match;
  const revision = commit ?? branches?.[0] ?? "";
  const at = revision === "" ? "" : `@${escapeUrlPath(revision)}`;
  return `${baseUrl}/${escapeUrlPath(repository)}${at}/-/blob/${escapeUrlPath(pathOfMatch(match))}`;
}

function formatRange({ start, end }: StreamRange): string {
  return `${start.line + 1}:${start.column + 1}-${end.line + 1}:${end.column + 1}`;
}

function makeRow({ ranges, text, isPart = false, ...others }: Values): ResultRow {
  const shownRanges = joinRanges(ranges ?? []);
  const shownText = text === undefined || text.length <= cellCharsMax ? text : cutText(text);
  const isCut = isPart || shownText !== text || shownRanges.count < (ranges?.length ?? 0);
  return { ...others, ranges: shownRanges.text, text: shownText, isCut };
}

/** As many whole ranges as a cell holds. */
function joinRanges(ranges: readonly string[]): { readonly text: string | undefined; readonly count: number } {
  let length = 0;
  let count = 0;
  while (count < ranges.length && (length += ranges[count].length + 1) <= cellCharsMax + 1) count++;
  return { text: count === 0 ? undefined : ranges.slice(0, count).join(" "), count };
}

/** Does not divide a character that has two units. */
function cutText(text: string): string {
  const last = text.charCodeAt(cellCharsMax - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? cellCharsMax - 1 : cellCharsMax);
}

/** A column of a table of results, in every format. */
export interface ResultColumn {
  readonly name: string;
  readonly type: "text" | "integer" | "boolean";
  readonly read: (row: ResultRow) => string | number | boolean | undefined;
}

/** Columns are only ever added at the end. */
const resultColumns: readonly ResultColumn[] = [
  { name: "kind", type: "text", read: ({ kind }) => kind },
  { name: "repository", type: "text", read: ({ repository }) => repository },
  { name: "revision", type: "text", read: ({ revision }) => revision },
  { name: "commit", type: "text", read: ({ commit }) => commit },
  { name: "path", type: "text", read: ({ path }) => path },
  { name: "language", type: "text", read: ({ language }) => language },
  { name: "line", type: "integer", read: ({ line }) => line },
  { name: "match_count", type: "integer", read: ({ matchCount }) => matchCount },
  { name: "ranges", type: "text", read: ({ ranges }) => ranges },
  { name: "text", type: "text", read: ({ text }) => text },
  { name: "cut", type: "boolean", read: ({ isCut }) => isCut },
  { name: "symbol", type: "text", read: ({ symbol }) => symbol },
  { name: "symbol_kind", type: "text", read: ({ symbolKind }) => symbolKind },
  { name: "author", type: "text", read: ({ author }) => author },
  { name: "date", type: "text", read: ({ date }) => date },
  { name: "url", type: "text", read: ({ url }) => url },
];

const lineEnd = "\r\n";

/** The first line of a table. */
export const csvHeader = resultColumns.map(({ name }) => name).join(",") + lineEnd;

export function csvLine(row: ResultRow): string {
  return resultColumns.map(({ read }) => csvField(String(read(row) ?? ""))).join(",") + lineEnd;
}

type RowGroups = ParquetWriter["row_groups"];

/** What precedes the first row group: the constructor of the library's writer writes it. */
const magicBytes = 4;

/** Only of these is the smallest and the largest value stored in each row group, so that readers can leave out groups. */
const columnsWithStatistics: ReadonlySet<string> = new Set(["kind", "repository", "path"]);
const statisticsBytesMax = 64;

const schema: SchemaElement[] = [
  { name: "results", num_children: resultColumns.length },
  ...resultColumns.map(({ name, type }): SchemaElement => {
    const repetition_type = "OPTIONAL";
    if (type === "integer") return { name, repetition_type, type: "INT32" };
    if (type === "boolean") return { name, repetition_type, type: "BOOLEAN" };
    return { name, repetition_type, type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } };
  }),
];

/** Collects rows for one row group, as columns. */
class RowGroup {
  readonly #columns = resultColumns.map((column) => ({ column, data: [] as ReturnType<ResultColumn["read"]>[] }));

  /** Returns the number of characters that were added. */
  add(row: ResultRow): number {
    let charCount = 0;
    for (const { column, data } of this.#columns) {
      const value = column.read(row);
      data.push(value);
      if (typeof value === "string") charCount += value.length;
    }
    return charCount;
  }

  /** Encodes the group as what follows `offset` of the file, and describes it for `encodeFooter`. */
  encode(offset: number): { readonly bytes: Uint8Array; readonly rowGroup: Uint8Array } {
    const { bytes, writer } = startAt(offset);
    const rowCount = this.#columns[0].data.length;
    const columnData = this.#columns.map(({ column: { name }, data }) => ({
      name,
      data,
      offsetIndex: false,
      statistics: columnsWithStatistics.has(name),
    }));
    if (rowCount > 0) void writer.write({ columnData, rowGroupSize: rowCount });
    return { bytes: bytes.getBytes(), rowGroup: serialize(writer.row_groups) };
  }
}

/** What follows the row groups, at `offset`. `groups` are those that `encode` returned, in their order. */
function encodeFooter(offset: number, groups: readonly Uint8Array[]): Uint8Array {
  const { bytes, writer } = startAt(offset);
  writer.row_groups = groups.flatMap((group) => deserialize(group) as RowGroups);
  writer.num_rows = writer.row_groups.reduce((sum, group) => sum + group.num_rows, 0n);
  void writer.finish();
  return bytes.getBytes();
}

/** A writer of the library that continues a file. */
function startAt(offset: number): { readonly bytes: ByteWriter; readonly writer: ParquetWriter } {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema,
    createdBy: "trawl",
    statisticsTruncateLength: statisticsBytesMax,
  });
  if (offset > 0) {
    bytes.index = 0;
    bytes.offset = offset;
  } else if (bytes.offset !== magicBytes) throw new RangeError("the library begins a file in another way");
  return { bytes, writer };
}

const newline = 10;
const readBytes = 1 << 20;
/** The searcher writes large documents as several results, so that only a very long line of text reaches this. */
const lineBytesMax = 32 << 20;

/** Reads the lines of a part of a file one after another, with memory for one line and one read. */
export class LineReader {
  readonly #file: FileHandle | undefined;
  readonly #to: number;
  #buffer = Buffer.alloc(readBytes);
  /** Of the file. */
  #readTo: number;
  #from = 0;
  #end = 0;

  /** `from` and `to` are byte offsets between lines; without a file they are equal. */
  constructor(file: FileHandle | undefined, from: number, to: number) {
    this.#file = file;
    this.#readTo = from;
    this.#to = to;
  }

  /** The offset in the file after the last line that was returned. */
  get at(): number {
    return this.#readTo - (this.#end - this.#from);
  }

  /** The next line without its newline, valid until the next call; undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    for (let searched = this.#from; ; ) {
      const found = this.#buffer.subarray(0, this.#end).indexOf(newline, searched);
      if (found >= 0) {
        const line = this.#buffer.subarray(this.#from, found);
        this.#from = found + 1;
        return line;
      }
      if (this.#readTo === this.#to && this.#from === this.#end) return undefined;
      const held = this.#end - this.#from;
      await this.#read();
      searched = held;
    }
  }

  async #read(): Promise<void> {
    const held = this.#buffer.subarray(this.#from, this.#end);
    if (held.length > lineBytesMax)
      throw new TrawlError(
        "bad-request",
        `a result has more than ${lineBytesMax >> 20} MiB, which is too much for a row: read the results as JSON lines`,
      );
    const space = held.length * 2 > this.#buffer.length ? Buffer.alloc(this.#buffer.length * 2) : this.#buffer;
    held.copy(space);
    this.#buffer = space;
    this.#from = 0;
    const byteCount = Math.min(space.length - held.length, this.#to - this.#readTo);
    const bytesRead = (await this.#file?.read(space, held.length, byteCount, this.#readTo))?.bytesRead ?? 0;
    if (bytesRead === 0) throw new TrawlError("storage", "the results of the search job on the disk are cut off");
    this.#readTo += bytesRead;
    this.#end = held.length + bytesRead;
  }
}
