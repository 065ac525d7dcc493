import { Agent, type IncomingMessage, request } from "node:http";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { SseDecoder } from "../../src/cli/sse-decoder.js";
import type { MatchChange } from "../../src/model/match-change.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";

/** Time between two looks whether something is found yet: a look takes a millisecond of the daemon. */
const pollMs = 4;

/** What is not found by then never is. */
const findMsMax = 60_000;

/** What changed, and how long the whole answer took. */
export interface ChangesAnswer {
  readonly ms: number;
  readonly changes: readonly MatchChange[];
  /** The base of the next answer. */
  readonly receiptUrl: string;
}

/** A client of our daemon that asks one question at a time, on a connection that stays open. */
export class SearchClient {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = url;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The URL of a receipt for the current state of all repositories. */
  async receiptUrl(): Promise<string> {
    let receiptUrl = "";
    await this.#read({ q: "count:1 a", receipt: "1" }, (event, data) => {
      if (event === "progress") receiptUrl = (data as Progress).receipt?.url ?? "";
    });
    return receiptUrl;
  }

  /** What changed in the results of a query since a receipt. */
  async changes(query: string, receiptUrl: string): Promise<ChangesAnswer> {
    const startedMs = monotonicMs();
    const changes: MatchChange[] = [];
    let next = "";
    await this.#read({ q: query, since: receiptUrl }, (event, data) => {
      if (event === "changes") changes.push(...(data as MatchChange[]));
      if (event === "progress") next = (data as Progress).receipt?.url ?? "";
    });
    return { ms: monotonicMs() - startedMs, changes, receiptUrl: next };
  }

  /** Calls `add` with each match object of a search. */
  async matches(params: Readonly<Record<string, string>>, add: (match: StreamMatch) => void): Promise<void> {
    await this.#read(params, (event, data) => {
      if (event === "matches") for (const match of data as StreamMatch[]) add(match);
    });
  }

  /** Resolves when a search finds the word. */
  async untilFound(word: string): Promise<void> {
    const endMs = monotonicMs() + findMsMax;
    while (!(await this.finds(word, {}))) {
      if (monotonicMs() > endMs) throw new TrawlError("internal", `${word} is not found`);
      await sleep(pollMs);
    }
  }

  async finds(word: string, more: Readonly<Record<string, string>>): Promise<boolean> {
    let isFound = false;
    await this.matches({ q: `${word} type:file`, ...more }, () => {
      isFound = true;
    });
    return isFound;
  }

  async #read(params: Readonly<Record<string, string>>, take: (event: string, data: unknown) => void): Promise<void> {
    const url = `${this.#url}/.api/search/stream?${new URLSearchParams({ v: "V3", ...params }).toString()}`;
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      request(url, { agent: this.#agent }, resolve).on("error", reject).end(),
    );
    const decoder = new SseDecoder();
    let isDone = response.statusCode !== 200;
    for await (const bytes of response as AsyncIterable<Buffer>) {
      if (response.statusCode !== 200) throw new TrawlError("internal", `${url}: ${bytes.toString()}`);
      for (const { name, data } of decoder.push(bytes)) {
        if (name === "error" || name === "alert") throw new TrawlError("internal", `${params["q"]}: ${data}`);
        take(name, JSON.parse(data));
        isDone = name === "done";
      }
    }
    if (!isDone) throw new TrawlError("cancelled", `${params["q"]}: the answer ended early`);
  }
}
