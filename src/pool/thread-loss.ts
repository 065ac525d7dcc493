import { errorMessage, TrawlError, type ErrorCode } from "../base/errors.js";

const explanations = {
  overrun: "it did not return after its deadline, or after it had been stopped, and was terminated",
  stalled: "it made no progress, and was terminated",
  memory: "its heap was exhausted",
  died: "it exited unexpectedly",
  stopped: "the daemon is stopping",
} as const;

const codes: Partial<Record<LossReason, ErrorCode>> = { stopped: "shutting-down", overrun: "cancelled" };

/** Why the thread of a task was lost. */
export type LossReason = keyof typeof explanations;

/** The thread that ran a task was lost; the pool has replaced it. */
export class ThreadLoss extends TrawlError {
  readonly reason: LossReason;

  constructor(reason: LossReason, cause: unknown) {
    super(
      codes[reason] ?? "internal",
      `the thread was lost: ${explanations[reason]}${cause === undefined ? "" : ` (${errorMessage(cause)})`}`,
      { cause },
    );
    this.reason = reason;
  }
}

/** `endReason` is undefined if the pool did not terminate it. */
export function classifyLoss(endReason: LossReason | undefined, error: unknown): ThreadLoss {
  if (endReason !== undefined) return new ThreadLoss(endReason, undefined);
  if (error instanceof ThreadLoss) return error;
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return new ThreadLoss(code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : "died", error);
}
