/** Budgets of scanned bytes and worker time, and the costs that `explain=1` shows. */
import assert from "node:assert/strict";
import t, { type Test } from "tap";
import { SseDecoder } from "../../../src/cli/connection/sse-decoder.js";
import type { Progress, StreamError } from "../../../src/model/stream-events.js";
import { ControlBlock, CostMeter } from "../../../src/protocol/control-block.js";
import { CostBudgets } from "../../../src/search/limits/search-limits.js";
import { type DaemonProcess, runCommand, testDaemon, textsOnly } from "../../support/daemon.js";
import { fixture } from "../../support/git-mirror.js";
import { randomFrom } from "../../support/random.js";

t.setTimeout(900_000);

t.test("a budget is spent and comes back as the window slides", async (t) => {
  let nowMs = 1_000_000;
  const budgets = new CostBudgets({ scannedBytes: 100, workerMs: 0, windowMs: 60_000 }, () => nowMs);
  t.equal(budgets.refusal("a"), undefined);
  budgets.charge("a", { scannedBytes: 60, workerMs: 5_000 });
  nowMs += 30_000;
  budgets.charge("a", { scannedBytes: 30, workerMs: 0 });
  t.equal(budgets.refusal("a"), undefined, "some is left");
  budgets.charge("a", { scannedBytes: 20, workerMs: 0 });
  t.match(budgets.refusal("a"), { message: /have scanned the 100 bytes that they may \(search.budgetScannedBytes\)/ });
  t.equal(budgets.refusal("b"), undefined, "the budget of one client is not that of another");
  const wait = budgets.refusal("a")?.retryAfterSeconds ?? 0;
  t.ok(wait >= 29 && wait <= 32, `${wait}`);
  nowMs += wait * 1000;
  t.equal(budgets.refusal("a"), undefined, "what was spent first is forgotten after the time that was told");
  const time = new CostBudgets({ scannedBytes: 0, workerMs: 2_000, windowMs: 10_000 }, () => nowMs);
  time.charge("a", { scannedBytes: 1e12, workerMs: 2_000 });
  t.match(time.refusal("a"), { message: /have taken the 2 seconds of worker time that they may/ });
  t.notOk(new CostBudgets({ scannedBytes: 0, workerMs: 0, windowMs: 10_000 }).isOn);
});

t.test("the rest of a budget is reported", async (t) => {
  let nowMs = 1_000_000;
  const budgets = new CostBudgets({ scannedBytes: 100, workerMs: 2_000, windowMs: 60_000 }, () => nowMs);
  const [scanned, time] = ["scanned", "worker-time"].map((name) => ({ name, windowSeconds: 60 }));
  t.match(budgets.quotas("a"), [
    { ...scanned, countMax: 100, left: 100, resetSeconds: 60 },
    { ...time, countMax: 2_000, left: 2_000, resetSeconds: 60 },
  ]);
  budgets.charge("a", { scannedBytes: 60, workerMs: 0.5 });
  nowMs += 30_000;
  const [left, leftTime] = budgets.quotas("a");
  t.match([left, leftTime], [{ left: 40 }, { left: 1_999 }]);
  t.ok(left!.resetSeconds! >= 30 && left!.resetSeconds! <= 32, "until the first costs are forgotten");
  budgets.charge("a", { scannedBytes: 60, workerMs: 0 });
  t.match(budgets.quotas("a"), [{ left: 0, resetSeconds: budgets.refusal("a")?.retryAfterSeconds }, { left: 1_999 }]);
  t.same(new CostBudgets({ scannedBytes: 0, workerMs: 0, windowMs: 1 }).quotas("a"), [], "nothing is limited");
});

t.test("slices record what they cost, without losing fractions", async (t) => {
  const control = ControlBlock.allocate(2, 0, 0);
  const meter = new CostMeter(control);
  for (let i = 0; i < 1024; i++) meter.record(1000);
  t.equal(control.cost.scannedBytes, 1_024_000);
  t.equal(control.shardOfSlot(0), -1, "the words of slots are not touched");
});

interface Answer {
  readonly status: number;
  readonly progress: Progress | undefined;
  readonly error: string;
  readonly retryAfter: string | null;
  readonly text: string;
}

async function search(daemon: DaemonProcess, q: string, more: Readonly<Record<string, string>>): Promise<Answer> {
  const parameters = new URLSearchParams({ q, v: "V3", t: "regexp", ...more });
  const response = await fetch(`${daemon.url}/.api/search/stream?${parameters}`);
  const text = await response.text();
  const events = response.status === 200 ? new SseDecoder().push(Buffer.from(text)) : [];
  const last = events.findLast(({ name }) => name === "progress");
  return {
    status: response.status,
    progress: last && (JSON.parse(last.data) as Progress),
    error: events
      .flatMap(({ name, data }) => (name === "error" ? [(JSON.parse(data) as StreamError).message] : []))
      .join(),
    retryAfter: response.headers.get("retry-after"),
    text,
  };
}

/** Searches of these texts take a while: RE2 cannot build the states of the expression ahead. */
const pick = randomFrom(8);
const slowText = Array.from({ length: 300 }, () => `z${Array.from({ length: 200 }, () => "ab"[pick(2)]).join("")}`);
const slowPattern = "a.{60}b.{60}a.{30}z count:all";

/** The costs of a search that scans nothing, on the command line and in GraphQL. */
async function checkExplained(t: Test, daemon: DaemonProcess): Promise<void> {
  const query = "type:path f[12].txt";
  const { err, exitCode } = await runCommand("search", "--endpoint", daemon.url, "-t", "regexp", "--explain", query);
  t.equal(exitCode, 0, err);
  const expected = { plan: /f\[12\]/, estimate: { shards: 4, documents: 4 }, took: { stats: { documentsMatched: 2 } } };
  t.match(JSON.parse(err), expected);
  const text = `query ($q: String!) { search(query: $q, patternType: regexp, explain: true) { results { explain {
    plan estimate { shards shardsRuledOut documents textBytes } took { durationMs workerMs stats } } } } }`;
  const response = await fetch(`${daemon.url}/.api/graphql`, {
    method: "POST",
    body: JSON.stringify({ query: text, variables: { q: query } }),
  });
  const { data } = (await response.json()) as { data: { search: { results: { explain: object } } } };
  t.match(data.search.results.explain, { ...expected, estimate: { ...expected.estimate, textBytes: /^2\d{5}$/ } });
  const plain = await runCommand("explain", "--data", daemon.data, "-t", "regexp", query);
  t.match(plain.out, /^at most: 4 shards with 4 documents and 2\d{5} bytes of text; 0 shards ruled out/m);
  t.match(plain.out, /^took: \d+\.\d ms of worker time$/m);
}

t.test("a search that exceeds the budget is ended, and the next one is refused", async (t) => {
  const daemon = await testDaemon(t, [...textsOnly, "--set", "search.budgetScannedBytes=50000"]);
  for (let i = 0; i < 4; i++) {
    const source = fixture(t);
    source.commit({ branch: "main", files: { [`f${i}.txt`]: `${i}\n${slowText.join("\n")}\n` } });
    await daemon.add(`slow${i}`, source.path);
  }
  await checkExplained(t, daemon);
  const first = await search(daemon, slowPattern, { receipt: "1", explain: "1" });
  t.equal(first.status, 200);
  t.match(first.error, /have scanned the 50000 bytes that they may/, JSON.stringify(first.progress));
  t.match(first.progress?.receipt, { complete: false, excludedByReason: { budget: 1 } });
  const explained = first.progress?.explain;
  assert.ok(explained);
  t.match(explained.estimate, { shards: 4, documents: 4 });
  t.ok((explained.estimate?.textBytes ?? 0) > 240_000);
  const scanned = explained.took.stats?.["scannedBytes"] ?? 0;
  t.ok(scanned >= 50_000 && scanned < (explained.estimate?.textBytes ?? 0), `${scanned} bytes, not all, were scanned`);
  t.ok(explained.took.workerMs! > 0 && explained.took.durationMs > 0);
  t.match(explained.plan, /requires/);
  const second = await search(daemon, "anything", {});
  t.match(second, { status: 429, text: /search.budgetScannedBytes/ });
  t.ok(Number(second.retryAfter) > 3_000 && Number(second.retryAfter) <= 3_660, String(second.retryAfter));
});
