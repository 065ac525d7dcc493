import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { Corpus, CorpusContext } from "../corpus/corpus.js";
import { treeFiles } from "../corpus/repositories.js";
import { type Answer, declineCostly, type Found, type Peer, ResultSet } from "./peer.js";
import { type BenchQuery, escaped } from "./queries.js";
import type { RankedFile } from "./peer.js";
import { curlMs, findTool, findTools, fingerprint, type HttpSearch, openAnswer } from "./tools.js";
import { diskBytes, watchMemory } from "../system/measure.js";
import { ended, run, start } from "../system/processes.js";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";

/** zoekt's `SearchOptions` by their Go names. */
type ZoektOptions = Readonly<Record<string, number>>;

const nanosecondsPerSecond = 1e9;

/** Without limits. */
export const withoutLimits: ZoektOptions = {
  ShardMaxMatchCount: 100_000_000,
  TotalMaxMatchCount: 1_000_000_000,
  MaxWallTime: 300 * nanosecondsPerSecond,
};

/**
 * The first `count` matches in at most `count` files, within zoekt's own limits of the work: its least work for that
 * many results.
 */
export function firstResults(count: number): ZoektOptions {
  return { MaxDocDisplayCount: count, MaxMatchDisplayCount: count };
}

const startTimeoutMs = 60_000;

/**
 * zoekt's index of the corpus, built the first time, and a webserver over it on a free port. With symbols it has those that
 * ctags finds, which decide its order of results.
 */
export async function openZoekt(corpus: Corpus, context: CorpusContext, hasSymbols = false): Promise<Found<Zoekt>> {
  const origin = "go install github.com/sourcegraph/zoekt/cmd/...@latest";
  const tools = findTools(["zoekt-git-index", "zoekt-webserver"], origin);
  if (tools.kind === "missing") return { ...tools, name: "zoekt" };
  const [indexer = "", server = ""] = tools.programs;
  const kind = hasSymbols ? "zoekt-symbols" : "zoekt";
  const folder = join(corpus.cacheFolder, `${kind}-${corpus.checksum}-${await fingerprint(indexer)}`);
  const build = await buildZoektIndex(indexer, folder, corpus, hasSymbols, context.progress);
  const port = await freePort();
  const child = start(server, ["-index", folder, "-listen", `127.0.0.1:${port}`, "-rpc", "-html=false"], {
    stdio: "ignore",
    env: { ...process.env, ZOEKT_WATCHDOG_TICK: "0s" },
  });
  const url = `http://127.0.0.1:${port}`;
  await waitUntilReady(url);
  const links = (await treeFiles(corpus)).filter(({ mode }) => mode === "120000").map(({ path }) => path);
  const search = { url: `${url}/api/search`, body: searchBody('case:yes content:"^NOT-INDEXED: "', withoutLimits) };
  const notIndexed = await readAnswer(search);
  const version = (await zoektVersion()) ?? "";
  return { kind: "found", peer: new Zoekt(child, url, version, build, new Set(links), notIndexed) };
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

  readonly time = (query: BenchQuery): Promise<number> => curlMs(this.#search(query));

  readonly results = (query: BenchQuery): Promise<Answer> => readAnswer(this.#search(query));

  /** The files that it ranks first for words in its own order, each with the lines that match. */
  async rankedFiles(words: readonly string[]): Promise<readonly RankedFile[]> {
    const query = words.map((word) => `"${escaped(word).replace(/["\\]/g, "\\$&")}"`).join(" ");
    const body = JSON.stringify({ Q: query, Opts: { MaxDocDisplayCount: 100, NumContextLines: 0 } });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${this.url}/api/search`, { method: "POST", headers, body });
    const answer = (await response.json()) as ZoektRanking;
    return (answer.Result.Files ?? []).map(({ FileName, LineMatches }) => ({
      path: FileName,
      lines: new Set((LineMatches ?? []).map(({ LineNumber }) => LineNumber)),
    }));
  }

  readonly explain = ({ path }: { readonly path: string }): string | undefined => {
    if (this.#links.has(path)) return "symbolic link, whose target's name is its text for zoekt";
    return this.#notIndexed.lines.has(path, 1) ? "file that zoekt does not index" : undefined;
  };

  readonly declines = declineCostly;

  async stop(): Promise<void> {
    const closed = ended(this.#process, startTimeoutMs).catch(() => {});
    this.#process.kill("SIGKILL");
    await closed;
  }

  #search(query: BenchQuery): HttpSearch {
    return { url: `${this.url}/api/search`, body: searchBody(zoektQuery(query), withoutLimits) };
  }
}

interface ZoektRanking {
  readonly Result: {
    readonly Files:
      | readonly {
          readonly FileName: string;
          readonly LineMatches: readonly { readonly LineNumber: number }[] | null;
        }[]
      | null;
  };
}

/** Quoted, so that spaces and parentheses belong to the pattern, which zoekt always takes as an expression. */
export function zoektQuery({ pattern, kind, ignoreCase }: BenchQuery): string {
  const expression = kind === "literal" ? escaped(pattern) : pattern;
  return `case:${ignoreCase ? "no" : "yes"} content:"${expression.replace(/["\\]/g, "\\$&")}"`;
}

function searchBody(query: string, options: ZoektOptions): string {
  return JSON.stringify({ Q: query, Opts: options });
}

async function readAnswer(search: HttpSearch): Promise<Answer> {
  const reader = new ZoektAnswerReader();
  for await (const part of await openAnswer(search)) reader.push(part);
  return reader.end();
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Until its shards are loaded. */
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
 * The revision, if Go's own tool is installed to read it from the program, else a checksum of the program. Undefined
 * where zoekt is not installed.
 */
export async function zoektVersion(): Promise<string | undefined> {
  const server = findTool("zoekt-webserver");
  if (server === undefined) return undefined;
  const details = findTool("go") === undefined ? "" : await run("go", ["version", "-m", server], "").catch(() => "");
  const revision = /vcs\.revision=(\w{12})/.exec(details)?.[1] ?? /\tmod\t\S+\t(v\S+)/.exec(details)?.[1];
  return `zoekt ${revision ?? `SHA-256 ${await fingerprint(server)}`}`;
}

/** Longer than a path and than every other value that is read. */
const tailLength = 16_384;

/**
 * Reads an answer of zoekt's `/api/search` with line matches as it arrives: the whole JSON text can exceed the longest
 * string. Only a file's `FileName` has a text as its value (a line's has a boolean), and it precedes the lines of the
 * file. The counters come first.
 */
export class ZoektAnswerReader {
  readonly #lines = new ResultSet();
  #bytes = 0;
  #head = "";
  #tail = "";
  #path = "";

  push(part: Buffer): void {
    this.#bytes += part.length;
    const text = this.#tail + part.toString("latin1");
    if (this.#head.length < headLength) this.#head = (this.#head + part.toString("latin1")).slice(0, headLength);
    const pattern = /"FileName":"((?:[^"\\]|\\.)*)"|"LineNumber":(\d+)(?=[,}])/g;
    let end = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const [, path, line] = match;
      if (path !== undefined) this.#path = JSON.parse(Buffer.from(`"${path}"`, "latin1").toString()) as string;
      else this.#lines.add(this.#path, Number(line));
      end = pattern.lastIndex;
    }
    this.#tail = text.slice(Math.max(end, text.length - tailLength));
  }

  /** Throws when the answer ended early or zoekt left something out. */
  end(): Answer {
    if (!this.#tail.trimEnd().endsWith("}}")) throw new TrawlError("cancelled", "the answer of zoekt ended early");
    const left = /"(ShardFilesSkipped|FilesSkipped|ShardsSkipped|Crashes)":([1-9]\d*)/.exec(this.#head);
    if (left !== null) throw new TrawlError("cancelled", `the answer of zoekt is not whole: ${left[1]} ${left[2]}`);
    return { lines: this.#lines, bytes: this.#bytes };
  }
}

const headLength = 2000;

/** The cost of building zoekt's index. */
interface ZoektBuild {
  /** ISO 8601. The index is kept for later runs, so it may be of an earlier one. */
  readonly date: string;
  readonly seconds: number;
  readonly peakBytes: number;
  readonly diskBytes: number;
}

/**
 * Indexes what zoekt leaves out by default (files above 2 MB or with more than 20,000 different trigrams), as the
 * others do.
 */
const flags = ["-incremental=false", "-submodules=false"];
const limits = ["-file_limit", "1000000000", "-max_trigram_count", "100000000"];

const timeoutMs = 3_600_000;

/** Builds the index unless it exists, and stores its cost beside it. */
async function buildZoektIndex(
  indexer: string,
  folder: string,
  corpus: Corpus,
  hasSymbols: boolean,
  progress: (text: string) => void,
): Promise<ZoektBuild> {
  const buildFile = `${folder}.json`;
  if (existsSync(buildFile)) return JSON.parse(readFileSync(buildFile, "utf8")) as ZoektBuild;
  progress("building zoekt's index (four minutes for the Linux source, once)");
  const unfinished = `${folder}.unfinished`;
  for (const old of [folder, unfinished]) rmSync(old, { recursive: true, force: true });
  mkdirSync(unfinished);
  const date = new Date().toISOString();
  const startedMs = monotonicMs();
  const ctags = hasSymbols ? ["-require_ctags"] : ["-disable_ctags"];
  const child = start(indexer, [...flags, ...ctags, ...limits, "-index", unfinished, corpus.path], {
    stdio: "ignore",
    env: { ...process.env, CTAGS_COMMAND: findTool("ctags") },
  });
  const memory = watchMemory(child.pid ?? 0);
  const code = await ended(child, timeoutMs);
  const seconds = (monotonicMs() - startedMs) / 1000;
  if (code !== 0) throw new TrawlError("internal", `zoekt-git-index ended with ${code}`);
  const build: ZoektBuild = { date, seconds, peakBytes: memory().residentBytes, diskBytes: diskBytes(unfinished) };
  renameSync(unfinished, folder);
  writeFileSync(buildFile, JSON.stringify(build));
  return build;
}
