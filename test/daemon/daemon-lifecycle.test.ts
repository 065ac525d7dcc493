/** The daemon as a process: starting, stopping, reloading, and what it rejects. */
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { errorMessage } from "../../src/base/errors.js";
import { callDaemon } from "../../src/cli/connection/control-client.js";
import { dataVersion } from "../../src/daemon/parts/data-version.js";
import {
  dataDirectory,
  DaemonProcess,
  eventsOf,
  preparedAhead,
  runCommand,
  testDaemon,
  textsOnly,
} from "../support/daemon.js";
import { chosen, inLongRuns, isFull, scaled } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { ask } from "../support/graphql.js";
import { fixture } from "../support/git-mirror.js";
import { linesWith, readCommit } from "../support/git-oracle.js";
import { becomes, until, within } from "../support/waiting.js";

const needle = "needle";

/** Of util-linux: runs a command in a terminal. */
const withoutScript = existsSync("/usr/bin/script") ? false : "/usr/bin/script is missing";

const fewThreads = [...textsOnly, "--set", "search.warmPercent=0", "--set", "workers=1"];

/** A repository of a few files that each contain the needle. */
function smallSource(t: Test, label = "small"): GitFixture {
  const source = fixture(t);
  source.commit({ branch: "main", files: { "a.txt": `${needle} ${label}\n`, "b.txt": `b\n${needle}\n` } });
  return source;
}

/** A repository whose results exceed the buffers of sockets. */
function largeSource(t: Test): GitFixture {
  const source = fixture(t);
  const line = `${needle} ${"x".repeat(180)}\n`;
  source.commit({
    branch: "main",
    files: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${i}.txt`, line.repeat(200)])),
  });
  return source;
}

/** A data directory with this text in its version file. */
function dataWithVersion(t: Test, version: string): string {
  const data = dataDirectory(t);
  writeFileSync(join(data, "version"), version);
  return data;
}

/** The daemon of the tests that leave it as they found it. A power loss left its version file without its bytes. */
const shared = await testDaemon(t, textsOnly, dataWithVersion(t, "\0\0"));
await shared.add("host/small", smallSource(t).path);

t.test("what cannot be prepared ahead is told, and ends nothing; with auth.public any address is taken", async (t) => {
  const limit = { DESCRIPTOR_LIMIT: "8" };
  const address = ["--listen", "0.0.0.0:0", "--set", "auth.public=true"];
  const daemon = await testDaemon(t, [...textsOnly, ...preparedAhead, ...address], dataDirectory(t), limit);
  t.match(daemon.url, /^http:\/\/0\.0\.0\.0:\d+$/);
  const isTold = (): boolean =>
    daemon.log.some(({ msg }) => /could not prepare for the first requests: EMFILE.*schema/.test(String(msg)));
  await until("the log tells it", () => isTold() || daemon.hasExited);
  execFileSync("prlimit", ["--pid", String(daemon.pid), "--nofile=1024:"]);
  t.match(await ask(daemon.url, "{ currentUser { username } }"), { data: { currentUser: null } });
});

t.test("two daemons on one data directory", async (t) => {
  const daemon = shared;
  const second = await runCommand("serve", "--data", daemon.data, "--listen", "127.0.0.1:0");
  t.equal(second.exitCode, 2);
  t.match(second.err, /^trawl: another trawld is running with the data in .*\n$/);
  t.equal((await daemon.search(needle)).found.length, 2, "the first one goes on");
});

/** What the daemon of a closed terminal has left. */
const left = dataDirectory(t);

t.test("a daemon in a terminal ends when the terminal is closed", { skip: withoutScript }, async (t) => {
  const bin = fileURLToPath(new URL("../../../bin/trawl", import.meta.url));
  const command = `exec ${[process.execPath, bin, "serve", "--data", left, "--listen", "127.0.0.1:0", ...fewThreads].join(" ")}`;
  const terminal = spawn("script", ["-qfc", command, "/dev/null"], { stdio: ["pipe", "pipe", "ignore"] });
  t.teardown(() => terminal.kill("SIGKILL"));
  let output = "";
  terminal.stdout.on("data", (part: Buffer) => {
    output += part.toString();
  });
  await until("it listens", () => output.includes("listening on http"));
  const url = /listening on (http:\S+)/.exec(output)?.[1] ?? "";
  t.equal((await fetch(`${url}/healthz`)).status, 200);
  terminal.kill("SIGKILL");
  await until("it has ended", () =>
    fetch(`${url}/healthz`).then(
      () => false,
      () => true,
    ),
  );
});

t.test("if several daemons start on the data that it left at the same time, one succeeds", async (t) => {
  const starts = await Promise.allSettled(
    Array.from({ length: scaled(2, 3) }, () => DaemonProcess.start(left, textsOnly)),
  );
  const running = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
  for (const daemon of running) await daemon.kill();
  t.equal(
    running.length,
    1,
    starts.map((start) => (start.status === "rejected" ? String(start.reason) : "running")).join("; "),
  );
});

const refusals: readonly (readonly [what: string, args: (t: Test) => string[], message: RegExp])[] = [
  [
    "an address that is not loopback",
    (t) => ["--data", dataDirectory(t), "--listen", "0.0.0.0:0"],
    /listen: 0\.0\.0\.0:0 is not a loopback address.*"auth": \{"public": true\}/,
  ],
  ["a port that is taken", (t) => ["--data", dataDirectory(t), "--listen", new URL(shared.url).host], /./],
  [
    "a data directory of a later version",
    (t) => ["--data", dataWithVersion(t, "99\n")],
    /has data of version 99, written by a later program, but this program supports 2/,
  ],
  [
    "a data directory that cannot be made",
    () => ["--data", "/dev/null/trawl"],
    /cannot use \/dev\/null\/trawl as data directory/,
  ],
  [
    "a configuration file that is not there",
    (t) => ["--data", dataDirectory(t), "--config", "/nonexistent.jsonc"],
    /nonexistent\.jsonc/,
  ],
];

t.test("rejected with one clear message and exit code 2", async (t) => {
  for (const [what, args, message] of chosen(
    refusals,
    "an address that is not loopback",
    "a port that is taken",
    "a configuration file that is not there",
  )) {
    const { exitCode, out, err } = await runCommand("serve", "--listen", "127.0.0.1:0", ...args(t));
    t.equal(exitCode, 2, what);
    t.equal(out, "");
    t.match(err, message);
    t.notMatch(err, /^\s+at /m, "no stack");
  }
});

// The bundle has validators that were made with it.
t.test("wrong values are refused on the command line, in the file and in requests", async (t) => {
  const config = join(
    t.testdir({ "trawl.jsonc": '{ "workers": "many", "repositories": [{ "name": "a" }] }' }),
    "trawl.jsonc",
  );
  const given = await runCommand("serve", "--listen", "127.0.0.1:0", "--set", "workers=none");
  t.match([given.exitCode, given.err], [2, /workers: must be/]);
  const { exitCode, err } = await runCommand("config", "check", config);
  t.match([exitCode, err], [2, /workers: must be[^]*"url" is missing/]);
  await t.rejects(shared.control("POST", "/.api/repos", { name: "a", url: "/a", branches: 3 }), /branches: must be/);
});

t.test("only its owner can access the control socket", async (t) => {
  t.equal(statSync(join(shared.data, "control.sock")).mode & 0o777, 0o600);
});

t.test("the trace counts a shard that the index rules out once, even if the search was prepared", async (t) => {
  const daemon = shared;
  await daemon.search(needle);
  for (const query of ["nowhere", "nowhere repo:has.path(a.txt)"]) {
    const progress = (await daemon.stream(query)).findLast(({ name }) => name === "progress");
    const { trace } = JSON.parse(progress?.data ?? "{}") as { trace: string };
    t.match((await daemon.get(new URL(trace).pathname)).text, /^shardsRuledOut: 1$/m, query);
  }
});

t.test("dead workers are replaced, and regexp searches still work", async (t) => {
  const daemon = shared;
  const ask = async (): Promise<readonly string[]> => (await daemon.search("ne+dle", "regexp")).found;
  const before = await ask();
  t.equal(before.length, 2);
  for (let round = 0; round < scaled(1, 2); round++) {
    await daemon.killWorkers();
    t.same(await ask(), before, `round ${round}`);
  }
  t.equal((await daemon.sync("host/small")).error, "", "the other pools go on, too");
});

t.test("SIGTERM with open streams, some of which are not read, and during a fetch and indexing", async (t) => {
  const source = largeSource(t);
  const daemon = await testDaemon(t, textsOnly);
  await daemon.add("host/large", source.path);
  const slow = await Promise.all(Array.from({ length: scaled(4, 20) }, () => daemon.openStream(needle)));
  const deaf = await Promise.all(Array.from({ length: scaled(2, 5) }, () => daemon.openStream(needle)));
  const streams = [...slow, ...deaf];
  for (const stream of streams) stream.pause();
  await until("searches run", async () => (await daemon.metric("trawl_searches_running")) === streams.length);
  const added = ["host/b", "host/c"].map((name) => daemon.add(name, source.path).catch(() => undefined));
  await until("they are known", async () => (await daemon.list()).length === 3);
  daemon.signal("SIGTERM");
  const ends = slow.map((stream) => eventsOf(stream));
  for (const events of await within(Promise.all(ends), "the ends of the streams")) {
    const [progress, done] = events.slice(-2);
    t.equal(done?.name, "done", "it ends properly");
    t.match(progress?.data, /"done":true.*the daemon is stopping/, "told why the result is not whole");
  }
  t.equal(await daemon.exit(), 0);
  for (const events of await within(Promise.all(deaf.map((stream) => eventsOf(stream))), "the ends of the streams")) {
    t.match(
      events.at(-2)?.data,
      /"done":true.*the daemon is stopping/,
      "the end is in the socket, and comes when the daemon is gone",
    );
    t.equal(events.at(-1)?.name, "done");
  }
  await within(Promise.all(added), "the ends of the additions");

  const again = await testDaemon(t, textsOnly, daemon.data);
  t.equal(await again.countFaults(), 0);
  await again.remove("host/large");
  for (const { name } of await again.list()) await again.remove(name);
  for (let round = 0; round < scaled(1, 10); round++) {
    const outcome = again.add("host/large", source.path).then(
      () => "added",
      (error: { code: string }) => error.code,
    );
    await until("it is known", async () => (await again.list()).length === 1);
    await again.remove("host/large");
    t.match(await outcome, /^(added|not-found)$/, "a repository is removed while it is being synced");
    t.same(await again.list(), []);
    t.same((await again.search(needle)).found, []);
  }
  t.equal(await again.countFaults(), 0);
  t.equal(await again.stop(), 0);
});

type Listed = readonly [name: string, source: { readonly path: string }];

t.test("reloads by SIGHUP and `trawl reload`; one that lacks most repositories deletes nothing at once", async (t) => {
  const [a, b, c] = ["a", "b", "c"].map((label) => smallSource(t, label));
  const data = dataDirectory(t);
  const config = `${data}.jsonc`;
  t.teardown(() => rmSync(config, { force: true }));
  const list = (...repositories: readonly Listed[]): string =>
    JSON.stringify({ repositories: repositories.map(([name, source]) => ({ name, url: source.path })) });
  const write = (text: string): void => writeFileSync(config, text);
  const configured = ["--config", config, ...textsOnly];
  const both = [
    ["host/a", a],
    ["host/b", b],
  ] as const;
  write(list(...both));
  let daemon = await testDaemon(t, configured, data);
  const names = async (): Promise<string> =>
    (await daemon.list())
      .map(({ name, state }) => `${name} ${state}`)
      .sort()
      .join(", ");
  await until("the first configuration holds", async () => (await names()) === "host/a searchable, host/b searchable");

  const twice = list(["host/a", a], ["host/a", b]);
  for (const bad of chosen(["{", '{"repositories": [{"name": "x"}]}', '{"listne": "127.0.0.1:1"}', twice], twice)) {
    const before = daemon.log.length;
    write(bad);
    daemon.signal("SIGHUP");
    await until("it says so", () =>
      daemon.log.slice(before).some((line) => String(line["msg"]).startsWith("the configuration was not changed: ")),
    );
    t.equal(await names(), "host/a searchable, host/b searchable", `kept: ${bad}`);
  }

  write(list(["host/b", { path: `${b.path}-not-there` }]));
  daemon.signal("SIGHUP");
  let shown = "";
  await until(
    () => `one is removed, and the new URL of the other cannot be fetched: ${shown}`,
    async () => {
      shown = await names();
      return (await daemon.list())[1]!.error !== "" && shown === "host/a removed, host/b searchable";
    },
  );
  await becomes(
    t,
    async () => (await daemon.search(needle)).found,
    linesWith("host/b", readCommit(b.path, "main"), needle),
    "what is removed is not searched, and the existing index stays searchable",
  );

  // What was removed comes back, one has another URL, and one is new.
  const three = [
    ["host/a", a],
    ["host/b", c],
    ["host/c", b],
  ] as const;
  write(list(...three));
  for (let i = 0; i < scaled(3, 50); i++) daemon.signal("SIGHUP");
  await until(
    () => `many reloads end as one does: ${shown} ${JSON.stringify(daemon.log.slice(-6))}`,
    async () => (shown = await names()) === "host/a searchable, host/b searchable, host/c searchable",
  );
  t.equal((await daemon.list()).length, 3);
  const found = three.flatMap(([name, { path }]) => linesWith(name, readCommit(path, "main"), needle)).sort();
  await becomes(t, async () => (await daemon.search(needle)).found, found, "all is searched");
  await until("all is well again", async () => (await daemon.list()).every(({ error }) => error === ""));

  const listWithQueue = (...repositories: readonly Listed[]): string =>
    JSON.stringify({ ...(JSON.parse(list(...repositories)) as object), search: { queue: 9 } });
  const mirrors = (): string[] => readdirSync(join(data, "mirrors")).sort();
  const states = async (): Promise<string> => (await daemon.list()).map(({ state }) => state).join(" ");
  const before = mirrors();
  write(listWithQueue());
  await t.rejects(
    daemon.control("POST", "/.api/reload", {}),
    /would remove 3 of 3 configured repositories \((?:host\/[abc](?:, )?){3}\).*trawl reload --yes/,
  );
  t.same((await daemon.search(needle)).found, found, "nothing has changed");
  await daemon.stop();

  daemon = await testDaemon(t, configured, data);
  t.same((await daemon.search(needle)).found, found, "nor does a start with an empty list");
  t.match(
    (await daemon.wholeLog()).filter(({ msg }) =>
      String(msg).startsWith("most repositories of a list are no longer in it"),
    ),
    [{ count: 3 }],
  );
  if (isFull) {
    write(list(...three));
    t.equal((await runCommand("reload", "--data", data)).exitCode, 0, "they are listed again");
    write(listWithQueue());
  }

  const meant = await runCommand("reload", "--yes", "--data", data);
  t.equal(meant.exitCode, 0, meant.err);
  t.match(meant.out, /^reloaded: 0 repositories/);
  t.equal(await states(), "removed removed removed");
  if (isFull)
    t.match((await runCommand("repo", "list", "--data", data)).out, /host\/a {2}removed .*deleted after 20\d\d-/);
  t.same((await daemon.search(needle)).found, [], "what is removed is not searched");
  t.same(mirrors(), before, "and is still there");
  t.equal((await daemon.get("/readyz")).text.includes("host/a"), false);
  await t.rejects(daemon.add("host/a", a.path), /was removed from the configuration but is not deleted yet/);
  await daemon.stop();
  if (isFull) {
    daemon = await testDaemon(t, textsOnly, data);
    t.equal(await states(), "removed removed removed", "without a list nothing changes");
    await daemon.stop();
  }

  write(listWithQueue(...three.slice(0, 2)));
  daemon = await testDaemon(t, [...configured, "--set", "sync.removalGraceDays=0"], data);
  t.match(await states(), /^searchable searchable/, "what comes back is whole at once");
  t.same(
    (await daemon.search(needle)).found,
    found.filter((line) => !line.startsWith("host/c")),
  );
  await until(
    "the grace period has ended",
    async () => (await states()) === "searchable searchable" && mirrors().length === 2,
  );
});

t.test("a reload while the daemon starts is not undone by what it started with", async (t) => {
  const [a, b] = [smallSource(t, "a"), smallSource(t, "b")];
  const data = dataDirectory(t);
  const config = `${data}.jsonc`;
  t.teardown(() => rmSync(config, { force: true }));
  const write = (...names: readonly ("a" | "b")[]): void =>
    writeFileSync(config, JSON.stringify({ repositories: names.map((name) => ({ name, url: { a, b }[name].path })) }));
  write("a");
  const started = testDaemon(t, ["--config", config, ...textsOnly], data);
  const reload = { method: "POST", path: "/.api/reload", body: { yes: true }, progress: () => undefined } as const;
  // The control socket is there before anything is loaded, and the configuration has been read by then.
  await until("it starts, or has started meanwhile", () =>
    callDaemon(data, reload).then(
      () => true,
      (error: unknown) => errorMessage(error).includes("the daemon is starting"),
    ),
  );
  write("a", "b");
  await until("it reloads", () =>
    callDaemon(data, reload).then(
      () => true,
      () => false,
    ),
  );
  const daemon = await started;
  t.same((await daemon.list()).map(({ name }) => name).sort(), ["a", "b"], "the list of the reload holds");
});

t.test("trawl config check", async (t) => {
  const file = `${dataDirectory(t)}.jsonc`;
  t.teardown(() => rmSync(file, { force: true }));
  writeFileSync(file, '{"repositories": [{"name": "host/a", "url": "/srv/a.git"}]}');
  const good = await runCommand("config", "check", file);
  t.same([good.exitCode, good.out], [0, `${file} is valid: 1 repositories, 0 contexts\n`]);
  writeFileSync(file, '{\n"listne": 1}');
  const bad = await runCommand("config", "check", file);
  t.equal(bad.exitCode, 2);
  t.match(bad.err, /:2: .*listen/);
});

t.test("of two simultaneous adds of one name, one is rejected", async (t) => {
  const [a, b] = [smallSource(t, "a"), smallSource(t, "b")];
  const daemon = shared;
  const adds = await Promise.allSettled([daemon.add("host/same", a.path), daemon.add("host/same", b.path)]);
  t.same(adds.map((add) => add.status).sort(), ["fulfilled", "rejected"]);
  t.equal((await daemon.list()).length, 2);
  const winner = adds[0]?.status === "fulfilled" ? a : b;
  t.same(
    (await daemon.search(`repo:same ${needle}`)).found,
    linesWith("host/same", readCommit(winner.path, "main"), needle),
  );
  await daemon.remove("host/same");
});

t.test("a data directory without write permission", async (t) => {
  if (process.getuid?.() === 0) {
    t.comment("skipped: root may write everywhere");
    return;
  }
  const data = dataDirectory(t);
  chmodSync(data, 0o500);
  const { exitCode, err } = await runCommand("serve", "--data", data, "--listen", "127.0.0.1:0");
  t.equal(exitCode, 2);
  t.match(err, /cannot use .* as data directory/);
});

t.test("a version file that a power loss left without its bytes is written again", async (t) => {
  t.equal(readFileSync(join(shared.data, "version"), "utf8"), `${dataVersion}\n`);
});

t.test("so is one that a crash left empty", inLongRuns, async (t) => {
  const daemon = await testDaemon(t, textsOnly, dataWithVersion(t, ""));
  t.equal(readFileSync(join(daemon.data, "version"), "utf8"), `${dataVersion}\n`);
  t.equal(await daemon.stop(), 0);
});

// fault-disk has one of each kind; here, the file system of the system itself is full.
t.test("a full disk", inLongRuns, async (t) => {
  const mount = dataDirectory(t);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m", "trawl-test", mount], { stdio: "pipe" });
  } catch (error) {
    t.comment(
      `skipped: a small file system is needed, and mounting one is not allowed here (${String(error).split("\n")[0]})`,
    );
    return;
  }
  t.teardown(() => execFileSync("umount", ["-l", mount]));
  const data = join(mount, "data");
  mkdirSync(data);
  const source = smallSource(t);
  const daemon = await testDaemon(t, textsOnly, data);
  await daemon.add("host/small", source.path);
  const before = linesWith("host/small", readCommit(source.path, "main"), needle);

  // Small in git, but large in a shard.
  const huge = Object.fromEntries(
    Array.from({ length: 6 }, (_, i) => [`huge/${i}.txt`, `${i} is a line of text\n`.repeat(150_000)]),
  );
  source.commit({ branch: "main", files: huge });
  await t.rejects(
    daemon.sync("host/small"),
    { code: "storage", message: /cannot write shards: no space left on the disk/ },
    "the sync fails, and says why",
  );
  t.match((await daemon.list())[0], { state: "searchable", error: /no space left on the disk/ }, "so does the list");
  const during = await daemon.search(needle);
  t.same([during.found, during.skipped], [before, []], "the last generation is searched");

  const filler = join(mount, "filler");
  execFileSync("sh", ["-c", `cat /dev/zero >${filler} 2>/dev/null || true`]);
  const full = await daemon.search(needle);
  t.same([full.found, full.skipped], [before, []], "and with not one byte left");
  await t.rejects(daemon.add("host/other", source.path), "nothing can be added");
  t.equal((await daemon.get("/healthz")).status, 200);

  execFileSync("rm", [filler]);
  source.commit({
    branch: "main",
    files: {
      ...Object.fromEntries(Object.keys(huge).map((path) => [path, { deleted: true } as const])),
      "c.txt": `${needle} c\n`,
    },
    orphan: true,
  });
  await until("with room again it goes on", async () => {
    await daemon.sync("host/small").catch(() => undefined);
    return (await daemon.search("needle c")).found.length === 1;
  });
  t.equal(await daemon.countFaults(), 0);
  t.equal(await daemon.stop(), 0);
});
