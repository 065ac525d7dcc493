import { assert } from "../base/assert.js";
import { useChildRegistry } from "../native/process/child-registry.js";
import { guardHeap } from "../native/process/heap-limit.js";
import type { WorkerSettings } from "./messages.js";

/** Settings that a pool adds for each thread. */
export interface ThreadSettings {
  /** `makeChildRegistry` for the child processes of the thread. */
  readonly children: Int32Array;
  /** `makeHeapWord` for the thread. */
  readonly heapWord: Uint32Array;
}

/** The settings with which a worker was started. Must be called before the thread starts a process. */
export function readSettings<T extends WorkerSettings>(data: unknown): T {
  assert(typeof data === "object" && data !== null && "dataFolder" in data, "a worker is started with its settings");
  const settings = data as T & ThreadSettings;
  useChildRegistry(settings.children);
  guardHeap(settings.heapWord);
  return settings;
}
