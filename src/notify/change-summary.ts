import { type EventPart, type EventSink, joinText, releaseParts } from "../model/event-sink.js";
import type { MatchChange } from "../model/match-change.js";
import type { Alert, Progress, Receipt, StreamError } from "../model/stream-events.js";
import { type ChangeCounts, noChanges, payloadBytesMax, payloadMatchesMax } from "./payload.js";

/** Reported as pending after each event until the next turn of the event loop, so that parsing does not block it. */
const pausedBytes = 1 << 30;

/**
 * The sink of a search for changes: counts the changes of each repository, and keeps the first matches that came, as
 * many as fit into a payload.
 */
export class ChangeSummarySink implements EventSink {
  readonly #drainCallbacks: (() => void)[] = [];
  readonly #closedCallbacks: (() => void)[] = [];
  readonly counts = new Map<number, ChangeCounts>();
  readonly matches: MatchChange[] = [];
  #matchBytes = 0;
  /** Of the newer state; undefined if the search had no results to compare. */
  receipt: Receipt | undefined;
  /** Why the search failed; "" if it did not. */
  error = "";
  pendingBytes = 0;
  closed = false;

  send(event: string, data: readonly EventPart[]): void {
    if (this.closed) return;
    const json = joinText(data);
    releaseParts(data);
    if (event === "changes") this.#addChanges(JSON.parse(json) as readonly MatchChange[]);
    else if (event === "progress") this.receipt = (JSON.parse(json) as Progress).receipt ?? this.receipt;
    else if (event === "error") this.error = (JSON.parse(json) as StreamError).message;
    else if (event === "alert" && this.error === "") this.#addAlert(JSON.parse(json) as Alert);
    this.#pause();
  }

  onDrain(callback: () => void): void {
    this.#drainCallbacks.push(callback);
  }

  onClosed(callback: () => void): void {
    if (this.closed) callback();
    else this.#closedCallbacks.push(callback);
  }

  end(): void {
    if (this.closed) return;
    this.closed = true;
    for (const callback of this.#closedCallbacks.splice(0)) callback();
  }

  #addChanges(changes: readonly MatchChange[]): void {
    for (const change of changes) {
      const before = this.counts.get(change.repositoryID) ?? noChanges;
      this.counts.set(change.repositoryID, { ...before, [change.change]: before[change.change] + 1 });
      if (change.change === "came" && this.matches.length < payloadMatchesMax) this.#keep(change);
    }
  }

  /** A long line is left out: the link leads to it. */
  #keep(change: MatchChange): void {
    const bytes = Buffer.byteLength(JSON.stringify(change));
    if (this.#matchBytes + bytes > payloadBytesMax) return;
    this.#matchBytes += bytes;
    this.matches.push(change);
  }

  /** An alert of a search that has no receipt is why it could not run. */
  #addAlert({ title, description }: Alert): void {
    if (this.receipt === undefined) this.error = description === undefined ? title : `${title}: ${description}`;
  }

  #pause(): void {
    if (this.pendingBytes > 0) return;
    this.pendingBytes = pausedBytes;
    setImmediate(() => {
      this.pendingBytes = 0;
      for (const callback of this.#drainCallbacks) callback();
    });
  }
}
