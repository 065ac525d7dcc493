import { addonIfBuilt, type Addon } from "../addon.js";

/** What has become of a file that this process maps. */
export interface FileState {
  /** Reads that the file could not serve, and that got zeros. */
  readonly faults: number;
  /** It has fewer bytes than it had. */
  readonly isShorter: boolean;
  /** There is no such file, or another one. */
  readonly isGone: boolean;
}

/**
 * A mapped file that may lose bytes while it is read: somebody cuts it, or the disk fails. Without a guard that is a
 * SIGBUS, which ends the process. With it the reader gets zeros, and the count of faults tells: who compares it before
 * and after knows what not to trust. All threads that guard the same file see the same. Where the addon is not built,
 * nothing is guarded.
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

  /** Those of its first two pages. */
  get headFaultCount(): number {
    return this.#addon?.faultsOfFile(this.#file, true) ?? 0;
  }

  /** Looks at the file itself, too. */
  state(): FileState {
    this.#addon?.stateOfFile(this.#file, this.#words);
    const [faults, , isShorter, isGone] = this.#words;
    return { faults, isShorter: isShorter !== 0, isGone: isGone !== 0 };
  }
}

/** Reads of packs that their files could not serve, since the process began. */
export function packFaults(): number {
  return addonIfBuilt()?.packFaults() ?? 0;
}
