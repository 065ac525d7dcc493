import { BoundedMap } from "../base/bounded-map.js";
import { ShardReader } from "./shard-reader.js";

/** Maximum number of cached readers per thread; each consists of some kilobytes of views. */
const readerCountMax = 1024;

/**
 * Caches readers of mapped shards, so that a search does not check header and bounds again.
 *
 * Sound because shards never change and their ids are never reused: bytes at the same address under the same id are the
 * same bytes. Bytes at another address, such as those of a small shard, which is copied each time, get a new reader.
 */
export class ReaderCache {
  #readers = newMap();
  #faultCount = 0;

  /**
   * The reader is valid as long as `bytes` are. Readers created before a fault of the store are dropped, because their
   * bytes may be zeros by now.
   */
  open(id: number, bytes: Buffer, faultCount: number): ShardReader {
    if (faultCount !== this.#faultCount) this.#readers = newMap();
    this.#faultCount = faultCount;
    const known = this.#readers.get(id);
    if (known !== undefined && known.bytes.buffer === bytes.buffer && known.bytes.byteOffset === bytes.byteOffset)
      return known.reader;
    const reader = new ShardReader(id, bytes);
    this.#readers.set(id, { bytes, reader });
    return reader;
  }
}

function newMap(): BoundedMap<number, { readonly bytes: Uint8Array; readonly reader: ShardReader }> {
  return new BoundedMap(readerCountMax, () => 1);
}
