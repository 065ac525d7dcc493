/** The planner, with fleets that are simulated: what it says is done, nodes come and go, and its goals are looked at after each step. */
import t, { type Test } from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { resultAtOnce } from "../../../src/base/yielding.js";
import {
  type FleetPlan,
  type PlannedCopy,
  type PlannedNode,
  type PlannedPartition,
  planFleet,
} from "../../../src/fleet/planner.js";
import { isFull, rounds, scaled } from "../../support/full-run.js";
import { randomFrom } from "../../support/random.js";

const gib = 2 ** 30;
const options = { copies: 2, loadsMax: 4, replaceAfterSeconds: 600 };

type State = PlannedNode["state"];

interface TestPartition {
  readonly id: number;
  byteCount: number;
  owner: string;
  readonly copies: Map<string, PlannedCopy["state"]>;
}

/** A fleet in which loading ends when the test says so. */
class TestFleet {
  readonly nodes = new Map<string, PlannedNode>();
  readonly partitions: TestPartition[];
  copies = options.copies;
  movedBytes = 0;
  /** Partitions and nodes that cannot follow them. */
  readonly failing = new Set<string>();

  constructor(partitionCount: number, bytesOf: (id: number) => number = () => gib) {
    this.partitions = Array.from({ length: partitionCount }, (_, id) => ({
      id,
      byteCount: bytesOf(id),
      owner: "",
      copies: new Map(),
    }));
  }

  add(name: string, given: Partial<PlannedNode> = {}): void {
    const usual = {
      zone: "",
      state: "present",
      missingSeconds: 0,
      isHeard: true,
      holds: true,
      owns: true,
      capacityBytes: 2 ** 44,
    };
    this.nodes.set(name, { ...usual, state: "present", name, ...given });
  }

  set(name: string, state: State, missingSeconds = 0): void {
    const node = this.nodes.get(name);
    if (node !== undefined) this.nodes.set(name, { ...node, state, missingSeconds });
  }

  plan(): FleetPlan {
    const partitions = this.partitions.map(
      ({ copies, ...rest }): PlannedPartition => ({
        ...rest,
        copies: [...copies].map(([node, state]) => ({
          node,
          state,
          isFailing: this.failing.has(`${rest.id} ${node}`),
        })),
      }),
    );
    return resultAtOnce(planFleet([...this.nodes.values()], partitions, { ...options, copies: this.copies }));
  }

  /** Does what the plan says, but for the loading. Returns what must not be. */
  apply({ changes }: FleetPlan): string[] {
    const faults: string[] = [];
    const seen = new Set<string>();
    for (const { kind, partition: id, node } of changes) {
      const partition = this.partitions[id];
      if (partition === undefined) throw new TrawlError("internal", `there is no partition ${id}`);
      const key = kind === "own" ? `own ${id}` : `${id} ${node}`;
      if (seen.has(key)) faults.push(`two changes of ${key}`);
      seen.add(key);
      const state = partition.copies.get(node);
      if (kind === "load") {
        if (state !== undefined) faults.push(`${key} is loaded twice`);
        partition.copies.set(node, "loading");
        this.movedBytes += partition.byteCount;
      } else if (kind === "drop") {
        const isAnswering = state !== "loading" && this.#answers(node);
        partition.copies.delete(node);
        if (isAnswering && this.answering(partition) < Math.min(this.copies, this.#counted()))
          faults.push(`${key} was dropped too early`);
      } else if (kind === "own") {
        partition.owner = node;
      } else {
        if (state !== (kind === "leave" ? "ready" : "leaving")) faults.push(`${kind} of ${key}, which is ${state}`);
        partition.copies.set(node, kind === "leave" ? "leaving" : "ready");
      }
    }
    for (const name of this.nodes.keys()) {
      const loads = this.partitions.filter((each) => each.byteCount > 0 && each.copies.get(name) === "loading");
      if (loads.length > options.loadsMax) faults.push(`${name} loads ${loads.length} at once`);
    }
    return faults;
  }

  #answers(name: string): boolean {
    const state = this.nodes.get(name)?.state;
    return state === "present" || state === "draining";
  }

  #counted(): number {
    const counts = ({ holds, state, missingSeconds }: PlannedNode): boolean =>
      holds && (state === "present" || (state === "missing" && missingSeconds < options.replaceAfterSeconds));
    return [...this.nodes.values()].filter(counts).length;
  }

  /** Copies from which searches can be answered. */
  answering({ copies }: TestPartition): number {
    return [...copies].filter(([node, state]) => state !== "loading" && this.#answers(node)).length;
  }

  /** Lets copies end loading: each for which `isDone`. */
  load(isDone: () => boolean = () => true): void {
    for (const { copies } of this.partitions)
      for (const [node, state] of copies)
        if (state === "loading" && this.nodes.get(node)?.state === "present" && isDone()) copies.set(node, "ready");
  }

  /** Plans until nothing is left to do. Returns the number of plans. */
  settle(t: Test, isDone?: () => boolean): number {
    for (let plans = 0; plans < 10_000; plans++) {
      const plan = this.plan();
      const faults = this.apply(plan);
      if (faults.length > 0) t.fail(faults.slice(0, 5).join("; "));
      const isLoading = this.partitions.some(({ copies }) => [...copies.values()].includes("loading"));
      if (plan.changes.length === 0 && !isLoading) return plans;
      this.load(isDone);
    }
    t.fail("it never ends");
    return 0;
  }

  /** Of each node that holds copies: its bytes, divided by the mean by capacity. */
  loads(): number[] {
    const holders = [...this.nodes.values()].filter(({ holds, state }) => holds && state === "present");
    const bytesAt = (name: string): number =>
      this.partitions.reduce((sum, { byteCount, copies }) => sum + (copies.has(name) ? byteCount : 0), 0);
    const capacity = holders.reduce((sum, { capacityBytes }) => sum + capacityBytes, 0);
    const all = holders.reduce((sum, { name }) => sum + bytesAt(name), 0);
    return holders.map(({ name, capacityBytes }) => bytesAt(name) / capacityBytes / (all / capacity));
  }

  get copyBytes(): number {
    return this.partitions.reduce((sum, { byteCount }) => sum + byteCount, 0) * this.copies;
  }
}

function fleetOf(t: Test, nodeCount: number, partitionCount: number, bytesOf?: (id: number) => number): TestFleet {
  const fleet = new TestFleet(partitionCount, bytesOf);
  for (let i = 0; i < nodeCount; i++) fleet.add(`node-${i}`);
  fleet.settle(t);
  fleet.movedBytes = 0;
  return fleet;
}

function checkCopies(t: Test, fleet: TestFleet, copies: number): void {
  const wrong = fleet.partitions.filter(
    (partition) => partition.copies.size !== copies || fleet.answering(partition) !== copies,
  );
  t.same(wrong, [], `each partition has ${copies} copies`);
  t.ok(
    fleet.partitions.every(({ owner, copies }) => copies.get(owner) === "ready"),
    "and an owner that has it",
  );
}

for (const [nodes, partitions] of [[3, 64], [10, 512], isFull ? [100, 4096] : [30, 1024]] as const)
  t.test(`${nodes} nodes, ${partitions} partitions: new, a node joins, a node is lost`, async (t) => {
    const fleet = fleetOf(t, nodes, partitions);
    checkCopies(t, fleet, 2);
    // What one partition is of a node's share cannot be divided.
    const grain = (nodes + 1) / (2 * partitions);
    const isBalanced = (): boolean => fleet.loads().every((load) => Math.abs(load - 1) <= 0.05 + grain);
    t.ok(isBalanced(), `loads ${Math.min(...fleet.loads())} to ${Math.max(...fleet.loads())}`);
    fleet.add("new");
    fleet.settle(t);
    checkCopies(t, fleet, 2);
    t.ok(isBalanced());
    const joined = fleet.movedBytes / (fleet.copyBytes / (nodes + 1));
    t.ok(joined > 0.8 && joined <= 1.15, `a join moves ${joined} of the new node's share`);

    fleet.movedBytes = 0;
    fleet.set("node-1", "missing", 599);
    t.same(fleet.plan().changes, [], "a reboot moves nothing");
    fleet.set("node-1", "missing", 600);
    fleet.settle(t);
    fleet.set("node-1", "expelled");
    fleet.settle(t);
    checkCopies(t, fleet, 2);
    t.ok(isBalanced());
    const lost = fleet.movedBytes / (fleet.copyBytes / (nodes + 1));
    t.ok(lost > 0.8 && lost <= 1.15, `a loss moves ${lost} of the lost node's share`);
  });

t.test("an owner that has just got a copy stays, and one that is silent becomes none", async (t) => {
  const fleet = fleetOf(t, 3, 1);
  fleet.copies = 3;
  fleet.settle(t);
  const [partition] = fleet.partitions;
  if (partition === undefined) throw new RangeError("there is a partition");
  const { owner } = partition;
  // It was drained, and is used again: it has everything, and has not said so.
  partition.copies.delete(owner);
  fleet.apply(fleet.plan());
  t.equal(partition.copies.get(owner), "loading");
  t.equal(partition.owner, owner);
  t.same(fleet.plan().changes, []);
  fleet.load();
  const [silent = "", next = ""] = [...fleet.nodes.keys()].filter((name) => name !== owner);
  for (const name of [owner, silent]) fleet.add(name, { isHeard: false });
  t.same(fleet.plan().changes, [], "an owner that is silent for a moment stays");
  fleet.set(owner, "draining");
  fleet.apply(fleet.plan());
  t.equal(partition.owner, next);
});

t.test("a node is not given to own what it cannot follow, and others as before", async (t) => {
  for (const at of [0, 1]) {
    const fleet = fleetOf(t, 3, 2);
    fleet.copies = 3;
    fleet.settle(t);
    const [first, second] = fleet.partitions;
    if (first === undefined || second === undefined) throw new RangeError("there are two partitions");
    const { owner } = first;
    second.owner = owner;
    const others = [...fleet.nodes.keys()].filter((name) => name !== owner);
    const [failing = "", able = ""] = at === 0 ? others : others.toReversed();
    fleet.failing.add(`0 ${failing}`).add(`1 ${able}`);
    fleet.set(owner, "draining");
    fleet.apply(fleet.plan());
    t.strictSame([first.owner, second.owner], [able, failing]);
  }
});

t.test("a third of the nodes may be missing, and no more", async (t) => {
  const fleet = fleetOf(t, 7, 64);
  for (const name of ["node-0", "node-1"]) fleet.set(name, "missing", 1e6);
  t.equal(fleet.plan().refusal, "");
  t.ok(fleet.plan().changes.length > 0);
  fleet.set("node-2", "missing", 1);
  t.same(fleet.plan(), {
    changes: [],
    withoutRoom: 0,
    refusal: "3 of 7 nodes are missing, more than a third (node-0, node-1, node-2)",
  });
});

t.test("nodes without which nothing is left", async (t) => {
  const fleet = fleetOf(t, 3, 8);
  for (const name of fleet.nodes.keys()) fleet.set(name, "draining");
  t.match(fleet.plan(), { changes: [], refusal: /^no node may hold copies/ });
});

t.test("a node that drains goes on answering until others have what it has", async (t) => {
  const fleet = fleetOf(t, 4, 64);
  fleet.set("node-2", "draining");
  fleet.apply(fleet.plan());
  t.ok(
    fleet.partitions.every((partition) => fleet.answering(partition) >= 2),
    "before anything is loaded",
  );
  t.ok(
    fleet.partitions.every(({ owner }) => owner !== "node-2"),
    "others own its partitions at once",
  );
  fleet.settle(t);
  checkCopies(t, fleet, 2);
  t.ok(fleet.partitions.every(({ copies }) => !copies.has("node-2")));
  t.equal(fleet.movedBytes, fleet.copyBytes / 4, "and nothing else is moved");
});

t.test("the successor of a copy that leaves is lost", async (t) => {
  const fleet = fleetOf(t, 4, 64);
  fleet.add("new");
  fleet.apply(fleet.plan());
  fleet.set("new", "expelled");
  fleet.movedBytes = 0;
  fleet.settle(t);
  checkCopies(t, fleet, 2);
  t.equal(fleet.movedBytes, 0, "the copy stays");
});

t.test("a lost node comes back before its copies are made again", async (t) => {
  const fleet = fleetOf(t, 4, 256);
  fleet.set("node-0", "missing", 600);
  fleet.apply(fleet.plan());
  fleet.set("node-0", "present");
  fleet.movedBytes = 0;
  fleet.settle(t);
  checkCopies(t, fleet, 2);
  t.equal(fleet.movedBytes, 0, "its copies are used, and those that were being made are given up");
});

t.test("zones", async (t) => {
  const fleet = new TestFleet(64);
  for (const i of [0, 1, 2]) fleet.add(`a${i}`, { zone: "a" });
  fleet.settle(t);
  checkCopies(t, fleet, 2);
  for (const i of [0, 1, 2]) fleet.add(`b${i}`, { zone: "b" });
  fleet.settle(t);
  checkCopies(t, fleet, 2);
  const zonesOf = ({ copies }: TestPartition): string[] => [...copies.keys()].map((name) => name[0] ?? "");
  t.ok(
    fleet.partitions.every((partition) => new Set(zonesOf(partition)).size === 2),
    "a second zone gets a copy of each",
  );
  t.ok(fleet.loads().every((load) => Math.abs(load - 1) <= 0.1));
});

t.test("capacities and roles", async (t) => {
  const fleet = new TestFleet(512);
  fleet.add("small", { capacityBytes: 2 ** 42 });
  for (const i of [0, 1, 2]) fleet.add(`large-${i}`, { owns: i > 0 });
  fleet.add("front", { holds: false, owns: false });
  fleet.settle(t);
  checkCopies(t, fleet, 2);
  const count = (name: string): number => fleet.partitions.filter(({ copies }) => copies.has(name)).length;
  t.ok(Math.abs(count("small") / count("large-0") - 0.25) < 0.05, "copies by capacity");
  t.equal(count("front"), 0);
  t.ok(fleet.partitions.every(({ owner }) => owner !== "large-0" && owner !== "front"));
});

t.test("what no node has room for is said", async (t) => {
  const fleet = new TestFleet(8);
  for (const i of [0, 1]) fleet.add(`node-${i}`, { capacityBytes: 5 * gib });
  fleet.settle(t);
  t.equal(fleet.plan().withoutRoom, 6);
  fleet.add("node-2", { capacityBytes: 20 * gib });
  fleet.settle(t);
  t.equal(fleet.plan().withoutRoom, 0);
  checkCopies(t, fleet, 2);
});

t.test("new fleets are balanced before there is anything to hold", async (t) => {
  const fleet = fleetOf(t, 5, 256, () => 0);
  const counts = [...fleet.nodes.keys()].map(
    (name) => fleet.partitions.filter(({ copies }) => copies.has(name)).length,
  );
  t.ok(Math.max(...counts) <= 1.11 * Math.min(...counts) + 2, counts.join(", "));
  const owned = [...fleet.nodes.keys()].map((name) => fleet.partitions.filter(({ owner }) => owner === name).length);
  t.ok(Math.max(...owned) <= 1.11 * Math.min(...owned) + 2, owned.join(", "));
});

t.test("random fleets: nodes come, go, drain and come back, in any order", async (t) => {
  for (const seed of rounds(scaled(20, 1_000))) checkRandomFleet(t, seed);
});

function checkRandomFleet(t: Test, seed: number): void {
  const below = randomFrom(seed);
  const pick = <T>(items: readonly T[]): T | undefined => items[below(items.length)];
  const fleet = new TestFleet(1 + below(100), () => pick([0, gib / 10, gib, 3 * gib]) ?? 0);
  fleet.copies = 1 + below(3);
  const zones = ["a", "b", "c"].slice(0, 1 + below(3));
  let next = 0;
  const join = (): void =>
    fleet.add(`node-${next++}`, {
      zone: pick(zones) ?? "",
      capacityBytes: 2 ** (42 + below(3)),
      owns: below(4) > 0,
    });
  for (let i = 3 + below(5); i > 0; i--) join();
  for (let event = 0; event < 30; event++) {
    const name = pick([...fleet.nodes.keys()]) ?? "";
    const what = below(8);
    if (what === 0) join();
    else if (what === 1) fleet.set(name, "missing", below(2) * 600);
    else if (what === 2) fleet.set(name, "draining");
    else if (what === 3 && below(3) === 0) fleet.set(name, "expelled");
    else if (fleet.nodes.get(name)?.state !== "expelled") fleet.set(name, "present");
    const faults = fleet.apply(fleet.plan());
    if (faults.length > 0) throw new TrawlError("internal", `seed ${seed}: ${faults.join("; ")}`);
    fleet.load(() => below(2) === 0);
  }
  for (const name of [...fleet.nodes.keys()])
    if (fleet.nodes.get(name)?.state !== "expelled") fleet.set(name, "present");
  fleet.settle(t, () => below(2) === 0);
  const there = [...fleet.nodes.values()].filter(({ state }) => state === "present");
  const wanted = Math.min(fleet.copies, there.length);
  const wrong = fleet.partitions.filter(
    (partition) => partition.copies.size !== wanted || fleet.answering(partition) !== wanted,
  );
  const zonesWanted = Math.min(wanted, new Set(there.map(({ zone }) => zone)).size);
  const narrow = fleet.partitions.filter(
    ({ copies }) => new Set([...copies.keys()].map((name) => fleet.nodes.get(name)?.zone)).size < zonesWanted,
  );
  t.same([wrong, narrow], [[], []], `seed ${seed}`);
}

t.test("400 nodes, 4,096 partitions: in steps", async (t) => {
  const fleet = new TestFleet(4096, () => 0);
  for (let i = 0; i < 400; i++) fleet.add(`node-${i}`);
  const partitions = fleet.partitions.map(({ copies, ...rest }) => ({ ...rest, copies: [] }));
  const work = planFleet([...fleet.nodes.values()], partitions, options);
  let steps = 1;
  while (work.next().done !== true) steps++;
  // Three and a half million preferences are computed.
  t.ok(steps > 1_000, `${steps} steps`);
});
