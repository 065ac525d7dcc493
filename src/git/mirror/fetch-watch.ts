import { monotonicMs } from "../../base/deadline.js";
import { parseProgress } from "./fetch-progress.js";

/** A transfer below this rate counts as standing still, over http(s) as elsewhere. */
export const lowSpeedBytesPerSecond = 1000;

/** A remote may make up phases; of more than this, which no git has, none counts. */
const remotePhaseCountMax = 16;

/** git checks in silence that all objects are there, for 100 s of a repository like Linux. */
const checkingFactor = 4;

/** Phases in which objects come in: their number says little, as one may have any size, so their bytes count. */
const transferPhases: ReadonlySet<string> = new Set(["Receiving objects", "Unpacking objects"]);

const unitBytes: Readonly<Record<string, number>> = { bytes: 1, KiB: 1 << 10, MiB: 1 << 20, GiB: 1 << 30 };

/**
 * Whether a fetch goes on, by what git says of it. Lines alone prove nothing: a remote can send them for ever. What
 * counts is a phase that begins, a count that grows, and while objects come in, bytes: at least
 * `lowSpeedBytesPerSecond` on average.
 */
export class FetchWatch {
  readonly #stillMsMax: number;
  readonly #now: () => number;
  readonly #counts = new Map<string, number>();
  #progressMs: number;
  #receivedBytes = 0;
  #isReceived = false;

  constructor(stillMsMax: number, now: () => number = monotonicMs) {
    this.#stillMsMax = stillMsMax;
    this.#now = now;
    this.#progressMs = now();
  }

  /** To be called with each line of git's standard error. */
  note(line: string): void {
    const progress = parseProgress(line);
    if (progress === null) return;
    const phase = progress.isRemote ? `remote ${progress.phase}` : progress.phase;
    const known = this.#counts.get(phase);
    if (known === undefined && this.#counts.size > remotePhaseCountMax) return;
    this.#counts.set(phase, Math.max(progress.count, known ?? -1));
    const isTransfer = !progress.isRemote && transferPhases.has(phase);
    if (isTransfer && progress.percent === 100) this.#isReceived = true;
    if (known === undefined || (isTransfer ? this.#hasReceived(line) : progress.count > known))
      this.#progressMs = this.#now();
  }

  /** Why the fetch is given up, as the end of a sentence that begins with its name; null while it goes on. */
  complaint(): string | null {
    const stillMs = this.#now() - this.#progressMs;
    if (stillMs <= this.#stillMsMax * (this.#isReceived ? checkingFactor : 1)) return null;
    return (
      `made no progress for ${Math.round(stillMs / 1000)} s: it received less than ${lowSpeedBytesPerSecond} bytes per second and no object count increased; ` +
      "check the remote and the network, or raise sync.timeoutSeconds"
    );
  }

  #hasReceived(line: string): boolean {
    const [, number, unit] = /, (\d{1,9}(?:\.\d{1,2})?) (bytes|[KMG]iB)/.exec(line) ?? [];
    if (number === undefined) return false;
    const bytes = Number(number) * unitBytes[unit];
    if (bytes - this.#receivedBytes < lowSpeedBytesPerSecond * (this.#stillMsMax / 1000)) return false;
    this.#receivedBytes = bytes;
    return true;
  }
}
