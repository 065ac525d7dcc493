/** What an operator can see of a running daemon: metrics, log lines, spans, `trawl top` and profiles. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { runCommand, testDaemon, type DaemonProcess } from "../support/daemon.js";
import { fixture } from "../support/git-mirror.js";
import { until } from "../support/waiting.js";

/** Collects the bodies of what is posted to it. */
async function startCollector(t: Test): Promise<{ readonly url: string; readonly bodies: string[] }> {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk);
    bodies.push(Buffer.concat(chunks).toString());
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`, bodies };
}

async function findLine(daemon: DaemonProcess, message: string): Promise<Readonly<Record<string, unknown>>> {
  const find = () => daemon.log.find(({ msg }) => msg === message);
  await until(`the line: ${message}`, () => find() !== undefined);
  return find() as unknown as Readonly<Record<string, unknown>>;
}

t.test("a daemon that is looked at", async (t) => {
  const collector = await startCollector(t);
  const source = fixture(t);
  source.commit({ branch: "main", files: { "a.txt": "needle\n".repeat(20_000) } });
  const options = {
    "metrics.listen": "127.0.0.1:0",
    "tracing.endpoint": collector.url,
    "log.slowSearchMilliseconds": 1,
    "log.format": "json",
  };
  const typed = Object.entries(options).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
  const daemon = await testDaemon(t, typed);
  await daemon.add("host/a", source.path);
  const [traceId, spanId] = ["0123456789abcdef".repeat(2), "00f067aa0ba902b7"];
  const headers = { "X-Request-Id": "request-7", traceparent: `00-${traceId}-${spanId}-01` };

  await t.test("a slow search is logged under the id of its request", async (t) => {
    const response = await fetch(`${daemon.url}/.api/search/stream?q=${encodeURIComponent("/ne+dle/ count:all")}`, {
      headers,
    });
    t.equal(response.headers.get("x-request-id"), "request-7");
    t.match(await response.text(), /event: done/);
    t.match(await findLine(daemon, "a slow search"), {
      requestId: "request-7",
      traceId,
      from: "127.0.0.1",
      queryHash: /^[0-9a-f]{16}$/,
      matches: 20_000,
      trace: /^\/\.api\/search\/trace\//,
    });
    t.notOk(
      (await daemon.wholeLog()).some((line) => JSON.stringify(line).includes("ne+dle")),
      "the query is private",
    );
  });

  await t.test("metrics have an address of their own", async (t) => {
    const { url } = await findLine(daemon, "metrics are served");
    const own = await fetch(String(url));
    t.equal(own.status, 200);
    t.match(await own.text(), /^trawl_searches_total\{outcome="complete"\} 1$/m);
    t.equal((await fetch(String(url).replace("/metrics", "/.api/repos"))).status, 404);
    const { status, text } = await daemon.get("/metrics");
    t.same([status, text], [404, "The metrics are served at another address: metrics.listen.\n"]);
  });

  await t.test("trawl top", async (t) => {
    for (const from of [
      ["--data", daemon.data],
      ["--endpoint", String((await findLine(daemon, "metrics are served"))["url"]).replace("/metrics", "")],
    ]) {
      const { exitCode, out, err } = await runCommand("top", "--once", ...from);
      t.same([exitCode, err], [0, ""]);
      t.match(out, /^trawl \d+\.\d+\.\d+, Node .*; averages since the start$/m);
      t.match(out, /^Repositories 1 searchable {2}0 pending {2}0 failing {2}last sync /m);
      for (const line of out.split("\n")) t.ok(line.length <= 80, line);
    }
  });

  await t.test("a profile of all threads", async (t) => {
    const file = join(t.testdir({}), "a.cpuprofile");
    const { exitCode, out, err } = await runCommand("profile", "--seconds", "1", "--data", daemon.data, file);
    t.same([exitCode, err], [0, ""]);
    t.match(out, /^.*a\.cpuprofile: [0-9]+ bytes$/m);
    const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, "utf8")) as {
      nodes: { id: number; callFrame: { functionName: string }; children?: number[] }[];
      samples: number[];
      timeDeltas: number[];
    };
    const tops = nodes
      .filter(({ id }) => nodes[0]?.children?.includes(id))
      .map(({ callFrame }) => callFrame.functionName);
    t.ok(tops.includes("(main thread)"), tops.join());
    t.ok(
      tops.some((name) => /^\(search thread [0-9]+\)$/.test(name)),
      tops.join(),
    );
    t.ok(samples.length > 0 && samples.length === timeDeltas.length);
  });

  await daemon.stop();
  const spans = collector.bodies.map((body) => JSON.parse(body) as unknown);
  t.match(spans, [
    {
      resourceSpans: [
        { scopeSpans: [{ spans: [{ name: "search", traceId, parentSpanId: spanId, spanId: /^[0-9a-f]{16}$/ }] }] },
      ],
    },
  ]);
  t.match(collector.bodies.join(), /"trawl\.request_id","value":\{"stringValue":"request-7"\}/);
});
