import { serializeError, type SerializedError } from "../base/errors.js";

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
