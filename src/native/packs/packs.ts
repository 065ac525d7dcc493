import { TrawlError } from "../../base/errors.js";
import type { StopSignal } from "../../base/stop-signal.js";
import { addonIfBuilt, type Addon, type OpenPacks } from "../kernel/addon.js";

export interface PackFiles {
  readonly index: string;
  readonly pack: string;
}

export interface PackOptions {
  /** 20 or 32. */
  readonly oidBytes: number;
  /**
   * Limit for all calls together on memory for deltas, their bases, trees and the cache. Objects that need more are not
   * found.
   */
  readonly memoryBytesMax: number;
  readonly stop: StopSignal;
}

/** Numbers of the kinds of objects, as in packs. */
export const objectKinds = { none: 0, commit: 1, tree: 2, blob: 3, tag: 4 } as const;

/** `Found` of packs.h. */
const found = { yes: 0, no: 1, tooLarge: 2, stopped: 3 } as const;

/** `TextKind` of packs.h. */
export const textKinds = { ascii: 0, other: 1, binary: 2, notFound: 3 } as const;

/** `TreeDiff::Progress` of tree-diff.h. */
const diffProgress = { more: 0, done: 1, failed: 2, stopped: 3, tooMany: 4 } as const;

/**
 * Objects of a git repository, read from its packs, and from the files of loose objects, without starting git.
 *
 * Objects that are in none of them, are damaged there, or do not fit into the memory limit are not found: they must be
 * requested from git. An oid is given as its bytes. Throws `cancelled` if stopped. Nothing may be called after `close`.
 */
export class Packs {
  readonly #addon: Addon;
  readonly #packs: OpenPacks;
  readonly #state = new Uint32Array(2);
  readonly #stop: StopSignal;
  readonly #stopWords: readonly Int32Array[];

  private constructor(addon: Addon, packs: OpenPacks, stop: StopSignal) {
    this.#addon = addon;
    this.#packs = packs;
    this.#stop = stop;
    this.#stopWords = stop.words ?? [];
  }

  /**
   * `folder` has the folders of loose objects. Undefined if the addon is not built. Files that are not packs are
   * skipped.
   */
  static open(
    folder: string,
    files: readonly PackFiles[],
    { oidBytes, memoryBytesMax, stop }: PackOptions,
  ): Packs | undefined {
    const addon = addonIfBuilt();
    const strings = [folder, ...files.flatMap(({ index, pack }) => [index, pack])].map((file) => `${file}\0`).join("");
    return addon === undefined
      ? undefined
      : new Packs(addon, addon.openPacks(Buffer.from(strings), files.length, oidBytes, memoryBytesMax), stop);
  }

  /** Kind and size of each of the consecutive oids; 0 and 0 for objects that are not found. */
  describe(oids: Uint8Array, count: number): Uint32Array {
    const out = new Uint32Array(2 * count);
    if (this.#stop() || !this.#addon.describeObjects(this.#packs, oids, out, this.#stopWords)) throw stopped();
    return out;
  }

  /** Unpacks an object into `out`, which has its size; false if that is not possible. */
  read(oid: Uint8Array, out: Uint8Array): boolean {
    const outcome = this.#stop() ? found.stopped : this.#addon.readObject(this.#packs, oid, out, this.#stopWords);
    if (outcome === found.stopped) throw stopped();
    return outcome === found.yes;
  }

  /**
   * Unpacks texts one after another into `out`, without gaps, and writes a kind of `textKinds` for each. `oids` has one for
   * each size; sizes are those reported by `describe`. Binary texts and those that are not found leave no
   * bytes. Returns after a text of more than `pauseBytes`, before one for which there is no room, or when it has run for
   * some milliseconds.
   */
  readTexts(
    oids: Uint8Array,
    sizes: Uint32Array,
    out: Uint8Array,
    pauseBytes: number,
    kinds: Uint32Array,
  ): { readonly count: number; readonly byteCount: number } {
    const goesOn =
      !this.#stop() &&
      this.#addon.readTexts(this.#packs, oids, sizes, out, pauseBytes, kinds, this.#state, this.#stopWords);
    if (!goesOn) throw stopped();
    const [count, byteCount] = this.#state;
    return { count, byteCount };
  }

  /**
   * Passes the output of `git diff-tree -r -z --raw --no-renames --no-abbrev` for two trees to `take`, in pieces of up
   * to the size of `buffer`, until it returns false. Zeros stand for an empty tree. Returns false if an object is not
   * found.
   *
   * Throws `git` if the trees contain more entries than a real repository has: git would take as long for them.
   */
  diff(trees: Uint8Array, buffer: Buffer, take: (piece: Buffer) => boolean): boolean {
    const begun = this.#addon.beginDiff(this.#packs, trees, this.#stopWords);
    if (begun === found.stopped) throw stopped();
    if (begun !== found.yes) return false;
    for (;;) {
      if (this.#stop()) throw stopped();
      this.#addon.nextDiff(this.#packs, buffer, this.#state, this.#stopWords);
      const [byteCount, progress] = this.#state;
      if (progress === diffProgress.stopped) throw stopped();
      if (progress === diffProgress.tooMany) throw tooMany(trees);
      if (progress === diffProgress.failed) return false;
      if (!take(buffer.subarray(0, byteCount)) || progress === diffProgress.done) return true;
    }
  }

  /**
   * Writes 0 for each of the consecutive commits that cannot have changed a line that contains one of the literals, and 1
   * for the others. With `fold`, ASCII case is ignored, and the letters of the literals are in lower case. A literal is not empty
   * and has no zero byte. Takes some milliseconds per hundred commits.
   */
  filterChanges(commits: Uint8Array, literals: readonly Uint8Array[], fold: boolean, verdicts: Uint8Array): void {
    const texts = Buffer.concat(literals.flatMap((literal) => [literal, Buffer.alloc(1)]));
    const { length } = literals;
    const goesOn =
      !this.#stop() && this.#addon.filterChanges(this.#packs, commits, texts, length, fold, verdicts, this.#stopWords);
    if (!goesOn) throw stopped();
  }

  close(): void {
    this.#addon.closePacks(this.#packs);
  }
}

function stopped(): TrawlError {
  return new TrawlError("cancelled", "the reading of packs was stopped");
}

function tooMany(trees: Uint8Array): TrawlError {
  const [before, after] = [trees.subarray(0, trees.length / 2), trees.subarray(trees.length / 2)].map((oid) =>
    Buffer.from(oid).toString("hex"),
  );
  return new TrawlError(
    "git",
    `the trees ${before} and ${after} cannot be compared: they differ in more than 16777216 entries, so one of them contains the same directories very many times`,
  );
}
