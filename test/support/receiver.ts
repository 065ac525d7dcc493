/** A receiver of notifications: an HTTP server that records what it gets, and answers as it is told. */
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import type { MatchChange } from "../../src/model/match-change.js";
import { until } from "./waiting.js";

/** The body of a notification. */
export interface Notification {
  readonly id: string;
  readonly event: string;
  readonly search: { readonly id: string; readonly query: string; readonly owner: string; readonly url: string };
  readonly error?: string;
  readonly counts: { readonly came: number; readonly went: number; readonly moved: number };
  readonly repositories: readonly { readonly repository: string; readonly came: number }[];
  readonly matches: readonly MatchChange[];
  readonly matchesOmitted: number;
  readonly commits?: readonly Readonly<
    Record<"repository" | "commit" | "authorName" | "message" | "diff" | "url", string>
  >[];
  readonly commitsOmitted?: number;
  readonly generation?: string;
  readonly receipt?: { readonly complete: boolean; readonly documentsSearched: number };
}

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Notification;
  readonly status: number;
}

export class Receiver {
  readonly #server: Server;
  /** All requests, in their order. */
  readonly received: Received[] = [];
  /** The statuses of the next responses; 200 when there are none left. */
  readonly statuses: number[] = [];
  /** How a response is sent. */
  respond: (response: ServerResponse, status: number) => void = (response, status) => {
    response.writeHead(status, { Location: "/elsewhere" }).end("thanks");
  };

  constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const text = Buffer.concat(parts).toString();
        const status = this.statuses.shift() ?? 200;
        const { url = "", headers } = request;
        const body = text === "" ? ({} as Notification) : (JSON.parse(text) as Notification);
        this.received.push({ path: url, headers, text, body, status });
        this.respond(response, status);
      });
    });
  }

  static async start(t: Test): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => {
      receiver.#server.close();
      receiver.#server.closeAllConnections();
    });
    return receiver;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The bodies that were accepted: of those with the same id, the last. */
  accepted(): Notification[] {
    const byId = new Map(this.received.filter(({ status }) => status === 200).map(({ body }) => [body.id, body]));
    return [...byId.values()];
  }

  /** Resolves with the accepted bodies when there are this many. */
  async count(count: number): Promise<Notification[]> {
    await until(
      () => `${count} notifications, of ${this.received.length} requests`,
      () => this.accepted().length >= count,
    );
    return this.accepted();
  }
}

/** By both signatures. */
export function isSigned({ headers, text }: Received, secret: string): boolean {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signature } = headers;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const ofStandard = createHmac("sha256", key).update(`${id}.${time}.${text}`).digest("base64");
  const ofBody = createHmac("sha256", secret).update(text).digest("hex");
  return headers["x-trawl-signature-256"] === `sha256=${ofBody}` && signature === `v1,${ofStandard}`;
}
