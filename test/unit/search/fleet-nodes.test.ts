import assert from "node:assert/strict";
import t from "tap";
import { callAfter } from "../../../src/base/deadline.js";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import { ownRequest } from "../../../src/model/search-request.js";
import { operatorViewer } from "../../../src/model/viewer.js";
import { ControlBlock } from "../../../src/protocol/control-block.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { emptyPart } from "../../../src/search/fleet/fleet-messages.js";
import { FleetNodes } from "../../../src/search/fleet/fleet-nodes.js";
import { searchLimits } from "../../../src/search/limits/search-limits.js";
import type { ChosenHere, LeafServices } from "../../../src/search/source/search-fleet.js";
import type { SearchSource, SourceRoot } from "../../../src/search/source/search-source.js";
import { readIdentity } from "../../../src/wire/identity.js";
import { TestAuthority } from "../../support/fleet-site.js";
import { shared } from "../../support/shared.js";

// Which nodes a search asks, and what those know that are asked alone.

/** No search takes as long. */
const longMs = 600_000;
const plan = planQuery("needle", "keyword", new Map());
const names = ["a", "b"] as const;

/** A node whose shards `rank`, told how many share their budget and whether it had to wait to hear that. */
class PretendedNode implements LeafServices {
  searches = 0;
  /** How many shards share the budget of ranking, and whether that was known without another node. */
  shares: (readonly [shardCount: number, isKnown: boolean])[] = [];
  /** How long it chooses what it ranks. */
  choosingMs = 0;
  readonly #repository: string;

  constructor(repository: string) {
    this.#repository = repository;
  }

  repositories(): readonly [] {
    return [];
  }

  watchFlips(): () => void {
    return () => undefined;
  }

  chooseHere(): Promise<ChosenHere> {
    this.searches++;
    const open: ChosenHere["open"] = (_, root) => this.#source(root);
    const first = () => ({ part: emptyPart(plan), names: [this.#repository] });
    return Promise.resolve({ first, open, release: () => undefined });
  }

  #source({ order }: SourceRoot): SearchSource {
    const nothing = (): undefined => undefined;
    return {
      run: async () => {
        await new Promise<void>((resolve) => callAfter(this.choosingMs, resolve));
        const budget = order?.shareBudget(3) ?? Promise.resolve(0);
        const isKnown = await Promise.race([
          budget.then(() => true),
          Promise.resolve().then(() => Promise.resolve(false)),
        ]);
        this.shares.push([await budget, isKnown]);
      },
      isActive: true,
      isPassingOn: false,
      goOn: nothing,
      drop: nothing,
      giveUp: nothing,
      finish: nothing,
      release: nothing,
      part: () => emptyPart(plan),
      receipt: () => Promise.reject(new Error("no receipt is wanted")),
      nameOf: nothing,
      changes: undefined,
    };
  }
}

/** Two nodes of a fleet in this process, with one connection. */
const site = shared(async (owner) => {
  const authority = new TestAuthority(owner);
  const identities = names.map((name) => readIdentity("test", name, authority.issue(`URI:trawl://test/${name}`)));
  const pretended = names.map((name) => new PretendedNode(`repository of ${name}`));
  const makeNode = (node: number, port: number, replicas: readonly (readonly string[])[]): FleetNodes =>
    new FleetNodes({
      identity: identities[node],
      nodes: names.map((name) => ({ name, address: `127.0.0.1:${port}` })),
      replicas,
      listenHost: "127.0.0.1",
      listenPort: 0,
      version: "1",
      workerCount: 1,
      searcher: pretended[node],
      answerMirrors: () => assert.fail("nobody asks for mirrors"),
      log: silentLog(),
      metrics: createMetrics().metrics,
    });
  const leaf = makeNode(1, 1, []);
  owner.teardown(() => leaf.stop());
  const port = await leaf.start();
  const coordinator = makeNode(0, port, []);
  owner.teardown(() => coordinator.stop());
  // Both have the same repositories, so this one asks itself.
  const replica = makeNode(0, port, [names]);
  return { coordinator, replica, pretended };
}, t);

/** Searches, and returns how many searches each node made and what each was told of the budget. */
async function search(nodes: FleetNodes, pretended: readonly PretendedNode[], areNone: boolean, timeoutMs = longMs) {
  for (const node of pretended) [node.searches, node.shares] = [0, []];
  const request = { ...ownRequest("needle", operatorViewer, ""), receipt: "none" } as const;
  const defaults = { defaultCount: 10, defaultTimeoutMs: timeoutMs, maxTimeoutMs: timeoutMs };
  const limits = searchLimits(plan, request, defaults);
  const control = ControlBlock.allocate(1, 1000, 1);
  const nothing = (): undefined => undefined;
  const root: SourceRoot = {
    listener: {
      batch: nothing,
      found: nothing,
      commit: nothing,
      sendCommits: nothing,
      refused: nothing,
      scheduled: nothing,
      advanced: nothing,
      parked: nothing,
    },
    pace: { unreadBytes: 0, pendingBytes: 0, creditBytes: 1000 },
    stopped: new Promise(nothing),
    late: { all: false, options: new Set() },
  };
  const searched = { request, plan, limits, control, claims: undefined, startedMs: 0 };
  const sources = nodes.openSources(searched, root, { areNone, has: () => false });
  await Promise.all(sources.map((source) => source.run()));
  const failures = sources.flatMap((source) => source.part(root.late, true).failures.first);
  for (const source of sources) source.release();
  return { failures, searches: pretended.map((node) => node.searches), shares: pretended.map((node) => node.shares) };
}

t.test("a node without repositories asks only the others", async (t) => {
  const { coordinator, replica, pretended } = await site();
  const alone = await search(coordinator, pretended, true);
  t.same(alone, { failures: [], searches: [0, 1], shares: [[], [[3, true]]] }, "the other one need not wait to rank");
  const both = await search(coordinator, pretended, false);
  const told = [[6, false]];
  t.same(both, { failures: [], searches: [1, 1], shares: [told, told] }, "two nodes rank together");
  const own = await search(replica, pretended, true);
  t.same(
    own,
    { failures: [], searches: [1, 0], shares: [[[3, true]], []] },
    "who has nobody to ask says that there is nothing",
  );
});

t.test("a node that is asked alone may take its time to rank, for which nobody waits", async (t) => {
  const { coordinator, pretended } = await site();
  const [, leaf] = pretended;
  const timeoutMs = 40;
  leaf.choosingMs = 2 * timeoutMs;
  t.same((await search(coordinator, pretended, true, timeoutMs)).failures, []);
  const { failures } = await search(coordinator, pretended, false, timeoutMs);
  t.match(failures.join(), /node b was .* not ready to rank/, "the other one would wait");
});
