import { callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";
import { BoundedMap } from "../../base/bounded-map.js";
import type { ControlBlock, SearchCost } from "../../protocol/control-block.js";

/** What the searches of one client may cost within any window; 0 for no limit. */
export interface CostLimits {
  readonly scannedBytes: number;
  readonly workerMs: number;
  readonly windowMs: number;
}

/** Why a search is not admitted, or is ended. */
export interface BudgetRefusal {
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** Parts of a window: costs are forgotten one part after another. */
const partCount = 60;

/** Clients whose costs are remembered, those with the latest searches. */
const clientsMax = 100_000;

interface Part extends SearchCost {
  /** Number of the part, counted from the start of the clock. */
  readonly number: number;
}

/** Sums of what the searches of each client have cost within a sliding window. */
export class CostBudgets {
  readonly #limits: CostLimits;
  readonly #nowMs: () => number;
  /** The parts of each client that are not over yet, oldest first. */
  readonly #parts = new BoundedMap<string, Part[]>(clientsMax, () => 1);

  constructor(limits: CostLimits, nowMs: () => number = monotonicMs) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** Whether anything is limited. */
  get isOn(): boolean {
    return this.#limits.scannedBytes + this.#limits.workerMs > 0;
  }

  charge(client: string, { scannedBytes, workerMs }: SearchCost): void {
    if (!this.isOn || scannedBytes + workerMs === 0) return;
    const parts = this.#current(client);
    const number = this.#number;
    const last = parts.at(-1);
    if (last?.number !== number) parts.push({ number, scannedBytes, workerMs });
    else
      parts[parts.length - 1] = {
        number,
        scannedBytes: last.scannedBytes + scannedBytes,
        workerMs: last.workerMs + workerMs,
      };
    this.#parts.set(client, parts);
  }

  /** Undefined if the client has some of its budget left. */
  refusal(client: string): BudgetRefusal | undefined {
    if (!this.isOn) return undefined;
    const parts = this.#current(client);
    let over = this.#exceeded(parts);
    if (over === undefined) return undefined;
    const message = over;
    let freed = 0;
    while (over !== undefined && freed < parts.length) over = this.#exceeded(parts.slice(++freed));
    const freeAtMs = (parts[freed - 1].number + 1) * this.#partMs + this.#limits.windowMs;
    return { message, retryAfterSeconds: Math.max(1, Math.ceil((freeAtMs - this.#nowMs()) / 1000)) };
  }

  #exceeded(parts: readonly Part[]): string | undefined {
    const { scannedBytes, workerMs, windowMs } = this.#limits;
    const within = `of the last ${Math.round(windowMs / 1000)} seconds`;
    const bytes = parts.reduce((sum, part) => sum + part.scannedBytes, 0);
    if (scannedBytes > 0 && bytes >= scannedBytes)
      return `Your searches ${within} have scanned the ${scannedBytes} bytes that they may (search.budgetScannedBytes).`;
    const spentMs = parts.reduce((sum, part) => sum + part.workerMs, 0);
    if (workerMs > 0 && spentMs >= workerMs)
      return `Your searches ${within} have taken the ${workerMs / 1000} seconds of worker time that they may (search.budgetWorkerSeconds).`;
    return undefined;
  }

  /** Without the parts that are over. */
  #current(client: string): Part[] {
    const oldest = this.#number - partCount;
    return (this.#parts.get(client) ?? []).filter(({ number }) => number >= oldest);
  }

  get #number(): number {
    return Math.floor(this.#nowMs() / this.#partMs);
  }

  get #partMs(): number {
    return this.#limits.windowMs / partCount;
  }
}

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
