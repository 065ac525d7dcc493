import { shownSymbolKind } from "../../model/symbol-kind.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import { unpackLanguage } from "../../shard/format.js";
import type { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { ContentSymbols } from "../../shard/symbols/content-symbols.js";
import type { Rows } from "../match/rows.js";
import { findStarts } from "../match/symbol-rows.js";
import type { ResultList } from "./result-list.js";
import type { ResultSource } from "./result-source.js";

/** Further symbols of a file are in another match object. */
const symbolsOfMatchMax = 1000;

const newline = 10;

/** Columns are counted in this many bytes of a line. */
const columnBytesMax = 10_000;

/** A match object, and where writing continues after it; undefined if it is the last. */
interface EncodedMatch {
  readonly json: Buffer;
  readonly next: { readonly result: number; readonly rowsDone: number } | undefined;
}

/**
 * The match objects of results with symbols; `sources` are those of `results`, and `rowsDone` rows of the first one are
 * written already. `findMembers` returns what all results of a repository have.
 */
export function* encodeAll(
  view: SymbolView,
  kernel: Kernel,
  sources: readonly ResultSource[],
  results: ResultList,
  rows: Rows,
  rowsDone: number,
  findMembers: (source: ResultSource) => Buffer,
): Generator<EncodedMatch, void> {
  let done = rowsDone;
  for (let result = 0; result < results.count; result++) {
    const { rowFrom, rowTo } = results.rowsOf(result);
    const source = sources[result];
    do {
      const to = Math.min(rowTo, rowFrom + done + symbolsOfMatchMax);
      const json = encodeSymbols(view, kernel, source, findMembers(source), rows, rowFrom + done, to);
      done = to < rowTo ? to - rowFrom : 0;
      const following = done > 0 ? { result, rowsDone: done } : { result: result + 1, rowsDone: 0 };
      yield { json, next: following.result < results.count ? following : undefined };
    } while (done > 0);
  }
}

/**
 * The match object of a file with the symbols whose names are the rows `[rowFrom, rowTo)`, or of its path if there are
 * none. `members` are those that all results of a repository have.
 */
function encodeSymbols(
  view: SymbolView,
  kernel: Kernel,
  source: ResultSource,
  members: Buffer,
  rows: Rows,
  rowFrom: number,
  rowTo: number,
): Buffer {
  const { document, content: part, summary, revision } = source;
  const path = view.path(document).toString();
  const language = view.languages()[unpackLanguage(view.documentInfo[document])];
  const ending = language === "" ? "}" : `,"language":${JSON.stringify(language)}}`;
  const head = (type: string): string => `{"type":"${type}","path":${JSON.stringify(path)}${members.toString()}`;
  if (rowFrom === rowTo) return Buffer.from(`${head("path")}${ending}`);
  const url = JSON.stringify(makeUrl(summary.name, revision.typed, path)).slice(1, -1);
  const symbols = view.findSymbols(part, findStarts(rows, rowFrom, rowTo), kernel);
  const text = view.text.content.subarray(...textRange(view, part));
  const shown: string[] = [];
  for (let i = 0; i < symbols.names.length; i++) shown.push(encodeSymbol(symbols, i, url, text));
  return Buffer.from(`${head("symbol")},"symbols":[${shown.join()}]${ending}`);
}

function textRange({ text, symbols }: SymbolView, part: number): [from: number, to: number] {
  const content = symbols.parts.contents[part];
  return [text.contentStart[content], text.contentStart[content + 1]];
}

/** `url` is that of the file, escaped for JSON. */
function encodeSymbol(symbols: ContentSymbols, i: number, url: string, text: Buffer): string {
  const { place, name, containerName, kind, line } = describeSymbol(symbols, i, text);
  const container = containerName === "" ? '""' : JSON.stringify(containerName);
  return `{"url":"${url}?${place}","name":${JSON.stringify(name)},"containerName":${container},"kind":"${kind}","line":${line}}`;
}

/** A symbol as results show it; `place` is the end of its URL, such as `L2:17-2:25`, or `L2` if its column is not known. */
export function describeSymbol(symbols: ContentSymbols, i: number, text: Buffer) {
  const name = decode(symbols.names[i]);
  const line = symbols.lines[i];
  const column = findColumn(text, symbols.offsets[i]);
  return {
    place: column === 0 ? `L${line}` : `L${line}:${column}-${line}:${column + countCharacters(name)}`,
    name,
    containerName: decode(symbols.containers[i]),
    kind: shownSymbolKind(symbols.kinds[i]),
    line,
  };
}

/** Code points; a surrogate pair is one. */
function countCharacters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xdc00) count--;
  return count;
}

/** Characters before the offset in its line, plus 1; 0 if the name is not in its line. */
function findColumn(text: Buffer, offset: number): number {
  if (offset < 0) return 0;
  const start = offset === 0 ? 0 : text.lastIndexOf(newline, offset - 1) + 1;
  if (offset - start > columnBytesMax) return 0;
  let column = 1;
  for (let at = start; at < offset; at++) if ((text[at] & 0xc0) !== 0x80) column++;
  return column;
}

function makeUrl(repository: string, revision: string, path: string): string {
  const encode = (text: string): string => text.split("/").map(encodeURIComponent).join("/");
  return `/${repository}${revision === "" ? "" : `@${revision}`}/-/blob/${encode(path)}`;
}

/** A text of which each character is a byte. */
function decode(bytes: string): string {
  for (let i = 0; i < bytes.length; i++)
    if (bytes.charCodeAt(i) >= 0x80) return Buffer.from(bytes, "latin1").toString();
  return bytes;
}
