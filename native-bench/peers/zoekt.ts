import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { Corpus, CorpusContext } from "../corpus/corpus.js";
import { treeFiles } from "../corpus/repositories.js";
import { diskBytes, watchMemory } from "../system/measure.js";
import { ended, run, start } from "../system/processes.js";
import { curlMs, openAnswer, type HttpSearch } from "./http.js";
import { declineHuge, type Answer, type Found, type Peer } from "./peer.js";
import type { BenchQuery } from "./queries.js";
import { findTool, findTools, fingerprint } from "./tools.js";
import { ZoektAnswerReader } from "./zoekt-answer.js";

/** What building zoekt's index took. */
export interface ZoektBuild {
  /** ISO 8601. The index is kept for later runs, so it may be of an earlier one. */
  readonly date: string;
  readonly seconds: number;
  readonly peakBytes: number;
  readonly diskBytes: number;
}

/** zoekt's `SearchOptions` by their Go names. */
export type ZoektOptions = Readonly<Record<string, number>>;

const nanosecondsPerSecond = 1e9;

/** Nothing is left out. */
const lifted: ZoektOptions = {
  ShardMaxMatchCount: 100_000_000,
  TotalMaxMatchCount: 1_000_000_000,
  MaxWallTime: 300 * nanosecondsPerSecond,
};

/**
 * The first `count` matches of as many files, within zoekt's own limits of the work: its least work for so many
 * results.
 */
export function firstResults(count: number): ZoektOptions {
  return { MaxDocDisplayCount: count, MaxMatchDisplayCount: count };
}

/**
 * Indexes what zoekt leaves out by default (files above 2 MB or with more than 20,000 different trigrams), as the
 * others do; no ctags, as nobody else here finds symbols.
 */
const indexFlags = [
  "-incremental=false",
  "-submodules=false",
  "-disable_ctags",
  "-file_limit",
  "1000000000",
  "-max_trigram_count",
  "100000000",
];

const indexTimeoutMs = 3_600_000;
const startTimeoutMs = 60_000;

/** zoekt's index of the corpus, built the first time, and a webserver over it on a free port. */
export async function openZoekt(corpus: Corpus, context: CorpusContext): Promise<Found<Zoekt>> {
  const tools = findTools(
    ["zoekt-git-index", "zoekt-webserver"],
    "go install github.com/sourcegraph/zoekt/cmd/...@latest",
  );
  if (tools.kind === "missing") return { ...tools, name: "zoekt" };
  const [indexer = "", server = ""] = tools.programs;
  const folder = join(corpus.cacheFolder, `zoekt-${corpus.checksum}-${await fingerprint(indexer)}`);
  const build = await zoektIndex(indexer, folder, corpus, context.progress);
  const port = await freePort();
  const child = start(server, ["-index", folder, "-listen", `127.0.0.1:${port}`, "-rpc", "-html=false"], {
    stdio: "ignore",
    env: { ...process.env, ZOEKT_WATCHDOG_TICK: "0s" },
  });
  const url = `http://127.0.0.1:${port}`;
  await waitUntilReady(url);
  const links = (await treeFiles(corpus)).filter(({ mode }) => mode === "120000").map(({ path }) => path);
  const notIndexed = await answerOf({
    url: `${url}/api/search`,
    body: searchBody('case:yes content:"^NOT-INDEXED: "', lifted),
  });
  return {
    kind: "found",
    peer: new Zoekt(child, url, (await zoektVersion()) ?? "", build, new Set(links), notIndexed),
  };
}

/** zoekt-webserver and its JSON interface. */
export class Zoekt implements Peer {
  readonly name = "zoekt";
  readonly version: string;
  readonly url: string;
  readonly pid: number;
  readonly build: ZoektBuild;
  readonly #process: ChildProcess;
  readonly #links: ReadonlySet<string>;
  readonly #notIndexed: Answer;

  constructor(
    process: ChildProcess,
    url: string,
    version: string,
    build: ZoektBuild,
    links: ReadonlySet<string>,
    notIndexed: Answer,
  ) {
    this.version = version;
    this.url = url;
    this.pid = process.pid ?? 0;
    this.build = build;
    this.#process = process;
    this.#links = links;
    this.#notIndexed = notIndexed;
  }

  readonly time = (query: BenchQuery): Promise<number> => this.timeWith(query, lifted);

  /** The same with other limits; {} are zoekt's own. */
  timeWith(query: BenchQuery, options: ZoektOptions): Promise<number> {
    return curlMs(this.#search(query, options));
  }

  /** An HTTP answer that costs nothing to make. */
  floorMs(): Promise<number> {
    return curlMs({ url: `${this.url}/readyz`, body: undefined });
  }

  readonly results = (query: BenchQuery): Promise<Answer> => answerOf(this.#search(query, lifted));

  readonly causeOf = ({ path }: { readonly path: string }): string | undefined => {
    if (this.#links.has(path)) return "symbolic link, whose target's name is its text for zoekt";
    return this.#notIndexed.lines.has(path, 1) ? "file that zoekt does not index" : undefined;
  };

  readonly declines = declineHuge;

  async stop(): Promise<void> {
    const closed = ended(this.#process, startTimeoutMs).catch(() => {});
    this.#process.kill("SIGKILL");
    await closed;
  }

  #search(query: BenchQuery, options: ZoektOptions): HttpSearch {
    return { url: `${this.url}/api/search`, body: searchBody(zoektQuery(query), options) };
  }
}

/** Quoted, so that spaces and parentheses belong to the pattern, which is always an expression for zoekt. */
export function zoektQuery({ pattern, kind, ignoreCase }: BenchQuery): string {
  const expression = kind === "literal" ? pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : pattern;
  return `case:${ignoreCase ? "no" : "yes"} content:"${expression.replace(/["\\]/g, "\\$&")}"`;
}

function searchBody(query: string, options: ZoektOptions): string {
  return JSON.stringify({ Q: query, Opts: options });
}

async function answerOf(search: HttpSearch): Promise<Answer> {
  const reader = new ZoektAnswerReader();
  for await (const part of await openAnswer(search)) reader.push(part);
  return reader.end();
}

/** Builds the index unless it is there, and keeps with it what that took. */
async function zoektIndex(
  indexer: string,
  folder: string,
  corpus: Corpus,
  progress: (text: string) => void,
): Promise<ZoektBuild> {
  const record = `${folder}.json`;
  if (existsSync(record)) return JSON.parse(readFileSync(record, "utf8")) as ZoektBuild;
  progress("building zoekt's index (four minutes for the Linux source, once)");
  const unfinished = `${folder}.unfinished`;
  for (const old of [folder, unfinished]) rmSync(old, { recursive: true, force: true });
  mkdirSync(unfinished);
  const date = new Date().toISOString();
  const startedMs = monotonicMs();
  const child = start(indexer, [...indexFlags, "-index", unfinished, corpus.path], { stdio: "ignore" });
  const memory = watchMemory(child.pid ?? 0);
  const code = await ended(child, indexTimeoutMs);
  const seconds = (monotonicMs() - startedMs) / 1000;
  if (code !== 0) throw new TrawlError("internal", `zoekt-git-index ended with ${code}`);
  const build: ZoektBuild = { date, seconds, peakBytes: memory().peak.residentBytes, diskBytes: diskBytes(unfinished) };
  renameSync(unfinished, folder);
  writeFileSync(record, JSON.stringify(build));
  return build;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Its shards are loaded. */
async function waitUntilReady(url: string): Promise<void> {
  const startedMs = monotonicMs();
  while (monotonicMs() - startedMs < startTimeoutMs) {
    const isReady = await fetch(`${url}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
    if (isReady) return;
    await sleep(100);
  }
  throw new TrawlError("internal", "zoekt-webserver did not become ready within a minute");
}

/**
 * The revision, where Go's own tool is there to read it from the program; else what the program file is. Undefined
 * where it is not installed.
 */
export async function zoektVersion(): Promise<string | undefined> {
  const server = findTool("zoekt-webserver");
  if (server === undefined) return undefined;
  const details = findTool("go") === undefined ? "" : await run("go", ["version", "-m", server], "").catch(() => "");
  const revision = /vcs\.revision=(\w{12})/.exec(details)?.[1] ?? /\tmod\t\S+\t(v\S+)/.exec(details)?.[1];
  return `zoekt ${revision ?? `SHA-256 ${await fingerprint(server)}`}`;
}
