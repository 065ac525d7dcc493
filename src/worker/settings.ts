import { parentPort, threadId } from "node:worker_threads";
import { assert } from "../base/assert.js";
import type { StartedMessage, WorkerSettings } from "./messages.js";

/** The settings that a worker was started with. */
export function settingsOf<T extends WorkerSettings>(data: unknown): T {
  assert(typeof data === "object" && data !== null && "dataFolder" in data, "a worker is started with its settings");
  return data as T;
}

/** Tells the pool that this thread may be ended, once the module that calls it is loaded: Node fails an assertion otherwise. */
export function tellStarted(): void {
  const message: StartedMessage = { kind: "started", threadId };
  setImmediate(() => parentPort?.postMessage(message));
}
