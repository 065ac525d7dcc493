import { assert } from "../base/assert.js";
import type { WorkerSettings } from "./messages.js";

/** The settings that a worker was started with. */
export function settingsOf<T extends WorkerSettings>(data: unknown): T {
  assert(typeof data === "object" && data !== null && "dataFolder" in data, "a worker is started with its settings");
  return data as T;
}
