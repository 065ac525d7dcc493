import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { replaceListener } from "../../native/socket/socket.js";
import type { ListenSocket, NativeApp, NativeModule } from "./uws-binding.js";

/** The port on which the server listens. */
export class Listener {
  readonly #native: NativeModule;
  readonly #app: NativeApp;
  readonly #log: Log;
  #socket: ListenSocket | undefined;

  constructor(native: NativeModule, app: NativeApp, log: Log) {
    this.#native = native;
    this.#app = app;
    this.#log = log;
  }

  /** Opens the port, or uses the socket `given`, and returns its number. See `HttpServer.listen`. */
  open(host: string, port: number, given: number | undefined): number {
    return (given === undefined ? undefined : this.#take(host, given)) ?? this.#open(host, port);
  }

  #take(host: string, given: number): number | undefined {
    const taken = replaceListener(this.#open(host, 0), given);
    if (taken !== undefined) return taken;
    this.#log.error("the socket passed by the service manager is not listening; opening the port again");
    this.close();
    return undefined;
  }

  #open(host: string, port: number): number {
    let bound: number | undefined;
    this.#app.listen(host, port, this.#native.LIBUS_LISTEN_EXCLUSIVE_PORT, (listenSocket) => {
      if (!listenSocket) return;
      this.#socket = listenSocket;
      bound = this.#native.us_socket_local_port(listenSocket);
    });
    if (bound === undefined) {
      throw new TrawlError(
        "conflict",
        `cannot listen on ${host}:${port}: the address is in use or does not belong to this host`,
      );
    }
    return bound;
  }

  close(): void {
    if (this.#socket) this.#native.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }
}
