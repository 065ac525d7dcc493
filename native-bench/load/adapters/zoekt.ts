import type { Failure } from "../failure.js";
import type { AnswerCheck, Exchangeable } from "./adapter.js";

/** A search of zoekt-webserver's JSON interface, `/api/search` (it must be started with `-rpc`). */
export interface ZoektRequest {
  readonly kind: "zoekt";
  readonly query: string;
  /** Its `SearchOptions` by their Go names; {} for its defaults. */
  readonly options: Readonly<Record<string, unknown>>;
}

export function zoektExchange({ query, options }: ZoektRequest): Exchangeable {
  return {
    label: query,
    method: "POST",
    path: "/api/search",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ Q: query, Opts: options }),
    contentType: "application/json",
    newCheck: () => new ZoektCheck(),
  };
}

const opening = '{"Result":{';
const closing = "}}";

/** Looks at both ends of the answer only, for it is one JSON text of up to a gigabyte. */
class ZoektCheck implements AnswerCheck {
  readonly hasMatches = false;
  #head = "";
  #tail = "";

  get hasBegun(): boolean {
    return this.#head !== "";
  }

  push(bytes: Buffer): Failure | undefined {
    if (this.#head.length < opening.length)
      this.#head += bytes.toString("latin1", 0, opening.length - this.#head.length);
    this.#tail = (this.#tail + bytes.toString("latin1", Math.max(0, bytes.length - tailLength))).slice(-tailLength);
    return undefined;
  }

  end(): Failure | undefined {
    if (this.#head === opening && this.#tail.trimEnd().endsWith(closing)) return undefined;
    return { kind: "grammar", message: `not a search result of zoekt: ${this.#head}…${this.#tail.trimEnd()}` };
  }
}

const tailLength = 8;
