import { TrawlError } from "../base/errors.js";
import { type ControlBlock, stopReasons } from "./control-block.js";

/**
 * Ends work on a search that is stopped, from within: every loop over a text, a list of paths or a table calls `check`
 * at least every 5 ms. It costs 2 ns.
 */
export class StopCheck {
  readonly #control: ControlBlock;
  /** True while what is counted is looked up again or written: the limit on matches does not end that. */
  finishesCounted = false;

  /** `control` is the control block of the search. */
  constructor(control: ControlBlock) {
    this.#control = control;
  }

  /** Throws `cancelled` when the result of the work is not wanted any more. */
  check(): void {
    const reason = this.#control.stopReason;
    if (reason === stopReasons.none || (reason === stopReasons.limit && this.finishesCounted)) return;
    throw new TrawlError("cancelled", "the search was stopped");
  }
}
