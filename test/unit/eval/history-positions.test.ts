import t from "tap";
import { MergedHistorySearch } from "../../../src/eval/history/merged-search.js";
import { neverStop } from "../../../src/base/stop-signal.js";
import { listCommits, listedOids } from "../../../src/git/history/commit-list.js";
import { HistoryReader } from "../../../src/history/history-reader.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import type { HistoryPosition } from "../../../src/protocol/history-messages.js";
import { Analyses } from "../../../src/query/fields/analyses.js";
import { basicQueries } from "../../../src/query/syntax/basic.js";
import { planHistory } from "../../../src/query/plan/plan-history.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";
import { neverStopped } from "../../support/engine.js";
import { scaled } from "../../support/full-run.js";
import { generateHistory, generateQuery } from "../../support/history-repository.js";
import { buildHistoryShard } from "../../support/history-shards.js";
import { seed } from "../../support/property.js";
import { randomFrom } from "../../support/random.js";

t.test("a search that continues at any position finds the same as one that does not stop", async (t) => {
  const repository = generateHistory(seed + 3, 40);
  t.teardown(() => repository.remove());
  const random = randomFrom(seed);
  const list = await listCommits(repository.path, repository.git("rev-list", "--all").split("\n"), [], neverStop);
  const inOrder = listedOids(list, 0, list.count);
  // In another order, positions are not commit numbers.
  const readers = await Promise.all(
    [inOrder, inOrder.toReversed()].map(
      async (oids) => new HistoryReader(1, await buildHistoryShard(repository.path, oids, "native", "with-postings")),
    ),
  );
  const kernel = loadKernel("native");
  let resumed = 0;
  for (let i = 0; i < scaled(20, 120); i++) {
    const reader = readers[i % 2];
    const text = `${generateQuery(random)} ${i % 3 === 0 ? "" : "or (type:commit type:diff a)"}`;
    const plans = basicQueries(parseQuery(text, "keyword")).flatMap((query) =>
      planHistory(query, new Analyses(text), 0).map((plan) => ({ plan, optionsIndex: 0 })),
    );
    const target = { reader, kernel, visible: undefined, useIndex: true, stop: neverStopped };
    const find = (countMax: number): string[] => {
      const found: string[] = [];
      for (let from: HistoryPosition | undefined = { at: 0, knownCount: 0 }; from !== undefined; ) {
        const search: MergedHistorySearch = new MergedHistorySearch(plans, target, from);
        from = undefined;
        for (let count = 0; count < countMax; count++) {
          const one = search.next();
          from = one?.next;
          if (one === undefined) break;
          found.push(`${one.result.kind} ${one.result.oid} ${one.matchCount}`);
        }
      }
      return found;
    };
    const whole = find(Infinity);
    if (whole.length > 1) resumed++;
    t.same(find(1), whole, text);
    t.same(find(3), whole, text);
  }
  t.ok(resumed > 10, "of several results");
});
