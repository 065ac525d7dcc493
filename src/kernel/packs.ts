import { addonIfBuilt, type Addon, type OpenPacks } from "./addon.js";

export interface PackFiles {
  readonly index: string;
  readonly pack: string;
}

/** Numbers of the kinds of objects, as packs have them. */
export const objectKinds = { none: 0, commit: 1, tree: 2, blob: 3, tag: 4 } as const;

/**
 * Objects of a git repository, read from its packs without starting git.
 *
 * What is not in a pack, or not as it should be there, is not found: git is to be asked about that. An oid is its bytes.
 * Nothing may be called after `close`.
 */
export class Packs {
  readonly #addon: Addon;
  readonly #packs: OpenPacks;
  readonly #state = new Uint32Array(2);

  private constructor(addon: Addon, packs: OpenPacks) {
    this.#addon = addon;
    this.#packs = packs;
  }

  /** Undefined where the addon is not built. Files that are no packs are left out. */
  static open(files: readonly PackFiles[], oidBytes: number): Packs | undefined {
    const addon = addonIfBuilt();
    const strings = files.flatMap(({ index, pack }) => [index, pack]).map((file) => `${file}\0`).join("");
    return addon === undefined ? undefined : new Packs(addon, addon.openPacks(Buffer.from(strings), files.length, oidBytes));
  }

  /** Kind and size of each of the oids, which lie one after the other; 0 and 0 for what is not found. */
  describe(oids: Uint8Array, count: number): Uint32Array {
    const out = new Uint32Array(2 * count);
    this.#addon.describeObjects(this.#packs, oids, out);
    return out;
  }

  /** Unpacks an object into `out`, which has its size; false when that is not possible. */
  read(oid: Uint8Array, out: Uint8Array): boolean {
    return this.#addon.readObject(this.#packs, oid, out);
  }

  /**
   * Gives to `take` what `git diff-tree -r -z --raw --no-renames --no-abbrev` writes of two trees, in pieces of up to the size of
   * `buffer`, until that returns false. Zeros stand for an empty tree. Returns false when an object is not found.
   */
  diff(trees: Uint8Array, buffer: Buffer, take: (piece: Buffer) => boolean): boolean {
    if (!this.#addon.beginDiff(this.#packs, trees)) return false;
    for (;;) {
      this.#addon.nextDiff(this.#packs, buffer, this.#state);
      const [byteCount, progress] = this.#state;
      if (progress === diffProgress.failed) return false;
      if (!take(buffer.subarray(0, byteCount)) || progress === diffProgress.done) return true;
    }
  }

  close(): void {
    this.#addon.closePacks(this.#packs);
  }
}

const diffProgress = { done: 1, failed: 2 } as const;
