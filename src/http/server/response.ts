import { NativeStream, SizedStream } from "./body-streams.js";
import { closedStream, type ByteStream } from "./byte-stream.js";
import { plainText, statusText, type Headers } from "./headers.js";
import type { NativeResponse } from "./uws-binding.js";

/** What the client left before has this status, in the counts alone. */
const clientClosedStatus = 499;

/**
 * One answer: exactly one `reply` or one `startStream`, or nothing when the client left first. Every method does
 * nothing once `closed`.
 */
export class HttpResponse {
  readonly #res: NativeResponse;
  readonly #bodyless: boolean;
  readonly #ended: (status: number) => void;
  readonly #isLast: () => boolean;
  readonly #closedCallbacks: (() => void)[] = [];
  #headers: Headers = {};
  #revoked: ((reason: string) => void) | undefined;
  #status: number | undefined;
  #closed = false;

  /** Where `isLast` says so when the answer ends, the connection ends with it. */
  constructor(res: NativeResponse, bodyless: boolean, ended: (status: number) => void, isLast: () => boolean) {
    this.#res = res;
    this.#isLast = isLast;
    this.#bodyless = bodyless;
    this.#ended = ended;
    res.onAborted(() => this.#close(clientClosedStatus));
  }

  /** Headers that the answer has, whatever it is. */
  setHeaders(headers: Headers): void {
    this.#headers = headers;
  }

  /** True when the answer is whole, or the client left. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Calls back once, when `closed` becomes true; at once when it is. */
  onClosed(callback: () => void): void {
    if (this.#closed) callback();
    else this.#closedCallbacks.push(callback);
  }

  /** The whole answer in one go. */
  reply(status: number, headers: Headers, body: string | Uint8Array): void {
    if (this.#closed || this.#status !== undefined) return;
    this.#status = status;
    this.#res.cork(() => {
      this.#writeHead(status, headers);
      if (this.#bodyless) this.#res.endWithoutBody(Buffer.byteLength(body));
      else this.#res.end(body, headers["Connection"] === "close" || this.#isLast());
    });
    this.#close(status);
  }

  /**
   * An answer that is only a head. `byteCount` is what a whole one would say of its length; undefined when that is not
   * known.
   */
  replyHead(status: number, headers: Headers, byteCount: number | undefined): void {
    if (this.#closed || this.#status !== undefined) return;
    this.#status = status;
    this.#res.cork(() => {
      this.#writeHead(status, headers);
      this.#res.endWithoutBody(byteCount);
    });
    this.#close(status);
  }

  /**
   * As `startStream`, for a body of this many bytes, at least one: the answer says its length, and ends with its last
   * byte.
   */
  startSizedStream(status: number, headers: Headers, byteCount: number): ByteStream {
    if (this.#closed || this.#status !== undefined) return closedStream;
    this.#status = status;
    return new SizedStream(
      this.#res,
      this,
      byteCount,
      () => this.#writeHead(status, headers),
      () => this.#close(status),
    );
  }

  /** An answer in blocks. The head goes out with the first block, so a stream that sends nothing yet costs nothing. */
  startStream(status: number, headers: Headers): ByteStream {
    if (this.#closed || this.#status !== undefined) return closedStream;
    this.#status = status;
    return new NativeStream(
      this.#res,
      this,
      () => this.#writeHead(status, headers),
      () => this.#close(status),
    );
  }

  /** Says how an answer ends whose client has lost its right to it. */
  onRevoked(callback: (reason: string) => void): void {
    this.#revoked = callback;
  }

  /**
   * The client has lost its right to the answer: what has not begun is a 401, and what has is cut, unless `onRevoked`
   * said otherwise.
   */
  revoke(reason: string): void {
    if (this.#closed) return;
    if (this.#revoked !== undefined) return this.#revoked(reason);
    if (this.#status === undefined) this.reply(401, plainText, `${reason}\n`);
    else this.#res.close();
  }

  /** Answers 500; an answer that has begun is cut, so that the client cannot take it for a whole one. */
  fail(): void {
    if (this.#closed) return;
    if (this.#status === undefined) this.reply(500, plainText, "internal error\n");
    else this.#res.close();
  }

  #writeHead(status: number, headers: Headers): void {
    this.#res.writeStatus(`${status} ${statusText[status] ?? "Unknown"}`);
    for (const name in this.#headers) if (headers[name] === undefined) this.#res.writeHeader(name, this.#headers[name]);
    for (const name in headers) this.#res.writeHeader(name, headers[name]);
  }

  #close(status: number): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ended(status);
    for (const callback of this.#closedCallbacks.splice(0)) callback();
  }
}
