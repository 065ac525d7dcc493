/** What the next task does after one that has not completed what was asked of it. */
import t from "tap";
import { serializeError, TrawlError } from "../../../src/base/errors.js";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import type { SyncOutcome } from "../../../src/protocol/ingest-messages.js";
import { SyncOutcomes } from "../../../src/sync/runner/sync-outcomes.js";
import { syncParts } from "../../support/sync-parts.js";

t.test("a mirror that is to be fetched anew is, also after a fetch that failed or was too slow", async (t) => {
  const { queue, catalog } = await syncParts(t, 1);
  type Arguments = ConstructorParameters<typeof SyncOutcomes>;
  const services = { catalog, log: silentLog(), metrics: createMetrics().metrics, settings: { intervalMsMax: 1_000 } };
  const outcomes = new SyncOutcomes(services as unknown as Arguments[0], queue, {} as Arguments[2], {} as Arguments[3]);
  outcomes.recordBrokenHistory(catalog.repository(1)!, 1);
  const schedule = queue.schedule(1);
  const ends: readonly SyncOutcome[] = [
    { kind: "deferred", repositoryId: 1 },
    { kind: "failed", repositoryId: 1, error: serializeError(new TrawlError("git", "reset")) },
  ];
  for (const end of ends) {
    t.ok(schedule.recreate, `before the task that is ${end.kind}`);
    // As a task does that takes the repository.
    schedule.recreate = false;
    outcomes.recordRecreation(1);
    outcomes.settle(end, performance.now());
  }
  t.ok(schedule.recreate);
});
