import { writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import type { Corpus } from "../corpus/corpus.js";
import { commitCount, ledgerLines, ledgerPath } from "../corpus/commits.js";
import { startNullServer } from "../load/overhead.js";
import type { SmallPace, SmallRequest, SmallRequests, SmallResult } from "../load/small-requests.js";
import { graphqlVersion, graphqlWays, startGraphqlServer, type GraphqlData } from "../peers/graphql-servers.js";
import { curlMs } from "../peers/http.js";
import { Trawl } from "../peers/trawl.js";
import { alternate } from "../system/measure.js";
import { firstLine, run, timeCommand } from "../system/processes.js";
import type { PartContext } from "./part.js";

/** Who is measured. The first one is ourselves, and `nobody` answers without looking at the request. */
export const nobody = "a server that does nothing";
export const serverNames = ["trawl", ...graphqlWays, nobody] as const;
export type ServerName = (typeof serverNames)[number];

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

export const userOperation = operations[2];

export const connections = 32;

/** Of the requests whose latency counts from when they were due: what the slowest server that is measured can bear. */
export const ratePerSecond = 1000;

/** The daemon that knows many repositories, and the others with what it answers. */
export interface WideServers {
  readonly trawl: Trawl;
  readonly token: string;
  readonly addresses: readonly { readonly name: ServerName; readonly version: string; readonly url: string }[];
}

export const wideCount = 10_000;

/**
 * A daemon with 10,000 repositories, which are at a host that takes connections and says nothing: it waits for the
 * first of them and has nothing else to do.
 */
export class WideDaemon {
  /** Its connections are read and never answered. */
  readonly #host = createServer((socket) => socket.on("error", () => {}).resume());
  readonly #dataFolder: string;
  #trawl: Trawl | undefined;

  constructor(workFolder: string) {
    this.#dataFolder = join(workFolder, "graphql-wide");
  }

  /** Starts it, or ends it and starts it again. */
  async start(): Promise<Trawl> {
    await this.#trawl?.stop();
    if (!this.#host.listening) await new Promise<void>((resolve) => this.#host.listen(0, "127.0.0.1", resolve));
    const configFile = `${this.#dataFolder}.jsonc`;
    const { port } = this.#host.address() as AddressInfo;
    const repositories = Array.from({ length: wideCount }, (_, i) => ({
      name: nameOf(i),
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

  createToken(): Promise<string> {
    if (this.#trawl === undefined) throw new TrawlError("internal", "the daemon was not started");
    return this.#trawl.createToken("admin");
  }
}

function nameOf(i: number): string {
  return `example.org/group${i % 97}/repository-${i}`;
}

/** Milliseconds of the first page of 10,000 repositories: the first time in a process, and again. */
export interface FirstPage {
  readonly firstMs: readonly number[];
  readonly againMs: readonly number[];
}

/**
 * Starts the daemon anew in each round. Requests for single repositories make the program warm: what is measured is the
 * list, and not its compiler.
 */
export async function measureFirstPage(daemon: WideDaemon, rounds: number): Promise<FirstPage> {
  const firstMs: number[] = [];
  const againMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { url } = await daemon.start();
    for (let i = 0; i < 3; i++)
      await curlMs(questionOf(url, `query { repository(name: "${nameOf(i)}") { ${repositoryFields} } }`));
    const page = questionOf(
      url,
      `query { repositories(first: 100) { nodes { ${repositoryFields} } totalCount pageInfo { hasNextPage } } }`,
    );
    firstMs.push(await curlMs(page));
    for (let i = 0; i < 3; i++) againMs.push(await curlMs(page));
  }
  return { firstMs, againMs };
}

/** Starts the others with what the daemon answers, and throws unless every one of them answers each operation alike. */
export async function startServers(trawl: Trawl, token: string, workFolder: string): Promise<WideServers> {
  const ask = (url: string, query: string): Promise<unknown> => dataOf(url, query, token);
  const {
    repositories: { nodes },
  } = (await ask(trawl.url, operations[1].query)) as { repositories: { nodes: GraphqlData["repositories"] } };
  const { currentUser } = (await ask(trawl.url, userOperation.query)) as { currentUser: GraphqlData["currentUser"] };
  const dataFile = join(workFolder, "graphql-data.json");
  writeFileSync(dataFile, JSON.stringify({ repositories: nodes, currentUser } satisfies GraphqlData));
  const others = await Promise.all(
    graphqlWays.map(async (way) => ({
      name: way,
      version: graphqlVersion(way),
      url: await startGraphqlServer(way, dataFile),
    })),
  );
  for (const { query } of operations) {
    const expected = JSON.stringify(await ask(trawl.url, query));
    for (const { name, url } of others) {
      if (JSON.stringify(await ask(url, query)) !== expected)
        throw new TrawlError("internal", `${name} answers ${query} otherwise than we do`);
    }
  }
  return {
    trawl,
    token,
    addresses: [
      { name: "trawl", version: "", url: trawl.url },
      ...others,
      { name: nobody, version: "", url: await firstLine(startNullServer()) },
    ],
  };
}

/** Of one server and one operation. */
export interface ServerOutcome {
  readonly server: ServerName;
  readonly operation: string;
  /** Each connection asks again when it has its answer. */
  readonly saturated: readonly SmallResult[];
  /** At a constant rate; only of the smallest operation. */
  readonly paced: readonly SmallResult[];
}

/** All servers in turn, round after round, after one that does not count. */
export async function measureServers(
  { addresses, token }: WideServers,
  generator: SmallRequests,
  { rounds, isQuick, progress }: PartContext,
): Promise<ServerOutcome[]> {
  const seconds = isQuick ? 0.1 : 0.35;
  const outcomes: ServerOutcome[] = [];
  for (const { name: operation, query } of operations) {
    const request = requestOf(query, token);
    const measureAll = (ratePerSecondWanted: number | undefined): Promise<SmallResult[][]> => {
      progress(
        `${operation}, ${ratePerSecondWanted === undefined ? "as fast as it goes" : `${ratePerSecondWanted} a second`}`,
      );
      const pace: SmallPace = { connections, ratePerSecond: ratePerSecondWanted, seconds };
      return alternate(
        rounds + 1,
        addresses.map(
          ({ url }) =>
            () =>
              generator.measure(url, request, pace),
        ),
      );
    };
    const saturated = await measureAll(undefined);
    const paced = operation === userOperation.name ? await measureAll(ratePerSecond) : [];
    addresses.forEach(({ name: server }, i) =>
      outcomes.push({ server, operation, saturated: saturated[i]?.slice(1) ?? [], paced: paced[i]?.slice(1) ?? [] }),
    );
  }
  return outcomes;
}

/** What reads a mirror, beside git. */
export interface GitOutcome {
  readonly ancestorsMs: readonly number[];
  readonly logMs: readonly number[];
  readonly blameMs: readonly number[];
  readonly gitBlameMs: readonly number[];
}

/** Each round asks of another commit, so that nothing that was read before answers. */
export async function measureGit(trawl: Trawl, corpus: Corpus, rounds: number): Promise<GitOutcome> {
  const git = ["git", "-C", corpus.path];
  const commits = (await run("git", ["-C", corpus.path, "rev-list", "--first-parent", "HEAD"], "")).trim().split("\n");
  if (commits.length !== commitCount)
    throw new TrawlError("internal", `the history has ${commits.length} commits, not ${commitCount}`);
  const ancestors = (
    at: number,
  ): string => `query { repository(name: "commits") { commit(rev: "${commits[at]}") { ancestors(first: 100) {
    nodes { oid subject author { date person { name email } } } pageInfo { hasNextPage } } } } }`;
  const blame = (
    at: number,
  ): string => `query { repository(name: "commits") { commit(rev: "${commits[at]}") { blob(path: "${ledgerPath}") {
    blame(startLine: 1, endLine: ${ledgerLines}) { startLine endLine author { date person { name email } } commit { oid } } } } } }`;
  await requireSameAncestors(trawl, ancestors(0), commits);
  await requireSameBlame(trawl, blame(0), corpus);
  let asked = 0;
  // A commit of its own for each round, and both sides of a round ask of the same one.
  const at = (): number => 1 + 7 * Math.floor(asked++ / 4);
  const values = await alternate(rounds + 1, [
    () => curlMs(questionOf(trawl.url, ancestors(at()))),
    () => timeCommand([...git, "log", "-100", "--format=%H %s %an %ae %aI", commits[at()] ?? ""], {}),
    () => curlMs(questionOf(trawl.url, blame(at()))),
    () => timeCommand([...git, "blame", "--porcelain", commits[at()] ?? "", "--", ledgerPath], {}),
  ]);
  const [ancestorsMs = [], logMs = [], blameMs = [], gitBlameMs = []] = values.map((each) => each.slice(1));
  return { ancestorsMs, logMs, blameMs, gitBlameMs };
}

async function requireSameAncestors(trawl: Trawl, query: string, commits: readonly string[]): Promise<void> {
  const { repository } = (await dataOf(trawl.url, query, "")) as {
    repository: { commit: { ancestors: { nodes: { oid: string }[] } } };
  };
  const found = repository.commit.ancestors.nodes.map(({ oid }) => oid).join();
  if (found !== commits.slice(0, 100).join()) throw new TrawlError("internal", "ancestors are not what git says");
}

/** Line by line, as git may divide them otherwise. */
async function requireSameBlame(trawl: Trawl, query: string, corpus: Corpus): Promise<void> {
  type Hunk = { readonly startLine: number; readonly endLine: number; readonly commit: { readonly oid: string } };
  const { repository } = (await dataOf(trawl.url, query, "")) as {
    repository: { commit: { blob: { blame: Hunk[] } } };
  };
  const ours: string[] = [];
  for (const { startLine, endLine, commit } of repository.commit.blob.blame)
    for (let line = startLine; line < endLine; line++) ours[line - 1] = commit.oid;
  const text = await run("git", ["-C", corpus.path, "blame", "--porcelain", "HEAD", "--", ledgerPath], "");
  const theirs = text.split("\n").flatMap((line) => /^([0-9a-f]{40}) \d+ \d+/.exec(line)?.[1] ?? []);
  if (theirs.length !== ledgerLines || ours.join() !== theirs.join())
    throw new TrawlError("internal", "blame is not what git says");
}

/** 32 GraphQL clients alone, and beside clients that read everything that there is, again and again. */
export interface BesideOutcome {
  readonly idle: readonly SmallResult[];
  readonly beside: readonly SmallResult[];
  readonly streamMegabytes: readonly number[];
}

export const streamCount = 8;

export async function measureBeside(
  trawl: Trawl,
  generator: SmallRequests,
  { rounds, isQuick }: PartContext,
): Promise<BesideOutcome> {
  const small = requestOf(userOperation.query, await trawl.createToken("admin"));
  const pace = { connections, ratePerSecond, seconds: isQuick ? 0.3 : 1 };
  const idle: SmallResult[] = [];
  const beside: SmallResult[] = [];
  const streamMegabytes: number[] = [];
  const params = new URLSearchParams({ q: "repo:^modules$ type:file count:all return", t: "literal" });
  const stream: SmallRequest = {
    method: "GET",
    path: `/.api/search/stream?${params.toString()}`,
    headers: {},
    body: "",
  };
  for (let round = 0; round <= rounds; round++) {
    const alone = await generator.measure(trawl.url, small, pace);
    const [read, loaded] = await Promise.all([
      generator.measure(trawl.url, stream, {
        connections: streamCount,
        ratePerSecond: undefined,
        seconds: pace.seconds,
      }),
      generator.measure(trawl.url, small, pace),
    ]);
    if (round === 0) continue;
    idle.push(alone);
    beside.push(loaded);
    streamMegabytes.push(read.bytesPerSecond / 1e6);
  }
  return { idle, beside, streamMegabytes };
}

function requestOf(query: string, token: string): SmallRequest {
  return { method: "POST", path: "/.api/graphql", headers: headersOf(token), body: JSON.stringify({ query }) };
}

function headersOf(token: string): Readonly<Record<string, string>> {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  return token === "" ? headers : { ...headers, Authorization: `token ${token}` };
}

function questionOf(url: string, query: string) {
  return { url: `${url}/.api/graphql`, body: JSON.stringify({ query }) };
}

async function dataOf(url: string, query: string, token: string): Promise<unknown> {
  const response = await fetch(`${url}/.api/graphql`, {
    method: "POST",
    headers: headersOf(token),
    body: JSON.stringify({ query }),
  });
  const { data, errors } = (await response.json()) as { data?: unknown; errors?: unknown };
  if (errors !== undefined) throw new TrawlError("internal", `${query}: ${JSON.stringify(errors).slice(0, 300)}`);
  return data;
}
