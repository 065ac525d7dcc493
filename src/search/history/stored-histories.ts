import type { HistoryShardRecord } from "../../model/history-record.js";
import { historyParts, type StoredHistory } from "../../protocol/history-messages.js";

const verified = new WeakMap<HistoryShardRecord, Int32Array>();

/**
 * How search workers are told of history shards. They share what they have verified, for the life of the record: the
 * catalog never changes the record of a shard.
 */
export function toStoredHistories(records: readonly HistoryShardRecord[]): readonly StoredHistory[] {
  return records.map((record) => {
    let words = verified.get(record);
    if (words === undefined) {
      words = new Int32Array(new SharedArrayBuffer(4 * Object.keys(historyParts).length));
      verified.set(record, words);
    }
    return { id: record.id, checksum: record.checksum, verified: words };
  });
}
