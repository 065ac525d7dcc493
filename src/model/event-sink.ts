/** Bytes that the sink gives back once it needs them no more, so that their memory is used again. */
export interface PooledBytes {
  readonly bytes: Uint8Array;
  release(): void;
}

export type EventPart = Uint8Array | string | PooledBytes;

export function bytesOfPart(part: Uint8Array | PooledBytes): Uint8Array {
  return part instanceof Uint8Array ? part : part.bytes;
}

/**
 * Where a search puts its events.
 *
 * Contract:
 * - `send` accepts always, also under backpressure; the caller keeps the bound by looking at `pendingBytes` before it
 *   makes more. After `closed` it does nothing.
 * - `onDrain` is called, never from inside `send`, each time `pendingBytes` falls to zero after it was above.
 * - `onClosed` is called once when the client left or `end` was called; nothing is written afterwards.
 */
export interface EventSink {
  /** One event. `data` is JSON on one line, given as parts that are written one after the other. */
  send(event: string, data: readonly EventPart[]): void;
  /** Bytes accepted by `send` that the socket has not taken yet. */
  readonly pendingBytes: number;
  readonly closed: boolean;
  onDrain(callback: () => void): void;
  onClosed(callback: () => void): void;
  end(): void;
}
