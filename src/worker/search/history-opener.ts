import { TrawlError } from "../../base/errors.js";
import { HistoryReader } from "../../history/history-reader.js";
import type { StoredHistory } from "../../protocol/history-messages.js";
import type { ShardSnapshot } from "../../store/shard-store.js";

/** Opens and verifies the history shards of the store that one thread searches. */
export class HistoryOpener {
  /** Ids of shards that were verified. A shard never changes, and its id is never given to another one. */
  #verified = new Set<number>();
  #faultCount = 0;

  /**
   * The reader is valid until the next read of the snapshot. A shard is verified when the thread uses it first, and again
   * after a fault of the store. Throws `corrupt-shard` when it is missing or damaged.
   */
  open(snapshot: ShardSnapshot, { id, checksum }: StoredHistory, faultCount: number): HistoryReader {
    if (faultCount !== this.#faultCount) this.#verified = new Set();
    this.#faultCount = faultCount;
    const bytes = snapshot.get(id);
    if (bytes === undefined)
      throw new TrawlError("corrupt-shard", `history shard ${id} is missing from the store; it will be built again`);
    const reader = new HistoryReader(id, bytes);
    reader.requireChecksum(checksum);
    if (this.#verified.has(id)) return reader;
    reader.verify("index");
    reader.verify("text");
    this.#verified.add(id);
    return reader;
  }
}
