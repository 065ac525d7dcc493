/** Many clients at once: a stop with many streams, clients that leave, more load than there is room for, streams that wait, and fairness. */
import { get } from "node:http";
import t, { type Test } from "tap";
import { monotonicMs } from "../src/base/deadline.js";
import { treeBytes } from "./support/attack.js";
import { eventsOf, testDaemon, type DaemonProcess } from "./support/daemon.js";
import { quantile, record, rounds, scaled } from "./support/full-run.js";
import type { GitFixture } from "./support/git-fixture.js";
import { fixture } from "./support/git-mirror.js";
import { until, within } from "./support/waiting.js";

const needle = "needle";
/** More than any of these tests opens. */
const roomy = ["--set", "clients.sharePercent=100"];

/** Its results are larger than what sockets and a search's credit hold. */
function largeSource(t: Test): GitFixture {
  const source = fixture(t);
  const line = `${needle} ${"x".repeat(180)}\n`;
  source.commit({ branch: "main", files: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${i}.txt`, line.repeat(200)])) });
  return source;
}

const running = (daemon: DaemonProcess): Promise<number> => daemon.metric("trawl_searches_running");

const figureOf = (values: readonly number[]): string => `median ${quantile(values, 0.5).toFixed(1)} ms, p99 ${quantile(values, 0.99).toFixed(1)} ms`;

t.test("SIGTERM with many streams", { timeout: 600_000 }, async (t) => {
  const count = scaled(30, 500);
  const daemon = await testDaemon(t, [...roomy, "--set", `search.concurrent=${count}`]);
  await daemon.add("host/large", largeSource(t).path);
  const streams = await Promise.all(Array.from({ length: count }, () => daemon.openStream(needle)));
  streams.forEach((stream) => stream.pause());
  await until("searches run", async () => await running(daemon) === count);
  const startedMs = monotonicMs();
  daemon.signal("SIGTERM");
  const ends = await within(Promise.all(streams.map((stream) => eventsOf(stream))), "the ends of the streams");
  const endedMs = monotonicMs() - startedMs;
  const clean = ends.filter((events) => events.at(-1)?.name === "done" && /"done":true.*the daemon is stopping/.test(events.at(-2)?.data ?? ""));
  t.equal(clean.length, count, "each says why it ends");
  t.equal(await daemon.exit(), 0);
  const exitMs = monotonicMs() - startedMs;
  t.ok(exitMs < 30_000, `the process ended after ${exitMs.toFixed(0)} ms`);
  record(16, "SIGTERM with streams whose results are half read", `${count} streams: all ended with the reason after ${endedMs.toFixed(0)} ms, exit code 0 after ${exitMs.toFixed(0)} ms`);
});

t.test("clients that leave", { timeout: 1_800_000 }, async (t) => {
  const daemon = await testDaemon(t, roomy);
  await daemon.add("host/large", largeSource(t).path);
  const batch = 20;
  const idleMs: number[] = [];
  let count = 0;
  for (const _ of rounds(scaled(5, 500))) {
    const streams = await Promise.all(Array.from({ length: batch }, () => daemon.openStream("/[a-z]+ x/", "standard")));
    count += batch;
    const leftMs = monotonicMs();
    for (const stream of streams) stream.destroy();
    await until("no search runs", async () => await running(daemon) === 0, 30_000);
    idleMs.push(monotonicMs() - leftMs);
  }
  t.equal(await daemon.metric("trawl_streams_open"), 0);
  t.equal((await daemon.search("repo:large count:1 needle")).alert, "", "it searches on");
  t.equal(await daemon.metric("trawl_workers_lost_total"), 0);
  record(21, `clients that leave a search that goes on, ${batch} at a time`, `${count} clients: no search runs any more after ${figureOf(idleMs)}, seen by /metrics; none stays`);
});

interface Reply {
  readonly status: number;
  readonly ms: number;
  readonly retryAfter: string | undefined;
}

/** A search to its end, or the refusal. */
function ask(daemon: DaemonProcess, query: string): Promise<Reply> {
  const startedMs = monotonicMs();
  const parameters = new URLSearchParams({ q: query, v: "V3", t: "standard" });
  return within(new Promise((resolve, reject) => {
    get(`${daemon.url}/.api/search/stream?${parameters}`, { agent: false }, (response) => {
      const ms = monotonicMs() - startedMs;
      response.on("error", () => undefined).on("close", () => resolve({ status: response.statusCode ?? 0, ms, retryAfter: response.headers["retry-after"] })).resume();
    }).on("error", reject);
  }), query);
}

t.test("more load than there is room for", { timeout: 600_000 }, async (t) => {
  const [concurrent, queue] = [4, 4];
  const daemon = await testDaemon(t, [...roomy, "--set", `search.concurrent=${concurrent}`, "--set", `search.queue=${queue}`]);
  await daemon.add("host/large", largeSource(t).path);
  const slow = "count:all /[a-z]+ x+$/";
  const quiet: number[] = [];
  for (let i = 0; i < 20; i++) quiet.push((await ask(daemon, "count:1 needle")).ms);
  const replies: Reply[] = [];
  const endMs = monotonicMs() + scaled(1_500, 60_000);
  await Promise.all(Array.from({ length: 2 * (concurrent + queue) }, async () => {
    while (monotonicMs() < endMs) replies.push(await ask(daemon, slow));
  }));
  const shed = replies.filter(({ status }) => status !== 200);
  const overMs = monotonicMs();
  await until("as many searches as before are taken", async () => (await ask(daemon, "count:1 needle")).status === 200);
  const backMs = monotonicMs() - overMs;
  t.ok(shed.length > 0 && replies.length > shed.length, `${replies.length} requests, ${shed.length} refused`);
  t.ok(shed.every(({ status, retryAfter }) => [429, 503].includes(status) && Number(retryAfter) >= 1), "429 or 503 with Retry-After");
  t.equal(await running(daemon), 0);
  record(5, `twice as many clients as ${concurrent} searches and ${queue} that wait`, `${replies.length} requests, ${shed.length} refused with Retry-After in ${figureOf(shed.map(({ ms }) => ms))} `
    + `(${figureOf(quiet)} for a search of a quiet daemon); taken again ${backMs.toFixed(0)} ms after`);
});

t.test("streams that wait", { timeout: 600_000 }, async (t) => {
  const count = scaled(300, 2_000);
  const daemon = await testDaemon(t, [...roomy, "--set", "search.concurrent=2", "--set", `search.queue=${count}`]);
  await daemon.add("host/large", largeSource(t).path);
  const holders = await Promise.all([daemon.openStream(needle), daemon.openStream(needle)]);
  holders.forEach((stream) => stream.pause());
  await until("both run", async () => await running(daemon) === 2);
  const beforeBytes = treeBytes(daemon.pid);
  const waiting: Promise<Reply>[] = [];
  for (let i = 0; i < count; i += 100) {
    for (let j = 0; j < 100; j++) waiting.push(ask(daemon, "count:1 needle"));
    await daemon.get("/healthz");
  }
  await until("all wait", async () => await daemon.metric("trawl_searches_queued") >= count);
  const perStreamBytes = (treeBytes(daemon.pid) - beforeBytes) / count;
  const beyond: Reply[] = [];
  while (beyond.length < count) beyond.push(...await Promise.all(Array.from({ length: 100 }, () => ask(daemon, "count:1 needle"))));
  const refused = beyond.filter(({ status }) => status === 429 || status === 503).length;
  const health: number[] = [];
  for (let i = 0; i < 50; i++) {
    const startedMs = monotonicMs();
    await daemon.get("/healthz");
    health.push(monotonicMs() - startedMs);
  }
  holders.forEach((stream) => stream.destroy());
  const answered = (await Promise.all(waiting)).filter(({ status }) => status === 200).length;
  t.equal(answered, count, "all that waited are answered");
  t.equal(refused, count, "those beyond are refused");
  t.ok(perStreamBytes < 64 * 1024, `${perStreamBytes.toFixed(0)} bytes each`);
  record(4, "streams that wait behind two that nobody reads, and as many more", `${count} wait with ${(perStreamBytes / 1024).toFixed(1)} KiB each and are all answered; ${refused} more are refused with 429 or 503; `
    + `a new connection is answered in ${figureOf(health)} meanwhile`);
});

t.test("exhaustive searches beside interactive ones", { timeout: 600_000 }, async (t) => {
  const daemon = await testDaemon(t, roomy);
  await daemon.add("host/large", largeSource(t).path);
  const measure = async (): Promise<number[]> => {
    const times: number[] = [];
    for (const _ of rounds(scaled(30, 1_000))) times.push((await ask(daemon, "count:20 needle")).ms);
    return times;
  };
  await measure();
  const quiet = await measure();
  let isOver = false;
  const others = Array.from({ length: 8 }, async () => {
    let searches = 0;
    for (; !isOver; searches++) await ask(daemon, "count:all /[a-z]+q[0-9]+/");
    return searches;
  });
  const beside = await measure();
  isOver = true;
  const searches = (await Promise.all(others)).reduce((sum, count) => sum + count, 0);
  t.ok(quantile(beside, 0.5) < 1_000, "interactive searches are answered soon");
  t.ok(searches > 0, "the others go on, too");
  record(3, "interactive searches beside eight clients with exhaustive ones", `${beside.length} searches: first byte ${figureOf(beside)}; alone ${figureOf(quiet)}; `
    + `p99 ${(quantile(beside, 0.99) / quantile(quiet, 0.99)).toFixed(1)}x; ${searches} exhaustive searches meanwhile`);
});
