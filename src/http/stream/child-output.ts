import { callEvery, monotonicMs } from "../../base/deadline.js";
import type { GitOutput } from "../../git/run/run.js";
import { blockBytesMax, type ByteStream } from "../server/byte-stream.js";

/** Number of checks whether a client reads within the time after which it is disconnected. */
const stallChecks = 4;

/** When a client that does not read available data is disconnected. */
export interface ReadingLimits {
  /** If it reads nothing for this long; detected after at most 1/4 more than this time. */
  readonly stallMs: number;
  /**
   * Whether others wait for its permit: then it is also disconnected if it reads almost nothing in this time, see
   * `ReadingPace`.
   */
  readonly isContended: () => boolean;
}

/** A range of bytes of the output; the end is exclusive. */
export interface OutputRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Forwards the output of a child process to a client, at the client's pace: while the socket is full the pipe is not
 * read, and the child blocks. At most one read of the pipe, 64 KiB, is held here.
 *
 * `open` is called with the first byte, so if a child fails before that, the response can still have an error status:
 * the promise then rejects with the error. If it fails later, the client is disconnected, so that a truncated response
 * cannot be mistaken for a complete one. Resolves when the response has ended; by then the child has exited or been
 * killed. If there is no output in the range, `open` is not called, and it resolves with false.
 */
export async function sendOutput(
  child: GitOutput,
  range: OutputRange,
  limits: ReadingLimits,
  open: () => ByteStream,
): Promise<boolean> {
  const sending = new Sending(child, range, limits, open);
  const watch = callEvery(Math.ceil(limits.stallMs / stallChecks), () => sending.cutIfSlow());
  try {
    return await sending.done;
  } finally {
    watch.cancel();
    child.kill();
  }
}

class Sending {
  readonly done: Promise<boolean>;
  readonly #child: GitOutput;
  readonly #range: OutputRange;
  readonly #open: () => ByteStream;
  readonly #limits: ReadingLimits;
  readonly #pace: ReadingPace;
  #stream: ByteStream | undefined;
  /** The part of the last read that the socket has not accepted. */
  #rest: Uint8Array = Buffer.alloc(0);
  #readCount: number;
  #isFull = false;
  #progressAtMs = monotonicMs();
  #finish: (isSent: boolean) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  constructor(child: GitOutput, range: OutputRange, limits: ReadingLimits, open: () => ByteStream) {
    this.#child = child;
    this.#readCount = child.from;
    this.#range = range;
    this.#open = open;
    this.#limits = limits;
    this.#pace = new ReadingPace(limits.stallMs, monotonicMs());
    this.done = new Promise((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
      child.ended
        .then(
          () => this.#childEnded(),
          (error: unknown) => this.#childFailed(error),
        )
        .catch(reject);
    });
    child.stdout.on("data", (bytes: Buffer) => this.#take(bytes));
  }

  cutIfSlow(): void {
    const nowMs = monotonicMs();
    const isSlow = this.#pace.isTooSlow(nowMs, this.#isFull) && this.#limits.isContended();
    if (isSlow || (this.#isFull && nowMs - this.#progressAtMs >= this.#limits.stallMs)) this.#stream?.cut();
  }

  #take(bytes: Buffer): void {
    const from = Math.max(0, this.#range.from - this.#readCount);
    const to = Math.min(bytes.length, this.#range.to - this.#readCount);
    this.#readCount += bytes.length;
    if (from >= to) return;
    this.#rest = bytes.subarray(from, to);
    this.#send();
  }

  /** Called from event handlers, so an exception would end the daemon. */
  #send(): void {
    try {
      this.#sendRest();
    } catch (error) {
      this.#fail(error);
    }
  }

  #sendRest(): void {
    const stream = (this.#stream ??= this.#openStream());
    while (this.#rest.length > 0 && !this.#isFull && !stream.closed) {
      const block = this.#rest.subarray(0, blockBytesMax);
      this.#isFull = !stream.write(block);
      this.#pace.recordTaken(block.length);
      this.#rest = this.#rest.subarray(blockBytesMax);
      this.#progressAtMs = monotonicMs();
    }
    if (this.#isFull && !stream.closed) this.#pause();
  }

  #openStream(): ByteStream {
    const stream = this.#open();
    stream.onWritable(() => this.#resume());
    stream.onClosed(() => this.#finish(true));
    return stream;
  }

  #pause(): void {
    this.#child.watchSilence(false);
    this.#child.stdout.pause();
  }

  #resume(): void {
    this.#isFull = false;
    this.#progressAtMs = monotonicMs();
    this.#send();
    if (this.#isFull) return;
    this.#child.watchSilence(true);
    this.#child.stdout.resume();
  }

  /** The pipe has been read completely, except for what the socket has not accepted. */
  #childEnded(): void {
    if (this.#stream === undefined) this.#finish(false);
    else if (this.#rest.length === 0) this.#stream.end();
    else this.#stream.onWritable(() => this.#endWhenTaken());
  }

  #childFailed(error: unknown): void {
    if (this.#stream === undefined) this.#fail(error);
    else this.#stream.cut();
  }

  #endWhenTaken(): void {
    this.#resume();
    if (this.#rest.length === 0) this.#stream?.end();
  }
}

/**
 * Bytes that a client must read per minute while others wait for its permit: 17 KB/s, about the pace below which
 * uWebSockets.js disconnects senders.
 */
const bytesPerMinuteMin = 1 << 20;

/**
 * Whether a client reads so slowly that it merely holds what others wait for. It is checked periodically, and only time
 * in which the response waits for the client counts: a client that reads everything available is never slow.
 */
export class ReadingPace {
  readonly #periodMs: number;
  #sinceMs: number;
  #bytes = 0;

  /** The check interval is `periodMs`. */
  constructor(periodMs: number, nowMs: number) {
    this.#periodMs = periodMs;
    this.#sinceMs = nowMs;
  }

  recordTaken(byteCount: number): void {
    this.#bytes += byteCount;
  }

  /** `isFull`: data is available that the client has not read. */
  isTooSlow(nowMs: number, isFull: boolean): boolean {
    const elapsedMs = nowMs - this.#sinceMs;
    if (isFull && elapsedMs < this.#periodMs) return false;
    const isSlow = isFull && this.#bytes < bytesPerMinuteMin * (elapsedMs / 60_000);
    this.#sinceMs = nowMs;
    this.#bytes = 0;
    return isSlow;
  }
}
