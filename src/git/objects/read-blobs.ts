import { TrawlError } from "../../base/errors.js";
import { uninitializedBytes } from "../../base/bytes.js";
import { lazy } from "../../base/lazy.js";
import type { BlobReaderOptions, OnBlob } from "./blob-reader.js";
import { localCommand } from "./objects.js";
import { StoredObjects } from "./stored-objects.js";
import { readByGit } from "./read-by-git.js";
import { runGit, type StopSignal } from "../run/run.js";

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
