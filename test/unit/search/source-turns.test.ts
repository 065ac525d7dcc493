import assert from "node:assert/strict";
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { ownRequest } from "../../../src/model/search-request.js";
import { operatorViewer } from "../../../src/model/viewer.js";
import { ControlBlock } from "../../../src/protocol/control-block.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { emptyPart, noCounts } from "../../../src/search/fleet/fleet-messages.js";
import type { Channel } from "../../../src/search/fleet/local-channel.js";
import { type HeldHeads, RemoteSource } from "../../../src/search/fleet/remote-source.js";
import { ResultOrder, sections } from "../../../src/search/fleet/result-order.js";
import { isShared, searchLimits } from "../../../src/search/limits/search-limits.js";
import { nodeIdSpan } from "../../../src/search/source/search-fleet.js";
import type { SourceRoot } from "../../../src/search/source/search-source.js";
import type { FrameReceiver } from "../../../src/wire/frame-channel.js";
import { ProcessorWatch } from "../../support/processor-time.js";
import { fc, runs, seed } from "../../support/property.js";
import { settled, TestClock } from "../../support/test-clock.js";

// What the nodes of a search say is passed on in one order, in steps, and what waits for its turn has a bound.

const mib = 1024 * 1024;
const plan = (query: string) => planQuery(query, "keyword", new Map());

/** What one leaf finds. */
interface Findings {
  readonly repositories: number;
  /** Matches of each ranked document, the best one first, with its score. */
  readonly ranked: readonly (readonly [score: number, matches: number])[];
  /** Matches of each batch that has no order, and the parts of its tally. */
  readonly others: readonly (readonly [matches: number, parts: number])[];
  /** Of each message. */
  readonly headBytes: number;
}

/** A leaf that keeps to what it is told, and says the next thing when it is asked to. */
class FakeLeaf implements Channel {
  readonly waitingBytes = 0;
  isClosed = false;
  isPaused = false;
  readonly #number: number;
  readonly #query: string;
  readonly #findings: Findings;
  readonly #receiver: FrameReceiver;
  #messages: Iterator<object, void>;
  #granted = 0;
  #isShared = false;
  #isStopped = false;

  constructor(number: number, query: string, findings: Findings, receiver: FrameReceiver) {
    this.#number = number;
    this.#query = query;
    this.#findings = findings;
    this.#receiver = receiver;
    this.#messages = this.#search();
  }

  send(message: { readonly kind?: string; readonly matchCountMax?: number; readonly from?: number }): void {
    const { kind, matchCountMax = 0, from = 0 } = message;
    if (kind === "go") this.#granted = matchCountMax;
    if (kind === "share") this.#isShared = true;
    if (kind === "stop") this.#isStopped = true;
    if (kind !== "again") return;
    this.#granted = matchCountMax;
    this.#messages = this.#searchAgain(from);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  finish(): void {
    // Nobody says so.
  }

  close(): void {
    this.isClosed = true;
  }

  /** False if it has nothing to say, or nobody listens. */
  sayNext(): boolean {
    if (this.isPaused || this.isClosed) return false;
    const { done, value } = this.#messages.next();
    if (done === true || Object.keys(value).length === 0) return false;
    const { headBytes } = this.#findings;
    const body = Buffer.from("isPart" in value && value.isPart === true ? "" : "{}");
    this.#receiver.frame({ head: { ...value }, headBytes, body, release: () => undefined });
    return true;
  }

  /** An empty object where it waits. */
  *#search(): Generator<object, void> {
    const part = emptyPart(plan(this.#query));
    const { repositories, ranked } = this.#findings;
    yield { kind: "prepared", part, chosen: { count: 1, first: [`r${this.#number}`] } };
    const idBase = nodeIdSpan * this.#number;
    for (let i = 0; i < repositories; i++)
      yield {
        kind: "found",
        at: [sections.repositories, 0, i - repositories, -(idBase + i)],
        key: `${idBase + i}@`,
        optionsIndex: 0,
        repositoryId: idBase + i,
        repository: `r${this.#number}/${i}`,
        revision: "",
        resultKind: "repository",
      };
    yield { kind: "rankable", shardCount: ranked.length };
    while (!this.#isShared && !this.#isStopped) yield {};
    yield* this.#rank(0, repositories);
  }

  *#searchAgain(from: number): Generator<object, void> {
    yield { kind: "restarted" };
    yield* this.#rank(from, 0);
  }

  *#rank(from: number, before: number): Generator<object, void> {
    const part = emptyPart(plan(this.#query));
    const { ranked, others } = this.#findings;
    let matches = 0;
    let left = Math.max(0, this.#granted - before);
    const take = (wanted: number): number => {
      const taken = this.#isStopped ? 0 : Math.min(left, wanted);
      left -= taken;
      matches += taken;
      return taken;
    };
    const counted = () => ({ ...noCounts, matches, displayed: matches, isLimitHit: left === 0 });
    for (const [i, [score, wanted]] of ranked.entries()) {
      const at = [sections.ranked, -score, 0, 0, `r${this.#number}`, `p${i}`, i];
      if (i >= from) yield { kind: "turn", at, counts: counted() };
      const taken = i < from ? 0 : take(wanted);
      if (taken > 0) yield { ...this.#batch(taken), at, document: i, counts: counted(), isPart: false };
    }
    const at = [sections.others];
    yield { kind: "turn", at, counts: counted() };
    for (const [wanted, parts] of others) {
      const taken = take(wanted);
      if (taken === 0) continue;
      for (let i = 1; i < parts; i++) yield { ...this.#batch(0), at, counts: counted(), isPart: true };
      yield { ...this.#batch(taken), at, counts: counted(), isPart: false };
    }
    yield { kind: "end", counts: counted(), part };
  }

  #batch(matches: number): object {
    const repositories = matches === 0 ? [] : [[nodeIdSpan * this.#number, `r${this.#number}`, "", matches, ""]];
    const kinds = { languages: [], fileKinds: [0, 0, 0, 0, 0, 0, 0, 0], symbolKinds: [], groups: [] };
    const tally = {
      ...kinds,
      repositories,
      contentMatches: matches,
      symbolMatches: 0,
      pathMatches: 0,
      unownedResults: 0,
    };
    return { kind: "batch", tally, markBytes: 0 };
  }
}

/** The sources of one search, each of which has a leaf. */
function fleet(query: string, all: readonly Findings[], defaultCount: number, rankWaitsMs: readonly number[] = []) {
  const request = ownRequest(query, operatorViewer, "");
  const limits = searchLimits(plan(query), request, { defaultCount, defaultTimeoutMs: 1000, maxTimeoutMs: 1000 });
  const control = ControlBlock.allocate(1, mib, 1);
  const advanced = (): void => {
    for (const source of sources) source.goOn();
  };
  const passed: { readonly source: string; readonly matches: number }[] = [];
  const listener = {
    batch: ({ tally }: Parameters<SourceRoot["listener"]["batch"]>[0]) => {
      for (const [source, matches] of tally.repositories) passed.push({ source, matches });
    },
    found: ({ key }: Parameters<SourceRoot["listener"]["found"]>[0]) => {
      control.addDisplayed(1);
      if (control.addMatches(1) < limits.matchCountMax) passed.push({ source: key, matches: 1 });
      else control.stopAtLimit();
    },
    commit: () => undefined,
    sendCommits: () => undefined,
    refused: () => undefined,
    scheduled: () => undefined,
    parked: () => undefined,
    advanced,
  };
  const root: SourceRoot = {
    listener,
    pace: { unreadBytes: 0, pendingBytes: 0, creditBytes: mib },
    stopped: new Promise(() => undefined),
    late: { all: false, options: new Set() },
  };
  const order = new ResultOrder([sections.repositories], isShared(limits), advanced, rankWaitsMs);
  const heads: HeldHeads = { byteCount: 0, tallied: undefined };
  const logged: unknown[] = [];
  const log = Object.assign(silentLog(), { warn: (fields: object, said: string) => void logged.push([fields, said]) });
  const shared = {
    creditBytes: 64 * 1024,
    isOnly: false,
    contents: undefined,
    places: undefined,
    covered: { count: 0, units: 0 },
    claim: (_repository: string, owner: string) => owner,
    order,
    heads,
    asked: new Uint8Array(0),
    log,
    onFailover: () => undefined,
  };
  const leaves: FakeLeaf[] = [];
  const sources = all.map((findings, i) => {
    const open = (receiver: FrameReceiver): Channel => {
      const leaf = new FakeLeaf(i, query, findings, receiver);
      leaves.push(leaf);
      return leaf;
    };
    const search = { request, plan: plan(query), limits, control, claims: undefined, startedMs: 0 };
    const mayHave = (id: number): boolean => Math.floor(id / nodeIdSpan) === i;
    return new RemoteSource(search, root, [{ name: `n${i}`, mayHave, open }], shared);
  });
  let isEnded = false;
  void Promise.all(sources.map((source) => source.run())).then(() => {
    isEnded = true;
  });
  return { leaves, sources, order, heads, passed, limits, logged, isEnded: () => isEnded };
}

const few = (headBytes: number, more: Partial<Findings> = {}): Findings => ({
  repositories: 0,
  ranked: [],
  others: [],
  headBytes,
  ...more,
});

/** Lets these leaves say everything that somebody listens to. */
async function fill(leaves: readonly FakeLeaf[]): Promise<void> {
  for (let hasSaid = true; hasSaid; await settled()) {
    hasSaid = false;
    for (const leaf of leaves) while (leaf.sayNext()) hasSaid = true;
  }
}

t.test("what many nodes hold is passed on in steps when its turn comes", async (t) => {
  const all = Array.from({ length: 64 }, (_, i) => few(200, { repositories: i === 0 ? 0 : 200 }));
  const { leaves, sources, passed } = fleet("count:all x", all, 1);
  const [first, ...others] = leaves;
  first.sayNext();
  await fill(others);
  t.same(passed, [], "they wait for the first node");
  const watch = new ProcessorWatch(process.pid);
  let longestMs = 0;
  t.ok(first.sayNext(), "it has no repositories");
  for (let turns = 0; turns < 10_000 && passed.length < 63 * 200; turns++) {
    watch.start();
    await settled();
    longestMs = Math.max(longestMs, watch.since().mainRanMs);
  }
  t.ok(longestMs < 20, `a turn of ${longestMs} ms`);
  const stars = passed.map(({ source }) => Number(source.slice(0, -1)) % nodeIdSpan);
  t.same(
    stars,
    [...stars].sort((a, b) => a - b),
    "in the order of their stars",
  );
  t.equal(stars.length, 63 * 200);
  for (const source of sources) source.giveUp();
});

t.test("results without an order are passed on while the first node is silent, whatever all say at once", async (t) => {
  const all = Array.from({ length: 16 }, (_, i) => few(2 * mib, { others: i === 0 ? [] : [[1, 6]] }));
  const { leaves, sources, passed, heads } = fleet("count:all x", all, 1);
  const [first, ...others] = leaves;
  // Until it has said that only results without an order follow.
  for (let i = 0; i < 2; i++) first.sayNext();
  let heldMost = 0;
  for (let rounds = 0; rounds < 1_000 && passed.length < others.length; rounds++) {
    if (rounds === 10) first.sayNext();
    for (const leaf of others) leaf.sayNext();
    heldMost = Math.max(heldMost, heads.byteCount);
    await settled();
  }
  t.equal(passed.length, others.length);
  t.ok(heldMost > 16 * mib && heldMost <= (16 + 12 + 4) * mib, `${heldMost} bytes were held`);
  for (const source of sources) source.giveUp();
  t.equal(heads.byteCount, 0);
});

t.test("nodes that are not ready to rank in time are given up, and no others", async (t) => {
  const clock = new TestClock(t);
  const ranked = [[3, 1]] as const;
  const all = [few(200, { ranked }), few(200, { ranked }), few(200, { ranked, repositories: 2 })];
  const site = fleet("x", all, 10, [500, 750]);
  const { leaves, passed, logged, sources } = site;
  const [, slow] = leaves;
  const others = leaves.filter((leaf) => leaf !== slow);
  slow.sayNext();
  await fill(others);
  await clock.advance(499);
  await fill(others);
  t.same([passed.length, logged.length], [0, 0], "its repositories may come before those of the third node");
  await clock.advance(1);
  await fill(others);
  t.match(logged, [[{ node: "n1" }, /not ready to rank/]]);
  t.match(sources[1].part().failures.first, [/^node n1 was not searched completely: it was not ready to rank/]);
  t.equal(passed.length, 4, "two repositories and two documents");
  await clock.advance(1_000);
  await fill(others);
  t.ok(site.isEnded());
  t.equal(logged.length, 1, "whoever waited for its turn was not given up");
});

t.test("what nodes found in time is passed on after the search was stopped, however much waited", async (t) => {
  const all = Array.from({ length: 64 }, (_, i) =>
    few(i % 2 === 0 ? 1.5 * mib : 0.1 * mib, { repositories: i === 0 ? 0 : 8 }),
  );
  const { leaves, sources, passed, heads, logged } = fleet("count:all x", all, 1);
  const [silent, ...others] = leaves;
  silent.sayNext();
  await fill(others);
  t.ok(heads.byteCount >= 16 * mib && others.some(({ isPaused }) => isPaused), "more than may be held");
  for (const source of sources) source.drop();
  for (let turns = 0; turns < 1_000 && !others.every(({ isClosed }) => isClosed); turns++) {
    for (const leaf of others) leaf.sayNext();
    await settled();
  }
  t.equal(passed.length, 8 * 63);
  for (const source of sources) source.finish();
  t.equal(logged.length, 1, "the silent one is named, and no other");
  for (const source of sources) source.giveUp();
});

/** Heads that may be held: of all, of the first source, of the one that completes a tally, and the message that is too much. */
const heldMax = (16 + 16 + 16 + 2) * mib;

const findings = fc.record({
  repositories: fc.nat(5),
  ranked: fc.array(fc.tuple(fc.nat(100), fc.integer({ min: 1, max: 3 })), { maxLength: 5 }),
  others: fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 6 })), { maxLength: 12 }),
  headBytes: fc.constantFrom(200, 64 * 1024, mib, 2 * mib),
});

function countAll({ repositories, ranked, others }: Findings): number {
  const counts = [...ranked.map(([, count]) => count), ...others.map(([count]) => count)];
  return counts.reduce((sum, count) => sum + count, repositories);
}

t.test("nodes that say more than may be held wait, each for its turn, and none for ever", async (t) => {
  const property = fc.asyncProperty(
    fc.array(findings, { minLength: 2, maxLength: 12 }),
    fc.option(fc.nat(60), { freq: 2, nil: undefined }),
    fc.infiniteStream(fc.nat(11)),
    async (all, limit, picks) => {
      const query = limit === undefined ? "count:all x" : "x";
      const sorted = all.map((one) => ({ ...one, ranked: [...one.ranked].sort(([a], [b]) => b - a) }));
      const site = fleet(query, sorted, Math.max(1, limit ?? 1));
      const { leaves, passed, heads, limits } = site;
      for (let silent = 0; !site.isEnded(); ) {
        assert(silent < 50, "nobody may say anything, and nothing is passed on");
        const pick = Number(picks.next().value) % leaves.length;
        const hasSaid = leaves.some((_, i) => leaves[(pick + i) % leaves.length].sayNext());
        assert(heads.byteCount <= heldMax, `${heads.byteCount} bytes are held`);
        silent = hasSaid ? 0 : silent + 1;
        if (pick % 3 === 0 || !hasSaid) await settled();
      }
      assert.deepEqual(site.logged, []);
      assert.equal(heads.byteCount, 0);
      const total = sorted.reduce((sum, one) => sum + countAll(one), 0);
      const matches = passed.reduce((sum, one) => sum + one.matches, 0);
      assert.equal(matches, Math.min(total, limits.matchCountMax));
    },
  );
  await fc.assert(property, { seed, numRuns: runs(960) });
  t.pass("every mixture");
});
