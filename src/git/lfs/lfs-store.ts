import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../base/errors.js";
import { blobOid, ObjectImport } from "../mirror/object-import.js";
import { localCommand } from "../objects/objects.js";
import { isOid } from "../objects/refs.js";
import { longReadLimits, writeLimits } from "../run/child-limits.js";
import { lackOfRoom } from "../run/disk-room.js";
import { runGit, type RunOptions, type StopSignal } from "../run/run.js";
import { type LfsContents, listLfsContents, readLfsContents } from "./lfs-contents.js";

const ref = "refs/trawl/lfs";

/** What the catalog had when a list was written: while that cannot be indexed, searches read this one. */
const indexedRef = "refs/trawl/lfs-indexed";

export interface LfsStoreLimits {
  /** Of each git process. */
  readonly timeoutMs: number;
  readonly memoryBytesMax: number;
  readonly reserveBytes: number;
}

/**
 * Writes contents to a mirror, see `LfsContents`. A process killed at any moment leaves the list of before, and objects that git deletes
 * when it repacks the mirror.
 *
 * Caller guarantees: nothing else writes to the mirror. `close` must be called.
 */
export class LfsStore {
  readonly #mirror: string;
  readonly #limits: LfsStoreLimits;
  readonly #stop: StopSignal;
  /** An oid of the mirror's format. */
  readonly #other: string;
  #import: ObjectImport | undefined;

  constructor(mirror: string, other: string, limits: LfsStoreLimits, stop: StopSignal) {
    this.#mirror = mirror;
    this.#other = other;
    this.#limits = limits;
    this.#stop = stop;
  }

  /** Returns the oid of the blob. Throws `git` if git fails, or the disk has no room. */
  async addContents(contents: Buffer): Promise<string> {
    const lack = lackOfRoom(this.#mirror, this.#limits.reserveBytes);
    if (lack !== null) throw new TrawlError("git", `git fast-import ${lack}`);
    if (this.#import === undefined) {
      const args = ["-c", "core.compression=1", "fast-import", "--quiet", "--done", "--force", "--depth=0"];
      const command = this.#command([...args]);
      // It is alive while contents are fetched, which has a limit of its own.
      this.#import = new ObjectImport(this.#mirror, command, { ...command, timeoutMs: Infinity });
    }
    await this.#import.addBlob(contents);
    return blobOid(contents, this.#other);
  }

  /** Makes this the list of the mirror, with what was added. `indexed`, the tree of another one, stays as well. */
  async finish(
    blobs: ReadonlyMap<string, string>,
    leftOut: ReadonlySet<string>,
    isWhole: boolean,
    indexed: string | undefined,
  ): Promise<LfsContents> {
    const none = leftOut.size === 0 && isWhole ? "" : await this.addContents(Buffer.alloc(0));
    await this.#import?.finish("");
    this.#import = undefined;
    const { stdout } = await this.#run(["mktree"], listLfsContents(blobs, leftOut, isWhole, none));
    const tree = stdout.toString("latin1").trim();
    if (!isOid(tree)) throw new TrawlError("git", "git mktree wrote unexpected output");
    const lines = [`update ${ref} ${tree}\n`, ...(indexed === undefined ? [] : [`update ${indexedRef} ${indexed}\n`])];
    await this.#run(["update-ref", "--stdin"], lines.join(""));
    return await readLfsContents(this.#mirror, tree, this.#stop);
  }

  close(): void {
    this.#import?.close();
  }

  async #run(args: readonly string[], stdin: string | null = null) {
    return await runGit({ ...this.#command(args), stdin });
  }

  #command(args: readonly string[]): RunOptions {
    const { timeoutMs, memoryBytesMax } = this.#limits;
    return {
      ...localCommand(this.#stop),
      args: [`--git-dir=${this.#mirror}`, ...args],
      timeoutMs,
      process: { ...longReadLimits, ...writeLimits(memoryBytesMax, Infinity, timeoutMs) },
      exitCodes: [],
    };
  }
}

/** The list that was written last, or another one by the oid of its tree; undefined if there is none, or it is damaged. */
export async function findLfsContents(
  mirror: string,
  stop: StopSignal,
  name: string = ref,
): Promise<LfsContents | undefined> {
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${mirror}`, "rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{tree}`],
    exitCodes: [1, 128],
  });
  const tree = stdout.toString("latin1").trim();
  if (!isOid(tree)) return undefined;
  try {
    return await readLfsContents(mirror, tree, stop);
  } catch (error) {
    if (error instanceof TrawlError && error.code === "git") return undefined;
    throw error;
  }
}

/** Lets git delete the contents after two weeks, when no search reads them any more. */
export async function dropLfsContents(mirror: string, stop: StopSignal): Promise<void> {
  if (!existsSync(join(mirror, stateFile))) return;
  const process = writeLimits(64 << 20, 1 << 30, dropTimeoutMs);
  await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${mirror}`, "update-ref", "--stdin"],
    stdin: Buffer.from(`delete ${ref}\ndelete ${indexedRef}\n`),
    process,
    timeoutMs: dropTimeoutMs,
    exitCodes: [],
  });
  rmSync(join(mirror, stateFile), { force: true });
}

const dropTimeoutMs = 60_000;

/** What is known of the pointers of a mirror, in its folder; what is lost of it is found again. */
export const stateFile = "lfs-state";
