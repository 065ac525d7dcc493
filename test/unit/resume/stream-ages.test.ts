/** When resumable streams are removed, whatever the wall clock says. */
import { mkdtempSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir, uptime } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createMetrics } from "../../../src/base/metrics.js";
import { silentLog } from "../../../src/base/log.js";
import { ResumableStreams } from "../../../src/resume/resumable-streams.js";
import { removeFolder } from "../../support/remove-folder.js";
import { wallClock } from "../../support/wall-clock.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const realMs = Date.now();

function site(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), "trawl-resume-"));
  t.teardown(() => removeFolder(folder));
  const clock = wallClock(t);
  const nameOf = (number: number): string => `${String(number).padStart(22, "a")}.1.events`;
  return {
    folder,
    clock,
    /** A file that was written when the clock showed this. */
    write: (number: number, shownMs: number): void => {
      writeFileSync(join(folder, nameOf(number)), "");
      utimesSync(join(folder, nameOf(number)), shownMs / 1000, shownMs / 1000);
    },
    /** A start of the daemon when the clock shows this; returns the streams that are kept. */
    start: async (shownMs: number): Promise<number[]> => {
      clock.set(shownMs);
      const limits = { countMax: 1_000, bytesMax: 1 << 30, retentionDays: 1 };
      const streams = new ResumableStreams({
        folder,
        version: "1",
        searcher: { run: () => undefined },
        tableOf: () => {
          throw new Error("not used");
        },
        log: silentLog(),
        metrics: createMetrics().metrics,
        limits,
      });
      await streams.load();
      await streams.stop();
      const kept = readdirSync(folder).filter((file) => file.endsWith(".events"));
      return kept.map((file) => Number.parseInt(file.replace(/^a+/, ""), 10)).sort();
    },
    ageMs: (number: number, shownMs: number): number => shownMs - statSync(join(folder, nameOf(number))).mtimeMs,
  };
}

t.test("a clock that stays right", async (t) => {
  const { start, write } = site(t);
  write(1, realMs - 23 * hourMs);
  write(2, realMs - 25 * hourMs);
  t.same(await start(realMs), [1]);
});

t.test("a clock that was set ahead before the next start", async (t) => {
  const { start, write, ageMs } = site(t);
  await start(realMs);
  write(1, realMs - hourMs);
  write(2, realMs - 25 * hourMs);
  const ahead = realMs + 400 * dayMs;
  t.same(await start(ahead), [1], "it is not removed early");
  t.ok(Math.abs(ageMs(1, ahead) - hourMs) < 60_000, "its time now fits the clock");
  write(3, ahead);
  t.same(await start(ahead), [1, 3]);
  t.same(await start(realMs), [1, 3], "nor when the clock is set back");
  t.ok(Math.abs(ageMs(3, realMs)) < 60_000, "it does not stay in the future, so it is not kept for ever");
});

t.test("a clock that was set back and was right again when the daemon crashed", async (t) => {
  const { start, write } = site(t);
  await start(realMs);
  write(1, realMs - hourMs);
  // Written after the step, of which the daemon has not noticed anything.
  write(2, realMs - 30 * dayMs);
  t.same(await start(realMs - 30 * dayMs), [1, 2]);
});

t.test("another start of the machine, and a damaged record", async (t) => {
  const { folder, start, write } = site(t);
  await start(realMs);
  const path = join(folder, "clock");
  const recorded = JSON.parse(readFileSync(path, "utf8")) as { bootedMs: number };
  t.ok(Math.abs(recorded.bootedMs - (realMs - uptime() * 1000)) < 60_000);
  writeFileSync(path, JSON.stringify({ bootId: "another", bootedMs: 0 }));
  write(1, realMs + 90 * dayMs);
  write(2, realMs - 25 * hourMs);
  t.same(await start(realMs), [1]);
  t.same(await start(realMs + 2 * dayMs), [1], "a step after that start is noticed");
  writeFileSync(path, "{");
  write(3, realMs + 47 * hourMs);
  t.same(await start(realMs + 2 * dayMs), [1, 3]);
});
