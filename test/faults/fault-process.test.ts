/**
 * What befalls the process beside its disk: readers of a store that are killed, reloads in a row, a clock that jumps,
 * descriptors that are used up, and children that the kernel kills for want of memory.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { dataDirectory, testDaemon, preparedAhead } from "../support/daemon.js";
import { FaultLayer, layerMissing, realDirectory } from "../support/fault-layer.js";
import { quantile, record, rounds, scaled } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { StoreProcess } from "../support/store-process.js";
import { until } from "../support/waiting.js";

const needle = "needle";
const options = ["--set", "workers=1", "--set", "index.workers=1"];

function source(t: Test, label: string) {
  const git = fixture(t);
  git.commit({ branch: "main", files: { [`${label}.txt`]: `${needle} of ${label}\n` } });
  return git;
}

t.test("killed readers of a store", { timeout: 3_600_000 }, async (t) => {
  const folder = dataDirectory(t);
  const sizes: number[] = [];
  const timesMs: number[] = [];
  for (const round of rounds(scaled(10, 200))) {
    const startedMs = monotonicMs();
    const reader = await StoreProcess.start("shards", folder);
    if ((await reader.ask(`${round % 5}`)) !== "written true") t.fail(`round ${round}: a value is written`);
    timesMs.push(monotonicMs() - startedMs);
    const others = await reader.ask("readers");
    if (others !== "") t.fail(`round ${round}: slots of readers that are dead: ${others}`);
    await reader.ask("hold");
    await reader.end();
    sizes.push(statSync(join(folder, "data.mdb")).size);
  }
  const [middle, last] = [sizes[Math.floor(sizes.length / 2)]!, sizes.at(-1)!];
  t.ok(last <= 1.6 * middle, `the file does not grow: ${middle} bytes, then ${last}`);
  record(
    13,
    "kill -9 of a process that is reading and writing a store",
    `${sizes.length} times: its reader slots are free at the next start, whose first write succeeds after ${quantile(timesMs, 0.5).toFixed(0)} ms ` +
      `(median, including Node startup); file size ${middle} bytes halfway and ${last} at the end`,
  );
});

t.test("repeated reloads, including invalid ones", { timeout: 3_600_000 }, async (t) => {
  const sources = ["a", "b", "c"].map((label) => ({ name: `host/${label}`, url: source(t, label).path }));
  const data = dataDirectory(t);
  const config = `${data}.jsonc`;
  t.teardown(() => rmSync(config, { force: true }));
  const write = (count: number): void =>
    writeFileSync(config, JSON.stringify({ repositories: sources.slice(0, count) }));
  write(3);
  const daemon = await testDaemon(t, ["--config", config, ...options, ...preparedAhead], data);
  const states = async (): Promise<string> => (await daemon.list()).map(({ state }) => state).join(" ");
  await until("all are searchable", async () => (await states()) === "searchable searchable searchable");
  const descriptors = (): number => readdirSync(`/proc/${daemon.pid}/fd`).length;
  const before = descriptors();
  // Threads start and end meanwhile; the event loop of each has one epoll descriptor, and at most four more.
  const loops = (): number => linksOf(`/proc/${daemon.pid}/fd`).filter((link) => link.includes("eventpoll")).length;
  const loopsBefore = loops();
  const allowed = (): number => before + 3 + 5 * Math.max(0, loops() - loopsBefore);
  const counted = (): string =>
    `${descriptors()} descriptors and ${loops()} loops; ${before} and ${loopsBefore} before`;
  const bad = [
    "{",
    '{"listne": 1}',
    JSON.stringify({ repositories: [...sources, sources[0]] }),
    '{"search": {"queue": -1}}',
  ];
  const counts = { good: 0, bad: 0 };
  let expected = await states();
  for (const round of rounds(scaled(12, 1_000))) {
    const isBad = round % 4 === 3;
    if (isBad) writeFileSync(config, bad[(round >> 2) % bad.length]!);
    else write(round % 2 === 0 ? 2 : 3);
    const outcome = await daemon.control("POST", "/.api/reload", {}).then(
      () => "taken",
      () => "refused",
    );
    if (outcome !== (isBad ? "refused" : "taken")) t.fail(`reload ${round} is ${outcome}`);
    if (!isBad) expected = `searchable searchable ${round % 2 === 0 ? "removed" : "searchable"}`;
    const now = await states();
    if (now !== expected) t.equal(now, expected, `after reload ${round}`);
    counts[isBad ? "bad" : "good"]++;
  }
  write(3);
  await daemon.control("POST", "/.api/reload", {});
  await until("all is found", async () => (await daemon.search(needle)).found.length === 3);
  await until(
    () => `no descriptor stays: ${counted()}`,
    () => descriptors() <= allowed(),
  );
  record(
    17,
    "reloads that each remove or add a repository, or are rejected",
    `${counts.good} accepted, ${counts.bad} rejected without effect; descriptors ${before} before, ${descriptors()} after`,
  );
});

/** What the links of a folder refer to; those that vanish meanwhile are left out. */
function linksOf(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))];
    } catch {
      return [];
    }
  });
}

t.test("a jumping clock", { skip: layerMissing, timeout: 600_000 }, async (t) => {
  const git = source(t, "a");
  const data = realDirectory(t);
  const layer = new FaultLayer(t, data, { journals: false });
  const daemon = await testDaemon(t, options, data, layer.environment);
  await daemon.add("host/a", git.path);
  const token = async (note: string): Promise<{ readonly text: string }> =>
    (await daemon.control("POST", "/.api/tokens", { user: "admin", scopes: ["user:all"], note, expires: "1d" })) as {
      text: string;
    };
  const [kept, revoked] = [await token("kept"), await token("revoked")];
  const statusOf = async ({ text }: { readonly text: string }): Promise<number> =>
    (await fetch(`${daemon.url}/.api/search/stream?q=${needle}`, { headers: { authorization: `token ${text}` } }))
      .status;
  const shown = (
    (await daemon.control("GET", "/.api/tokens")) as readonly { readonly id: number; readonly note: string }[]
  ).find(({ note }) => note === "revoked");
  await daemon.control("DELETE", `/.api/tokens/${shown?.id}`);
  const second = 1_000;
  const day = 86_400 * second;
  const jumps = [day / 2, 0, -day, -second, second, 0, 3 * day, 0, -400 * day, 0];
  let ownSyncs = await daemon.metric("trawl_syncs_total");
  const startedMs = monotonicMs();
  for (const round of rounds(scaled(jumps.length, 100))) {
    const aheadMs = jumps[round % jumps.length]!;
    const found = daemon.stream(needle);
    layer.setClock(aheadMs);
    for (const events of [await found, await daemon.stream(needle)]) {
      t.match(
        events.map(({ name }) => name),
        /matches/,
        "found",
      );
      const durations = events.flatMap(({ data }) =>
        [...data.matchAll(/"durationMs":(-?\d+)/g)].map(([, ms]) => Number(ms)),
      );
      if (!durations.every((ms) => ms >= 0 && ms < 60_000)) t.fail(`durations of ${durations.join()} at ${aheadMs}`);
    }
    git.commit({ branch: "main", files: { "b.txt": `${needle} ${round}\n` } });
    await daemon.sync("host/a");
    ownSyncs++;
    t.equal(
      await statusOf(kept),
      aheadMs > day ? 401 : 200,
      `a token of a day when the clock is ${aheadMs / day} days ahead`,
    );
    t.equal(await statusOf(revoked), 401, "one that was revoked stays so");
  }
  // The interval between two syncs is 30 s or more.
  const byItself = (await daemon.metric("trawl_syncs_total")) - ownSyncs;
  t.ok(
    byItself <= 2 + (monotonicMs() - startedMs) / 10_000,
    `no storm of timers: ${byItself} syncs that nobody asked for`,
  );
  t.ok(
    (await daemon.wholeLog()).every((line) =>
      Object.entries(line).every(([name, value]) => !/ms$/i.test(name) || Number(value) >= 0),
    ),
    "no negative duration in the log",
  );
  record(
    18,
    "the system clock jumps by between +3 and -400 days while the daemon runs",
    `${jumps.length} kinds of jumps: no negative duration, ${byItself} unrequested syncs, revoked tokens stay revoked`,
  );
});

/** The limit on descriptors of a running process; `undefined` lifts it. */
function limitDescriptors(pid: number, count: number | undefined): void {
  execFileSync("prlimit", ["--pid", String(pid), `--nofile=${count ?? 1024}:`]);
}

t.test(
  "descriptors are used up",
  { skip: existsSync("/usr/bin/prlimit") ? false : "no prlimit", timeout: 600_000 },
  async (t) => {
    const git = source(t, "a");
    const daemon = await testDaemon(t, options);
    await daemon.add("host/a", git.path);
    t.same((await daemon.search(needle)).found, ["host/a:a.txt:1"]);
    const counts = { rounds: 0, refusedSyncs: 0, connections: 0 };
    for (const round of rounds(scaled(1, 20))) {
      counts.rounds++;
      limitDescriptors(daemon.pid, readdirSync(`/proc/${daemon.pid}/fd`).length + 2 + (round % 3));
      const url = new URL(daemon.url);
      const sockets = Array.from({ length: 30 }, () =>
        connect(Number(url.port), url.hostname).on("error", () => undefined),
      );
      counts.connections += sockets.length;
      git.commit({ branch: "main", files: { "a.txt": `${needle} of a\n${`${needle}\n`.repeat(1 + (round % 3))}` } });
      const synced = daemon.sync("host/a").then(
        () => true,
        () => false,
      );
      await Promise.race([synced, sleep(2_000)]);
      t.equal(daemon.hasExited, false, "the process lives");
      limitDescriptors(daemon.pid, undefined);
      for (const socket of sockets) socket.destroy();
      if (!(await synced)) counts.refusedSyncs++;
      let refusal = "";
      await until(
        () => `it syncs again, which was refused: ${refusal}`,
        async () =>
          daemon.sync("host/a").then(
            () => true,
            (error: Error) => {
              refusal = error.message;
              return false;
            },
          ),
      );
      t.equal((await daemon.search(needle)).found.length, 2 + (round % 3), "what is found is right");
      t.equal(await daemon.countFaults(), 0, "nothing is corrupt");
    }
    record(
      19,
      "a descriptor limit with room for two to four more, with 30 connections",
      `${counts.rounds} times: the process survives, ${counts.refusedSyncs} syncs fail meanwhile, and everything works afterwards`,
    );
  },
);

t.test("git children killed by the kernel's OOM killer", { timeout: 600_000 }, async (t) => {
  const git = source(t, "a");
  const folder = realDirectory(t);
  const flag = join(folder, "kill");
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  writeFileSync(
    join(folder, "git"),
    `#!/bin/sh\nif [ -e '${flag}' ] && case "$*" in *"$(cat '${flag}')"*) true;; *) false;; esac; then kill -9 $$; fi\nexec '${real}' "$@"\n`,
  );
  chmodSync(join(folder, "git"), 0o755);
  const daemon = await testDaemon(t, options, dataDirectory(t), { PATH: `${folder}:${process.env["PATH"]}` });
  await daemon.add("host/a", git.path);
  const errors: string[] = [];
  for (const round of rounds(scaled(4, 40))) {
    const command = ["ls-remote", "fetch", "for-each-ref", ""][round % 4]!;
    git.commit({ branch: "main", files: { "b.txt": `${needle} ${round}\n` } });
    writeFileSync(flag, command);
    const error = await daemon.sync("host/a").then(() => "", String);
    // What can be done in another way succeeds.
    if (error === "") t.not(command, "ls-remote", "without the refs of the remote there is no sync");
    else errors.push(error);
    if (error !== "") t.match(error, /SIGKILL|killed/, `git ${command}`);
    t.match((await daemon.search(needle)).found, ["host/a:a.txt:1"], "searches go on");
    rmSync(flag);
    await daemon.sync("host/a");
    t.same((await daemon.search(needle)).found, ["host/a:a.txt:1", "host/a:b.txt:1"], "the next sync succeeds");
  }
  t.ok(errors.length > 1, `${errors.length} syncs failed`);
  record(
    19,
    "kill -9 of git children, as by the OOM killer",
    `${errors.length} syncs whose git was killed reported it, searches continued, and the next sync succeeded`,
  );
});
