import { createContext, Script } from "node:vm";
import { monotonicMs } from "../../base/deadline.js";

/** Time limit for all texts of one task, because the thread does nothing else meanwhile. */
const hastyMs = 1_000;
const patientMs = 10_000;

/** How much time is left to convert texts to HTML. */
export class MarkupTime {
  leftMs: number;

  constructor(patient: boolean) {
    this.leftMs = patient ? patientMs : hastyMs;
  }
}

/**
 * The result of `work`, which calls a library whose regexps may run forever on hostile text; undefined if it times out.
 * Only the engine's own watchdog can end a loop in a regexp.
 */
export function withinTime(work: () => string, time: MarkupTime): string | undefined {
  const startMs = monotonicMs();
  try {
    return callScript.runInContext(createContext({ work }), { timeout: Math.max(1, Math.ceil(time.leftMs)) }) as string;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined;
    throw error;
  } finally {
    time.leftMs -= monotonicMs() - startMs;
  }
}

const callScript = new Script("work()");
