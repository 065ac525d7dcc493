import { HistoryReader } from "../../history/history-reader.js";
import type { StoredShard } from "../../model/shard-record.js";
import type { CheckTask } from "../../protocol/ingest-messages.js";
import { ShardReader } from "../../shard/shard-reader.js";

/** The reader of the bytes. Throws `corrupt-shard` or `format-version` unless the bytes are those of the shard to which the catalog refers. */
export function verifyStored(
  { id, checksum }: StoredShard,
  isHistory: boolean,
  bytes: Buffer,
  part: CheckTask["part"],
): ShardReader | HistoryReader {
  const reader = isHistory ? new HistoryReader(id, bytes) : new ShardReader(id, bytes);
  reader.requireChecksum(checksum);
  if (part === "headers") return reader;
  reader.verify("index");
  if (reader instanceof HistoryReader) reader.verify("text");
  else reader.verify("content");
  return reader;
}
