import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openCorpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import { Generator, getRequest, type HttpRequest, type Latencies, postJson } from "../load/generator.js";
import type { GraphqlData, GraphqlWay } from "../peers/graphql-server.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped } from "../report/numbers.js";
import type { Results, TargetRow } from "../report/results.js";
import { ours, startDaemon, type Suite, type SuiteContext } from "./suite.js";
import { alternateWarm } from "../system/measure.js";
import { checkoutFolder, startServer } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";

/** GraphQL beside other servers, on many repositories, and beside streams. */
export const graphqlSuite: Suite = { name: "graphql", title: "GraphQL beside other servers", measure };

/**
 * The servers beside our daemon: the reference implementation as in its own documentation, the same with cached
 * documents, and a server library.
 */
export const graphqlWays = ["graphql-js", "graphql-js, documents kept", "graphql-yoga"] as const;

/** As installed in this checkout. */
export function graphqlVersion(way: GraphqlWay): string {
  const name = way === "graphql-yoga" ? "graphql-yoga" : "graphql";
  const text = readFileSync(join(checkoutFolder, "node_modules", name, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Starts one and resolves with its address. It ends with this process. */
export async function startGraphqlServer(way: GraphqlWay, dataFile: string): Promise<string> {
  const program = fileURLToPath(new URL("../peers/graphql-server.js", import.meta.url));
  return (await startServer(program, [way, dataFile], { env: { NODE_ENV: "production" } })).url;
}

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const generator = await Generator.compile(context.workFolder);
  await measureWide(generator, context, results);
  const { workFolder, progress } = context;
  const modules = await openCorpus("modules", context);
  const trawl = await startDaemon(context, "graphql-streams");
  await trawl.add("modules", await cloneBare(modules, `${workFolder}/graphql-modules.git`), progress);
  progress("GraphQL beside exhaustive streams");
  await measureBeside(trawl, generator, context, results);
  await trawl.stop();
}

const streamCount = 8;

/** GraphQL clients alone, and beside clients that read everything there is, over and over. */
async function measureBeside(
  trawl: Trawl,
  generator: Generator,
  { rounds, isQuick }: SuiteContext,
  results: Results,
): Promise<void> {
  const small = smallRequest(userOperation.query, await trawl.createToken());
  const params = new URLSearchParams({ q: "repo:^modules$ type:file count:all return", t: "literal" });
  const stream = getRequest(`/.api/search/stream?${params.toString()}`);
  const seconds = isQuick ? 0.3 : 1;
  const askSmall = () => generator.measure(trawl.url, [small], { connections, ratePerSecond, seconds, isSame: true });
  const readAll = () => generator.measure(trawl.url, [stream], { connections: streamCount, seconds });
  const [idle, beside]: [Latencies[], Latencies[]] = [[], []];
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
  recordPercentiles(aloneTask, ours, idle, results);
  recordPercentiles(besideTask, ours, beside, results);
  results.more("exhaustive streams beside GraphQL", ours, "MB/s", streamMegabytes);
  results.targets({
    what: `p99 beside ${streamCount} exhaustive streams ÷ idle`,
    of: [`${besideTask}, p99`, ours],
    over: [`${aloneTask}, p99`, ours],
    atMost: [3],
  });
}

/** The percentiles of runs of the generator. */
function recordPercentiles(task: string, subject: string, all: readonly Latencies[], results: Results): void {
  for (const [name, field] of [
    ["p50", "p50Ms"],
    ["p90", "p90Ms"],
    ["p99", "p99Ms"],
    ["p99.9", "p999Ms"],
  ] as const) {
    const values = all.map((result) => result[field]);
    results.less(`${task}, ${name}`, subject, "ms", values);
  }
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
const userOperation = operations[2];

const connections = 32;

/** The constant rate at which latency counts from when a request was due: what the slowest server can bear. */
const ratePerSecond = 1000;

const wideCount = 10_000;
const rateText = `${grouped(ratePerSecond)} a second`;

function smallRequest(query: string, token: string): HttpRequest {
  return postJson("/.api/graphql", { query }, token === "" ? {} : { Authorization: `token ${token}` });
}

/** The data of a good answer. */
async function fetchData(url: string, query: string, token: string): Promise<unknown> {
  const { method, path, headers, body } = smallRequest(query, token);
  const response = await fetch(url + path, { method, headers, body });
  const { data, errors } = (await response.json()) as { data?: unknown; errors?: unknown };
  if (errors !== undefined) throw new TrawlError("internal", `${query}: ${JSON.stringify(errors).slice(0, 300)}`);
  return data;
}

/**
 * A daemon with 10,000 repositories at a host that accepts connections and never answers: it waits for the first of them
 * and has nothing else to do. Other servers beside it.
 */
async function measureWide(generator: Generator, context: SuiteContext, results: Results): Promise<void> {
  const host = createServer((socket) => socket.on("error", () => {}).resume());
  await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
  const { port } = host.address() as AddressInfo;
  const repositories = Array.from({ length: wideCount }, (_, i) => ({
    name: repositoryName(i),
    url: `http://127.0.0.1:${port}/${i}`,
    description: `what is in repository ${i}`,
    stars: i % 1000,
  }));
  const configFile = join(context.workFolder, "graphql-wide.jsonc");
  writeFileSync(configFile, JSON.stringify({ repositories }));
  const trawl = await startDaemon(context, "graphql-wide", "--config", configFile);
  const token = await trawl.createToken();
  const servers = await startServers(trawl, token, context.workFolder);
  const versions = servers.flatMap(({ name, version }) => (version === "" ? [] : [`${name} ${version}`]));
  results.note(
    `Beside our daemon: ${versions.join("; ")}, each on node:http with our schema. They answer from plain objects in memory, without authentication; our daemon answers from the catalog of ${grouped(wideCount)} repositories to the holder of an access token. All gave the same answers before they were measured.`,
    `${connections} connections that each carry one request at a time, a generator in C on the same machine, no compression. "${nobody}" is our HTTP server with a ready answer: it shows the cost of the generator, the sockets and HTTP.`,
    `At full speed a request waits for those of the other ${connections - 1} connections, so p50 is ${connections} divided by the throughput. At ${rateText} latency counts from when a request was due; that figure has a target.`,
  );
  await measureServers(servers, token, generator, context, results);
  await trawl.stop();
  host.close();
  addTargets(results);
}

function repositoryName(i: number): string {
  return `example.org/group${i % 97}/repository-${i}`;
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
  const { url } = await startServer(fileURLToPath(new URL("../load/null-server-main.js", import.meta.url)), []);
  return [{ name: ours, version: "", url: trawl.url }, ...others, { name: nobody, version: "", url }];
}

/** All servers in turn, round after round, after one that does not count. */
async function measureServers(
  servers: readonly Server[],
  token: string,
  generator: Generator,
  { rounds, isQuick, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  const seconds = isQuick ? 0.1 : 0.35;
  const measureAll = (name: string, query: string, rate: number | undefined): Promise<Latencies[][]> => {
    progress(`${name}, ${rate === undefined ? "at full speed" : rateText}`);
    const pace = { connections, ratePerSecond: rate, seconds, isSame: true };
    const request = [smallRequest(query, token)];
    const measures = servers.map(
      ({ url }) =>
        () =>
          generator.measure(url, request, pace),
    );
    return alternateWarm(rounds, measures);
  };
  results.grid(`GraphQL: answers a second, ${connections} connections at full speed`, ours, "graphql-servers");
  let saturated: Latencies[][] = [];
  for (const { name, query } of operations) {
    saturated = await measureAll(name, query, undefined);
    for (const [i, server] of servers.entries()) {
      const rates = (saturated[i] ?? []).map(({ perSecond }) => perSecond);
      results.more(name, server.name, "/s", rates);
    }
  }
  const { name, query } = userOperation;
  results.grid(`Latency of \`${name}\`, ${connections} connections: of each percentile the rounds`, ours);
  const paced = await measureAll(name, query, ratePerSecond);
  for (const [i, server] of servers.entries()) {
    recordPercentiles(`${name}, ${rateText}`, server.name, paced[i] ?? [], results);
    recordPercentiles(`${name}, at full speed`, server.name, saturated[i] ?? [], results);
  }
}

function addTargets(results: Results): void {
  const [list, long, { name }] = operations;
  const rate = (task: string, peer: string, atLeast: TargetRow["atLeast"] & {}): TargetRow => ({
    ...{ what: `${task}: answers a second ÷ ${peer}`, of: [task, ours], over: [task, peer], atLeast },
  });
  const fullSpeed = results.text(`${name}, at full speed, p50`, ours);
  results.targets(
    rate(list.name, "graphql-js", [5, 8]),
    rate(list.name, "graphql-js, documents kept", [undefined]),
    rate(list.name, "graphql-yoga", [3, 5]),
    rate(long.name, "graphql-js", [undefined]),
    {
      what: `${name}: p50 at ${connections} connections, ${rateText}`,
      of: [`${name}, ${rateText}, p50`, ours],
      atMost: [0.5],
      note: `${fullSpeed} at full speed`,
    },
  );
}
