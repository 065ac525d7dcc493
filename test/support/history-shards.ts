import { readPatches, usualPatchLimits } from "../../src/git/history/patches.js";
import { HistoryBuilder, type BuildKind } from "../../src/history/history-builder.js";
import { FileLanguages } from "../../src/indexer/file-languages.js";
import { loadKernel } from "../../src/native/kernel/load.js";

/** The bytes of a history shard of these commits. Throws if one of them is missing. */
export async function buildHistoryShard(
  directory: string,
  commits: readonly string[],
  kernelName: "native" | "ts",
  kind: BuildKind,
): Promise<Buffer> {
  const builder = new HistoryBuilder(loadKernel(kernelName), commits[0].length / 2);
  const languages = new FileLanguages();
  await readPatches(
    { directory, commits, limits: usualPatchLimits, stop: () => false },
    {
      commit: (commit) => builder.addCommit(commit),
      file: (file) => languages.add(file, builder),
      endCommit: (isComplete) => {
        builder.endCommit(isComplete);
        return true;
      },
      missing: (oid) => {
        throw new Error(`${oid} is missing`);
      },
    },
  );
  await languages.find(directory, builder, () => false);
  return builder.build(kind, (byteCount) => Buffer.alloc(byteCount));
}

/** Whether the value of the store is a history shard. */
export function isHistoryShard(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 8)).toString("latin1") === "TRWLHIST";
}
