import { bytesOfPart, type EventPart, type EventSink, joinText, releaseParts } from "../../model/event-sink.js";
import type { Progress } from "../../model/stream-events.js";

/** Limit on the JSON of the matches that are compared, which are in memory. */
const matchBytesMax = 64 << 20;

/** Events that follow the last progress event. */
const lastEvents: ReadonlySet<string> = new Set(["alert", "error"]);

/** How the progress events begin that are not the last. */
const unfinished = JSON.stringify({ done: false } satisfies Partial<Progress>).slice(0, -1);

/**
 * Collects the matches of a search for changes; its other events, except the last ones and filters, go to the client.
 */
export class ChangeCollector implements EventSink {
  readonly pendingBytes = 0;
  readonly #client: EventSink;
  readonly #closedCallbacks: (() => void)[] = [];
  #matches: Uint8Array[] = [];
  #matchBytes = 0;
  #isClosed = false;
  #resolve: () => void = () => undefined;
  /** Resolves when the search has ended, or its results are not wanted any more. */
  readonly done = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });
  /** Events that the client gets after the last progress event. */
  readonly last: (readonly [event: string, json: string])[] = [];

  constructor(client: EventSink) {
    this.#client = client;
    client.onClosed(() => this.end());
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /** Arrays of match objects. */
  get matches(): readonly Uint8Array[] {
    return this.#matches;
  }

  /** True if there were more matches than can be compared. */
  get isFull(): boolean {
    return this.#matchBytes > matchBytesMax;
  }

  get hasFailed(): boolean {
    return this.last.some(([event]) => event === "error");
  }

  send(event: string, data: readonly EventPart[]): void {
    if (this.#isClosed) return;
    if (event === "matches") this.#addMatches(data);
    else if (event === "progress") this.#addProgress(joinText(data));
    else if (lastEvents.has(event)) this.last.push([event, joinText(data)]);
  }

  onDrain(): void {
    // Nothing is ever pending.
  }

  onClosed(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#closedCallbacks.push(callback);
  }

  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const callback of this.#closedCallbacks.splice(0)) callback();
    this.#resolve();
  }

  #addMatches(data: readonly EventPart[]): void {
    const joined = Buffer.concat(
      data.map((part) => (typeof part === "string" ? Buffer.from(part) : bytesOfPart(part))),
    );
    releaseParts(data);
    this.#matchBytes += joined.length;
    if (!this.isFull) this.#matches.push(joined);
    else {
      this.#matches = [];
      this.end();
    }
  }

  #addProgress(json: string): void {
    // The last one is made from the end of the search.
    if (json.startsWith(unfinished) && this.#client.pendingBytes === 0) this.#client.send("progress", [json]);
  }
}
