import { connect, type ClientHttp2Session } from "node:http2";
import { PassThrough } from "node:stream";
import { callAfter, monotonicMs } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { FrameChannel, type FrameReceiver } from "./frame-channel.js";
import { type NodeIdentity, nodeUri, saysUri } from "./identity.js";
import { askReplaceableMs, watchSession } from "./liveness.js";
import { channelPath, connectionWindowBytes, protocolHeader, sessionMemoryMiB, windowBytes } from "./transport.js";

export interface NodeAddress {
  readonly name: string;
  /** HOST:PORT */
  readonly address: string;
}

/** A node that was not there is tried again after this time, by a search that does not wait for it. */
const retryMs = 1_000;

/** How long a search waits for the connection to a node that was silent before: it may be back, and probably is not. */
const missedWaitMs = 1_000;

/** One connection to another node, made when it is needed, and made again after it has ended. */
export class NodeClient {
  readonly #node: NodeAddress;
  readonly #identity: NodeIdentity;
  readonly #protocol: string;
  readonly #log: Log;
  readonly #isReplaceable: boolean;
  readonly #onConnection: (isThere: boolean) => void;
  #session: ClientHttp2Session | undefined;
  /** Whether it was silent, and there has been no connection since. */
  #isMissed = false;
  /** Since when there is no connection, although one was wanted. */
  #downMs: number | undefined;

  /** A replaceable node is missed earlier: others have what it has. `onConnection` is called when there is one, and when it ends. */
  constructor(
    node: NodeAddress,
    identity: NodeIdentity,
    protocol: string,
    log: Log,
    isReplaceable = false,
    onConnection: (isThere: boolean) => void = () => undefined,
  ) {
    this.#node = node;
    this.#identity = identity;
    this.#protocol = protocol;
    this.#log = log;
    this.#isReplaceable = isReplaceable;
    this.#onConnection = onConnection;
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
      // As of a connection that ends at this moment.
      const stream = new PassThrough();
      const channel = new FrameChannel(stream, receiver);
      stream.destroy(new TrawlError("overloaded", errorMessage(error)));
      return channel;
    }
  }

  #open(receiver: FrameReceiver): FrameChannel {
    const session = this.#connected();
    const stream = session.request(
      { ":method": "POST", ":path": channelPath, [protocolHeader]: this.#protocol },
      { endStream: false },
    );
    const channel = new FrameChannel(stream, receiver);
    if (this.#isMissed) {
      const wait = callAfter(missedWaitMs, () => {
        if (session.connecting) stream.destroy(new TrawlError("overloaded", "it has been silent, and is not back yet"));
      });
      stream.once("close", () => wait.cancel());
    }
    stream.once("response", (headers) => {
      const status = headers[":status"];
      if (status === 200) return;
      const version = String(headers[protocolHeader] ?? "unknown").slice(0, 100);
      const reason =
        status === 409
          ? `it runs version ${version}, and this node ${this.#protocol}: all nodes must run the same version`
          : `it answered with status ${status}`;
      stream.destroy(new TrawlError("bad-request", reason));
    });
    return channel;
  }

  close(): void {
    this.#session?.destroy();
  }

  #connected(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.destroyed && !this.#session.closed) return this.#session;
    const { certificate, key, authority, fleetId } = this.#identity;
    const { name, address } = this.#node;
    const session = connect(`https://${address}`, {
      cert: certificate,
      key,
      ca: authority,
      rejectUnauthorized: true,
      minVersion: "TLSv1.3",
      maxSessionMemory: sessionMemoryMiB,
      settings: { initialWindowSize: windowBytes, enablePush: false },
      // Which host it is does not matter, only which node.
      checkServerIdentity: (_host, { subjectaltname }) =>
        saysUri(subjectaltname, nodeUri(fleetId, name))
          ? undefined
          : new TrawlError("forbidden", `its certificate is not of node ${name} of the fleet ${fleetId}`),
    });
    this.#session = session;
    session.once("connect", () => {
      this.#isMissed = false;
      this.#downMs = undefined;
      this.#onConnection(true);
      session.setLocalWindowSize(connectionWindowBytes);
    });
    session.on("error", (error) =>
      this.#log.info({ node: name, error: errorMessage(error) }, "the connection to a node ended"),
    );
    session.once("close", () => {
      if (this.#session !== session) return;
      this.#downMs = monotonicMs();
      this.#onConnection(false);
    });
    const onMissed = (): void => {
      this.#isMissed = true;
    };
    watchSession(session, `node ${name}`, onMissed, this.#isReplaceable ? askReplaceableMs : undefined);
    return session;
  }
}
