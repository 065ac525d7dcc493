import { assert } from "../../base/assert.js";
import type { ByteStream } from "./byte-stream.js";
import type { NativeResponse } from "./uws-binding.js";

const noBytes = new Uint8Array(0);

/** The response to which a body belongs. */
interface Closable {
  readonly closed: boolean;
  onClosed(callback: () => void): void;
}

/**
 * Common parts of both kinds of body: the head, which is sent with the first block, and the callback that waits for the
 * socket.
 */
abstract class BodyStream implements ByteStream {
  protected readonly res: NativeResponse;
  protected readonly ended: () => void;
  readonly #response: Closable;
  #writeHead: (() => void) | undefined;
  #writable: (() => void) | undefined;

  constructor(res: NativeResponse, response: Closable, writeHead: () => void, ended: () => void) {
    this.res = res;
    this.ended = ended;
    this.#response = response;
    this.#writeHead = writeHead;
    res.onWritable(() => this.resume());
  }

  abstract write(block: Uint8Array): boolean;
  abstract writeLast(block: Uint8Array): void;
  abstract end(): void;
  protected abstract resume(): boolean;

  get closed(): boolean {
    return this.#response.closed;
  }

  onClosed(callback: () => void): void {
    this.#response.onClosed(callback);
  }

  onWritable(callback: () => void): void {
    this.#writable = callback;
  }

  cut(): void {
    if (!this.closed) this.res.close();
  }

  protected tellWritable(): void {
    this.#writable?.();
  }

  /** Must be called within a cork. */
  protected writeHeadOnce(): void {
    this.#writeHead?.();
    this.#writeHead = undefined;
  }
}

/** A body whose length is not known in advance. */
export class NativeStream extends BodyStream {
  write(block: Uint8Array): boolean {
    if (this.closed) return false;
    let ready = false;
    this.res.cork(() => {
      this.writeHeadOnce();
      ready = this.res.write(block);
    });
    return ready;
  }

  writeLast(block: Uint8Array): void {
    if (this.closed) return;
    this.res.cork(() => {
      this.writeHeadOnce();
      this.res.write(block);
      this.res.end();
    });
    this.ended();
  }

  end(): void {
    if (this.closed) return;
    this.res.cork(() => {
      this.writeHeadOnce();
      this.res.end();
    });
    this.ended();
  }

  /**
   * When the socket is full, uWebSockets.js keeps the tail of the block in its own buffer, and sends it only with the
   * next write: in a stream with nothing more to send it would remain there forever. An empty cork sends it.
   */
  protected override resume(): true {
    if (this.closed) return true;
    this.res.cork(() => {});
    this.tellWritable();
    return true;
  }
}

/**
 * A body of known length. uWebSockets.js accepts only as much of a block as the socket does, so the rest of a block
 * waits here, copied.
 */
export class SizedStream extends BodyStream {
  readonly #byteCount: number;
  #waiting = noBytes;
  #givenCount = 0;

  constructor(res: NativeResponse, response: Closable, byteCount: number, writeHead: () => void, ended: () => void) {
    assert(byteCount > 0, "an answer without a body is only a head");
    super(res, response, writeHead, ended);
    this.#byteCount = byteCount;
  }

  write(block: Uint8Array): boolean {
    if (this.closed) return false;
    assert(this.#waiting.length === 0, "a stream that is full is not written to");
    this.#givenCount += block.length;
    assert(this.#givenCount <= this.#byteCount, "a body is as long as its head says");
    return this.#send(block);
  }

  writeLast(block: Uint8Array): void {
    this.write(block);
    this.end();
  }

  /** The last byte ends the response. An incomplete one can only be disconnected. */
  end(): void {
    if (this.#givenCount < this.#byteCount) this.cut();
  }

  #send(block: Uint8Array): boolean {
    let isTaken = false;
    let isWhole = false;
    this.res.cork(() => {
      this.writeHeadOnce();
      const from = this.res.getWriteOffset();
      [isTaken, isWhole] = this.res.tryEnd(block, this.#byteCount);
      this.#waiting = isTaken || isWhole ? noBytes : block.slice(this.res.getWriteOffset() - from);
    });
    if (isWhole) this.ended();
    return isTaken;
  }

  protected override resume(): boolean {
    if (this.closed) return true;
    if (this.#waiting.length > 0 && !this.#send(this.#waiting)) return false;
    this.tellWritable();
    return true;
  }
}
