import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { uptime } from "node:os";

/** A difference that is rounding, or the clock being adjusted slowly. */
const toleranceMs = 60_000;

/** When the machine was started, by the wall clock at the time of recording. */
interface Recorded {
  readonly bootId: string;
  readonly bootedMs: number;
}

/**
 * Computes the ages of files although the wall clock may have been set since they were written. The file `path` records
 * when the machine was started by the wall clock. A different start time for the same boot means that the clock was set.
 *
 * A step never makes an age too large. It may make it too small, down to 0.
 */
export class ClockSteps {
  readonly #path: string;
  readonly #bootId = readBootId();
  #recorded: Recorded | undefined;

  constructor(path: string) {
    this.#path = path;
    try {
      this.#recorded = JSON.parse(readFileSync(path, "utf8")) as Recorded;
    } catch {
      // There is none yet, or it is damaged: ages are what the clock says.
    }
  }

  /** The age of a file that was last written at `mtimeMs`. */
  ageMs(mtimeMs: number): number {
    const nowMs = new Date().getTime();
    return Math.max(0, Math.min(nowMs - mtimeMs, nowMs - this.#stepMs(nowMs) - mtimeMs));
  }

  /** Whether the clock was set since it was recorded, so that the times of the files are wrong. */
  get hasStepped(): boolean {
    return this.#recorded?.bootId !== this.#bootId || Math.abs(this.#stepMs(new Date().getTime())) > toleranceMs;
  }

  /** Must be called after the times of all files have been corrected. */
  async record(): Promise<void> {
    const recorded = { bootId: this.#bootId, bootedMs: bootedMs(new Date().getTime()) };
    await writeFile(this.#path, JSON.stringify(recorded), { mode: 0o600 });
    this.#recorded = recorded;
  }

  #stepMs(nowMs: number): number {
    return this.#recorded?.bootId === this.#bootId ? bootedMs(nowMs) - this.#recorded.bootedMs : 0;
  }
}

function bootedMs(nowMs: number): number {
  return nowMs - uptime() * 1000;
}

function readBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
