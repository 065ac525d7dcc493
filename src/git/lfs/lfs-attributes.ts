import { rmSync } from "node:fs";
import { join } from "node:path";
import { localCommand } from "../objects/objects.js";
import { longReadLimits, writeLimits } from "../run/child-limits.js";
import { runGit, type RunOptions, type StopSignal } from "../run/run.js";

/** A file in the mirror; not in a folder of git's. */
const indexFile = "lfs-index";

const timeoutMs = 60_000;
const processBytesMax = 256 << 20;

/**
 * For each path whether the attribute `filter` is `lfs`, so that git-lfs would replace a pointer there: by git itself, and by the
 * `.gitattributes` files of a commit, of which the oids are given by path. Paths have one character per byte.
 *
 * Caller guarantees: nothing else writes to the mirror. Throws `git`, also if the patterns take too much work, and `cancelled`.
 */
export async function readLfsFilters(
  mirror: string,
  files: ReadonlyMap<string, string>,
  paths: readonly string[],
  stop: StopSignal,
): Promise<readonly boolean[]> {
  if (files.size === 0 || paths.length === 0) return paths.map(() => false);
  const index = join(mirror, indexFile);
  const command = (args: readonly string[], stdin: string): RunOptions => ({
    ...localCommand(stop),
    args: [`--git-dir=${mirror}`, ...args],
    environment: { ...localCommand(stop).environment, GIT_INDEX_FILE: index },
    timeoutMs,
    process: { ...longReadLimits, ...writeLimits(processBytesMax, processBytesMax, timeoutMs) },
    stdin: Buffer.from(stdin, "latin1"),
    exitCodes: [],
  });
  const entries = [...files].map(([path, oid]) => `100644 ${oid}\t${path}\0`).join("");
  const remove = (): void => {
    for (const path of [index, `${index}.lock`]) rmSync(path, { force: true });
  };
  remove();
  try {
    await runGit(command(["update-index", "-z", "--index-info"], entries));
    const { stdout } = await runGit(
      command(["check-attr", "--cached", "-z", "--stdin", "filter"], paths.map((path) => `${path}\0`).join("")),
    );
    // PATH, the name of the attribute and its value, for each path in their order.
    const words = stdout.toString("latin1").split("\0");
    return paths.map((_, i) => words[3 * i + 2] === "lfs");
  } finally {
    remove();
  }
}
