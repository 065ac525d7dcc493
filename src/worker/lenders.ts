import type { MessagePort } from "node:worker_threads";
import { spareBuffersMax, type BatchMessage, type LenderMessage } from "./messages.js";

interface Lender {
  readonly port: MessagePort;
  givenBackCount: number;
  /** As of its last batch. */
  takenBackCount: number;
}

/** The main thread's side of the workers' `BatchBuffers`. */
export class Lenders {
  readonly #lenders = new Map<number, Lender>();

  add({ lender, port }: LenderMessage): void {
    this.#lenders.set(lender, { port, givenBackCount: 0, takenBackCount: 0 });
    port.on("close", () => this.#lenders.delete(lender));
    port.unref();
  }

  /** What gives the batch's memory back to its worker; it has no effect on a batch that nobody wants back. */
  giveBackOf({ lender, takenBackCount, batch }: BatchMessage): () => void {
    const known = lender === undefined ? undefined : this.#lenders.get(lender);
    if (known === undefined) return () => {};
    known.takenBackCount = takenBackCount;
    const memory = batch.bytes.buffer as ArrayBuffer;
    return () => {
      // A worker that does not ask for buffers would gather them on its port.
      if (known.givenBackCount - known.takenBackCount >= spareBuffersMax) return;
      known.givenBackCount++;
      known.port.postMessage(memory, [memory]);
    };
  }
}
