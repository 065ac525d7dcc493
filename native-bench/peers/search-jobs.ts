import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { StreamMatch } from "../../src/model/stream-events.js";

/** How often a job is looked at: a look takes less than a millisecond of the daemon. */
const pollMs = 5;

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
      await sleep(pollMs);
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
