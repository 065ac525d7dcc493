import { writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import { startNullServer } from "../load/overhead.js";
import type { SmallRequests, SmallResult } from "../load/small-requests.js";
import { graphqlVersion, graphqlWays, startGraphqlServer, type GraphqlData } from "../peers/graphql-servers.js";
import { curlMs } from "../peers/http.js";
import { Trawl } from "../peers/trawl.js";
import { alternateWarm } from "../system/measure.js";
import { firstLine } from "../system/processes.js";
import {
  connections,
  curlRequest,
  fetchData,
  nobody,
  operations,
  ratePerSecond,
  repositoryFields,
  smallRequest,
  userOperation,
  type ServerName,
} from "./graphql-requests.js";
import type { SuiteContext } from "./suite.js";

export const wideCount = 10_000;

/** What was measured of a daemon with many repositories, and of the servers beside it. */
export interface WideOutcome {
  readonly addresses: readonly ServerAddress[];
  readonly servers: readonly ServerOutcome[];
  readonly firstPage: FirstPage;
}

interface ServerAddress {
  readonly name: ServerName;
  readonly version: string;
  readonly url: string;
}

/** Of one server and one operation. */
export interface ServerOutcome {
  readonly server: ServerName;
  readonly operation: string;
  /** Each connection asks again as soon as it has its answer. */
  readonly saturated: readonly SmallResult[];
  /** At a constant rate; only of the smallest operation. */
  readonly paced: readonly SmallResult[];
}

/** Milliseconds of the first page of 10,000 repositories: the first time in a process, and again. */
interface FirstPage {
  readonly firstMs: readonly number[];
  readonly againMs: readonly number[];
}

export async function measureWide(generator: SmallRequests, context: SuiteContext): Promise<WideOutcome> {
  const daemon = new WideDaemon(context.workFolder);
  context.progress("the first page of 10,000 repositories");
  const firstPage = await measureFirstPage(daemon, context.rounds);
  const trawl = await daemon.start();
  const token = await trawl.createToken("admin");
  const addresses = await startServers(trawl, token, context.workFolder);
  const servers = await measureServers(addresses, token, generator, context);
  await daemon.stop();
  return { addresses, servers, firstPage };
}

/**
 * A daemon with 10,000 repositories at a host that accepts connections and never answers: it waits for the first of
 * them and has nothing else to do.
 */
class WideDaemon {
  readonly #host = createServer((socket) => socket.on("error", () => {}).resume());
  readonly #dataFolder: string;
  #trawl: Trawl | undefined;

  constructor(workFolder: string) {
    this.#dataFolder = join(workFolder, "graphql-wide");
  }

  /** Starts it, or stops it and starts it again. */
  async start(): Promise<Trawl> {
    await this.#trawl?.stop();
    if (!this.#host.listening) await new Promise<void>((resolve) => this.#host.listen(0, "127.0.0.1", resolve));
    const configFile = `${this.#dataFolder}.jsonc`;
    const { port } = this.#host.address() as AddressInfo;
    const repositories = Array.from({ length: wideCount }, (_, i) => ({
      name: repositoryName(i),
      url: `http://127.0.0.1:${port}/${i}`,
      description: `what is in repository ${i}`,
      stars: i % 1000,
    }));
    writeFileSync(configFile, JSON.stringify({ repositories }));
    this.#trawl = await Trawl.start(this.#dataFolder, ["--config", configFile]);
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
async function measureFirstPage(daemon: WideDaemon, rounds: number): Promise<FirstPage> {
  const firstMs: number[] = [];
  const againMs: number[] = [];
  const page = `query { repositories(first: 100) { nodes { ${repositoryFields} } totalCount pageInfo { hasNextPage } } }`;
  for (let round = 0; round < rounds; round++) {
    const { url } = await daemon.start();
    const ask = (query: string): Promise<number> => curlMs(curlRequest(url, query));
    for (let i = 0; i < 3; i++) await ask(`query { repository(name: "${repositoryName(i)}") { ${repositoryFields} } }`);
    firstMs.push(await ask(page));
    for (let i = 0; i < 3; i++) againMs.push(await ask(page));
  }
  return { firstMs, againMs };
}

/** Starts the others with the daemon's own answers, and throws unless all give the same answer to each operation. */
async function startServers(trawl: Trawl, token: string, workFolder: string): Promise<ServerAddress[]> {
  const ask = (url: string, query: string): Promise<unknown> => fetchData(url, query, token);
  const list = (await ask(trawl.url, operations[1].query)) as { repositories: { nodes: GraphqlData["repositories"] } };
  const { currentUser } = (await ask(trawl.url, userOperation.query)) as Pick<GraphqlData, "currentUser">;
  const dataFile = join(workFolder, "graphql-data.json");
  const data: GraphqlData = { repositories: list.repositories.nodes, currentUser };
  writeFileSync(dataFile, JSON.stringify(data));
  const others = await Promise.all(
    graphqlWays.map(async (way) => {
      return { name: way, version: graphqlVersion(way), url: await startGraphqlServer(way, dataFile) };
    }),
  );
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
  addresses: readonly ServerAddress[],
  token: string,
  generator: SmallRequests,
  { rounds, isQuick, progress }: SuiteContext,
): Promise<ServerOutcome[]> {
  const seconds = isQuick ? 0.1 : 0.35;
  const outcomes: ServerOutcome[] = [];
  for (const { name: operation, query } of operations) {
    const request = smallRequest(query, token);
    const measureAll = (ratePerSecond: number | undefined): Promise<SmallResult[][]> => {
      progress(`${operation}, ${ratePerSecond === undefined ? "at full speed" : `${ratePerSecond} a second`}`);
      const pace = { connections, ratePerSecond, seconds };
      const measures = addresses.map((address) => () => generator.measure(address.url, request, pace));
      return alternateWarm(rounds, measures);
    };
    const saturated = await measureAll(undefined);
    const paced = operation === userOperation.name ? await measureAll(ratePerSecond) : [];
    for (const [i, { name: server }] of addresses.entries())
      outcomes.push({ server, operation, saturated: saturated[i] ?? [], paced: paced[i] ?? [] });
  }
  return outcomes;
}
