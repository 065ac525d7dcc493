import { monotonicMs } from "../../base/deadline.js";

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

/** The progress of a fetch, as reported by git. */
export interface FetchProgress {
  /** For example `Receiving objects`. */
  readonly phase: string;
  /** 0 to 100; null if git only counts. */
  readonly percent: number | null;
  /** The count of the phase. */
  readonly count: number;
  /** Whether it was reported by the remote: then it may be false. */
  readonly isRemote: boolean;
}

/** Minimum interval between progress reports within one phase. */
const periodMs = 200;

/**
 * Returns a function that parses lines of git's standard error and reports progress: each new phase immediately, then 5
 * times a second.
 */
export function progressReader(listener: (progress: FetchProgress) => void): (line: string) => void {
  let phase = "";
  let reportedMs = 0;
  return (line) => {
    const progress = parseProgress(line);
    if (progress === null) return;
    const nowMs = monotonicMs();
    if (progress.phase === phase && progress.percent !== 100 && nowMs - reportedMs < periodMs) return;
    phase = progress.phase;
    reportedMs = nowMs;
    listener(progress);
  };
}

/** Parses `remote: Counting objects:  40% (4/10)` or `Enumerating objects: 12, done.`; null for any other line. */
export function parseProgress(line: string): FetchProgress | null {
  const parts = /^(remote: )?([A-Z][A-Za-z ]{0,80}): {1,4}(?:(\d{1,3})% \()?(\d{1,15})/.exec(line);
  if (parts === null) return null;
  const [, remote, phase = "", percent, count = ""] = parts;
  return {
    phase,
    percent: percent === undefined ? null : Number(percent),
    count: Number(count),
    isRemote: remote !== undefined,
  };
}
