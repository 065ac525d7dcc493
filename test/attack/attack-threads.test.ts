/**
 * Threads of a live daemon that do not come back: they are ended and replaced, and everybody else is served meanwhile.
 */
import t, { type Test } from "tap";
import { monotonicMs } from "../../src/base/deadline.js";
import { repeatedBounds, underAttack } from "../support/attack.js";
import { dataDirectory, DaemonProcess } from "../support/daemon.js";
import { isFull, record, rounds, scaled } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { until } from "../support/waiting.js";

const variables = { THREAD_HOOK: new URL("../support/thread-hook.js", import.meta.url).href };

/** One ingest worker: nobody else could index while it hangs. Two others of each kind hang both. */
const single = [
  "--set",
  "index.workers=1",
  "--set",
  `index.maxHeapBytes=${48 << 20}`,
  "--set",
  "workers=2",
  "--set",
  "readers=2",
  "--set",
  "graphql.timeoutSeconds=1",
  "--set",
  "index.symbols=false",
  "--set",
  "index.historyBytes=0",
];

/** A thread that sleeps hangs like one that runs, and takes no processor meanwhile. */
const hang = isFull ? "spin" : "sleep";

function source(t: Test, files: Readonly<Record<string, string>>): GitFixture {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files });
  return fixture;
}

async function lost(daemon: DaemonProcess, pool: string, reason: string): Promise<number> {
  const { text } = await daemon.get("/metrics");
  const row = text
    .split("\n")
    .find((line) => line.startsWith(`trawl_workers_lost_total{pool="${pool}",reason="${reason}"}`));
  return row === undefined ? 0 : Number(row.slice(row.lastIndexOf(" ")));
}

async function quarantineOf(daemon: DaemonProcess, name: string): Promise<readonly string[]> {
  return (await daemon.list()).find((status) => status.name === name)?.quarantine ?? [];
}

const data = dataDirectory(t);

/** Of all tests; the first one starts it again. */
let daemon: DaemonProcess;
t.teardown(() => daemon.kill());

t.test("a file that hangs, and one that exhausts the heap, cost themselves only, also after a restart", async (t) => {
  const hostile = source(t, {
    "a.txt": "needle\n",
    "b.inc": `attack:${isFull ? "regexp" : "sleep"}\n`,
    "c.txt": "attack:heap\n",
    "d.txt": "needle\n",
  });
  const others = Array.from({ length: 2 }, (_, i) => source(t, { "a.txt": `needle ${i}\n` }));
  const repositories = [hostile, ...others].flatMap(({ path }, i) => ["--repository", `host/r${i}=${path}`]);
  daemon = await DaemonProcess.start(data, [...single, ...repositories], variables);
  const startedMs = monotonicMs();
  // Threads hang for many seconds until they are given up.
  const areSearchable = async () => (await daemon.list()).every(({ state }) => state === "searchable");
  await until("all are searchable", areSearchable, undefined, 500);
  t.comment(`searchable after ${Math.round(monotonicMs() - startedMs)} ms`);
  const found = ["host/r0:a.txt:1", "host/r0:d.txt:1", ...others.map((_, i) => `host/r${i + 1}:a.txt:1`)];
  t.same((await daemon.search("needle")).found, found, "the rest of the repository, and the others");
  t.same((await daemon.search("type:path file:b.inc")).found, ["host/r0:b.inc"], "the file by its name");
  // On a busy machine a thread may be given up before it has filled its heap.
  t.match(await quarantineOf(daemon, "host/r0"), [
    /^b\.inc \(blob [0-9a-f]{40}\).*did not finish/,
    isFull ? /^c\.txt .*memory/ : /^c\.txt .*(memory|did not finish)/,
  ]);
  t.match(
    (await daemon.search("needle")).progress?.skipped,
    [{ reason: "document-skipped", message: /host\/r0/ }],
    "searches say so",
  );
  const [stalled, exhausted] = [await lost(daemon, "ingest", "stalled"), await lost(daemon, "ingest", "memory")];
  if (isFull) t.same([stalled, exhausted], [1, 2]);
  else t.ok(stalled >= 1 && stalled + exhausted >= 2, `${stalled} stalled, ${exhausted} without memory`);
  t.equal(await daemon.metric("trawl_quarantined"), 2);
  t.equal(await daemon.stop(), 0);

  daemon = await DaemonProcess.start(data, [...single, ...repositories], variables);
  hostile.commit({ branch: "main", files: { "e.txt": "needle\n" } });
  await daemon.sync("host/r0");
  t.equal((await daemon.search("needle repo:r0")).found.length, 3, "what came later is indexed");
  t.equal((await quarantineOf(daemon, "host/r0")).length, 2, "the record is still there");
  t.equal(await daemon.metric("trawl_workers_lost_total"), 0, "nothing was tried again");
  hostile.commit({ branch: "main", files: { "b.inc": "needle\n" } });
  await daemon.sync("host/r0");
  t.equal((await daemon.search("needle repo:r0 file:b.inc")).found.length, 1, "another content at the same path");
});

t.test("searches and reads that hang", async (t) => {
  // So large that the hook does not look at it, so that the index does not rule it out for the searches that hang.
  const large = `attack:${hang} attack:sleep ${".".repeat(2_000)}`;
  await daemon.add("host/small", source(t, { "a.txt": "needle\n", large }).path);
  await underAttack(t, daemon, repeatedBounds, "a search", async () => {
    const lostBefore = await lost(daemon, "search", "overrun");
    const hung = daemon.search(`attack:${hang} timeout:1s`);
    t.same(
      (await daemon.search("repo:small needle")).found,
      ["host/small:a.txt:1"],
      "another search is answered meanwhile",
    );
    t.not((await hung).progress?.skipped.length, 0, "the answer says that it is not whole");
    await until("a client leaves a search that hangs, and its thread is replaced", async () => {
      const stream = await daemon.openStream("attack:sleep");
      // By then it has a thread, unless that was just replaced.
      await daemon.search("repo:small needle");
      stream.destroy();
      await until("it ends", async () => (await daemon.metric("trawl_searches_running")) === 0);
      return (await lost(daemon, "search", "overrun")) >= lostBefore + 2;
    });
  });
  await underAttack(t, daemon, repeatedBounds, "a read", async () => {
    const lostBefore = await lost(daemon, "read", "overrun");
    const hung = [
      daemon.get(`/host/small/-/raw/attack:${hang}`),
      daemon.get(`/host/small/-/raw/attack:${isFull ? "regexp" : "sleep"}`),
    ];
    for (const { status } of await Promise.all(hung)) t.ok(status >= 400, `${status}`);
    await until("both threads are replaced", async () => (await lost(daemon, "read", "overrun")) >= lostBefore + 2);
    // Reads have one second, in which a thread may not have started yet.
    await until("reads are answered", async () => (await daemon.get("/host/small/-/raw/a.txt")).text === "needle\n");
  });
  t.same((await daemon.search("repo:small needle")).found, ["host/small:a.txt:1"]);
});

/** Modules that a thread loads must not care how many threads before it had them. */
const roundCount = scaled(1, 200);

t.test(
  "all threads of each kind are ended and replaced again and again in one process while others work",
  async (t) => {
    await daemon.add("host/other", source(t, { "a.txt": "needle\n" }).path);
    const search = () => daemon.search("repo:host/other ne+dle", "regexp");
    const before = (await search()).found;
    let endedCount = 0;
    for (const round of rounds(roundCount)) {
      endedCount = round + 1;
      await Promise.all([
        daemon.killWorkers(),
        search(),
        daemon.get("/host/other/-/raw/a.txt"),
        daemon.sync("host/other").catch(() => undefined),
      ]);
    }
    t.same((await search()).found, before);
    // Reads have one second, in which the last thread may not have started yet.
    await until("reads are answered", async () => (await daemon.get("/host/other/-/raw/a.txt")).text === "needle\n");
    t.equal(daemon.hasExited, false);
    record(
      14,
      "all worker threads ended at once, while searches, reads and syncs go on",
      `${endedCount} times: all are answered again, the process lives`,
    );
  },
);
