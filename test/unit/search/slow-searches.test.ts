/** Log lines of slow and costly searches. */
import { pino } from "pino";
import t from "tap";
import { anonymous } from "../../../src/model/viewer.js";
import { ownRequest } from "../../../src/model/search-request.js";
import { noStats } from "../../../src/protocol/search-options.js";
import type { SearchEnd } from "../../../src/search/report/search-report.js";
import { SlowSearches, type SlowSearchLimits } from "../../../src/search/report/slow-searches.js";

const limits: SlowSearchLimits = { slowMs: 1_000, costlyMs: 5_000, logsQueries: false };

function logged(changed: Partial<SlowSearchLimits> = {}) {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let nowMs = 0;
  const slow = new SlowSearches({ ...limits, ...changed }, log, () => nowMs);
  const record = (durationMs: number, workerMs: number, query = "needle"): void => {
    const origin = { remoteAddress: "192.0.2.7", requestId: "abc", traceParent: undefined };
    const request = { ...ownRequest(query, { ...anonymous, name: "ann" }, "user 1"), origin };
    const end = { outcome: "complete", lane: "interactive", matchCount: 3, durationMs, workerMs, stats: noStats() };
    slow.record(request, end as SearchEnd, "/.api/search/trace/id");
  };
  const wait = (ms: number): void => {
    nowMs += ms;
  };
  return { lines, record, wait };
}

t.test("a search is logged from a duration, or from a cost", (t) => {
  const { lines, record } = logged();
  record(999, 4_999);
  t.same(lines, []);
  record(1_000, 2);
  record(2, 5_000);
  t.same(
    lines.map(({ msg, durationMs, workerMs }) => [msg, durationMs, workerMs]),
    [
      ["a slow search", 1_000, 2],
      ["a costly search", 2, 5_000],
    ],
  );
  t.match(lines[0], { user: "ann", from: "192.0.2.7", requestId: "abc", matches: 3, outcome: "complete" });
  t.equal(lines[0]?.["queryHash"], "09881f6ed93360a2", "the beginning of its SHA-256");
  t.notOk("query" in (lines[0] ?? {}), "the text is private");
  t.end();
});

t.test("the text of a query is logged only if that is wanted, and in part", (t) => {
  const { lines, record } = logged({ logsQueries: true });
  record(2_000, 0, "x".repeat(5_000));
  t.equal(lines[0]?.["query"], "x".repeat(1_000));
  t.end();
});

t.test("a minute has a limited number of lines; the others are counted", (t) => {
  const { lines, record, wait } = logged();
  for (let i = 0; i < 75; i++) record(2_000, 0);
  t.equal(lines.length, 60);
  wait(60_000);
  record(2_000, 0);
  record(2_000, 0);
  t.same([lines[60]?.["untold"], lines[61]?.["untold"]], [15, undefined]);
  t.end();
});

t.test("nothing is logged without limits", (t) => {
  const { lines, record } = logged({ slowMs: Infinity, costlyMs: Infinity });
  record(1e9, 1e9);
  t.same(lines, []);
  t.end();
});
