import { readdirSync } from "node:fs";
import { join } from "node:path";
import { uninitializedBytes } from "../../base/bytes.js";
import type { StopSignal } from "../../base/stop-signal.js";
import { objectKinds, Packs, type PackFiles } from "../../native/packs/packs.js";

/** What a comparison of trees is handed out in. */
const pieceBytes = 256 << 10;

/**
 * What one mirror's packs take of memory beside the texts asked for. The largest tree of Linux has 60 KB; texts whose
 * deltas need more are left to git, a process with a limit of its own.
 */
const memoryBytesMax = 64 << 20;

/** A larger commit is left to git. */
const commitBytesMax = 1 << 20;

/**
 * The packed objects of a mirror, without starting git. The texts of Linux take three quarters of git's time, and no
 * pipe; a comparison of half of its paths a third.
 *
 * What is not found is loose, came after this was opened, is damaged, or is nowhere: git is to be asked about it.
 * To be closed; nothing may be called after that.
 */
export class PackedObjects {
  readonly #packs: Packs;

  private constructor(packs: Packs) {
    this.#packs = packs;
  }

  /**
   * `oidLength` is that of a hex oid. Undefined where the kernel's addon is not built, and without packs. All methods
   * throw `cancelled` when stopped.
   */
  static open(directory: string, oidLength: number, stop: StopSignal): PackedObjects | undefined {
    const files = listPackFiles(join(directory, "objects", "pack"));
    const packs = files.length === 0 ? undefined : Packs.open(files, { oidBytes: oidLength / 2, memoryBytesMax, stop });
    return packs === undefined ? undefined : new PackedObjects(packs);
  }

  /** Sizes of blobs in the order asked; -1 for what is not found or no blob. */
  blobSizes(oids: readonly string[]): number[] {
    const found = this.#packs.describe(Buffer.from(oids.join(""), "hex"), oids.length);
    return oids.map((_, i) => (found[2 * i] === objectKinds.blob ? found[2 * i + 1] : -1));
  }

  /** Unpacks a blob into `out`, which has its size; false when that is not possible. */
  readBlob(oid: string, out: Uint8Array): boolean {
    return this.#packs.read(Buffer.from(oid, "hex"), out);
  }

  /** What a commit says; undefined when it is not found, or larger than a commit is. */
  readCommit(oid: string): string | undefined {
    const bytes = Buffer.from(oid, "hex");
    const [kind, size] = this.#packs.describe(bytes, 1);
    if (kind !== objectKinds.commit || size > commitBytesMax) return undefined;
    const text = Buffer.from(uninitializedBytes(size));
    return this.#packs.read(bytes, text) ? text.toString("latin1") : undefined;
  }

  /**
   * Gives to `take` what `git diff-tree` writes of two trees, in pieces, until that returns false. Undefined stands for
   * an empty tree. Returns false when some tree is not found.
   */
  diffTrees(before: string | undefined, after: string, take: (piece: Buffer) => boolean): boolean {
    const nothing = "0".repeat(after.length);
    return this.#packs.diff(
      Buffer.from(`${before ?? nothing}${after}`, "hex"),
      Buffer.from(uninitializedBytes(pieceBytes).buffer),
      take,
    );
  }

  close(): void {
    this.#packs.close();
  }
}

function listPackFiles(folder: string): PackFiles[] {
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    // Without the folder there are no packs; git says what is wrong with the mirror.
  }
  return names
    .filter((name) => name.endsWith(".idx"))
    .map((name) => ({ index: join(folder, name), pack: join(folder, `${name.slice(0, -".idx".length)}.pack`) }));
}
