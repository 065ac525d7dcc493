import { parentPort, type MessagePort } from "node:worker_threads";
import { uninitializedBytes } from "../../src/base/bytes.js";
import { ControlBlock } from "../../src/protocol/control-block.js";
import { BatchBuffers } from "../../src/worker/batch-buffers.js";

/**
 * How a batch gets to the other thread: its memory is transferred and comes back, like the large batches of a search; it
 * is copied into memory of its own that is transferred, like the small ones; or it is cloned by `postMessage`.
 */
export type PourWay = "lent" | "transferred" | "cloned";

/** The first message of the worker: the port for returning memory. */
export interface Introduction {
  readonly kind: "introduction";
  readonly returnPort: MessagePort;
}

/** Send `count` batches, as far as the credit in `control` goes. */
export interface PourOrder {
  readonly kind: "pour";
  readonly way: PourWay;
  readonly batchBytes: number;
  readonly count: number;
  readonly control: Int32Array;
}

/** Answer at once. */
export interface EchoOrder {
  readonly kind: "echo";
}

const source = uninitializedBytes(256 * 1024).fill(0x61);
const buffers = new BatchBuffers();
const introduction: Introduction = { kind: "introduction", returnPort: buffers.returnPort };

parentPort?.postMessage(introduction, [buffers.returnPort]);
parentPort?.on("message", (order: PourOrder | EchoOrder) => {
  if (order.kind === "echo") parentPort?.postMessage(undefined);
  else pour(order);
});

function pour({ way, batchBytes, count, control }: PourOrder): void {
  const block = new ControlBlock(control);
  for (let i = 0; i < count; ) {
    if (!block.waitForCredit()) continue;
    block.takeCredit(batchBytes);
    send(way, batchBytes);
    i++;
  }
}

/** The bytes are copied once in any case, which stands for writing them. */
function send(way: PourWay, batchBytes: number): void {
  const written = source.subarray(0, batchBytes);
  switch (way) {
    case "lent": {
      const buffer = buffers.take();
      written.copy(buffer);
      return parentPort?.postMessage(buffer.subarray(0, batchBytes), [buffer.buffer as ArrayBuffer]);
    }
    case "transferred": {
      const bytes = new Uint8Array(written);
      return parentPort?.postMessage(bytes, [bytes.buffer]);
    }
    case "cloned":
      return parentPort?.postMessage(new Uint8Array(written));
  }
}
