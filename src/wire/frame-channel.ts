import type { Duplex } from "node:stream";
import { errorMessage } from "../base/errors.js";
import { type Frame, FrameParser, frameStart } from "./frames.js";

/** Who gets what the other end of a channel says. */
export interface FrameReceiver {
  /** May throw a `TrawlError` about a message that the other end may not send: it closes the channel. */
  frame(frame: Frame): void;
  /** Called once, unless this end has closed the channel. `reason` is undefined if the other end has said everything. */
  closed(reason: string | undefined): void;
}

/**
 * A stream of frames to and from another node.
 *
 * Contract: frames arrive in the order in which they were sent. After `close`, or when `closed` has been called, nothing
 * arrives. While it is paused nothing arrives either, and the other end may send as much as the window of the stream holds.
 */
export class FrameChannel {
  readonly #stream: Duplex;
  readonly #receiver: FrameReceiver;
  readonly #parser = new FrameParser();
  #isClosed = false;
  #isPaused = false;
  #hasEnded = false;
  #error: string | undefined;

  constructor(stream: Duplex, receiver: FrameReceiver) {
    this.#stream = stream;
    this.#receiver = receiver;
    stream.on("data", (chunk: Buffer) => this.#receive(chunk));
    stream.on("end", () => {
      this.#hasEnded = true;
    });
    stream.on("error", (error) => {
      // A stream that waited for its connection has the reason of that as a cause.
      this.#error ??= errorMessage(error.cause ?? error);
    });
    stream.once("close", () => this.#end());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** `release` is called when the body is not needed any more, also if it was not sent. `more` is the end of the body. */
  send(head: object, body?: Uint8Array, release?: () => void, more?: Uint8Array): void {
    if (this.#isClosed || !this.#stream.writable) return release?.();
    this.#stream.write(frameStart(head, (body?.length ?? 0) + (more?.length ?? 0)));
    if (body !== undefined && body.length > 0) this.#stream.write(body, () => release?.());
    else release?.();
    if (more !== undefined && more.length > 0) this.#stream.write(more);
  }

  /** Bytes that wait in this process to be sent. */
  get waitingBytes(): number {
    return this.#stream.writableLength;
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#stream.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#stream.resume();
  }

  /** Nothing more will be sent; what was sent arrives. */
  finish(): void {
    if (!this.#isClosed) this.#stream.end();
  }

  /** Abandons the stream in both directions. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream.destroy();
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#parser.push(chunk)) {
        if (this.#isClosed) return;
        this.#receiver.frame(frame);
      }
    } catch (error) {
      this.#error ??= errorMessage(error);
      this.#stream.destroy();
    }
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const isWhole = this.#hasEnded && !this.#parser.isWithin;
    this.#receiver.closed(this.#error ?? (isWhole ? undefined : "the connection broke"));
  }
}
