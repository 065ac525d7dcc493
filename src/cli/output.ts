import { TrawlError } from "../base/errors.js";
import { visibleLines } from "./search/visible.js";

/** Thrown if results could not be written, for example because the disk is full. */
export class OutputError extends TrawlError {
  constructor(cause: NodeJS.ErrnoException) {
    super("storage", `the output could not be written: ${cause.message}`, { cause });
  }
}

/** Whether the reader of a pipe has exited, as `head` does after its last line. That is not an error. */
export function isReaderGone(error: NodeJS.ErrnoException): boolean {
  return error.code === "EPIPE";
}

/**
 * A stream to which commands write results.
 *
 * It writes no faster than the reader reads. When the reader has exited, `closed` becomes true and later writes do
 * nothing; any other failure makes the next `write` and `finish` throw an `OutputError`.
 */
export class Output {
  readonly #stream: NodeJS.WritableStream;
  #error: NodeJS.ErrnoException | undefined;
  #wake: () => void = () => {};

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    stream.on("drain", () => this.#wake());
    const fail = (error: NodeJS.ErrnoException) => {
      this.#error ??= error;
      this.#wake();
    };
    stream.on("error", fail);
    // The pipe to a process that has ended is closed without an error if nothing is being written.
    const onClose = () => fail(Object.assign(new TrawlError("cancelled", "closed"), { code: "EPIPE" }));
    stream.on("close", onClose);
    if (!stream.writable) onClose();
  }

  get closed(): boolean {
    return this.#error !== undefined && isReaderGone(this.#error);
  }

  get isTerminal(): boolean {
    return "isTTY" in this.#stream && this.#stream.isTTY === true;
  }

  /** Like `write`, but what is written to a terminal cannot control it. */
  show(text: string): Promise<void> {
    return this.write(this.isTerminal ? visibleLines(text) : text);
  }

  async write(text: string | Uint8Array): Promise<void> {
    if (text.length > 0 && this.#error === undefined && !this.#stream.write(text))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#check();
  }

  /** Resolves when everything has been written. */
  async finish(): Promise<void> {
    if (this.#error === undefined)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#stream.write("", () => resolve());
      });
    this.#check();
  }

  #check(): void {
    if (this.#error !== undefined && !isReaderGone(this.#error)) throw new OutputError(this.#error);
  }
}
