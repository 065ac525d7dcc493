import { type Corpus, openCorpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import { commitCount, ledgerLines, ledgerPath } from "../corpus/sources.js";
import { type SmallRequest, SmallRequests, type SmallResult } from "../load/small-requests.js";
import { curlMs, type HttpSearch } from "../peers/tools.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Limits, Results } from "../report/results.js";
import { startDaemon, type Suite, type SuiteContext } from "./suite.js";
import { alternateWarm } from "../system/measure.js";
import { firstLine, run, timeCommand } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { startNullServer } from "../load/overhead.js";
import { type GraphqlData, graphqlVersion, graphqlWays, startGraphqlServer } from "../peers/graphql-servers.js";
import { taskPlot } from "../report/views.js";

/** GraphQL: beside other servers, on many repositories, on a long history, and beside streams. */
export const graphqlSuite: Suite = {
  name: "graphql",
  title: "GraphQL beside other servers",
  estimateSeconds: { quick: 60, full: 140 },
  measure,
};

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const generator = await SmallRequests.compile(context.workFolder);
  await measureWide(generator, context, results);
  await measureDeep(generator, context, results);
}

const streamCount = 8;

/** A daemon with a long history and with much to stream. */
async function measureDeep(generator: SmallRequests, context: SuiteContext, results: Results): Promise<void> {
  const { workFolder, rounds, progress } = context;
  const history = await openCorpus("commits", context);
  const modules = await openCorpus("modules", context);
  const trawl = await startDaemon(context, "graphql-deep");
  await trawl.add("commits", history.path, progress);
  progress("ancestors and blame of 10,000 commits");
  results.list("One request at a time, 10,000 commits");
  await measureGit(trawl, history, rounds, results);
  await trawl.add("modules", await cloneBare(modules, `${workFolder}/graphql-modules.git`), progress);
  progress("GraphQL beside exhaustive streams");
  await measureBeside(trawl, generator, context, results);
  await trawl.stop();
}

const ancestorsTask = "ancestors(first: 100)";
const blameTask = "blame of 2,000 lines";

/** Each round asks for another commit, so that no earlier read answers. */
async function measureGit(trawl: Trawl, corpus: Corpus, rounds: number, results: Results): Promise<void> {
  const commits = (await run("git", ["-C", corpus.path, "rev-list", "--first-parent", "HEAD"], "")).trim().split("\n");
  if (commits.length !== commitCount)
    throw new TrawlError("internal", `the history has ${commits.length} commits, not ${commitCount}`);
  await requireSameAncestors(trawl, commits);
  await requireSameBlame(trawl, commits[0] ?? "", corpus);
  let asked = 0;
  // Both sides of a round ask for the same commit.
  const next = (): string => commits[1 + 7 * Math.floor(asked++ / 4)] ?? "";
  const git = ["git", "-C", corpus.path];
  const [ancestors = [], log = [], blame = [], gitBlame = []] = await alternateWarm(rounds, [
    () => curlMs(curlRequest(trawl.url, ancestorsQuery(next()))),
    () => timeCommand([...git, "log", "-100", "--format=%H %s %an %ae %aI", next()], {}),
    () => curlMs(curlRequest(trawl.url, blameQuery(next()))),
    () => timeCommand([...git, "blame", "--porcelain", next(), "--", ledgerPath], {}),
  ]);
  results.less(ancestorsTask, "trawl", "ms", ancestors);
  results.less(ancestorsTask, "git log -100", "ms", log);
  results.less(blameTask, "trawl", "ms", blame);
  results.less(blameTask, "git", "ms", gitBlame);
  results.atMost("ancestors(first: 100) of 10,000 commits", "ms", results.median(ancestorsTask, "trawl"), { must: 30 });
  const note = results.text(blameTask, "trawl", "ms");
  results.atMost(
    "blame of 2,000 lines ÷ git blame",
    "x",
    results.ratio(blameTask, "trawl", "git"),
    { must: 1.5 },
    note,
  );
}

function ancestorsQuery(commit: string): string {
  return `query { repository(name: "commits") { commit(rev: "${commit}") { ancestors(first: 100) {
    nodes { oid subject author { date person { name email } } } pageInfo { hasNextPage } } } } }`;
}

function blameQuery(commit: string): string {
  return `query { repository(name: "commits") { commit(rev: "${commit}") { blob(path: "${ledgerPath}") {
    blame(startLine: 1, endLine: ${ledgerLines}) { startLine endLine author { date person { name email } } commit { oid } } } } } }`;
}

async function requireSameAncestors(trawl: Trawl, commits: readonly string[]): Promise<void> {
  const { repository } = (await fetchData(trawl.url, ancestorsQuery(commits[0] ?? ""), "")) as {
    repository: { commit: { ancestors: { nodes: { oid: string }[] } } };
  };
  const found = repository.commit.ancestors.nodes.map(({ oid }) => oid).join();
  if (found !== commits.slice(0, 100).join()) throw new TrawlError("internal", "ancestors differ from git's");
}

/** Compares line by line, as git may form other hunks. */
async function requireSameBlame(trawl: Trawl, head: string, corpus: Corpus): Promise<void> {
  type Hunk = { readonly startLine: number; readonly endLine: number; readonly commit: { readonly oid: string } };
  const { repository } = (await fetchData(trawl.url, blameQuery(head), "")) as {
    repository: { commit: { blob: { blame: Hunk[] } } };
  };
  const ours: string[] = [];
  for (const { startLine, endLine, commit } of repository.commit.blob.blame)
    for (let line = startLine; line < endLine; line++) ours[line - 1] = commit.oid;
  const text = await run("git", ["-C", corpus.path, "blame", "--porcelain", "HEAD", "--", ledgerPath], "");
  const theirs = text.split("\n").flatMap((line) => /^([0-9a-f]{40}) \d+ \d+/.exec(line)?.[1] ?? []);
  if (theirs.length !== ledgerLines || ours.join() !== theirs.join())
    throw new TrawlError("internal", "blame differs from git's");
}

/** GraphQL clients alone, and beside clients that read everything there is, over and over. */
async function measureBeside(
  trawl: Trawl,
  generator: SmallRequests,
  { rounds, isQuick }: SuiteContext,
  results: Results,
): Promise<void> {
  const small = smallRequest(userOperation.query, await trawl.createToken("admin"));
  const params = new URLSearchParams({ q: "repo:^modules$ type:file count:all return", t: "literal" });
  const path = `/.api/search/stream?${params.toString()}`;
  const stream: SmallRequest = { method: "GET", path, headers: {}, body: "" };
  const seconds = isQuick ? 0.3 : 1;
  const askSmall = () => generator.measure(trawl.url, [small], { connections, ratePerSecond, seconds });
  const readAll = () =>
    generator.measure(trawl.url, [stream], { connections: streamCount, ratePerSecond: undefined, seconds });
  const idle: SmallResult[] = [];
  const beside: SmallResult[] = [];
  const streamMegabytes: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const alone = await askSmall();
    const [read, loaded] = await Promise.all([readAll(), askSmall()]);
    if (round === 0) continue;
    idle.push(alone);
    beside.push(loaded);
    streamMegabytes.push(read.bytesPerSecond / 1e6);
  }
  results.list(
    `${connections} connections at ${grouped(ratePerSecond)} a second beside ${streamCount} exhaustive streams`,
  );
  const [aloneTask, besideTask] = ["GraphQL alone", "GraphQL beside exhaustive streams"];
  for (const [task, all] of [
    [aloneTask, idle],
    [besideTask, beside],
  ] as const) {
    results.more(
      task,
      "trawl",
      "/s",
      all.map(({ perSecond }) => perSecond),
    );
    for (const [percentile, field] of percentiles)
      results.less(
        `${task}, ${percentile}`,
        "trawl",
        "ms",
        all.map((result) => result[field]),
      );
  }
  results.more("exhaustive streams beside GraphQL", "trawl", "MB/s", streamMegabytes);
  const [loaded, alone] = [`${besideTask}, p99`, `${aloneTask}, p99`];
  results.atMost(
    `p99 beside ${streamCount} exhaustive streams ÷ idle`,
    "x",
    results.median(loaded, "trawl") / results.median(alone, "trawl"),
    { must: 3 },
    `${results.text(loaded, "trawl", "ms and")} ${results.text(alone, "trawl", "ms")}`,
  );
}

/** The server that answers without looking at the request. */
const nobody = "a server that does nothing";

const repositoryFields = "id name description url stars isFork isArchived isPrivate";

/** The operations that all servers answer. */
export const operations = [
  { name: "a list of 200 fields", query: `query { repositories(first: 25) { nodes { ${repositoryFields} } } }` },
  {
    name: "a list of 200 items of 8 fields",
    query: `query { repositories(first: 200) { nodes { ${repositoryFields} } } }`,
  },
  { name: "currentUser { username }", query: "query { currentUser { username } }" },
] as const;

/** The smallest one: its latency is that of a request. */
export const userOperation = operations[2];

export const connections = 32;

/** The constant rate at which latency counts from when a request was due: what the slowest server can bear. */
export const ratePerSecond = 1000;

const wideCount = 10_000;
const rateText = `${grouped(ratePerSecond)} a second`;
const pageTask = "first page";

/** The percentiles of a run of the generator, of which less is better. */
export const percentiles = [
  ["p50", "p50Ms"],
  ["p90", "p90Ms"],
  ["p99", "p99Ms"],
  ["p99.9", "p999Ms"],
] as const satisfies readonly (readonly [name: string, field: keyof SmallResult])[];

export function smallRequest(query: string, token: string): SmallRequest {
  const common = { "Content-Type": "application/json", Accept: "application/json" };
  const headers = token === "" ? common : { ...common, Authorization: `token ${token}` };
  return { method: "POST", path: "/.api/graphql", headers, body: JSON.stringify({ query }) };
}

export function curlRequest(url: string, query: string): HttpSearch {
  return { url: `${url}/.api/graphql`, body: JSON.stringify({ query }) };
}

/** The data of a good answer. */
export async function fetchData(url: string, query: string, token: string): Promise<unknown> {
  const { method, path, headers, body } = smallRequest(query, token);
  const response = await fetch(url + path, { method, headers, body });
  const { data, errors } = (await response.json()) as { data?: unknown; errors?: unknown };
  if (errors !== undefined) throw new TrawlError("internal", `${query}: ${JSON.stringify(errors).slice(0, 300)}`);
  return data;
}

/** A daemon with many repositories, and other servers beside it. */
export async function measureWide(generator: SmallRequests, context: SuiteContext, results: Results): Promise<void> {
  const daemon = new WideDaemon(context);
  results.list("The first page of 10,000 repositories");
  context.progress("the first page of 10,000 repositories");
  await measureFirstPage(daemon, context.rounds, results);
  const trawl = await daemon.start();
  const token = await trawl.createToken("admin");
  const servers = await startServers(trawl, token, context.workFolder);
  const versions = servers.flatMap(({ name, version }) => (version === "" ? [] : [`${name} ${version}`]));
  results.note(
    `Beside our daemon: ${versions.join("; ")}, each on node:http with our schema. They answer from plain objects in memory, without authentication; our daemon answers from the catalog of ${grouped(wideCount)} repositories to the holder of an access token. All gave the same answers before they were measured.`,
    `${connections} connections that each carry one request at a time, a generator in C on the same machine, no compression. "${nobody}" is our HTTP server with a ready answer: it shows the cost of the generator, the sockets and HTTP.`,
    `At full speed a request waits for those of the other ${connections - 1} connections, so p50 is ${connections} divided by the throughput. At ${rateText} latency counts from when a request was due; that figure has a target.`,
    "The first page is the first one after a daemon's start, which has answered three requests for single repositories. Ancestors and blame are asked for another commit each time. curl reads the whole answer; git is timed as a process.",
  );
  await measureServers(servers, token, generator, context, results);
  await daemon.stop();
  addTargets(results);
}

/**
 * A daemon with 10,000 repositories at a host that accepts connections and never answers: it waits for the first of
 * them and has nothing else to do.
 */
class WideDaemon {
  readonly #host = createServer((socket) => socket.on("error", () => {}).resume());
  readonly #context: SuiteContext;
  #trawl: Trawl | undefined;

  constructor(context: SuiteContext) {
    this.#context = context;
  }

  /** Starts it, or stops it and starts it again. */
  async start(): Promise<Trawl> {
    await this.#trawl?.stop();
    if (!this.#host.listening) await new Promise<void>((resolve) => this.#host.listen(0, "127.0.0.1", resolve));
    const configFile = join(this.#context.workFolder, "graphql-wide.jsonc");
    const { port } = this.#host.address() as AddressInfo;
    const repositories = Array.from({ length: wideCount }, (_, i) => ({
      name: repositoryName(i),
      url: `http://127.0.0.1:${port}/${i}`,
      description: `what is in repository ${i}`,
      stars: i % 1000,
    }));
    writeFileSync(configFile, JSON.stringify({ repositories }));
    this.#trawl = await startDaemon(this.#context, "graphql-wide", "--config", configFile);
    return this.#trawl;
  }

  async stop(): Promise<void> {
    await this.#trawl?.stop();
    this.#host.close();
  }
}

function repositoryName(i: number): string {
  return `example.org/group${i % 97}/repository-${i}`;
}

/**
 * Restarts the daemon in each round. Requests for single repositories warm the program up, so that the list is
 * measured and not the compiler.
 */
async function measureFirstPage(daemon: WideDaemon, rounds: number, results: Results): Promise<void> {
  const [firstMs, againMs]: [number[], number[]] = [[], []];
  const page = `query { repositories(first: 100) { nodes { ${repositoryFields} } totalCount pageInfo { hasNextPage } } }`;
  for (let round = 0; round < rounds; round++) {
    const { url } = await daemon.start();
    const ask = (query: string): Promise<number> => curlMs(curlRequest(url, query));
    for (let i = 0; i < 3; i++) await ask(`query { repository(name: "${repositoryName(i)}") { ${repositoryFields} } }`);
    firstMs.push(await ask(page));
    for (let i = 0; i < 3; i++) againMs.push(await ask(page));
  }
  results.less(`${pageTask}, the first time`, "trawl", "ms", firstMs);
  results.less(`${pageTask}, again`, "trawl", "ms", againMs);
}

interface Server {
  readonly name: string;
  readonly version: string;
  readonly url: string;
}

/** Starts the others with the daemon's own answers, and throws unless all give the same answer to each operation. */
async function startServers(trawl: Trawl, token: string, workFolder: string): Promise<Server[]> {
  const ask = (url: string, query: string): Promise<unknown> => fetchData(url, query, token);
  const list = (await ask(trawl.url, operations[1].query)) as { repositories: { nodes: GraphqlData["repositories"] } };
  const { currentUser } = (await ask(trawl.url, userOperation.query)) as Pick<GraphqlData, "currentUser">;
  const dataFile = join(workFolder, "graphql-data.json");
  writeFileSync(dataFile, JSON.stringify({ repositories: list.repositories.nodes, currentUser } satisfies GraphqlData));
  const others: Server[] = [];
  for (const name of graphqlWays)
    others.push({ name, version: graphqlVersion(name), url: await startGraphqlServer(name, dataFile) });
  for (const { query } of operations) {
    const expected = JSON.stringify(await ask(trawl.url, query));
    for (const { name, url } of others) {
      if (JSON.stringify(await ask(url, query)) !== expected)
        throw new TrawlError("internal", `${name} does not answer ${query} as our daemon does`);
    }
  }
  const url = await firstLine(startNullServer());
  return [{ name: "trawl", version: "", url: trawl.url }, ...others, { name: nobody, version: "", url }];
}

/** All servers in turn, round after round, after one that does not count. */
async function measureServers(
  servers: readonly Server[],
  token: string,
  generator: SmallRequests,
  { rounds, isQuick, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  const seconds = isQuick ? 0.1 : 0.35;
  const measureAll = (name: string, query: string, rate: number | undefined): Promise<SmallResult[][]> => {
    progress(`${name}, ${rate === undefined ? "at full speed" : rateText}`);
    const pace = { connections, ratePerSecond: rate, seconds };
    const measures = servers.map(
      ({ url }) =>
        () =>
          generator.measure(url, [smallRequest(query, token)], pace),
    );
    return alternateWarm(rounds, measures);
  };
  results.grid(`Answers a second, ${connections} connections at full speed`, "trawl");
  let saturated: SmallResult[][] = [];
  for (const { name, query } of operations) {
    saturated = await measureAll(name, query, undefined);
    for (const [i, server] of servers.entries()) {
      const of = saturated[i] ?? [];
      results.more(
        name,
        server.name,
        "/s",
        of.map(({ perSecond }) => perSecond),
      );
      results.less(
        `${name}, generator`,
        server.name,
        "% of a core",
        Math.max(...of.map(({ cpuShare }) => 100 * cpuShare)),
      );
    }
  }
  const { name, query } = userOperation;
  results.grid(`Latency of \`${name}\`, ${connections} connections: of each percentile the rounds`, "trawl");
  const paced = await measureAll(name, query, ratePerSecond);
  for (const [pace, all] of [
    [rateText, paced],
    ["at full speed", saturated],
  ] as const) {
    for (const [i, server] of servers.entries())
      for (const [percentile, field] of percentiles) {
        const values = all[i]?.map((result) => result[field]) ?? [];
        results.less(`${name}, ${pace}, ${percentile}`, server.name, "ms", values);
      }
  }
  const names: readonly string[] = operations.map((operation) => operation.name);
  const title = `GraphQL: answers a second at ${connections} connections, with the least and the most of the rounds`;
  const rates = results.samples.filter(({ task }) => names.includes(task));
  results.plot(taskPlot({ name: "graphql-servers", title, x: "", y: "answers a second" }, "bars", rates));
}

function addTargets(results: Results): void {
  const rateTargets = (task: string, graphqlJs: Limits, yoga: Limits): void => {
    const times = (server: string): number | undefined => results.ratio(task, "trawl", server);
    const cached = `${short(times("graphql-js, documents kept") ?? NaN)}x when it caches documents`;
    results.atLeast(`${task}: answers a second ÷ graphql-js`, "x", times("graphql-js"), graphqlJs, cached);
    results.atLeast(`${task}: answers a second ÷ graphql-yoga`, "x", times("graphql-yoga"), yoga);
  };
  rateTargets(operations[0].name, { must: 5, aim: 8 }, { must: 3, aim: 5 });
  rateTargets(operations[1].name, {}, {});
  const { name } = userOperation;
  const p50 = results.median(`${name}, ${rateText}, p50`, "trawl");
  const fullSpeed = results.text(`${name}, at full speed, p50`, "trawl", "ms at full speed");
  results.atMost(`${name}: p50 at ${connections} connections, ${rateText}`, "ms", p50, { must: 0.5 }, fullSpeed);
  const first = results.median(`${pageTask}, the first time`, "trawl");
  const again = results.text(`${pageTask}, again`, "trawl", "ms again");
  results.atMost(`first page of ${grouped(wideCount)} repositories, the first time`, "ms", first, { must: 5 }, again);
}
