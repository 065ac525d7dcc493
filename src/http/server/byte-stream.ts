/**
 * The body of a streamed response.
 *
 * Contract:
 * - `write` always accepts the block. If it returns false, the socket is full: the caller must not write until
 *   `onWritable` calls back. The bytes are copied, so the caller may reuse the block when `write` returns.
 * - After `closed`, every method does nothing, and `write` returns false.
 *
 * Caller guarantees: a block has 1 to `blockBytesMax` bytes.
 */
export interface ByteStream {
  write(block: Uint8Array): boolean;
  /** Writes the first and last block, and ends the response. */
  writeLast(block: Uint8Array): void;
  /** Ends the response; blocks already written are still sent. */
  end(): void;
  /** Closes the connection: the client sees an incomplete response. */
  cut(): void;
  readonly closed: boolean;
  onWritable(callback: () => void): void;
  onClosed(callback: () => void): void;
}

/**
 * The largest block. Over TLS, blocks of 16,384 bytes and more leave uWebSockets.js with broken chunk framing
 * (uNetworking/uWebSockets.js#1249), and blocks of almost 16 KB, each in its own cork, are the fastest on plain
 * sockets: 4,050 MB/s, and 60 MB/s with writes of 1 KB.
 */
export const blockBytesMax = 15_000;

/** The body of a response that is already closed. */
export const closedStream: ByteStream = {
  closed: true,
  write: () => false,
  writeLast: () => {},
  end: () => {},
  cut: () => {},
  onWritable: () => {},
  onClosed: (callback) => callback(),
};
