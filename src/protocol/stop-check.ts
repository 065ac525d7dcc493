import { TrawlError } from "../base/errors.js";
import { type ControlBlock, stopReasons } from "./control-block.js";

/**
 * Ends work on a stopped search from within: every loop over a text, a list of paths or a table calls `check` at least
 * every 5 ms. It takes 2 ns.
 */
export class StopCheck {
  readonly #control: ControlBlock;
  /** True while counted results are looked up again or written: the limit on matches does not end that work. */
  finishesCounted = false;

  /** `control` is the control block of the search. */
  constructor(control: ControlBlock) {
    this.#control = control;
  }

  /** Throws `cancelled` if the result of the work is no longer wanted. */
  check(): void {
    const reason = this.#control.stopReason;
    if (reason === stopReasons.none || (reason === stopReasons.limit && this.finishesCounted)) return;
    throw new TrawlError("cancelled", "the search was stopped");
  }
}
