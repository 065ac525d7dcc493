import { assert } from "../../base/assert.js";
import type { SymbolRecord, SymbolFailure } from "../../model/shard-record.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import { copySymbolNames } from "../../native/kernel/portable-symbols.js";
import { RecordCursor } from "../../native/kernel/record-symbols.js";
import { crc32 } from "../../native/memory/memory.js";
import { toBytes } from "../shard-builder.js";
import { unitBytes } from "../format.js";
import type { ShardReader } from "../shard-reader.js";
import { findFoldExceptions, makeUnits, noPostings } from "../text-sections.js";
import { type ContentSymbols, findFault, symbolStates, type SymbolState } from "./content-symbols.js";
import { gatherNameKeys } from "./name-keys.js";
import { findParts } from "./parts.js";
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

/** The catalog, which is in memory, lists this many files of each shard for which ctags has failed. */
const listedFailuresMax = 20;

/** Builds the symbol value of one shard: `add` is called for each of its parts, in order, then `build` once. */
export class SymbolBuilder {
  readonly #kernel: Kernel | undefined;
  readonly #records = new RecordWriter();
  readonly #recordStarts: number[] = [0];
  readonly #nameStarts: number[] = [0];
  readonly #states: number[] = [];
  #symbolCount = 0;
  #failedCount = 0;

  /** Without a kernel, the value has no posting lists: every part is a candidate of every search. */
  constructor(kernel: Kernel | undefined) {
    this.#kernel = kernel;
  }

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
    if (findFault(code) !== undefined) this.#failedCount++;
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

  /** The value for a shard; `producer` is the program that found the symbols. */
  build(shard: ShardReader, producer: string): BuiltSymbols {
    const kinds = Buffer.from(this.#records.kinds.join("\n"), "latin1");
    const nameStarts = Uint32Array.from(this.#nameStarts);
    const names = this.#gatherNames(shard);
    const folds = findFoldExceptions(names, nameStarts);
    const { units } = makeUnits(nameStarts, unitBytes);
    const postings =
      this.#kernel === undefined ? noPostings : this.#kernel.buildPostings(names, units, units.length / 2);
    const nameKeys = gatherNameKeys(names, nameStarts);
    const pieces = [
      toBytes(nameStarts),
      toBytes(Uint32Array.from(this.#recordStarts)),
      Buffer.from(this.#states),
      Buffer.from(producer),
      kinds,
      toBytes(folds),
      toBytes(postings.keys),
      toBytes(postings.offsets),
      Buffer.from(postings.bytes),
      this.#records.bytes,
      toBytes(nameKeys.keys),
      toBytes(nameKeys.parts),
    ];
    const totalBytes = pieces.reduce((sum, piece) => sum + wordAligned(piece.length), symbolHeaderBytes);
    const bytes = Buffer.alloc(totalBytes);
    let at = symbolHeaderBytes;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += wordAligned(piece.length);
    }
    const set = (word: keyof typeof symbolHeader, value: number): number =>
      bytes.writeUInt32LE(value, symbolHeader[word] * 4);
    set("magic0", symbolMagic[0]);
    set("magic1", symbolMagic[1]);
    set("version", symbolFormatVersion);
    set("totalBytes", totalBytes);
    set("shardChecksum", shard.checksum);
    set("partCount", this.#states.length);
    set("symbolCount", this.#symbolCount);
    set("failedCount", this.#failedCount);
    set("producerBytes", Buffer.byteLength(producer));
    set("kindsBytes", kinds.length);
    set("recordsBytes", this.#records.length);
    set("foldCount", folds.length);
    set("keyCount", postings.keys.length);
    set("postingsBytes", postings.bytes.length);
    set("hasPostings", this.#kernel === undefined ? 0 : 1);
    set("nameKeyCount", nameKeys.keys.length);
    const checksum = crc32(bytes);
    set("crc", checksum);
    const counts = { symbolCount: this.#symbolCount, failedCount: this.#failedCount };
    const failures = this.#failedCount === 0 ? {} : { failures: this.#listFailures(shard) };
    return { bytes, record: { checksum, storedBytes: totalBytes, ...counts, ...failures, producer } };
  }

  /** The first files for which ctags has failed. */
  #listFailures(shard: ShardReader): SymbolFailure[] {
    const { firstDocuments } = findParts(shard);
    const failures: SymbolFailure[] = [];
    for (let part = 0; part < this.#states.length && failures.length < listedFailuresMax; part++) {
      const fault = findFault(this.#states[part]);
      if (fault === undefined) continue;
      const document = firstDocuments[part];
      const repositoryId = shard.repositories[shard.documentRepository[document]];
      failures.push({ repositoryId, path: shard.path(document).toString(), fault });
    }
    return failures;
  }

  /** The names of all parts, each followed by a newline. */
  #gatherNames(shard: ShardReader): Buffer {
    const { content, contentStart } = shard;
    const { contents, count } = findParts(shard);
    assert(count === this.#states.length, "every part of the shard was added");
    const names = Buffer.alloc(this.#nameStarts[count]);
    const kernel = this.#kernel ?? { copySymbolNames };
    const records: Uint8Array = this.#records.bytes;
    for (let part = 0; part < count; part++) {
      if (this.#nameStarts[part] === this.#nameStarts[part + 1]) continue;
      const record = records.subarray(this.#recordStarts[part], this.#recordStarts[part + 1]);
      const [textFrom, textTo] = [contentStart[contents[part]], contentStart[contents[part] + 1]];
      const [from, to] = [this.#nameStarts[part], this.#nameStarts[part + 1]];
      kernel.copySymbolNames(record, content, textFrom, textTo, names, from, to);
    }
    return names;
  }
}
