import { TrawlError } from "../base/errors.js";

/** Thrown when results could not be written where they were to go: a full disk, for example. */
export class OutputError extends TrawlError {
  constructor(cause: NodeJS.ErrnoException) {
    super("storage", `the output could not be written: ${cause.message}`, { cause });
  }
}

/** Whether the reader of a pipe has gone, as `head` has after its last line. That is no failure. */
export function isReaderGone(error: NodeJS.ErrnoException): boolean {
  return error.code === "EPIPE";
}

/**
 * A stream that commands write results to.
 *
 * It writes no faster than the reader reads. When the reader has gone, `closed` becomes true and later writes do
 * nothing; any other failure makes the next `write` and `finish` throw an `OutputError`.
 */
export class Output {
  readonly #stream: NodeJS.WritableStream;
  #error: NodeJS.ErrnoException | undefined;
  #wake: () => void = () => {};

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    stream.on("drain", () => this.#wake());
    stream.on("error", (error: NodeJS.ErrnoException) => {
      this.#error ??= error;
      this.#wake();
    });
  }

  get closed(): boolean {
    return this.#error !== undefined && isReaderGone(this.#error);
  }

  async write(text: string): Promise<void> {
    if (text !== "" && this.#error === undefined && !this.#stream.write(text))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#check();
  }

  /** Resolves when all has been written. */
  async finish(): Promise<void> {
    if (this.#error === undefined)
      await new Promise<void>((resolve) => {
        this.#stream.write("", () => resolve());
      });
    this.#check();
  }

  #check(): void {
    if (this.#error !== undefined && !isReaderGone(this.#error)) throw new OutputError(this.#error);
  }
}
