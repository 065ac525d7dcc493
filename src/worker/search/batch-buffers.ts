import { MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import { uninitializedBytes } from "../../base/bytes.js";
import { batchBufferBytes } from "../../eval/results/batch-buffer.js";
import { spareBuffersMax } from "../../protocol/messages.js";

/**
 * The buffers into which one worker writes batches. A full buffer is transferred to the main thread, and returned when
 * the socket has accepted its bytes. If buffers were allocated for each batch, the system would have to zero their
 * pages, and V8 would treat their bytes as pressure on the main thread's heap and collect it repeatedly.
 */
export class BatchBuffers {
  /** The port on which the main thread returns buffers. */
  readonly returnPort: MessagePort;
  /** Number of buffers returned so far. */
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

  /** Receives returned buffers, and frees excess ones. */
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
