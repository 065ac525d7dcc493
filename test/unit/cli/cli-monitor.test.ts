/** The page of `trawl top`, and files that the daemon sends. */
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parseReadings, type Sample } from "../../../src/cli/monitor/samples.js";
import { bytes, duration, seconds, shortNumber, topPage } from "../../../src/cli/monitor/top-page.js";
import { saveFromDaemon } from "../../../src/cli/monitor/monitor-commands.js";
import { createMetrics } from "../../../src/base/metrics.js";
import { TrawlError } from "../../../src/base/errors.js";
import { silentLog } from "../../../src/base/log.js";
import { ControlServer } from "../../../src/http/server/control-server.js";

const started = 1_000;

function sampleOf(text: string, atMs = 0, searches: Sample["searches"] = []): Sample {
  return { atMs, metrics: parseReadings(`process_start_time_seconds ${started}\n${text}`), searches };
}

function shown(now: Sample, before?: Sample, columns = 80, rows = 24): readonly string[] {
  return topPage({ before, now, timeSeconds: started + 100, columns, rows }).map(({ text }) => text);
}

t.test("numbers for people", (t) => {
  t.same([0, 7, 999, 1_000, 12_345, 7_072_432, 0.25].map(shortNumber), [
    "0",
    "7",
    "999",
    "1.0k",
    "12.3k",
    "7.1M",
    "0.3",
  ]);
  t.same([0, 1023, 1536, 1.3 * 2 ** 30].map(bytes), ["0 B", "1023 B", "1.5 KB", "1.3 GB"]);
  t.same([0.0004, 0.25, 1.25, 61].map(seconds), ["0 ms", "250 ms", "1.3 s", "1 min 1 s"]);
  t.same([-1, 59, 3_599, 90_061].map(duration), ["0 s", "59 s", "59 min 59 s", "1 d 1 h"]);
  t.end();
});

t.test("rates are those between two pages, or since the start", (t) => {
  const before = sampleOf('trawl_searches_total{outcome="complete"} 100\n', 10_000);
  const now = sampleOf(
    'trawl_searches_total{outcome="complete"} 150\ntrawl_searches_total{outcome="failed"} 4\n',
    12_000,
  );
  t.match(
    shown(now, before).find((line) => line.startsWith("Searches")),
    /27\/s/,
  );
  t.match(
    shown(now).find((line) => line.startsWith("Searches")),
    /1\.5\/s/,
  );
  const restarted: Sample = {
    ...now,
    metrics: parseReadings('process_start_time_seconds 1090\ntrawl_searches_total{outcome="complete"} 20\n'),
  };
  t.match(
    shown(restarted, before).find((line) => line.startsWith("Searches")),
    / 2\/s/,
    "counters begin again",
  );
  t.end();
});

t.test("latencies are those of the searches between two pages", (t) => {
  const buckets = (counts: readonly number[]): string =>
    [0.001, 0.1, 1, "+Inf"]
      .map((le, at) => `trawl_search_seconds_bucket{le="${le}",lane="interactive"} ${counts[at]}\n`)
      .join("");
  const latency = (now: Sample, before?: Sample) => {
    const lines = shown(now, before);
    const at = lines.findIndex((line) => line.startsWith("Latency"));
    return lines.slice(at, at + 2).map((line) => line.slice(13));
  };
  const before = sampleOf(buckets([100, 100, 100, 100]), 0);
  t.same(latency(before), ["interactive half in < 1 ms, 99 of 100 in < 1 ms", "exhaustive  none"]);
  const after = sampleOf(buckets([100, 160, 160, 200]), 1_000);
  t.equal(latency(after, before)[0], "interactive half in < 100 ms, 99 of 100 in > 1 s");
  t.equal(latency(before, before)[0], "interactive none");
  t.end();
});

t.test("nothing exceeds the terminal, and no query controls it", async (t) => {
  const search = {
    query: `\u001b[2Jneedle ${"x".repeat(200)}`,
    user: "",
    from: "2001:0db8:0000:0000:0000:0000:0000:0001",
    lane: "interactive" as const,
    durationMs: 1_234,
    workerMs: 2_000,
    scannedBytes: 5 * 2 ** 20,
    matchCount: 12_345,
  };
  const { text } = createMetrics();
  const huge = (await text()).replaceAll(/^(trawl_\w+(?:\{.*\})?) \S+$/gm, "$1 987654321987");
  const now = sampleOf(
    huge,
    0,
    Array.from({ length: 30 }, () => search),
  );
  for (const columns of [40, 80, 200]) {
    const lines = shown(now, undefined, columns);
    t.equal(lines.length, 24);
    for (const line of lines) t.ok(line.length <= columns && !line.includes("\u001b"), line);
  }
  const lines = shown(now);
  t.match(lines.at(-1), /^and [0-9]+ more$/);
  t.match(
    lines.find((line) => line.includes("needle")),
    /^ 1\.2 s interactive 2001:0db8:0000:\S* +2 s +5\.0 MB +12\.3k .*needle/,
  );
  t.end();
});

t.test("a file from the daemon is complete, or it is not there", async (t) => {
  const folder = t.testdir({});
  const data = join("/tmp", `trawl-monitor-${process.pid}`);
  mkdirSync(data);
  t.teardown(async () => (await import("node:fs")).rmSync(data, { recursive: true }));
  const part = "ä".repeat(100_000);
  let sentCount = 0;
  const server = new ControlServer(
    {
      "POST /good": async ({ send }) => {
        for (let i = 0; i < 20; i++) await send(part);
      },
      "POST /fails": async ({ send }) => {
        await send(part);
        throw new TrawlError("storage", "deliberate");
      },
      "POST /endless": async ({ send }) => {
        for (;;) {
          await send(part);
          sentCount++;
        }
      },
    },
    silentLog(),
  );
  await server.listen(data);
  t.teardown(() => server.close());
  const target = join(folder, "x.cpuprofile");
  const save = (path: string, to = target) => saveFromDaemon(data, { path, body: {} }, to, "profile");

  await t.rejects(save("/fails"), { code: "storage", message: "deliberate" });
  t.same(readdirSync(folder), []);
  t.equal(await save("/good"), 20 * 200_000);
  t.equal(readFileSync(target, "utf8"), part.repeat(20));
  t.equal(statSync(target).mode & 0o777, 0o600, "it may contain secrets");
  await t.rejects(save("/fails"));
  t.same(readdirSync(folder), ["x.cpuprofile"], "an earlier one stays");
  for (const to of [join(folder, "none/x"), folder, "/dev/null"])
    await t.rejects(save("/endless", to), { code: "storage", message: `no profile was written to ${to}: ` });
  t.equal(sentCount, 0, "the daemon is asked only if the file can be written");
});
