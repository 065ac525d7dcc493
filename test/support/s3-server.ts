/** A store with the interface of Amazon S3, in this process, that can be made to fail. */
import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What goes wrong with one request. */
export type S3Fault =
  | { readonly kind: "status"; readonly status: number; readonly code?: string }
  /** Half of the bytes, then the connection is closed. */
  | { readonly kind: "cut" }
  /** Half of the bytes, as if they were all. */
  | { readonly kind: "short" }
  /** More bytes than it has. */
  | { readonly kind: "long" }
  /** As many bytes, one of them another one. */
  | { readonly kind: "other" }
  /** No answer. */
  | { readonly kind: "silence" }
  /** A byte, and another one, and so on, without an end. */
  | { readonly kind: "trickle" }
  | { readonly kind: "reset" }
  /** The request is answered as usual, so that a later one fails. */
  | { readonly kind: "none" };

const accessKey = "test-key";
const secretKey = "test-secret";

export class S3Server {
  readonly objects = new Map<string, Buffer>();
  /** The next requests with this method fail so, one after the other. */
  readonly faults: { readonly method: string; readonly fault: S3Fault }[] = [];
  /** Each request as `METHOD /path`. */
  readonly requests: string[] = [];
  /** What the clock of the server is ahead of that of this host. */
  aheadMs = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/bucket/fleet`;
  }

  /** What is in the file of `fleet.objectsCredential`. */
  readonly credential = `${accessKey}:${secretKey}\n`;

  fail(method: string, ...faults: readonly S3Fault[]): void {
    this.faults.push(...faults.map((fault) => ({ method, fault })));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "" } = request;
    this.requests.push(`${method} ${path}`);
    response.setHeader("Date", new Date(this.#nowMs).toUTCString());
    const at = this.faults.findIndex((one) => one.method === method);
    const fault = at < 0 ? undefined : this.faults.splice(at, 1)[0]?.fault;
    if (fault?.kind === "reset") return void request.socket.resetAndDestroy();
    if (fault?.kind === "silence") return;
    if (fault?.kind === "status") return refuse(response, fault.status, fault.code ?? "SlowDown");
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const reason = this.#check(request, body);
    if (reason !== undefined) return refuse(response, 403, reason);
    if (!path.startsWith("/bucket/")) return refuse(response, 404, "NoSuchBucket");
    if (method === "PUT") {
      // A store that keeps a part of an object, and says that it has it.
      this.objects.set(path, fault?.kind === "short" ? body.subarray(0, body.length / 2) : body);
      response.end();
      return;
    }
    const bytes = this.objects.get(path);
    if (bytes === undefined) return refuse(response, 404, "NoSuchKey");
    if (method === "HEAD") {
      response.setHeader("Content-Length", bytes.length);
      response.end();
      return;
    }
    send(response, bytes, fault);
  }

  get #nowMs(): number {
    return new Date().getTime() + this.aheadMs;
  }

  /** Why the signature is refused. */
  #check({ method = "", url: path = "", headers }: IncomingMessage, body: Buffer): string | undefined {
    const date = String(headers["x-amz-date"]);
    const [, scope = "", signed = "", signature] =
      /^AWS4-HMAC-SHA256 Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
        headers.authorization ?? "",
      ) ?? [];
    const iso = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z");
    if (!(Math.abs(Date.parse(iso) - this.#nowMs) < 15 * 60_000)) return "RequestTimeTooSkewed";
    const hash = String(headers["x-amz-content-sha256"]);
    const canonical = [
      method,
      path,
      "",
      ...signed.split(";").map((name) => `${name}:${String(headers[name])}`),
      "",
      signed,
      hash,
    ].join("\n");
    const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
    const key = scope.split("/").reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${secretKey}`);
    const text = ["AWS4-HMAC-SHA256", date, scope, createHash("sha256").update(canonical).digest("hex")].join("\n");
    if (hmac(key, text).toString("hex") !== signature) return "SignatureDoesNotMatch";
    return createHash("sha256").update(body).digest("hex") === hash ? undefined : "XAmzContentSHA256Mismatch";
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.statusCode = status;
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>this is a test</Message></Error>`);
}

function send(response: ServerResponse, bytes: Buffer, fault: S3Fault | undefined): void {
  const half = bytes.subarray(0, Math.floor(bytes.length / 2));
  switch (fault?.kind) {
    case "cut":
      response.setHeader("Content-Length", bytes.length);
      response.write(half, () => response.destroy());
      return;
    case "short":
      response.end(half);
      return;
    case "long":
      response.end(Buffer.concat([bytes, half]));
      return;
    case "other": {
      const others = Buffer.from(bytes);
      others[0] = (others[0] ?? 0) ^ 1;
      response.end(others);
      return;
    }
    case "trickle": {
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(timer));
      return;
    }
    default:
      response.setHeader("Content-Length", bytes.length);
      response.end(bytes);
  }
}
