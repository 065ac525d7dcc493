/**
 * Resumable streams: each result exactly once, in the state in which the search began, although the connection breaks,
 * the daemon is killed, and repositories change meanwhile. `SEED` for another sequence.
 */
import { open } from "node:fs/promises";
import { appendFileSync, readdirSync, statSync, truncateSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { once } from "node:events";
import { sleep } from "../../src/base/deadline.js";
import { hasEnd } from "../../src/resume/stream-file.js";
import {
  type DaemonProcess,
  DaemonProcess as Daemon,
  dataDirectory,
  runCommand,
  withSymbols,
} from "../support/daemon.js";
import { isFull, record, rounds, scaled } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";
import { seed } from "../support/property.js";
import { randomFrom } from "../support/random.js";
import { describeMatch, StreamClient } from "../support/resumed-stream.js";
import { until } from "../support/waiting.js";

const killCount = scaled(1, 1_000);
/** How often the daemon ends; a long run has no limit. Each end costs a start and a sync. */
const endsMax = isFull ? Infinity : killCount + 1;
/** Of every eight ends this one is a stop, the others are kills. */
const stopAt = 1;
/** Each change is a sync of each repository with two branches, symbols and a history, which is what takes long here. */
const repositoryCount = isFull ? 5 : 3;
const fileCount = isFull ? 60 : 40;

type Random = (below: number) => number;

/** All types of results, and several revisions, of which `v1` is not indexed. */
const queries = [
  "needle count:all",
  "needle repo:host rev:main:dev:v1 count:all",
  "type:symbol needle count:all",
  "type:symbol needle repo:host rev:v1 count:all",
  "type:path c count:all",
  "type:commit change count:all",
  "type:diff needle count:all",
  "(needle or type:diff needle or type:repo host) count:all",
  "file:c count:all",
] as const;

/** What the last query is searched for with. */
const patterns = ["needle_a1_", "return 7", "int "];

function files(what: string, random: Random): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: fileCount }, (_, i) => [
      `d${i % 3}/f${i}.c`,
      Array.from({ length: 20 }, (_, line) => `int needle_${what}_${line}(int x) { return ${random(1000)}; }\n\n`).join(
        "",
      ),
    ]),
  );
}

class Site {
  readonly #sources: readonly GitFixture[];
  readonly #random: Random;
  #changeCount = 0;

  constructor(t: Test, random: Random) {
    this.#random = random;
    this.#sources = Array.from({ length: repositoryCount }, () => fixture(t));
    for (const [i, source] of this.#sources.entries()) {
      source.commit({ branch: "main", files: files(`a${i}`, random), message: "change 0" });
      source.updateRef("refs/tags/v1", source.git("rev-parse", "main"));
      source.updateRef("refs/heads/dev", source.git("rev-parse", "main"));
      for (let n = 1; n < 6; n++) this.#change(source);
    }
  }

  #change(source: GitFixture): void {
    const n = ++this.#changeCount;
    for (const branch of ["main", "dev"])
      source.commit({
        branch,
        files: {
          [`d${this.#random(3)}/f${this.#random(fileCount)}.c`]: `int needle_${n}(void);\n`,
          "new.c": `int needle${n};\n`,
        },
        message: `change ${n}`,
      });
  }

  async add(daemon: DaemonProcess): Promise<void> {
    await Promise.all(this.#sources.map(({ path }, i) => daemon.add(`host/r${i}`, path, ["main", "dev"])));
  }

  /** Changes some repositories. */
  push(): void {
    for (const source of this.#sources) if (this.#random(2) === 0) this.#change(source);
  }

  async sync(daemon: DaemonProcess): Promise<void> {
    await Promise.all(this.#sources.map((_, i) => daemon.sync(`host/r${i}`)));
  }
}

async function symbolsKnown(daemon: DaemonProcess): Promise<void> {
  const isKnown = async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0;
  await until("the symbols are known", isKnown, undefined, 50);
}

/** Whether the search of the only stream was interrupted. */
async function isInterrupted(data: string, name: string): Promise<boolean> {
  const folder = join(data, "resume");
  const found = readdirSync(folder).find((file) => file.startsWith(name));
  if (found === undefined) return false;
  const file = await open(join(folder, found), "r");
  try {
    return !(await hasEnd(file, statSync(join(folder, found)).size));
  } finally {
    await file.close();
  }
}

const random = randomFrom(seed);
const site = new Site(t, random);
const data = dataDirectory(t);
/** With them, streams can be too large, or too many. Half of the bytes are for one stream. */
const resumeBytes = isFull ? 8_000_000 : 3_000_000;
const limits = ["--set", `resume.bytes=${resumeBytes}`, "--set", "resume.countMax=40"];
const args = [...withSymbols, "--set", "workers=2"];
const limitedArgs = [...args, ...limits];
/** One daemon for all tests, which end it, and start it again. */
let daemon: DaemonProcess;

t.before(async () => {
  daemon = await Daemon.start(data, isFull ? args : limitedArgs);
  await site.add(daemon);
});
t.teardown(() => daemon.kill());

t.test(
  `${killCount} kill${killCount === 1 ? "" : "s"} while streams are written and resumed`,
  { timeout: 14_400_000 },
  async (t) => {
    t.comment(`SEED=${seed}`);
    const counts = { kills: 0, interrupted: 0, breaks: 0, streams: 0, results: 0, pushes: 0, restarts: 0 };
    for (const round of rounds(1_000_000)) {
      if (counts.kills >= killCount && counts.streams >= queries.length) break;
      await symbolsKnown(daemon);
      const query = queries[round % queries.length]!;
      const set = query === queries.at(-1) ? patterns : undefined;
      const whole = new StreamClient({ q: query, receipt: "1", resume: "" }, {}, set);
      await whole.read(daemon);
      const client = new StreamClient({ q: query, receipt: "1" }, {}, set);
      const name = `${query} in round ${round} of SEED=${seed}`;
      let lastStatus = 200;
      // A daemon that is stopping refuses searches for that time.
      while (!client.isDone && (lastStatus === 200 || lastStatus === 503) && client.errors.length === 0) {
        // Once an event was received, the snapshot is that of the stream, whatever happens to the repositories.
        const eventCount = 1 + random(random(2) === 0 ? 3 : 12);
        const afterMs = random(3) === 0 ? random(60) : undefined;
        const endCount = counts.kills + counts.restarts;
        const isKill = endCount < endsMax && random(4) !== 0;
        const ended = client.read(daemon, (count) => afterMs === undefined && count >= eventCount).catch(() => 200);
        if (afterMs !== undefined) await Promise.race([ended, sleep(afterMs)]);
        else await ended;
        if (!isKill || client.isDone) {
          lastStatus = await ended;
          counts.breaks++;
          continue;
        }
        const isStop = endCount % 8 === stopAt;
        // One change costs as much as two ends.
        const isPushed = client.lastId !== "" && (isFull ? random(2) === 0 : !isStop);
        if (isPushed) site.push();
        if (isStop) {
          await daemon.stop();
          counts.restarts++;
        } else {
          await daemon.kill();
          counts.kills++;
        }
        lastStatus = await ended;
        if (client.lastId !== "" && (await isInterrupted(data, client.lastId.slice(0, 22)))) counts.interrupted++;
        daemon = await Daemon.start(data, isFull ? args : limitedArgs);
        if (isPushed) {
          await site.sync(daemon);
          await symbolsKnown(daemon);
          counts.pushes++;
        }
      }
      counts.streams++;
      counts.results += client.matches.length;
      t.ok(whole.matches.length > 0, `results of ${name}`);
      const expected = whole.matches.map(describeMatch).sort();
      const found = client.matches.map(describeMatch).sort();
      if (JSON.stringify(found) !== JSON.stringify(expected) || client.errors.length > 0) {
        const twice = found.filter((one, i) => one === found[i - 1]);
        t.fail(name, {
          status: lastStatus,
          errors: client.errors,
          twice: twice.slice(0, 3),
          lost: expected.filter((one) => !found.includes(one)).slice(0, 3),
          more: found.filter((one) => !expected.includes(one)).slice(0, 3),
          skipped: client.progress?.skipped,
        });
      }
      if (client.receipt?.digest !== whole.receipt?.digest || client.receipt?.complete !== whole.receipt?.complete)
        t.same(client.receipt, whole.receipt, `the receipt of ${name}`);
      if (!isFull) continue;
      site.push();
      await site.sync(daemon);
    }
    t.comment(JSON.stringify(counts));
    // Whether a search still runs when its stream is cut depends on the machine, so few ends prove nothing.
    if (isFull) t.ok(counts.interrupted > counts.kills / 8, "searches were interrupted");
    t.ok(counts.restarts > 0 && counts.pushes > 0, "by stops too, and repositories changed meanwhile");
    record(
      35,
      "kill -9 while resumable streams are written and read",
      `${counts.kills} kills, ${counts.interrupted} of them or of ${counts.restarts} restarts while the search was running, and ${counts.breaks} broken ` +
        `connections in ${counts.streams} streams with ${counts.results} results; repositories changed after ${counts.pushes}: 0 lost, 0 twice, all digests equal`,
    );
  },
);

t.test("bad input, and `trawl search --resume` after a lost connection and a killed daemon", async (t) => {
  if (isFull) {
    await daemon.stop();
    daemon = await Daemon.start(data, limitedArgs);
  }
  const tokens: string[] = [];
  for (const user of ["ann", "bob"]) {
    await daemon.addUser(user);
    tokens.push(await daemon.addToken(user));
  }
  const [ann = {}, bob = {}] = tokens.map((token) => ({ Authorization: `token ${token}` }));
  const begun = async (q: string, headers: Readonly<Record<string, string>> = ann): Promise<StreamClient> => {
    const client = new StreamClient({ q }, headers);
    await client.read(daemon, (count) => count === 1);
    return client;
  };
  const answer = async (
    id: string,
    query: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = ann,
  ) => {
    const client = new StreamClient(query, headers);
    client.lastId = id;
    const response = await client.open(daemon);
    const parts: Buffer[] = [];
    for await (const part of response as AsyncIterable<Buffer>) parts.push(part);
    return `${response.statusCode} ${Buffer.concat(parts).toString()}`;
  };
  const q = "needle count:all";
  const { lastId } = await begun(q);
  const [name = "", offset = "", code = ""] = lastId.split(".");
  for (const forged of [
    "x",
    "0",
    `${name}.${offset}`,
    `${name}.${Number(offset) + 1}.${code}`,
    `${name}.0.${code}`,
    `${name.slice(1)}A.${offset}.${code}`,
    `${lastId}x`,
    `${name}.${offset}.${code.slice(0, -2)}${code.endsWith("AA") ? "BB" : "AA"}`,
    `../../key.${offset}.${code}`,
  ])
    t.match(await answer(forged, { q }), /^400 the Last-Event-ID is not that of an event/, `the forged id ${forged}`);
  t.match(await answer(lastId, { q }, bob), /^400 the Last-Event-ID is not that of an event/, "that of another user");
  t.match(await answer(lastId, { q }, {}), /^400 /, "without an account");
  t.match(await answer(lastId, { q: "other" }), /^400 the Last-Event-ID is that of a search with another query/);
  t.match(await answer(lastId, { q, cm: "false" }), /^400 /, "with other parameters");
  t.match(await answer("", { q, lastEventId: lastId }), /^200 .*event: done/s, "as a parameter");

  // Streams of the same user replace each other; those of others stay.
  const other = await begun("needle r:r1 count:all", bob);
  for (let i = 0; i < 5; i++) await (await begun(`needle r:r${i % repositoryCount} count:all`)).read(daemon);
  t.match(await answer(lastId, { q }), /^410 this stream is gone: it was removed/);
  t.match(await answer(other.lastId, { q: "needle r:r1 count:all" }, bob), /^200 /, "that of another user is kept");

  const path = (id: string) =>
    join(data, "resume", readdirSync(join(data, "resume")).find((file) => file.startsWith(id.slice(0, 22))) ?? "");
  const [q1, q2, q3] = ["needle r:r0 count:all", "needle r:r1 count:all", "needle r:r2 count:all"];
  const [lost, damaged, unfinished] = [await begun(q1), await begun(q2), await begun(q3)];
  const first = damaged.lastId;
  for (const client of [lost, damaged, unfinished]) await client.read(daemon);
  const damage = async (): Promise<void> => {
    truncateSync(path(lost.lastId), 2_000);
    const bytes = await open(path(first), "r+");
    await bytes.write("damage", Number(first.split(".")[1]) + 100);
    await bytes.close();
    appendFileSync(path(unfinished.lastId), "a record that was not written to its end");
  };
  await t.test("a client that reads slowly delays neither the search nor others", (t) => readSlowly(t, daemon));
  await resumeByCommand(t, damage);
  const answerToLost = await answer(lost.lastId, { q: q1 });
  t.match(answerToLost, /^410 this stream is gone: its last events were lost/, "after a power loss");
  t.match(await answer(first, { q: q2 }), /^200 .*event: error\ndata: .*are damaged; search again/s);
  t.match(await answer(unfinished.lastId, { q: q3 }), /^200 .*event: done/s);

  await daemon.remove("host/r2");
  t.match(
    await answer(unfinished.lastId, { q: q3 }),
    /^410 this stream is gone: a repository of its snapshot was removed/,
    "results of a repository that was removed are not sent again",
  );
  const large = new StreamClient({ q: "(a or e or i or n or t or r or d or l or _) count:all", cl: "20" }, ann);
  await large.read(daemon);
  t.match(large.errors, [`have more than ${resumeBytes / 2} bytes, which a resumable stream may have`]);
  for (const also of ["watch=1", "since=x", "since=x&lastEventId=x"])
    t.match(
      await daemon.get(`/.api/search/stream?q=x&resume=1&${also}`),
      { status: 400, text: "resume=1 cannot be combined with since or watch: go on with the last receipt\n" },
      also,
    );
  const set = new StreamClient({ q: "count:all" }, ann, ["needle"]);
  await set.read(daemon, (count) => count === 1);
  const otherSet = new StreamClient({ q: "count:all" }, ann, ["needl"]);
  otherSet.lastId = set.lastId;
  t.equal(await otherSet.read(daemon), 400, "other patterns are another search");
  t.equal(await set.read(daemon), 200);
  t.ok(set.isDone && set.matches.length > 0);

  // What cannot be continued after a crash says so before its first result.
  for (const [query, restriction] of [
    ["needle count:all", /^$/],
    ["needle count:5", /only if .* limit of matches/],
    ["needle", /only if .* limit of matches/],
    ["type:commit change repo:r1 rev:^v1 count:all", /leaves out a history/],
  ] as const) {
    const client = new StreamClient({ q: query }, ann);
    await client.read(daemon);
    t.match(client.restriction, restriction, query);
  }
  t.match(await daemon.get("/.api/search/stream?q=x&resume=maybe"), { text: /resume must be parseable as a boolean/ });
  t.equal(await daemon.stop(), 0);
});

/** Forwards connections to the daemon. Each of the first ones is cut after some bytes of its response, and `onCut`. */
async function cuttingProxy(
  t: Test,
  daemon: () => DaemonProcess,
  cutBytes: readonly number[],
  onCut: (connection: number) => Promise<void>,
): Promise<string> {
  let count = 0;
  let lastCut = Promise.resolve();
  const forward = async (client: Socket): Promise<void> => {
    const number = count++;
    let leftBytes = cutBytes[number] ?? Infinity;
    client.on("error", () => undefined);
    await lastCut;
    const { hostname, port } = new URL(daemon().url);
    const forwarded = connect(Number(port), hostname).on("error", () => undefined);
    client.pipe(forwarded);
    client.on("close", () => forwarded.destroy());
    forwarded.on("data", (bytes) => {
      if (leftBytes <= 0) return;
      client.write(bytes.subarray(0, leftBytes));
      leftBytes -= bytes.length;
      if (leftBytes > 0) return;
      client.destroySoon();
      lastCut = onCut(number);
    });
    forwarded.on("close", () => client.destroySoon());
  };
  const server = createServer((client) => void forward(client));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The daemon is killed meanwhile; then `whenKilled` changes its data. */
async function resumeByCommand(t: Test, whenKilled: () => Promise<void>): Promise<void> {
  const search = async (endpoint: string, ...options: readonly string[]) => {
    const { exitCode, out, err } = await runCommand("search", "--endpoint", endpoint, ...options);
    // What a result says of its repository is that of the moment.
    const lines = out
      .trimEnd()
      .replaceAll(/"repoLastFetched":"[^"]*",/g, "")
      .split("\n")
      .sort();
    return { exitCode, err, lines };
  };
  const exhaustive = ["--json", "--count", "all", "(needle or type:diff needle)"];
  const whole = await search(daemon.url, ...exhaustive);
  t.ok(whole.lines.length > 100, `${whole.lines.length} results`);
  const unstored = await cuttingProxy(
    t,
    () => daemon,
    [100_000],
    async () => undefined,
  );
  t.match(
    await search(unstored, ...exhaustive),
    { exitCode: 2, err: /results are missing/ },
    "only if it is asked for",
  );
  // The first cut is within the first event, at the second the daemon is killed and repositories change.
  const proxy = await cuttingProxy(
    t,
    () => daemon,
    [600, 100_000, 20_000],
    async (connection) => {
      if (connection !== 1) return;
      await daemon.kill();
      await whenKilled();
      site.push();
      daemon = await Daemon.start(data, limitedArgs);
      await site.sync(daemon);
    },
  );
  const resumed = await search(proxy, "--resume", ...exhaustive);
  t.equal(resumed.exitCode, 0);
  t.equal(
    resumed.err.match(/^trawl: the connection was lost \(.*\); resuming in [0-9.]+ s$/gm)?.length,
    3,
    resumed.err,
  );
  t.equal(resumed.lines.length, whole.lines.length);
  t.same(
    resumed.lines.filter((line, i) => line !== whole.lines[i]).slice(0, 2),
    whole.lines.filter((line, i) => line !== resumed.lines[i]).slice(0, 2),
    "the output is that of an uninterrupted search",
  );
}

/** After the search has ended. */
const slowBytes = 40;

async function readSlowly(t: Test, daemon: DaemonProcess): Promise<void> {
  const query = { q: "(needle or return) count:all", cl: "20" };
  const slow = await new StreamClient(query).open(daemon);
  slow.on("error", () => undefined);
  const readByte = async (): Promise<void> => {
    while (slow.read(1) === null && !slow.destroyed) await once(slow, "readable");
  };
  let isOver = false;
  const reading = until("the search of the slow client has ended", async () => {
    await readByte();
    return isOver && (await daemon.metric("trawl_searches_running")) === 0;
  });
  const whole = new StreamClient(query);
  await whole.read(daemon);
  t.ok(whole.isDone);
  isOver = true;
  await reading;
  for (let i = 0; i < slowBytes; i++) await readByte();
  t.notOk(slow.destroyed, "and its client still reads, byte by byte");
  slow.destroy();
}
