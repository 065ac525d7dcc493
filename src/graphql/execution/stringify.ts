import { concatBytes } from "../../base/bytes.js";
import { monotonicMs } from "../../base/deadline.js";

/** After this long, the writer yields. */
const sliceMs = 5;

/**
 * Number of values in a part that is written without yielding; a text counts as an additional value per 256 characters.
 * A part takes at most one or two milliseconds. Larger values are split, which costs several times as much.
 */
const itemsAtOnce = 4000;

/** Unpaired surrogates, which `JSON.stringify` escapes, in JSON: other escape sequences are matched too. */
const surrogate = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/g;

/** JSON of characters only: many clients refuse an unpaired surrogate. */
function toJson(value: unknown): string {
  const json = JSON.stringify(value);
  return json?.includes("\\ud") ? json.replace(surrogate, (all, unpaired) => (unpaired ? "\ufffd" : all)) : json;
}

/**
 * The JSON of a value, as written by `JSON.stringify`, with U+FFFD for unpaired surrogates: of a small value as text, which the socket accepts directly. For
 * a large value, it yields every few milliseconds, because the main thread serves all clients.
 */
export async function stringify(value: unknown): Promise<string | Uint8Array> {
  if (isSmall(value)) return toJson(value);
  const writer = new PieceWriter();
  await writer.write(value, 0);
  return writer.bytes();
}

/** Levels at which lists and objects are split: enough for `data.search.results.results[n].file.content`. */
const depthMax = 12;

class PieceWriter {
  readonly #pieces: Uint8Array[] = [];
  #text = "";
  #restAtMs = monotonicMs() + sliceMs;

  bytes(): Uint8Array {
    this.#encode();
    return concatBytes(this.#pieces);
  }

  async write(value: unknown, depth: number): Promise<void> {
    if (typeof value !== "object" || value === null || depth > depthMax || isSmall(value)) {
      this.#text += toJson(value);
      if (monotonicMs() > this.#restAtMs) await this.#rest();
      return;
    }
    if (Array.isArray(value)) return this.#writeList(value, depth);
    return this.#writeObject(value, depth);
  }

  async #writeList(items: readonly unknown[], depth: number): Promise<void> {
    this.#text += "[";
    for (const [at, item] of items.entries()) {
      if (at > 0) this.#text += ",";
      await this.write(item, depth + 1);
    }
    this.#text += "]";
  }

  async #writeObject(value: object, depth: number): Promise<void> {
    let separator = "{";
    for (const [key, field] of Object.entries(value)) {
      if (field === undefined) continue;
      this.#text += `${separator}${JSON.stringify(key)}:`;
      separator = ",";
      await this.write(field, depth + 1);
    }
    this.#text += separator === "{" ? "{}" : "}";
  }

  #encode(): void {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = "";
  }

  async #rest(): Promise<void> {
    this.#encode();
    await new Promise((resolve) => setImmediate(resolve));
    this.#restAtMs = monotonicMs() + sliceMs;
  }
}

/** Whether the value may be written without yielding. Examines no more than necessary. */
function isSmall(value: unknown): boolean {
  return weigh(value, itemsAtOnce) > 0;
}

/** The remainder of a budget of values after counting this one; a long text uses up all of it. */
function weigh(value: unknown, budget: number): number {
  let left = budget - 1;
  if (typeof value === "string") return left - (value.length >> 8);
  if (typeof value !== "object" || value === null) return left;
  if (Array.isArray(value)) {
    for (const item of value) if ((left = weigh(item, left)) <= 0) return left;
    return left;
  }
  for (const key in value) {
    const field = (value as Readonly<Record<string, unknown>>)[key];
    // Most fields are leaves: a call for each would take longer than weighing it here.
    if (typeof field === "string") left -= 1 + (field.length >> 8);
    else if (typeof field !== "object" || field === null) left--;
    else left = weigh(field, left);
    if (left <= 0) return left;
  }
  return left;
}
