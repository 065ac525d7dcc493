/**
 * kill -9 at random moments of starting, indexing, syncing, merging, adding and removing, and between any two of the
 * daemon's calls that write, sync, rename or delete: test/support/crash-site.ts says what must hold after each. `SEED`
 * for another sequence.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { ShardStore } from "../../src/store/shard-store.js";
import { CrashSite } from "../support/crash-site.js";
import { DaemonProcess, killWhileStarting } from "../support/daemon.js";
import { FaultLayer, layerMissing, realDirectory } from "../support/fault-layer.js";
import { isFull, quantile, record, rounds, scaled } from "../support/full-run.js";
import { seed } from "../support/property.js";
import { randomFrom } from "../support/random.js";
import { until } from "../support/waiting.js";

const crashCount = scaled(1, 1_000);
/** Number of sites that run at the same time. */
const siteCount = scaled(1, 4);
/** One operation makes up to a few hundred calls. */
const callsMax = 250;

const startsMs: number[] = [];
const counts = { points: 0, atCalls: 0, starting: 0, merges: 0, older: 0, newer: 0 };

t.test(`${crashCount} crashes`, { skip: layerMissing, timeout: 14_400_000 }, async (t) => {
  t.comment(`SEED=${seed}`);
  // A site mostly waits for processes to start or end, and for git.
  await Promise.all(
    Array.from({ length: siteCount }, (_, i) => crashOften(t, seed + i, Math.ceil(crashCount / siteCount))),
  );
  const { points, atCalls, starting, merges, older, newer } = counts;
  t.comment(
    `of the operations that were cut short ${newer} had taken effect and ${older} had not; ${atCalls} at a call, ${merges} merges`,
  );
  if (isFull) t.ok(atCalls > points / 8, "calls were interrupted");
  record(
    6,
    "kill -9 while indexing, syncing, merging, adding and removing",
    `${points} crash points, ${atCalls} of them immediately before or after ` +
      `a write, fsync, rename or unlink, and ${starting} more during startup: 0 commits lost, 0 mixed states (${newer} operations had taken effect, ${older} had not; ${merges} merges)`,
  );
  record(
    6,
    "time from process start to listening, after each kill",
    `median ${quantile(startsMs, 0.5).toFixed(0)} ms, 99 % within ${quantile(startsMs, 0.99).toFixed(0)} ms`,
  );
});

/** Runs operations at one site, each interrupted by a crash. */
async function crashOften(t: Test, ownSeed: number, pointCount: number): Promise<void> {
  const random = randomFrom(ownSeed);
  const site = new CrashSite(t, random);
  const data = realDirectory(t);
  const layer = new FaultLayer(t, data, { journals: false });
  // One worker of each kind starts faster, and behaves the same.
  const options = ["--set", "workers=1", "--set", "index.workers=1", "--set", "log.level=debug"];
  const start = async (): Promise<DaemonProcess> => {
    const startedMs = monotonicMs();
    const daemon = await DaemonProcess.start(data, options, layer.environment);
    startsMs.push(monotonicMs() - startedMs);
    return daemon;
  };
  site.hide();
  let daemon = await start();
  t.teardown(() => daemon.kill());
  for (const point of rounds(pointCount)) {
    const isAtCall = point % 2 === 0;
    await site.crash(daemon, async (daemon, usualMs, ended) => {
      if (isAtCall) {
        layer.killAt(
          daemon.pid,
          1 + random(random(2) === 0 ? 40 : callsMax),
          random(2) === 0 ? "killBefore" : "killAfter",
        );
        await Promise.race([ended, daemon.exit()]);
        if (layer.get("hit") === 1) counts.atCalls++;
      } else await sleep(random(Math.ceil(usualMs * 1.2)));
      await daemon.kill();
    });
    layer.heal();
    counts.points++;
    counts.merges += daemon.log.filter((line) => line["msg"] === "shards merged").length;
    if (random(4) === 0) {
      await killWhileStarting(data, options, random(1_000));
      counts.starting++;
    }
    daemon = await start();
    await site.check(t, daemon, `crash ${point} of SEED=${ownSeed}`);
  }
  // In a long run after one more start.
  if (!isFull) await onlyLiveIsKept(daemon, site);
  counts.older += site.outcomes.older;
  counts.newer += site.outcomes.newer;
  await site.syncAll(daemon);
  await site.check(t, daemon, "at the end");
  t.equal(await daemon.stop(), 0);
  if (isFull) {
    daemon = await start();
    await onlyLiveIsKept(daemon, site);
    t.equal(await daemon.stop(), 0);
  }
}

/** After a start. */
async function onlyLiveIsKept(daemon: DaemonProcess, { listedCount }: CrashSite): Promise<void> {
  const { data } = daemon;
  await until(
    "only live shards are stored",
    async () => new ShardStore(join(data, "shards")).ids().length === (await countShards(daemon)),
  );
  await until(
    "only mirrors of known repositories are kept",
    () => readdirSync(join(data, "mirrors")).length === listedCount,
  );
}

async function countShards(daemon: DaemonProcess): Promise<number> {
  return (await daemon.metric("trawl_index_shards")) + (await daemon.metric("trawl_index_history_shards"));
}
