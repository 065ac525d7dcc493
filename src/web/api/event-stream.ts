import { ApiError, request } from "./api-error.js";

/** Longer events are refused by every client of this interface. */
const eventLengthMax = 16 << 20;

type EventTaker = (name: string, data: string) => Promise<void> | undefined;

/**
 * Reads a stream of events and calls `take` with each, in order; `data` is one line of JSON. Resolves when the stream
 * has ended, and throws an `ApiError` if it breaks off or cannot start. Reading stops when the signal is aborted: the
 * daemon notices and stops as well. If `take` returns a promise, reading goes on when it has resolved; events that had
 * arrived with that one are taken before.
 *
 * `EventSource` is not used because it reconnects, which would run the search again.
 */
export async function readEvents(path: string, signal: AbortSignal, take: EventTaker): Promise<void> {
  const response = await request(path, { headers: { Accept: "text/event-stream" }, signal });
  if (response.body === null) throw new ApiError(response.status, "The answer is empty.");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pause: Promise<void> | undefined;
  const splitter = new EventSplitter((name, data) => {
    pause = take(name, data) ?? pause;
  });
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new ApiError(0, "The connection to the server broke off before the end.");
    });
    if (done) break;
    splitter.push(value);
    await pause;
    pause = undefined;
  }
}

/** Splits text into events. Each is two lines, `event: NAME` and `data: JSON`, and an empty line. */
class EventSplitter {
  readonly #take: (name: string, data: string) => void;
  #rest = "";

  constructor(take: (name: string, data: string) => void) {
    this.#take = take;
  }

  push(text: string): void {
    let from = 0;
    // Only an end of a line that is split between two pieces can be missed by searching the new text alone.
    const whole = this.#rest + text;
    let searchFrom = Math.max(0, this.#rest.length - 1);
    for (;;) {
      const end = whole.indexOf("\n\n", searchFrom);
      if (end < 0) break;
      this.#event(whole.slice(from, end));
      from = end + 2;
      searchFrom = from;
    }
    this.#rest = whole.slice(from);
    if (this.#rest.length > eventLengthMax) throw new ApiError(200, "The server sent an event that is too long.");
  }

  #event(text: string): void {
    const [first = "", second = ""] = splitLine(text);
    if (first.startsWith("event: ") && second.startsWith("data: ")) this.#take(first.slice(7), second.slice(6));
  }
}

function splitLine(text: string): readonly [string, string] {
  const at = text.indexOf("\n");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
