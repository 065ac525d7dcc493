/** Export of spans by OTLP: what is sent, what waits, and what is dropped. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import { type ExportAnswer, SpanExporter, spanSender } from "../../../src/daemon/parts/span-exporter.js";
import { noOrigin, type TraceParent } from "../../../src/model/request-origin.js";
import { ownRequest } from "../../../src/model/search-request.js";
import { anonymous } from "../../../src/model/viewer.js";
import { noStats } from "../../../src/protocol/search-options.js";
import type { SearchEnd } from "../../../src/search/report/search-report.js";
import { type SearchSpan, toSpan } from "../../../src/search/report/search-span.js";
import { TestClock } from "../../support/test-clock.js";

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

const end = {
  outcome: "complete",
  lane: "interactive",
  matchCount: 3,
  durationMs: 12.5,
  workerMs: 7.25,
  stats: noStats(),
};

function spanOf(traceParent: TraceParent | undefined): SearchSpan | undefined {
  const request = { ...ownRequest("needle", anonymous, "x"), origin: { ...noOrigin, requestId: "r", traceParent } };
  return toSpan(request, end as SearchEnd, "http://h/trace");
}

function anySpan(): SearchSpan {
  const span = spanOf(undefined);
  if (span === undefined) throw new RangeError("a span without a parent is recorded");
  return span;
}

function exporter(answer: (spans: readonly SentSpan[]) => ExportAnswer | Promise<ExportAnswer>) {
  const registry = createMetrics();
  const batches: (readonly SentSpan[])[] = [];
  const send = async (json: string): Promise<ExportAnswer> => {
    const { resourceSpans } = JSON.parse(json) as { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] };
    const spans = resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
    batches.push(spans);
    return await answer(spans);
  };
  const made = new SpanExporter({
    send,
    resource: { "service.name": "trawl" },
    metrics: registry.metrics,
    log: silentLog(),
  });
  const counts = async (): Promise<readonly string[]> =>
    (await registry.text()).split("\n").filter((line) => /^trawl_spans_\w+(\{.*\})? [1-9]/.test(line));
  return { made, batches, counts };
}

t.test("a span belongs to the trace of its client", (t) => {
  const parent = { traceId: "ab".repeat(16), spanId: "cd".repeat(8), isSampled: true };
  const span = spanOf(parent);
  t.match(span, { traceId: parent.traceId, parentSpanId: parent.spanId, spanId: /^[0-9a-f]{16}$/ });
  t.equal(spanOf({ ...parent, isSampled: false }), undefined, "the client has decided");
  const own = anySpan();
  t.match(own, { traceId: /^[0-9a-f]{32}$/, spanId: /^[0-9a-f]{16}$/, parentSpanId: "" });
  t.not(own.traceId, anySpan().traceId);
  t.equal(own.endMs - own.startMs, 12.5);
  t.notOk(JSON.stringify(own).includes("needle"), "the query is private");
  t.end();
});

t.test("what is sent", async (t) => {
  const { made, batches, counts } = exporter(() => ({ status: 200, rejectedCount: 0 }));
  made.add({ ...anySpan(), startMs: 1_700_000_000_000.25, endMs: 1_700_000_000_012.5 });
  await made.close();
  const [span] = batches[0] ?? [];
  t.match(span, { startTimeUnixNano: "1700000000000250000", endTimeUnixNano: "1700000000012500000" });
  const values = new Map(span?.attributes.map(({ key, value }) => [key, value]));
  t.same(values.get("trawl.matches"), { intValue: "3" }, "64-bit numbers are text");
  t.same(values.get("trawl.worker_ms"), { doubleValue: 7.25 });
  t.same(values.get("trawl.outcome"), { stringValue: "complete" });
  t.same(await counts(), ["trawl_spans_exported_total 1"]);
});

t.test("spans wait together, and are sent in batches", async (t) => {
  const clock = new TestClock(t);
  const { made, batches, counts } = exporter(() => ({ status: 200, rejectedCount: 0 }));
  for (let i = 0; i < 3; i++) made.add(anySpan());
  await clock.advance(1_999);
  t.equal(batches.length, 0);
  await clock.advance(1);
  t.same(
    batches.map(({ length }) => length),
    [3],
  );
  for (let i = 0; i < 1_100; i++) made.add(anySpan());
  await clock.advance(0);
  await clock.advance(0);
  t.same(
    batches.map(({ length }) => length),
    [3, 512, 512],
    "full batches do not wait",
  );
  await clock.advance(2_000);
  t.equal(batches[3]?.length, 76);
  t.same(await counts(), ["trawl_spans_exported_total 1103"]);
});

t.test("a batch is tried again, and dropped after some attempts", async (t) => {
  const clock = new TestClock(t);
  const statuses = [503, 200, 503, 503, 503, 503, 503, 200, 400];
  const { made, batches, counts } = exporter(() => ({ status: statuses.shift() ?? 200, rejectedCount: 0 }));
  made.add(anySpan());
  await clock.advance(2_000);
  made.add(anySpan());
  await clock.advance(999);
  t.equal(batches.length, 1, "there is a pause after a failure");
  await clock.advance(1);
  t.same(
    batches.map(({ length }) => length),
    [1, 2],
    "what came meanwhile is sent with it",
  );
  t.same(batches[1]?.[0], batches[0]?.[0]);
  made.add(anySpan());
  await clock.advance(2_000 + 1_000 + 2_000 + 4_000 + 8_000);
  t.equal(batches.length, 7);
  t.same(await counts(), ["trawl_spans_exported_total 2", 'trawl_spans_dropped_total{reason="failed"} 1']);
  made.add(anySpan());
  await clock.advance(2_000);
  made.add(anySpan());
  await clock.advance(2_000);
  t.equal(batches.length, 9);
  await clock.advance(60_000);
  t.equal(batches.length, 9, "what is refused is not tried again");
  t.same(await counts(), ["trawl_spans_exported_total 3", 'trawl_spans_dropped_total{reason="failed"} 2']);
});

t.test("without a collector the queue is bounded, and nothing waits for it", async (t) => {
  const clock = new TestClock(t);
  const { made, batches, counts } = exporter(() => Promise.reject(new RangeError("connect ECONNREFUSED")));
  for (let i = 0; i < 5_000; i++) made.add(anySpan());
  t.equal(batches.length, 0);
  t.same(await counts(), ['trawl_spans_dropped_total{reason="full"} 904']);
  await clock.advance(1);
  t.equal(batches.length, 1);
  await made.close();
  t.same(await counts(), [
    'trawl_spans_dropped_total{reason="full"} 904',
    'trawl_spans_dropped_total{reason="failed"} 4096',
  ]);
  made.add(anySpan());
  t.equal(batches.length, 1, "after the end, too");
});

t.test("over HTTP", async (t) => {
  const bodies: unknown[] = [];
  let headers: Readonly<Record<string, unknown>> = {};
  let answer = { status: 200, text: '{"partialSuccess":{"rejectedSpans":"2"}}' };
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk);
    headers = request.headers;
    bodies.push([request.method, request.url, request.headers["content-type"], Buffer.concat(chunks).toString()]);
    response.writeHead(answer.status).end(answer.text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  const send = spanSender(url, "trawl/1", "");
  const signal = new AbortController().signal;
  t.same(await send("{}", signal), { status: 200, rejectedCount: 2 });
  t.same(bodies, [["POST", "/v1/traces", "application/json", "{}"]]);
  for (const text of ["", "null", "[]", "x".repeat(100_000)]) {
    answer = { status: 200, text };
    t.same(await send("{}", signal), { status: 200, rejectedCount: 0 });
  }
  answer = { status: 302, text: "" };
  t.same(await send("{}", signal), { status: 302, rejectedCount: 0 }, "a redirect is not followed");
  t.notOk("authorization" in headers);

  const file = join(t.testdir({}), "credential");
  const sendWith = (text: string) => {
    writeFileSync(file, text);
    return spanSender(url, "trawl/1", `file:${file}`);
  };
  await sendWith("s3cret\n")("{}", signal);
  t.match(headers, { authorization: "Bearer s3cret" });
  const withKey = sendWith("x-api-key: one: two\n");
  await withKey("{}", signal);
  t.match(headers, { "x-api-key": "one: two", "content-type": "application/json" });
  t.notOk("authorization" in headers);
  writeFileSync(file, "Authorization: Basic YTpi\r\n");
  await withKey("{}", signal);
  t.match(headers, { authorization: "Basic YTpi" }, "it is read again for each batch");
  writeFileSync(file, "one\nX-Other: two\n");
  await t.rejects(withKey("{}", signal), { code: "bad-config", message: /^tracing\.credential: .*more than one line/ });
  t.throws(() => spanSender(url, "trawl/1", "file:/nonexistent"), {
    code: "bad-config",
    message: /^tracing\.credential: cannot read its secret: ENOENT/,
  });
  server.closeAllConnections();
});
