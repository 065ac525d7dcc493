import { BoundedMap } from "../../base/bounded-map.js";
import { TrawlError } from "../../base/errors.js";
import { HistoryReader } from "../../history/history-reader.js";
import { historyParts, type StoredHistory } from "../../protocol/history-messages.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import type { ShardOpener } from "./shard-opener.js";

/** Maximum number of readers that a thread keeps; each consists of some kilobytes of views. */
const readerCountMax = 1024;

/** Opens and verifies the history shards of the store that one thread searches. */
export class HistoryOpener {
  #readers = newReaders();
  #faultCount = 0;

  /**
   * The reader is valid until the next read of the snapshot. A part of a shard is verified when it is first used in the
   * life of the process, and again after a fault of the store. Throws `corrupt-shard` when the shard is missing or damaged.
   */
  open(
    snapshot: ShardSnapshot,
    { id, checksum, verified }: StoredHistory,
    parts: readonly (keyof typeof historyParts)[],
    store: Pick<ShardOpener, "faultCount" | "requireNoFault">,
  ): HistoryReader {
    const bytes = snapshot.get(id);
    if (bytes === undefined)
      throw new TrawlError("corrupt-shard", `history shard ${id} is missing from the store; it will be built again`);
    const { faultCount } = store;
    const reader = this.#read(id, bytes, faultCount);
    reader.requireChecksum(checksum);
    for (const part of parts) {
      const word = historyParts[part];
      if (Atomics.load(verified, word) === faultCount + 1) continue;
      reader.verify(part);
      store.requireNoFault(faultCount, id);
      Atomics.store(verified, word, faultCount + 1);
    }
    return reader;
  }

  /** Sound for the reason that `ReaderCache` gives. */
  #read(id: number, bytes: Buffer, faultCount: number): HistoryReader {
    if (faultCount !== this.#faultCount) this.#readers = newReaders();
    this.#faultCount = faultCount;
    const known = this.#readers.get(id);
    if (known !== undefined && known.bytes.buffer === bytes.buffer && known.bytes.byteOffset === bytes.byteOffset)
      return known.reader;
    const reader = new HistoryReader(id, bytes);
    this.#readers.set(id, { bytes, reader });
    return reader;
  }
}

function newReaders(): BoundedMap<number, { readonly bytes: Uint8Array; readonly reader: HistoryReader }> {
  return new BoundedMap(readerCountMax, () => 1);
}
