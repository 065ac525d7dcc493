import { Client } from "undici";

/**
 * Up to `count` connections to one server, each of which carries one request at a time. Opened when first needed; what
 * was used last is used next, so a light load stays on few of them. undici's own pool looks through all of its
 * connections for each request, which costs more than the request when there are thousands.
 */
export class Connections {
  readonly #origin: string;
  readonly #count: number;
  readonly #all: Client[] = [];
  readonly #idle: Client[] = [];

  constructor(origin: string, count: number) {
    this.#origin = origin;
    this.#count = count;
  }

  /** An idle connection, the caller's until given back; undefined when all are busy. */
  take(): Client | undefined {
    const idle = this.#idle.pop();
    if (idle !== undefined || this.#all.length === this.#count) return idle;
    const client = new Client(this.#origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: connectTimeoutMs },
    });
    this.#all.push(client);
    return client;
  }

  give(client: Client): void {
    this.#idle.push(client);
  }

  /** Cuts all of them; requests that are under way fail. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map((client) => client.destroy()));
  }
}

const connectTimeoutMs = 10_000;
