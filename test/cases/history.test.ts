import t from "tap";
import { historyRows } from "./history.js";
import { askHistory, startHistorySite } from "./history-answers.js";

// One table of searches of history, asked over HTTP of a daemon that mirrors real repositories.

/** Queries at the same time, fewer than one client may run. */
const asked = 4;

t.test("the table", async (t) => {
  const queries = historyRows.map(([query]) => query);
  t.equal(new Set(queries).size, queries.length, "each query occurs once");
  t.ok(queries.length >= 350);
});

t.test("searches of history", async (t) => {
  const site = await startHistorySite(t);
  for (let from = 0; from < historyRows.length; from += asked) {
    await Promise.all(
      historyRows.slice(from, from + asked).map(async ([query, ...answers]) => {
        t.same(await askHistory(site, query), answers, query);
      }),
    );
  }
});
