import t from "tap";
import { anonymous, operatorViewer } from "../../../src/model/viewer.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { noStats } from "../../../src/protocol/search-options.js";
import type { SearchRequest } from "../../../src/model/search-request.js";
import type { SearchReceipt } from "../../../src/search/report/search-receipt.js";
import type { SearchEnd } from "../../../src/search/report/search-report.js";
import { ReceiptStore, TraceStore, traceWriter } from "../../../src/search/report/latest-searches.js";

t.test("viewers can read only their own traces", (t) => {
  const store = new TraceStore();
  const alice = { ...anonymous, userId: 1 };
  const bob = { ...anonymous, userId: 2 };
  const ids = [store.newId(), store.newId()] as const;
  store.add(ids[0], () => "alice's", alice);
  store.add(ids[1], () => "somebody's", anonymous);
  t.same(
    [alice, bob, anonymous, operatorViewer].map((viewer) => store.get(ids[0], viewer, false)),
    ["alice's", undefined, undefined, "alice's"],
  );
  t.same(
    [alice, anonymous].map((viewer) => store.get(ids[1], viewer, false)),
    ["somebody's", "somebody's"],
    "who has no account shows the id",
  );
  for (const guess of ["0", "1", "2", "", "constructor"])
    t.equal(store.get(guess, anonymous, false), undefined, `no search is at ${guess}`);
  t.match(ids[1], /^[0-9a-f-]{36}$/);
  t.equal(new Set(Array.from({ length: 1000 }, () => store.newId())).size, 1000);
  t.end();
});

t.test("what took part in the search is told to those who saw all repositories then and do so now", (t) => {
  const store = new TraceStore();
  const alice = { ...anonymous, userId: 1 };
  const end = { outcome: "complete", matchCount: 1, durationMs: 12, stats: noStats(), shardFailures: [] };
  for (const query of ["needle", `needle${" long".repeat(300)}`])
    for (const sawAll of [true, false]) {
      const id = store.newId();
      const request = { query } as SearchRequest;
      store.add(id, traceWriter(request, planQuery(query, "standard"), end as never as SearchEnd, sawAll), alice);
      for (const seesAll of [true, false]) {
        const text = store.get(id, alice, seesAll) ?? "";
        t.equal(text.includes("scannedBytes"), sawAll && seesAll, `${query.length} characters, ${sawAll}, ${seesAll}`);
        t.match(text, sawAll && seesAll ? /duration: 12\.00/ : /duration: 20\.00/);
      }
    }
  t.end();
});

t.test("receipts take as much room as other nodes have told", (t) => {
  const store = new ReceiptStore(() => ({}) as never);
  const receipt = (listedCount: number) =>
    ({ listedCount, isVisibleIn: () => true, repositories: () => ({ count: 0, items: [] }) }) as never as SearchReceipt;
  const known = (): string[] =>
    Array.from({ length: 200 }, (_, i) => `${i}`).filter((id) => store.find(id, anonymous) !== undefined);
  for (let i = 0; i < 100; i++) store.add(`${i}`, receipt(i % 2), anonymous);
  t.equal(store.size, 64);
  t.equal(known()[0], "36");
  const whale = receipt(231_000);
  store.add("100", whale, anonymous);
  t.equal(store.size, 64 - 58 + 1, "and all that may be told has room");
  t.ok(known().includes("100"));
  store.forget(whale);
  t.equal(store.size, 6);
  store.forget(receipt(1));
  t.equal(store.size, 6, "one that it does not have");
  t.end();
});
