import { assert } from "../base/assert.js";
import { useChildRegistry } from "../native/process/child-registry.js";
import { guardHeap } from "../native/process/heap-limit.js";
import type { WorkerSettings } from "./messages.js";

/** What a pool adds to the settings of a thread. */
export interface ThreadSettings {
  /** `makeChildRegistry` for the processes that the thread starts. */
  readonly children: Int32Array;
  /** `makeHeapWord` for the thread. */
  readonly heapWord: Uint32Array;
}

/** The settings that a worker was started with. To be called before the thread starts a process. */
export function readSettings<T extends WorkerSettings>(data: unknown): T {
  assert(typeof data === "object" && data !== null && "dataFolder" in data, "a worker is started with its settings");
  const settings = data as T & ThreadSettings;
  useChildRegistry(settings.children);
  guardHeap(settings.heapWord);
  return settings;
}
