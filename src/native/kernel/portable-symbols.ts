import { utf8Bytes } from "../../base/bytes.js";
import { decodePath, escapeUrlPart } from "../../base/path-text.js";
import { JsonWriter, Columns } from "./portable-json.js";
import { countNewlines } from "./portable-scan.js";
import { RecordSymbols } from "./record-symbols.js";
import { symbolResultWordCount, symbolResultWords, type SymbolsRequest, placeWordCount } from "./symbol-kernel.js";

const newline = 10;

/** Further symbols of a file are in another match object. */
const symbolsOfObjectMax = 1000;

/** Columns are counted in this many bytes of a line. */
const columnBytesMax = 10_000;

export function copySymbolNames(
  record: Uint8Array,
  text: Uint8Array,
  textFrom: number,
  textTo: number,
  out: Uint8Array,
  outFrom: number,
  outTo: number,
): void {
  let at = outFrom;
  const symbols = new RecordSymbols(record, { from: textFrom, to: textTo });
  while (symbols.next()) {
    const { length, from } = symbols;
    if (at + length >= outTo) throw new RangeError("a part has more names than space for them");
    if (symbols.isStored) out.set(symbols.stored, at);
    else for (let k = 0; k < length; k++) out[at + k] = text[from + k];
    at += length;
    out[at++] = newline;
  }
  if (at !== outTo) throw new RangeError("a part has fewer names than space for them");
}

export function symbolKinds(
  records: Uint8Array,
  recordFrom: number,
  recordTo: number,
  namesFrom: number,
  rows: Uint32Array,
  rowFrom: number,
  rowTo: number,
  out: Uint32Array,
): void {
  const record = records.subarray(recordFrom, recordTo);
  const walk = new NameWalk(new RecordSymbols(record, { from: 0, to: Number.MAX_SAFE_INTEGER }));
  for (let row = rowFrom; row < rowTo; row++) {
    walk.seek(rows[2 * row] - namesFrom);
    out[row - rowFrom] = walk.symbols.kind;
  }
}

export function encodeSymbols(request: SymbolsRequest): boolean {
  const { results, resultCount, pauseAt, cursor } = request;
  while (cursor[0] < resultCount) {
    const words = results.subarray(cursor[0] * symbolResultWordCount, (cursor[0] + 1) * symbolResultWordCount);
    const result = new SymbolResult(request, words);
    const count = words[symbolResultWords.rowTo] - words[symbolResultWords.rowFrom];
    do {
      if (cursor[1] > 0 && cursor[2] >= pauseAt) return false;
      if (!result.writeObject(cursor)) return false;
    } while (cursor[1] < count);
    cursor[0]++;
    cursor[1] = 0;
    if (cursor[2] >= pauseAt && cursor[0] < resultCount) return false;
  }
  return true;
}

/** Finds the symbols whose names begin at places that ascend. */
class NameWalk {
  readonly symbols: RecordSymbols;
  /** The container of the symbol that was found: 1 for none, otherwise 2 plus its number. */
  reference = 1;
  #nameStart = 0;

  constructor(symbols: RecordSymbols) {
    this.symbols = symbols;
  }

  /** Throws `RangeError` if no name begins at `start`. */
  seek(start: number): void {
    const { symbols } = this;
    while (this.#nameStart <= start && symbols.next()) {
      this.reference = symbols.reference || this.reference;
      const begins = this.#nameStart === start;
      this.#nameStart += symbols.length + 1;
      if (begins) return;
    }
    throw new RangeError("no name begins there");
  }
}

/** Writes the objects of one result. */
class SymbolResult {
  readonly #request: SymbolsRequest;
  readonly #result: Uint32Array;
  readonly #record: Uint8Array;
  readonly #containers: Uint8Array[] = [];
  readonly #link: Uint8Array;

  constructor(request: SymbolsRequest, result: Uint32Array) {
    this.#request = request;
    this.#result = result;
    this.#record = request.records.subarray(result[symbolResultWords.recordFrom], result[symbolResultWords.recordTo]);
    const link = request.fragments.subarray(result[symbolResultWords.linkFrom], result[symbolResultWords.linkTo]);
    const path = encodePath(request.paths, result[symbolResultWords.pathFrom], result[symbolResultWords.pathTo]);
    this.#link = Buffer.concat([link, utf8Bytes(`${path}?`)]);
  }

  /** Writes an object of the rows that are left; returns false if it, or not all of it, fitted. */
  writeObject(cursor: Uint32Array): boolean {
    const { fragments, out } = this.#request;
    const start = cursor[2];
    const rowFrom = this.#result[symbolResultWords.rowFrom];
    const rest = this.#result[symbolResultWords.rowTo] - rowFrom - cursor[1];
    const tail = fragments.subarray(this.#result[symbolResultWords.tailFrom], this.#result[symbolResultWords.tailTo]);
    if (rest === 0) {
      const json = this.#begin(new JsonWriter(out, start), "path");
      json.raw(tail);
      if (!json.isFull) cursor[2] = json.at;
      return !json.isFull;
    }
    const closingBytes = 1 + tail.length;
    if (out.length - start < closingBytes) return false;
    const json = this.#begin(new JsonWriter(out.subarray(0, out.length - closingBytes), start), "symbol");
    json.raw(utf8Bytes(',"symbols":['));
    let end = json.at;
    let count = 0;
    const walk = new NameWalk(this.#symbols());
    while (!json.isFull && count < symbolsOfObjectMax && count < rest) {
      walk.seek(this.#request.rows[2 * (rowFrom + cursor[1] + count)] - this.#result[symbolResultWords.namesFrom]);
      if (count > 0) json.raw(utf8Bytes(","));
      this.#writeSymbol(json, walk);
      if (json.isFull) break;
      end = json.at;
      count++;
    }
    if (count === 0 || (json.isFull && start > 0)) return false;
    const ending = new JsonWriter(out, end);
    ending.raw(utf8Bytes("]"));
    ending.raw(tail);
    cursor[1] += count;
    cursor[2] = ending.at;
    return !json.isFull;
  }

  #symbols(): RecordSymbols {
    const range = { from: this.#result[symbolResultWords.textFrom], to: this.#result[symbolResultWords.textTo] };
    this.#containers.length = 0;
    return new RecordSymbols(this.#record, range, this.#containers);
  }

  #begin(json: JsonWriter, type: string): JsonWriter {
    const { paths, fragments } = this.#request;
    if (json.at > 0) json.raw(utf8Bytes(","));
    json.raw(utf8Bytes(`{"type":"${type}","path":"`));
    json.string(paths, this.#result[symbolResultWords.pathFrom], this.#result[symbolResultWords.pathTo]);
    json.raw(utf8Bytes('"'));
    json.raw(fragments.subarray(this.#result[symbolResultWords.headFrom], this.#result[symbolResultWords.headTo]));
    return json;
  }

  #writeSymbol(json: JsonWriter, { symbols, reference }: NameWalk): void {
    const { fragments, kindStarts } = this.#request;
    if (symbols.kind + 1 >= kindStarts.length) throw new RangeError("no such kind");
    const name = symbols.isStored ? symbols.stored : this.#request.text.subarray(symbols.from, symbols.to);
    const line = symbols.isStored ? symbols.line : this.#lineOf(symbols.from);
    const column = symbols.isStored ? 0 : this.#columnOf(symbols.from);
    const end = column + new Columns(name, 0, name.length).columnAt(name.length);
    json.raw(utf8Bytes('{"url":"'));
    json.raw(this.#link);
    json.raw(utf8Bytes(column === 0 ? `L${line}` : `L${line}:${column}-${line}:${end}`));
    json.raw(utf8Bytes('","name":"'));
    json.string(name, 0, name.length);
    json.raw(utf8Bytes('","containerName":"'));
    if (reference > 1) {
      const container = this.#containers[reference - 2] as Uint8Array | undefined;
      if (container === undefined) throw new RangeError("no such container");
      json.string(container, 0, container.length);
    }
    json.raw(utf8Bytes('","kind":"'));
    json.raw(fragments.subarray(kindStarts[symbols.kind], kindStarts[symbols.kind + 1]));
    json.raw(utf8Bytes(`","line":${line}}`));
  }

  /** From 1. */
  #lineOf(offset: number): number {
    const { text, newlines, newlineStep } = this.#request;
    const step = Math.floor(offset / newlineStep);
    const before = newlines[step] + countNewlines(text, step * newlineStep, offset);
    return (before - this.#result[symbolResultWords.linesBefore] + 1) >>> 0;
  }

  /** From 1; 0 if the line is too long. */
  #columnOf(offset: number): number {
    const { text } = this.#request;
    const textFrom = this.#result[symbolResultWords.textFrom];
    const floor = Math.max(textFrom, offset - columnBytesMax - 1);
    const start = text.subarray(floor, offset).lastIndexOf(newline) + 1 + floor;
    if (offset - start > columnBytesMax) return 0;
    let column = 1;
    for (let at = start; at < offset; at++) if ((text[at] & 0xc0) !== 0x80) column++;
    return column;
  }
}

/** The path, encoded for a URL except for its slashes; bytes that are not UTF-8 one by one. */
function encodePath(paths: Uint8Array, from: number, to: number): string {
  return decodePath(paths.subarray(from, to)).split("/").map(escapeUrlPart).join("/");
}

export function symbolsAtRows(
  records: Uint8Array,
  recordFrom: number,
  recordTo: number,
  textFrom: number,
  textTo: number,
  rows: Uint32Array,
  rowFrom: number,
  rowTo: number,
  symbolsMax: number,
  out: Uint32Array,
): number {
  if (rowFrom === rowTo) return 0;
  const found = { count: 0 };
  try {
    const symbols = new RecordSymbols(records.subarray(recordFrom, recordTo), { from: textFrom, to: textTo });
    findSymbols(symbols, rows, rowFrom, rowTo, symbolsMax, out, found);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return found.count;
}

function findSymbols(
  symbols: RecordSymbols,
  rows: Uint32Array,
  rowFrom: number,
  rowTo: number,
  symbolsMax: number,
  out: Uint32Array,
  found: { count: number },
): void {
  const end = rows[2 * rowTo - 1];
  const countMax = Math.floor(out.length / placeWordCount);
  let reference = 1;
  let row = rowFrom;
  let seen = 0;
  while (seen < symbolsMax && found.count < countMax && symbols.next()) {
    const { from, to, kind, isStored } = symbols;
    if (symbols.reference > 0) reference = symbols.reference;
    if (isStored) continue;
    if (from >= end) return;
    seen++;
    while (row < rowTo && rows[2 * row] < from) row++;
    if (row === rowTo) return;
    if (rows[2 * row + 1] <= to) out.set([from, to, kind, reference], placeWordCount * found.count++);
  }
}
