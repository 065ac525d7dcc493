import { TrawlError } from "./errors.js";

/** An event of a stream, before its data is parsed. */
export interface RawEvent {
  readonly name: string;
  readonly data: string;
  /** Of a stream that can be resumed. */
  readonly id: string | undefined;
}

/** The daemon sends no event of more than 10 MiB. */
export const eventLengthMax = 16 * 1024 * 1024;

/** Decodes an event stream, however the network splits it. It holds the one event that is not complete. */
export class EventDecoder {
  readonly #text = new TextDecoder();
  #rest = "";
  /** Where the end of the event is looked for next. */
  #from = 0;

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): RawEvent[] {
    this.#rest += this.#text.decode(bytes, { stream: true });
    const events: RawEvent[] = [];
    let begin = 0;
    for (let end = this.#rest.indexOf("\n\n", this.#from); end >= 0; end = this.#rest.indexOf("\n\n", begin)) {
      const event = parseEvent(this.#rest.slice(begin, end));
      if (event !== undefined) events.push(event);
      begin = end + 2;
    }
    this.#rest = this.#rest.slice(begin);
    this.#from = Math.max(0, this.#rest.length - 1);
    if (this.#rest.length > eventLengthMax)
      throw new TrawlError("connection", `an event is longer than ${eventLengthMax} characters`);
    return events;
  }
}

/** Undefined for what has no data, such as a comment. */
function parseEvent(block: string): RawEvent | undefined {
  let [name, id]: [string, string | undefined] = ["message", undefined];
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    const field = line.slice(0, colon);
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
  }
  return data.length === 0 ? undefined : { name, data: data.join("\n"), id };
}
