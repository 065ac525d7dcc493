/**
 * kill -9 at random moments while a search job runs and a resumable stream is read: each result exactly once in both.
 * `SEED` for another sequence.
 */
import t from "tap";
import { sleep } from "../../src/base/deadline.js";
import { DaemonProcess, dataDirectory, runCommand } from "../support/daemon.js";
import { record, rounds, scaled } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { seed } from "../support/property.js";
import { randomFrom } from "../support/random.js";
import { describeMatch, StreamClient } from "../support/resumed-stream.js";
import { readMatches, JobClient } from "../support/search-job.js";

const killCount = scaled(3, 1_000);
const repositoryCount = 20;
const fileCount = 30;
const query = "needle count:all";
const args = ["workers=1", "readers=1", "index.workers=1", "index.symbols=false", "index.historyBytes=0"].flatMap(
  (one) => ["--set", one],
);

t.test(`${killCount} kills while jobs and resumable streams run`, { timeout: 14_400_000 }, async (t) => {
  t.comment(`SEED=${seed}`);
  const random = randomFrom(seed);
  const data = dataDirectory(t);
  const source = fixture(t);
  const files = Array.from({ length: fileCount }, (_, i) => [`f${i}.c`, `needle ${i}\nother\n`.repeat(25)] as const);
  source.commit({ branch: "main", files: Object.fromEntries(files) });
  let daemon = await DaemonProcess.start(data, args);
  t.teardown(() => daemon.kill());
  await Promise.all(Array.from({ length: repositoryCount }, (_, i) => daemon.add(`host/r${i}`, source.path)));
  await runCommand("user", "create", "ann", "--data", data);
  const token = (await runCommand("token", "create", "ann", "--data", data)).out.trim().split(/\s+/).at(-1) ?? "";
  const ann = new JobClient(() => daemon, token);
  const authorization = { Authorization: `token ${token}` };

  const whole = new StreamClient({ q: query, cl: "0" }, authorization);
  await whole.read(daemon);
  const expected = whole.matches.map(describeMatch).sort();
  t.equal(expected.length, repositoryCount * fileCount);

  const counts = { kills: 0, jobsInterrupted: 0, streamsInterrupted: 0, jobs: 0, streams: 0, lost: 0, twice: 0 };
  const compare = (what: string, found: readonly string[]): void => {
    const lost = expected.filter((one) => !found.includes(one));
    const twice = found.filter((one, i) => one === found[i - 1]);
    counts.lost += lost.length;
    counts.twice += twice.length;
    if (lost.length + twice.length > 0 || found.length !== expected.length)
      t.fail(what, {
        lost: lost.slice(0, 1),
        twice: twice.slice(0, 1),
        more: found.filter((one) => !expected.includes(one)).slice(0, 1),
      });
  };
  let job = await ann.create(query);
  let client = new StreamClient({ q: query, cl: "0", receipt: "1" }, authorization);
  const endStream = (): void => {
    counts.streams++;
    t.same(client.errors, []);
    if (client.receipt?.complete !== true) t.fail("the receipt says that something is missing", { counts });
    compare(`stream ${counts.streams} of SEED=${seed}`, client.matches.map(describeMatch).sort());
    client = new StreamClient({ q: query, cl: "0", receipt: "1" }, authorization);
  };
  const endJob = async (): Promise<void> => {
    counts.jobs++;
    const { state, URL: url } = await ann.ended(job);
    if (state !== "COMPLETED") t.fail(`job ${counts.jobs} of SEED=${seed} is ${state}`);
    compare(`job ${counts.jobs} of SEED=${seed}`, readMatches(await (await ann.get(url ?? "")).text()));
    await ann.delete(job);
    job = await ann.create(query);
  };
  for (const _ of rounds(killCount)) {
    const eventCount = 1 + random(12);
    const afterMs = random(2) === 0 ? random(300) : undefined;
    let seen: () => void = () => undefined;
    const isSeen = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const reading = client
      .read(daemon, (count) => {
        if (count === eventCount) seen();
        return false;
      })
      .catch(() => 0)
      .finally(seen);
    await (afterMs === undefined ? isSeen : sleep(afterMs));
    const isRunning = !(await ann.hasEnded(job));
    await daemon.kill();
    counts.kills++;
    await reading;
    if (client.isDone) endStream();
    else counts.streamsInterrupted++;
    daemon = await DaemonProcess.start(data, args);
    if (!isRunning) await endJob();
    else if (!(await ann.hasEnded(job))) counts.jobsInterrupted++;
    if (counts.kills % 50 === 0) t.comment(JSON.stringify(counts));
  }
  await client.read(daemon);
  endStream();
  await endJob();
  t.comment(JSON.stringify(counts));
  t.match(counts, { lost: 0, twice: 0 });
  if (counts.kills > 20) {
    t.ok(counts.jobsInterrupted > counts.kills / 8, "jobs were interrupted");
    t.ok(counts.streamsInterrupted > counts.kills / 8, "streams were interrupted");
  }
  record(
    36,
    "kill -9 while a search job and a resumable stream run",
    `${counts.kills} kills; ${counts.jobs} jobs interrupted ${counts.jobsInterrupted} times, ${counts.streams} streams interrupted ${counts.streamsInterrupted} times: 0 lost, 0 twice`,
  );
});
