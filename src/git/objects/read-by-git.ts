import { TrawlError } from "../../base/errors.js";
import { BlobReader, type BlobOutcome, type BlobReaderOptions, type OnBlob } from "./blob-reader.js";
import { endedByItself } from "../mirror/damage.js";

/** So many objects may end git. */
const endCountMax = 1_000;

/** So many by a limit, as each costs all the memory, or the time, that git may take. */
const limitCountMax = 16;

/** git is asked for so many objects ahead, at most, that the one that ended it is among the next of this number. */
const singleCount = 2_048;

/**
 * Tells `onBlob` of each oid, in order, by git. An object that ends git, such as one that claims to unpack to more
 * memory than git may have, costs itself only: git is started anew, and asked for one object after the other for a
 * while, so that it is known which it was. It counts as too large where git ran into a limit, otherwise as missing.
 *
 * Throws as `BlobReader`, `git` only when git ends again and again.
 */
export async function readByGit(options: BlobReaderOptions, oids: readonly string[], onBlob: OnBlob): Promise<void> {
  const reading = new Reading(options, oids, onBlob);
  for (let endCount = 1; !reading.isDone; endCount++) {
    let error = await reading.goOn(Infinity, Infinity);
    for (let singles = singleCount; error !== undefined; endCount++) {
      if (endCount > endCountMax || reading.limitCount > limitCountMax) throw error;
      const before = reading.next;
      error = await reading.goOn(1, singles);
      if (error !== undefined) await reading.passOver();
      singles -= reading.next - before;
    }
  }
}

class Reading {
  readonly #options: BlobReaderOptions;
  readonly #oids: readonly string[];
  readonly #onBlob: OnBlob;
  /** Of the next oid to tell of. */
  next = 0;
  limitCount = 0;
  #hasHitLimit = false;
  #isOurs = false;

  constructor(options: BlobReaderOptions, oids: readonly string[], onBlob: OnBlob) {
    this.#options = options;
    this.#oids = oids;
    this.#onBlob = onBlob;
  }

  get isDone(): boolean {
    return this.next >= this.#oids.length;
  }

  /** Reads at most `countMax` of what is left, so many at a time; returns what ended git before. */
  async goOn(count: number, countMax: number): Promise<TrawlError | undefined> {
    const reader = new BlobReader(this.#options);
    const end = this.next + countMax;
    try {
      while (!this.isDone && this.next < end) {
        const from = this.next;
        await reader.read(this.#oids.slice(from, from + count), (index, outcome) => this.#tell(from + index, outcome));
      }
      return undefined;
    } catch (error) {
      if (this.#isOurs || !(error instanceof TrawlError) || !(reader.hasHitLimit || endedByItself(error))) throw error;
      this.#hasHitLimit = reader.hasHitLimit;
      if (this.#hasHitLimit) this.limitCount++;
      return error;
    } finally {
      reader.close();
    }
  }

  async passOver(): Promise<void> {
    await this.#tell(
      this.next,
      this.#hasHitLimit ? { kind: "too-large", contentBytes: this.#options.contentBytesMax + 1 } : { kind: "missing" },
    );
  }

  /** What the caller throws is not git's. */
  async #tell(index: number, outcome: BlobOutcome): Promise<void> {
    this.next = index + 1;
    this.#isOurs = true;
    await this.#onBlob(index, outcome);
    this.#isOurs = false;
  }
}
