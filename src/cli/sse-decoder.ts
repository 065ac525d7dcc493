import { TrawlError } from "../base/errors.js";

export interface StreamEvent {
  readonly name: string;
  /** JSON. */
  readonly data: string;
}

const newline = 10;

/**
 * Event-stream bytes to events, wherever the network cut them. Takes what the search stream sends: two lines and an
 * empty one, with line feeds only.
 */
export class SseDecoder {
  /** What came of the event that is not whole yet; no part is empty. */
  #parts: Uint8Array[] = [];

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): StreamEvent[] {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const events: StreamEvent[] = [];
    let from = 0;
    for (let end = this.#eventEnd(chunk, 0); end !== -1; end = this.#eventEnd(chunk, from)) {
      events.push(decode(Buffer.concat([...this.#parts, chunk.subarray(from, end)]).toString()));
      this.#parts = [];
      from = end;
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
    return events;
  }

  /** Where the event that goes on at `from` ends, after its empty line; -1 when that is not in this chunk. */
  #eventEnd(chunk: Buffer, from: number): number {
    if (this.#parts.at(-1)?.at(-1) === newline && chunk[0] === newline) return 1;
    const at = chunk.indexOf("\n\n", from);
    return at === -1 ? -1 : at + 2;
  }
}

function decode(text: string): StreamEvent {
  const found = /^event: ([^\n]*)\ndata: ([^\n]*)\n\n$/.exec(text);
  if (!found)
    throw new TrawlError("bad-request", `not an event of a search stream: ${JSON.stringify(text.slice(0, 80))}`);
  return { name: found[1] ?? "", data: found[2] ?? "" };
}
