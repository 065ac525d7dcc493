/**
 * Loaded into the worker threads of a daemon under test: makes a thread hang, or exhaust its heap, when it processes
 * one of these words, as if hostile text had triggered a bug.
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

// The requests that a thread receives, for searches and reads, through any port.
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

// Contents to index are first searched for NUL bytes.
const { includes } = Buffer.prototype;
Buffer.prototype.includes = function (this: Buffer, ...args: Parameters<typeof includes>): boolean {
  if (args[0] === 0 && this.length < 1000) meet(this.toString("latin1"));
  return includes.apply(this, args);
};
