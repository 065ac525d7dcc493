import { readdirSync } from "node:fs";
import { join } from "node:path";
import { uninitializedBytes } from "../../base/bytes.js";
import type { StopSignal } from "../../base/stop-signal.js";
import { objectKinds, Packs, type PackFiles } from "../../native/packs/packs.js";

/** Size of the pieces in which a tree comparison is returned. */
const pieceBytes = 256 << 10;

/**
 * Memory limit for reading the packs of one mirror, in addition to the requested texts. The largest tree of Linux has
 * 60 KB; texts whose deltas need more are left to git, which runs in a process with its own limit.
 */
const memoryBytesMax = 64 << 20;

/** A larger commit or tag is left to git. */
const commitBytesMax = 1 << 20;

/**
 * The objects of a mirror, read from its packs and from the files of loose objects, without starting git. Reading the
 * texts of Linux takes three quarters of git's time and no pipe; comparing half of its paths takes a third.
 *
 * Objects that are not found are in a pack that was added after this was opened, are damaged, or do not exist: they must
 * be requested from git. Must be closed; nothing may be called after that.
 */
export class StoredObjects {
  readonly #packs: Packs;
  readonly #oidLength: number;

  private constructor(packs: Packs, oidLength: number) {
    this.#packs = packs;
    this.#oidLength = oidLength;
  }

  /**
   * `oidLength` is that of a hex oid. Objects with an oid of another length are not found: a repository may have changed
   * from SHA-1 to SHA-256. Undefined if the kernel's addon is not built. All methods throw `cancelled` if
   * stopped.
   */
  static open(directory: string, oidLength: number, stop: StopSignal): StoredObjects | undefined {
    const folder = join(directory, "objects");
    const files = listPackFiles(join(folder, "pack"));
    const packs = Packs.open(folder, files, { oidBytes: oidLength / 2, memoryBytesMax, stop });
    return packs === undefined ? undefined : new StoredObjects(packs, oidLength);
  }

  /** Sizes of blobs in the order of the request; -1 if an object is not found or not a blob. */
  blobSizes(oids: readonly string[]): number[] {
    const found = this.#describe(oids);
    return oids.map((_, i) => (found[2 * i] === objectKinds.blob ? found[2 * i + 1] : -1));
  }

  /** Unpacks a blob into `out`, which has its size; false if that is not possible. */
  readBlob(oid: string, out: Uint8Array): boolean {
    return oid.length === this.#oidLength && this.#packs.read(Buffer.from(oid, "hex"), out);
  }

  /** Like `Packs.readTexts`. */
  readTexts(...request: Parameters<Packs["readTexts"]>): ReturnType<Packs["readTexts"]> {
    return this.#packs.readTexts(...request);
  }

  /** A number of `objectKinds` for each object. */
  kinds(oids: readonly string[]): number[] {
    const found = this.#describe(oids);
    return oids.map((_, i) => found[2 * i]);
  }

  /** Like `Packs.describe`. No object has the oid that stands for one of another length. */
  #describe(oids: readonly string[]): Uint32Array {
    const none = "0".repeat(this.#oidLength);
    const known = oids.map((oid) => (oid.length === this.#oidLength ? oid : none));
    return this.#packs.describe(Buffer.from(known.join(""), "hex"), known.length);
  }

  /** The text of a commit; undefined if it is not found, or is larger than a commit should be. */
  readCommit(oid: string): string | undefined {
    return this.#readText(oid, objectKinds.commit);
  }

  /** The same for the object of an annotated tag. */
  readTag(oid: string): string | undefined {
    return this.#readText(oid, objectKinds.tag);
  }

  /** The bytes of a tree; undefined if it is not found, or is larger. */
  readTree(oid: string, bytesMax: number): Buffer | undefined {
    return this.readObject(oid, objectKinds.tree, bytesMax);
  }

  #readText(oid: string, wanted: number): string | undefined {
    return this.readObject(oid, wanted, commitBytesMax)?.toString("latin1");
  }

  /** An object of a kind of `objectKinds`; undefined if it is not found, of another kind, or larger than that. */
  readObject(oid: string, wanted: number, bytesMax: number): Buffer | undefined {
    if (oid.length !== this.#oidLength) return undefined;
    const bytes = Buffer.from(oid, "hex");
    const [kind, size] = this.#packs.describe(bytes, 1);
    if (kind !== wanted || size > bytesMax) return undefined;
    const content = Buffer.from(uninitializedBytes(size));
    return this.#packs.read(bytes, content) ? content : undefined;
  }

  /**
   * Passes the output of `git diff-tree` for two trees to `take`, in pieces, until it returns false. Undefined stands
   * for an empty tree. Returns false if a tree is not found.
   */
  diffTrees(before: string | undefined, after: string, take: (piece: Buffer) => boolean): boolean {
    const nothing = "0".repeat(after.length);
    return this.#packs.diff(
      Buffer.from(`${before ?? nothing}${after}`, "hex"),
      Buffer.from(uninitializedBytes(pieceBytes).buffer),
      take,
    );
  }

  /** Like `Packs.filterChanges`. */
  filterChanges(...request: Parameters<Packs["filterChanges"]>): void {
    this.#packs.filterChanges(...request);
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
    // Without the folder there are no packs; git reports what is wrong with the mirror.
  }
  return names
    .filter((name) => name.endsWith(".idx"))
    .map((name) => ({ index: join(folder, name), pack: join(folder, `${name.slice(0, -".idx".length)}.pack`) }));
}
