import { addonIfBuilt, type Addon } from "../kernel/addon.js";

/** The state of a file that this process maps. */
export interface FileState {
  /** Number of reads that the file could not serve, and that returned zeros. */
  readonly faults: number;
  /** It is shorter than it was. */
  readonly isShorter: boolean;
  /** The file no longer exists, or has been replaced. */
  readonly isGone: boolean;
}

/**
 * Guards a mapped file that may be truncated, or become unreadable, while it is read. Without a guard, that raises
 * SIGBUS, which ends the process. With it, the reader gets zeros, and the number of faults increases: a caller that
 * compares it before and after knows which data is not trustworthy. All threads that guard the same file see the same
 * state. If the addon is not built, nothing is guarded.
 */
export class FileGuard {
  readonly #addon: Addon | undefined;
  readonly #file: number;
  readonly #words = new Uint32Array(4);

  /** Caller guarantees: the process has mapped the file. */
  constructor(path: string) {
    const addon = addonIfBuilt();
    this.#file = addon?.guardFile(Buffer.from(`${path}\0`)) ?? 0;
    this.#addon = this.#file === 0 ? undefined : addon;
  }

  get faultCount(): number {
    return this.#addon?.faultsOfFile(this.#file, false) ?? 0;
  }

  /** Faults in its first two pages. */
  get headFaultCount(): number {
    return this.#addon?.faultsOfFile(this.#file, true) ?? 0;
  }

  /** Also checks the file itself. */
  state(): FileState {
    this.#addon?.stateOfFile(this.#file, this.#words);
    const [faults, , isShorter, isGone] = this.#words;
    return { faults, isShorter: isShorter !== 0, isGone: isGone !== 0 };
  }
}

/** Number of reads of packs that their files could not serve, since the process started. */
export function packFaults(): number {
  return addonIfBuilt()?.packFaults() ?? 0;
}
