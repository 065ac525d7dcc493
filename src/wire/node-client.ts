import type { OnReadOpts } from "node:net";
import { connect, type ConnectionOptions } from "node:tls";
import { callAfter, monotonicMs } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { type ByteChannel, channelsMax, Connection, connectionProtocol, windowBytesMin } from "./connection.js";
import { FrameChannel, type FrameReceiver } from "./frame-channel.js";
import { type NodeIdentity, nodeUri, saysUri } from "./identity.js";
import { askMs, askReplaceableMs } from "./liveness.js";

export interface NodeAddress {
  readonly name: string;
  /** HOST:PORT */
  readonly address: string;
}

/** A node that was not there is tried again after this time, by a search that does not wait for it. */
const retryMs = 1_000;

/** How long a search waits for the connection to a node that was silent before: it may be back, and probably is not. */
const missedWaitMs = 1_000;

/** What arrives at once is read into memory of this size, which a connection uses again and again. */
const readBytes = 64 * 1024;

/** One connection to another node, made when it is needed, and made again after it has ended. */
export class NodeClient {
  readonly #node: NodeAddress;
  readonly #identity: NodeIdentity;
  readonly #protocol: string;
  readonly #log: Log;
  readonly #isReplaceable: boolean;
  readonly #onConnection: (isThere: boolean) => void;
  readonly #windowBytes: number;
  #connection: Connection | undefined;
  /** Whether it was silent, and there has been no connection since. */
  #isMissed = false;
  /** Since when there is no connection, although one was wanted. */
  #downMs: number | undefined;

  /**
   * A replaceable node is missed earlier: others have what it has. `onConnection` is called when there is a connection, and when it
   * ends. The node may send `windowBytes` over each channel, unread.
   */
  constructor(
    node: NodeAddress,
    identity: NodeIdentity,
    protocol: string,
    log: Log,
    isReplaceable = false,
    onConnection: (isThere: boolean) => void = () => undefined,
    windowBytes = windowBytesMin,
  ) {
    this.#node = node;
    this.#identity = identity;
    this.#protocol = protocol;
    this.#log = log;
    this.#isReplaceable = isReplaceable;
    this.#onConnection = onConnection;
    this.#windowBytes = windowBytes;
  }

  /** Whether the last connection has ended, and there is none since. Tries again from time to time. */
  get isDown(): boolean {
    if (this.#downMs === undefined) return false;
    if (monotonicMs() - this.#downMs > retryMs) {
      try {
        this.#connected();
      } catch {
        this.#downMs = monotonicMs();
      }
    }
    return true;
  }

  /** Opens a channel. What is sent before the connection is there is sent then; if it never is, the receiver is told. */
  open(receiver: FrameReceiver): FrameChannel {
    try {
      return this.#open(receiver);
    } catch (error) {
      return closedFrameChannel(errorMessage(error), receiver);
    }
  }

  #open(receiver: FrameReceiver): FrameChannel {
    const connection = this.#connected();
    const bytes = connection.open() ?? closedChannel(`there are ${channelsMax} searches of it already`);
    const channel = new FrameChannel(bytes, receiver);
    if (this.#isMissed)
      callAfter(missedWaitMs, () => {
        if (connection.isThere || channel.isClosed) return;
        channel.close();
        receiver.closed("it has been silent, and is not back yet");
      });
    return channel;
  }

  close(): void {
    this.#connection?.destroy();
  }

  #connected(): Connection {
    if (this.#connection?.isClosed === false) return this.#connection;
    const { certificate, key, authority, fleetId } = this.#identity;
    const { name, address } = this.#node;
    const { hostname, port } = new URL(`https://${address}`);
    const buffer = Buffer.alloc(readBytes);
    const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: Number(port),
      cert: certificate,
      key,
      ca: authority,
      rejectUnauthorized: true,
      minVersion: "TLSv1.3",
      ALPNProtocols: [connectionProtocol],
      // Which host it is does not matter, only which node.
      checkServerIdentity: (_host, { subjectaltname }) =>
        saysUri(subjectaltname, nodeUri(fleetId, name))
          ? undefined
          : new TrawlError("forbidden", `its certificate is not of node ${name} of the fleet ${fleetId}`),
      // As a stream, each record of TLS would be memory of its own.
      onread: {
        buffer,
        callback: (byteCount) => {
          connection.receive(buffer.subarray(0, byteCount));
          return true;
        },
      },
    };
    const socket = connect(options).setNoDelay(true);
    const connection = new Connection(socket, {
      version: this.#protocol,
      windowBytes: this.#windowBytes,
      name: `node ${name}`,
      askMs: this.#isReplaceable ? askReplaceableMs : askMs,
      accept: undefined,
      onHello: () => {
        this.#isMissed = false;
        this.#downMs = undefined;
        this.#onConnection(true);
      },
      onMissed: () => {
        this.#isMissed = true;
      },
      onClosed: (reason) => {
        this.#log.info({ node: name, error: reason }, "the connection to a node ended");
        if (this.#connection !== connection) return;
        this.#downMs = monotonicMs();
        this.#onConnection(false);
      },
    });
    this.#connection = connection;
    return connection;
  }
}

/** A channel that ends at this moment: the receiver is told why. */
export function closedFrameChannel(reason: string, receiver: FrameReceiver): FrameChannel {
  return new FrameChannel(closedChannel(reason), receiver);
}

/** As of a connection that ends at this moment. */
function closedChannel(reason: string): ByteChannel {
  return {
    isOpen: false,
    waitingBytes: 0,
    receive: (receiver) => queueMicrotask(() => receiver.closed(reason)),
    write: (_pieces, written) => written?.(),
    pause: () => undefined,
    resume: () => undefined,
    finish: () => undefined,
    close: () => undefined,
  };
}
