import { TrawlError } from "../base/errors.js";
import { failed, startTask, type ResultMessage, type TaskMessage } from "../protocol/task-message.js";

/** The functions of a thread by name; each takes a task and returns its result, or a promise of it. */
export type TaskHandlers = Readonly<Record<string, (task: never) => unknown>>;

/** Returns the default export of an entry file, which Piscina calls with each task: it never rejects. */
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
