import { callEvery, type PendingCall } from "../base/deadline.js";
import type { ControlBlock } from "../protocol/control-block.js";
import type { CostBudgets } from "./cost-budgets.js";

/** Interval at which a running search is charged. */
const chargeMs = 100;

/** Charges one search to the budget of its client while it runs. */
export class CostWatch {
  readonly #control: ControlBlock;
  readonly #budgets: CostBudgets;
  readonly #client: string;
  readonly #timer: PendingCall;
  #charged = { scannedBytes: 0, workerMs: 0 };

  /** `onExceeded` is called with a message for the user when the budget is used up. */
  constructor(control: ControlBlock, budgets: CostBudgets, client: string, onExceeded: (message: string) => void) {
    this.#control = control;
    this.#budgets = budgets;
    this.#client = client;
    this.#timer = callEvery(chargeMs, () => {
      this.#charge();
      const refusal = budgets.refusal(client);
      if (refusal !== undefined) onExceeded(refusal.message);
    });
  }

  /** Charges the rest. */
  end(): void {
    this.#timer.cancel();
    this.#charge();
  }

  #charge(): void {
    const { cost } = this.#control;
    this.#budgets.charge(this.#client, {
      scannedBytes: cost.scannedBytes - this.#charged.scannedBytes,
      workerMs: cost.workerMs - this.#charged.workerMs,
    });
    this.#charged = { ...cost };
  }
}
