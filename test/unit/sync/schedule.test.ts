/** A caller gets the result of the first task that starts after its call, and of no earlier one. */
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { Schedule } from "../../../src/sync/queue/schedule.js";
import { settled } from "../../support/test-clock.js";

/** Records how a promise settles, under the given name. */
function record(outcomes: string[], name: string, promise: Promise<unknown>): void {
  promise.then(
    (value) => outcomes.push(`${name}: ${String(value)}`),
    (error: TrawlError) => outcomes.push(`${name}: ${error.code}`),
  );
}

t.test("a caller that comes while a task runs waits for the next one", async (t) => {
  const schedule = new Schedule();
  const outcomes: string[] = [];
  t.notOk(schedule.hasWaiters);
  record(outcomes, "first", schedule.wait());
  record(outcomes, "second", schedule.wait());
  t.ok(schedule.hasWaiters);
  schedule.attend();
  t.notOk(schedule.hasWaiters, "both are served by the running task");
  record(outcomes, "late", schedule.wait());
  schedule.resolveAttending("unchanged");
  await settled();
  t.same(outcomes, ["first: unchanged", "second: unchanged"]);
  schedule.attend();
  schedule.resolveAttending("indexed");
  await settled();
  t.same(outcomes.slice(2), ["late: indexed"]);
});

t.test("callers of a task that was not completed get the result of the next one", async (t) => {
  const schedule = new Schedule();
  const outcomes: string[] = [];
  record(outcomes, "first", schedule.wait());
  schedule.attend();
  schedule.waitAgain();
  t.ok(schedule.hasWaiters);
  schedule.resolveAttending("unchanged");
  await settled();
  t.same(outcomes, []);
  schedule.attend();
  schedule.resolveAttending("indexed");
  await settled();
  t.same(outcomes, ["first: indexed"]);
});

t.test("an error reaches either those of the running task or those of the next one", async (t) => {
  const schedule = new Schedule();
  const outcomes: string[] = [];
  record(outcomes, "running", schedule.wait());
  schedule.attend();
  record(outcomes, "next", schedule.wait());
  schedule.rejectAttending(new TrawlError("git", "the fetch failed"));
  await settled();
  t.same(outcomes, ["running: git"]);
  schedule.rejectWaiters(new TrawlError("shutting-down", "the daemon is stopping"));
  await settled();
  t.same(outcomes, ["running: git", "next: shutting-down"]);
  schedule.attend();
  schedule.resolveAttending("indexed");
  await settled();
  t.equal(outcomes.length, 2, "each caller gets one result");
});
