/**
 * Damage in the files of a stopped daemon: bits flipped, pages zeroed, ends cut, in the shard store, the catalog and
 * the mirrors. The next start restores what is damaged, or is refused with a message; no answer is wrong without saying
 * that something is missing.
 */
import {
  closeSync,
  cpSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { dataDirectory, DaemonProcess } from "../support/daemon.js";
import { quantile, record, rounds, scaled } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { linesWith, readCommit } from "../support/git-oracle.js";
import { seed } from "../support/property.js";
import { randomFrom } from "../support/random.js";
import { waitMsMax } from "../support/waiting.js";

const needle = "needle";
const pageBytes = 4096;
const spotCountMax = 200;
const options = ["--set", "workers=1", "--set", "index.workers=1"];
const random = randomFrom(seed);

const names = ["host/a", "host/b"];
const sources = names.map((name) => {
  const source = fixture(t);
  const files = Array.from({ length: 60 }, (_, i) => [
    `d${i % 4}/${i}.txt`,
    `${needle} ${name} ${i}\n`.repeat(1 + (i % 40)),
  ]);
  source.commit({ branch: "main", files: Object.fromEntries(files) });
  return source;
});
const all = sources.flatMap((source, i) => linesWith(names[i]!, readCommit(source.path, "main"), needle)).sort();
const raw = `${needle} host/a 1\n`.repeat(2);

/** The data of a stopped daemon; each round takes a copy. */
const whole = dataDirectory(t);

t.before(async () => {
  const daemon = await DaemonProcess.start(whole, options);
  for (const [i, name] of names.entries()) await daemon.add(name, sources[i]!.path);
  await daemon.control("POST", "/.api/users", { name: "ann", siteAdmin: false });
  await daemon.stop();
});

type Part = "shards" | "catalog" | "mirrors";
const parts: readonly Part[] = ["shards", "catalog", "mirrors"];

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "lock.mdb")
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path).size > 0 && !path.endsWith(".sample"))
    .sort();
}

/** Damages a random place; says what. */
function damage(data: string, part: Part): string {
  const files = filesOf(join(data, part));
  const path = files[random(files.length)];
  if (path === undefined) return "nothing is left to damage";
  const file = openSync(path, "r+");
  const size = fstatSync(file).size;
  // Of a store's pages those in use: the rest of the file changes nothing.
  const at = random(size);
  const how = random(8);
  if (how === 0) ftruncateSync(file, at);
  else if (how < 3)
    writeSync(
      file,
      Buffer.alloc(Math.min(pageBytes, size - (at - (at % pageBytes)))),
      0,
      undefined,
      at - (at % pageBytes),
    );
  else {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, at);
    byte[0]! ^= 1 << random(8);
    writeSync(file, byte, 0, 1, at);
  }
  closeSync(file);
  return `${relative(data, path)} ${how === 0 ? `cut to ${at}` : how < 3 ? `page of ${at} zeroed` : `bit of ${at} flipped`} of ${size}`;
}

const outcomes = { spots: 0, single: 0, rounds: 0, refused: 0, told: 0, unseen: 0, unrepaired: 0 };
/** From the syncs after each start until all is found. */
const repairsMs: number[] = [];

/** Whether a search finds all, or says that something is missing. Anything else is a wrong answer. */
async function look(t: Test, daemon: DaemonProcess, what: string): Promise<boolean> {
  const { found, skipped } = await daemon.search(needle);
  if (isDeepStrictEqual(found, all) && skipped.length === 0) return true;
  const wrong = found.filter((line) => !all.includes(line));
  if (wrong.length > 0 || skipped.length === 0)
    t.fail(
      `${what}: ${found.length} of ${all.length} lines, nothing skipped: ${skipped.length === 0}, wrong: ${wrong.slice(0, 3).join()}`,
    );
  return false;
}

async function tryRound(t: Test, part: Part, what: string, data: string): Promise<void> {
  const daemon = await DaemonProcess.start(data, options).catch((error: unknown) => String(error));
  if (typeof daemon === "string") {
    if (part !== "catalog" || !/ended with 2: trawl: .*catalog/s.test(daemon))
      t.fail(`${what}: ${daemon.slice(0, 1_000)}`);
    outcomes.refused++;
    return;
  }
  try {
    const isWhole = await look(t, daemon, what);
    const file = await daemon.get("/host/a/-/raw/d1/1.txt");
    if (file.status === 200 && file.text !== raw) t.fail(`${what}: another text of a file`);
    for (const name of names) await daemon.sync(name).catch(() => undefined);
    const startedMs = monotonicMs();
    let isRestored = await look(t, daemon, what);
    // Searches without a pause would take the processor from the repair.
    while (!isRestored && monotonicMs() < startedMs + waitMsMax) {
      await sleep(50);
      isRestored = await look(t, daemon, what);
    }
    repairsMs.push(monotonicMs() - startedMs);
    if (isWhole) outcomes.unseen++;
    else outcomes.told++;
    if (!isRestored) {
      outcomes.unrepaired++;
      t.comment(
        `${what}: not repaired: ${JSON.stringify(await daemon.list()).slice(0, 600)}; ${JSON.stringify(daemon.log.slice(-8)).slice(0, 2_000)}`,
      );
    }
    const code = await daemon.stop();
    if (code !== 0) t.fail(`${what}: ended with ${code}`);
  } catch (error) {
    await Promise.race([daemon.exit(), sleep(2_000)]);
    const end = daemon.hasExited ? `the daemon ended with ${await daemon.exit()}` : "it lives";
    t.fail(`${what}: ${String(error)}; ${end}; ${JSON.stringify(daemon.log.slice(-3)).slice(0, 1_500)}`);
  } finally {
    if (!daemon.hasExited) await daemon.kill();
  }
}

for (const part of parts) {
  const roundCount = scaled(2, 70);
  t.test(`damage in ${part}`, { timeout: 7_200_000 }, async (t) => {
    t.comment(`SEED=${seed}`);
    Object.assign(outcomes, { spots: 0, single: 0, rounds: 0, refused: 0, told: 0, unseen: 0, unrepaired: 0 });
    repairsMs.length = 0;
    for (const _ of rounds(roundCount)) {
      const data = dataDirectory(t);
      cpSync(whole, data, { recursive: true });
      // One place may hide another, and much damage meets what a little does not.
      const spotCount = 1 + random([1, 4, spotCountMax, spotCountMax][random(4)]!);
      const spots = Array.from({ length: spotCount }, () => damage(data, part));
      outcomes.spots += spots.length;
      if (spots.length === 1) outcomes.single++;
      outcomes.rounds++;
      await tryRound(t, part, spots.join("; "), data);
      rmSync(data, { recursive: true });
    }
    t.equal(outcomes.unrepaired, 0, "all is repaired unaided");
    const { spots, single, rounds: starts, refused, told, unseen } = outcomes;
    record(
      9,
      `flipped bits, zeroed pages and truncation in the files of ${part}, then a restart`,
      `${spots} damaged spots in ${starts} starts, ${single} of them after one spot: 0 crashes, 0 wrong answers; ` +
        `${told} times the first answer reported what was missing, ${unseen} times it was already complete, ${refused} times the daemon refused to start, with a message; everything else was repaired automatically, ` +
        `within ${quantile(repairsMs, 0.5).toFixed(0)} ms (median) or ${quantile(repairsMs, 1).toFixed(0)} ms (maximum) after a sync`,
    );
  });
}
