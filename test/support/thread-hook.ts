/**
 * Loaded into the worker threads of a daemon under test: makes a thread hang, or exhaust its heap, where it meets one
 * of these words, as hostile text would where the program has a fault.
 */
import { MessagePort } from "node:worker_threads";

const attack = /attack:(spin|regexp|sleep|heap|exit)/;

const acts: Readonly<Record<string, () => void>> = {
  spin: () => {
    for (;;) Math.random();
  },
  regexp: () => void /^(a+)+$/.test(`${"a".repeat(60)}b`),
  sleep: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  heap: () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(1000).fill(Math.random()));
  },
  exit: () => process.exit(3),
};

function meet(text: string): void {
  const word = attack.exec(text)?.[1];
  if (word !== undefined) acts[word]();
}

// What a thread is asked, for searches and reads, whatever port brings it.
const { on } = MessagePort.prototype;
MessagePort.prototype.on = function (this: MessagePort, event: string, listener: Parameters<typeof on>[1]) {
  return event !== "message"
    ? on.call(this, event, listener)
    : on.call(this, event, (message: unknown) => {
        meet(
          JSON.stringify(message, (_, value: unknown) =>
            ArrayBuffer.isView(value) || value instanceof SharedArrayBuffer ? undefined : value,
          ) ?? "",
        );
        listener(message);
      });
};

// Contents that are indexed are looked through for NUL bytes first.
const { includes } = Buffer.prototype;
Buffer.prototype.includes = function (this: Buffer, ...args: Parameters<typeof includes>): boolean {
  if (args[0] === 0 && this.length < 1000) meet(this.toString("latin1"));
  return includes.apply(this, args);
};
