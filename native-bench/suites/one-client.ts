import { sleep } from "../../src/base/deadline.js";
import { openMainCorpus } from "../corpus/corpus.js";
import { Generator, getRequest, type HttpRequest, type Latencies, postJson } from "../load/generator.js";
import { type BenchQuery, queries, quickQueries, trawlQuery } from "../peers/queries.js";
import { openZoekt, withoutLimits, zoektQuery } from "../peers/zoekt.js";
import type { Results, TargetRow } from "../report/results.js";
import { median } from "../system/measure.js";
import { checkoutFolder, timeCommand } from "../system/processes.js";
import { longSearches, measureRows, ours, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/**
 * One person at a keyboard: one client on a kept-alive connection, without pauses, with pauses, and first after a start.
 * `peers` compares what the servers find for the same queries.
 */
export const oneClientSuite: Suite = { name: "one-client", title: "One client on a kept-alive connection", measure };

/** What is asked, and the least ratio of zoekt's time to ours: must and aim without pauses, and after 5 s. */
const asked: readonly (readonly [
  pattern: string,
  warm: readonly [number, number],
  paused: readonly [number, number],
])[] = [
  ["amdgpu_vcn_idle_work", [1, 1.5], [1, 1.5]],
  ["qqzzxxjjvvww", [1.2, 2], [1, 1.5]],
  ["kmalloc", [8, 12], [6, 10]],
  ["TODO", [8, 12], [6, 10]],
  ["EXPORT_SYMBOL_GPL", [8, 12], [6, 10]],
];

/** After the longest pause only these are asked, fewer times: each takes a minute. */
const afterLongPause: readonly string[] = ["amdgpu_vcn_idle_work", "kmalloc"];
const longPauseSeconds = 60;
const longPauseRounds = 3;

const startRounds = 3;
/** How long a daemon has accepted requests before its first search: it reads its shards and compiles its code. */
const settledSeconds = [0, 15];

interface Server {
  readonly name: string;
  readonly url: string;
  readonly toRequest: (query: BenchQuery) => HttpRequest;
  /** An answer without work. */
  readonly healthPath: string;
}

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, workFolder, progress } = context;
  const corpus = await openMainCorpus(context);
  const generator = await Generator.compile(workFolder);
  const zoekt = await openZoekt(corpus, context);
  const trawl = await startDaemon(context, "one-client-data", ...longSearches);
  await trawl.add(corpus.name, corpus.path, progress);
  progress("waiting until the symbols are extracted");
  await trawl.waitForSymbols();
  const servers: Server[] = [{ name: ours, url: trawl.url, toRequest: trawlRequest, healthPath: "/healthz" }];
  if (zoekt.kind === "found")
    servers.push({ name: "zoekt", url: zoekt.peer.url, toRequest: zoektRequest, healthPath: "/readyz" });
  else results.note(`zoekt is not measured: ${zoekt.reason}.`);
  results.note(
    "Times are of whole answers, with every match where nothing else is said, measured by the load generator on one connection that stays open.",
  );
  const literals = queries.filter(({ ignoreCase, pattern }) => !ignoreCase && asked.some(([one]) => one === pattern));
  const chosen = isQuick ? quickQueries.filter(({ kind }) => kind === "literal").slice(0, 3) : literals;
  const bench = { generator, servers, chosen, context, results };
  await measureBeginning(bench, trawl.url);
  await measureWarm(bench);
  for (const seconds of isQuick ? [1] : [1, 5, longPauseSeconds]) await measureAfterPauses(bench, seconds);
  progress("the command in a terminal");
  results.grid("The whole command", ours);
  const rare = (chosen[0] ?? literals[0])?.pattern ?? "";
  const search = [`${checkoutFolder}/bin/trawl`, "search", "--endpoint", trawl.url, "--", rare];
  await measureRows(
    [
      [commandTask, ours, () => timeCommand(search, {})],
      [commandTask, "node -e 0", () => timeCommand(["node", "-e", "0"], {})],
    ],
    context.rounds,
    results,
  );
  if (zoekt.kind === "found") await zoekt.peer.stop();
  await trawl.stop();
  await measureFirst(bench, isQuick ? (quickQueries[1]?.pattern ?? "") : "kmalloc");
  addTargets(results);
}

interface Bench {
  readonly generator: Generator;
  readonly servers: readonly Server[];
  readonly chosen: readonly BenchQuery[];
  readonly context: SuiteContext;
  readonly results: Results;
}

const warmTask = (pattern: string): string => `${pattern}, without pauses`;
const pauseTask = (pattern: string, seconds: number): string => `${pattern}, after ${seconds} s`;
const firstTask = (seconds: number): string => `first search, ${seconds} s after a start`;
const commandTask = "`trawl search` for a rare word";
const health = "an answer without work";
const beginningTask = "the requests of a client, a rare word";
const listTask = "the first 500 of return";

/** The first requests of a new client, and those after 400: a person never repeats a query 400 times. */
async function measureBeginning({ generator, chosen, context: { isQuick, rounds }, results }: Bench, url: string) {
  const [early, late, fresh, often]: number[][] = [[], [], [], []];
  const rare = chosen[0];
  const list = queries.find(({ pattern }) => pattern === "return");
  if (rare === undefined || list === undefined) return;
  const count = isQuick ? 60 : 460;
  const ask = async (request: HttpRequest): Promise<readonly number[]> =>
    (await generator.measure(url, [request], { connections: 1, seconds: 120, count })).eachMs;
  const first500 = await ask(streamSearch(trawlQuery(list, 500), list.kind));
  fresh?.push(median(first500.slice(0, 12)));
  often?.push(median(first500.slice(-60)));
  for (let round = 0; round < rounds; round++) {
    const eachMs = await ask(trawlRequest(rare));
    early?.push(median(eachMs.slice(0, 30)));
    late?.push(median(eachMs.slice(-60)));
  }
  results.grid("The first requests of a client, and later ones: medians");
  results.less(beginningTask, "first 30", "ms", early ?? []);
  results.less(beginningTask, "after 400", "ms", late ?? []);
  results.less(listTask, "first 12", "ms", fresh ?? []);
  results.less(listTask, "after 400", "ms", often ?? []);
}

/** All servers in turn, round after round; a value is the median of a round. */
async function measureWarm({ generator, servers, chosen, context: { isQuick, rounds, progress }, results }: Bench) {
  results.grid("One client without pauses: median of each round", ours, "one-client");
  const pace = { connections: 1, seconds: isQuick ? 0.3 : 1.5 };
  const tasks = chosen.map((query) => [warmTask(query.pattern), ({ toRequest }: Server) => toRequest(query)] as const);
  for (const [task, toRequest] of [...tasks, [health, ({ healthPath }: Server) => getRequest(healthPath)] as const]) {
    const medians = servers.map((): number[] => []);
    // The first round is not counted: in it, code is compiled.
    for (let round = 0; round <= rounds; round++) {
      for (const [i, server] of servers.entries()) {
        progress(`${task} on ${server.name}, round ${round} of ${rounds}`);
        const { p50Ms } = await generator.measure(server.url, [toRequest(server)], pace);
        if (round > 0) medians[i]?.push(p50Ms);
      }
    }
    for (const [i, { name }] of servers.entries()) results.less(task, name, "ms", medians[i] ?? []);
  }
}

/** The servers pause at the same time, and are asked half a pause apart, so that none is asked while another works. */
async function measureAfterPauses(bench: Bench, pauseSeconds: number): Promise<void> {
  const { generator, servers, chosen, context, results } = bench;
  const isLong = pauseSeconds === longPauseSeconds;
  const count = isLong ? longPauseRounds : context.isQuick ? 2 : context.rounds;
  results.grid(`One client, each time after a pause of ${pauseSeconds} s`, ours);
  const after = isLong ? chosen.filter(({ pattern }) => afterLongPause.includes(pattern)) : chosen;
  const tasks = after.map(({ pattern }) => pattern);
  for (const pattern of [...tasks, health]) {
    const query = after.find((one) => one.pattern === pattern);
    context.progress(`${pattern} after pauses of ${pauseSeconds} s`);
    const seconds = (count + 1) * (pauseSeconds + 10);
    const measured = await Promise.all(
      servers.map(async ({ url, toRequest, healthPath }, i): Promise<Latencies> => {
        await sleep((i * pauseSeconds * 1000) / servers.length);
        const request = query === undefined ? getRequest(healthPath) : toRequest(query);
        return await generator.measure(url, [request], { connections: 1, pauseSeconds, count, seconds });
      }),
    );
    for (const [i, { name }] of servers.entries())
      results.less(pauseTask(pattern, pauseSeconds), name, "ms", measured[i]?.eachMs ?? []);
  }
}

/** A daemon that has just started on the data of the one before is asked for a word as people type it. */
async function measureFirst({ generator, context, results }: Bench, word: string): Promise<void> {
  const { isQuick, progress } = context;
  results.grid(`The first search after a start, \`${word}\` in the default form, and the same afterwards`);
  for (const seconds of settledSeconds) {
    const [first, afterwards]: [number[], number[]] = [[], []];
    for (let round = 1; round <= (isQuick ? 1 : startRounds); round++) {
      progress(`${firstTask(seconds)}, round ${round}`);
      const trawl = await startDaemon(context, "one-client-data", ...longSearches);
      await sleep(isQuick ? seconds * 50 : seconds * 1000);
      const pace = { connections: 1, seconds: 60, count: isQuick ? 20 : 200 };
      const { eachMs } = await generator.measure(trawl.url, [streamSearch(word, "keyword")], pace);
      first.push(eachMs[0] ?? Number.NaN);
      afterwards.push(median(eachMs.slice(-pace.count / 2)));
      await trawl.stop();
    }
    results.less(firstTask(seconds), "first", "ms", first);
    results.less(firstTask(seconds), "afterwards", "ms", afterwards);
  }
}

function streamSearch(q: string, t: string): HttpRequest {
  return getRequest(`/.api/search/stream?${new URLSearchParams({ q, t })}`);
}

function trawlRequest(query: BenchQuery): HttpRequest {
  return streamSearch(trawlQuery(query, "all"), query.kind);
}

function zoektRequest(query: BenchQuery): HttpRequest {
  return postJson("/api/search", { Q: zoektQuery(query), Opts: withoutLimits });
}

function addTargets(results: Results): void {
  const versus = (what: string, task: string, atLeast: TargetRow["atLeast"] & {}): TargetRow => ({
    ...{ what: `${what}: time of zoekt ÷ ours`, of: [task, "zoekt"], over: [task, ours], atLeast },
  });
  for (const [pattern, warm, paused] of asked)
    results.targets(
      versus(`one client, ${pattern}`, warmTask(pattern), warm),
      versus(`${pattern} after 5 s`, pauseTask(pattern, 5), paused),
    );
  const [rare, common] = ["amdgpu_vcn_idle_work", "kmalloc"];
  const overHealth = results.median(pauseTask(rare, 5), ours) - results.median(pauseTask(health, 5), ours);
  const commonPaused = { of: [pauseTask(common, 5), ours], over: [warmTask(common), ours] } as const;
  results.targets(
    { what: `${rare} after 5 s − /healthz after 5 s`, unit: "ms", value: overHealth, atMost: [1, 0.5] },
    { what: `${common} after 5 s ÷ without pauses`, ...commonPaused, atMost: [1.3] },
    ...settledSeconds.map((seconds): TargetRow => {
      const of = [firstTask(seconds), "first"] as const;
      return { what: `${common}, default form: ${firstTask(seconds)}`, of, atMost: [60, 30] };
    }),
    {
      what: "rare word: the first 30 requests of a client ÷ after 400",
      of: [beginningTask, "first 30"],
      over: [beginningTask, "after 400"],
      atMost: [1.3, 1.1],
    },
    { what: `${listTask}: in the first dozen`, of: [listTask, "first 12"], atMost: [5, 3] },
    { what: `${listTask}: after 400`, of: [listTask, "after 400"], atMost: [3, 2] },
    {
      what: "`trawl search` in a terminal ÷ `node -e 0`",
      of: [commandTask, ours],
      over: [commandTask, "node -e 0"],
      atMost: [1.3, 1.2],
    },
  );
}
