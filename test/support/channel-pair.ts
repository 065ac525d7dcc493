import type { ByteChannel, ByteReceiver } from "../../src/wire/connection.js";

/** Two ends of a channel in memory: what is written to one arrives at the other, once who calls has returned. */
export function channelPair(): readonly [ByteChannel, ByteChannel] {
  const make = (other: () => End): End => new End(other);
  const left: End = make(() => right);
  const right: End = make(() => left);
  return [left, right];
}

class End implements ByteChannel {
  readonly #other: () => End;
  #receiver: ByteReceiver | undefined;
  readonly #held: (Uint8Array | undefined)[] = [];
  #isPaused = false;
  isOpen = true;
  waitingBytes = 0;

  constructor(other: () => End) {
    this.#other = other;
  }

  receive(receiver: ByteReceiver): void {
    this.#receiver = receiver;
  }

  write(pieces: readonly Uint8Array[], written?: () => void): void {
    // The memory of the pieces may be used again.
    if (this.isOpen) this.#other().#arrive(Buffer.concat(pieces));
    written?.();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#deliverSoon();
  }

  finish(): void {
    if (this.isOpen) this.#other().#arrive(undefined);
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    queueMicrotask(() => this.#other().#end("the connection broke"));
  }

  #arrive(bytes: Uint8Array | undefined): void {
    this.#held.push(bytes);
    this.#deliverSoon();
  }

  #deliverSoon(): void {
    queueMicrotask(() => {
      while (this.#held.length > 0 && !this.#isPaused && this.isOpen) {
        const bytes = this.#held.shift();
        if (bytes === undefined) this.#end(undefined);
        else this.#receiver?.bytes(bytes);
      }
    });
  }

  #end(reason: string | undefined): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#receiver?.closed(reason);
  }
}
