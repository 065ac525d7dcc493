import type { ChildProcess } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { Agent } from "node:http";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { SymbolSet } from "./ctags.js";
import { type Answer, type Peer, type RankedFile, ResultSet } from "./peer.js";
import { streamParams } from "./queries.js";
import { curlMs, openAnswer, readStream } from "./tools.js";
import { ended, startServer } from "../system/processes.js";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import { escapeRegexp } from "../../src/base/text.js";
import { callDaemon } from "../../src/cli/connection/control-client.js";
import type { MatchChange } from "../../src/model/match-change.js";
import type { RepositoryStatus } from "../../src/model/repository-status.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";

const symbolsTimeoutMs = 1_800_000;
const readyTimeoutMs = 3_600_000;
const jobTimeoutMs = 600_000;

/** How often a search or a job is looked at: a look takes a millisecond of the daemon at most. */
const pollMs = 4;

/** A daemon ends within seconds; on a machine that is very busy that takes longer. */
const stopMsMax = 60_000;

/** What is not found by then never is. */
const findMsMax = 60_000;

const command = fileURLToPath(new URL("../../../bin/trawl", import.meta.url));

/** What changed in the results of a query, and how long the whole answer took. */
export interface ChangesAnswer {
  readonly ms: number;
  readonly changes: readonly MatchChange[];
}

interface Job {
  readonly name: string;
  readonly state: string;
  readonly resultsUrl?: string;
}

type Params = URLSearchParams | Readonly<Record<string, string>>;

/** A `trawl serve` of this checkout, on a free port, and its one client, whose connection stays open. */
export class Trawl {
  readonly pid: number;
  readonly url: string;
  readonly dataFolder: string;
  /** Milliseconds from the start of the process until it accepted requests. */
  readonly startMs: number;
  readonly #process: ChildProcess;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  private constructor(process: ChildProcess, dataFolder: string, url: string, startMs: number) {
    this.pid = process.pid ?? 0;
    this.url = url;
    this.startMs = startMs;
    this.#process = process;
    this.dataFolder = dataFolder;
  }

  /** The daemon's log goes to a file beside its data. */
  static async start(dataFolder: string, more: readonly string[]): Promise<Trawl> {
    const logFile = `${dataFolder}.log`;
    const args = ["serve", "--data", dataFolder, "--listen", "127.0.0.1:0", ...more];
    const startedMs = monotonicMs();
    const options = { pattern: /^trawld: listening on (\S+)$/, log: openSync(logFile, "a") };
    const { child, url } = await startServer(command, args, options).catch((cause: unknown) => {
      const log = readFileSync(logFile, "utf8").slice(-2000);
      throw new TrawlError("internal", `${errorMessage(cause)}:\n${log}`, { cause });
    });
    return new Trawl(child, dataFolder, url, monotonicMs() - startedMs);
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    const code = ended(this.#process, stopMsMax);
    this.#process.kill("SIGTERM");
    if ((await code) !== 0) throw new TrawlError("internal", `the daemon ended with ${await code}`);
  }

  async add(name: string, url: string, progress: (text: string) => void): Promise<RepositoryStatus> {
    return (await this.#control("/.api/repos", { name, url }, progress)) as RepositoryStatus;
  }

  /** The text of an access token of `admin`. */
  async createToken(): Promise<string> {
    const wanted = { user: "admin", scopes: ["user:all"], expires: "1d", note: "bench" };
    return ((await this.#control("/.api/tokens", wanted)) as { text: string }).text;
  }

  async sync(name: string): Promise<void> {
    await this.#control(`/.api/repos/${encodeURIComponent(name)}/sync`, undefined);
  }

  /** Milliseconds until curl has read the whole answer to a search. */
  curlMs(params: Params): Promise<number> {
    return curlMs({ url: this.#searchUrl(params), body: undefined });
  }

  /** Every line of an exhaustive search, and the size of the answer. Throws when the answer is not whole. */
  results(params: Params): Promise<Answer> {
    return this.#readResults(params, ({ path }) => path);
  }

  /**
   * The same at revisions: a path is `REVISION:PATH`, as `git grep` prints it. Lines at other revisions than these are
   * dropped.
   */
  resultsAt(params: Params, revisions: ReadonlySet<string>): Promise<Answer> {
    return this.#readResults(params, ({ path, branches: [revision = ""] = [] }) =>
      revisions.has(revision) ? `${revision}:${path}` : undefined,
    );
  }

  /** Calls `add` with each match of a whole answer, and returns its size. */
  matches(params: Params, add: (match: StreamMatch) => void, isWhole = true): Promise<number> {
    return this.#readEvents(params, (event, data) => {
      if (event === "matches") for (const match of data as readonly StreamMatch[]) add(match);
      if (event === "progress" && isWhole) requireWhole(data as Progress);
    });
  }

  /** The commits and diffs that a search finds, by oid. Throws when the answer is not whole. */
  async oids(params: Params): Promise<ReadonlySet<string>> {
    const oids = new Set<string>();
    await this.matches(params, ({ oid = "" }) => oids.add(oid));
    return oids;
  }

  /** The files of an interactive search in one repository, in their order, each with the lines that match. */
  async rankedFiles(repository: string, query: string): Promise<readonly RankedFile[]> {
    const files: RankedFile[] = [];
    const add = ({ path, lineMatches = [] }: StreamMatch): void => {
      if (path !== undefined) files.push({ path, lines: new Set(lineMatches.map(({ lineNumber }) => lineNumber + 1)) });
    };
    await this.matches({ q: `repo:^${repository}$ ${query}`, t: "keyword" }, add, false);
    return files;
  }

  /** The language of each file of a repository. */
  async languages(repository: string): Promise<ReadonlyMap<string, string>> {
    const languages = new Map<string, string>();
    const params = symbolSearch(repository, "type:path file:. count:all");
    await this.matches(params, ({ path = "", language = "" }) => languages.set(path, language));
    return languages;
  }

  /** Every symbol of a repository, by the interface. */
  async symbols(repository: string): Promise<SymbolSet> {
    const all = new SymbolSet();
    await this.matches(symbolSearch(repository, "type:symbol count:all"), ({ path = "", symbols = [] }) => {
      for (const { line, kind, name } of symbols) all.add(path, line, kind, name);
    });
    return all;
  }

  /** The value of a metric without labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const line = text.split("\n").find((each) => each.startsWith(`${name} `));
    return Number(line?.slice(name.length));
  }

  /** Waits until the symbols of everything that is indexed were extracted. */
  async waitForSymbols(): Promise<void> {
    const startedMs = monotonicMs();
    while (monotonicMs() - startedMs < symbolsTimeoutMs) {
      if ((await this.metric("trawl_index_shards_without_symbols")) === 0) return;
      await sleep(200);
    }
    throw new TrawlError("internal", "symbols were not extracted within half an hour");
  }

  /** Waits until all of so many repositories are indexed or have failed; returns how many have. */
  async waitForRepositories(count: number, progress: (text: string) => void): Promise<number> {
    const startedMs = monotonicMs();
    for (;;) {
      const { ready, repositories } = (await (await fetch(`${this.url}/readyz`)).json()) as {
        readonly ready: boolean;
        readonly repositories: readonly { readonly state: string }[];
      };
      const inState = (state: string): number => repositories.filter((repository) => repository.state === state).length;
      progress(`${count - inState("pending")} of ${count} repositories are indexed`);
      if (ready) return inState("failed");
      const elapsedMs = monotonicMs() - startedMs;
      if (elapsedMs > readyTimeoutMs)
        throw new TrawlError("cancelled", "the repositories were not indexed within an hour");
      // The answer names every repository, so frequent polling would slow down what is measured.
      await sleep(elapsedMs < 30_000 ? 1_000 : 5_000);
    }
  }

  /** Milliseconds from the request to the first bytes of the first `matches` event; undefined when none came. */
  async firstMatchMs(params: Params): Promise<number | undefined> {
    const startedMs = monotonicMs();
    let foundMs: number | undefined;
    let tail = "";
    const search = { url: this.#searchUrl(params), body: undefined, agent: this.#agent };
    for await (const bytes of await openAnswer(search)) {
      if (foundMs !== undefined) continue;
      const text = tail + bytes.toString("latin1");
      if (text.includes("event: matches")) foundMs = monotonicMs() - startedMs;
      tail = text.slice(-20);
    }
    return foundMs;
  }

  /** Resolves when a search finds the word. */
  async untilFound(word: string): Promise<void> {
    const endMs = monotonicMs() + findMsMax;
    while ((await this.firstMatchMs({ q: `${word} type:file` })) === undefined) {
      if (monotonicMs() > endMs) throw new TrawlError("internal", `${word} is not found`);
      await sleep(pollMs);
    }
  }

  /** The URL of a receipt for the current state of all repositories. */
  async receiptUrl(): Promise<string> {
    let receiptUrl = "";
    await this.#readEvents({ q: "count:1 a", receipt: "1" }, (event, data) => {
      if (event === "progress") receiptUrl = (data as Progress).receipt?.url ?? "";
    });
    return receiptUrl;
  }

  /** What changed in the results of a query since a receipt. */
  async changes(query: string, receiptUrl: string): Promise<ChangesAnswer> {
    const startedMs = monotonicMs();
    const changes: MatchChange[] = [];
    await this.#readEvents({ q: query, since: receiptUrl }, (event, data) => {
      if (event === "changes") changes.push(...(data as MatchChange[]));
    });
    return { ms: monotonicMs() - startedMs, changes };
  }

  /** Milliseconds from the request for a search job until its results are on disk. `read` gets each match of it. */
  async job(token: string, query: string, read?: (match: StreamMatch) => void): Promise<number> {
    const headers = { "Content-Type": "application/json", Authorization: `token ${token}` };
    const call = async (method: string, message: object): Promise<Job> => {
      const url = `${this.url}/api/searchjobs.v1.Service/${method}`;
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
      if (response.ok) return (await response.json()) as Job;
      throw new TrawlError("internal", `${method}: ${response.status} ${await response.text()}`);
    };
    const startedMs = monotonicMs();
    let job = await call("CreateSearchJob", { parent: "users/-", searchJob: { query } });
    while (job.state !== "STATE_COMPLETED") {
      if (job.state === "STATE_FAILED" || monotonicMs() - startedMs > jobTimeoutMs)
        throw new TrawlError("internal", `the job ${query} is ${job.state}`);
      await sleep(pollMs);
      job = await call("GetSearchJob", { name: job.name });
    }
    const ms = monotonicMs() - startedMs;
    if (read !== undefined) {
      const { body } = await fetch(job.resultsUrl ?? "", { headers });
      if (body === null) throw new TrawlError("internal", `${job.resultsUrl} has no body`);
      for await (const line of createInterface({ input: Readable.fromWeb(body) }))
        read(JSON.parse(line) as StreamMatch);
    }
    await call("DeleteSearchJob", { name: job.name });
    return ms;
  }

  async #readResults(params: Params, toPath: (match: StreamMatch) => string | undefined): Promise<Answer> {
    const lines = new ResultSet();
    const bytes = await this.matches(params, (match) => {
      const path = toPath(match);
      if (path !== undefined) for (const { lineNumber } of match.lineMatches ?? []) lines.add(path, lineNumber + 1);
    });
    return { lines, bytes };
  }

  #readEvents(params: Params, take: (event: string, data: unknown) => void): Promise<number> {
    const url = this.#searchUrl(params);
    return readStream({ url, body: undefined, agent: this.#agent }, url, (event, data) =>
      take(event, JSON.parse(data)),
    );
  }

  async #control(path: string, body: unknown, progress: (text: string) => void = () => {}): Promise<unknown> {
    const call = { method: "POST", path, body, progress: (value: unknown) => progress(String(value)) } as const;
    return await callDaemon(this.dataFolder, call);
  }

  #searchUrl(params: Params): string {
    return `${this.url}/.api/search/stream?${new URLSearchParams(params).toString()}`;
  }
}

function symbolSearch(repository: string, query: string): Params {
  return { q: `repo:^${escapeRegexp(repository)}$ timeout:5m ${query}`, t: "standard" };
}

/** Our daemon as one of the peers. */
export function trawlPeer(trawl: Trawl): Peer {
  return {
    name: "trawl",
    version: "this checkout",
    time: (query) => trawl.curlMs(streamParams(query)),
    results: (query) => trawl.results(streamParams(query)),
    explain: () => undefined,
    declines: () => undefined,
  };
}

/** Excluded branches and forks are fine here; a limit, a timeout or a lost shard is a fault. */
function requireWhole({ skipped }: Progress): void {
  const fault = skipped.find(({ reason }) => /limit|timeout|missing/.test(reason));
  if (fault !== undefined) throw new TrawlError("cancelled", `the answer is not whole: ${fault.title}`);
}
