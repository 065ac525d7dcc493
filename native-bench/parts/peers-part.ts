import { rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { openMainCorpus } from "../corpus/corpus.js";
import { Causes } from "../peers/causes.js";
import { openPeers } from "../peers/peers.js";
import type { Peer } from "../peers/peer.js";
import { nameOf, queries, quickQueries, trawlQuery, type BenchQuery } from "../peers/queries.js";
import { trawlPeer } from "../peers/trawl-peer.js";
import { Trawl } from "../peers/trawl.js";
import { firstResults, type Zoekt } from "../peers/zoekt.js";
import { short } from "../report/numbers.js";
import type { PartRecord } from "../report/record.js";
import { alternate, spreadOf } from "../system/measure.js";
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
import type { Part, PartContext } from "./part.js";
import { describePeers, type ClientsOf, type FirstResults, type PeersMeasured } from "./peers-record.js";
import { measureSearch, type SearchOutcome } from "./searches.js";

/** Every query on every tool that is installed, and the two servers under the same load. */
export const peersPart: Part = {
  name: "peers",
  title: "Side by side with other tools",
  estimateSeconds: ({ isQuick }) => (isQuick ? 60 : 620),
  measure,
};

const floorRounds = 20;
const firstRounds = 20;

async function measure(context: PartContext): Promise<PartRecord> {
  const startedMs = monotonicMs();
  const corpus = await openMainCorpus(context);
  const peers = await openPeers(corpus, context);
  const dataFolder = join(context.workFolder, "peers-data");
  const trawl = await Trawl.start(dataFolder, ["--set", "search.maxTimeoutSeconds=300"]);
  const index = await measureIndex(trawl, corpus.name, corpus.path, dataFolder, context.progress);
  const table = context.isQuick ? quickQueries : queries;
  // First, because single searches are then of servers that have answered some thousands, as in use: code that is
  // compiled while it runs takes three times as long before.
  const clients = await measureBothClients(trawl, peers.zoekt, interactiveQueries(table), context);
  context.progress("HTTP answers without a search, and the first results");
  const floors = await measureFloors(trawl, peers.zoekt);
  const first = await measureFirst(trawl, peers.zoekt, table);
  const searches = await measureSearches(
    [...peers.found, trawlPeer(trawl)],
    new Causes(corpus, peers.ripgrep),
    table,
    context,
  );
  await peers.zoekt?.stop();
  await trawl.stop();
  rmSync(dataFolder, { recursive: true });
  const measured: PeersMeasured = { corpus, peers, isQuick: context.isQuick, index, searches, floors, first, clients };
  return {
    part: peersPart.name,
    title: peersPart.title,
    seconds: (monotonicMs() - startedMs) / 1000,
    ...describePeers(measured),
  };
}

async function measureSearches(
  all: readonly Peer[],
  causes: Causes,
  table: readonly BenchQuery[],
  { rounds, progress }: PartContext,
): Promise<SearchOutcome[]> {
  const outcomes: SearchOutcome[] = [];
  for (const query of table) {
    progress(`${nameOf(query)}: results of everybody, then ${rounds} rounds`);
    const outcome = await measureSearch(all, causes, query, rounds);
    outcomes.push(outcome);
    const times = [...outcome.peers].map(([name, { timesMs }]) => `${name} ${short(spreadOf(timesMs).median)}`);
    progress(`${nameOf(query)}: ${outcome.lineCount} lines; ms: ${times.join(", ")}`);
  }
  return outcomes;
}

async function measureFloors(trawl: Trawl, zoekt: Zoekt | undefined): Promise<Map<string, readonly number[]>> {
  const measures = [() => trawl.floorMs(), ...(zoekt === undefined ? [] : [() => zoekt.floorMs()])];
  await alternate(1, measures);
  const [ours = [], theirs = []] = await alternate(floorRounds, measures);
  return new Map(
    zoekt === undefined
      ? [["trawl", ours]]
      : [
          ["trawl", ours],
          ["zoekt", theirs],
        ],
  );
}

/** `return` is everywhere, so each server has more than it is asked for. */
async function measureFirst(
  trawl: Trawl,
  zoekt: Zoekt | undefined,
  table: readonly BenchQuery[],
): Promise<FirstResults[]> {
  const query = table.find(({ pattern }) => pattern === "return");
  if (query === undefined) return [];
  const ask = (q: string, more: Record<string, string>) => () =>
    trawl.curlMs(new URLSearchParams({ q, t: query.kind, ...more }));
  const usual = trawlQuery(query, resultsWanted).replace(`count:${resultsWanted} `, "");
  const measures: {
    readonly server: "trawl" | "zoekt";
    readonly asked: string;
    readonly time: () => Promise<number>;
  }[] = [
    { server: "trawl", asked: `count:${resultsWanted}`, time: ask(trawlQuery(query, resultsWanted), {}) },
    {
      server: "trawl",
      asked: `display=${resultsWanted}, the usual count`,
      time: ask(usual, { display: String(resultsWanted) }),
    },
    ...(zoekt === undefined
      ? []
      : [
          {
            server: "zoekt" as const,
            asked: `${resultsWanted} matches`,
            time: () => zoekt.timeWith(query, firstResults(resultsWanted)),
          },
          {
            server: "zoekt" as const,
            asked: `${resultsWanted} files`,
            time: () => zoekt.timeWith(query, { MaxDocDisplayCount: resultsWanted }),
          },
        ]),
  ];
  await alternate(
    1,
    measures.map(({ time }) => time),
  );
  const times = await alternate(
    firstRounds,
    measures.map(({ time }) => time),
  );
  return measures.map(({ server, asked }, i) => ({ server, asked, timesMs: times[i] ?? [] }));
}

async function measureBothClients(
  trawl: Trawl,
  zoekt: Zoekt | undefined,
  table: readonly BenchQuery[],
  { isQuick, rounds, progress }: PartContext,
): Promise<ClientsOf[]> {
  const seconds = isQuick ? 1 : 2;
  const servers = [
    { server: "trawl" as const, url: trawl.url, requests: trawlRequests(table) },
    ...(zoekt === undefined ? [] : [{ server: "zoekt" as const, url: zoekt.url, requests: zoektRequests(table) }]),
  ];
  const results = servers.map((): ClientRound[] => []);
  for (let round = 1; round <= rounds; round++) {
    for (const [i, { server, url, requests }] of servers.entries()) {
      progress(`${clientCount} clients of ${server}, round ${round} of ${rounds}`);
      results[i]?.push(await measureClients(url, requests, seconds));
    }
  }
  return servers.map(({ server }, i) => ({ server, rounds: results[i] ?? [] }));
}
