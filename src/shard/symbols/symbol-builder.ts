import { assert } from "../../base/assert.js";
import type { SymbolRecord } from "../../model/shard-record.js";
import { crc32 } from "../../native/memory/memory.js";
import { type ContentSymbols, isFailedState, symbolStates, type SymbolState } from "./content-symbols.js";
import { RecordCursor } from "./record-cursor.js";
import { RecordWriter } from "./record-writer.js";
import {
  hasStoredNames,
  symbolFormatVersion,
  symbolHeader,
  symbolHeaderBytes,
  symbolMagic,
  wordAligned,
} from "./symbol-format.js";

/** A symbol value, and what the catalog records of it. */
export interface BuiltSymbols {
  readonly bytes: Buffer;
  readonly record: SymbolRecord;
}

/** Builds the symbol value of one shard: `add` is called for each of its parts, in order, then `build` once. */
export class SymbolBuilder {
  readonly #records = new RecordWriter();
  readonly #recordStarts: number[] = [0];
  readonly #nameStarts: number[] = [0];
  readonly #states: number[] = [];
  #symbolCount = 0;
  #failedCount = 0;

  /** The symbols are undefined unless the state is `extracted`. */
  add(state: SymbolState, symbols: ContentSymbols | undefined): void {
    assert((state === "extracted") === (symbols !== undefined), "a part has symbols or a reason why not");
    let code: number = symbolStates[state];
    let nameBytes = 0;
    if (symbols !== undefined && symbols.names.length > 0) {
      if (this.#records.write(symbols)) code |= hasStoredNames;
      for (const name of symbols.names) nameBytes += name.length + 1;
      this.#symbolCount += symbols.names.length;
    }
    this.#push(code, nameBytes);
  }

  #push(code: number, nameBytes: number): void {
    if (isFailedState(code & ~hasStoredNames)) this.#failedCount++;
    this.#states.push(code);
    this.#recordStarts.push(this.#records.length);
    this.#nameStarts.push(this.#nameStarts[this.#nameStarts.length - 1] + nameBytes);
  }

  /** Adds a part that another value has: its state as stored, its record, and the size of its names. */
  addCopy(code: number, record: Uint8Array, nameBytes: number, kinds: readonly string[]): void {
    if (record.length > 0) {
      this.#symbolCount += new RecordCursor(record).number();
      this.#records.copy(record, kinds);
    }
    this.#push(code, nameBytes);
  }

  /** `shardChecksum` identifies the shard, `producer` the program that found the symbols. */
  build(shardChecksum: number, producer: string): BuiltSymbols {
    const kinds = Buffer.from(this.#records.kinds.join("\n"), "latin1");
    const pieces = [
      Buffer.from(Uint32Array.from(this.#nameStarts).buffer),
      Buffer.from(Uint32Array.from(this.#recordStarts).buffer),
      Buffer.from(this.#states),
      Buffer.from(producer),
      kinds,
      this.#records.bytes,
    ];
    const totalBytes = pieces.reduce((sum, piece) => sum + wordAligned(piece.length), symbolHeaderBytes);
    const bytes = Buffer.alloc(totalBytes);
    let at = symbolHeaderBytes;
    for (const piece of pieces) {
      piece.copy(bytes, at);
      at += wordAligned(piece.length);
    }
    const set = (word: keyof typeof symbolHeader, value: number): number =>
      bytes.writeUInt32LE(value, symbolHeader[word] * 4);
    set("magic0", symbolMagic[0]);
    set("magic1", symbolMagic[1]);
    set("version", symbolFormatVersion);
    set("totalBytes", totalBytes);
    set("shardChecksum", shardChecksum);
    set("partCount", this.#states.length);
    set("symbolCount", this.#symbolCount);
    set("failedCount", this.#failedCount);
    set("producerBytes", Buffer.byteLength(producer));
    set("kindsBytes", kinds.length);
    set("recordsBytes", this.#records.length);
    const checksum = crc32(bytes);
    set("crc", checksum);
    const counts = { symbolCount: this.#symbolCount, failedCount: this.#failedCount };
    return { bytes, record: { checksum, storedBytes: totalBytes, ...counts, producer } };
  }
}
