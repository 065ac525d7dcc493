import { join } from "node:path";
import { TrawlError } from "../base/errors.js";
import { FileGuard } from "../native/process/file-guard.js";

/**
 * Detects that a store's file has been truncated under the running process. LMDB has no checksums, and a commit would
 * extend such a file again, with holes instead of the lost pages. Therefore nothing more is written, and the next
 * start repairs the store.
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
   * Number of reads that returned zeros. Data read while it increased is not trustworthy, nor is anything verified
   * earlier.
   */
  get faultCount(): number {
    return this.#guard.faultCount;
  }

  /** Whether the pages from which LMDB finds all others are lost: then no LMDB function may be called. */
  get isHeadLost(): boolean {
    return this.#guard.headFaultCount > 0;
  }

  /** What is wrong with the file, permanently; undefined while nothing is. */
  damage(): string | undefined {
    if (this.#damage !== undefined) return this.#damage;
    const { faults, isShorter, isGone } = this.#guard.state();
    if (isGone) this.#damage = `${this.#file} was deleted or replaced while it was in use`;
    else if (isShorter) this.#damage = `${this.#file} was truncated while it was in use`;
    else if (faults > 0) this.#damage = `part of ${this.#file} could not be read from the disk`;
    return this.#damage;
  }

  /** Call after a write: from then on, the file must not become shorter than it is now. */
  recordGrowth(): void {
    this.#guard.state();
  }

  /** Throws `storage` if the file is damaged. */
  requireWhole(): void {
    const damage = this.damage();
    if (damage !== undefined) throw damagedStore(this.#name, damage);
  }
}

export function damagedStore(name: string, damage: string): TrawlError {
  return new TrawlError(
    "storage",
    `${name} is damaged, and nothing more is written to it: ${damage}. Restart the daemon, which repairs the store at startup.`,
  );
}
