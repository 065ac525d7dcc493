import { serializeError, TrawlError, type SerializedError } from "../base/errors.js";

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
 * The task that a pool runs first, and that each thread has: it is answered once the modules are loaded and the stores
 * are open.
 */
export const startTask = "start";

/** What an entry file exports as its default, for Piscina to call with each task: it never rejects. */
export function serveTasks(handlers: TaskHandlers): (message: TaskMessage) => Promise<ResultMessage> {
  const table = new Map([...Object.entries(handlers), [startTask, () => undefined]]);
  return (message) => answer(table, message);
}

async function answer(
  handlers: ReadonlyMap<string, (task: never) => unknown>,
  { name, task }: TaskMessage,
): Promise<ResultMessage> {
  try {
    const handler = handlers.get(name);
    if (handler === undefined) throw new TrawlError("internal", `this thread has no task ${name}`);
    return { kind: "result", ok: true, value: await handler(task as never) };
  } catch (error) {
    return failed(error);
  }
}

/** What a thread answers when `error` was thrown. */
export function failed(error: unknown): ResultMessage {
  return { kind: "result", ok: false, error: serializeError(error) };
}
