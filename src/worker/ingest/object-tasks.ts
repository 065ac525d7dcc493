import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import type { ObjectName } from "../../objects/object-store.js";
import type { BringObjectTask, StoreObjectTask } from "../../protocol/ingest-messages.js";
import { type IngestThread, stepAllowanceMs, timeAllowance } from "./ingest-thread.js";
import { openThreadObjects, storeObject } from "./shared-objects.js";
import { readCopy } from "./symbols-task.js";
import { verifyStored } from "./upkeep-tasks.js";

/** Stores a shard, or its symbols, as an object; returns its name. */
export async function runStoreObject(thread: IngestThread, task: StoreObjectTask): Promise<ObjectName> {
  const { id } = task.shard;
  thread.activity.enter("uploading", 0, "", stepAllowanceMs);
  const bytes = task.value === "symbols" ? readSymbols(thread, id) : readCopy(thread.store, id);
  thread.activity.allow(stepAllowanceMs + timeAllowance(bytes.length));
  if (task.value !== "symbols") verifyStored(task.shard, task.value === "history", bytes, "headers");
  return storeObject(task.objects, task.value, bytes, task.stop);
}

function readSymbols({ store }: IngestThread, id: number): Buffer {
  const snapshot = store.read();
  try {
    const bytes = snapshot.symbols(id);
    if (bytes === undefined)
      throw new TrawlError("corrupt-shard", `the symbols of shard ${id} are missing from the store`);
    return bytes;
  } finally {
    snapshot.close();
  }
}

/** Writes an object into the store of this node, if its bytes are those of its name and of the shard. */
export async function runBringObject(
  thread: IngestThread,
  { objects, name, shard, stop }: BringObjectTask,
): Promise<void> {
  assert(shard.id > 0, "a shard that is brought has an id");
  thread.activity.enter("fetching", 0, "", stepAllowanceMs);
  const bytes = await openThreadObjects(objects).get(name, () => Atomics.load(stop, 0) !== 0);
  thread.activity.allow(stepAllowanceMs + timeAllowance(bytes.length));
  const values = [{ id: shard.id, bytes }];
  if (name.kind === "symbols") return thread.guardedStore.putSymbols(values);
  verifyStored(shard, name.kind === "history", bytes, "headers");
  return thread.guardedStore.put(values);
}
