import { MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import { uninitializedBytes } from "../base/bytes.js";
import { batchBufferBytes } from "../eval/results/batch-buffer.js";
import { spareBuffersMax } from "../protocol/messages.js";

/**
 * The buffers that one worker writes batches into. A full one is transferred to the main thread, and comes back when
 * the socket has taken it: made anew for each batch, buffers cost the pages that the system zeroes, and V8 takes their
 * bytes for pressure on the main thread's heap and collects it again and again.
 */
export class BatchBuffers {
  /** Where the main thread gives buffers back. */
  readonly returnPort: MessagePort;
  /** Buffers that came back so far. */
  takenBackCount = 0;
  readonly #port: MessagePort;
  readonly #spare: Buffer[] = [];

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.returnPort = port2;
  }

  take(): Buffer {
    this.takeBack();
    return this.#spare.pop() ?? uninitializedBytes(batchBufferBytes);
  }

  /** Takes what was given back, and lets go of what is too much. */
  takeBack(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port) as { message: ArrayBuffer } | undefined;
      if (received === undefined) return;
      this.takenBackCount++;
      this.put(Buffer.from(received.message));
    }
  }

  put(buffer: Buffer): void {
    if (this.#spare.length < spareBuffersMax && buffer.length === batchBufferBytes) this.#spare.push(buffer);
  }
}
