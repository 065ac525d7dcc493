import { type AnswerCheck, breach, type Failure, parseObject } from "./answer-check.js";

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
