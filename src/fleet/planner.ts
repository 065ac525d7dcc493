import { assert } from "../base/assert.js";
import { hashText, mixBits } from "../base/text.js";
import { eachInSteps, filterInSteps } from "../base/yielding.js";

/**
 * Where the copies of partitions should be, and who should own them: a function of what there is, without a clock and without memory.
 *
 * Goals, the most important first:
 *
 * 1. Nothing that answers searches stops before its successor answers them.
 * 2. Each partition has `copies` copies, in different zones if there are several.
 * 3. As little as possible is moved: a reboot moves nothing, a node that joins or is lost its share.
 * 4. The load of each node is near the mean by capacity, in bytes and in partitions owned.
 *
 * It is called again and again with what has come of its changes, and says only the next ones. A fleet that is as it should be
 * gets none. Copies are chosen by weighted rendezvous hashing (Schindelhauer and Schomaker, 2005: "Weighted Distributed Hash
 * Tables") among the nodes with room below a bound (Mirrokni, Thorup and Zadimoghaddam, 2016: "Consistent Hashing with Bounded
 * Loads"), so that the copies of a node that is lost are made again by all others and not by one.
 */

/**
 * What is known of a node. "missing" is one that has not been heard of, and may come back; "draining" is to be emptied;
 * "expelled" never comes back.
 */
export interface PlannedNode {
  readonly name: string;
  readonly zone: string;
  readonly state: "present" | "draining" | "missing" | "expelled";
  /** How long it has been missing. */
  readonly missingSeconds: number;
  /** Whether it has just been heard of: one that has not may be dead already, and is given nothing to own. */
  readonly isHeard: boolean;
  /** Whether it has the roles of holding copies, and of owning partitions. */
  readonly holds: boolean;
  readonly owns: boolean;
  /** What it can hold at most. */
  readonly capacityBytes: number;
}

/** A copy of a partition. One that is leaving answers searches until it is dropped. */
export interface PlannedCopy {
  readonly node: string;
  readonly state: "loading" | "ready" | "leaving";
  /** Whether the node cannot follow the partition at this moment: it is not given that one to own. */
  readonly isFailing: boolean;
}

export interface PlannedPartition {
  readonly id: number;
  readonly byteCount: number;
  /** The node that should own it; "" for none. */
  readonly owner: string;
  readonly copies: readonly PlannedCopy[];
}

export interface PlanOptions {
  readonly copies: number;
  /** Copies with content that a node loads at once. */
  readonly loadsMax: number;
  /** A node that is missing for less time is expected to come back, and keeps its copies. */
  readonly replaceAfterSeconds: number;
}

/**
 * What is to be done next. "load" makes a new copy; "leave" lets one answer searches until there are enough others; "keep" takes
 * that back; "drop" ends a copy; "own" makes the node the owner.
 */
export interface PlanChange {
  readonly kind: "load" | "leave" | "keep" | "drop" | "own";
  readonly partition: number;
  readonly node: string;
}

export interface FleetPlan {
  /** At most one for a copy, and one owner for a partition. */
  readonly changes: readonly PlanChange[];
  /** Copies that are missing, and for which no node has room. */
  readonly withoutRoom: number;
  /** Why nothing is changed; "" otherwise. */
  readonly refusal: string;
}

/** How far the load of a node may be from the mean. Less would move more than it gains. */
const loadTolerance = 0.05;

/** An empty partition counts as this many bytes, so that a new fleet is balanced before there is anything to move. */
const weightBytesMin = 2 ** 20;

/** With more than this share of nodes missing, the network is what is broken, or the database's view of it. */
const missingShareMax = 1 / 3;

/** Copies, or nodes for a copy, that are looked at in a step. */
const looksOfStep = 1024;

/** Partitions in a step. */
const partitionsOfStep = 256;

/** Computes the next changes. Each `yield` ends a step of about a millisecond. */
export function* planFleet(
  nodes: readonly PlannedNode[],
  partitions: readonly PlannedPartition[],
  options: PlanOptions,
): Generator<void, FleetPlan> {
  const holders = nodes.filter(({ holds, state }) => holds && state !== "expelled");
  const missing = holders.filter(({ state }) => state === "missing");
  if (missing.length > holders.length * missingShareMax) {
    const names = missing.slice(0, 10).map(({ name }) => name);
    const refusal = `${missing.length} of ${holders.length} nodes are missing, more than a third (${names.join(", ")})`;
    return { changes: [], withoutRoom: 0, refusal };
  }
  const draft = new Draft(nodes, options);
  if (draft.copiesWanted === 0)
    return {
      changes: [],
      withoutRoom: 0,
      refusal: "no node may hold copies: all are draining, expelled or without the role",
    };
  yield* draft.read(partitions);
  yield* draft.dropWhatIsNotNeeded();
  yield* draft.makeMissingCopies();
  if (draft.isComplete) yield* draft.spread();
  if (draft.isComplete) yield* draft.balance();
  yield* draft.chooseOwners();
  return { changes: draft.changes, withoutRoom: draft.withoutRoom, refusal: "" };
}

class NodeDraft {
  readonly node: PlannedNode;
  readonly hash: number;
  /** Of the copies that stay, or are made. */
  weight = 0;
  /** Of all copies, also of those that leave. */
  byteCount = 0;
  ownedWeight = 0;
  loads = 0;
  handovers = 0;
  /** Those that it should go on holding. */
  readonly held = new Set<PartitionDraft>();

  constructor(node: PlannedNode) {
    assert(node.capacityBytes > 0, "a node has room");
    this.node = node;
    this.hash = hashText(node.name);
  }

  get load(): number {
    return this.weight / this.node.capacityBytes;
  }

  get ownedLoad(): number {
    return this.ownedWeight / this.node.capacityBytes;
  }

  /** Whether new copies may be made on it. */
  get takes(): boolean {
    return this.node.holds && this.node.state === "present";
  }

  /** The higher, the sooner it gets a copy of the partition. */
  preference(partition: PlannedPartition): number {
    const mixed = mixBits(this.hash ^ mixBits(partition.id + 1));
    return -this.node.capacityBytes / Math.log((mixed + 0.5) / 2 ** 32);
  }
}

interface CopyDraft {
  readonly node: NodeDraft;
  state: PlannedCopy["state"];
  readonly isFailing: boolean;
  /** Whether a change of it was said already. */
  isChanged: boolean;
}

interface PartitionDraft {
  readonly partition: PlannedPartition;
  readonly weight: number;
  readonly copies: CopyDraft[];
  /** Whether a change of one was said already. */
  isChanged: boolean;
}

class Draft {
  readonly changes: PlanChange[] = [];
  withoutRoom = 0;
  /**
   * Whether each partition has its copies, or they are being made, so that some may be moved for the sake of order. Those
   * for which there is no room don't count: moving others may make some.
   */
  isComplete = false;

  /** How many copies each partition should have, which may be fewer than asked for. */
  readonly copiesWanted: number;

  readonly #options: PlanOptions;
  readonly #nodes: ReadonlyMap<string, NodeDraft>;
  readonly #partitions: PartitionDraft[] = [];
  /** Of the nodes that count, together. */
  readonly #capacityBytes: number;
  /** Of all partitions, a copy each. */
  #weight = 0;

  constructor(nodes: readonly PlannedNode[], options: PlanOptions) {
    this.#options = options;
    this.#nodes = new Map(nodes.map((node) => [node.name, new NodeDraft(node)]));
    assert(this.#nodes.size === nodes.length, "names of nodes are distinct");
    const counted = this.#counted();
    this.copiesWanted = Math.min(options.copies, counted.length);
    this.#capacityBytes = counted.reduce((sum, { node }) => sum + node.capacityBytes, 0);
  }

  *read(partitions: readonly PlannedPartition[]): Generator<void, void> {
    for (const partition of partitions) {
      const draft: PartitionDraft = {
        partition,
        weight: Math.max(partition.byteCount, weightBytesMin),
        copies: [],
        isChanged: false,
      };
      for (const { node: name, state, isFailing } of partition.copies) {
        const node = this.#nodes.get(name);
        assert(node !== undefined, "a copy is at a node");
        assert(!draft.copies.some((copy) => copy.node === node), "a node has one copy of a partition");
        const copy: CopyDraft = { node, state, isFailing, isChanged: false };
        draft.copies.push(copy);
        node.byteCount += partition.byteCount;
        if (state === "loading" && partition.byteCount > 0) node.loads++;
        if (this.#stays(copy)) this.#hold(draft, node);
      }
      this.#weight += draft.weight;
      if (this.#partitions.push(draft) % partitionsOfStep === 0) yield;
    }
  }

  #counted(): NodeDraft[] {
    return [...this.#nodes.values()].filter((node) => this.#isCounted(node));
  }

  /** What the load of each node should be. */
  get #meanLoad(): number {
    return (this.#weight * this.copiesWanted) / this.#capacityBytes;
  }

  /** Whether the copies of the node count: it is there, or is expected to come back. */
  #isCounted({ node }: NodeDraft): boolean {
    if (!node.holds) return false;
    return node.state === "present" || (node.state === "missing" && !this.#isReplaced(node));
  }

  #isReplaced(node: PlannedNode): boolean {
    return node.state === "missing" && node.missingSeconds >= this.#options.replaceAfterSeconds;
  }

  #stays(copy: CopyDraft): boolean {
    return copy.state !== "leaving" && this.#isCounted(copy.node);
  }

  #staying({ copies }: PartitionDraft): CopyDraft[] {
    return copies.filter((copy) => this.#stays(copy));
  }

  #hold(partition: PartitionDraft, node: NodeDraft): void {
    node.weight += partition.weight;
    node.held.add(partition);
  }

  #release(partition: PartitionDraft, node: NodeDraft): void {
    if (node.held.delete(partition)) node.weight -= partition.weight;
  }

  #change(kind: PlanChange["kind"], draft: PartitionDraft, node: NodeDraft): void {
    if (kind !== "own") draft.isChanged = true;
    this.changes.push({ kind, partition: draft.partition.id, node: node.node.name });
  }

  #drop(draft: PartitionDraft, copy: CopyDraft): void {
    draft.copies.splice(draft.copies.indexOf(copy), 1);
    this.#release(draft, copy.node);
    copy.node.byteCount -= draft.partition.byteCount;
    if (copy.state === "loading" && draft.partition.byteCount > 0) copy.node.loads--;
    this.#change("drop", draft, copy.node);
  }

  #leave(draft: PartitionDraft, copy: CopyDraft): void {
    if (copy.state === "loading") return this.#drop(draft, copy);
    copy.state = "leaving";
    copy.isChanged = true;
    this.#release(draft, copy.node);
    this.#change("leave", draft, copy.node);
  }

  #load(draft: PartitionDraft, node: NodeDraft): void {
    draft.copies.push({ node, state: "loading", isFailing: false, isChanged: true });
    this.#hold(draft, node);
    node.byteCount += draft.partition.byteCount;
    if (draft.partition.byteCount > 0) node.loads++;
    this.#change("load", draft, node);
  }

  /** Ends copies that do not stay as soon as enough others answer searches, and those that are too many. */
  *dropWhatIsNotNeeded(): Generator<void, void> {
    for (const [at, draft] of this.#partitions.entries()) {
      for (let staying = this.#staying(draft); staying.length > this.copiesWanted; staying = this.#staying(draft))
        this.#leave(draft, this.#leastNeeded(staying));
      const answering = this.#staying(draft).filter(isAnswering);
      for (const copy of draft.copies.filter((each) => !this.#stays(each) && !each.isChanged)) {
        const isWorthless = copy.node.node.state === "expelled" || copy.state === "loading";
        if (isWorthless || answering.length >= this.copiesWanted) this.#drop(draft, copy);
      }
      if ((at + 1) % partitionsOfStep === 0) yield;
    }
  }

  /** One that has not been loaded yet, otherwise one whose zone has another one, otherwise the one of the node with the highest load. */
  #leastNeeded(staying: readonly CopyDraft[]): CopyDraft {
    const rank = (copy: CopyDraft): number => {
      const isAlone = staying.every((other) => other === copy || other.node.node.zone !== copy.node.node.zone);
      return (copy.state === "loading" ? 2 : 0) + (isAlone ? 0 : 1);
    };
    const [least] = [...staying].sort(
      (a, b) => rank(b) - rank(a) || b.node.load - a.node.load || (a.node.node.name < b.node.node.name ? -1 : 1),
    );
    assert(least !== undefined, "there are copies");
    return least;
  }

  /** Makes the copies that are missing, first of those partitions that have the fewest which answer. */
  *makeMissingCopies(): Generator<void, void> {
    const short = yield* filterInSteps(this.#partitions, (draft) => this.#staying(draft).length < this.copiesWanted);
    const answering = new Map(short.map((draft) => [draft, draft.copies.filter(isAnswering).length]));
    short.sort((a, b) => (answering.get(a) ?? 0) - (answering.get(b) ?? 0) || a.partition.id - b.partition.id);
    let looks = 0;
    for (const draft of short) {
      for (let lacking = this.copiesWanted - this.#staying(draft).length; lacking > 0; lacking--) this.#makeCopy(draft);
      looks += this.#nodes.size;
      if (looks < looksOfStep) continue;
      looks = 0;
      yield;
    }
    const missing = short.reduce((sum, draft) => sum + this.copiesWanted - this.#staying(draft).length, 0);
    this.isComplete = missing === this.withoutRoom;
  }

  #makeCopy(draft: PartitionDraft): void {
    // Its successor was lost, perhaps.
    const leaving = draft.copies.find((copy) => copy.state === "leaving" && this.#isCounted(copy.node));
    if (leaving !== undefined && !leaving.isChanged) {
      leaving.state = "ready";
      leaving.isChanged = true;
      this.#hold(draft, leaving.node);
      return this.#change("keep", draft, leaving.node);
    }
    const roomy = this.#nodesWithRoom(draft);
    if (roomy.length === 0) {
      this.withoutRoom++;
      return;
    }
    const zones = new Set(this.#staying(draft).map((copy) => copy.node.node.zone));
    const elsewhere = roomy.filter(({ node }) => !zones.has(node.zone));
    const free = (elsewhere.length > 0 ? elsewhere : roomy).filter((node) => this.#mayLoad(draft, node));
    const best = this.#best(draft, free);
    if (best !== undefined) this.#load(draft, best);
  }

  /** Those that may get a copy, and have none. */
  #nodesWithRoom({ partition, copies }: PartitionDraft): NodeDraft[] {
    return [...this.#nodes.values()].filter(
      (node) =>
        node.takes &&
        node.byteCount + partition.byteCount <= node.node.capacityBytes &&
        !copies.some((copy) => copy.node === node),
    );
  }

  #mayLoad({ partition }: PartitionDraft, node: NodeDraft): boolean {
    return partition.byteCount === 0 || node.loads < this.#options.loadsMax;
  }

  /** The first in order of preference whose load stays within the bound; without one, that with the lowest load. */
  #best(draft: PartitionDraft, nodes: readonly NodeDraft[]): NodeDraft | undefined {
    const loadMax = this.#meanLoad * (1 + loadTolerance);
    const low = nodes.filter((node) => (node.weight + draft.weight) / node.node.capacityBytes <= loadMax);
    if (low.length > 0) return largest(low, (node) => node.preference(draft.partition));
    return largest(nodes, (node) => -node.load);
  }

  /** Moves copies of partitions that have two in one zone, although there are more zones. */
  *spread(): Generator<void, void> {
    const zones = new Set([...this.#nodes.values()].filter((node) => node.takes).map(({ node }) => node.zone));
    const zonesWanted = Math.min(this.copiesWanted, zones.size);
    for (const [at, draft] of this.#partitions.entries()) {
      const there = draft.copies.map((copy) => copy.node.node.zone);
      if (new Set(there).size < zonesWanted && this.#isSettled(draft)) {
        const free = this.#nodesWithRoom(draft).filter(
          (node) => !there.includes(node.node.zone) && this.#mayLoad(draft, node),
        );
        const best = this.#best(draft, free);
        if (best !== undefined) this.#move(draft, this.#leastNeeded(draft.copies), best);
      }
      if ((at + 1) % partitionsOfStep === 0) yield;
    }
  }

  /** Whether its copies may be moved: nothing else is going on. */
  #isSettled({ copies, isChanged }: PartitionDraft): boolean {
    return (
      !isChanged &&
      copies.length === this.copiesWanted &&
      copies.every((copy) => this.#stays(copy) && isAnswering(copy))
    );
  }

  #move(draft: PartitionDraft, from: CopyDraft, to: NodeDraft): void {
    this.#leave(draft, from);
    this.#load(draft, to);
  }

  /**
   * Moves copies from nodes with much to nodes with little. Each move lowers the sum of the squares of how far nodes are from
   * the mean, so it ends, and nothing is moved to and fro.
   */
  *balance(): Generator<void, void> {
    const takers = [...this.#nodes.values()].filter((node) => node.takes);
    for (;;) {
      const byLoad = [...takers].sort((a, b) => a.load - b.load || (a.node.name < b.node.name ? -1 : 1));
      if (!(yield* this.#moveOne(byLoad))) return;
      yield;
    }
  }

  /** Makes the first move that makes loads more equal, from nodes sorted by load. Returns false if there is none. */
  *#moveOne(byLoad: readonly NodeDraft[]): Generator<void, boolean> {
    const meanLoad = this.#meanLoad;
    const isOut = ({ load }: NodeDraft): boolean => Math.abs(load - meanLoad) > meanLoad * loadTolerance;
    let looks = 0;
    for (const low of byLoad) {
      if (low.load >= meanLoad) return false;
      if (low.loads >= this.#options.loadsMax) continue;
      for (const high of byLoad.toReversed()) {
        if (high.load <= low.load) break;
        if (!isOut(low) && !isOut(high)) continue;
        const draft = this.#movable(high, low, meanLoad);
        if (draft !== undefined) {
          this.#move(draft, copyAt(draft, high), low);
          return true;
        }
        looks += high.held.size;
        if (looks < looksOfStep) continue;
        looks = 0;
        yield;
      }
    }
    return false;
  }

  /** The partition that is best moved from the one to the other; undefined if none makes the loads more equal. */
  #movable(high: NodeDraft, low: NodeDraft, meanLoad: number): PartitionDraft | undefined {
    const distance = ({ node }: NodeDraft, load: number): number => node.capacityBytes * (load - meanLoad) ** 2;
    let best: { readonly draft: PartitionDraft; readonly fits: boolean; readonly preference: number } | undefined;
    for (const draft of high.held) {
      if (!this.#isSettled(draft) || draft.copies.some(({ node }) => node === low)) continue;
      if (low.byteCount + draft.partition.byteCount > low.node.capacityBytes) continue;
      const others = draft.copies.filter(({ node }) => node !== high).map(({ node }) => node.node.zone);
      if (others.includes(low.node.zone) && !others.includes(high.node.zone)) continue;
      const highAfter = (high.weight - draft.weight) / high.node.capacityBytes;
      const lowAfter = (low.weight + draft.weight) / low.node.capacityBytes;
      const before = distance(high, high.load) + distance(low, low.load);
      if (distance(high, highAfter) + distance(low, lowAfter) >= before) continue;
      const fits = lowAfter <= meanLoad * (1 + loadTolerance) && highAfter >= meanLoad * (1 - loadTolerance);
      const preference = low.preference(draft.partition);
      if (best === undefined || (fits && !best.fits) || (fits === best.fits && preference > best.preference))
        best = { draft, fits, preference };
    }
    return best?.draft;
  }

  /** Each partition is owned by a node that has it, and each node owns about its share. */
  *chooseOwners(): Generator<void, void> {
    const owning = this.#counted().filter(({ node }) => node.owns);
    const meanLoad = this.#weight / owning.reduce((sum, { node }) => sum + node.capacityBytes, 0);
    yield* eachInSteps(this.#partitions, ({ partition, weight }) => {
      const owner = this.#nodes.get(partition.owner);
      if (owner !== undefined) owner.ownedWeight += weight;
    });
    for (const [at, draft] of this.#partitions.entries()) {
      const owner = this.#nodes.get(draft.partition.owner);
      const ready = draft.copies.filter(({ node, state }) => state === "ready" && mayOwn(node.node));
      const eligible = ready.map(({ node }) => node);
      const able = ready.filter(({ node, isFailing }) => node.node.isHeard && !isFailing).map(({ node }) => node);
      const best = largest(able, (node) => -(node.ownedWeight + draft.weight) / node.node.capacityBytes);
      if (best !== undefined && best !== owner && this.#isBetterOwner(draft, best, owner, eligible, meanLoad)) {
        if (owner !== undefined) owner.ownedWeight -= draft.weight;
        best.ownedWeight += draft.weight;
        best.handovers++;
        this.#change("own", draft, best);
      }
      if ((at + 1) % partitionsOfStep === 0) yield;
    }
  }

  /** One that may not own it is replaced at once; another one only if it owns too much, and a few at a time. */
  #isBetterOwner(
    draft: PartitionDraft,
    best: NodeDraft,
    owner: NodeDraft | undefined,
    eligible: readonly NodeDraft[],
    meanLoad: number,
  ): boolean {
    if (owner === undefined) return true;
    // One that is missing for a short time gets its partitions back; the others decide by leases who works on them meanwhile.
    if (owner.node.state === "missing" && !this.#isReplaced(owner.node)) return false;
    // One whose copy is new took it over, which it did with all that there is: it has not said so yet.
    if (draft.copies.some((copy) => copy.node === owner && copy.state === "loading" && mayOwn(owner.node)))
      return false;
    if (!eligible.includes(owner)) return true;
    const isOut = owner.ownedLoad > meanLoad * (1 + loadTolerance) || best.ownedLoad < meanLoad * (1 - loadTolerance);
    const after = (best.ownedWeight + draft.weight) / best.node.capacityBytes;
    return isOut && after < owner.ownedLoad && best.handovers < this.#options.loadsMax;
  }
}

function copyAt({ copies }: PartitionDraft, at: NodeDraft): CopyDraft {
  const copy = copies.find(({ node }) => node === at);
  assert(copy !== undefined, "a node that holds a partition has a copy");
  return copy;
}

/** Whether searches can be answered from the copy. */
function isAnswering({ node, state }: CopyDraft): boolean {
  return state !== "loading" && (node.node.state === "present" || node.node.state === "draining");
}

function mayOwn({ owns, state }: PlannedNode): boolean {
  return owns && state === "present";
}

function largest<T>(items: readonly T[], measure: (item: T) => number): T | undefined {
  let best: { readonly item: T; readonly size: number } | undefined;
  for (const item of items) {
    const size = measure(item);
    if (best === undefined || size > best.size) best = { item, size };
  }
  return best?.item;
}
