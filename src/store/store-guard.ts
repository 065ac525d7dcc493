import { join } from "node:path";
import { errorMessage, TrawlError } from "../base/errors.js";
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

/** LMDB's error for an environment whose meta page could not be written. */
const panic = "MDB_PANIC";

/** That error, and the system's errors for a failing disk. */
const lossOf = /\bMDB_PANIC\b|\bEIO\b|Input\/output error/;

/**
 * The error of a failed write: `store-lost` if the durable state is unknown. LMDB then rejects all further
 * transactions, including reads; and after a failed sync the system may have discarded the data to be written, so that
 * a retry proves nothing. Otherwise it is `storage`, nothing has changed, and the next write may succeed.
 *
 * If a meta page could not be written, LMDB at first only reports the system's error, such as a full disk: `read`
 * starts a read, which then fails.
 */
export function writeFailure(what: string, cause: unknown, read: () => void): TrawlError {
  const message = `${what}: ${errorMessage(cause)}`;
  const isLost = lossOf.test(message) || (findRefusal(read) ?? "").includes(panic);
  return new TrawlError(isLost ? "store-lost" : "storage", message, { cause });
}

/** The error of a read that could not be started. */
export function readFailure(what: string, cause: unknown): TrawlError {
  const message = `${what}: ${errorMessage(cause)}`;
  return new TrawlError(message.includes(panic) ? "store-lost" : "storage", message, { cause });
}

function findRefusal(read: () => void): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}
