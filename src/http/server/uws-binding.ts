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

function binaryPath(abi: string): string {
  const folder = dirname(require.resolve("uWebSockets.js"));
  return require.resolve(join(folder, `uws_${process.platform}_${process.arch}_${abi}.node`));
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
      `uWebSockets.js cannot be loaded in Node ${process.versions.node}: run \`make build\` with this release of Node; ` +
        `glibc 2.36 (Debian 12) or later is needed (${errorMessage(error).replaceAll(/\s+/g, " ")})`,
      { cause: error },
    );
  }
}
