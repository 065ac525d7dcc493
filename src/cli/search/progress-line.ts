import { callAfter, callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";

/** A quick search shows none. */
const firstAfterMs = 400;
const everyMs = 200;

/**
 * One line on a terminal that says how long a search has been running, while it has printed nothing. `clear` removes
 * it for good; it is idempotent.
 */
export class ProgressLine {
  readonly #write: (text: string) => void;
  readonly #matchCount: () => number;
  readonly #columns: () => number;
  readonly #startMs = monotonicMs();
  #pending: PendingCall;
  #isShown = false;

  /** `columns` is the width of the terminal. */
  constructor(write: (text: string) => void, matchCount: () => number, columns: () => number) {
    this.#write = write;
    this.#matchCount = matchCount;
    this.#columns = columns;
    this.#pending = callAfter(firstAfterMs, () => {
      this.#show();
      this.#pending = callEvery(everyMs, () => this.#show());
    });
  }

  clear(): void {
    this.#pending.cancel();
    if (this.#isShown) this.#write("\r\u001b[K");
    this.#isShown = false;
  }

  #show(): void {
    const seconds = ((monotonicMs() - this.#startMs) / 1000).toFixed(1);
    const found = this.#matchCount() > 0 ? `, ${this.#matchCount().toLocaleString("en")} matches` : "";
    // A line that fills the terminal would continue on the next one, where it cannot be cleared.
    const text = `searching for ${seconds} s${found} … press Ctrl-C to stop`.slice(0, Math.max(0, this.#columns() - 1));
    this.#write(`\r\u001b[K${text}`);
    this.#isShown = true;
  }
}
