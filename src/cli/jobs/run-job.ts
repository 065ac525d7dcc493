import { StringDecoder } from "node:string_decoder";
import { sleep } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import { globalId, numericKey } from "../../browse/ids.js";
import { queryData } from "../api/run-api.js";
import type { Connection } from "../connection/connection.js";
import { send, urlAt } from "../connection/send.js";
import { type Output, visibleLines } from "../terminal/output.js";
import { hasProgress, ProgressBar } from "../terminal/progress-bar.js";

const fields =
  "id query state message createdAt startedAt finishedAt creator { username } repoStats { total completed failed inProgress }";

const pollMs = 500;

/** A job as the interface returns it. */
interface ShownJob {
  readonly id: string;
  readonly query: string;
  readonly state: "QUEUED" | "PROCESSING" | "ERRORED" | "FAILED" | "COMPLETED" | "CANCELED";
  readonly message: string | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly creator: { readonly username: string } | null;
  readonly repoStats: { readonly total: number; readonly completed: number; readonly failed: number };
}

/**
 * The actions of `trawl job`, over HTTP. They resolve with false if a job that was waited for ended without searching
 * everything, and throw `TrawlError` if the daemon refuses.
 */
export class JobCommands {
  readonly #connection: Connection;
  readonly #output: Output;
  readonly #messages: NodeJS.WritableStream;

  /** Progress and reports are written to `messages`. */
  constructor(connection: Connection, output: Output, messages: NodeJS.WritableStream) {
    this.#connection = connection;
    this.#output = output;
    this.#messages = messages;
  }

  async create(query: string, wait: boolean): Promise<boolean> {
    await this.#ask("query ($query: String!) { validateSearchJob(query: $query) { alwaysNil } }", { query });
    const { createSearchJob } = await this.#ask<{ createSearchJob: ShownJob }>(
      `mutation ($query: String!) { createSearchJob(query: $query) { ${fields} } }`,
      { query },
    );
    await this.#output.write(`${findNumber(createSearchJob)}\n`);
    return wait ? this.#waitFor(createSearchJob.id) : true;
  }

  async list(first: number, json: boolean): Promise<boolean> {
    const { searchJobs } = await this.#ask<{ searchJobs: { nodes: readonly ShownJob[] } }>(
      `query ($first: Int!) { searchJobs(first: $first, orderBy: CREATED_AT, descending: true) { nodes { ${fields} } } }`,
      { first },
    );
    for (const job of searchJobs.nodes)
      await this.#output.show(`${json ? JSON.stringify({ number: findNumber(job), ...job }) : describeJob(job)}\n`);
    return true;
  }

  async get(id: string): Promise<boolean> {
    const job = await this.#find(parseId(id));
    await this.#output.show(`${JSON.stringify({ number: findNumber(job), ...job }, null, 2)}\n`);
    return true;
  }

  wait(id: string): Promise<boolean> {
    return this.#waitFor(parseId(id));
  }

  /** Prints what is stored of the results or of the log. */
  async download(id: string, ending: "jsonl" | "csv" | "parquet" | "log"): Promise<boolean> {
    const key = numericKey(parseId(id), "SearchJob");
    const url = urlAt(this.#connection, `.api/search/export/${key}.${ending}`);
    const { isTerminal } = this.#output;
    if (isTerminal && ending === "parquet")
      throw new TrawlError("bad-request", "a Parquet file is not text: write it to a file, with >matches.parquet");
    const response = await send(this.#connection, { url, accept: "*/*" });
    const decoder = new StringDecoder();
    for await (const part of response as AsyncIterable<Buffer>) {
      if (isTerminal) await this.#output.show(decoder.write(part).replaceAll("\r\n", "\n"));
      else await this.#output.write(part);
      if (this.#output.closed) break;
    }
    return true;
  }

  async cancel(id: string): Promise<boolean> {
    await this.#ask("mutation ($id: ID!) { cancelSearchJob(id: $id) { alwaysNil } }", { id: parseId(id) });
    return this.#tell(`job ${id} is stopped`);
  }

  async retry(id: string): Promise<boolean> {
    await this.#ask("mutation ($id: ID!) { retrySearchJob(id: $id) { id } }", { id: parseId(id) });
    return this.#tell(`job ${id} searches again what has failed`);
  }

  async restart(id: string): Promise<boolean> {
    const { query } = await this.#find(parseId(id));
    return this.create(query, false);
  }

  async delete(id: string): Promise<boolean> {
    await this.#ask("mutation ($id: ID!) { deleteSearchJob(id: $id) { alwaysNil } }", { id: parseId(id) });
    return this.#tell(`job ${id} is deleted`);
  }

  #ask<T>(query: string, variables: Readonly<Record<string, unknown>>): Promise<T> {
    return queryData<T>(this.#connection, { query, variables });
  }

  async #find(id: string): Promise<ShownJob> {
    const { node } = await this.#ask<{ node: ShownJob | null }>(
      `query ($id: ID!) { node(id: $id) { ... on SearchJob { ${fields} } } }`,
      { id },
    );
    if (node === null)
      throw new TrawlError("not-found", "there is no such search job; `trawl job list` shows those that you may see");
    return node;
  }

  async #waitFor(id: string): Promise<boolean> {
    const bar = hasProgress(this.#messages) ? new ProgressBar(this.#messages) : undefined;
    let shown = "";
    try {
      for (;;) {
        const job = await this.#find(id);
        const text = describeProgress(job);
        const isLast = job.finishedAt !== null;
        if (isLast) bar?.clear();
        if (bar !== undefined && !isLast) bar.tell(text);
        else if (text !== shown) this.#tell(text);
        shown = text;
        if (isLast) return job.state === "COMPLETED";
        await sleep(pollMs);
      }
    } finally {
      bar?.clear();
    }
  }

  #tell(text: string): boolean {
    this.#messages.write(`${visibleLines(text)}\n`);
    return true;
  }
}

/** Accepts the number that commands print, and the id of the interface. */
function parseId(typed: string): string {
  if (/^[0-9]{1,15}$/.test(typed)) return globalId("SearchJob", Number(typed));
  try {
    numericKey(typed, "SearchJob");
  } catch (error) {
    throw new TrawlError("bad-request", `"${typed}" is not the number of a search job; \`trawl job list\` shows them`, {
      cause: error,
    });
  }
  return typed;
}

function findNumber({ id }: ShownJob): number {
  return numericKey(id, "SearchJob");
}

function describeJob(job: ShownJob): string {
  const { total, completed, failed } = job.repoStats;
  const failures = failed === 0 ? "" : `, ${failed} failed`;
  const creator = job.creator === null ? "" : `  ${job.creator.username}`;
  const progress = `${completed} of ${total} repositories${failures}${describeMessage(job)}`;
  return visibleLines(`${findNumber(job)}  ${job.state}  ${progress}  ${job.createdAt}${creator}  ${job.query}`);
}

function describeProgress(job: ShownJob): string {
  const { total, completed, failed } = job.repoStats;
  const failures = failed === 0 ? "" : `, ${failed} failed`;
  return `job ${findNumber(job)}: ${job.state.toLowerCase()}, ${completed} of ${total} repositories${failures}${describeMessage(job)}`;
}

function describeMessage({ message }: ShownJob): string {
  return message === null ? "" : ` (${message})`;
}
