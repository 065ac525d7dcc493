import { TrawlError } from "../../base/errors.js";
import { uninitializedBytes } from "../../base/bytes.js";
import { lazy } from "../../base/lazy.js";
import { type BlobOutcome, BlobReader, type BlobReaderOptions, type OnBlob } from "./blob-reader.js";
import { localCommand } from "./objects.js";
import { StoredObjects } from "./stored-objects.js";
import { runGit, type StopSignal } from "../run/run.js";
import { endedByItself } from "./damage.js";

/** A larger scratch buffer is not kept for the next content. */
const scratchBytesKept = 4 << 20;

/**
 * Sizes of blobs in the order of the request, -1 if a blob is missing or not a blob. Throws `git`, and `cancelled` if
 * stopped.
 */
export async function blobSizes(directory: string, oids: readonly string[], stop: StopSignal): Promise<number[]> {
  if (oids.length === 0) return [];
  const sizes = storedSizes(directory, oids, stop);
  const others = oids.flatMap((_, i) => (sizes[i] < 0 ? [i] : []));
  const told = await blobSizesByGit(
    directory,
    others.map((i) => oids[i]),
    stop,
  );
  others.forEach((i, j) => (sizes[i] = told[j]));
  return sizes;
}

function storedSizes(directory: string, oids: readonly string[], stop: StopSignal): number[] {
  const objects = StoredObjects.open(directory, oids[0].length, stop);
  try {
    return objects?.blobSizes(oids) ?? oids.map(() => -1);
  } finally {
    objects?.close();
  }
}

async function blobSizesByGit(directory: string, oids: readonly string[], stop: StopSignal): Promise<number[]> {
  if (oids.length === 0) return [];
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "cat-file", "--buffer", "--batch-check=%(objecttype) %(objectsize)"],
    stdin: oids.map((oid) => `${oid}\n`).join(""),
    exitCodes: [],
  });
  const sizes = stdout
    .toString("latin1")
    .split("\n")
    .slice(0, -1)
    .map((line) => (line.startsWith("blob ") ? Number(line.slice("blob ".length)) : -1));
  if (sizes.length !== oids.length) throw new TrawlError("git", "git cat-file: an unexpected number of responses");
  return sizes;
}

/**
 * Calls `onBlob` for each oid: first those that can be read without starting git, then the others, which git reads. This
 * keeps the thread busy, so it is only for threads on which nothing else waits, or for few blobs. Throws like
 * `BlobReader`.
 */
export async function readBlobs(options: BlobReaderOptions, oids: readonly string[], onBlob: OnBlob): Promise<void> {
  const objects = oids.length === 0 ? undefined : StoredObjects.open(options.directory, oids[0].length, options.stop);
  let others = oids.map((_, i) => i);
  if (objects !== undefined) {
    try {
      others = await readStored(objects, options, oids, onBlob);
    } finally {
      objects.close();
    }
  }
  if (others.length === 0) return;
  await readByGit(
    options,
    others.map((i) => oids[i]),
    (index, outcome) => onBlob(others[index], outcome),
  );
}

/** Returns the indexes of those that are left to git. */
async function readStored(
  objects: StoredObjects,
  { contentBytesMax, stop }: BlobReaderOptions,
  oids: readonly string[],
  onBlob: OnBlob,
): Promise<number[]> {
  const sizes = objects.blobSizes(oids);
  const scratchBytes = Math.min(
    scratchBytesKept,
    sizes.reduce((largest, size) => Math.max(largest, size), 0),
  );
  const scratch = lazy(() => uninitializedBytes(scratchBytes));
  const others: number[] = [];
  const place = (size: number): Buffer =>
    size <= scratchBytes ? scratch().subarray(0, size) : uninitializedBytes(size);
  for (let i = 0; i < oids.length; i++) {
    if (stop()) throw new TrawlError("cancelled", "the reading of blobs was stopped");
    const size = sizes[i];
    let pending: unknown;
    if (size > contentBytesMax) pending = onBlob(i, { kind: "too-large", contentBytes: size });
    else {
      const content = size < 0 ? undefined : place(size);
      if (content !== undefined && objects.readBlob(oids[i], content))
        pending = onBlob(i, { kind: "content", content });
      else others.push(i);
    }
    if (pending !== undefined) await pending;
  }
  return others;
}

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
