import { errorMessage, TrawlError } from "../../base/errors.js";

export interface StreamEvent {
  readonly name: string;
  /** JSON. */
  readonly data: string;
  /** Of an event of a resumable stream. */
  readonly id?: string;
}

const newline = 10;

/** An event of the daemon holds a few matches; the longest line of a file has as many bytes as the largest file indexed. */
const eventBytesMax = 256 * 1024 * 1024;

/** The data of an event. Throws if it is not JSON, which only a faulty proxy or server causes. */
export function parseData<T>({ name, data }: StreamEvent): T {
  try {
    return JSON.parse(data) as T;
  } catch (error) {
    throw new TrawlError("bad-request", `the data of an event "${name}" is not JSON: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

/**
 * Decodes event-stream bytes into events, regardless of how the network splits them. Accepts the format of the search
 * stream: two lines and an empty one, with line feeds only; in a resumable stream, a line with the id precedes them.
 */
export class SseDecoder {
  /** The parts of the incomplete event; none is empty. */
  #parts: Uint8Array[] = [];
  #partBytes = 0;

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): StreamEvent[] {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const events: StreamEvent[] = [];
    let from = 0;
    for (let end = this.#eventEnd(chunk, 0); end !== -1; end = this.#eventEnd(chunk, from)) {
      events.push(decode(Buffer.concat([...this.#parts, chunk.subarray(from, end)]).toString()));
      this.#parts = [];
      this.#partBytes = 0;
      from = end;
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
    this.#partBytes += chunk.length - from;
    if (this.#partBytes > eventBytesMax)
      throw new TrawlError("bad-request", `an event of the search stream is longer than ${eventBytesMax} bytes`);
    return events;
  }

  /** The end of the event that continues at `from`, after its empty line; -1 if it is not in this chunk. */
  #eventEnd(chunk: Buffer, from: number): number {
    if (this.#parts.at(-1)?.at(-1) === newline && chunk[0] === newline) return 1;
    const at = chunk.indexOf("\n\n", from);
    return at === -1 ? -1 : at + 2;
  }
}

function decode(text: string): StreamEvent {
  const found = /^(?:id: ([^\n]*)\n)?event: ([^\n]*)\ndata: ([^\n]*)\n\n$/.exec(text);
  if (!found)
    throw new TrawlError("bad-request", `not an event of a search stream: ${JSON.stringify(text.slice(0, 80))}`);
  const [, id, name = "", data = ""] = found;
  return id === undefined ? { name, data } : { name, data, id };
}
