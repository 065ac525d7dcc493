import { TrawlError } from "../../base/errors.js";

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

/** Shows control characters as symbols: text from repositories and servers must not control the terminal. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => {
      const code = character.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
    },
  );
}

/** Like `visible`, but keeps line ends. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

/** The same JSON with all characters escaped that `visible` would replace: JSON itself escapes only the first 32. */
export function visibleJson(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
