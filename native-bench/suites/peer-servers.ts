import type { LoadRequest } from "../load/request.js";
import { runLoad } from "../load/run-load.js";
import type { Peers } from "../peers/peers.js";
import { trawlQuery, type BenchQuery } from "../peers/queries.js";
import type { Trawl } from "../peers/trawl.js";
import { firstResults, zoektQuery, type Zoekt } from "../peers/zoekt.js";
import { short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { alternateWarm } from "../system/measure.js";
import type { IndexRun } from "./indexing.js";
import type { SuiteContext } from "./suite.js";

const ours = "trawl";
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
  return queries.map((query) => {
    const text = trawlQuery(query, resultsWanted);
    return { kind: "stream", query: text, patternType: query.kind, version: "", display: undefined };
  });
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
      const { classes, generator } = await runLoad({
        url,
        pace: { kind: "closed", concurrency: clientCount },
        connections: clientCount,
        classes: [{ name: "interactive", weight: 1, reader: { kind: "steady" }, requests }],
        limits: { durationSeconds: isQuick ? 1 : 2, requestsMax: 10_000_000, timeoutSeconds: 60, drainSeconds: 30 },
      });
      const [of] = classes;
      const failedCount = of?.failures.reduce((sum, { count }) => sum + count, 0) ?? 0;
      const failure = of?.failures[0]?.example ?? "";
      if (failedCount > 0)
        results.note(`Of the ${clientsTask}' requests to ${name}, ${failedCount} failed in a round: ${failure}.`);
      measured[i]?.rate.push(of?.goodPerSecond ?? 0);
      measured[i]?.p50.push(of?.latency.p50Ms ?? NaN);
      measured[i]?.p99.push(of?.latency.p99Ms ?? NaN);
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
