import type { Failure } from "./failure.js";

/**
 * Checks one answer while it arrives. It sees every byte, so it decodes only what it must.
 *
 * Contract:
 * - `push` takes the pieces of the body in order; a failure that it returns is final, and no call follows.
 * - `end` is called once when the body is whole, and returns what is wrong with it.
 *
 * Caller guarantees: the answer has status 200 and the right content type. After `push` returns, the bytes may change.
 */
export interface AnswerCheck {
  push(bytes: Buffer): Failure | undefined;
  end(): Failure | undefined;
  /** Something that a client can act on has come: an event of a stream, the first bytes of another answer. */
  readonly hasBegun: boolean;
  /** The first matches have begun to come. Stays false where the answer is no stream. */
  readonly hasMatches: boolean;
}

/** Checks nothing: only the status of the answer counts. */
export class AnyCheck implements AnswerCheck {
  readonly hasMatches = false;
  hasBegun = false;

  push(): undefined {
    this.hasBegun = true;
  }

  end(): undefined {}
}

const answerBytesMax = 64 * 1024 * 1024;

/** Keeps a GraphQL answer, which is one JSON text, and parses it at its end. */
export class GraphqlCheck implements AnswerCheck {
  readonly hasMatches = false;
  readonly #parts: Buffer[] = [];
  #byteCount = 0;

  get hasBegun(): boolean {
    return this.#byteCount > 0;
  }

  push(bytes: Buffer): Failure | undefined {
    this.#byteCount += bytes.length;
    if (this.#byteCount > answerBytesMax) return breach(`a GraphQL answer of more than ${answerBytesMax} bytes`);
    this.#parts.push(Buffer.from(bytes));
    return undefined;
  }

  end(): Failure | undefined {
    const answer = parseObject(Buffer.concat(this.#parts).toString());
    if (answer === undefined) return breach("the answer is no JSON object");
    const { data, errors } = answer;
    if (errors !== undefined) return { kind: "error", message: JSON.stringify(errors).slice(0, 200) };
    return data === undefined ? breach("neither data nor errors") : undefined;
  }
}

const zoektStart = '{"Result":{';
const tailLength = 8;

/** Looks only at both ends of an answer of zoekt, which is one JSON text of up to a gigabyte. */
export class ZoektCheck implements AnswerCheck {
  readonly hasMatches = false;
  #head = "";
  #tail = "";

  get hasBegun(): boolean {
    return this.#head !== "";
  }

  push(bytes: Buffer): undefined {
    const missing = zoektStart.length - this.#head.length;
    if (missing > 0) this.#head += bytes.toString("latin1", 0, missing);
    this.#tail = (this.#tail + bytes.toString("latin1", Math.max(0, bytes.length - tailLength))).slice(-tailLength);
  }

  end(): Failure | undefined {
    const tail = this.#tail.trimEnd();
    if (this.#head === zoektStart && tail.endsWith("}}")) return undefined;
    return breach(`not a search result of zoekt: ${this.#head}…${tail}`);
  }
}

/** An answer that breaks its grammar. */
export function breach(message: string): Failure {
  return { kind: "grammar", message };
}

/** Undefined unless the text is a JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
