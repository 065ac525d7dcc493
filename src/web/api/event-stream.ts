import { ApiError, request } from "./api-error.js";

/** Longer events are refused by every client of this interface. */
const eventLengthMax = 16 << 20;

/** How long events are taken at a time. After a pause many are there at once, and the browser must paint and answer. */
const sliceMs = 8;

type EventTaker = (name: string, data: string) => Promise<void> | undefined;

/**
 * Reads a stream of events and calls `take` with each, in order; `data` is one line of JSON. Resolves when the stream
 * has ended, and throws an `ApiError` if it breaks off or cannot start. Reading stops when the signal is aborted: the
 * daemon notices and stops as well. If `take` returns a promise, the next event is taken when it has resolved. With a
 * `body`, which is JSON, it is sent.
 *
 * `EventSource` is not used because it reconnects, which would run the search again.
 */
export async function readEvents(path: string, signal: AbortSignal, take: EventTaker, body?: string): Promise<void> {
  const accept = { Accept: "text/event-stream" };
  const response = await request(
    path,
    body === undefined
      ? { headers: accept, signal }
      : { method: "POST", headers: { ...accept, "Content-Type": "application/json" }, body, signal },
  );
  if (response.body === null) throw new ApiError(response.status, "The answer is empty.");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const splitter = new EventSplitter();
  let sliceEndMs = performance.now() + sliceMs;
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new ApiError(0, "The connection to the server broke off before the end.");
    });
    if (done) break;
    for (const [name, data] of splitter.push(decoder.decode(value, { stream: true }))) {
      const pause = take(name, data);
      if (pause === undefined && performance.now() < sliceEndMs) continue;
      await pause;
      await nextTask();
      signal.throwIfAborted();
      sliceEndMs = performance.now() + sliceMs;
    }
  }
}

/** Resolves in a task of its own, so that the browser can paint and answer before it. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/** Splits text into events. Each is two lines, `event: NAME` and `data: JSON`, and an empty line. */
class EventSplitter {
  #rest = "";

  /** The events that end in this text. */
  *push(text: string): Generator<readonly [name: string, data: string]> {
    let from = 0;
    // Only an end of a line that is split between two pieces can be missed by searching the new text alone.
    const whole = this.#rest + text;
    let searchFrom = Math.max(0, this.#rest.length - 1);
    for (;;) {
      const end = whole.indexOf("\n\n", searchFrom);
      if (end < 0) break;
      const event = parseEvent(whole.slice(from, end));
      if (event !== undefined) yield event;
      from = end + 2;
      searchFrom = from;
    }
    this.#rest = whole.slice(from);
    if (this.#rest.length > eventLengthMax) throw new ApiError(200, "The server sent an event that is too long.");
  }
}

function parseEvent(text: string): readonly [name: string, data: string] | undefined {
  const [first = "", second = ""] = splitLine(text);
  return first.startsWith("event: ") && second.startsWith("data: ") ? [first.slice(7), second.slice(6)] : undefined;
}

function splitLine(text: string): readonly [string, string] {
  const at = text.indexOf("\n");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
