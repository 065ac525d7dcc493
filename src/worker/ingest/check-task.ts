import { serializeError, TrawlError } from "../../base/errors.js";
import type { ShardFailure } from "../../protocol/messages.js";
import type { CheckTask, CheckTaskResult } from "../../protocol/ingest-messages.js";
import { ShardReader } from "../../shard/shard-reader.js";
import { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { stepAllowanceMs, timeAllowance } from "./allowances.js";
import type { IngestThread } from "./ingest-thread.js";
import { verifyStored } from "./verify-stored.js";

/** Verifies stored shards. */
export async function runCheck({ store, activity }: IngestThread, task: CheckTask): Promise<CheckTaskResult> {
  const failures: ShardFailure[] = [];
  const lostSymbols: number[] = [];
  for (const { id: shardId, checksum, symbols } of task.shards) {
    if (Atomics.load(task.stop, 0) !== 0) throw new TrawlError("cancelled", "the check was stopped");
    const snapshot = store.read();
    try {
      const value = symbols === undefined ? undefined : snapshot.symbols(shardId);
      const bytes = snapshot.get(shardId);
      if (bytes === undefined) throw new TrawlError("corrupt-shard", `shard ${shardId} is missing from the store`);
      activity.allow(stepAllowanceMs + timeAllowance(bytes.length));
      const reader = verifyStored({ id: shardId, checksum }, task.isHistory, bytes, task.part);
      if (symbols !== undefined && reader instanceof ShardReader && !areSymbols(value, reader, symbols, task.part))
        lostSymbols.push(shardId);
    } catch (error) {
      failures.push({ shardId, error: serializeError(error) });
    } finally {
      snapshot.close();
    }
  }
  return { failures, lostSymbols };
}

/** Whether the symbols of a shard are those of the catalog. Everything in them is read if `part` is "whole". */
function areSymbols(value: Buffer | undefined, shard: ShardReader, checksum: number, part: CheckTask["part"]): boolean {
  if (value === undefined) return false;
  try {
    const symbols = new SymbolReader(shard, value);
    if (part === "whole") symbols.verify();
    return symbols.checksum === checksum;
  } catch (error) {
    if (!(error instanceof TrawlError)) throw error;
    return false;
  }
}
