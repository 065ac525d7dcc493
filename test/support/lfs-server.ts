/** A server of Git LFS as its specification has it (batch API, transfer basic), beside git over HTTP. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import type { GitFixture } from "./git-fixture.js";
import { serveHttp } from "./http-remote.js";

export function sha256(contents: string | Uint8Array): string {
  return createHash("sha256").update(contents).digest("hex");
}

/** The pointer that `git lfs clean` makes of contents. */
export function pointer(contents: string | Uint8Array): string {
  const size = Buffer.from(contents).length;
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256(contents)}\nsize ${size}\n`;
}

interface Wanted {
  readonly oid: string;
  readonly size: number;
}

/** What a test changes of an answer. */
export interface Faults {
  /** Answers a batch; true if it has. */
  batch?: (response: ServerResponse, objects: readonly Wanted[]) => boolean;
  /** Changes what a batch says of an object. */
  object?: (object: Record<string, unknown>, wanted: Wanted) => void;
  /** Answers a download; true if it has. */
  download?: (response: ServerResponse, oid: string) => boolean;
}

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly token: string | undefined;
}

export class LfsDouble {
  readonly objects = new Map<string, Buffer>();
  readonly seen: SeenRequest[] = [];
  faults: Faults = {};
  port = 0;
  /** Of a server for downloads at another origin; 0 for none. */
  storagePort = 0;

  /** Serves the fixture at `http://ada:s3cret@127.0.0.1:PORT/repo.git`, and its contents. */
  static async start(t: Test, source: GitFixture): Promise<LfsDouble> {
    const double = new LfsDouble();
    double.port = await serveHttp(t, source, undefined, (request) =>
      /\/info\/lfs\/|\/lfs-objects\//.test(request.url ?? "") ? (...args) => double.#answer(...args) : undefined,
    );
    return double;
  }

  get url(): string {
    return `http://ada:s3cret@127.0.0.1:${this.port}/`;
  }

  add(contents: string | Uint8Array): string {
    this.objects.set(sha256(contents), Buffer.from(contents));
    return pointer(contents);
  }

  /** Another origin, from which downloads come from now on. */
  async useStorage(t: Test): Promise<void> {
    const server = createServer((request, response) => this.#answer(request, response, Buffer.alloc(0)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    this.storagePort = (server.address() as AddressInfo).port;
  }

  #answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const { method = "", url = "", headers } = request;
    this.seen.push({ method, url, authorization: headers.authorization, token: headers["x-storage-token"] as string });
    if (method === "POST" && url.endsWith("/info/lfs/objects/batch")) return this.#batch(request, response, body);
    const oid = url.slice(url.lastIndexOf("/") + 1);
    const contents = this.objects.get(oid);
    if (this.faults.download?.(response, oid) === true) return;
    if (contents === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "Content-Type": "application/octet-stream" }).end(contents);
  }

  #batch(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const { accept, authorization } = request.headers;
    const type = request.headers["content-type"];
    const media = "application/vnd.git-lfs+json";
    if (authorization !== `Basic ${Buffer.from("ada:s3cret").toString("base64")}`)
      return void response.writeHead(401, { "LFS-Authenticate": "Basic" }).end(`{"message": "Credentials needed"}`);
    const { operation, transfers, objects } = JSON.parse(body.toString()) as {
      operation: string;
      transfers: string[];
      objects: Wanted[];
    };
    // git-lfs itself adds a charset.
    if (![accept, type].every((given) => given?.split(";")[0] === media)) return void response.writeHead(406).end();
    if (operation !== "download" || !transfers.includes("basic")) return void response.writeHead(422).end();
    if (this.faults.batch?.(response, objects) === true) return;
    const port = this.storagePort === 0 ? this.port : this.storagePort;
    const answers = objects.map((wanted) => {
      const answer: Record<string, unknown> = { ...wanted, authenticated: true };
      if (!this.objects.has(wanted.oid)) answer["error"] = { code: 404, message: "Object does not exist" };
      else
        answer["actions"] = {
          download: {
            href: `http://127.0.0.1:${port}/lfs-objects/${wanted.oid}`,
            header: { "X-Storage-Token": "t0k", Authorization: "RemoteAuth of-the-action" },
            expires_in: 600,
          },
        };
      this.faults.object?.(answer, wanted);
      return answer;
    });
    response.writeHead(200, { "Content-Type": media }).end(JSON.stringify({ transfer: "basic", objects: answers }));
  }
}
