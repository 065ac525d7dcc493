import { isOid } from "../objects/refs.js";
import { longReadLimits } from "../run/child-limits.js";
import { bigBlobBytes, localEnvironment } from "../run/environment.js";
import { runGit, type StopSignal } from "../run/run.js";
import type { PatchFile } from "./patch-file.js";

const outputBytesMax = 256 << 20;

/**
 * Finds out which of the files that git reports as binary are too large: git does not look whether those are binary, and
 * reports no changes. Files are known by a number, such as that of their entry in a history shard.
 */
export class LargeBlobs {
  readonly #files: number[] = [];
  readonly #oids: string[] = [];

  add(file: PatchFile, number: number): void {
    if (!file.isBinary) return;
    for (const oid of file.oids) {
      if (!isOid(oid) || /^0+$/.test(oid)) continue;
      this.#files.push(number);
      this.#oids.push(oid);
    }
  }

  /** The files with a blob that is too large, ascending. Throws `git` if the mirror is damaged, `cancelled` if stopped. */
  async find(directory: string, stop: StopSignal): Promise<number[]> {
    if (this.#oids.length === 0) return [];
    const { stdout } = await runGit({
      args: [`--git-dir=${directory}`, "cat-file", "--buffer", "--batch-check=%(objectsize)"],
      environment: localEnvironment(),
      directory: "/",
      stdin: `${this.#oids.join("\n")}\n`,
      exitCodes: [],
      onErrorLine: null,
      timeoutMs: Infinity,
      silenceMs: Infinity,
      outputBytesMax,
      process: longReadLimits,
      stop,
    });
    const sizes = stdout.toString("latin1").split("\n");
    // Of a missing object the line is "OID missing".
    const found = this.#files.filter((_, i) => Number(sizes[i]) > bigBlobBytes);
    return [...new Set(found)];
  }
}
