import { Client } from "undici";

/**
 * Up to `count` connections to one server, each of which carries one request at a time. They are opened on demand, and
 * the last one used is used next, so a light load stays on a few of them. undici's own pool scans all of its connections
 * for each request, which costs more than the request when there are thousands.
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

  /** An idle connection, the caller's until `release`; undefined when all are busy. */
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

  release(client: Client): void {
    this.#idle.push(client);
  }

  /** Closes all of them; requests in flight fail. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map((client) => client.destroy()));
  }
}

const connectTimeoutMs = 10_000;
