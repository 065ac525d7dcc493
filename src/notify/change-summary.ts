import type { MatchChange } from "../model/match-change.js";
import { BaseListener, type JsonElements, parseElements, releaseAll } from "../model/search-listener.js";
import type { Alert, Progress, Receipt } from "../model/stream-events.js";
import { type ChangeCounts, noChanges, payloadBytesMax, payloadMatchesMax } from "./payload.js";

/** Reported as pending after each event until the next turn of the event loop, so that parsing does not block it. */
const pausedBytes = 1 << 30;

/**
 * The sink of a search for changes: counts the changes of each repository, and keeps the first matches that came, as
 * many as fit into a payload.
 */
export class ChangeSummarySink extends BaseListener {
  readonly counts = new Map<number, ChangeCounts>();
  /** The first matches that came. */
  readonly came: MatchChange[] = [];
  #matchBytes = 0;
  /** Of the newer state; undefined if the search had no results to compare. */
  receipt: Receipt | undefined;
  /** Why the search failed; "" if it did not. */
  failure = "";
  #isPaused = false;

  override get pendingBytes(): number {
    return this.#isPaused ? pausedBytes : 0;
  }

  override changes(parts: readonly JsonElements[]): void {
    if (this.closed) return releaseAll(parts);
    for (const change of parseElements<MatchChange>(parts)) {
      const before = this.counts.get(change.repositoryID) ?? noChanges;
      this.counts.set(change.repositoryID, { ...before, [change.change]: before[change.change] + 1 });
      if (change.change === "came" && this.came.length < payloadMatchesMax) this.#keep(change);
    }
    this.#pause();
  }

  override progress({ receipt }: Progress): void {
    if (!this.closed) this.receipt = receipt ?? this.receipt;
  }

  /** An alert of a search that has no receipt is why it could not run. */
  override alert({ title, description }: Alert): void {
    if (this.closed || this.failure !== "" || this.receipt !== undefined) return;
    this.failure = description === undefined ? title : `${title}: ${description}`;
  }

  override error(message: string): void {
    if (!this.closed) this.failure = message;
  }

  /** A long line is left out: the link leads to it. */
  #keep(change: MatchChange): void {
    const bytes = Buffer.byteLength(JSON.stringify(change));
    if (this.#matchBytes + bytes > payloadBytesMax) return;
    this.#matchBytes += bytes;
    this.came.push(change);
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    setImmediate(() => {
      this.#isPaused = false;
      this.drained();
    });
  }
}
