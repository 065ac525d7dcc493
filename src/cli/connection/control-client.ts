import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { deserializeError, type SerializedError, TrawlError } from "../../base/errors.js";
import { controlSocketPath } from "../../http/server/control-server.js";
import { nearestWord } from "../../base/text.js";

/** Calls the daemon that is running with this data directory; resolves with the result, throws the daemon's error. */
export async function callDaemon(dataDirectory: string, call: DaemonCall): Promise<unknown> {
  const response = await send(dataDirectory, call);
  try {
    for await (const line of createInterface({ input: response, crlfDelay: Infinity })) {
      const message = JSON.parse(line) as ControlLine;
      if (message.error !== undefined) throw deserializeError(message.error);
      if (message.result !== undefined) return message.result;
      if (message.chunk !== undefined) await call.chunk?.(message.chunk);
      else call.progress(message.progress);
    }
  } finally {
    // If the caller fails, the daemon stops working for it.
    response.destroy();
  }
  throw new TrawlError("internal", "the daemon closed the connection without responding");
}

/** Whether a process answers on the control socket of the data directory. */
export function isDaemonRunning(dataDirectory: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(controlSocketPath(dataDirectory), () => {
      socket.destroy();
      resolve(true);
    });
    // A socket that may not be opened is in use. A path that is too long for one is EINVAL in Node 24; Node 20 cuts it.
    socket.on("error", (error: NodeJS.ErrnoException) =>
      resolve(!["ENOENT", "ECONNREFUSED", "EINVAL"].includes(error.code ?? "")),
    );
  });
}

export interface DaemonCall {
  readonly method: "GET" | "POST" | "DELETE";
  /** Names in it are percent-encoded. */
  readonly path: string;
  readonly body: unknown;
  readonly progress: (value: unknown) => void;
  /** Gets the parts of a long text, one after the other. */
  readonly chunk?: (text: string) => Promise<void>;
}

/** One line of a response; exactly one of them is present. */
interface ControlLine {
  readonly chunk?: string;
  readonly progress?: unknown;
  readonly result?: unknown;
  readonly error?: SerializedError;
}

function send(dataDirectory: string, call: DaemonCall): Promise<IncomingMessage> {
  const socketPath = controlSocketPath(dataDirectory);
  return new Promise((resolve, reject) => {
    // A cached connection may have been closed by a daemon that exited, or that waited too long for the next call.
    const sent = request({ socketPath, method: call.method, path: call.path, agent: false }, resolve);
    sent.on("error", (cause) => reject(unreachableDaemon(dataDirectory, cause)));
    sent.end(call.body === undefined ? undefined : JSON.stringify(call.body));
  });
}

function unreachableDaemon(dataDirectory: string, cause: NodeJS.ErrnoException): TrawlError {
  if (cause.code === "EACCES") {
    return new TrawlError("conflict", `only the user who runs trawld may open ${controlSocketPath(dataDirectory)}`, {
      cause,
    });
  }
  return new TrawlError(
    "not-found",
    `no trawld is running with the data in ${dataDirectory} (${cause.code ?? cause.message}); ` +
      "start one with `trawl serve`, or specify its directory with --data or TRAWL_DATA",
    { cause },
  );
}

/**
 * The result of `call`. If it fails because nothing has this name, the error names what was probably meant, of those that
 * `list` returns.
 */
export async function suggestName<T>(name: string, list: () => Promise<unknown>, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "not-found" || !error.message.includes(JSON.stringify(name)))
      throw error;
    const existing = (await list().catch(() => [])) as readonly { readonly name: string }[];
    const nearest = nearestWord(
      name,
      existing.map((one) => one.name),
    );
    if (nearest === undefined || nearest === name) throw error;
    throw new TrawlError("not-found", `${error.message}. Did you mean ${nearest}?`, { cause: error });
  }
}
