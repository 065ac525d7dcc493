import { join } from "node:path";
import { monotonicMs } from "../../base/deadline.js";
import { serializeError, TrawlError } from "../../base/errors.js";
import { stopWhenSet, type StopSignal } from "../../base/stop-signal.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import { readEntries } from "../../git/objects/directories.js";
import { fileMode } from "../../git/objects/objects.js";
import { textOfBlob } from "../../indexer/encoding/blob-text.js";
import { mirrorName, mirrorsFolder } from "../../model/repository.js";
import type { BuildPreciseTask, BuildPreciseTaskResult } from "../../protocol/ingest-messages.js";
import { buildIndex, type DescribedCommit } from "../../scip/build-index.js";
import { type IngestThread, stepAllowanceMs, timeAllowance } from "./ingest-thread.js";
import { uploadBytes } from "./upload-bytes.js";

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
