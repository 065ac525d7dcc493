import { serializeError } from "../../base/errors.js";
import { populate } from "../../native/memory/memory.js";
import type { WarmTask, WarmTaskResult } from "../../protocol/messages.js";
import { pressureWords } from "../../protocol/control-block.js";
import { ShardTable } from "../../protocol/shard-table.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import type { SearchThread } from "./search-thread.js";

/** Bytes read between two checks for waiting slices: 8 ms from a disk that reads 1 GB/s. */
const pieceBytes = 8 * 1024 * 1024;

/** Reads one part of a shard into memory and verifies it. Checks after each piece of content whether to yield. */
export function warmShard(thread: SearchThread, snapshot: ShardSnapshot, task: WarmTask): WarmTaskResult {
  const table = new ShardTable(task.table);
  const isWanted = (): boolean =>
    Atomics.load(task.stop, 0) === 0 && Atomics.load(thread.pressure, pressureWords.all) === 0;
  if (!isWanted()) return { isDone: false, failures: [] };
  try {
    if (task.part === "symbols") {
      // Damaged symbols are reported by the search that needs them, and by the check of shards.
      const { symbols } = thread.shards.openWithRecords(snapshot, table, task.row, task.filter);
      if (symbols !== undefined) populate(symbols.bytes);
      return { isDone: true, failures: [] };
    }
    const { reader, checkContent } = thread.shards.open(snapshot, table, task.row, task.filter);
    if (task.part === "content") {
      for (let from = 0; from < reader.content.length; from += pieceBytes) {
        populate(reader.content.subarray(from, from + pieceBytes));
        if (!isWanted()) return { isDone: false, failures: [] };
      }
      checkContent();
    }
    return { isDone: true, failures: [] };
  } catch (error) {
    return { isDone: true, failures: [{ shardId: table.shardId(task.row), error: serializeError(error) }] };
  }
}
