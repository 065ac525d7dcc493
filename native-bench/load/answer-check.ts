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

/**
 * Checks the grammar of a search stream while it arrives.
 *
 * An event is two lines and an empty one, each ended by a line feed: `event: NAME`, `data: JSON`. The names are those
 * of `ranks`. Any number of matches, filters and progress events come first, of which the last progress says `done`;
 * then at most one alert, then at most one error, then `done` with `{}`, and nothing after it. A search that did not
 * begin has no progress but an alert or an error.
 *
 * A whole answer may have a gigabyte, so it never becomes a string: lines are found by their line feed, only both ends of
 * matches and filters are checked, and only the small events are parsed as JSON.
 */
export class SseCheck implements AnswerCheck {
  hasBegun = false;
  hasMatches = false;
  #line: "event" | "data" | "empty" = "event";
  /** The current line so far; of long ones the beginning and the end. */
  readonly #text = new LineEnds();
  #event: EventName = "done";
  /** Events of a lower rank may not follow. */
  #rank = 0;
  #alert: string | undefined;
  #error: string | undefined;
  #lost: string | undefined;

  push(bytes: Buffer): Failure | undefined {
    for (let from = 0; from < bytes.length; ) {
      const end = bytes.indexOf(lineFeed, from);
      this.#text.add(bytes, from, end === -1 ? bytes.length : end);
      if (this.#text.length > eventBytesMax) return breach(`an event of more than ${eventBytesMax} bytes`);
      if (end === -1) return undefined;
      const wrong = this.#endLine();
      if (wrong !== undefined) return breach(wrong);
      from = end + 1;
    }
    return undefined;
  }

  end(): Failure | undefined {
    const isBetweenEvents = this.#line === "event" && this.#text.length === 0;
    if (this.#rank <= ranks.done) return { kind: "no-done", message: "the stream ended without `done`" };
    if (!isBetweenEvents) return breach("the stream does not end with the empty line of `done`");
    if (this.#error !== undefined) return { kind: "error", message: this.#error };
    if (this.#alert !== undefined) return { kind: "alert", message: this.#alert };
    if (this.#lost !== undefined) return { kind: "partial", message: this.#lost };
    return undefined;
  }

  /** Checks the line that has ended, and returns what is wrong with it. */
  #endLine(): string | undefined {
    const text = this.#text;
    switch (this.#line) {
      case "event": {
        const name = text.after(eventPrefix.length) ?? "";
        if (!text.startsWith(eventPrefix) || !isEventName(name))
          return `a line that names no known event: ${text.print()}`;
        if (ranks[name] < this.#rank) return `${name} after ${this.#event}`;
        if (name === "done" && this.#rank === 0) return "done without a last progress, an alert or an error";
        this.#event = name;
        this.hasMatches ||= name === "matches";
        this.#line = "data";
        text.begin(name === "matches" || name === "filters" ? keptBytes.ends : keptBytes.json);
        return undefined;
      }
      case "data": {
        const wrong = text.startsWith(dataPrefix)
          ? this.#takeData()
          : `no data line after ${this.#event}: ${text.print()}`;
        if (wrong !== undefined) return wrong;
        this.#line = "empty";
        text.begin(keptBytes.ends);
        return undefined;
      }
      case "empty":
        if (text.length > 0) return `no empty line after ${this.#event}: ${text.print()}`;
        this.hasBegun = true;
        this.#line = "event";
        text.begin(keptBytes.ends);
        return undefined;
    }
  }

  #takeData(): string | undefined {
    const name = this.#event;
    if (name === "matches" || name === "filters") {
      return this.#text.encloses(`${dataPrefix}[{`, "}]")
        ? undefined
        : `${name} that are no array of objects: ${this.#text.print()}`;
    }
    const value = parseObject(this.#text.after(dataPrefix.length) ?? "");
    if (value === undefined) return `${name} is no JSON object: ${this.#text.print()}`;
    if (name === "progress") return this.#takeProgress(value);
    this.#rank = ranks[name] + 1;
    if (name === "done")
      return Object.keys(value).length === 0 ? undefined : `done is not empty: ${this.#text.print()}`;
    const message = name === "alert" ? value["title"] : value["message"];
    if (typeof message !== "string") return `${name} without a text: ${this.#text.print()}`;
    if (name === "alert")
      this.#alert = [message, value["description"]].filter((text) => typeof text === "string").join(": ");
    else this.#error = message;
    return undefined;
  }

  #takeProgress({ done, matchCount, durationMs, skipped }: Readonly<Record<string, unknown>>): string | undefined {
    const isGood = typeof done === "boolean" && isCount(matchCount) && isCount(durationMs) && Array.isArray(skipped);
    if (!isGood) return `progress without done, matchCount, durationMs or skipped: ${this.#text.print()}`;
    if (!done) return undefined;
    this.#rank = ranks.alert;
    const lost = (skipped as { reason?: unknown; title?: unknown }[]).find((item) =>
      lostReasons.has(String(item?.reason)),
    );
    if (lost !== undefined) this.#lost = `${lost.reason}: ${lost.title}`;
    return undefined;
  }
}

/** The order of events: a lower rank never follows a higher one. */
const ranks = { matches: 0, filters: 0, progress: 0, alert: 1, error: 2, done: 3 } as const;
type EventName = keyof typeof ranks;

function isEventName(name: string): name is EventName {
  return Object.hasOwn(ranks, name);
}

/** Reasons that mean that results were lost, not that the client excluded them. */
const lostReasons = new Set(["shard-timeout", "shard-timedout", "backend-missing", "error"]);

const lineFeed = 10;
const eventPrefix = "event: ";
const dataPrefix = "data: ";

/** Clients of this interface accept no larger event. */
const eventBytesMax = 10 * 1024 * 1024;

/** How much of a line is kept: of one that is parsed as JSON as much as its kind of event ever has. */
const keptBytes = { ends: 128, json: 1024 * 1024 };

/** A line as it arrives, of which the beginning and the last two bytes are kept. */
class LineEnds {
  length = 0;
  #keep = keptBytes.ends;
  #head = "";
  #tail = "";

  begin(keep: number): void {
    this.length = 0;
    this.#keep = keep;
    this.#head = "";
    this.#tail = "";
  }

  /** Bytes from `from` to before `to`. */
  add(bytes: Buffer, from: number, to: number): void {
    const room = this.#keep - this.#head.length;
    if (room > 0) this.#head += bytes.toString("latin1", from, Math.min(to, from + room));
    this.#tail = (this.#tail + bytes.toString("latin1", Math.max(from, to - 2), to)).slice(-2);
    this.length += to - from;
  }

  startsWith(text: string): boolean {
    return this.#head.startsWith(text);
  }

  encloses(beginning: string, end: string): boolean {
    return this.#head.startsWith(beginning) && this.#tail === end;
  }

  /** The text after the first `from` bytes; undefined when the line is longer than what is kept. */
  after(from: number): string | undefined {
    return this.length > this.#keep ? undefined : Buffer.from(this.#head, "latin1").toString("utf8", from);
  }

  /** For a message. */
  print(): string {
    const text = Buffer.from(this.#head.slice(0, printedBytes), "latin1").toString();
    return JSON.stringify(this.length > printedBytes ? `${text}…` : text);
  }
}

const printedBytes = 80;

function isCount(value: unknown): boolean {
  return typeof value === "number" && value >= 0;
}
