import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type {
  HttpRequest as NativeRequest,
  HttpResponse as NativeResponse,
  us_listen_socket as ListenSocket,
} from "uWebSockets.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { filterRequests } from "../../native/http/request-filter.js";

export type { NativeRequest, NativeResponse, ListenSocket };

/** The part of the binding that is used here; its own declarations lack `close` and the four-argument `listen`. */
export interface NativeModule {
  App(): NativeApp;
  us_listen_socket_close(socket: ListenSocket): void;
  us_socket_local_port(socket: ListenSocket): number;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

export interface NativeApp {
  any(pattern: string, handler: (res: NativeResponse, req: NativeRequest) => void): void;
  listen(host: string, port: number, options: number, callback: (socket: ListenSocket | false) => void): void;
  close(): void;
}

/** Longer request lines with headers are rejected; the limit is 4 KiB unless this variable is set. See request-filter.h. */
const headBytesMax = 128 * 1024;
const headBytesVariable = "UWS_HTTP_MAX_HEADERS_SIZE";

const require = createRequire(import.meta.url);

/** Major releases of Node by their ABI, for those that a binary may be there for. */
const releases: Readonly<Record<string, number>> = { 115: 20, 127: 22, 137: 24 };

function binaryFolder(): string {
  return dirname(require.resolve("uWebSockets.js"));
}

function binaryPath(abi: string): string {
  return require.resolve(join(binaryFolder(), `uws_${process.platform}_${process.arch}_${abi}.node`));
}

/** The platforms that have a binary here: a checkout has those of all, and a package that of its own. */
function platforms(): string {
  const found = new Map<string, number[]>();
  for (const name of readdirSync(binaryFolder())) {
    const [, system, abi] = /^uws_(linux_[a-z0-9]+)_(\d+)\.node$/.exec(name) ?? [];
    const release = releases[abi ?? ""];
    if (system !== undefined && release !== undefined) found.set(system, [...(found.get(system) ?? []), release]);
  }
  return [...found].map(([system, majors]) => `${system.replace("_", " ")} with Node ${majors.join(", ")}`).join("; ");
}

/**
 * Makes the binding, which must be loaded and not be listening yet, read requests in all forms. Returns the secret that
 * marks those in HTTP/1.0; undefined if they are refused, as the library does by itself.
 */
export function readAllForms(): string | undefined {
  return filterRequests(binaryPath(process.versions.modules));
}

/** Loads uWebSockets.js for a release of Node, the running one by default. Throws `bad-config` if it cannot be loaded. */
export function loadBinding(abi = process.versions.modules): NativeModule {
  // It is read while the binary is being loaded.
  process.env[headBytesVariable] = String(headBytesMax);
  try {
    return require(binaryPath(abi)) as NativeModule;
  } catch (error) {
    throw new TrawlError(
      "bad-config",
      `uWebSockets.js has no binary that loads in Node ${process.versions.node} on ${process.platform} ${process.arch} ` +
        `(${errorMessage(error).replaceAll(/\s+/g, " ")}). It has some for glibc 2.36 or later (Debian 12), here for ${platforms()}: ` +
        "use one of these, and run `make build` with it in a checkout",
      { cause: error },
    );
  }
}
