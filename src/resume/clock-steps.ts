import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { uptime } from "node:os";

/** A difference that is rounding, or the clock being adjusted slowly. */
const toleranceMs = 60_000;

/** When the machine was started, as the wall clock of some moment says. */
interface Recorded {
  readonly bootId: string;
  readonly bootedMs: number;
}

/**
 * Ages of files when the wall clock was set in between: the file `path` has how the clock related to the time since the
 * machine was started, so that a step is noticed as long as it was not started again.
 *
 * An age is never too large because of a step; it may be too small, by at most the whole age.
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

  /** Whether the clock was set since it was recorded, so that the times of files do not fit it. */
  get hasStepped(): boolean {
    return this.#recorded?.bootId !== this.#bootId || Math.abs(this.#stepMs(new Date().getTime())) > toleranceMs;
  }

  /** Must be called when the times of all files fit the clock. */
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
