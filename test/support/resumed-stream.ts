/** A client of a resumable stream whose connection breaks. */
import { type IncomingMessage, request as httpRequest } from "node:http";
import { SseDecoder, type StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import type { Receipt, Progress, StreamMatch } from "../../src/model/stream-events.js";
import type { DaemonProcess } from "./daemon.js";
import { within } from "./waiting.js";

export class StreamClient {
  readonly #parameters: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #body: string | undefined;
  readonly #events: StreamEvent[] = [];
  lastId = "";

  constructor(
    query: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
    patterns?: readonly string[],
  ) {
    this.#body = patterns && JSON.stringify({ patterns });
    this.#parameters = new URLSearchParams({ t: "literal", v: "V3", cm: "true", resume: "1", ...query }).toString();
    this.#headers = headers;
  }

  get isDone(): boolean {
    return this.#events.some(({ name }) => name === "done");
  }

  /** The messages of `error` events. */
  get errors(): readonly string[] {
    return this.#events
      .filter(({ name }) => name === "error")
      .map(({ data }) => (JSON.parse(data) as { message: string }).message);
  }

  get matches(): readonly StreamMatch[] {
    return this.#events
      .filter(({ name }) => name === "matches")
      .flatMap(({ data }) => JSON.parse(data) as StreamMatch[]);
  }

  /** Why the stream could not be continued after a crash, as it says before its first result; "" if it could. */
  get restriction(): string {
    const first = this.#events.find(({ name }) => name === "resume");
    return first === undefined ? "" : (JSON.parse(first.data) as { message: string }).message;
  }

  get receipt(): Receipt | undefined {
    return this.progress?.receipt;
  }

  get progress(): Progress | undefined {
    const last = this.#events.findLast(({ name }) => name === "progress");
    return last && (JSON.parse(last.data) as Progress);
  }

  async open(daemon: DaemonProcess): Promise<IncomingMessage> {
    const type = this.#body === undefined ? {} : { "Content-Type": "application/json" };
    const headers = { ...this.#headers, ...type, ...(this.lastId === "" ? {} : { "Last-Event-ID": this.lastId }) };
    return await within(
      new Promise((resolve, reject) => {
        const url = `${daemon.url}/.api/search/stream?${this.#parameters}`;
        const method = this.#body === undefined ? "GET" : "POST";
        const request = httpRequest(url, { agent: false, method, headers }, resolve);
        request.on("error", reject);
        request.end(this.#body);
      }),
      "the stream",
    );
  }

  /**
   * Goes on after the last event, and reads until the stream ends or `isEnough` holds after an event; then the
   * connection breaks. Resolves with the status.
   */
  async read(daemon: DaemonProcess, isEnough: (eventCount: number) => boolean = () => false): Promise<number> {
    const response = await this.open(daemon);
    const status = response.statusCode ?? 0;
    response.on("error", () => undefined);
    if (status !== 200) {
      response.destroy();
      return status;
    }
    const decoder = new SseDecoder();
    let count = 0;
    response.on("data", (bytes: Buffer) => {
      for (const event of decoder.push(bytes)) {
        if (response.destroyed) return;
        this.#events.push(event);
        if (event.id !== undefined) this.lastId = event.id;
        if (isEnough(++count)) response.destroy();
      }
    });
    await within(new Promise((resolve) => response.on("close", resolve)), "the end of the stream");
    return status;
  }
}

/** What identifies a result, and its matches: equal for equal results. */
export function describeMatch(match: StreamMatch): string {
  const { type, repository, branches, path, commit, oid, content, chunkMatches, symbols } = match;
  return JSON.stringify([type, repository, branches, path, commit, oid, content, chunkMatches, symbols]);
}
