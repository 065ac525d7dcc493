import { errorMessage } from "../base/errors.js";
import type { ByteChannel } from "./connection.js";
import { type Frame, FrameParser, frameStart } from "./frames.js";

/** Who gets what the other end of a channel says. */
export interface FrameReceiver {
  /** May throw a `TrawlError` about a message that the other end may not send: it closes the channel. */
  frame(frame: Frame): void;
  /** Called once, unless this end has closed the channel. `reason` is undefined if the other end has said everything. */
  closed(reason: string | undefined): void;
}

/**
 * Frames to and from another node, over a channel of bytes.
 *
 * Contract: frames arrive in the order in which they were sent. After `close`, or when `closed` has been called, nothing
 * arrives. While it is paused nothing arrives but the frames of the bytes that are here, and the other end may send as much as the
 * window of the channel holds.
 */
export class FrameChannel {
  readonly #bytes: ByteChannel;
  readonly #receiver: FrameReceiver;
  readonly #parser = new FrameParser();
  #isClosed = false;

  constructor(bytes: ByteChannel, receiver: FrameReceiver) {
    this.#bytes = bytes;
    this.#receiver = receiver;
    bytes.receive({ bytes: (chunk) => this.#receive(chunk), closed: (reason) => this.#end(reason) });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** `release` is called when the body is not needed any more, also if it was not sent. `more` is the end of the body. */
  send(head: object, body: Uint8Array = noBytes, release?: () => void, more: Uint8Array = noBytes): void {
    if (this.#isClosed || !this.#bytes.isOpen) return release?.();
    this.#bytes.write([frameStart(head, body.length + more.length), body, more], release);
  }

  /** Bytes that wait in this process to be sent. */
  get waitingBytes(): number {
    return this.#bytes.waitingBytes;
  }

  pause(): void {
    this.#bytes.pause();
  }

  resume(): void {
    this.#bytes.resume();
  }

  /** Nothing more will be sent; what was sent arrives. */
  finish(): void {
    if (!this.#isClosed) this.#bytes.finish();
  }

  /** Abandons the channel in both directions. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#bytes.close();
  }

  #receive(chunk: Uint8Array): void {
    try {
      for (const frame of this.#parser.push(chunk)) {
        if (this.#isClosed) return;
        this.#receiver.frame(frame);
      }
    } catch (error) {
      this.#bytes.close();
      this.#end(errorMessage(error));
    }
  }

  #end(reason: string | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#receiver.closed(reason ?? (this.#parser.isWithin ? "the connection broke" : undefined));
  }
}

const noBytes = new Uint8Array(0);
