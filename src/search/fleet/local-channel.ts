import { errorMessage } from "../../base/errors.js";
import type { FrameChannel, FrameReceiver } from "../../wire/frame-channel.js";
import type { Frame } from "../../wire/frames.js";

/** One end of a channel, whatever is between the two. */
export type Channel = Pick<
  FrameChannel,
  "isClosed" | "waitingBytes" | "send" | "pause" | "resume" | "finish" | "close"
>;

/** A head that no parser has measured counts as this many bytes. */
const headBytes = 256;

/**
 * A channel to this node itself: its own part of a search is searched like that of any other node, without a connection. It
 * keeps the contract of `FrameChannel`; a body is copied, because whoever sent it uses its memory again.
 */
export class LocalChannel implements Channel {
  #other: LocalChannel = this;
  #receiver: FrameReceiver | undefined;
  readonly #waiting: (Frame | "finished")[] = [];
  #isScheduled = false;
  #isPaused = false;
  #hasFinished = false;
  isClosed = false;
  /** The other end has what was sent. */
  readonly waitingBytes = 0;

  /** The two ends; each still needs its receiver. */
  static pair(): readonly [LocalChannel, LocalChannel] {
    const [a, b] = [new LocalChannel(), new LocalChannel()];
    a.#other = b;
    b.#other = a;
    return [a, b];
  }

  /** Must be called before anything arrives. */
  receive(receiver: FrameReceiver): void {
    this.#receiver = receiver;
  }

  send(head: object, body: Uint8Array = nothing, release?: () => void, more: Uint8Array = nothing): void {
    if (!this.isClosed && !this.#hasFinished)
      this.#other.#arrive({
        head: head as Frame["head"],
        headBytes,
        body: Buffer.concat([body, more]),
        release: nobody,
      });
    release?.();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#schedule();
  }

  finish(): void {
    if (this.isClosed || this.#hasFinished) return;
    this.#hasFinished = true;
    this.#other.#arrive("finished");
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#waiting.length = 0;
    this.#other.#breakOff();
  }

  #arrive(frame: Frame | "finished"): void {
    if (this.isClosed) return;
    this.#waiting.push(frame);
    this.#schedule();
  }

  /** Never within a call of the other end, which may be about to say more. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    while (!this.#isPaused && !this.isClosed) {
      const frame = this.#waiting.shift();
      if (frame === undefined) return;
      if (frame === "finished") return this.#end(undefined);
      try {
        this.#receiver?.frame(frame);
      } catch (error) {
        this.#other.#breakOff();
        return this.#end(errorMessage(error));
      }
    }
  }

  /** What has been sent is dropped, as when a connection breaks. */
  #breakOff(): void {
    if (this.isClosed) return;
    this.#waiting.length = 0;
    queueMicrotask(() => this.#end("the search was given up"));
  }

  #end(reason: string | undefined): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#waiting.length = 0;
    this.#receiver?.closed(reason);
  }
}

const nothing = new Uint8Array(0);

function nobody(): void {
  // The memory belongs to nobody else.
}
