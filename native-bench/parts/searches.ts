import type { Corpus } from "../corpus/corpus.js";
import { alternate, spreadOf, type Spread } from "../system/measure.js";
import { spanningLines, type Peers } from "../peers/peers.js";
import { nameOf, streamParams, type BenchQuery } from "../peers/queries.js";
import { short, type SearchRow } from "../report/table.js";
import { compare } from "../peers/result-set.js";
import type { Trawl } from "../peers/trawl.js";

/** Compares the three result sets of a query, then measures the three in turn. */
export async function measureSearch(trawl: Trawl, corpus: Corpus, { rg, csearch }: Peers, query: BenchQuery, rounds: number): Promise<SearchRow> {
  const params = streamParams(query);
  const { lines: ours, bytes: answerBytes } = await trawl.results(params);
  const rgResults = await rg.results(query);
  const csearchResults = await csearch.results(query);
  const spanning = await spanningLines(corpus, query, ours.without(rgResults));
  const differences = {
    rg: compare("rg", rgResults, ours, (place) => rg.causeOf(place, spanning)),
    csearch: compare("csearch", csearchResults, ours, (place) => csearch.causeOf(place, spanning)),
  };
  const measures = [() => rg.time(query), () => csearch.time(query), () => trawl.curlMs(params)];
  const [rgMs, csearchMs, trawlMs] = await alternate(rounds, measures) as [Spread, Spread, Spread];
  console.log(`  ${nameOf(query)}: ${ours.count} lines; rg ${short(rgMs.median)}, csearch ${short(csearchMs.median)}, trawl ${short(trawlMs.median)} ms`);
  return { query, matchedLines: ours.count, answerBytes, rg: rgMs, csearch: csearchMs, trawl: trawlMs, differences };
}

/** Milliseconds until a person sees the first result of a broad query with the default limits. */
export async function measureFirstMatch(trawl: Trawl, count: number): Promise<Spread> {
  console.log("First matches event of a broad query");
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await trawl.firstMatchMs(new URLSearchParams({ q: "return" })) ?? NaN);
  return spreadOf(times);
}

/** Milliseconds of an HTTP answer without a search: what curl and the loopback cost. */
export async function measureFloor(trawl: Trawl, count: number): Promise<Spread> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await trawl.floorMs());
  return spreadOf(times);
}
