import { type Connection, reasonIn, type SentRequest, wait } from "./connection.js";
import { TrawlError } from "./errors.js";
import { EventDecoder, type RawEvent } from "./event-decoder.js";
import type { Alert, Filter, Match, MatchChange, Progress, Receipt, ResultGroups } from "./types.js";

/** An event of a search, in the order in which the daemon sends them. */
export type SearchEvent =
  /** Further results. */
  | { readonly kind: "matches"; readonly matches: readonly Match[] }
  /** Of a search for changes. */
  | { readonly kind: "changes"; readonly changes: readonly MatchChange[] }
  /** Replaces what the last such event said. */
  | { readonly kind: "filters"; readonly filters: readonly Filter[] }
  /** Of a search that counts matches by what they have in common: once, before the last progress. */
  | { readonly kind: "groups"; readonly groups: ResultGroups }
  /** Replaces what the last such event said. */
  | { readonly kind: "progress"; readonly progress: Progress }
  | { readonly kind: "alert"; readonly alert: Alert }
  /** The search failed, or the receipt of a strict search is not complete. Nothing follows. */
  | { readonly kind: "error"; readonly message: string }
  /** The stream may not be resumed after a crash of the daemon, and why. */
  | { readonly kind: "resume"; readonly message: string };

export interface StreamLimits {
  /**
   * A stream in which nothing arrives for this long counts as broken: the daemon sends something every 5 s. The default
   * is 30 s.
   */
  readonly idleMs?: number;
  /** Attempts to resume in which not one event arrives, until the stream fails. The default is 10. */
  readonly resumesMax?: number;
  /** The wait before a broken stream is resumed, which doubles with each attempt, up to 30 s. The default is 500 ms. */
  readonly resumeWaitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const resumeWaitMsMax = 30_000;

/** The wait before an attempt that follows this many in which nothing arrived. */
export function resumeDelayMs({ resumeWaitMs = 500 }: StreamLimits, failures: number): number {
  // Clients of a daemon that restarts should not all come at once.
  return Math.min(resumeWaitMsMax, resumeWaitMs * 2 ** failures) * (0.5 + Math.random() / 2);
}

/**
 * The events of one search. It is read once, with `for await`; leaving the loop ends the search. Nothing is read from the
 * connection before it is asked for, so a slow reader slows the search down, and no more than one block of events is held.
 */
export class SearchStream implements AsyncIterable<SearchEvent> {
  readonly #connection: Connection;
  readonly #request: Omit<SentRequest, "signal">;
  readonly #isResumable: boolean;
  readonly #limits: StreamLimits;
  #isRead = false;
  #progress: Progress | undefined;
  #receipt: Receipt | undefined;
  #alert: Alert | undefined;
  #lastEventId = "";
  #hasEnded = false;

  constructor(
    connection: Connection,
    request: Omit<SentRequest, "signal">,
    isResumable: boolean,
    limits: StreamLimits = {},
  ) {
    this.#connection = connection;
    this.#request = request;
    this.#isResumable = isResumable;
    this.#limits = limits;
  }

  /** The latest, so far. */
  get progress(): Progress | undefined {
    return this.#progress;
  }

  /** What the search covered: once the stream has ended, if it was asked for; of a watch, the latest. */
  get receipt(): Receipt | undefined {
    return this.#receipt;
  }

  get alert(): Alert | undefined {
    return this.#alert;
  }

  /** Of a resumable stream: what a later `resume` goes on after. "" before the first event. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** Whether the daemon has said that this is all. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Rejects with a `TrawlError` if the search is refused, or the connection breaks and cannot be resumed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SearchEvent, void, undefined> {
    if (this.#isRead) throw new TypeError("a stream of results is read once: search again");
    this.#isRead = true;
    for (let failures = 0; ; failures++) {
      const before = this.#lastEventId;
      try {
        yield* this.#readOnce();
        return;
      } catch (error) {
        if (this.#lastEventId !== before) failures = 0;
        if (!this.#mayResume(error, failures)) throw error;
      }
      await wait(resumeDelayMs(this.#limits, failures), this.#limits.signal);
    }
  }

  /** The results alone. Rejects if the search fails, after what it has found. */
  async *matches(): AsyncGenerator<Match, void, undefined> {
    for await (const event of this) {
      if (event.kind === "error") throw new TrawlError("stream-failed", event.message);
      if (event.kind === "matches") yield* event.matches;
    }
  }

  #mayResume(error: unknown, failures: number): boolean {
    if (!this.#isResumable || this.#limits.signal?.aborted === true) return false;
    const { resumesMax = 10 } = this.#limits;
    // What the daemon has refused with another status, it refuses again.
    const isBreak = error instanceof TrawlError && (error.code === "connection" || error.status >= 502);
    return isBreak && failures < resumesMax;
  }

  async *#readOnce(): AsyncGenerator<SearchEvent, void, undefined> {
    const { idleMs = 30_000, signal } = this.#limits;
    const idle = new AbortController();
    const either = signal === undefined ? idle.signal : AbortSignal.any([signal, idle.signal]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onWait = (): void => clearTimeout(timer);
    const onSent = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => idle.abort(new TrawlError("connection", `nothing arrived for ${idleMs} ms`)), idleMs);
    };
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    try {
      const { body } = await this.#connection.send({ ...this.#resumed(), signal: either, onSent, onWait });
      reader = body?.getReader();
      const decoder = new EventDecoder();
      while (reader !== undefined) {
        onSent();
        const { done, value } = await read(reader, either);
        // The reader of events may take as long as it wants.
        onWait();
        if (done) break;
        for (const raw of decoder.push(value)) {
          const event = parse(raw);
          if (raw.id !== undefined) this.#lastEventId = raw.id;
          if (event === "done") {
            this.#hasEnded = true;
            return;
          }
          if (event === undefined) continue;
          this.#note(event);
          yield event;
        }
      }
      throw new TrawlError("connection", "the connection ended before the search");
    } finally {
      onWait();
      idle.abort();
      await reader?.cancel().catch(() => undefined);
    }
  }

  #resumed(): Omit<SentRequest, "signal"> {
    if (this.#lastEventId === "") return this.#request;
    return { ...this.#request, headers: { ...this.#request.headers, "Last-Event-ID": this.#lastEventId } };
  }

  #note(event: SearchEvent): void {
    if (event.kind === "alert") this.#alert = event.alert;
    if (event.kind !== "progress") return;
    this.#progress = event.progress;
    this.#receipt = event.progress.receipt ?? this.#receipt;
  }
}

/** Rejects with a broken connection, or with the reason of the signal. */
async function read(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal,
): Promise<{ done: boolean; value: Uint8Array }> {
  try {
    const { done, value } = await reader.read();
    return { done, value: value ?? new Uint8Array(0) };
  } catch (error) {
    signal.throwIfAborted();
    throw new TrawlError("connection", `the connection broke: ${reasonIn(error)}`, { cause: error });
  }
}

/** Undefined for events that were added to the interface later. */
function parse({ name, data }: RawEvent): SearchEvent | "done" | undefined {
  switch (name) {
    case "matches":
      return { kind: "matches", matches: parseData(name, data) };
    case "changes":
      return { kind: "changes", changes: parseData(name, data) };
    case "filters":
      return { kind: "filters", filters: parseData(name, data) };
    case "groups":
      return { kind: "groups", groups: parseData(name, data) };
    case "progress":
      return { kind: "progress", progress: parseData(name, data) };
    case "alert":
      return { kind: "alert", alert: parseData(name, data) };
    case "error":
    case "resume":
      return { kind: name, message: parseData<{ readonly message: string }>(name, data).message };
    case "done":
      return "done";
    default:
      return undefined;
  }
}

function parseData<T>(name: string, data: string): T {
  try {
    return JSON.parse(data) as T;
  } catch (error) {
    throw new TrawlError("connection", `the data of an event ${name} is not JSON`, { cause: error });
  }
}
