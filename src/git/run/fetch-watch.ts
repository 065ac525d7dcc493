import { monotonicMs } from "../../base/deadline.js";
import { parseProgress } from "./fetch-progress.js";

/** A slower transfer is considered stalled, over http(s) and otherwise. */
export const lowSpeedBytesPerSecond = 1000;

/** A remote may invent phases; beyond this number, which git never reaches, they do not count. */
const remotePhaseCountMax = 16;

/** git verifies without output that all objects exist, which takes 100 s for a repository like Linux. */
const checkingFactor = 4;

/** Phases in which objects are received: an object may have any size, so bytes are counted instead of objects. */
const transferPhases: ReadonlySet<string> = new Set(["Receiving objects", "Unpacking objects"]);

const unitBytes: Readonly<Record<string, number>> = { bytes: 1, KiB: 1 << 10, MiB: 1 << 20, GiB: 1 << 30 };

/**
 * Whether a fetch makes progress, according to git's output. Output alone proves nothing, because a remote can send it
 * forever. What counts is the start of a phase, an increasing count and, while objects are received, bytes: on average
 * at least `lowSpeedBytesPerSecond`.
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

  /** Must be called with each line of git's standard error. */
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

  /**
   * Why the fetch should be aborted, as the end of a sentence that begins with its name; null while it makes progress.
   */
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
