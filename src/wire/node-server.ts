import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { monotonicMs } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { type ByteChannel, Connection, connectionProtocol, windowBytesMin } from "./connection.js";
import { FrameChannel, type FrameReceiver } from "./frame-channel.js";
import { nodeWithCertificate, type NodeIdentity } from "./identity.js";
import { askMs } from "./liveness.js";

export interface NodeServerSettings {
  readonly identity: NodeIdentity;
  /** Names of the nodes that may connect, at this moment. */
  readonly nodes: () => readonly string[];
  /** How many these are at most. */
  readonly nodesMax: number;
  /** What both ends must have in common: the version of the program. */
  readonly protocol: string;
  readonly log: Log;
  /** A node has opened a channel. Its receiver is returned. */
  readonly accept: (node: string, channel: () => FrameChannel) => FrameReceiver;
}

/** Lines about refused connections in this time: of one address, and of all. */
const refusalWindowMs = 60_000;
const refusalLinesMax = 20;

/** Which lines of a kind that strangers can cause are written. */
export class LineLimit {
  readonly #nowMs: () => number;
  readonly #addresses = new Set<string>();
  #lines = 0;
  #omitted = 0;
  #startMs: number;

  constructor(nowMs: () => number = monotonicMs) {
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
  }

  /** The lines that were omitted before this one; undefined if it is omitted, too. */
  take(address: string): number | undefined {
    const nowMs = this.#nowMs();
    if (nowMs - this.#startMs >= refusalWindowMs) {
      this.#startMs = nowMs;
      this.#lines = 0;
      this.#addresses.clear();
    }
    if (this.#lines >= refusalLinesMax || this.#addresses.has(address)) {
      this.#omitted++;
      return undefined;
    }
    this.#lines++;
    this.#addresses.add(address);
    const omitted = this.#omitted;
    this.#omitted = 0;
    return omitted;
  }
}

/** The port on which a node answers other nodes of its fleet, and nobody else. */
export class NodeServer {
  readonly #settings: NodeServerSettings;
  readonly #server: Server;
  /** All connections, those that have not said who they are among them. */
  readonly #sockets = new Set<Socket>();
  readonly #refusals = new LineLimit();

  constructor(settings: NodeServerSettings) {
    this.#settings = settings;
    const { identity, nodesMax } = settings;
    this.#server = createServer({
      cert: identity.certificate,
      key: identity.key,
      ca: identity.authority,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: "TLSv1.3",
      handshakeTimeout: 5_000,
      ALPNProtocols: [connectionProtocol],
    });
    this.#server.maxConnections = 16 * (nodesMax + 1);
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("secureConnection", (socket) => this.#begin(socket));
    // Whoever has no certificate of the fleet ends here.
    this.#server.on("tlsClientError", (error, socket) =>
      this.#logRefusal(
        socket.remoteAddress,
        { error: errorMessage(error) },
        "a connection to fleet.listen was refused",
      ),
    );
  }

  /** Whoever connects decides how often: one line for each address, and not many in all. */
  #logRefusal(remoteAddress: string | undefined, fields: object, message: string): void {
    const omitted = this.#refusals.take(remoteAddress ?? "");
    if (omitted === undefined) return;
    const more = omitted === 0 ? {} : { omittedLines: omitted };
    this.#settings.log.warn({ remoteAddress, ...fields, ...more }, message);
  }

  /** Resolves with the port. Rejects with `conflict` if the address is in use. */
  start(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      // After it has started, an error is one connection that could not be accepted.
      this.#server.on("error", (error) => {
        this.#settings.log.warn({ error: errorMessage(error) }, "a connection to fleet.listen failed");
        reject(new TrawlError("conflict", `fleet.listen: ${errorMessage(error)}`));
      });
      this.#server.listen(port, host, () => {
        const address = this.#server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
  }

  /** Ends all connections. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #begin(socket: TLSSocket): void {
    const { identity, nodes, protocol, log } = this.#settings;
    const names = socket.getPeerCertificate().subjectaltname;
    const node = nodeWithCertificate(names, identity.fleetId, nodes());
    if (node === undefined || !socket.authorized) {
      const given = names === undefined ? "no name" : JSON.stringify(names.slice(0, 500));
      this.#logRefusal(
        socket.remoteAddress,
        {},
        `a connection to fleet.listen was refused: its certificate has ${given}, and is of no other node of the fleet ${identity.fleetId}`,
      );
      socket.on("error", () => undefined);
      socket.destroy();
      return;
    }
    socket.setNoDelay(true);
    const connection = new Connection(socket, {
      version: protocol,
      windowBytes: windowBytesMin,
      name: `node ${node}`,
      askMs,
      accept: (bytes) => this.#open(node, bytes),
      onHello: () => undefined,
      onMissed: () => undefined,
      onClosed: (reason) => log.info({ node, error: reason }, "a connection of a node ended"),
    });
    socket.on("data", (chunk: Buffer) => connection.receive(chunk));
  }

  #open(node: string, bytes: ByteChannel): void {
    let channel: FrameChannel | undefined;
    // The receiver answers over the channel, whose receiver it is.
    const receiver = this.#settings.accept(node, () => channel as unknown as FrameChannel);
    channel = new FrameChannel(bytes, receiver);
  }
}
