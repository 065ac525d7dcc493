import { type SerializedError, serializeError } from "../base/errors.js";
import { assert } from "../base/assert.js";
import { useChildRegistry } from "../native/process/child-registry.js";
import { guardHeap } from "../native/process/heap-limit.js";
import type { WorkerSettings } from "./messages.js";

/** What a pool posts to its threads. */
export interface TaskMessage {
  /** Name of one of the thread's handlers. */
  readonly name: string;
  readonly task: unknown;
}

/** What a thread posts at the end of each task. */
export type ResultMessage =
  | { readonly kind: "result"; readonly ok: true; readonly value: unknown }
  | { readonly kind: "result"; readonly ok: false; readonly error: SerializedError };

/**
 * The task that a pool runs first, and that each thread implements: it completes when the modules are loaded and the
 * stores are open.
 */
export const startTask = "start";

/** The message for a task that has thrown `error`. */
export function failed(error: unknown): ResultMessage {
  return { kind: "result", ok: false, error: serializeError(error) };
}

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
