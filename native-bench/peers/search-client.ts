import { Agent } from "node:http";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { readStream } from "./tools.js";
import type { MatchChange } from "../../src/model/match-change.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";

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
    await readStream({ url, body: undefined, agent: this.#agent }, params["q"] ?? "", (event, data) =>
      take(event, JSON.parse(data)),
    );
  }
}

/** How often a job is looked at: a look takes less than a millisecond of the daemon. */
const jobPollMs = 5;

/** A job that is slower than this is not waited for. */
const jobMsMax = 600_000;

interface Job {
  readonly name: string;
  readonly state: string;
  readonly resultsUrl?: string;
}

/** The search jobs of a user of our daemon. */
export class SearchJobClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#headers = { "Content-Type": "application/json", Authorization: `token ${token}` };
  }

  /** Milliseconds from the request for a job until its results are on disk. The job is deleted. */
  async measure(query: string): Promise<number> {
    const { ms, name } = await this.#complete(query);
    await this.#call("DeleteSearchJob", { name });
    return ms;
  }

  /** Calls `add` for each match object of a job. */
  async read(query: string, add: (match: StreamMatch) => void): Promise<void> {
    const { name, resultsUrl = "" } = await this.#complete(query);
    const { body } = await fetch(resultsUrl, { headers: this.#headers });
    if (body === null) throw new TrawlError("internal", `${resultsUrl} has no body`);
    for await (const line of createInterface({ input: Readable.fromWeb(body) })) add(JSON.parse(line) as StreamMatch);
    await this.#call("DeleteSearchJob", { name });
  }

  async #complete(query: string): Promise<Job & { readonly ms: number }> {
    const startedMs = monotonicMs();
    let job = await this.#call("CreateSearchJob", { parent: "users/-", searchJob: { query } });
    while (job.state !== "STATE_COMPLETED") {
      if (job.state === "STATE_FAILED" || monotonicMs() - startedMs > jobMsMax)
        throw new TrawlError("internal", `the job ${query} is ${job.state}`);
      await sleep(jobPollMs);
      job = await this.#call("GetSearchJob", { name: job.name });
    }
    return { ...job, ms: monotonicMs() - startedMs };
  }

  async #call(method: string, message: object): Promise<Job> {
    const response = await fetch(`${this.#url}/api/searchjobs.v1.Service/${method}`, {
      method: "POST",
      headers: this.#headers,
      body: JSON.stringify(message),
    });
    if (response.ok) return (await response.json()) as Job;
    throw new TrawlError("internal", `${method}: ${response.status} ${await response.text()}`);
  }
}
