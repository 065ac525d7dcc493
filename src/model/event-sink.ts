/** Bytes that the sink releases when it no longer needs them, so that their memory is reused. */
export interface PooledBytes {
  readonly bytes: Uint8Array;
  release(): void;
}

export type EventPart = Uint8Array | string | PooledBytes;

export function bytesOfPart(part: Uint8Array | PooledBytes): Uint8Array {
  return part instanceof Uint8Array ? part : part.bytes;
}

/** The text of all parts. */
export function joinText(data: readonly EventPart[]): string {
  let text = "";
  for (const part of data) {
    if (typeof part === "string") text += part;
    else {
      const { buffer, byteOffset, byteLength } = bytesOfPart(part);
      text += Buffer.from(buffer, byteOffset, byteLength).toString("utf8");
    }
  }
  return text;
}

/** Releases the parts that are pooled. */
export function releaseParts(data: readonly EventPart[]): void {
  for (const part of data) if (typeof part !== "string" && !(part instanceof Uint8Array)) part.release();
}

/**
 * The destination of a search's events.
 *
 * Contract:
 * - `send` always accepts, even under backpressure; the caller enforces the limit by checking `pendingBytes` before it
 *   produces more. After `closed` it does nothing.
 * - `onDrain` is called each time `pendingBytes` falls from above zero to zero, but never from inside `send`.
 * - `onClosed` is called once, when the client disconnects or `end` is called; nothing is written afterwards.
 */
export interface EventSink {
  /** Sends one event. `data` is JSON on one line, as parts that are written one after another. */
  send(event: string, data: readonly EventPart[]): void;
  /** Bytes accepted by `send` that the socket has not accepted yet. */
  readonly pendingBytes: number;
  readonly closed: boolean;
  onDrain(callback: () => void): void;
  onClosed(callback: () => void): void;
  end(): void;
}
