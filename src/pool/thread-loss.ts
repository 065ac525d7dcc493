import { errorMessage, TrawlError, type ErrorCode } from "../base/errors.js";

const explanations = {
  overrun: "it did not come back after its deadline, or after it had been stopped, and was ended",
  stalled: "it did not go on, and was ended",
  memory: "its heap was exhausted",
  died: "it ended by itself",
  stopped: "the daemon is stopping",
} as const;

const codes: Partial<Record<LossReason, ErrorCode>> = { stopped: "shutting-down", overrun: "cancelled" };

/** Why the thread of a task is gone. */
export type LossReason = keyof typeof explanations;

/** The thread that ran a task is gone; the pool has another one. */
export class ThreadLoss extends TrawlError {
  readonly reason: LossReason;

  constructor(reason: LossReason, cause: unknown) {
    super(
      codes[reason] ?? "internal",
      `the thread is gone: ${explanations[reason]}${cause === undefined ? "" : ` (${errorMessage(cause)})`}`,
      { cause },
    );
    this.reason = reason;
  }
}

/** Undefined `endReason`: nobody ended it. */
export function classifyLoss(endReason: LossReason | undefined, error: unknown): ThreadLoss {
  if (endReason !== undefined) return new ThreadLoss(endReason, undefined);
  if (error instanceof ThreadLoss) return error;
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return new ThreadLoss(code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : "died", error);
}
