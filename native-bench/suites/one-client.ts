import { sleep } from "../../src/base/deadline.js";
import { openMainCorpus } from "../corpus/corpus.js";
import type { Pace } from "../load/options.js";
import { type LoadRequest, streamRequest } from "../load/request.js";
import { requireWhole, runClients } from "../load/run-load.js";
import { type BenchQuery, queries, queryName, quickQueries, trawlQuery } from "../peers/queries.js";
import { openZoekt, withoutLimits, zoektQuery } from "../peers/zoekt.js";
import type { Results } from "../report/results.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/**
 * One person at a keyboard: one client on a kept-alive connection, without pauses, with pauses, and first after a start.
 * `peers` compares what the servers find for the same queries.
 */
export const oneClientSuite: Suite = {
  name: "one-client",
  title: "One client on a kept-alive connection",
  estimateSeconds: { quick: 30, full: 720 },
  measure,
};

const ours = "trawl";

/** What is asked, and the least ratio of zoekt's time to ours. */
const asked: readonly { readonly pattern: string; readonly must?: number; readonly aim?: number }[] = [
  { pattern: "amdgpu_vcn_idle_work", must: 1, aim: 2 },
  { pattern: "qqzzxxjjvvww", must: 1, aim: 2 },
  { pattern: "kmalloc", must: 4, aim: 6 },
  { pattern: "TODO", must: 4, aim: 6 },
  { pattern: "EXPORT_SYMBOL_GPL", must: 4, aim: 6 },
];

/** After the longest pause only these are asked, fewer times: each takes a minute. */
const afterLongPause: readonly string[] = ["amdgpu_vcn_idle_work", "kmalloc"];
const longPauseSeconds = 60;
const longPauseRounds = 3;

/** The first searches after a start. */
const firstPatterns: readonly string[] = ["[a-z]+_lock_irqsave", "kmalloc"];
const startRounds = 3;

/** The daemon reads its shards into memory and compiles its code before the first search. */
const settleSeconds = 15;

interface Server {
  readonly name: string;
  readonly url: string;
  readonly toRequest: (query: BenchQuery) => LoadRequest;
}

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, progress } = context;
  const corpus = await openMainCorpus(context);
  const zoekt = isQuick ? undefined : await openZoekt(corpus, context);
  const trawl = await startDaemon(context, "one-client-data", ...longSearches);
  await trawl.add(corpus.name, corpus.path, progress);
  progress("waiting until the symbols are extracted");
  await trawl.waitForSymbols();
  const servers: Server[] = [{ name: ours, url: trawl.url, toRequest: toStreamRequest }];
  if (zoekt?.kind === "found") servers.push({ name: "zoekt", url: zoekt.peer.url, toRequest: toZoektRequest });
  else if (zoekt !== undefined) results.note(`zoekt is not measured: ${zoekt.reason}.`);
  results.note(
    "Times are of whole answers with every match, measured by the load generator on one connection that stays open.",
    `First after a start: ${settleSeconds} s after the daemon accepts requests.`,
  );
  const chosen = isQuick
    ? quickQueries.filter(({ kind }) => kind === "literal")
    : queries.filter(({ pattern, ignoreCase }) => !ignoreCase && asked.some((one) => one.pattern === pattern));
  await measureWarm(servers, chosen, context, results);
  for (const seconds of isQuick ? [1] : [1, 5, longPauseSeconds])
    await measureAfterPauses(servers, chosen, seconds, context, results);
  if (zoekt?.kind === "found") await zoekt.peer.stop();
  await trawl.stop();
  await measureFirst(isQuick ? chosen.slice(0, 1) : queries.filter(isFirst), context, results);
  if (!isQuick) addTargets(results);
}

function isFirst({ pattern, ignoreCase }: BenchQuery): boolean {
  return !ignoreCase && firstPatterns.includes(pattern);
}

const warmTask = (query: { readonly pattern: string }): string => `${query.pattern}, without pauses`;
const pauseTask = (query: { readonly pattern: string }, seconds: number): string =>
  `${query.pattern}, after ${seconds} s`;
const firstTask = (query: { readonly pattern: string }): string => `${query.pattern}, first after a start`;

/** All servers in turn, round after round; a value is the median of a round. */
async function measureWarm(
  servers: readonly Server[],
  chosen: readonly BenchQuery[],
  { isQuick, rounds, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  results.grid("One client without pauses: median of each round", ours);
  for (const query of chosen) {
    const medians = servers.map((): number[] => []);
    // The first round is not counted: in it, code is compiled.
    for (let round = 0; round <= rounds; round++) {
      for (const [i, server] of servers.entries()) {
        progress(`${queryName(query)} without pauses on ${server.name}, round ${round} of ${rounds}`);
        const values = await ask(server, query, { pauseSeconds: 0, requestsMax: 500, seconds: isQuick ? 0.3 : 1.5 });
        if (round > 0) medians[i]?.push(values.p50Ms);
      }
    }
    for (const [i, { name }] of servers.entries()) results.less(warmTask(query), name, "ms", medians[i] ?? []);
  }
}

/** The servers pause at the same time, and are asked half a pause apart, so that none is asked while another works. */
async function measureAfterPauses(
  servers: readonly Server[],
  chosen: readonly BenchQuery[],
  pauseSeconds: number,
  { isQuick, rounds, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  const isLong = pauseSeconds === longPauseSeconds;
  const count = isLong ? longPauseRounds : isQuick ? 2 : rounds;
  results.grid(`One client, each time after a pause of ${pauseSeconds} s`, ours);
  for (const query of isLong ? chosen.filter(({ pattern }) => afterLongPause.includes(pattern)) : chosen) {
    progress(`${queryName(query)} after pauses of ${pauseSeconds} s`);
    const limits = { pauseSeconds, requestsMax: count, seconds: (count + 1) * (pauseSeconds + 10) };
    const times = await Promise.all(
      servers.map(async (server, i) => {
        await sleep((i * pauseSeconds * 1000) / servers.length);
        return (await ask(server, query, limits)).eachMs;
      }),
    );
    for (const [i, { name }] of servers.entries())
      results.less(pauseTask(query, pauseSeconds), name, "ms", times[i] ?? []);
  }
}

/** A daemon that has just started, on the data of the one before. */
async function measureFirst(chosen: readonly BenchQuery[], context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, progress } = context;
  results.grid("The first search after a start, and the same search without pauses afterwards");
  for (const query of chosen) {
    const times: Record<"first" | "afterwards", number[]> = { first: [], afterwards: [] };
    for (let round = 1; round <= (isQuick ? 1 : startRounds); round++) {
      progress(`${queryName(query)} first after a start, round ${round}`);
      const trawl = await startDaemon(context, "one-client-data", ...longSearches);
      await sleep(isQuick ? 500 : settleSeconds * 1000);
      const server = { name: ours, url: trawl.url, toRequest: toStreamRequest };
      times.first.push((await ask(server, query, { pauseSeconds: 0, requestsMax: 1, seconds: 60 })).p50Ms);
      await ask(server, query, { pauseSeconds: 0, requestsMax: 200, seconds: isQuick ? 0.3 : 5 });
      const after = await ask(server, query, { pauseSeconds: 0, requestsMax: 100, seconds: isQuick ? 0.3 : 5 });
      times.afterwards.push(after.p50Ms);
      await trawl.stop();
    }
    results.less(firstTask(query), "first", "ms", times.first);
    results.less(firstTask(query), "afterwards", "ms", times.afterwards);
  }
}

interface AskLimits {
  readonly pauseSeconds: number;
  readonly requestsMax: number;
  readonly seconds: number;
}

/** One client; throws when an answer is not whole. `eachMs` has every latency if pauses are a second and longer. */
async function ask(
  { name, url, toRequest }: Server,
  query: BenchQuery,
  { pauseSeconds, requestsMax, seconds }: AskLimits,
): Promise<{ readonly p50Ms: number; readonly eachMs: readonly number[] }> {
  const pace: Pace = { kind: "closed", concurrency: 1, pauseSeconds };
  const result = await runClients(url, pace, [toRequest(query)], { durationSeconds: seconds, requestsMax });
  requireWhole(result, `${queryName(query)} of ${name}`);
  const eachMs = result.timeline.flatMap(({ classes: [second] }) =>
    second === undefined || second.count === 0 ? [] : [second.p50Ms],
  );
  return { p50Ms: result.of.latency.p50Ms, eachMs };
}

function toStreamRequest(query: BenchQuery): LoadRequest {
  return streamRequest(trawlQuery(query, "all"), query.kind);
}

function toZoektRequest(query: BenchQuery): LoadRequest {
  return { kind: "zoekt", query: zoektQuery(query), options: withoutLimits };
}

function addTargets(results: Results): void {
  for (const one of asked) {
    const warm = results.ratio(warmTask(one), "zoekt", ours);
    results.atLeast(`one client, ${one.pattern}: time of zoekt ÷ ours`, "x", warm, { must: one.must, aim: one.aim });
    const paused = pauseTask(one, 5);
    const slowdown = results.median(paused, ours) / results.median(warmTask(one), ours);
    results.atMost(`${one.pattern} after 5 s ÷ without pauses`, "x", slowdown, { must: 1.5, aim: 1.2 });
    const ratio = results.ratio(paused, "zoekt", ours);
    results.atLeast(`${one.pattern} after 5 s: time of zoekt ÷ ours`, "x", ratio, { must: 1, aim: 3 });
  }
  for (const pattern of firstPatterns) {
    const task = firstTask({ pattern });
    const ratio = results.median(task, "first") / results.median(task, "afterwards");
    results.atMost(`${pattern}: first after a start ÷ afterwards`, "x", ratio, { must: 3, aim: 1.5 });
  }
}
