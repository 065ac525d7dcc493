import { createHash } from "node:crypto";
import { callEvery, monotonicMs, type PendingCall, sleep } from "../base/deadline.js";
import { assert } from "../base/assert.js";
import { uninitializedBytes } from "../base/bytes.js";
import { errorMessage, TrawlError } from "../base/errors.js";

/** What an object has; the first part of its key. */
export const objectKinds = ["shard", "symbols", "history"] as const;
export type ObjectKind = (typeof objectKinds)[number];

/** Names bytes that never change. */
export interface ObjectName {
  readonly kind: ObjectKind;
  /** Their SHA-256 in hex. */
  readonly hash: string;
  readonly byteCount: number;
}

/** A stored value is a shard with its postings, of which a task has one at a time in memory. */
export const objectBytesMax = 2 ** 30;

/** Two digits of the hash spread the keys, because stores limit the requests to keys with one beginning. */
export function objectKey({ kind, hash }: ObjectName): string {
  assert(isObjectHash(hash), "an object is named by its SHA-256");
  return `${kind}/${hash.slice(0, 2)}/${hash}`;
}

export function isObjectHash(text: unknown): text is string {
  return typeof text === "string" && /^[0-9a-f]{64}$/.test(text);
}

export function hashObject(kind: ObjectKind, bytes: Uint8Array): ObjectName {
  return { kind, hash: createHash("sha256").update(bytes).digest("hex"), byteCount: bytes.length };
}

/**
 * A place for bytes that all nodes of a fleet reach. It decides nothing, and is not believed: what is read is compared with its name, and
 * writing something twice is no harm, so no store needs conditional writes, which some confirm to everybody.
 *
 * Contract:
 * - `put` resolves when the object can be read, and is as durable as the store promises. Others never find a part of it under its key,
 *   if the store does what it should.
 * - `find` resolves with the size of the object; undefined if there is none.
 * - `read` calls `take` with all bytes in their order, one call after the other; it rejects with what `take` throws. What it
 *   reads may be something else than what was put.
 * - Each is one attempt, and ends after the signal is aborted. It rejects with an `ObjectFailure`, or with `bad-config` if the
 *   configuration has to be changed.
 */
export interface ObjectStore {
  put(key: string, name: ObjectName, bytes: Buffer, signal: AbortSignal): Promise<void>;
  find(key: string, signal: AbortSignal): Promise<number | undefined>;
  read(key: string, take: (chunk: Buffer) => void, signal: AbortSignal): Promise<void>;
  /** For messages; without what is secret. */
  readonly place: string;
}

/** One attempt has failed. */
export class ObjectFailure extends TrawlError {
  /** Whether the same request may succeed later. */
  readonly isPassing: boolean;

  constructor(message: string, isPassing: boolean, cause?: unknown) {
    super("storage", message, { cause });
    this.isPassing = isPassing;
  }
}

/** Not what the name says. A proxy or a copy of the store may answer better the next time, and probably does not. */
class WrongObject extends ObjectFailure {
  constructor(message: string) {
    super(message, true);
  }
}

const wrongCountMax = 3;

export interface ObjectLimits {
  /** All attempts together, for an object without bytes. */
  readonly deadlineMs: number;
  /** More time is given to larger objects: one second for so many bytes. */
  readonly bytesPerSecondMin: number;
  /** The pause before the second attempt; it doubles up to `retryMsMax`, and a random part of it is left out. */
  readonly retryMs: number;
  readonly retryMsMax: number;
  /** An attempt is given up when nothing arrives for this time. */
  readonly silenceMs: number;
}

export const usualObjectLimits: ObjectLimits = {
  deadlineMs: 60_000,
  bytesPerSecondMin: 256 * 1024,
  retryMs: 200,
  retryMsMax: 10_000,
  silenceMs: 15_000,
};

/** Objects by name, with several attempts at each. */
export class Objects {
  readonly #store: ObjectStore;
  readonly #limits: ObjectLimits;

  constructor(store: ObjectStore, limits: ObjectLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Makes sure that the store has the object; resolves with whether it did not have it, or had other bytes. */
  async put(name: ObjectName, bytes: Buffer, stop: () => boolean): Promise<boolean> {
    assert(bytes.length === name.byteCount, "an object is as long as its name says");
    requireSize(name);
    const key = objectKey(name);
    return this.#attempt("stored", name, stop, async (signal) => {
      if ((await this.#store.find(key, signal)) === name.byteCount && (await this.#isWhole(name, signal))) return false;
      await this.#store.put(key, name, bytes, signal);
      return true;
    });
  }

  /** An object is seldom there before it is put, so it costs little to read it, and to replace one that was damaged. */
  async #isWhole(name: ObjectName, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#read(name, signal, () => undefined);
      return true;
    } catch (error) {
      if (error instanceof WrongObject) return false;
      throw error;
    }
  }

  /**
   * Reads the object. What is returned has the length and the SHA-256 of the name; nothing is returned otherwise. While it is read, it is in
   * memory of its own that nobody else sees.
   */
  async get(name: ObjectName, stop: () => boolean): Promise<Buffer> {
    requireSize(name);
    return this.#attempt("read", name, stop, async (signal) => {
      const bytes = uninitializedBytes(name.byteCount);
      await this.#read(name, signal, (chunk, from) => bytes.set(chunk, from));
      return bytes;
    });
  }

  /** Calls `take` with the bytes of the object and where they are in it. Throws `WrongObject` if they are not those of the name. */
  async #read(name: ObjectName, signal: AbortSignal, take: (chunk: Buffer, from: number) => void): Promise<void> {
    const { byteCount } = name;
    const hash = createHash("sha256");
    let length = 0;
    await this.#store.read(
      objectKey(name),
      (chunk) => {
        if (length + chunk.length > byteCount)
          throw new WrongObject(`more bytes than the ${byteCount} of its record came`);
        take(chunk, length);
        length += chunk.length;
        hash.update(chunk);
      },
      signal,
    );
    if (length < byteCount) throw new WrongObject(`${length} of ${byteCount} bytes came`);
    const found = hash.digest("hex");
    if (found !== name.hash) throw new WrongObject(`other bytes came, whose SHA-256 is ${found}`);
  }

  async #attempt<T>(
    what: string,
    name: ObjectName,
    stop: () => boolean,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { deadlineMs, bytesPerSecondMin, retryMs, retryMsMax } = this.#limits;
    const endMs = monotonicMs() + deadlineMs + (1000 * name.byteCount) / bytesPerSecondMin;
    let last: unknown;
    let wrongCount = 0;
    for (let attempt = 1; ; attempt++) {
      const end = new AbortController();
      const watch = watchStop(end, stop, endMs);
      let failure: unknown;
      try {
        return await work(end.signal);
      } catch (error) {
        // That there was no time left says less than why there was a need for another attempt.
        failure = end.signal.aborted ? (last ?? error) : error;
        last = failure;
      } finally {
        watch.cancel();
      }
      if (stop()) throw stopped(what, name);
      const pauseMs = Math.min(retryMsMax, retryMs * 2 ** Math.min(attempt - 1, 20)) * (0.5 + Math.random() / 2);
      if (failure instanceof WrongObject) wrongCount++;
      const isPassing = failure instanceof ObjectFailure && failure.isPassing && wrongCount < wrongCountMax;
      if (!isPassing || monotonicMs() + pauseMs >= endMs) {
        if (failure instanceof TrawlError && !(failure instanceof ObjectFailure)) throw failure;
        throw new ObjectFailure(
          `object ${objectKey(name)} cannot be ${what} in ${this.#store.place} (${attempt} ${attempt === 1 ? "attempt" : "attempts"}): ${errorMessage(failure)}`,
          isPassing,
          failure,
        );
      }
      for (let left = pauseMs; left > 0 && !stop(); left -= stopLookMs) await sleep(Math.min(left, stopLookMs));
      if (stop()) throw stopped(what, name);
    }
  }
}

function stopped(what: string, name: ObjectName): TrawlError {
  return new TrawlError("cancelled", `object ${objectKey(name)} was not ${what}: the task was stopped`);
}

/** How often a stop flag in shared memory is looked at. */
const stopLookMs = 200;

function watchStop(end: AbortController, stop: () => boolean, endMs: number): PendingCall {
  return callEvery(stopLookMs, () => {
    if (stop() || monotonicMs() >= endMs) end.abort();
  });
}

function requireSize({ byteCount }: ObjectName): void {
  if (!Number.isSafeInteger(byteCount) || byteCount <= 0 || byteCount > objectBytesMax)
    throw new ObjectFailure(`an object has 1 to ${objectBytesMax} bytes, and this one ${byteCount}`, false);
}
