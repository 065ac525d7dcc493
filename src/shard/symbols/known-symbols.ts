import type { Kernel } from "../../native/kernel/kernel.js";
import type { ShardReader } from "../shard-reader.js";
import { findParts, type ShardParts } from "./parts.js";
import { type BuiltSymbols, SymbolBuilder } from "./symbol-builder.js";
import { SymbolReader } from "./symbol-reader.js";

interface KnownPart {
  readonly code: number;
  readonly record: Uint8Array;
  readonly nameBytes: number;
  readonly kinds: readonly string[];
}

/** The symbols of texts that are in some shards, by blob and language: other shards with the same texts copy them. */
export class KnownSymbols {
  readonly #parts = new Map<string, KnownPart>();
  #producer: string | undefined;
  #isMixed = false;

  /** Adds the symbols of a shard; `value` is kept. Throws like `SymbolReader`. */
  add(shard: ShardReader, value: Buffer): void {
    const reader = new SymbolReader(shard, value);
    reader.verify();
    this.#producer ??= reader.producer;
    if (this.#producer !== reader.producer) this.#isMixed = true;
    for (let part = 0; part < reader.parts.count; part++) {
      const nameBytes = reader.nameStarts[part + 1] - reader.nameStarts[part];
      const known = { code: reader.states[part], record: reader.record(part), nameBytes, kinds: reader.kinds };
      this.#parts.set(makeKey(shard, reader.parts, part), known);
    }
  }

  /** The symbols of a shard; undefined unless those of all its texts are known, and found by the same program. */
  symbolsOf(shard: ShardReader, kernel: Kernel): BuiltSymbols | undefined {
    if (this.#producer === undefined || this.#isMixed) return undefined;
    const parts = findParts(shard);
    const builder = new SymbolBuilder(kernel);
    for (let part = 0; part < parts.count; part++) {
      const known = this.#parts.get(makeKey(shard, parts, part));
      if (known === undefined) return undefined;
      builder.addCopy(known.code, known.record, known.nameBytes, known.kinds);
    }
    return builder.build(shard, this.#producer);
  }
}

function makeKey(shard: ShardReader, { firstDocuments, languages }: ShardParts, part: number): string {
  return `${shard.oid(firstDocuments[part])} ${shard.languages()[languages[part]]}`;
}
