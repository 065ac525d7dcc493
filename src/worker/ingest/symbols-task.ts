import { TrawlError } from "../../base/errors.js";
import { findCtagsOnce, type CtagsProgram } from "../../indexer/symbols/ctags-program.js";
import { extractShardSymbols, nameProducer } from "../../indexer/symbols/shard-symbols.js";
import { SymbolExtractor, textLimits } from "../../indexer/symbols/symbol-extractor.js";
import type { StoredShard, SymbolRecord } from "../../model/shard-record.js";
import type { SymbolsTask, SymbolsTaskResult } from "../../protocol/ingest-messages.js";
import { ShardReader } from "../../shard/shard-reader.js";
import { stepAllowanceMs, type IngestThread } from "./ingest-thread.js";

/** Looks for ctags, and extracts the symbols of a shard with it. */
export async function runSymbols(thread: IngestThread, task: SymbolsTask): Promise<SymbolsTaskResult> {
  thread.activity.enter("symbols", 0, "", stepAllowanceMs);
  const program = await findCtagsOnce(task.command);
  if ("reason" in program) return { kind: "lack", reason: program.reason };
  const record = task.shard === undefined ? undefined : await extract(thread, task, task.shard, program);
  return { kind: "found", producer: nameProducer(program), record };
}

async function extract(
  { store, guardedStore, kernel }: IngestThread,
  { stop }: SymbolsTask,
  { id, checksum }: StoredShard,
  program: CtagsProgram,
): Promise<SymbolRecord> {
  const reader = new ShardReader(id, readCopy(store, id));
  reader.requireChecksum(checksum);
  reader.verify("index");
  reader.verify("content");
  const extractor = new SymbolExtractor({ program, limits: textLimits, stop: () => Atomics.load(stop, 0) !== 0 });
  try {
    const { bytes, record } = await extractShardSymbols(reader, extractor, nameProducer(program), kernel);
    await guardedStore.putSymbols([{ id, bytes }]);
    return record;
  } finally {
    extractor.close();
  }
}

/** A copy, because the extraction takes long: a snapshot that is open for so long would make the store grow. */
export function readCopy(store: IngestThread["store"], id: number): Buffer {
  const snapshot = store.read();
  try {
    const bytes = snapshot.get(id);
    if (bytes === undefined) throw new TrawlError("corrupt-shard", `shard ${id} is missing from the store`);
    return Buffer.from(bytes);
  } finally {
    snapshot.close();
  }
}
