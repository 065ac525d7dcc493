import { parentPort, threadId } from "node:worker_threads";
import { serializeError, TrawlError, type SerializedError } from "../base/errors.js";
import { assert } from "../base/assert.js";
import type { StartedMessage } from "./messages.js";

/** What a pool posts to its threads. */
export interface TaskMessage {
  /** Of the handlers that the thread serves. */
  readonly name: string;
  readonly task: unknown;
}

/** What a thread posts at the end of each task. */
export type ResultMessage =
  | { readonly kind: "result"; readonly ok: true; readonly value: unknown }
  | { readonly kind: "result"; readonly ok: false; readonly error: SerializedError };

/** A function of the thread by name; it takes a task and returns its result, or a promise of it. */
export type TaskHandlers = Readonly<Record<string, (task: never) => unknown>>;

/**
 * Runs tasks of a pool in this thread, one at a time. To be called at the end of the entry file: the pool is told that the
 * thread has started once its modules are loaded and its stores are open.
 */
export function serveTasks(handlers: TaskHandlers): void {
  const port = parentPort;
  assert(port !== null, "tasks are served in a worker thread");
  const table = new Map(Object.entries(handlers));
  port.on("message", (message: TaskMessage) => {
    void answer(table, message).then((result) => port.postMessage(result)).catch((error: unknown) => port.postMessage(failed(error)));
  });
  const started: StartedMessage = { kind: "started", threadId };
  setImmediate(() => port.postMessage(started));
}

async function answer(handlers: ReadonlyMap<string, (task: never) => unknown>, { name, task }: TaskMessage): Promise<ResultMessage> {
  try {
    const handler = handlers.get(name);
    if (handler === undefined) throw new TrawlError("internal", `this thread has no task ${name}`);
    return { kind: "result", ok: true, value: await handler(task as never) };
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): ResultMessage {
  return { kind: "result", ok: false, error: serializeError(error) };
}
