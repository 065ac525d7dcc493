import { errorMessage } from "../../base/errors.js";
import { workInSteps } from "../../base/yielding.js";
import type { FrameChannel, FrameReceiver } from "../../wire/frame-channel.js";
import type { Frame } from "../../wire/frames.js";
import type { WireTally } from "./fleet-messages.js";

/** One end of a channel, whatever is between the two. */
export type Channel = Pick<
  FrameChannel,
  "isClosed" | "waitingBytes" | "send" | "pause" | "resume" | "finish" | "close"
>;

/** A head that no parser has measured, without its tally. */
const headBytesMin = 256;

/** A commit in hexadecimal digits. */
const commitBytes = 40;

/** An item of a list of a tally, without its texts. */
const itemBytes = 24;

/**
 * A channel to this node itself: its own part of a search is searched like that of any other node, without a connection. It
 * keeps the contract of `FrameChannel`; a body is copied, because whoever sent it uses its memory again. What has been sent is
 * delivered in steps.
 */
export class LocalChannel implements Channel {
  #other: LocalChannel = this;
  #receiver: FrameReceiver | undefined;
  /** What the other end has sent; those before `#from` were delivered. */
  #waiting: (Frame | "finished")[] = [];
  #from = 0;
  #arrivedBytes = 0;
  #isScheduled = false;
  #isPaused = false;
  #hasFinished = false;
  isClosed = false;

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

  /** Bytes that were sent and are not delivered yet. */
  get waitingBytes(): number {
    return this.#other.#arrivedBytes;
  }

  send(head: object, body: Uint8Array = nothing, release?: () => void, more: Uint8Array = nothing): void {
    if (!this.isClosed && !this.#hasFinished)
      this.#other.#arrive({
        head: head as Frame["head"],
        headBytes: headBytesMin + tallyBytes(head),
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
    this.#forget();
    this.#other.#breakOff();
  }

  #arrive(frame: Frame | "finished"): void {
    if (this.isClosed) return;
    this.#waiting.push(frame);
    this.#arrivedBytes += byteLength(frame);
    this.#schedule();
  }

  /** Never within a call of the other end, which may be about to say more. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => workInSteps({ step: () => this.#deliver() }));
  }

  /** Delivers the next frame. Returns true if there is none, or it is not wanted now. */
  #deliver(): boolean {
    const frame = this.#isPaused || this.isClosed ? undefined : this.#waiting.at(this.#from);
    if (frame === undefined) {
      this.#isScheduled = false;
      return true;
    }
    this.#arrivedBytes -= byteLength(frame);
    this.#from++;
    if (this.#from * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#from);
      this.#from = 0;
    }
    if (frame === "finished") this.#end(undefined);
    else this.#hear(frame);
    return false;
  }

  #hear(frame: Frame): void {
    try {
      this.#receiver?.frame(frame);
    } catch (error) {
      this.#other.#breakOff();
      this.#end(errorMessage(error));
    }
  }

  /** What has been sent is dropped, as when a connection breaks. */
  #breakOff(): void {
    if (this.isClosed) return;
    this.#forget();
    queueMicrotask(() => this.#end("the search was given up"));
  }

  #end(reason: string | undefined): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#forget();
    this.#receiver?.closed(reason);
  }

  #forget(): void {
    this.#waiting = [];
    this.#from = 0;
    this.#arrivedBytes = 0;
  }
}

function byteLength(frame: Frame | "finished"): number {
  return frame === "finished" ? 0 : frame.headBytes + frame.body.length;
}

/** About the length of the tally of a message in JSON: only batches have long heads that credit does not count. */
function tallyBytes(head: object): number {
  if (!("tally" in head)) return 0;
  const { repositories, languages, symbolKinds, groups } = head.tally as WireTally;
  const names = repositories.reduce((sum, [, name, typed]) => sum + name.length + typed.length + commitBytes, 0);
  const keys = groups.reduce((sum, [key]) => sum + key.length, 0);
  return names + keys + itemBytes * (repositories.length + languages.length + symbolKinds.length + groups.length);
}

const nothing = new Uint8Array(0);

function nobody(): void {
  // The memory belongs to nobody else.
}
