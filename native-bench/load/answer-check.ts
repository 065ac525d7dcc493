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

interface FailureRow {
  readonly meaning: string;
  /**
   * The client waited in vain: its wait is included in the latencies, as the least that the latency would have been.
   * Without it a server would look faster the more answers it never gave. A refusal is no wait, and would flatter it.
   */
  readonly isWait: boolean;
}

/** Every way in which a request fails. Each failure is counted by its kind and shown, never dropped. */
export const failureTable = {
  unreachable: { meaning: "no connection: refused, unknown host, no route", isWait: false },
  denied: { meaning: "HTTP 401 or 403", isWait: false },
  overloaded: { meaning: "HTTP 503", isWait: false },
  status: { meaning: "another HTTP status than 200", isWait: false },
  reset: { meaning: "the server cut the connection", isWait: false },
  grammar: { meaning: "an answer that breaks its grammar", isWait: false },
  "no-done": { meaning: "a stream that ended without `done`", isWait: false },
  alert: { meaning: "an alert event", isWait: false },
  error: { meaning: "an error event, or errors in a GraphQL answer", isWait: false },
  partial: { meaning: "the server left out a part of the search for lack of time or of shards", isWait: true },
  timeout: { meaning: "no whole answer within the time limit", isWait: true },
  "not-sent": { meaning: "too many in flight", isWait: true },
  unfinished: { meaning: "no whole answer when the run ended", isWait: true },
  "no-socket": { meaning: "this machine had no socket left for it", isWait: true },
} as const satisfies Readonly<Record<string, FailureRow>>;

export type FailureKind = keyof typeof failureTable;

export interface Failure {
  readonly kind: FailureKind;
  /** What exactly happened, for the user. */
  readonly message: string;
}

/** The failure of an HTTP status other than 200; `text` is the beginning of the answer's body. */
export function statusFailure(status: number, text: string): Failure {
  const kind = status === 401 || status === 403 ? "denied" : status === 503 ? "overloaded" : "status";
  return { kind, message: `HTTP ${status}${text === "" ? "" : `: ${text.trim()}`}` };
}

const unreachableCodes =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$|^ERR_TLS|CERT|SELF_SIGNED|^ERR_SSL/;
const noSocketCodes = /^(EMFILE|ENFILE|EADDRNOTAVAIL|ENOBUFS|ENOMEM)$/;

/** The failure of an error of the HTTP client. */
export function connectionFailure(error: Error): Failure {
  const code = "code" in error ? String(error.code) : "";
  const message = code === "" || error.message.includes(code) ? error.message : `${error.message} (${code})`;
  if (unreachableCodes.test(code)) return { kind: "unreachable", message };
  if (noSocketCodes.test(code)) return { kind: "no-socket", message };
  if (code.startsWith("HPE_") || code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") return { kind: "grammar", message };
  return { kind: "reset", message };
}
