/**
 * The body of a streamed answer.
 *
 * Contract:
 * - `write` takes the block in any case. When it returns false the socket is full: the caller writes no more until
 *   `onWritable` calls back. The bytes are copied, so the block is the caller's again when `write` returns.
 * - After `closed` every method does nothing, and `write` returns false.
 *
 * Caller guarantees: a block has 1 to `blockBytesMax` bytes.
 */
export interface ByteStream {
  write(block: Uint8Array): boolean;
  /** Ends the answer; blocks that were written still arrive. */
  end(): void;
  /** Cuts the connection: the client sees an answer that is not whole. */
  cut(): void;
  readonly closed: boolean;
  onWritable(callback: () => void): void;
  onClosed(callback: () => void): void;
}

/**
 * The largest block. Over TLS, blocks of 16,384 bytes and more leave uWebSockets.js with broken chunk framing
 * (uNetworking/uWebSockets.js#1249), and blocks near 16 KB in a cork of their own are the fastest on plain sockets:
 * 4,050 MB/s against 60 MB/s for 1 KB writes.
 */
export const blockBytesMax = 15_000;

/** The body of an answer that is closed already. */
export const closedStream: ByteStream = {
  closed: true,
  write: () => false,
  end: () => {},
  cut: () => {},
  onWritable: () => {},
  onClosed: (callback) => callback(),
};
