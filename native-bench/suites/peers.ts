import { type Corpus, openMainCorpus } from "../corpus/corpus.js";
import { compare, type Difference, type Peer } from "../peers/peer.js";
import { KnownDifferences, openPeers, type Peers } from "../peers/peers.js";
import { type BenchQuery, queries, type QueryLimits, queryName, quickQueries, trawlQuery } from "../peers/queries.js";
import { type Trawl, trawlPeer } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import type { Sample } from "../report/run-report.js";
import { type Column, table, taskPlot } from "../report/views.js";
import { type IndexRun, measureIndex } from "./indexing.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";
import { alternate, alternateWarm } from "../system/measure.js";
import { TrawlError } from "../../src/base/errors.js";
import { type LoadRequest, streamRequest } from "../load/request.js";
import { runClients } from "../load/run-load.js";
import { firstResults, type Zoekt, zoektQuery } from "../peers/zoekt.js";

/** Every query on every installed tool, and the two servers under the same load. */
export const peersSuite: Suite = {
  name: "peers",
  title: "Side by side with other tools",
  estimateSeconds: { quick: 60, full: 620 },
  measure,
};

const ours = "trawl";

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, rounds, progress } = context;
  const corpus = await openMainCorpus(context);
  const peers = await openPeers(corpus, context);
  const trawl = await startDaemon(context, "peers-data", ...longSearches);
  const index = await measureIndex(trawl, corpus.name, corpus.path, progress);
  progress("waiting until the symbols are extracted");
  await trawl.waitForSymbols();
  addNotes(results, corpus, peers, index);
  const asked = isQuick ? quickQueries : queries;
  // The clients come first because single searches are measured on servers that have answered thousands, as in use:
  // code that is still being compiled takes three times as long.
  await measureServers(trawl, peers.zoekt, asked, context, results);
  progress("HTTP answers without a search, and the first results");
  results.list("Answers without a search, and to the end of an answer with the first results, default limits");
  await measureFloors(trawl, peers.zoekt, results);
  await measureFirst(trawl, peers.zoekt, asked, results);
  results.grid('Searches: whole answers; "vs": how many times as long as trawl the others take', ours);
  const differences = new KnownDifferences(corpus, peers.ripgrep);
  const outcomes: SearchOutcome[] = [];
  for (const query of asked) {
    progress(`${queryName(query)}: everyone's results, then ${rounds} rounds`);
    const outcome = await measureSearch([...peers.found, trawlPeer(trawl)], differences, query, rounds, results);
    outcomes.push(outcome);
    progress(`${queryName(query)}: ${outcome.lineCount} lines; trawl ${results.text(searchTask(query), ours, "ms")}`);
  }
  await peers.zoekt?.stop();
  await trawl.stop();
  reportSearches(results, outcomes, peers);
  reportIndex(results, peers, index);
}

function addNotes(results: Results, corpus: Corpus, { missing, zoekt }: Peers, index: IndexRun): void {
  results.note(
    `The corpus is ${corpus.name}, ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files, ${corpus.checksum}.`,
    corpus.note,
    ...missing.map(({ name, reason }) => `${name} is not measured: ${reason}.`),
    "Times are of whole answers, written to /dev/null. For rg, git grep and csearch: a whole process, timed by the shell that starts it. For the servers, zoekt and trawl: curl from before it connects, limits lifted. Everyone is warm: both servers had answered thousands of searches of many clients, and result sets were read and compared first.",
    "A ratio is that of two medians. It is given only where both found the lines that the first tool found, apart from differences with a known cause.",
    zoekt === undefined
      ? ""
      : `zoekt's index was built once, at ${zoekt.build.date}, and is kept for later runs; ours was built in this run, ${short(index.seconds)} s.`,
  );
}

/** What the peers found for one query. */
export interface SearchOutcome {
  readonly query: BenchQuery;
  /** The peer that the others' results are compared with, and how many lines it found. */
  readonly reference: string;
  readonly lineCount: number;
  /** By name, of the peers that were asked: the size of the answer, and how its lines differ from the reference's. */
  readonly peers: ReadonlyMap<string, { readonly bytes: number; readonly difference: Difference }>;
}

function searchTask(query: BenchQuery): string {
  return `search ${queryName(query)}`;
}

/**
 * Asks every peer for its result set, compares each with that of the first one, and then measures them in turn. Reading
 * the result sets is the warm-up round, so they may be read concurrently.
 */
export async function measureSearch(
  peers: readonly Peer[],
  differences: KnownDifferences,
  query: BenchQuery,
  rounds: number,
  results: Results,
): Promise<SearchOutcome> {
  for (const { name, declines } of peers) {
    const reason = declines(query);
    if (reason !== undefined) results.note(`${name} is not asked for ${queryName(query)}: ${reason}.`);
  }
  const asked = peers.filter((peer) => peer.declines(query) === undefined);
  const [first, ...others] = await Promise.all(asked.map(async (peer) => ({ peer, ...(await peer.results(query)) })));
  if (first === undefined) throw new TrawlError("internal", "there is no peer to ask");
  const reference = { name: first.peer.name, lines: first.lines };
  const same: Difference = { explained: {}, unexplained: 0, examples: [] };
  const outcomes = new Map([[reference.name, { bytes: first.bytes, difference: same }]]);
  for (const other of others) {
    const { peer, lines, bytes } = other;
    const difference = compare({ name: peer.name, lines }, reference, await differences.of(query, other, first));
    if (difference.unexplained > 0) results.setIncomparable(searchTask(query), peer.name);
    outcomes.set(peer.name, { bytes, difference });
  }
  const measures = asked.map((peer) => () => peer.time(query));
  const times = await alternate(rounds, measures);
  for (const [i, { name }] of asked.entries()) results.less(searchTask(query), name, "ms", times[i] ?? []);
  return { query, reference: reference.name, lineCount: first.lines.count, peers: outcomes };
}

/** Tables, plots and targets of all searches. */
export function reportSearches(results: Results, outcomes: readonly SearchOutcome[], { found }: Pick<Peers, "found">) {
  const size = (name: string): Column<SearchOutcome> => [
    `${name}, MB`,
    ({ peers }) => {
      const bytes = peers.get(name)?.bytes;
      return bytes === undefined ? undefined : bytes / 1e6;
    },
  ];
  const compared = outcomes.flatMap(({ query, reference, peers }) =>
    [...peers].map(([name, { difference }]) => ({ query, name, reference, ...difference })),
  );
  const causes = (explained: Difference["explained"]): string =>
    Object.entries(explained)
      .map(([cause, count]) => `${grouped(count)}: ${cause}`)
      .join("; ");
  results.table(
    table("Answers: lines, and sizes", outcomes, [
      ["query", ({ query }) => `\`${queryName(query)}\``],
      ["lines", ({ lineCount }) => lineCount],
      ...[...found.map(({ name }) => name), ours].map(size),
    ]),
  );
  results.table(
    table(
      "Lines that only one of two has found",
      compared.filter(({ unexplained, explained }) => unexplained > 0 || causes(explained) !== ""),
      [
        ["query", ({ query }) => `\`${queryName(query)}\``],
        ["compared", ({ name, reference }) => `${name} with ${reference}`],
        ["lines without a known cause", ({ unexplained }) => unexplained],
        ["known causes", ({ explained }) => causes(explained)],
        ["such as", ({ examples }) => examples.join(", ")],
      ],
    ),
  );
  const searches = results.samples.filter(({ task }) => task.startsWith("search "));
  const ratios = searches.flatMap(({ task, subject }): Sample[] => {
    const ratio = subject === ours ? undefined : results.ratio(task, subject, ours);
    return ratio === undefined ? [] : [{ task, subject, unit: "x", better: "more", values: [ratio] }];
  });
  const label = (task: string): string => task.replace(/^search /, "");
  const title = "Time of a whole answer, with all results: median, minimum and maximum";
  results.plot(taskPlot({ name: "peers-times", title, x: "query", y: "time, ms" }, "points", searches, label));
  const ratioTitle = "How many times as long as trawl the others take, where the results are equal";
  const ratioText = { name: "peers-ratios", title: ratioTitle, x: "query", y: "time ÷ trawl's" };
  results.plot(taskPlot(ratioText, "points", ratios, label));
  for (const { query } of outcomes) addSearchTargets(results, query);
}

/** The limits are those of the table of queries. */
function addSearchTargets(results: Results, query: BenchQuery): void {
  const task = searchTask(query);
  const name = queryName(query);
  const limits = (key: keyof QueryLimits) => ({ must: query.must[key], aim: query.aim[key] });
  const isHeld = (key: keyof QueryLimits): boolean => query.must[key] !== undefined || query.aim[key] !== undefined;
  const time = results.median(task, ours);
  for (const peer of (["rg", "csearch", "zoekt"] as const).filter(isHeld)) {
    const value = results.ratio(task, peer, ours);
    const isMeasured = results.values(task, peer).length > 0;
    const times = `${results.text(task, peer, "ms")} against ${short(time)}`;
    const note = !isMeasured ? `${peer} is not measured` : value === undefined ? "the results differ" : times;
    results.atLeast(`${name}: time of ${peer} ÷ ours`, "x", value, limits(peer), note);
  }
  if (isHeld("ms")) results.atMost(`${name}: time`, "ms", time, limits("ms"));
  const dense = results.median("search return", ours);
  if (isHeld("timesReturn"))
    results.atMost(
      `${name}: time ÷ that of return`,
      "x",
      time / dense,
      limits("timesReturn"),
      `${short(time)} ms against ${short(dense)}`,
    );
}

const singleRounds = 20;
const clientCount = 32;

/** Results that each client asks for. */
const resultsWanted = 500;

/**
 * What people type: words, and expressions that begin with one. Others are left out because zoekt takes seconds for a
 * single one of them: with them the mix measured nothing else, 6.8 requests a second against our 448.
 */
export function interactiveQueries(queries: readonly BenchQuery[]): BenchQuery[] {
  return queries.filter(({ isHuge, spansLines, pattern }) => !isHuge && !spansLines && /^\w{3}/.test(pattern));
}

export function trawlRequests(queries: readonly BenchQuery[]): LoadRequest[] {
  return queries.map((query) => streamRequest(trawlQuery(query, resultsWanted), query.kind));
}

const clientsTask = `${clientCount} clients`;

/** Both servers in turn, round after round: 32 clients, each of which asks again as soon as it has its answer. */
export async function measureServers(
  trawl: Pick<Trawl, "url">,
  zoekt: Pick<Zoekt, "url"> | undefined,
  asked: readonly BenchQuery[],
  { isQuick, rounds, progress }: Pick<SuiteContext, "isQuick" | "rounds" | "progress">,
  results: Results,
): Promise<void> {
  const chosen = interactiveQueries(asked);
  const options = firstResults(resultsWanted);
  const zoektRequests = chosen.map((query): LoadRequest => ({ kind: "zoekt", query: zoektQuery(query), options }));
  const servers = [{ name: ours, url: trawl.url, requests: trawlRequests(chosen) }];
  if (zoekt !== undefined) servers.push({ name: "zoekt", url: zoekt.url, requests: zoektRequests });
  const measured = servers.map(() => ({ rate: [], p50: [], p99: [], failed: [], share: [] }) as ClientRounds);
  for (let round = 1; round <= rounds; round++) {
    for (const [i, { name, url, requests }] of servers.entries()) {
      progress(`${clientsTask} of ${name}, round ${round} of ${rounds}`);
      const limits = { durationSeconds: isQuick ? 1 : 2 };
      const { of, generator } = await runClients(url, { kind: "closed", concurrency: clientCount }, requests, limits);
      const failedCount = of.failures.reduce((sum, { count }) => sum + count, 0);
      const failure = of.failures[0]?.example ?? "";
      if (failedCount > 0)
        results.note(`Of the ${clientsTask}' requests to ${name}, ${failedCount} failed in a round: ${failure}.`);
      measured[i]?.rate.push(of.goodPerSecond);
      measured[i]?.p50.push(of.latency.p50Ms);
      measured[i]?.p99.push(of.latency.p99Ms);
      measured[i]?.failed.push(failedCount);
      measured[i]?.share.push(100 * generator.cpuShare);
    }
  }
  results.grid(`${clientsTask}, mixed interactive queries, ${resultsWanted} results each: of the rounds`, ours);
  for (const [i, { name }] of servers.entries()) {
    const { rate = [], p50 = [], p99 = [], failed = [], share = [] } = measured[i] ?? {};
    results.more(clientsTask, name, "requests/s", rate);
    results.less(`${clientsTask}, p50`, name, "ms", p50);
    results.less(`${clientsTask}, p99`, name, "ms", p99);
    results.less(`${clientsTask}, failed`, name, "requests", failed);
    results.less(`${clientsTask}, generator`, name, "% of a core", share);
  }
  addClientTarget(results);
}

type ClientRounds = Record<"rate" | "p50" | "p99" | "failed" | "share", number[]>;

function addClientTarget(results: Results): void {
  const [own, their] = [ours, "zoekt"].map((name) => results.median(`${clientsTask}, p99`, name));
  if (own === undefined || their === undefined || Number.isNaN(their)) return;
  const value = results.ratio(clientsTask, ours, "zoekt") ?? NaN;
  const note = `p99 ${short(own)} ms against ${short(their)}`;
  const what = `${clientsTask}: our requests/s ÷ zoekt's, at equal or better p99`;
  if (own <= their) results.atLeast(what, "x", value, { must: 3, aim: 10 }, note);
  else results.atLeast(what, "x", undefined, { must: 3, aim: 10 }, `${note}; the rate would be ${short(value)}x`);
}

const floorTask = "HTTP answer without a search";
const firstTask = "first results of return";

export async function measureFloors(trawl: Trawl, zoekt: Zoekt | undefined, results: Results): Promise<void> {
  const servers = [{ name: ours, floorMs: () => trawl.floorMs() }];
  if (zoekt !== undefined) servers.push({ name: "zoekt", floorMs: () => zoekt.floorMs() });
  const times = await alternateWarm(
    singleRounds,
    servers.map(({ floorMs }) => floorMs),
  );
  for (const [i, { name }] of servers.entries()) results.less(floorTask, name, "ms", times[i] ?? []);
}

/** `return` is everywhere, so each server has more than it is asked for. */
export async function measureFirst(
  trawl: Trawl,
  zoekt: Zoekt | undefined,
  asked: readonly BenchQuery[],
  results: Results,
): Promise<void> {
  const query = asked.find(({ pattern }) => pattern === "return");
  if (query === undefined) return;
  const ask = (q: string, more: Record<string, string>) => () =>
    trawl.curlMs(new URLSearchParams({ q, t: query.kind, ...more }));
  const counted = trawlQuery(query, resultsWanted);
  const usual = counted.replace(`count:${resultsWanted} `, "");
  const ways: (readonly [subject: string, time: () => Promise<number>])[] = [
    [`trawl, count:${resultsWanted}`, ask(counted, {})],
    [`trawl, display=${resultsWanted}, the usual count`, ask(usual, { display: String(resultsWanted) })],
  ];
  if (zoekt !== undefined) {
    ways.push([`zoekt, ${resultsWanted} matches`, () => zoekt.timeWith(query, firstResults(resultsWanted))]);
    const files = { MaxDocDisplayCount: resultsWanted };
    ways.push([`zoekt, ${resultsWanted} files`, () => zoekt.timeWith(query, files)]);
  }
  const times = await alternateWarm(
    singleRounds,
    ways.map(([, time]) => time),
  );
  for (const [i, [subject]] of ways.entries()) results.less(firstTask, subject, "ms", times[i] ?? []);
  if (zoekt !== undefined) addFirstTarget(results);
}

function addFirstTarget(results: Results): void {
  const [own, their] = [`trawl, count:${resultsWanted}`, `zoekt, ${resultsWanted} matches`];
  const note = `${results.text(firstTask, their, "ms")} against ${short(results.median(firstTask, own))}`;
  const what = `first ${resultsWanted} matches of return: time of zoekt ÷ ours`;
  results.atLeast(what, "x", results.ratio(firstTask, their, own), { must: 5, aim: 20 }, note);
}

/** Our index and zoekt's: time, memory and size of their builds. */
export function reportIndex(results: Results, { zoekt }: Peers, { history, seconds, dataBytes, peak }: IndexRun): void {
  const [time, memory, disk] = ["index build", "index build, peak memory", "index on disk"] as const;
  const peakBytes = Math.max(...history.map(({ residentBytes, childrenBytes }) => residentBytes + childrenBytes));
  results.grid("From a local git repository to a searchable index", ours);
  const record = (name: string, build: { seconds: number; peakBytes: number; diskBytes: number }): void => {
    results.less(time, name, "s", build.seconds);
    results.less(memory, name, "MB", build.peakBytes / 1e6);
    results.less(disk, name, "MB", build.diskBytes / 1e6);
  };
  if (zoekt !== undefined) record("zoekt", zoekt.build);
  record(ours, { seconds, peakBytes, diskBytes: dataBytes });
  if (zoekt === undefined) return;
  const pair = (task: string, what: string): string =>
    `${results.text(task, ours, what)} against ${short(results.median(task, "zoekt"))}`;
  const anonymous = `${short(peak.anonymousBytes / 1e6)} of the daemon's are anonymous`;
  const memoryNote = `${pair(memory, "MB resident, git's processes included,")}; ${anonymous}`;
  const ratio = (task: string, of: string, other: string): number | undefined => results.ratio(task, of, other);
  results.atLeast(
    "index build: time of zoekt ÷ ours",
    "x",
    ratio(time, "zoekt", ours),
    { must: 3, aim: 5 },
    pair(time, "s"),
  );
  const memoryRatio = ratio(memory, ours, "zoekt");
  results.atMost("index build: our peak memory ÷ zoekt's", "x", memoryRatio, { must: 0.7, aim: 0.5 }, memoryNote);
  const diskRatio = ratio(disk, ours, "zoekt");
  results.atMost("index on disk: ours ÷ zoekt's", "x", diskRatio, { must: 0.65, aim: 0.5 }, pair(disk, "MB"));
}
