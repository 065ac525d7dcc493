import { join } from "node:path";
import { TrawlError } from "../base/errors.js";
import { FileGuard } from "../native/process/file-guard.js";

/**
 * Notices that a store's file has lost bytes under the running process. LMDB has no checksums, and a commit would make
 * such a file longer again, with holes where pages were: so nothing is written any more, and the next start repairs the
 * store.
 */
export class StoreGuard {
  readonly #name: string;
  readonly #file: string;
  readonly #guard: FileGuard;
  #damage: string | undefined;

  /** `name` begins a message, as in "the catalog". Caller guarantees: the store in the folder is open. */
  constructor(name: string, folder: string) {
    this.#name = name;
    this.#file = join(folder, "data.mdb");
    this.#guard = new FileGuard(this.#file);
  }

  /**
   * Reads that got zeros. What was read while it grew is not to be trusted, and neither is what was verified before.
   */
  get faultCount(): number {
    return this.#guard.faultCount;
  }

  /** Whether the pages are lost from which LMDB finds all others: then it must not be asked for anything. */
  get isHeadLost(): boolean {
    return this.#guard.headFaultCount > 0;
  }

  /** What is wrong with the file, for good; undefined while nothing is. */
  damage(): string | undefined {
    if (this.#damage !== undefined) return this.#damage;
    const { faults, isShorter, isGone } = this.#guard.state();
    if (isGone) this.#damage = `${this.#file} was deleted or replaced while it was in use`;
    else if (isShorter) this.#damage = `${this.#file} was cut short while it was in use`;
    else if (faults > 0) this.#damage = `a part of ${this.#file} could not be read from the disk`;
    return this.#damage;
  }

  /** After a write: from here on the file is not shorter than it is. */
  recordGrowth(): void {
    this.#guard.state();
  }

  /** Throws `storage` when the file is damaged. */
  requireWhole(): void {
    const damage = this.damage();
    if (damage !== undefined) throw damagedStore(this.#name, damage);
  }
}

export function damagedStore(name: string, damage: string): TrawlError {
  return new TrawlError(
    "storage",
    `${name} is damaged, and nothing is written any more: ${damage}. Restart the daemon: it repairs the store as it starts.`,
  );
}
