/** Metrics for Prometheus: their names are valid, and alerts and dashboard use only existing ones. */
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { createMetrics, metricTable } from "../../../src/base/metrics.js";
import { requestCounter } from "../../../src/daemon/parts/request-counter.js";
import { testDaemon, type DaemonProcess } from "../../support/daemon.js";
import { fixture } from "../../support/git-mirror.js";
import { until } from "../../support/waiting.js";

const folder = fileURLToPath(new URL("../../../../config/monitoring", import.meta.url));
const alertsFile = join(folder, "trawl-alerts.yml");
const noPromtool = spawnSync("promtool", ["--version"]).error === undefined ? false : "promtool is not installed";

t.test("names follow the rules of Prometheus", async (t) => {
  for (const row of Object.values<{ kind: string; name: string; help: string; labels: readonly string[] }>(
    metricTable,
  )) {
    t.match(row.name, /^trawl_[a-z][a-z0-9_]*[a-z]$/);
    t.equal(row.name.endsWith("_total"), row.kind === "counter", `${row.name} is a ${row.kind}`);
    t.notMatch(
      row.name,
      /_(count|sum|bucket|counter|gauge|histogram|milliseconds|ms|minutes|hours|days|kilobytes|kib|mib|percent)(_|$)/,
      row.name,
    );
    t.match(row.help, /^[A-Z].*\.$/, row.name);
    for (const label of row.labels) t.match(label, /^(?!le$|quantile$)[a-z_]+$/);
  }
  const text = await createMetrics().text();
  for (const [, name, kind] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    t.equal(name.endsWith("_total"), kind === "counter", `${name} is a ${kind}`);
});

t.test("promtool accepts names and alerts", { skip: noPromtool }, async (t) => {
  const metrics = spawnSync("promtool", ["check", "metrics"], {
    input: await createMetrics().text(),
    encoding: "utf8",
  });
  t.equal(metrics.status, 0, metrics.stdout + metrics.stderr);
  const rules = spawnSync("promtool", ["check", "rules", alertsFile], { encoding: "utf8" });
  t.equal(rules.status, 0, rules.stdout + rules.stderr);
});

/** The words of an expression that are names of metrics. */
function namesIn(expression: string): string[] {
  return [...expression.matchAll(/\b(?:trawl|process|nodejs)_[a-z0-9_]+\b/g)].map(([name]) =>
    name.replace(/_(bucket|sum|count)$/, ""),
  );
}

t.test("alerts and dashboard use only existing metrics", async (t) => {
  const known = new Set([...(await createMetrics().text()).matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
  const alerts = [...readFileSync(alertsFile, "utf8").matchAll(/^ +expr: (.*)$/gm)].map(([, expression]) => expression);
  const { panels } = JSON.parse(readFileSync(join(folder, "trawl-dashboard.json"), "utf8")) as {
    panels: { targets?: { expr: string }[] }[];
  };
  const queries = panels.flatMap(({ targets }) => targets?.map(({ expr }) => expr) ?? []);
  t.ok(alerts.length > 10 && queries.length > 20);
  // Without quotes, YAML takes a brace at the begin for that of an object.
  for (const [, text] of readFileSync(alertsFile, "utf8").matchAll(/^ +(?:expr|summary): (.*)$/gm))
    t.match(text, /^(?:"[^"]*"|[^"{[&*!|>%@`'#][^#]*)$/, `${text} is a plain or a quoted text`);
  for (const name of [...alerts, ...queries].flatMap(namesIn)) t.ok(known.has(name), name);
});

t.test("each alert has its paragraph in the guide", async (t) => {
  const guide = readFileSync(join(folder, "../../docs/operations.md"), "utf8");
  for (const [, name] of readFileSync(alertsFile, "utf8").matchAll(/alert: (\w+)/g))
    t.ok(guide.includes(`\`${name}\``), name);
});

async function labelled(daemon: DaemonProcess, row: string): Promise<number> {
  const { text } = await daemon.get("/metrics");
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${row} `))
      ?.slice(row.length + 1),
  );
}

t.test("requests are counted under labels that no client chooses", async (t) => {
  const { metrics, text } = createMetrics();
  const count = requestCounter(metrics);
  for (const [method, status] of [
    ["GET", 200],
    ["GET", 204],
    ["POST", 499],
    ["BREW", 405],
    ["get", 500],
  ] as const)
    count({ method, status, route: "/a/NAME", durationMs: 3 });
  const lines = (await text()).split("\n");
  const counts = lines.filter((line) => line.startsWith("trawl_http_requests_total{"));
  t.same(counts, [
    'trawl_http_requests_total{route="/a/NAME",method="GET",status="2xx"} 2',
    'trawl_http_requests_total{route="/a/NAME",method="POST",status="gone"} 1',
    'trawl_http_requests_total{route="/a/NAME",method="other",status="4xx"} 1',
    'trawl_http_requests_total{route="/a/NAME",method="other",status="5xx"} 1',
  ]);
  t.ok(lines.includes('trawl_http_request_seconds_bucket{le="0.004",route="/a/NAME"} 5'));
  t.ok(lines.includes('trawl_http_request_seconds_bucket{le="0.002",route="/a/NAME"} 0'));
});

t.test("the metrics of a daemon", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { "a.txt": "needle\n" } });
  const daemon = await testDaemon(t);
  const startSeconds = Math.floor(new Date().getTime() / 1000) - 1;
  const { version } = JSON.parse(
    readFileSync(fileURLToPath(new URL("../../../../package.json", import.meta.url)), "utf8"),
  ) as { version: string };
  t.equal(
    await labelled(daemon, `trawl_build_info{version="${version}",node="${process.versions.node}",kernel="native"}`),
    1,
  );
  t.equal(await labelled(daemon, "trawl_sync_last_success_timestamp_seconds"), 0);
  await daemon.add("host/a", source.path);
  t.ok((await labelled(daemon, "trawl_sync_last_success_timestamp_seconds")) >= startSeconds);
  t.ok((await labelled(daemon, "trawl_sync_oldest_success_timestamp_seconds")) >= startSeconds);
  t.ok((await labelled(daemon, "trawl_disk_free_bytes")) > 0);
  t.ok((await labelled(daemon, "trawl_disk_size_bytes")) > (await labelled(daemon, "trawl_disk_free_bytes")));
  for (const queue of ["search", "slice_interactive", "slice_exhaustive", "sync", "ingest", "read"]) {
    await until(
      `nothing waits in ${queue}`,
      async () => (await labelled(daemon, `trawl_queue_length{queue="${queue}"}`)) === 0,
    );
  }

  await daemon.search("count:10 needle");
  await daemon.search("count:all needle");
  for (const lane of ["interactive", "exhaustive"])
    t.equal(await labelled(daemon, `trawl_search_seconds_count{lane="${lane}"}`), 1, lane);

  await requestsOfAllKinds(t, daemon);

  rmSync(source.path, { recursive: true });
  writeFileSync(source.path, "");
  await t.rejects(daemon.sync("host/a"));
  t.equal(await labelled(daemon, 'trawl_repositories_failing{state="searchable"}'), 1);
  await t.rejects(daemon.add("host/b", "/nonexistent/b"));
  t.equal(await labelled(daemon, 'trawl_repositories_failing{state="failed"}'), 1);
  t.equal(await labelled(daemon, "trawl_sync_oldest_success_timestamp_seconds"), 0, "one has never been fetched");
  await until("nothing waits", async () => (await labelled(daemon, 'trawl_queue_length{queue="sync"}')) === 0);
});

/** The metrics of requests, and of those who send them, of a daemon that was searched twice. */
async function requestsOfAllKinds(t: Test, daemon: DaemonProcess): Promise<void> {
  const ofSearches = 'trawl_http_requests_total{route="/.api/search/stream",method="GET",status="2xx"}';
  await until("both streams have ended", async () => (await labelled(daemon, ofSearches)) === 2);
  t.equal(await labelled(daemon, 'trawl_http_request_seconds_count{route="/.api/search/stream"}'), 2);
  t.equal(await labelled(daemon, "trawl_http_requests_open"), 1, "the one that asks");
  t.equal(await labelled(daemon, 'trawl_map_entries{map="traces"}'), 2);
  t.equal(await labelled(daemon, 'trawl_map_entries{map="users"}'), 1);

  await fetch(`${daemon.url}/.api/search/stream?q=a`, { headers: { Authorization: "token wrong" } });
  t.equal(await labelled(daemon, "trawl_credentials_refused_total"), 1);
  const signIn = { method: "POST", body: JSON.stringify({ email: "nobody", password: "wrong password" }) };
  await fetch(`${daemon.url}/-/sign-in`, signIn);
  t.equal(await labelled(daemon, 'trawl_sign_in_failures_total{reason="no_such_user"}'), 1);
  await fetch(`${daemon.url}/.api/webhooks/none`, { method: "POST", body: "{}" });
  t.equal(await labelled(daemon, 'trawl_webhook_deliveries_total{outcome="refused"}'), 1);

  await (await fetch(`${daemon.url}/.api/search/stream?q=needle&resume=1`)).text();
  t.equal(await labelled(daemon, 'trawl_resumable_stream_starts_total{outcome="started"}'), 1);
  t.ok((await labelled(daemon, "trawl_resumable_stream_bytes")) > 0);
  await fetch(`${daemon.url}/.api/search/stream?q=needle`, { headers: { "Last-Event-ID": "none" } });
  t.equal(await labelled(daemon, 'trawl_resumable_stream_starts_total{outcome="refused"}'), 1);
  for (const row of ['trawl_jobs{state="queued"}', "trawl_notifications_waiting", 'trawl_connections{state="good"}'])
    t.equal(await labelled(daemon, row), 0, row);
}
