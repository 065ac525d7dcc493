/**
 * Many clients at once: a stop with many streams, clients that leave, more load than there is room for, streams that
 * wait, and fairness.
 */
import { get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { callEvery, monotonicMs, sleep } from "../../src/base/deadline.js";
import { treeBytes } from "../support/attack.js";
import { ClientProcess } from "../support/client-process.js";
import { eventsOf, preparedAhead, testDaemon, type DaemonProcess } from "../support/daemon.js";
import { isFull, quantile, record, rounds, scaled } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";
import { ProcessorWatch, type TimesSince } from "../support/processor-time.js";
import { until, within } from "../support/waiting.js";

const needle = "needle";
/** More than any of these tests opens. */
const roomy = [...preparedAhead, "--set", "clients.sharePercent=100"];

/** Its results are larger than what sockets and a search's credit hold. */
function largeSource(t: Test): GitFixture {
  const source = fixture(t);
  const line = `${needle} ${"x".repeat(180)}\n`;
  source.commit({
    branch: "main",
    files: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${i}.txt`, line.repeat(200)])),
  });
  return source;
}

const running = (daemon: DaemonProcess): Promise<number> => daemon.metric("trawl_searches_running");

const figureOf = (values: readonly number[]): string =>
  `median ${quantile(values, 0.5).toFixed(1)} ms, p99 ${quantile(values, 0.99).toFixed(1)} ms`;

t.test("SIGTERM with many streams", { timeout: 600_000 }, async (t) => {
  const count = scaled(30, 500);
  const daemon = await testDaemon(t, [...roomy, "--set", `search.concurrent=${count}`]);
  await daemon.add("host/large", largeSource(t).path);
  const streams = await Promise.all(Array.from({ length: count }, () => daemon.openStream(needle)));
  streams.forEach((stream) => stream.pause());
  await until("searches run", async () => (await running(daemon)) === count);
  const startedMs = monotonicMs();
  daemon.signal("SIGTERM");
  const ends = await within(Promise.all(streams.map((stream) => eventsOf(stream))), "the ends of the streams");
  const endedMs = monotonicMs() - startedMs;
  const clean = ends.filter(
    (events) => events.at(-1)?.name === "done" && /"done":true.*the daemon is stopping/.test(events.at(-2)?.data ?? ""),
  );
  t.equal(clean.length, count, "each says why it ends");
  t.equal(await daemon.exit(), 0);
  const exitMs = monotonicMs() - startedMs;
  t.ok(exitMs < 30_000, `the process ended after ${exitMs.toFixed(0)} ms`);
  record(
    16,
    "SIGTERM while clients are still reading results",
    `${count} streams: all ended, stating the reason, after ${endedMs.toFixed(0)} ms; exit code 0 after ${exitMs.toFixed(0)} ms`,
  );
});

/** A text in which a regexp without a literal has to be tried everywhere. */
function busySource(t: Test): GitFixture {
  const source = fixture(t);
  const files = Array.from({ length: scaled(40, 120) }, (_, i) => [
    `${i}.txt`,
    `k${i} ${needle} ${"x".repeat(180)}\n`.repeat(1_000),
  ]);
  source.commit({ branch: "main", files: Object.fromEntries(files) as Record<string, string> });
  return source;
}

const searchPath = (query: string): string =>
  `/.api/search/stream?${new URLSearchParams({ q: query, v: "V3", t: "standard" })}`;
const portOf = (daemon: DaemonProcess): number => Number(new URL(daemon.url).port);

/** Connections that have sent their request. */
function startSearches(daemon: DaemonProcess, query: string, count: number): Promise<Socket[]> {
  const text = `GET ${searchPath(query)} HTTP/1.1\r\nHost: ${new URL(daemon.url).host}\r\n\r\n`;
  return within(
    Promise.all(
      Array.from(
        { length: count },
        () =>
          new Promise<Socket>((resolve) => {
            const socket = connect(portOf(daemon), "127.0.0.1", () => socket.write(text, () => resolve(socket)));
            socket.on("error", () => undefined);
          }),
      ),
    ),
    "connections",
  );
}

t.test("clients that disconnect", { timeout: 1_800_000 }, async (t) => {
  const daemon = await testDaemon(t, roomy);
  await daemon.add("host/busy", busySource(t).path);
  const watch = new ProcessorWatch(daemon.pid);
  const batch = 20;
  const leave = async (query: string): Promise<TimesSince> => {
    const sockets = await startSearches(daemon, query, batch);
    await until("searches run", async () => (await running(daemon)) > batch / 2);
    watch.start();
    for (const socket of sockets) socket.destroy();
    await until("no search runs", async () => (await running(daemon)) === 0, 30_000);
    return watch.since();
  };
  const kinds = [
    {
      query: "count:all /[a-w]+ [a-w]+ [0-9]/",
      what: "clients that disconnect while search threads are looking for matches",
      times: [] as TimesSince[],
    },
    {
      query: `count:all /[a-z]+ x/`,
      what: "clients that disconnect without reading the results",
      times: [] as TimesSince[],
    },
  ];
  for (const round of rounds(scaled(6, 500))) {
    const kind = kinds[round % kinds.length];
    kind?.times.push(await leave(kind.query));
  }
  t.equal(await daemon.metric("trawl_streams_open"), 0);
  t.equal((await daemon.search(`repo:busy count:1 ${needle}`)).alert, "", "it searches on");
  t.equal(await daemon.metric("trawl_workers_lost_total"), 0);
  for (const { what, times } of kinds) {
    const part = (field: keyof TimesSince): number[] => times.map((time) => time[field]);
    // Of few, one may fall into a collection of garbage.
    const share = isFull ? 0.99 : 0.5;
    t.ok(
      quantile(part("workerRanMs"), share) <= 50,
      `a search thread works for ${figureOf(part("workerRanMs"))} after the departure`,
    );
    t.ok(quantile(part("mainRanMs"), share) <= 50, `the main thread works for ${figureOf(part("mainRanMs"))}`);
    record(
      21,
      `${what}, ${batch} at a time`,
      `${batch * times.length} clients: all searches stopped after ${figureOf(part("wallMs"))}, according to /metrics; none left running. ` +
        `CPU time in that period: search threads ${figureOf(part("workerRanMs"))}, main thread ${figureOf(part("mainRanMs"))}; time that they and the test waited for a CPU: ${figureOf(part("waitedMs"))}`,
    );
  }
});

interface Reply {
  readonly status: number;
  readonly ms: number;
  readonly retryAfter: string | undefined;
}

/** A search to its end, or the refusal. */
function ask(daemon: DaemonProcess, query: string): Promise<Reply> {
  const startedMs = monotonicMs();
  return within(
    new Promise((resolve, reject) => {
      get(`${daemon.url}${searchPath(query)}`, { agent: false }, (response) => {
        const ms = monotonicMs() - startedMs;
        response
          .on("error", () => undefined)
          .on("close", () =>
            resolve({ status: response.statusCode ?? 0, ms, retryAfter: response.headers["retry-after"] }),
          )
          .resume();
      }).on("error", reject);
    }),
    query,
  );
}

t.test("overload", { timeout: 600_000 }, async (t) => {
  const [concurrent, queue] = [4, 4];
  const daemon = await testDaemon(t, [
    ...roomy,
    "--set",
    `search.concurrent=${concurrent}`,
    "--set",
    `search.queue=${queue}`,
  ]);
  await daemon.add("host/large", largeSource(t).path);
  const slow = "count:all /[a-z]+ x+$/";
  const others = new ClientProcess(t);
  void others.run({
    kind: "repeat",
    port: portOf(daemon),
    path: searchPath(slow),
    count: 2 * (concurrent + queue),
    addressCount: 1,
  });
  await until("all places are taken", async () => (await ask(daemon, slow)).status !== 200);
  const watch = new ProcessorWatch(daemon.pid);
  const shed: (Reply & TimesSince)[] = [];
  const endMs = monotonicMs() + scaled(1_500, 60_000);
  while (monotonicMs() < endMs) {
    watch.start();
    const reply = await ask(daemon, slow);
    const times = watch.since();
    if (reply.status !== 200) shed.push({ ...reply, ...times });
    await sleep(5);
  }
  const { statuses } = await others.tally();
  await others.leave();
  const overMs = monotonicMs();
  await until("as many searches as before are taken", async () => (await ask(daemon, "count:1 needle")).status === 200);
  const backMs = monotonicMs() - overMs;
  t.ok(shed.length > 0 && (statuses["200"] ?? 0) > 0, `${shed.length} refused, and ${JSON.stringify(statuses)}`);
  t.ok(
    shed.every(({ status, retryAfter }) => [429, 503].includes(status) && Number(retryAfter) >= 1),
    "429 or 503 with Retry-After",
  );
  t.ok(
    quantile(
      shed.map(({ mainRanMs }) => mainRanMs),
      0.5,
    ) <= 10,
    "the main thread comes to a refusal soon",
  );
  await until("no search runs", async () => (await running(daemon)) === 0);
  record(
    5,
    `twice as many clients as ${concurrent} running and ${queue} queued searches allow, plus one client with occasional requests`,
    `${shed.length} of that client's requests refused with Retry-After; time to first byte ` +
      `${figureOf(shed.map(({ ms }) => ms))}; main-thread CPU time in that period, for all clients: ${figureOf(shed.map(({ mainRanMs }) => mainRanMs))}; time that it and the client waited for a CPU: ` +
      `${figureOf(shed.map(({ waitedMs }) => waitedMs))}; responses to the other clients by status: ${JSON.stringify(statuses).replaceAll('"', "")}; accepted again ${backMs.toFixed(0)} ms after the load ended`,
  );
});

/**
 * A search that keeps its place until it is destroyed: it is read a little at a time, as one that is not read at all is
 * cut after 10 s.
 */
async function holder(t: Test, daemon: DaemonProcess): Promise<IncomingMessage> {
  const stream = await daemon.openStream(needle);
  stream.pause();
  const reading = callEvery(1_000, () => void stream.read());
  t.teardown(() => {
    reading.cancel();
    stream.destroy();
  });
  return stream;
}

/** Streams that wait in a queue of that length, opened by processes of so many each; beyond that they are refused. */
async function manyWait(t: Test, count: number, opened: number): Promise<void> {
  const daemon = await testDaemon(t, [
    ...roomy,
    "--set",
    "search.concurrent=4",
    "--set",
    `search.queue=${count}`,
    "--set",
    "search.maxTimeoutSeconds=600",
  ]);
  await daemon.add("host/large", largeSource(t).path);
  const path = searchPath("count:1 needle");
  const first = new ClientProcess(t);
  await first.run({ kind: "hold", port: portOf(daemon), path, count: 100, addressCount: 100 });
  await first.leave();
  const holders = await Promise.all([1, 2, 3, 4].map(() => holder(t, daemon)));
  await until("they run", async () => (await running(daemon)) === holders.length);
  // A daemon that has just started compiles code and opens shards, whoever connects.
  let settled = treeBytes(daemon.pid);
  await until("its memory is at rest", async () => {
    await sleep(1_000);
    const grown = treeBytes(daemon.pid) - settled;
    settled += grown;
    return grown < 1 << 20;
  });
  const [heldBefore, ownBefore] = [await daemon.heldBytes(), treeBytes(daemon.pid)];
  const processes = Array.from({ length: Math.ceil(opened / 10_000) }, () => new ClientProcess(t));
  const startedMs = monotonicMs();
  await Promise.all(
    processes.map((each) =>
      each.run({ kind: "hold", port: portOf(daemon), path, count: opened / processes.length, addressCount: 5_000 }),
    ),
  );
  const openedMs = monotonicMs() - startedMs;
  const tallies = async (): Promise<{ cut: number; failed: number; refused: number; answered: number }> =>
    (await Promise.all(processes.map((each) => each.tally()))).reduce(
      (sum, { cut, failed, statuses }) => ({
        cut: sum.cut + cut,
        failed: sum.failed + failed,
        refused: sum.refused + (statuses["503"] ?? 0),
        answered: sum.answered + (statuses["200"] ?? 0),
      }),
      { cut: 0, failed: 0, refused: 0, answered: 0 },
    );
  let waiting = 0;
  await until("all wait or are refused", async () => {
    waiting = await daemon.metric("trawl_searches_queued");
    return waiting + (await tallies()).refused >= opened;
  });
  const [held, own] = [
    ((await daemon.heldBytes()) - heldBefore) / waiting,
    (treeBytes(daemon.pid) - ownBefore) / waiting,
  ];
  const watch = new ProcessorWatch(daemon.pid);
  const health: TimesSince[] = [];
  for (const _ of rounds(50)) {
    watch.start();
    await daemon.get("/healthz");
    health.push(watch.since());
  }
  for (const stream of holders) stream.destroy();
  await until("all that waited are answered", async () => (await tallies()).answered === waiting);
  const { cut, failed, refused } = await tallies();
  t.same([cut, failed], [0, 0], "none is cut, and each connects");
  t.equal(waiting + refused, opened);
  // The four streams that run hold up to 2 MiB each, which come and go, and are a large part where few streams wait.
  t.ok(held <= (isFull ? 8 : 40) * 1024, `${held.toFixed(0)} bytes each`);
  if (isFull) t.ok(own <= 8 * 1024, `${own.toFixed(0)} bytes each by the system's count`);
  await until("it is idle", async () => (await daemon.metric("trawl_streams_open")) === 0);
  record(
    4,
    `${opened} streams from 5,000 addresses with a queue of ${count}`,
    `opened in ${(openedMs / 1_000).toFixed(1)} s; ${waiting} queued, using ${(held / 1024).toFixed(1)} KiB each in heap and buffers and ` +
      `${(own / 1024).toFixed(1)} KiB of process memory, all answered later; ${refused} refused with 503; none disconnected; a new connection is answered within ${figureOf(health.map(({ wallMs }) => wallMs))}, ` +
      `of which waiting for a CPU: ${figureOf(health.map(({ waitedMs }) => waitedMs))}`,
  );
}

t.test("waiting streams, and as many more", { timeout: 900_000 }, (t) =>
  manyWait(t, scaled(300, 10_000), 2 * scaled(300, 10_000)),
);

t.test("more streams than there are descriptors", { timeout: 900_000, skip: !isFull }, (t) =>
  manyWait(t, 20_000, 20_000),
);

t.test("exhaustive searches during interactive ones", { timeout: 600_000 }, async (t) => {
  const daemon = await testDaemon(t, roomy);
  await daemon.add("host/busy", busySource(t).path);
  const others = new ClientProcess(t);
  const times = { quiet: [] as number[], beside: [] as number[] };
  const measure = async (into: number[], count: number): Promise<void> => {
    for (let i = 0; i < count; i++) into.push((await ask(daemon, `count:20 ${needle}`)).ms);
  };
  await measure([], 30);
  // In turns, as other work on the machine comes and goes.
  for (const _ of rounds(scaled(1, 20))) {
    await measure(times.quiet, scaled(30, 50));
    void others.run({
      kind: "repeat",
      port: portOf(daemon),
      path: searchPath("count:all /[a-w]+ [a-w]+ [0-9]/"),
      count: 8,
      addressCount: 8,
    });
    await until("eight run", async () => (await running(daemon)) === 8);
    await measure(times.beside, scaled(30, 50));
    await others.leave();
    await until("none runs", async () => (await running(daemon)) === 0);
  }
  const { statuses } = await others.tally();
  t.ok(quantile(times.beside, 0.5) < 1_000, "interactive searches are answered soon");
  t.same(
    Object.keys(statuses).filter((status) => status !== "200"),
    [],
    "none is refused",
  );
  record(
    3,
    "interactive searches beside eight clients with exhaustive searches",
    `${times.beside.length} searches: time to first byte ${figureOf(times.beside)}; without the load, measured alternately: ${figureOf(times.quiet)}; ratio of ` +
      `median ${(quantile(times.beside, 0.5) / quantile(times.quiet, 0.5)).toFixed(1)}x, p99 ${(quantile(times.beside, 0.99) / quantile(times.quiet, 0.99)).toFixed(1)}x`,
  );
});
