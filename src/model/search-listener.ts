import type { ResultGroups } from "./result-groups.js";
import type { Alert, Filter, Progress } from "./stream-events.js";

/** Bytes that the receiver releases when it no longer needs them, so that their memory is reused. */
export interface PooledBytes {
  readonly bytes: Uint8Array;
  release(): void;
}

/**
 * Elements of a JSON array, separated by commas, without its brackets; never empty. The kernel has written them, and
 * they stay bytes until somebody needs their members.
 */
export type JsonElements = Uint8Array | PooledBytes;

/** How fast a receiver takes what it is given. */
export interface Outlet {
  /** Bytes that were accepted and have not been passed on yet. */
  readonly pendingBytes: number;
  readonly closed: boolean;
  /** `callback` is called each time `pendingBytes` falls from above zero to zero, but never while an event is accepted. */
  onDrain(callback: () => void): void;
  /** `callback` is called once, when nothing more is wanted or after the last event; at once if that was before. */
  onClosed(callback: () => void): void;
}

/**
 * Who gets the results of a search: a client's stream, a file, or code that asks for them.
 *
 * Contract:
 * - Events are accepted even under backpressure: the caller looks at `pendingBytes` before it produces more. After
 *   `closed` they are dropped, and their bytes released.
 * - The receiver owns the bytes of `matches` and `changes` until it releases them; they may be written to afterwards.
 * - Objects are not changed after they were passed.
 * - `filters` and `progress` replace what was said before. `done` is the last event.
 */
export interface SearchListener extends Outlet {
  /** Which of the calls of `filters` it needs: the others are not made, because making filters takes longer than many a search. */
  readonly filterEvents: "none" | "last" | "each";
  /** `StreamMatch` objects. Each names its repository by id and name. */
  matches(parts: readonly JsonElements[]): void;
  filters(filters: readonly Filter[]): void;
  /** Once, before the last progress, if matches are only counted. */
  groups(groups: ResultGroups): void;
  /** What was found so far, what was left out and why; the last one also what was covered. */
  progress(progress: Progress): void;
  /** A message to the user about the query or its results. */
  alert(alert: Alert): void;
  /** Why the search could not run, or could not go on. */
  error(message: string): void;
  done(): void;
}

/** Who gets what has changed in the results of a search. */
export interface ChangeListener extends SearchListener {
  /** `MatchChange` objects. */
  changes(parts: readonly JsonElements[]): void;
}

/** A listener that lets all events pass, and what others have in common: they are closed once, and tell who waits. */
export class BaseListener implements ChangeListener {
  readonly filterEvents: SearchListener["filterEvents"] = "none";
  readonly #drainCallbacks: (() => void)[] = [];
  readonly #closedCallbacks: (() => void)[] = [];
  #isClosed = false;

  get pendingBytes(): number {
    return 0;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  onDrain(callback: () => void): void {
    this.#drainCallbacks.push(callback);
  }

  onClosed(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#closedCallbacks.push(callback);
  }

  matches(parts: readonly JsonElements[]): void {
    releaseAll(parts);
  }

  changes(parts: readonly JsonElements[]): void {
    releaseAll(parts);
  }

  filters(_filters: readonly Filter[]): void {
    // Not of interest.
  }

  groups(_groups: ResultGroups): void {
    // Not of interest.
  }

  progress(_progress: Progress): void {
    // Not of interest.
  }

  alert(_alert: Alert): void {
    // Not of interest.
  }

  error(_message: string): void {
    // Not of interest.
  }

  done(): void {
    this.end();
  }

  /** After the last event, or when nothing more is wanted. Idempotent. */
  end(): void {
    this.close();
  }

  protected close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const callback of this.#closedCallbacks.splice(0)) callback();
  }

  /** To be called when nothing is pending any more. */
  drained(): void {
    if (this.#isClosed) return;
    for (const callback of this.#drainCallbacks) callback();
  }
}

export function bytesOfPart(part: JsonElements): Uint8Array {
  return part instanceof Uint8Array ? part : part.bytes;
}

export function releaseAll(parts: readonly JsonElements[]): void {
  for (const part of parts) if (!(part instanceof Uint8Array)) part.release();
}

/** The number of bytes of all parts. */
export function countBytes(parts: readonly JsonElements[]): number {
  return parts.reduce((sum, part) => sum + bytesOfPart(part).length, 0);
}

/** A copy of the parts as one JSON array. Releases them. */
export function takeArray(parts: readonly JsonElements[]): Buffer {
  const array = Buffer.concat(
    parts.flatMap((part, i) => [i === 0 ? openBracket : comma, bytesOfPart(part)]).concat(closeBracket),
  );
  releaseAll(parts);
  return array;
}

/** Parses all elements. Releases the parts. */
export function parseElements<T>(parts: readonly JsonElements[]): T[] {
  return JSON.parse(takeArray(parts).toString("utf8")) as T[];
}

const openBracket = Buffer.from("[");
const comma = Buffer.from(",");
const closeBracket = Buffer.from("]");
