import { connect, type ClientHttp2Session } from "node:http2";
import { PassThrough } from "node:stream";
import { callAfter } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { FrameChannel, type FrameReceiver } from "./frame-channel.js";
import { type NodeIdentity, nodeUri, saysUri } from "./identity.js";
import { watchSession } from "./liveness.js";
import { channelPath, connectionWindowBytes, protocolHeader, sessionMemoryMiB, windowBytes } from "./transport.js";

export interface NodeAddress {
  readonly name: string;
  /** HOST:PORT */
  readonly address: string;
}

/** How long a search waits for the connection to a node that was silent before: it may be back, and probably is not. */
const missedWaitMs = 1_000;

/** One connection to another node, made when it is needed, and made again after it has ended. */
export class NodeClient {
  readonly #node: NodeAddress;
  readonly #identity: NodeIdentity;
  readonly #protocol: string;
  readonly #log: Log;
  #session: ClientHttp2Session | undefined;
  /** Whether it was silent, and there has been no connection since. */
  #isMissed = false;

  constructor(node: NodeAddress, identity: NodeIdentity, protocol: string, log: Log) {
    this.#node = node;
    this.#identity = identity;
    this.#protocol = protocol;
    this.#log = log;
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
      session.setLocalWindowSize(connectionWindowBytes);
    });
    session.on("error", (error) =>
      this.#log.info({ node: name, error: errorMessage(error) }, "the connection to a node ended"),
    );
    watchSession(session, `node ${name}`, () => {
      this.#isMissed = true;
    });
    return session;
  }
}
