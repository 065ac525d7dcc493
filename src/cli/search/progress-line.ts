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
  readonly #startMs = monotonicMs();
  #pending: PendingCall;
  #isShown = false;

  constructor(write: (text: string) => void, matchCount: () => number) {
    this.#write = write;
    this.#matchCount = matchCount;
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
    this.#write(`\r\u001b[Ksearching for ${seconds} s${found} … press Ctrl-C to stop`);
    this.#isShown = true;
  }
}
