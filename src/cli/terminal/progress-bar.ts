import { callAfter, callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";
import { visible } from "./output.js";

/** What takes less shows nothing. */
const firstAfterMs = 400;
const everyMs = 200;

const barColumnsMax = 30;
/** On a terminal with fewer columns for it, the text stands alone. */
const barColumnsMin = 8;

/** A stream, usually standard error. */
type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** Whether a line on this stream can be replaced by another. */
export function hasProgress(stream: Stream): boolean {
  return stream.isTTY === true && process.env["TERM"] !== "dumb";
}

/**
 * One line on a terminal that says how far long work is, with a bar if the last message has a share, such as `45 %` or
 * `3 of 7`. It is drawn in place; `clear` removes it, and is idempotent.
 */
export class ProgressBar {
  readonly #stream: Stream;
  readonly #startMs = monotonicMs();
  #text = "";
  #pending: PendingCall;
  #isShown = false;

  constructor(stream: Stream) {
    this.#stream = stream;
    this.#pending = callAfter(firstAfterMs, () => {
      this.#draw();
      this.#pending = callEvery(everyMs, () => this.#draw());
    });
  }

  /** Replaces the message, which is drawn soon. */
  tell(text: string): void {
    this.#text = text;
  }

  clear(): void {
    this.#pending.cancel();
    if (this.#isShown) this.#stream.write("\r\u001b[K");
    this.#isShown = false;
  }

  #draw(): void {
    const seconds = `${Math.floor((monotonicMs() - this.#startMs) / 1000)} s`;
    // A line that fills the terminal would continue on the next one, where it cannot be cleared.
    const columns = (this.#stream.columns || 80) - 1;
    this.#stream.write(`\r\u001b[K${progressText(visible(this.#text), seconds, columns, !process.env["NO_COLOR"])}`);
    this.#isShown = true;
  }
}

/** Does long work with a bar on standard error, or, if that is no terminal, with what else is done with its messages. */
export async function withProgress<T>(
  otherwise: (text: string) => void,
  work: (tell: (text: string) => void) => Promise<T>,
): Promise<T> {
  if (!hasProgress(process.stderr)) return await work(otherwise);
  const bar = new ProgressBar(process.stderr);
  try {
    return await work((text) => bar.tell(text));
  } finally {
    bar.clear();
  }
}

/** The line in at most so many columns: the bar first, then as much of the message as fits, and the time. */
export function progressText(text: string, time: string, columns: number, hasColours: boolean): string {
  const words = text === "" ? time : `${text}, ${time}`;
  const share = findShare(text);
  const room = Math.min(barColumnsMax, columns - words.length - 3);
  if (share === undefined || room < barColumnsMin) return words.slice(0, Math.max(0, columns));
  const full = "#".repeat(Math.round(share * room));
  const painted = hasColours && full !== "" ? `\u001b[32m${full}\u001b[0m` : full;
  return `[${painted}${".".repeat(room - full.length)}] ${words}`;
}

function findShare(text: string): number | undefined {
  const [, percent] = /(\d{1,3}) %/.exec(text) ?? [];
  if (percent !== undefined) return Math.min(1, Number(percent) / 100);
  const [, done, total] = /\b(\d{1,15}) of (\d{1,15})\b/.exec(text) ?? [];
  return total === undefined || Number(total) === 0 ? undefined : Math.min(1, Number(done) / Number(total));
}
