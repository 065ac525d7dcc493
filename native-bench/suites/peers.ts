import { rmSync } from "node:fs";
import { join } from "node:path";
import { openMainCorpus } from "../corpus/corpus.js";
import type { LoadRequest } from "../load/request.js";
import { KnownDifferences } from "../peers/known-differences.js";
import type { Peer } from "../peers/peer.js";
import { openPeers } from "../peers/peers.js";
import { queryName, queries, quickQueries, trawlQuery, type BenchQuery } from "../peers/queries.js";
import { Trawl, trawlPeer } from "../peers/trawl.js";
import { firstResults, type Zoekt } from "../peers/zoekt.js";
import { short } from "../report/numbers.js";
import type { Findings } from "../report/run-report.js";
import { alternateWarm, median } from "../system/measure.js";
import {
  clientCount,
  interactiveQueries,
  measureClients,
  resultsWanted,
  trawlRequests,
  zoektRequests,
  type ClientRound,
} from "./clients.js";
import { measureIndex } from "./indexing.js";
import type { ClientsOf, FirstResults } from "./peers-measured.js";
import { reportPeers } from "./peers-report.js";
import { measureSearch, type SearchOutcome } from "./searches.js";
import type { Suite, SuiteContext } from "./suite.js";

/** Every query on every installed tool, and the two servers under the same load. */
export const peersSuite: Suite = {
  name: "peers",
  title: "Side by side with other tools",
  estimateSeconds: { quick: 60, full: 620 },
  measure,
};

const singleRounds = 20;

async function measure(context: SuiteContext): Promise<Findings> {
  const { isQuick, workFolder, progress } = context;
  const corpus = await openMainCorpus(context);
  const peers = await openPeers(corpus, context);
  const dataFolder = join(workFolder, "peers-data");
  const trawl = await Trawl.start(dataFolder, ["--set", "search.maxTimeoutSeconds=300"]);
  const index = await measureIndex(trawl, corpus.name, corpus.path, dataFolder, progress);
  const table = isQuick ? quickQueries : queries;
  // The clients come first because single searches are measured on servers that have answered thousands, as in use:
  // code that is still being compiled takes three times as long.
  const clients = await measureBothClients(trawl, peers.zoekt, interactiveQueries(table), context);
  progress("HTTP answers without a search, and the first results");
  const floors = await measureFloors(trawl, peers.zoekt);
  const first = await measureFirst(trawl, peers.zoekt, table);
  const differences = new KnownDifferences(corpus, peers.ripgrep);
  const searches = await measureSearches([...peers.found, trawlPeer(trawl)], differences, table, context);
  await peers.zoekt?.stop();
  await trawl.stop();
  rmSync(dataFolder, { recursive: true });
  return reportPeers({ corpus, peers, isQuick, index, searches, floors, first, clients });
}

async function measureSearches(
  all: readonly Peer[],
  differences: KnownDifferences,
  table: readonly BenchQuery[],
  { rounds, progress }: SuiteContext,
): Promise<SearchOutcome[]> {
  const outcomes: SearchOutcome[] = [];
  for (const query of table) {
    progress(`${queryName(query)}: everyone's results, then ${rounds} rounds`);
    const outcome = await measureSearch(all, differences, query, rounds);
    outcomes.push(outcome);
    const times = [...outcome.peers].map(([name, { timesMs }]) => `${name} ${short(median(timesMs))}`);
    progress(`${queryName(query)}: ${outcome.lineCount} lines; ms: ${times.join(", ")}`);
  }
  return outcomes;
}

async function measureFloors(trawl: Trawl, zoekt: Zoekt | undefined): Promise<Map<string, readonly number[]>> {
  const servers = [{ name: "trawl", floorMs: () => trawl.floorMs() }];
  if (zoekt !== undefined) servers.push({ name: "zoekt", floorMs: () => zoekt.floorMs() });
  const measures = servers.map(({ floorMs }) => floorMs);
  const times = await alternateWarm(singleRounds, measures);
  return new Map(servers.map(({ name }, i) => [name, times[i] ?? []]));
}

/** `return` is everywhere, so each server has more than it is asked for. */
async function measureFirst(
  trawl: Trawl,
  zoekt: Zoekt | undefined,
  table: readonly BenchQuery[],
): Promise<FirstResults[]> {
  const query = table.find(({ pattern }) => pattern === "return");
  if (query === undefined) return [];
  const wanted = resultsWanted;
  const ask = (q: string, more: Record<string, string>) => () =>
    trawl.curlMs(new URLSearchParams({ q, t: query.kind, ...more }));
  const counted = trawlQuery(query, wanted);
  const usual = counted.replace(`count:${wanted} `, "");
  const ways: { readonly server: "trawl" | "zoekt"; readonly asked: string; readonly time: () => Promise<number> }[] = [
    { server: "trawl", asked: `count:${wanted}`, time: ask(counted, {}) },
    { server: "trawl", asked: `display=${wanted}, the usual count`, time: ask(usual, { display: String(wanted) }) },
  ];
  if (zoekt !== undefined) {
    const ask = (options: Record<string, number>) => () => zoekt.timeWith(query, options);
    ways.push({ server: "zoekt", asked: `${wanted} matches`, time: ask(firstResults(wanted)) });
    ways.push({ server: "zoekt", asked: `${wanted} files`, time: ask({ MaxDocDisplayCount: wanted }) });
  }
  const measures = ways.map(({ time }) => time);
  const times = await alternateWarm(singleRounds, measures);
  return ways.map(({ server, asked }, i) => ({ server, asked, timesMs: times[i] ?? [] }));
}

async function measureBothClients(
  trawl: Trawl,
  zoekt: Zoekt | undefined,
  table: readonly BenchQuery[],
  { isQuick, rounds, progress }: SuiteContext,
): Promise<ClientsOf[]> {
  const servers: (ClientsOf & { readonly url: string; readonly requests: LoadRequest[]; rounds: ClientRound[] })[] = [
    { server: "trawl", url: trawl.url, requests: trawlRequests(table), rounds: [] },
  ];
  if (zoekt !== undefined)
    servers.push({ server: "zoekt", url: zoekt.url, requests: zoektRequests(table), rounds: [] });
  for (let round = 1; round <= rounds; round++) {
    for (const { server, url, requests, rounds: measured } of servers) {
      progress(`${clientCount} clients of ${server}, round ${round} of ${rounds}`);
      measured.push(await measureClients(url, requests, isQuick ? 1 : 2));
    }
  }
  return servers;
}
