/** Which node is asked for which partitions, what happens when one is lost or lacks what it is asked for, and what is named. */
import assert from "node:assert/strict";
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import { Partitions } from "../../../src/catalog/partitions.js";
import type { BaseRevisions } from "../../../src/model/match-change.js";
import type { SearchContext } from "../../../src/model/search-context.js";
import { ownRequest, type PartitionVersion } from "../../../src/model/search-request.js";
import { operatorViewer } from "../../../src/model/viewer.js";
import { ControlBlock } from "../../../src/protocol/control-block.js";
import type { SearchPlan } from "../../../src/query/plan/plan.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { emptyPart } from "../../../src/search/fleet/fleet-messages.js";
import { type HoldingNode, PartitionNodes } from "../../../src/search/fleet/partition-nodes.js";
import { searchLimits } from "../../../src/search/limits/search-limits.js";
import type { ChosenHere, LeafServices } from "../../../src/search/source/search-fleet.js";
import type { SearchSource, SourceRoot } from "../../../src/search/source/search-source.js";
import { readIdentity } from "../../../src/wire/identity.js";
import { TestAuthority } from "../../support/fleet-site.js";
import { shared } from "../../support/shared.js";
import { until } from "../../support/waiting.js";

const longMs = 600_000;
const contexts = new Map<string, SearchContext>();
const names = ["a", "b", "c"] as const;
const partitionCount = 8;

/** A node that notes for which partitions it is asked, and finds nothing. */
class NotingNode implements LeafServices {
  asked: (readonly number[])[] = [];
  held: readonly number[] = [];
  owned: readonly number[] = [];
  /** Names of the repositories of an earlier search, as it is told. */
  told: (readonly string[])[] = [];
  outdated: readonly number[] = [];
  version = 0;

  repositories(): readonly [] {
    return [];
  }

  watchFlips(): () => void {
    return () => undefined;
  }

  chooseHere(...[plan, request, , , , partitions]: Parameters<LeafServices["chooseHere"]>): Promise<ChosenHere> {
    this.asked.push(partitions ?? []);
    if (request.since !== undefined) this.told.push([...request.since.keys()]);
    const first = () => ({ part: emptyPart(plan), names: (partitions ?? []).map((number) => `repository ${number}`) });
    return Promise.resolve({ first, open: (_, root) => source(plan, root), release: () => undefined });
  }
}

function source(plan: SearchPlan, { order }: SourceRoot): SearchSource {
  const nothing = (): undefined => undefined;
  return {
    run: async () => order?.others(),
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

/** Three nodes of a fleet in this process. */
const site = shared(async (owner) => {
  const authority = new TestAuthority(owner);
  const noting = names.map(() => new NotingNode());
  const nodes: PartitionNodes[] = [];
  const addresses: string[] = [];
  for (const [i, name] of names.entries()) {
    const node = new PartitionNodes({
      identity: readIdentity("test", name, authority.issue(`URI:trawl://test/${name}`)),
      partitions: new Partitions(partitionCount),
      isSearchable: (partition) => noting[i]?.held.includes(partition) === true,
      outdated: () => noting[i]?.outdated ?? [],
      versionIn: () => noting[i]?.version ?? 0,
      owned: () => new Set(noting[i]?.owned),
      listenHost: "127.0.0.1",
      listenPort: 0,
      version: "1",
      workerCount: 1,
      searcher: noting[i]!,
      answerMirrors: () => assert.fail("nobody asks for mirrors"),
      log: silentLog(),
      metrics: createMetrics().metrics,
    });
    owner.teardown(() => node.stop());
    addresses.push(`127.0.0.1:${await node.start()}`);
    nodes.push(node);
  }
  return { nodes, noting, addresses };
}, t);

/** What each node holds, and what the map says, which may be older. */
async function arrange(
  held: readonly (readonly number[])[],
  told = held,
  owned: readonly (readonly number[])[] = [],
): Promise<Awaited<ReturnType<typeof site>>> {
  const all = await site();
  const map: HoldingNode[] = names.map((name, i) => ({
    name,
    address: all.addresses[i] ?? "",
    partitions: told[i] ?? [],
    owned: owned[i] ?? [],
  }));
  for (const [i, one] of all.noting.entries())
    [one.held, one.owned, one.outdated, one.asked, one.told, one.version] = [
      held[i] ?? [],
      owned[i] ?? [],
      [],
      [],
      [],
      0,
    ];
  for (const node of all.nodes) node.update(map);
  return all;
}

async function search(
  node: PartitionNodes | undefined,
  query = "type:path needle",
  since?: BaseRevisions,
  atLeast?: PartitionVersion,
): Promise<{ failures: string; excluded: readonly string[] }> {
  if (node === undefined) throw new RangeError("there is no such node");
  const plan = planQuery(query, "keyword", contexts);
  const request = { ...ownRequest(query, operatorViewer, ""), receipt: "none", since, atLeast } as const;
  const limits = searchLimits(plan, request, { defaultCount: 10, defaultTimeoutMs: longMs, maxTimeoutMs: longMs });
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
      advanced: () => sources.forEach((one) => one.goOn()),
      parked: nothing,
    },
    pace: { unreadBytes: 0, pendingBytes: 0, creditBytes: 1000 },
    stopped: new Promise(nothing),
    late: { all: false, options: new Set() },
  };
  let sources: readonly SearchSource[] = [];
  sources = node.openSources({ request, plan, limits, control, claims: undefined, startedMs: 0 }, root);
  await Promise.all(sources.map((one) => one.run()));
  const parts = sources.map((one) => one.part(root.late, true));
  for (const one of sources) one.release();
  return {
    failures: parts.flatMap((part) => part.failures.first).join("; "),
    excluded: parts.flatMap((part) => part.excluded.first.map(({ repository }) => repository)),
  };
}

t.test("each partition is asked for at one node: here, or at the first of those that have it", async (t) => {
  const held = [
    [0, 1, 2, 3, 4],
    [0, 1, 2, 5, 6, 7],
    [3, 4, 5, 6, 7],
  ];
  const { nodes, noting } = await arrange(held);
  for (const [i, node] of nodes.entries()) {
    for (const one of noting) one.asked = [];
    t.strictSame(await search(node), { failures: "", excluded: [] });
    const asked = noting.map((one) => one.asked.flat());
    t.strictSame(
      asked.flat().sort(),
      Array.from({ length: partitionCount }, (_, number) => number),
      "each once",
    );
    t.strictSame(asked[i], held[i], "what it has, it searches itself");
    t.ok(
      noting.every((one) => one.asked.length <= 1),
      "a node is asked once for all that another one has as well",
    );
    t.equal(node.hasAll, false);
  }
  // Nobody asks two nodes for a text that one of them has in its memory.
  const outside = await arrange([[], held[1]!, held[2]!]);
  const shares = async (): Promise<unknown> => {
    for (const one of outside.noting) one.asked = [];
    await search(outside.nodes[0]);
    return outside.noting.map((one) => one.asked.flat());
  };
  t.strictSame(await shares(), await shares());
});

t.test("ids say where a repository is", async (t) => {
  const { nodes } = await arrange([[0, 1], [1, 2], [2]]);
  t.strictSame(nodes[0]?.locate(2), { node: "a", id: 2 });
  t.match(nodes[0]?.locate(3), { node: /^[bc]$/, id: undefined });
  t.strictSame(nodes[0]?.locate(4), { node: "unknown", id: undefined });
  const whole = Array.from({ length: partitionCount }, (_, number) => number);
  t.equal((await arrange([whole, [], []])).nodes[0]?.hasAll, true);
});

t.test("a node that lacks what it is asked for sends the search to the next one", async (t) => {
  const told = [
    [0, 1],
    [2, 3, 4, 5, 6, 7],
    [2, 3, 4, 5, 6, 7],
  ];
  for (const lacking of [1, 2]) {
    const held = told.map((numbers, i) => (i === lacking ? numbers.filter((number) => number !== 4) : numbers));
    const { nodes, noting } = await arrange(held, told);
    t.strictSame(await search(nodes[0]), { failures: "", excluded: [] });
    const asked = noting.map((one) => one.asked.flat());
    t.strictSame(
      asked.flat().sort(),
      Array.from({ length: partitionCount }, (_, number) => number),
      "each once",
    );
    t.notOk(asked[lacking]?.includes(4));
  }
});

t.test("what no node has is named by its partitions, and the rest is searched", async (t) => {
  const { nodes, noting } = await arrange([
    [0, 1],
    [2, 3],
    [4, 5],
  ]);
  const { failures, excluded } = await search(nodes[0]);
  t.match(failures, /^a part of the index \(partitions 6, 7\) was not searched completely/);
  t.match(excluded, ["all repositories of a part of the index (partitions 6, 7)"]);
  t.strictSame(noting.flatMap((one) => one.asked.flat()).sort(), [0, 1, 2, 3, 4, 5]);
});

t.test("a query with names asks only for their partitions", async (t) => {
  const { nodes, noting } = await arrange([
    [0, 1],
    [2, 3, 4],
    [4, 5, 6],
  ]);
  const partitions = new Partitions(partitionCount);
  const find = (partition: number): string =>
    Array.from({ length: 1000 }, (_, i) => `host/a${i}`).find((name) => partitions.place(name) === partition) ?? "";
  const asked = async (query: string): Promise<readonly number[]> => {
    for (const one of noting) one.asked = [];
    const { failures } = await search(nodes[0], query);
    t.equal(failures, "", query);
    return noting.flatMap((one) => one.asked.flat()).sort();
  };
  t.strictSame(await asked(`repo:^${find(3)}$ needle`), [3]);
  t.strictSame(await asked(`repo:^${find(3).toUpperCase()}$ needle`), [3], "ignoring case");
  t.strictSame(await asked(`repo:^${find(1)}$ needle`), [1]);
  t.strictSame(await asked(`(repo:^${find(3)}$ needle) or (repo:^${find(5)}$ needle)`), [3, 5]);
  const repositories = [find(0), find(6)].map((name) => ({ name, revisions: [] }));
  contexts.set("some", { name: "some", description: "", public: true, query: "", repositories });
  t.strictSame(await asked("context:some needle"), [0, 6]);
  t.strictSame(await asked(`context:some repo:^${find(6)}$ needle`), [6]);
  for (const query of ["repo:host needle", `repo:^${find(3)}$ needle or other`, `-repo:^${find(3)}$ needle`]) {
    for (const one of noting) one.asked = [];
    t.match((await search(nodes[0], query)).failures, query.includes("or other") ? "" : /partition 7/, query);
  }
});

t.test("what needs mirrors is asked of owners, and of others if these are lost", async (t) => {
  const all = Array.from({ length: partitionCount }, (_, number) => number);
  const { nodes, noting } = await arrange([all, all, []], [all, all, []], [[0, 1], [2, 3, 4, 5], []]);
  const [first, , last] = nodes;
  const asked = async (node: PartitionNodes | undefined, query: string): Promise<readonly (readonly number[])[]> => {
    for (const one of noting) one.asked = [];
    await search(node, query);
    return noting.map((one) => one.asked.flat().sort());
  };
  const owners = [
    [0, 1, 6, 7],
    [2, 3, 4, 5],
  ];
  for (const query of ["type:commit needle", "type:diff needle", "repo:host@v1 needle", "repo:has.path(x) needle"]) {
    const plan = planQuery(query, "keyword", contexts);
    t.equal(first?.searchesHere(plan), false, query);
    const found = await asked(first, query);
    t.strictSame(found.flat().sort(), all, query);
    t.strictSame(found[0]?.slice(0, 2), owners[0]?.slice(0, 2));
    for (const number of owners[1] ?? []) t.ok(found[1]?.includes(number));
    const outside = await asked(last, query);
    t.strictSame(outside.flat().sort(), all, query);
    for (const i of [0, 1]) for (const number of (owners[i] ?? []).slice(0, 2)) t.ok(outside[i]?.includes(number));
  }
  t.equal(first?.searchesHere(planQuery("needle", "keyword", contexts)), true);
  // Nobody owns anything, and the other one lacks it.
  await arrange([all, [], []], [all, all, []]);
  t.strictSame(await asked(first, "type:commit needle"), [all, [], []]);
});

t.test("a copy that is outdated is searched where it is, if no other one is there", async (t) => {
  const { nodes, noting } = await arrange([[0, 1, 2, 3], [4, 5], [6]]);
  const [first, second] = noting;
  if (first === undefined || second === undefined) throw new RangeError("there are nodes");
  first.outdated = [4, 7];
  t.strictSame(await search(nodes[0]), { failures: "", excluded: [] });
  t.strictSame(first.asked.flat().sort(), [0, 1, 2, 3, 7]);
  t.strictSame(second.asked.flat(), [4, 5]);
  t.match((await search(nodes[1])).failures, /partition 7/);
  second.held = [5];
  first.asked = [];
  t.strictSame(await search(nodes[0]), { failures: "", excluded: [] });
  t.ok(first.asked.flat().includes(4), "the other one lacks it");
  // It was not outdated a moment ago.
  await arrange([[0, 1, 2, 3], [4, 5], [6]], [[0, 1, 2, 3, 7], [4, 5], [6]]);
  first.outdated = [7];
  t.match((await search(nodes[1])).failures, /^node a was not searched completely/, "others are not given it");
});

t.test("changes are asked of owners, each of which is told what it may have", async (t) => {
  const all = Array.from({ length: partitionCount }, (_, number) => number);
  const held = [all, [0, 1, 2, 3], [4, 5, 6, 7]];
  const owned = [
    [0, 1],
    [2, 3],
    [4, 5, 6],
  ];
  const { nodes, noting } = await arrange(held, held, owned);
  const [first] = nodes;
  const partitions = new Partitions(partitionCount);
  const base = new Map(Array.from({ length: 200 }, (_, i) => [`host/${i}`, new Map([["", "1".repeat(40)]])] as const));
  const placed = (numbers: readonly number[]): readonly string[] =>
    [...base.keys()].filter((name) => numbers.includes(partitions.place(name)));
  const plan = planQuery("needle", "keyword", contexts);
  t.equal(first?.searchesHere(plan), true);
  t.equal(first?.searchesHere(plan, { since: base }), false);
  const { failures, excluded } = await search(first, "type:path needle", base);
  t.strictSame(
    noting.map((one) => one.asked),
    owned.map((numbers) => [numbers]),
  );
  t.strictSame(
    noting.map((one) => one.told),
    owned.map((numbers) => [placed(numbers)]),
  );
  t.match(failures, /a part of the index \(partition 7\) was not searched completely/, "nobody owns it");
  t.equal(excluded.length, 1);
  const [, second] = noting;
  if (second !== undefined) second.owned = [];
  const moved = await search(first, "type:path needle", base);
  t.match(moved.failures, /node b was not searched completely/, "another one does, as it knows itself");
  const whole = [all, all, []];
  await arrange(whole, whole, [[], all, []]);
  t.strictSame(await search(first, "type:path needle", base), { failures: "", excluded: [] });
  t.strictSame(
    noting.map((one) => one.told),
    [[], [[...base.keys()]], []],
  );
});

t.test(
  "a search that must see a change asks the owner for that partition, and others only if they have it",
  async (t) => {
    const held = [
      [0, 1],
      [2, 3, 4, 5, 6, 7],
      [2, 3, 4, 5, 6, 7],
    ];
    const asked = (): readonly (readonly number[])[] => noting.map((one) => one.asked.flat().sort());
    const atLeast = { partition: 4, version: 7 };
    const { nodes, noting } = await arrange(held);
    const [a, b, c] = noting;
    if (a === undefined || b === undefined || c === undefined) throw new RangeError("there are nodes");
    for (const [i, owner] of [
      [1, b],
      [2, c],
    ] as const) {
      await arrange(
        held,
        held,
        noting.map((_, j) => (j === i ? [4] : [])),
      );
      owner.version = 7;
      t.strictSame(await search(nodes[0], undefined, undefined, atLeast), { failures: "", excluded: [] });
      t.ok(owner.asked.some((numbers) => numbers.join() === "4"));
      t.strictSame(asked().flat().sort(), [0, 1, 2, 3, 4, 5, 6, 7], "each once");
    }
    // The owner has just changed, and the map does not say so yet.
    await arrange(held, held, [[], [4], []]);
    c.version = 8;
    t.strictSame(await search(nodes[0], undefined, undefined, atLeast), { failures: "", excluded: [] });
    t.ok(
      c.asked.some((numbers) => numbers.join() === "4"),
      "the next one that has it is asked",
    );
    c.version = 6;
    const { failures } = await search(nodes[0], undefined, undefined, atLeast);
    t.match(failures, /^nodes [bc] and [bc] were not searched completely/, "and nothing older");
  },
);

t.test("who owns a repository is who is asked to fetch it", async (t) => {
  const { nodes } = await arrange([[0], [1], []], undefined, [[0], [1], []]);
  const [a] = nodes;
  if (a === undefined) throw new RangeError("there are nodes");
  const partitions = new Partitions(partitionCount);
  const find = (partition: number): string =>
    Array.from({ length: 1000 }, (_, i) => `host/a${i}`).find((name) => partitions.place(name) === partition) ?? "";
  t.equal(a.findOwner(find(0)), undefined, "this one");
  t.equal(a.findOwner(find(1))?.name, "b");
  t.equal(a.findOwner(2)?.name, "b", "by its id");
  t.throws(() => a.findOwner(find(2)), {
    code: "overloaded",
    message: /no (?:other )?node owns (?:its part of the index|it yet)/,
  });
  t.same(a.findPlace(find(0)), { partition: 0, isHere: true });
  t.same(a.findPlace(find(1)), { partition: 1, isHere: false });
});

t.test("a node that is gone is not waited for while another one has what it has", async (t) => {
  const told = [
    [0, 1],
    [2, 3, 4, 5, 6, 7],
    [2, 3, 4, 5, 6, 7],
  ];
  const { nodes, noting } = await arrange(told);
  await nodes[2]?.stop();
  await until("the other one is asked", async () => {
    for (const one of noting) one.asked = [];
    const { failures } = await search(nodes[0]);
    t.equal(failures, "");
    return noting[1]?.asked.flat().length === 6;
  });
});

t.test("the owner reads a mirror, and a node with a copy knows the repository", async (t) => {
  const held = [
    [0, 1],
    [1, 2],
    [2, 3],
  ];
  const { nodes, noting } = await arrange(held, held, [[0], [1], [2, 3]]);
  const [a] = nodes;
  if (a === undefined) throw new RangeError("there are nodes");
  const inPartition = (number: number): number => number + 1;
  t.equal(a.findReader(inPartition(0)), undefined, "it owns it itself");
  t.equal(a.findReader(inPartition(1))?.name, "b", "it has a copy, and no mirror");
  t.equal(a.findReader(inPartition(3))?.name, "c");
  const holders = (id: number): string =>
    a
      .findHolders(id)
      .flat()
      .map(({ name }) => name)
      .sort()
      .join();
  t.equal(holders(inPartition(1)), "", "it decides itself");
  t.equal(holders(inPartition(2)), "b,c");
  t.throws(() => a.requireKnowing(inPartition(2)), { code: "overloaded", message: /node a does not have partition 2/ });
  a.requireKnowing(inPartition(1));
  t.throws(() => a.requirePartitions({ numbers: [1, 2], count: 8 }), { code: "overloaded", message: /partition 2/ });
  a.requirePartitions({ numbers: [0, 1], count: 8 });
  t.strictSame(
    a.findLists().lists.map(({ partitions }) => partitions?.numbers),
    [[2], [3]],
  );
  t.match(a.findLists().lack, /partitions 4, 5, 6, 7\) is not listed/);
  // The owner of partition 1 is gone.
  for (const node of nodes)
    node.update(
      names.map((name, i) => ({
        name,
        address: "127.0.0.1:1",
        partitions: held[i] ?? [],
        owned: i === 2 ? [2, 3] : [],
      })),
    );
  t.equal(a.findReader(inPartition(1)), undefined, "whoever has an old mirror reads it");
  t.match(a.explainNoMirror(inPartition(1)), /^node b, which owned its part of the index \(partition 1\), is gone/);
  t.match(a.explainNoMirror(inPartition(0)), /has not fetched it yet/);
  for (const one of noting) one.owned = [];
});
