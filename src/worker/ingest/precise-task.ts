import { open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { monotonicMs } from "../../base/deadline.js";
import { serializeError, TrawlError, errorMessage } from "../../base/errors.js";
import { stopWhenSet, type StopSignal } from "../../base/stop-signal.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import { readEntries } from "../../git/objects/directories.js";
import { fileMode } from "../../git/objects/objects.js";
import { textOfBlob } from "../../indexer/encoding/blob-text.js";
import { mirrorName, mirrorsFolder } from "../../model/repository.js";
import type { BuildPreciseTask, BuildPreciseTaskResult } from "../../protocol/ingest-messages.js";
import { buildIndex, type DescribedCommit } from "../../scip/build-index.js";
import { type IngestThread, stepAllowanceMs, timeAllowance } from "./ingest-thread.js";

/** Larger files are not navigated. */
const textBytesMax = 8 << 20;

/** An index that takes longer is refused: others wait for it. Not measured with the largest that are accepted. */
const buildMsMax = 1_800_000;

/** A read fails if git shows no activity for this long. */
const silenceMs = 60_000;

/** Builds a precise index from the files of an upload. */
export async function runBuildPrecise(thread: IngestThread, task: BuildPreciseTask): Promise<BuildPreciseTaskResult> {
  const { activity, dataFolder } = thread;
  const isStopped = stopWhenSet(task.stop);
  const endMs = monotonicMs() + buildMsMax;
  const isLate = (): boolean => monotonicMs() > endMs;
  const stop = Object.assign((): boolean => isStopped() || isLate(), { words: isStopped.words ?? [] });
  activity.enter("indexing", task.repositoryId, "precise index", stepAllowanceMs);
  const directory = join(dataFolder, mirrorsFolder, mirrorName(task.repositoryId));
  try {
    const chunks = uploadBytes(task.files, task.indexBytesMax, () => {
      activity.beat();
      if (stop()) throw new TrawlError("cancelled", "the upload was stopped");
    });
    const built = await buildIndex(chunks, describeCommit(directory, task, stop), task.target, (byteCount) => {
      activity.allow(stepAllowanceMs + timeAllowance(byteCount));
      if (stop()) throw new TrawlError("cancelled", "the upload was stopped");
    });
    return { kind: "built", ...built };
  } catch (error) {
    const failure =
      isLate() && !isStopped()
        ? new TrawlError(
            "bad-request",
            `the index is not read after ${buildMsMax / 60_000} minutes; index a part of the repository at a time, with a root for each`,
          )
        : error;
    return { kind: "failed", error: serializeError(failure) };
  }
}

function describeCommit(
  directory: string,
  { commit, root }: Pick<BuildPreciseTask, "commit" | "root">,
  stop: StopSignal,
): DescribedCommit {
  return {
    readTexts: async (paths, onText) => {
      const entries = await readEntries(
        directory,
        commit,
        paths.map((path) => root + path),
        stop,
      );
      const texts = paths.map((_, i) => i);
      const isText = (i: number): boolean =>
        paths[i] !== "" && entries[i]?.kind === "file" && entries[i].mode !== fileMode.symlink;
      const wanted = texts.filter(isText);
      for (const i of texts) if (!isText(i)) await onText(i, undefined);
      await readBlobs(
        { directory, contentBytesMax: textBytesMax, silenceMs, stop },
        wanted.map((i) => entries[i]?.oid ?? ""),
        async (index, outcome) => {
          const found = outcome.kind === "content" ? textOfBlob(outcome.content) : undefined;
          await onText(wanted[index], found === undefined || found.kind === "binary" ? undefined : found.text);
        },
      );
    },
  };
}

const chunkBytes = 64 << 10;

/**
 * The bytes of the files of an upload, one after another, decompressed if they are gzip. The files are closed when it ends, also if
 * its user wants no more. `onChunk` is called before each chunk, and may throw.
 */
export async function* uploadBytes(
  files: readonly string[],
  bytesMax: number,
  onChunk: () => void,
): AsyncGenerator<Uint8Array> {
  let byteCount = 0;
  for await (const chunk of inflated(files)) {
    byteCount += chunk.length;
    if (byteCount > bytesMax)
      throw new TrawlError(
        "content-too-large",
        `the index has more than ${bytesMax} bytes when it is decompressed (precise.indexBytes); index a part of the repository at a time, with a root for each`,
      );
    onChunk();
    yield chunk;
  }
}

async function* inflated(files: readonly string[]): AsyncGenerator<Uint8Array> {
  const stored = concatenated(files);
  try {
    // The first part of an upload may have a single byte.
    let start = Buffer.alloc(0);
    while (start.length < 2) {
      const next = await stored.next();
      if (next.done === true) break;
      start = Buffer.concat([start, next.value]);
    }
    if (start[0] === 0x7b)
      throw new TrawlError(
        "bad-request",
        "this is an index in the LSIF format, which is not accepted; use an indexer that writes SCIP, or convert it with `scip convert`",
      );
    const whole = joined(start, stored);
    if (start[0] === 0x1f && start[1] === 0x8b) yield* gunzipped(whole);
    else yield* whole;
  } finally {
    // Nothing else does if `whole` was left at its first chunk.
    await stored.return(undefined);
  }
}

async function* joined(start: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield start;
  yield* rest;
}

async function* gunzipped(compressed: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  let failure: Error | undefined;
  pipeline(compressed, gunzip, (error) => (failure = error ?? undefined));
  try {
    yield* gunzip as AsyncIterable<Buffer>;
  } catch (error) {
    throw new TrawlError("bad-request", `the upload is not valid gzip: ${errorMessage(failure ?? error)}`, {
      cause: error,
    });
  }
}

/** A file is closed before what ends the iteration is done, which a stream of it does not promise. */
async function* concatenated(paths: readonly string[]): AsyncGenerator<Buffer, void, undefined> {
  for (const path of paths) {
    const file = await open(path);
    try {
      for (;;) {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes);
        if (bytesRead === 0) break;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }
}
