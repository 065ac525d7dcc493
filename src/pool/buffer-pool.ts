import type { MessagePort } from "node:worker_threads";
import { spareBuffersMax, type BatchMessage, type BufferOwnerMessage } from "../protocol/messages.js";

interface BufferOwner {
  readonly port: MessagePort;
  givenBackCount: number;
  /** As of its last batch. */
  takenBackCount: number;
}

/** The main-thread side of the workers' `BatchBuffers`. */
export class BufferPool {
  readonly #owners = new Map<number, BufferOwner>();

  add({ owner, port }: BufferOwnerMessage): void {
    this.#owners.set(owner, { port, givenBackCount: 0, takenBackCount: 0 });
    port.on("close", () => this.#owners.delete(owner));
    port.unref();
  }

  /**
   * Returns the function that returns the batch's memory to its worker; it does nothing for a batch whose memory is not
   * reused.
   */
  releaseFor({ owner, takenBackCount, batch }: BatchMessage): () => void {
    const known = owner === undefined ? undefined : this.#owners.get(owner);
    if (known === undefined) return () => {};
    known.takenBackCount = takenBackCount;
    const memory = batch.bytes.buffer as ArrayBuffer;
    return () => {
      // Otherwise, a worker that does not need buffers would accumulate them on its port.
      if (known.givenBackCount - known.takenBackCount >= spareBuffersMax) return;
      known.givenBackCount++;
      known.port.postMessage(memory, [memory]);
    };
  }
}
