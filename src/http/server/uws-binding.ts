import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type {
  HttpRequest as NativeRequest,
  HttpResponse as NativeResponse,
  us_listen_socket as ListenSocket,
} from "uWebSockets.js";
import { errorMessage, TrawlError } from "../../base/errors.js";

export type { NativeRequest, NativeResponse, ListenSocket };

/** The part of the binding that is used here; its own declarations lack `close` and the four-argument `listen`. */
export interface NativeModule {
  App(): NativeApp;
  closeSocket(socket: ListenSocket): void;
  getSocketPort(socket: ListenSocket): number;
  eachHeader(request: NativeRequest, callback: (name: string, value: string) => void): void;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

export interface NativeApp {
  any(pattern: string, handler: (res: NativeResponse, req: NativeRequest) => void): void;
  listen(host: string, port: number, options: number, callback: (socket: ListenSocket | false) => void): void;
  close(): void;
}

/** The names that differ in the package for newer Node releases, which are those of uWebSockets.js itself. */
interface NewerModule extends Pick<NativeModule, "App" | "LIBUS_LISTEN_EXCLUSIVE_PORT"> {
  us_listen_socket_close(socket: ListenSocket): void;
  us_socket_local_port(socket: ListenSocket): number;
}

interface NewerRequest {
  forEach(callback: (name: string, value: string) => void): void;
}

/** The last ABI (Node 20) for which the package in the lockfile has a binary; it runs with glibc 2.27. */
const lastOlderAbi = 115;

/** For newer releases there is a package that needs glibc 2.38; make installs it if required. */
const newerPackage = fileURLToPath(new URL("../../../../uws/node_modules/uWebSockets.js", import.meta.url));

/**
 * The newer package rejects longer request lines with headers; its limit is 4 KiB unless this variable is set. The
 * older one accepts this much.
 */
const headBytesMax = 128 * 1024;
const headBytesVariable = "UWS_HTTP_MAX_HEADERS_SIZE";

/** Loads uWebSockets.js for the running Node release. Throws `bad-config` if there is none. */
export function loadBinding(abi = Number(process.versions.modules)): NativeModule {
  const require = createRequire(import.meta.url);
  try {
    if (abi <= lastOlderAbi) return olderBinding(require("uWebSockets.js") as Omit<NativeModule, "eachHeader">);
    // It reads the variable while it is being loaded.
    process.env[headBytesVariable] = String(headBytesMax);
    return newerBinding(require(newerPackage) as NewerModule);
  } catch (error) {
    const remedy =
      abi <= lastOlderAbi
        ? "run `make build`"
        : "run `make build` with this Node release, which needs glibc 2.38 (Debian 13); use Node 20 on older systems";
    throw new TrawlError(
      "bad-config",
      `uWebSockets.js cannot be loaded in Node ${process.versions.node}: ${remedy} (${errorMessage(error).replaceAll(/\s+/g, " ")})`,
      { cause: error },
    );
  }
}

function olderBinding(module: Omit<NativeModule, "eachHeader">): NativeModule {
  return {
    App: () => module.App(),
    closeSocket: (socket) => module.closeSocket(socket),
    getSocketPort: (socket) => module.getSocketPort(socket),
    eachHeader: (request, callback) => request.forEachHeader(callback),
    LIBUS_LISTEN_EXCLUSIVE_PORT: module.LIBUS_LISTEN_EXCLUSIVE_PORT,
  };
}

function newerBinding(module: NewerModule): NativeModule {
  return {
    App: () => module.App(),
    closeSocket: (socket) => module.us_listen_socket_close(socket),
    getSocketPort: (socket) => module.us_socket_local_port(socket),
    eachHeader: (request, callback) => (request as unknown as NewerRequest).forEach(callback),
    LIBUS_LISTEN_EXCLUSIVE_PORT: module.LIBUS_LISTEN_EXCLUSIVE_PORT,
  };
}
