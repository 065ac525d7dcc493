/**
 * A disk that is full from one write on, and one that fails once: at each call of a sync in turn, in the daemon and in
 * its git children. Searches go on, the sync tells the error or succeeds, and what comes after it succeeds unaided.
 */
import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import { monotonicMs } from "../../src/base/deadline.js";
import { DaemonProcess } from "../support/daemon.js";
import { FaultLayer, layerMissing, realDirectory } from "../support/fault-layer.js";
import { isFull, quantile, record, rounds, scaled } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";
import { linesWith, readCommit } from "../support/git-oracle.js";
import { StoreProcess } from "../support/store-process.js";
import { until, within } from "../support/waiting.js";

const needle = "needle";

interface Kind {
  readonly name: string;
  readonly error: "ENOSPC" | "EIO";
  /** So many calls fail; 0: all until it is repaired. */
  readonly failCount: number;
}

const kinds: readonly Kind[] = [
  { name: "disk full from a given call onwards", error: "ENOSPC", failCount: 0 },
  { name: "one call fails once with a disk error", error: "EIO", failCount: 1 },
];

/** One more commit, with a file that has as many lines as there are commits. */
function change(source: GitFixture, count: number): void {
  source.commit({
    branch: "main",
    files: { [`d${count % 5}/${count % 9}.txt`]: `${needle} ${count}\n`.repeat(1 + (count % 7)) },
  });
}

class Site {
  readonly source: GitFixture;
  readonly layer: FaultLayer;
  readonly #data: string;
  #daemon: DaemonProcess | undefined;
  /** Ends by the daemon's own decision, as nobody knew what the disk had; and all others. */
  givenUp = 0;
  readonly deaths: string[] = [];

  constructor(t: Test) {
    this.source = fixture(t);
    this.#data = realDirectory(t);
    this.layer = new FaultLayer(t, this.#data, { journals: false });
    t.teardown(() => this.#daemon?.kill());
  }

  async daemon(): Promise<DaemonProcess> {
    if (this.#daemon?.hasExited === true) {
      const decided =
        (await this.#daemon.exit()) === 1 &&
        this.#daemon.log.some(({ msg }) => String(msg).startsWith("the disk failed while a store was being written"));
      if (decided) this.givenUp++;
      else
        this.deaths.push(
          `exit code ${await this.#daemon.exit()}: ${this.#daemon.log
            .slice(-2)
            .map(({ msg }) => String(msg))
            .join("; ")}`,
        );
    }
    if (this.#daemon === undefined || this.#daemon.hasExited) {
      this.#daemon = await DaemonProcess.start(
        this.#data,
        ["--set", "workers=1", "--set", "index.workers=1"],
        this.layer.environment,
      );
    }
    return this.#daemon;
  }

  lines(): readonly string[] {
    return linesWith("host/a", readCommit(this.source.path, "main"), needle);
  }
}

for (const name of ["records", "shards"]) {
  t.test(
    `${name}: after a write that met a full disk the next one succeeds, or the store says that it is lost`,
    { skip: layerMissing },
    async (t) => {
      const folder = realDirectory(t);
      const layer = new FaultLayer(t, folder, { journals: false });
      const counts = new Map<string, number>();
      let writer: StoreProcess | undefined;
      t.teardown(() => writer?.end());
      // A write makes four to eight calls, the more the more runs of pages it fills; the last of them tell which pages
      // are the current ones.
      for (let id = 0; id < 80 && !(id >= 16 && counts.has("store-lost")); id++) {
        const call = 1 + (id % 8);
        writer ??= await StoreProcess.start(name, folder, layer.environment);
        t.equal(await writer.ask(`${2 * id}`), "written true");
        layer.failAt(call, "ENOSPC");
        const outcome = await writer.ask(`${2 * id + 1}`);
        const wasHit = layer.get("hit") > 0;
        layer.heal();
        t.ok(
          (wasHit ? ["storage false", "store-lost"] : ["written true"]).includes(outcome),
          `call ${call}: ${outcome}`,
        );
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
        if (outcome !== "store-lost") continue;
        await writer.end();
        writer = undefined;
      }
      t.ok(counts.has("storage false") && counts.has("store-lost"), "both occur");
    },
  );
}

for (const kind of kinds) {
  t.test(kind.name, { skip: layerMissing || !isFull, timeout: 3_600_000 }, async (t) => {
    const site = new Site(t);
    const { layer, source } = site;
    for (let i = 0; i < 9; i++) change(source, i);
    await (await site.daemon()).add("host/a", source.path);
    change(source, 9);
    const before = layer.get("seen");
    await (await site.daemon()).sync("host/a");
    const callCount = layer.get("seen") - before;
    const stepCount = scaled(5, 2 * callCount);
    const counts = { steps: 0, refused: 0, hit: 0 };
    const recoveriesMs: number[] = [];
    for (const step of rounds(stepCount)) {
      const place = 1 + (Math.floor((step * callCount) / Math.min(stepCount, callCount)) % callCount);
      const what = `call ${place} of ${callCount}`;
      const older = site.lines();
      change(source, 10 + step);
      const newer = site.lines();
      const daemon = await site.daemon();
      layer.failAt(place, kind.error, kind.failCount);
      const refused = await daemon.sync("host/a").then(
        () => false,
        () => true,
      );
      counts.steps++;
      if (refused) counts.refused++;
      if (layer.get("hit") > 0) counts.hit++;
      // None while it ends.
      const during = await daemon.search(needle).catch(() => undefined);
      const isRight =
        during === undefined ||
        isDeepStrictEqual(during.found, newer) ||
        (refused && isDeepStrictEqual(during.found, older)) ||
        during.skipped.length > 0;
      if (!isRight) t.same(during?.found, newer, `${what}: what is found meanwhile`);
      if (during === undefined)
        await within(daemon.exit(), `${what}: the end of a daemon that does not answer`, 15_000);
      layer.heal();
      const healedMs = monotonicMs();
      await until(
        `${what}: it syncs again`,
        async () =>
          (await site.daemon()).sync("host/a").then(
            () => true,
            () => false,
          ),
        60_000,
      );
      recoveriesMs.push(monotonicMs() - healedMs);
      const after = await (await site.daemon()).search(needle);
      if (!isDeepStrictEqual([after.found, after.skipped], [newer, []]))
        t.same([after.found, after.skipped], [newer, []], `${what}: what is found after it`);
    }
    t.same(site.deaths, [], "the daemon lives, unless it ends by itself and says why");
    t.ok(
      counts.hit > counts.steps / 2,
      `${counts.hit} of ${counts.steps} syncs met the error, ${counts.refused} told it`,
    );
    t.equal(await (await site.daemon()).countFaults(), 0);
    t.equal(await (await site.daemon()).stop(), 0);
    record(
      8,
      kind.name,
      `${counts.steps} syncs (about ${callCount} writing calls each, failed in turn): ${counts.hit} hit the error, ${counts.refused} reported it, the others succeeded; ` +
        `searches correct throughout; the daemon exited ${site.givenUp} times because the outcome of a write was unknown, and was restarted; syncs succeed again after a median of ${quantile(recoveriesMs, 0.5).toFixed(0)} ms (at most ${quantile(recoveriesMs, 1).toFixed(0)} ms)`,
    );
  });
}
