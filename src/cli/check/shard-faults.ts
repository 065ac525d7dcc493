import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Catalog } from "../../catalog/catalog.js";
import { HistoryReader } from "../../history/history-reader.js";
import type { HistoryShardRecord } from "../../model/history-record.js";
import type { LiveShard } from "../../model/shard-record.js";
import { ShardReader } from "../../shard/shard-reader.js";
import type { ShardStore } from "../../store/shard-store.js";

const remedy = "the next start rebuilds it from the mirrors";

/** The remedy if checksums are correct, so that a start detects nothing. */
export const otherRemedy = "delete the folder shards before the next start, which rebuilds everything from the mirrors";

/**
 * Shards that are missing, damaged, different from those in the catalog, or unknown to it. If the store cannot be read,
 * only that is reported.
 */
export function* shardFaults(catalog: Catalog, store: ShardStore | undefined): Generator<string> {
  if (store === undefined) {
    if (catalog.shards().length > 0)
      yield `${catalog.shards().length} shards of the catalog are missing, because the shard store cannot be read: ${remedy}`;
    return;
  }
  for (const shard of catalog.shards()) {
    const fault = withShard(store, shard, (reader) => findFault(reader, shard));
    if (fault !== undefined) yield fault;
  }
  for (const record of catalog.historyShards()) {
    const fault = findHistoryFault(store, record);
    if (fault !== undefined) yield fault;
  }
  for (const id of store.ids()) {
    if (catalog.shard(id) === undefined && catalog.historyShard(id) === undefined)
      yield `shard ${id} is in the store but not in the catalog: the next start deletes it`;
  }
}

/** What is wrong with the shard; otherwise undefined. `look` receives its reader if one can be created. */
export function withShard(
  store: ShardStore,
  { record: { id, checksum } }: LiveShard,
  look: (reader: ShardReader) => string | undefined,
): string | undefined {
  const snapshot = store.read();
  try {
    const bytes = snapshot.get(id);
    if (bytes === undefined) return `shard ${id} is missing from the store: ${remedy}`;
    const reader = new ShardReader(id, bytes);
    reader.requireChecksum(checksum);
    return look(reader);
  } catch (error) {
    if (!(error instanceof TrawlError)) throw error;
    return errorMessage(error);
  } finally {
    snapshot.close();
  }
}

function findHistoryFault(store: ShardStore, { id, checksum, commitCount }: HistoryShardRecord): string | undefined {
  const snapshot = store.read();
  try {
    const bytes = snapshot.get(id);
    if (bytes === undefined) return `history shard ${id} is missing from the store: ${remedy}`;
    const reader = new HistoryReader(id, bytes);
    reader.requireChecksum(checksum);
    reader.verify("index");
    reader.verify("text");
    if (reader.commitCount === commitCount) return undefined;
    return `history shard ${id} has ${reader.commitCount} commits, but the catalog records ${commitCount}: ${otherRemedy}`;
  } catch (error) {
    if (!(error instanceof TrawlError)) throw error;
    return errorMessage(error);
  } finally {
    snapshot.close();
  }
}

function findFault(reader: ShardReader, { record }: LiveShard): string | undefined {
  reader.verify("index");
  reader.verify("content");
  if (reader.documentCount !== record.documentCount)
    return `shard ${record.id} has ${reader.documentCount} documents, but the catalog records ${record.documentCount}: ${otherRemedy}`;
  if (
    reader.repositories.length !== record.repositoryIds.length ||
    record.repositoryIds.some((id, i) => id !== 0 && id !== reader.repositories[i])
  ) {
    return `shard ${record.id} contains repositories ${[...reader.repositories].join(", ")}, but the catalog records ${record.repositoryIds.join(", ")}: ${otherRemedy}`;
  }
  return undefined;
}
