import { callAfter } from "../../base/deadline.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import type { FrameChannel, FrameReceiver } from "../../wire/frame-channel.js";
import type { NodeIdentity } from "../../wire/identity.js";
import { NodeServer } from "../../wire/node-server.js";
import type { LeafServices } from "../source/search-fleet.js";
import { askWaitMs, LeafSearch, type RequirePartitions } from "./leaf-search.js";
import { type Channel, LocalChannel } from "./local-channel.js";

/** Searches for other nodes at the same time. */
const leafSearchesMax = 1_000;

export interface LeafServerSettings {
  readonly identity: NodeIdentity;
  readonly listenHost: string;
  readonly listenPort: number;
  /** Of the program: nodes of another one are refused. */
  readonly version: string;
  readonly workerCount: number;
  readonly searcher: LeafServices;
  /** Answers questions about repositories, the first message of which has the kind `mirrorKind`. */
  readonly answerMirrors: (node: string, channel: () => Channel) => FrameReceiver;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "fleetSearchesRunning">;
}

/** The kind of the message that asks for what a node has of a repository. */
export const mirrorKind = "mirror";

/** How a node answers the others, and itself: it searches its own repositories for them, and reads their mirrors. */
export class LeafServer {
  readonly #settings: LeafServerSettings;
  readonly #server: NodeServer;
  readonly #leaves = new Set<LeafSearch>();
  /** Those at which streams of other nodes wait. */
  readonly #waiting = new Set<LeafSearch>();
  readonly #idBase: number;
  readonly #requirePartitions: RequirePartitions | undefined;

  /** `nodes` are the names of those that may connect, at any time; up to `nodesMax`. `idBase` is added to ids of repositories. */
  constructor(
    settings: LeafServerSettings,
    nodes: () => readonly string[],
    nodesMax: number,
    idBase: number,
    requirePartitions?: RequirePartitions,
  ) {
    const { identity, version, log } = settings;
    this.#settings = settings;
    this.#idBase = idBase;
    this.#requirePartitions = requirePartitions;
    this.#server = new NodeServer({
      identity,
      nodes,
      nodesMax,
      protocol: version,
      log,
      accept: (node, channel) => this.#accept(node, channel),
    });
  }

  /** The first message says what is wanted. */
  #accept(node: string, channel: () => FrameChannel): FrameReceiver {
    let receiver: FrameReceiver | undefined;
    const wait = callAfter(askWaitMs, () => channel().close());
    return {
      frame: (frame) => {
        wait.cancel();
        receiver ??=
          frame.head["kind"] === mirrorKind
            ? this.#settings.answerMirrors(node, channel)
            : this.#acceptSearch(node, channel);
        receiver.frame(frame);
      },
      closed: (reason) => {
        wait.cancel();
        receiver?.closed(reason);
      },
    };
  }

  #acceptSearch(coordinator: string, channel: () => Channel): LeafSearch {
    const leaf = this.#makeLeaf(coordinator, channel);
    const { metrics } = this.#settings;
    this.#leaves.add(leaf);
    metrics.fleetSearchesRunning.set(this.#leaves.size);
    const remove = (): void => {
      this.#leaves.delete(leaf);
      metrics.fleetSearchesRunning.set(this.#leaves.size);
    };
    leaf.onEnd = () => {
      this.#waiting.delete(leaf);
      remove();
    };
    leaf.onWait = () => {
      this.#waiting.add(leaf);
      remove();
    };
    if (this.#leaves.size > leafSearchesMax)
      queueMicrotask(() => leaf.refuse(`it has ${leafSearchesMax} searches for others`));
    return leaf;
  }

  #makeLeaf(coordinator: string, channel: () => Channel): LeafSearch {
    const { workerCount, searcher, log } = this.#settings;
    const requirePartitions = this.#requirePartitions;
    return new LeafSearch(channel, {
      coordinator,
      searcher,
      workerCount,
      log,
      idBase: this.#idBase,
      requirePartitions,
    });
  }

  /** A search of the repositories of this node, which are searched as those of the others are. */
  openHere(receiver: FrameReceiver): Channel {
    const [here, there] = LocalChannel.pair();
    here.receive(receiver);
    there.receive(this.#makeLeaf(this.#settings.identity.node, () => there));
    return here;
  }

  /** Resolves with the port. Rejects with `conflict` if the address is in use. */
  start(): Promise<number> {
    return this.#server.start(this.#settings.listenHost, this.#settings.listenPort);
  }

  /** Ends the searches that run for others, and tells their streams nothing more. */
  refuseAll(): void {
    for (const leaf of [...this.#leaves, ...this.#waiting]) leaf.refuse("it is stopping");
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }
}
