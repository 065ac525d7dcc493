/** A client of search jobs. */
import assert from "node:assert/strict";
import type { StreamMatch } from "../../src/model/stream-events.js";
import type { DaemonProcess } from "./daemon.js";
import { describeMatch } from "./resumed-stream.js";
import { until } from "./waiting.js";

export interface Job {
  readonly id: string;
  readonly state: string;
  readonly message: string | null;
  readonly URL: string | null;
  readonly logURL: string | null;
  readonly creator: { readonly username: string } | null;
  readonly repoStats: { readonly total: number; readonly completed: number; readonly failed: number };
}

interface Answer {
  readonly data?: { readonly createSearchJob?: Job; readonly node?: Job | null } | null;
  readonly errors?: readonly { readonly message: string }[];
}

const fields = "id state message URL logURL creator { username } repoStats { total completed failed inProgress }";

/** A user of a daemon who has search jobs. */
export class JobClient {
  readonly #daemon: () => DaemonProcess;
  readonly token: string;

  constructor(daemon: () => DaemonProcess, token: string) {
    this.#daemon = daemon;
    this.token = token;
  }

  async graphql(query: string, variables: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    const response = await fetch(`${this.#daemon().url}/.api/graphql`, {
      method: "POST",
      headers: { Authorization: `token ${this.token}` },
      body: JSON.stringify({ query, variables }),
    });
    return (await response.json()) as Answer;
  }

  async create(query: string): Promise<string> {
    const answer = await this.graphql(`mutation ($query: String!) { createSearchJob(query: $query) { ${fields} } }`, {
      query,
    });
    assert.equal(answer.errors, undefined);
    return answer.data?.createSearchJob?.id ?? "";
  }

  async job(id: string): Promise<Job | undefined> {
    const answer = await this.graphql(`query ($id: ID!) { node(id: $id) { ... on SearchJob { ${fields} } } }`, { id });
    return answer.data?.node ?? undefined;
  }

  async hasEnded(id: string): Promise<boolean> {
    return !["QUEUED", "PROCESSING", "ERRORED"].includes((await this.job(id))?.state ?? "");
  }

  async delete(id: string): Promise<void> {
    const answer = await this.graphql("mutation ($id: ID!) { deleteSearchJob(id: $id) { alwaysNil } }", { id });
    assert.equal(answer.errors, undefined);
  }

  async ended(id: string): Promise<Job> {
    await until(`job ${id} has ended`, () => this.hasEnded(id));
    const job = await this.job(id);
    assert.ok(job);
    return job;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const { pathname } = new URL(path, this.#daemon().url);
    return fetch(`${this.#daemon().url}${pathname}`, {
      headers: { Authorization: `token ${this.token}`, ...headers },
    });
  }
}

/** What identifies the results of JSON lines, sorted. */
export function readMatches(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => describeMatch(JSON.parse(line) as StreamMatch))
    .sort();
}
