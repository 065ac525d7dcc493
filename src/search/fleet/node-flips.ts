import { callAfter, type PendingCall } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import type { Viewer } from "../../model/viewer.js";
import type { FrameReceiver } from "../../wire/frame-channel.js";
import type { Frame } from "../../wire/frames.js";
import type { LeafServices } from "../source/search-fleet.js";
import {
  type CoordinatorMessage,
  readViewer,
  toCoordinatorMessage,
  toLeafMessage,
  watchersMax,
  writeViewer,
} from "./fleet-messages.js";
import type { Channel } from "./local-channel.js";

/** Until a node that is not there is asked again. */
const retryMs = 1_000;

/** Flips in this time are told together. */
const gatherMs = 100;

interface Watcher {
  /** As `writeViewer` writes it. */
  readonly viewer: Uint8Array;
  readonly onFlip: () => void;
  /** Undefined once it was called. */
  onListening: (() => void) | undefined;
}

/**
 * At the node that clients have asked for changes: tells another one who waits, and hears when repositories that they may see have been
 * indexed there. All of them share a channel, which exists while somebody waits.
 *
 * Contract: `onListening` is called once, when the other node listens. After each of its flips from then on `onFlip` is called, and also after
 * it was away, because it may have flipped before.
 */
export class NodeFlips implements FrameReceiver {
  readonly #open: (receiver: FrameReceiver) => Channel;
  readonly #watchers = new Map<number, Watcher>();
  #nextNumber = 0;
  #channel: Channel | undefined;
  #retry: PendingCall | undefined;

  constructor(open: (receiver: FrameReceiver) => Channel) {
    this.#open = open;
  }

  /** `viewer` is what `writeViewer` returns. Returns a function that ends it. Never throws. */
  watch(viewer: Uint8Array, onFlip: () => void, onListening: () => void): () => void {
    const number = this.#nextNumber++;
    this.#watchers.set(number, { viewer, onFlip, onListening });
    if (this.#channel !== undefined) this.#tell(number);
    else if (this.#retry === undefined) this.#connect();
    return () => this.#end(number);
  }

  #end(number: number): void {
    if (!this.#watchers.delete(number)) return;
    if (this.#watchers.size > 0) return this.#send({ kind: "unwatch", number });
    this.close();
  }

  /** Nobody is told anything more. */
  close(): void {
    this.#watchers.clear();
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#channel?.close();
    this.#channel = undefined;
  }

  #connect(): void {
    this.#retry = undefined;
    try {
      this.#channel = this.#open(this);
    } catch {
      // Whoever calls cannot do more about it than a timer could.
      return this.closed();
    }
    for (const number of this.#watchers.keys()) this.#tell(number);
  }

  #tell(number: number): void {
    this.#send({ kind: "watch", number }, this.#watchers.get(number)?.viewer);
  }

  #send(message: CoordinatorMessage, body?: Uint8Array): void {
    toCoordinatorMessage(message);
    this.#channel?.send(message, body);
  }

  frame({ head }: Frame): void {
    const message = toLeafMessage(head);
    if (message.kind === "failed") return;
    if (message.kind !== "flipped") throw new TrawlError("bad-request", `a message ${message.kind} out of turn`);
    for (const number of message.numbers) this.#hear(this.#watchers.get(number));
  }

  #hear(watcher: Watcher | undefined): void {
    if (watcher?.onListening === undefined) return watcher?.onFlip();
    const tell = watcher.onListening;
    watcher.onListening = undefined;
    tell();
  }

  closed(): void {
    this.#channel = undefined;
    this.#retry?.cancel();
    this.#retry = undefined;
    if (this.#watchers.size > 0) this.#retry = callAfter(retryMs, () => this.#connect());
  }
}

/** Whoever waits, and at which nodes: those of a fleet come and go while streams wait. */
export class FleetFlips {
  readonly #nodes = new Map<string, NodeFlips>();
  readonly #streams = new Set<WaitingStream>();

  /** From now on streams also hear of this node. */
  add(name: string, open: (receiver: FrameReceiver) => Channel): void {
    this.remove(name);
    const flips = new NodeFlips(open);
    this.#nodes.set(name, flips);
    // It may have flipped before it was there.
    for (const { body, onFlip, ends } of this.#streams) ends.set(name, flips.watch(body, onFlip, onFlip));
  }

  remove(name: string): void {
    this.#nodes.get(name)?.close();
    this.#nodes.delete(name);
    for (const { ends } of this.#streams) ends.delete(name);
  }

  /** As that of `SearchFleet`. */
  watch(viewer: Viewer, onFlip: () => void, onListening: (areAll: boolean) => void): () => void {
    // What may throw does so before anything waits.
    const body = writeViewer(viewer);
    const stream: WaitingStream = { body, onFlip, ends: new Map() };
    this.#streams.add(stream);
    let left = this.#nodes.size;
    for (const [name, flips] of this.#nodes)
      stream.ends.set(
        name,
        flips.watch(body, onFlip, () => onListening(--left === 0)),
      );
    if (left === 0) onListening(true);
    return () => {
      this.#streams.delete(stream);
      for (const end of stream.ends.values()) end();
    };
  }

  /** Nobody is told anything more. */
  close(): void {
    for (const flips of this.#nodes.values()) flips.close();
    this.#nodes.clear();
    this.#streams.clear();
  }
}

interface WaitingStream {
  readonly body: Uint8Array;
  readonly onFlip: () => void;
  /** What ends it, by the names of nodes. */
  readonly ends: Map<string, () => void>;
}

/** At the node that is told who waits: tells whom its flips wake. One that nobody who waits may see is told to nobody. */
export class LeafFlips {
  readonly #services: Pick<LeafServices, "watchFlips">;
  readonly #send: (numbers: readonly number[]) => void;
  /** What ends them, by their numbers. */
  readonly #watchers = new Map<number, () => void>();
  readonly #flipped = new Set<number>();
  #gathering: PendingCall | undefined;

  constructor(services: Pick<LeafServices, "watchFlips">, send: (numbers: readonly number[]) => void) {
    this.#services = services;
    this.#send = send;
  }

  /** Throws `bad-request`. */
  take(message: CoordinatorMessage, body: Uint8Array): void {
    switch (message.kind) {
      case "watch":
        return this.#watch(message.number, readViewer(body));
      case "unwatch":
        this.#watchers.get(message.number)?.();
        this.#watchers.delete(message.number);
        this.#flipped.delete(message.number);
        return;
      default:
        throw new TrawlError("bad-request", `a message ${message.kind} among those of who waits`);
    }
  }

  #watch(number: number, viewer: Viewer): void {
    if (this.#watchers.has(number) || this.#watchers.size >= watchersMax)
      throw new TrawlError("bad-request", `more than ${watchersMax} who wait, or one twice`);
    this.#watchers.set(
      number,
      this.#services.watchFlips(viewer, () => this.#flip(number)),
    );
    // At once, and not with flips: a stream may wait for it.
    this.#send([number]);
  }

  #flip(number: number): void {
    this.#flipped.add(number);
    this.#gathering ??= callAfter(gatherMs, () => {
      this.#gathering = undefined;
      if (this.#flipped.size > 0) this.#send([...this.#flipped]);
      this.#flipped.clear();
    });
  }

  end(): void {
    this.#gathering?.cancel();
    for (const end of this.#watchers.values()) end();
    this.#watchers.clear();
  }
}
