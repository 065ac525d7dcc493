import { type Connection, reasonIn, wait } from "./connection.js";
import { TrawlError } from "./errors.js";
import type { Match, SearchJob, SearchJobList } from "./types.js";

/** A search job, its name (`users/1/searchJobs/7`) or its number. */
export type JobReference = SearchJob | string | number;

export type JobFile = "jsonl" | "csv" | "parquet" | "log";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

const ended: ReadonlySet<string> = new Set(["STATE_COMPLETED", "STATE_FAILED", "STATE_CANCELED"]);

const pollMsMin = 250;
const pollMsMax = 5_000;

/** The daemon writes no result as long as that. */
const lineLengthMax = 256 * 1024 * 1024;

/** Broken connections in a download, between which nothing arrives. */
const breaksMax = 5;

/** Exhaustive searches in the background, whose results are in files. They need an access token. */
export class SearchJobs {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  create(query: string, options: CallOptions = {}): Promise<SearchJob> {
    return this.#call("CreateSearchJob", { parent: "users/-", searchJob: { query } }, options);
  }

  get(job: JobReference, options: CallOptions = {}): Promise<SearchJob> {
    return this.#call("GetSearchJob", { name: jobName(job) }, options);
  }

  cancel(job: JobReference, options: CallOptions = {}): Promise<SearchJob> {
    return this.#call("CancelSearchJob", { name: jobName(job) }, options);
  }

  async delete(job: JobReference, options: CallOptions = {}): Promise<void> {
    await this.#call("DeleteSearchJob", { name: jobName(job) }, options);
  }

  /** Those of the user, newest first; a page is asked for when it is needed. */
  async *list(options: CallOptions & { readonly pageSize?: number } = {}): AsyncGenerator<SearchJob, void, undefined> {
    const { pageSize = 0 } = options;
    for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
      const page: SearchJobList = await this.#call(
        "ListSearchJobs",
        { parent: "users/-", pageSize, pageToken },
        options,
      );
      yield* page.searchJobs;
      pageToken = page.nextPageToken;
    }
  }

  /** The job when it has ended, in whatever state. */
  async wait(job: JobReference, options: CallOptions = {}): Promise<SearchJob> {
    for (let pollMs = pollMsMin; ; pollMs = Math.min(pollMsMax, pollMs * 1.5)) {
      const current = await this.get(job, options);
      if (ended.has(current.state)) return current;
      await wait(pollMs, options.signal);
    }
  }

  /**
   * The results that are there, in no particular order. After a broken connection, goes on where it broke. A job that has
   * not ended has more later.
   */
  async *results(job: JobReference, options: CallOptions = {}): AsyncGenerator<Match, void, undefined> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of this.#download(job, options)) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > lineLengthMax) throw new TrawlError("connection", "a line of the results is too long");
      for (const line of lines) if (line !== "") yield JSON.parse(line) as Match;
    }
  }

  /** The response with a file of the job. The reader has to read or cancel its body. */
  file(job: JobReference, file: JobFile, options: CallOptions = {}): Promise<Response> {
    return this.#connection.send({ path: jobPath(job, file), headers: { Accept: accepted }, signal: options.signal });
  }

  /** The bytes of the results, each once. */
  async *#download(job: JobReference, { signal }: CallOptions): AsyncGenerator<Uint8Array, void, undefined> {
    let etag = "";
    for (let [at, breaks] = [0, 0]; ; ) {
      // A compressed file has no ranges.
      const range: Readonly<Record<string, string>> =
        at === 0 ? { "Accept-Encoding": "identity" } : { Range: `bytes=${at}-`, "If-Range": etag };
      const response = await this.#connection
        .send({ path: jobPath(job, "jsonl"), headers: { Accept: accepted, ...range }, signal })
        .catch((error: unknown) => {
          // The connection broke at the end.
          if (error instanceof TrawlError && error.status === 416 && at > 0) return undefined;
          throw error;
        });
      if (response === undefined) return;
      const given = response.headers.get("etag") ?? "";
      const isRest = at === 0 || (response.status === 206 && given === etag);
      if (!isRest) throw new TrawlError("gone", "the search job was started again while its results were read");
      etag = given;
      const reader = response.body?.getReader();
      if (reader === undefined) return;
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return;
          [at, breaks] = [at + value.length, 0];
          yield value;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (++breaks > breaksMax)
          throw new TrawlError("connection", `the connection broke: ${reasonIn(error)}`, { cause: error });
        await wait(pollMsMin * 2 ** breaks, signal);
      } finally {
        await reader.cancel().catch(() => undefined);
      }
    }
  }

  async #call<T>(method: string, message: object, { signal }: CallOptions): Promise<T> {
    const response = await this.#connection.send({
      method: "POST",
      path: `/api/searchjobs.v1.Service/${method}`,
      headers: { Accept: "application/json, application/problem+json" },
      body: JSON.stringify(message),
      signal,
    });
    return (await response.json()) as T;
  }
}

const accepted = "*/*, application/problem+json";

function jobName(job: JobReference): string {
  if (typeof job === "object") return job.name;
  return typeof job === "number" || /^[0-9]+$/.test(job) ? `users/-/searchJobs/${job}` : job;
}

function jobPath(job: JobReference, file: JobFile): string {
  const name = jobName(job);
  return `/.api/search/export/${encodeURIComponent(name.slice(name.lastIndexOf("/") + 1))}.${file}`;
}
