import { hostname } from "node:os";
import type { Log } from "../../base/log.js";
import type { MetricRegistry } from "../../base/metrics.js";
import { requestCheck, TrustedHosts } from "../../http/access/request-check.js";
import { plainText } from "../../http/server/headers.js";
import { HttpServer } from "../../http/server/uws.js";
import { splitAddress } from "../config/config.js";
import type { ResolvedOptions } from "../config/options.js";

/** The server of `metrics.listen`, for nothing but the metrics. Its requests are not counted among those of clients. */
export class MetricsServer {
  readonly #server: HttpServer;
  readonly #host: string;
  readonly #port: number;
  readonly #log: Log;

  constructor({ metrics, externalUrl, trustedHosts }: ResolvedOptions, registry: MetricRegistry, log: Log) {
    const { host, port } = splitAddress(metrics.listen);
    this.#host = host;
    this.#port = port;
    this.#log = log;
    this.#server = new HttpServer(log, () => undefined);
    // A web page must not read them by a name of its own that resolves to this address.
    const hosts = new TrustedHosts({ listenHost: host, externalUrl, trustedHosts, machine: hostname() });
    this.#server.setCheck(requestCheck(hosts, log));
    this.#server.setHeaders(() => ({ "X-Content-Type-Options": "nosniff" }));
    this.#server.route("GET", "/metrics", async (_request, response) =>
      response.reply(200, { "Content-Type": registry.contentType }, await registry.text()),
    );
    this.#server.otherwise((_request, response) => response.reply(404, plainText, "only /metrics is served here\n"));
  }

  /** Throws `conflict` if the address is in use. */
  start(): void {
    const port = this.#server.listen(this.#host, this.#port, () => undefined);
    const host = this.#host.includes(":") ? `[${this.#host}]` : this.#host;
    this.#log.info({ url: `http://${host}:${port}/metrics` }, "metrics are served");
  }

  async stop(): Promise<void> {
    await this.#server.stop(0);
  }
}
