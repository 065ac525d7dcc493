import type { ChildProcess } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { SymbolSet } from "./ctags.js";
import { type Answer, type Peer, type RankedFile, ResultSet } from "./peer.js";
import { streamParams } from "./queries.js";
import { curlMs, openAnswer, readStream } from "./tools.js";
import { ended, start } from "../system/processes.js";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { escapeRegexp } from "../../src/base/text.js";
import { callDaemon } from "../../src/cli/control-client.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import type { RepositoryStatus } from "../../src/model/repository-status.js";

const symbolsTimeoutMs = 1_800_000;

const command = fileURLToPath(new URL("../../../bin/trawl", import.meta.url));

/** A `trawl serve` of this checkout, on a free port. */
export class Trawl {
  readonly pid: number;
  readonly url: string;
  readonly dataFolder: string;
  /** Milliseconds from the start of the process until it accepted requests. */
  readonly startMs: number;
  readonly #process: ChildProcess;

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
    const args = [command, "serve", "--data", dataFolder, "--listen", "127.0.0.1:0", ...more];
    const startedMs = monotonicMs();
    const child = start(process.execPath, args, { stdio: ["ignore", "pipe", openSync(logFile, "a")] });
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      const url = /^trawld: listening on (\S+)$/.exec(line)?.[1];
      if (url === undefined) continue;
      child.stdout?.resume();
      return new Trawl(child, dataFolder, url, monotonicMs() - startedMs);
    }
    throw new TrawlError("internal", `the daemon did not start:\n${readFileSync(logFile, "utf8").slice(-2000)}`);
  }

  async stop(): Promise<void> {
    const code = ended(this.#process, 20_000);
    this.#process.kill("SIGTERM");
    if ((await code) !== 0) throw new TrawlError("internal", `the daemon ended with ${await code}`);
  }

  async add(name: string, url: string, progress: (text: string) => void): Promise<RepositoryStatus> {
    return (await this.#control("/.api/repos", { name, url }, progress)) as RepositoryStatus;
  }

  /** The text of an access token for a user; there is `admin`. */
  async createToken(user: string): Promise<string> {
    const { text } = (await this.#control(
      "/.api/tokens",
      { user, scopes: ["user:all"], expires: "1d", note: "bench" },
      () => {},
    )) as { text: string };
    return text;
  }

  async sync(name: string): Promise<void> {
    await this.#control(`/.api/repos/${encodeURIComponent(name)}/sync`, undefined, () => {});
  }

  /** Milliseconds until curl has read the whole answer to a search. */
  curlMs(params: URLSearchParams): Promise<number> {
    return curlMs({ url: this.#searchUrl(params), body: undefined });
  }

  /** The same for an answer without work. */
  floorMs(): Promise<number> {
    return curlMs({ url: `${this.url}/healthz`, body: undefined });
  }

  /** Every line of an exhaustive search, and the size of the answer. Throws when the answer is not whole. */
  results(params: URLSearchParams): Promise<Answer> {
    return this.#readResults(params, ({ path }) => path);
  }

  /**
   * The same at revisions: a path is `REVISION:PATH`, as `git grep` prints it. Lines at other revisions than these are
   * dropped.
   */
  resultsAt(params: URLSearchParams, revisions: ReadonlySet<string>): Promise<Answer> {
    return this.#readResults(params, ({ path, branches: [revision = ""] = [] }) =>
      revisions.has(revision) ? `${revision}:${path}` : undefined,
    );
  }

  /** The commits and diffs that a search finds, by oid. Throws when the answer is not whole. */
  async oids(params: URLSearchParams): Promise<ReadonlySet<string>> {
    const oids = new Set<string>();
    await this.#readMatches(params, ({ oid = "" }) => oids.add(oid));
    return oids;
  }

  /** The files of an interactive search in one repository, in their order, each with the lines that match. */
  async rankedFiles(repository: string, query: string): Promise<readonly RankedFile[]> {
    const files: RankedFile[] = [];
    const params = new URLSearchParams({ q: `repo:^${repository}$ ${query}`, t: "keyword" });
    const add = ({ path, lineMatches = [] }: StreamMatch): void => {
      if (path !== undefined) files.push({ path, lines: new Set(lineMatches.map(({ lineNumber }) => lineNumber + 1)) });
    };
    await this.#readMatches(params, add, false);
    return files;
  }

  /** The language of each file of a repository. */
  async languages(repository: string): Promise<ReadonlyMap<string, string>> {
    const languages = new Map<string, string>();
    const params = symbolSearch(repository, "type:path file:. count:all");
    await this.#readMatches(params, ({ path = "", language = "" }) => languages.set(path, language));
    return languages;
  }

  /** Every symbol of a repository, by the interface. */
  async symbols(repository: string): Promise<SymbolSet> {
    const all = new SymbolSet();
    await this.#readMatches(symbolSearch(repository, "type:symbol count:all"), ({ path = "", symbols = [] }) => {
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

  async #readResults(params: URLSearchParams, toPath: (match: StreamMatch) => string | undefined): Promise<Answer> {
    const lines = new ResultSet();
    const bytes = await this.#readMatches(params, (match) => addLines(lines, match, toPath));
    return { lines, bytes };
  }

  /** Calls `add` for each match of an answer, and returns the size of the answer. */
  #readMatches(params: URLSearchParams, add: (match: StreamMatch) => void, isWhole = true): Promise<number> {
    const search = { url: this.#searchUrl(params), body: undefined };
    return readStream(search, params.get("q") ?? "", (event, data) => {
      if (event === "matches") for (const match of JSON.parse(data) as readonly StreamMatch[]) add(match);
      if (event === "progress" && isWhole) requireWhole(data);
    });
  }

  /** Milliseconds from the request to the first bytes of the first `matches` event; undefined when none came. */
  async firstMatchMs(params: URLSearchParams): Promise<number | undefined> {
    const startedMs = monotonicMs();
    let foundMs: number | undefined;
    let tail = "";
    for await (const bytes of await openAnswer({ url: this.#searchUrl(params), body: undefined })) {
      if (foundMs !== undefined) continue;
      const text = tail + bytes.toString("latin1");
      if (text.includes("event: matches")) foundMs = monotonicMs() - startedMs;
      tail = text.slice(-20);
    }
    return foundMs;
  }

  /** The JSON of `/readyz`, whether ready or not. */
  async readiness(): Promise<{
    readonly ready: boolean;
    readonly repositories: readonly { readonly state: string; readonly error?: string }[];
  }> {
    const response = await fetch(`${this.url}/readyz`);
    return (await response.json()) as Awaited<ReturnType<Trawl["readiness"]>>;
  }

  async #control(path: string, body: unknown, progress: (text: string) => void): Promise<unknown> {
    return await callDaemon(this.dataFolder, {
      method: "POST",
      path,
      body,
      progress: (value) => progress(String(value)),
    });
  }

  #searchUrl(params: URLSearchParams): string {
    return `${this.url}/.api/search/stream?${params.toString()}`;
  }
}

function symbolSearch(repository: string, query: string): URLSearchParams {
  return new URLSearchParams({ q: `repo:^${escapeRegexp(repository)}$ timeout:5m ${query}`, t: "standard" });
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

function addLines(results: ResultSet, match: StreamMatch, toPath: (match: StreamMatch) => string | undefined): void {
  const name = toPath(match);
  if (name !== undefined) for (const { lineNumber } of match.lineMatches ?? []) results.add(name, lineNumber + 1);
}

/** Excluded branches and forks are fine here; a limit, a timeout or a lost shard is a fault. */
function requireWhole(data: string): void {
  const { skipped } = JSON.parse(data) as Progress;
  const fault = skipped.find(({ reason }) => /limit|timeout|missing/.test(reason));
  if (fault !== undefined) throw new TrawlError("cancelled", `the answer is not whole: ${fault.title}`);
}
