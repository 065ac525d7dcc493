import { TrawlError } from "../../base/errors.js";
import { BlobReader, type BlobOutcome, type BlobReaderOptions, type OnBlob } from "./blob-reader.js";
import { endedByItself } from "./damage.js";

/** Maximum number of objects that may crash git. */
const endCountMax = 1_000;

/**
 * Maximum number of objects that may exceed a limit, because each uses all the memory, or the time, that git may use.
 */
const limitCountMax = 16;

/**
 * At most this many objects are requested from git in advance, so the one that ended it is among the next of this
 * number.
 */
const singleCount = 2_048;

/**
 * Calls `onBlob` for each oid, in order, using git. An object that ends git, for example because it claims to unpack to
 * more memory than git may use, affects only itself: git is restarted, and objects are requested one by one for a
 * while, to determine which it was. It is reported as too large if git exceeded a limit, otherwise as missing.
 *
 * Throws like `BlobReader`, but `git` only if git keeps exiting.
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
  /** Index of the next oid to report. */
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

  /** Reads at most `countMax` of the remaining objects, `count` at a time; returns the error if git exited early. */
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

  /** An exception of the caller is not an error of git. */
  async #tell(index: number, outcome: BlobOutcome): Promise<void> {
    this.next = index + 1;
    this.#isOurs = true;
    await this.#onBlob(index, outcome);
    this.#isOurs = false;
  }
}
