/** The root of a search that has two sources: it counts, reports and ends as if they were one. */
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { BaseListener, type JsonElements, parseElements } from "../../../src/model/search-listener.js";
import { ownRequest, type SearchRequest } from "../../../src/model/search-request.js";
import type { Alert, Filter, Progress } from "../../../src/model/stream-events.js";
import { operatorViewer } from "../../../src/model/viewer.js";
import { emptyDigest } from "../../../src/native/kernel/result-digest.js";
import { emptyTally } from "../../../src/protocol/result-batch.js";
import { noStats } from "../../../src/protocol/search-options.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { CostBudgets } from "../../../src/search/limits/search-limits.js";
import type { SearchEnd } from "../../../src/search/report/search-report.js";
import { RunningSearch } from "../../../src/search/root/running-search.js";
import { listOmissions, type ReceiptPart } from "../../../src/search/source/receipt-part.js";
import { listed, type SearchPart } from "../../../src/search/source/search-part.js";
import type { FoundResult, SourcedSearch, SearchSource, SourceRoot } from "../../../src/search/source/search-source.js";
import { makePart } from "../../support/search-parts.js";
import { settled, TestClock } from "../../support/test-clock.js";

/** A source with one repository, which the test makes find something, or end. */
class TestSource implements SearchSource {
  readonly id: number;
  readonly calls: string[] = [];
  readonly #root: SourceRoot;
  readonly #search: SourcedSearch;
  isActive = true;
  isPassingOn = false;
  changes = undefined;
  changed: Partial<SearchPart> = {};
  end: () => void = () => undefined;
  fail: (error: Error) => void = () => undefined;

  constructor(id: number, search: SourcedSearch, root: SourceRoot) {
    this.id = id;
    this.#search = search;
    this.#root = root;
  }

  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.end = resolve;
      this.fail = reject;
    });
  }

  /** Finds matches, of which some may be beyond the limit: as slices do, it counts them first. */
  find(count: number): void {
    const left = Math.max(0, this.#search.limits.matchCountMax - this.#search.control.addMatches(count));
    const kept = Math.min(count, left);
    if (kept < count) this.#search.control.stopAtLimit();
    if (kept === 0) return;
    const tally = { ...emptyTally(), repositories: new Map([[`${this.id}@`, kept]]), contentMatches: kept };
    const bytes = Buffer.from(Array(kept).fill(`{"repositoryID":${this.id}}`).join(","));
    this.#root.listener.batch({ bytes, tally, digest: undefined, selected: [] }, () => undefined);
  }

  /** Finds an owner, who may own files of several repositories. */
  findOwner(name: string): void {
    const found: FoundResult = {
      key: `owner ${name}`,
      optionsIndex: 0,
      repositoryId: this.id,
      repository: `r${this.id}`,
      revision: "",
      kind: "owner",
      json: () => JSON.stringify({ owner: name }),
    };
    this.#root.listener.found(found);
  }

  refuse(sentence: string): void {
    this.#root.listener.refused(sentence);
  }

  park(): void {
    this.isActive = false;
    this.#root.listener.parked();
  }

  goOn(): void {
    this.calls.push("goOn");
  }

  drop(): void {
    this.calls.push("drop");
    if (!this.isPassingOn) this.end();
  }

  giveUp(): void {
    this.calls.push("giveUp");
  }

  finish(): void {
    this.calls.push("finish");
  }

  release(): void {
    this.calls.push("release");
  }

  part(): SearchPart {
    const stats = { ...noStats(), shardsSearched: this.id };
    return { ...makePart(this.#search.plan, [], 1), choices: [choice], stats, ...this.changed };
  }

  receipt(): Promise<ReceiptPart> {
    const generation = emptyDigest();
    generation[0] = this.id;
    return Promise.resolve({
      generation,
      documentCount: this.id,
      groups: [listOmissions("fork", [`fork${this.id}`], (repository) => ({ repository }))],
      repositories: () => ({ count: 1, items: [{ repository: `r${this.id}`, generation: 1, revisions: [] }] }),
      revisions: () => new Map(),
      listedCount: 0,
      isOfNode: false,
      isVisibleIn: () => true,
    });
  }

  nameOf(repositoryId: number): string | undefined {
    return repositoryId === this.id ? `r${this.id}` : undefined;
  }
}

const choice = { chosen: 1, cloning: 0, missing: 0, namesMissing: false };

class Events extends BaseListener {
  override readonly filterEvents = "each";
  readonly found: unknown[] = [];
  readonly alerts: Alert[] = [];
  readonly errors: string[] = [];
  last: Progress | undefined;
  names: readonly string[] = [];
  doneCount = 0;

  override matches(parts: readonly JsonElements[]): void {
    this.found.push(...parseElements(parts));
  }

  override filters(filters: readonly Filter[]): void {
    this.names = filters.filter(({ kind }) => kind === "repo").map(({ label, count }) => `${label} ${count}`);
  }

  override progress(progress: Progress): void {
    this.last = progress;
  }

  override alert(alert: Alert): void {
    this.alerts.push(alert);
  }

  override error(message: string): void {
    this.errors.push(message);
  }

  override done(): void {
    this.doneCount++;
    super.done();
  }
}

const environment = {
  pool: { workerCount: 2 },
  budgets: new CostBudgets({ scannedBytes: 0, workerMs: 0, windowMs: 1000 }),
  log: silentLog(),
  traceUrl: "",
  receiptUrl: "",
  defaultCount: 10,
  defaultTimeoutMs: 60_000,
  maxTimeoutMs: 60_000,
};

function start(query: string, fields: Partial<SearchRequest> = {}) {
  const request = { ...ownRequest(query, operatorViewer, ""), near: false, ...fields };
  const events = new Events();
  const sources: TestSource[] = [];
  const ended: SearchEnd[] = [];
  const search = new RunningSearch(
    request,
    {
      plan: planQuery(query, "keyword", new Map()),
      openSources: (given, root) => {
        sources.push(new TestSource(1, given, root), new TestSource(2, given, root));
        return sources;
      },
      countResults: undefined,
    },
    environment,
    events,
    (end) => ended.push(end),
  );
  const done = search.run();
  const [one, two] = sources;
  return { search, one, two, events, ended, done };
}

t.test("results of all sources are counted together", async (t) => {
  const { one, two, events, ended, done } = start("x", { receipt: "report" });
  one.changed = { failures: listed(["one"], 9), excludedForkCount: 2, missing: listed(["m1"], 9) };
  two.changed = { failures: listed(["two"], 9), excludedForkCount: 3, missing: listed(["m2"], 9) };
  two.find(2);
  one.find(1);
  one.end();
  await new Promise(setImmediate);
  t.equal(events.doneCount, 0, "it waits for the other one");
  two.find(1);
  two.end();
  await done;
  t.equal(events.doneCount, 1);
  t.strictSame(events.names, ["r2 3", "r1 1"], "filters know the names of both");
  t.equal(events.found.length, 4);
  t.match(events.last, { done: true, matchCount: 4, repositoriesCount: 2 });
  t.strictSame(
    events.last?.skipped.map(({ title }) => title),
    ["2 missing", "2 backends down", "5 forked"],
  );
  t.match(events.last?.receipt, {
    documentsSearched: 3,
    generation: /^00000003/,
    repositories: { count: 2, items: [{ repository: "r1" }, { repository: "r2" }] },
    excludedByReason: { fork: 2 },
  });
  t.match(ended[0], { outcome: "failed", matchCount: 4, shardFailures: ["one", "two"] });
  t.equal(ended[0].stats.shardsSearched, 3);
  for (const { calls } of [one, two]) t.strictSame([calls[0], calls.at(-1)], ["finish", "release"]);
});

t.test("the limit holds for all together", async (t) => {
  const { one, two, events, ended, done } = start("x count:5");
  one.find(3);
  two.find(3);
  one.find(1);
  one.end();
  two.end();
  await done;
  t.equal(events.found.length, 5);
  t.match(events.last, { matchCount: 5, skipped: [{ reason: "shard-match-limit" }] });
  t.equal(ended[0].outcome, "limit");
});

t.test("a result that two sources find is one", async (t) => {
  const { one, two, events, done } = start("select:file.owners x");
  for (const source of [two, one]) source.findOwner("ann");
  one.findOwner("ben");
  one.end();
  two.end();
  await done;
  t.strictSame(events.found, [{ owner: "ann" }, { owner: "ben" }]);
  t.equal(events.last?.matchCount, 2);
});

t.test("one that fails ends the others", async (t) => {
  const { one, two, events, ended, done } = start("x");
  one.find(1);
  two.fail(new Error("broken"));
  await done;
  t.strictSame([...one.calls.slice(0, 2), one.calls.at(-1)], ["drop", "finish", "release"]);
  t.equal(events.found.length, 1, "what was found is sent");
  t.match(events.last?.skipped, [{ title: "1 backend down", message: /\* broken/ }]);
  t.match(ended[0], { outcome: "failed", shardFailures: ["broken"] });
});

t.test("a query that one of them refuses ends all", async (t) => {
  const { one, two, events, ended, done } = start("x");
  two.refuse("it is too large");
  await done;
  t.ok(one.calls.includes("drop"));
  t.match(events.alerts, [{ title: "Unable To Process Query", description: "It is too large" }]);
  t.equal(ended[0].outcome, "failed");
});

t.test("all are told when the client leaves or has read", async (t) => {
  const { one, two, events, ended, done } = start("x");
  events.drained();
  events.end();
  await done;
  for (const { calls } of [one, two]) t.strictSame(calls, ["goOn", "drop", "giveUp", "finish", "release"]);
  t.equal(ended[0].outcome, "cancelled");
});

t.test("the time runs while one of them works", async (t) => {
  const { one, two, events, done } = start("x timeout:50ms");
  // The timers of a search do not keep the process alive.
  const alive = setInterval(() => undefined, 1000);
  one.park();
  await done;
  clearInterval(alive);
  t.match(events.last?.done, true, "the time is over");
  t.ok(two.calls.includes("drop"));
});

t.test("what was found in time is waited for while it is passed on, for one second at most", async (t) => {
  const clock = new TestClock(t);
  const [ending, endless] = [start("x"), start("x")];
  for (const { search, two } of [ending, endless]) {
    two.isPassingOn = true;
    search.stop("the test wants it");
  }
  await clock.advance(900);
  t.same([ending.events.doneCount, endless.events.doneCount], [0, 0]);
  ending.two.find(1);
  ending.two.end();
  await ending.done;
  t.equal(ending.events.found.length, 1);
  await clock.advance(200);
  await settled();
  t.equal(endless.events.doneCount, 1);
  endless.two.end();
  await endless.done;
});
