/** The process of `ClientProcess`: opens connections and keeps them, or sends requests one after another. */
import { connect, type Socket } from "node:net";
import type { ClientOrder, ClientTally } from "./client-process.js";

const tally: ClientTally = { opened: 0, cut: 0, failed: 0, statuses: {} };
const sockets = new Set<Socket>();
let isOver = false;

/** Resolves when the connection is established or has failed. `onEnd` is called when the connection has ended. */
function open({ port, path, addressCount }: ClientOrder, i: number, onEnd: () => void): Promise<void> {
  return new Promise((resolve) => {
    let isAnswered = false;
    const address = i % addressCount;
    const localAddress = `127.0.${1 + Math.floor(address / 200)}.${1 + (address % 200)}`;
    const socket = connect({ port, host: "127.0.0.1", localAddress }, () => {
      tally.opened++;
      sockets.add(socket);
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`,
      );
      resolve();
    });
    socket.on("error", () => resolve());
    socket.on("data", (bytes) => {
      if (isAnswered) return;
      isAnswered = true;
      const status = bytes.toString("latin1", 9, 12);
      tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
    });
    socket.on("close", () => {
      if (!sockets.delete(socket)) tally.failed++;
      else if (!isAnswered) tally.cut++;
      onEnd();
    });
  });
}

/** Maximum number of simultaneous connection attempts. */
const groupSize = 200;

async function hold(order: ClientOrder): Promise<void> {
  for (let i = 0; i < order.count && !isOver; i += groupSize) {
    await Promise.all(
      Array.from({ length: Math.min(groupSize, order.count - i) }, (_, j) => open(order, i + j, () => undefined)),
    );
  }
}

async function repeat(order: ClientOrder): Promise<void> {
  await Promise.all(
    Array.from({ length: order.count }, async (_, i) => {
      while (!isOver) await new Promise<void>((resolve) => void open(order, i, resolve));
    }),
  );
}

process.on("message", (message: ClientOrder | "tally" | "leave") => {
  if (message === "tally") return void process.send?.(tally);
  if (message === "leave") {
    isOver = true;
    for (const socket of sockets) socket.destroy();
    return void process.send?.("left");
  }
  isOver = false;
  void (message.kind === "hold" ? hold(message) : repeat(message)).then(() => process.send?.("done"));
});
process.on("disconnect", () => process.exit());
