import { chmodSync, existsSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { concatBytes } from "../../base/bytes.js";
import { TrawlError, serializeError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { Router } from "./router.js";

/**
 * The control interface: JSON over HTTP on a socket in the data directory that only its owner may open, so callers need
 * no token.
 *
 * A response consists of JSON lines: any number of `{"progress": …}` and of `{"chunk": …}`, parts of a text that is too
 * long for one line, then one `{"result": …}` or `{"error": {code, message}}`. The status is that of the error if it occurred before any progress, otherwise 200.
 */
export class ControlServer {
  readonly #log: Log;
  readonly #router = new Router<ControlHandler>();
  readonly #server: Server;
  #path: string | undefined;

  constructor(handlers: ControlHandlers, log: Log) {
    this.#log = log;
    for (const [route, handler] of Object.entries(handlers)) {
      const [method = "", pattern = ""] = route.split(" ");
      this.#router.add(method, pattern, handler);
    }
    this.#server = createServer((request, response) => void this.#accept(request, response));
  }

  /**
   * Rejects with `conflict` if another daemon answers on this data directory; a socket left by a crashed one is
   * removed.
   */
  async listen(dataDirectory: string): Promise<void> {
    const path = requireSocketPath(dataDirectory);
    if (existsSync(path)) {
      if (await answers(path))
        throw new TrawlError("conflict", `another trawld is running with the data in ${dataDirectory}`);
      rmSync(path, { force: true });
    }
    await this.#bind(path);
    this.#path = path;
  }

  /** Closes the socket and all connections. Idempotent. */
  async close(): Promise<void> {
    if (this.#path === undefined) return;
    this.#path = undefined;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** The socket is created with a restrictive umask, so there is no moment at which another user could open it. */
  #bind(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", (cause) => {
        reject(new TrawlError("conflict", `cannot open the control socket ${path}: ${cause.message}`, { cause }));
      });
      const umask = process.umask(0o177);
      this.#server.listen(path, () => {
        chmodSync(path, 0o600);
        resolve();
      });
      process.umask(umask);
    });
  }

  async #accept(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    const left = new AbortController();
    response.on("close", () => left.abort());
    const writeLine = (line: unknown, status: number) => {
      if (!response.headersSent) response.writeHead(status, { "Content-Type": "application/x-ndjson" });
      return response.write(`${JSON.stringify(line)}\n`);
    };
    try {
      const call: CallOutput = {
        progress: (value) => void writeLine({ progress: value }, 200),
        send: async (chunk) => {
          if (!writeLine({ chunk }, 200)) await waitForDrain(response, left.signal);
          if (left.signal.aborted) throw new TrawlError("cancelled", "the caller has disconnected");
        },
        signal: left.signal,
      };
      writeLine({ result: (await this.#call(request, call)) ?? null }, 200);
    } catch (error) {
      if (!(error instanceof TrawlError)) this.#log.error({ err: error }, "control request failed");
      writeLine({ error: serializeError(error) }, error instanceof TrawlError ? error.httpStatus : 500);
    }
    response.end();
  }

  async #call(request: IncomingMessage, output: CallOutput): Promise<unknown> {
    const path = (request.url ?? "").split("?")[0] ?? "";
    const found = this.#router.find(request.method ?? "", path);
    if (found.kind !== "route") throw new TrawlError("not-found", `no control route ${request.method} ${path}`);
    const body = await readJson(request);
    return await found.route({ params: found.params, body, ...output });
  }
}

/** Handlers by method and pattern, as in `"POST /.api/repos/NAME/sync"`; see `Router` for patterns. */
export type ControlHandlers = Readonly<Record<string, ControlHandler>>;

/** The return value is the result, as JSON; an exception is the error. */
export type ControlHandler = (call: ControlCall) => unknown;

export interface ControlCall extends CallOutput {
  readonly params: Readonly<Record<string, string>>;
  /** The JSON in the request; undefined if there was none. The handler must validate it. */
  readonly body: unknown;
}

interface CallOutput {
  /** Sends progress to the client before the result. */
  readonly progress: (value: unknown) => void;
  /** Sends a part of a text before the result. Resolves when the client may get more; rejects with `cancelled`. */
  readonly send: (chunk: string) => Promise<void>;
  /** Aborted when the client disconnects, and after the response. */
  readonly signal: AbortSignal;
}

export function controlSocketPath(dataDirectory: string): string {
  return join(dataDirectory, "control.sock");
}

/** Linux limits the path of a socket to 108 bytes, including a terminating zero. */
const socketPathBytesMax = 107;

const bodyBytesMax = 1 << 20;

function waitForDrain(response: ServerResponse, left: AbortSignal): Promise<void> {
  if (left.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      left.removeEventListener("abort", done);
      resolve();
    };
    response.on("drain", done);
    left.addEventListener("abort", done);
  });
}

/** True if a process is listening on the socket. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new TrawlError("bad-request", `the body is larger than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  if (bytes === 0) return undefined;
  try {
    return JSON.parse(Buffer.from(concatBytes(chunks)).toString());
  } catch (cause) {
    throw new TrawlError("bad-request", "the body is not JSON", { cause });
  }
}

/** The path of the control socket. Throws `bad-config` if it is too long for one. */
export function requireSocketPath(dataDirectory: string): string {
  const path = controlSocketPath(dataDirectory);
  if (Buffer.byteLength(path) <= socketPathBytesMax) return path;
  throw new TrawlError("bad-config", `the path ${path} is too long for a socket: at most ${socketPathBytesMax} bytes`);
}
