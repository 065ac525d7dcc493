import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { DatabaseError } from "../database/database.js";
import type { Lease, Leases } from "../database/leases.js";
import type { FleetRecords } from "./fleet-records.js";
import { HeldPartition, jitterShare, type NodePartition, Pause, refuseChange } from "./held-partition.js";
import type { PartitionState, PartitionStates } from "./partition-records.js";

export interface ReplicaServices {
  /** All that the fleet has, by number. If there is one, each node holds it. */
  readonly partitions: readonly NodePartition[];
  /** Asks the database for the states of these, and of those of which this node should have a copy. */
  readonly states: (held: readonly number[]) => Promise<PartitionStates>;
  /** Calls `onHint` soon after each flip, and each change of the plan, as far as hints come. */
  readonly listen: (onHint: () => void) => Promise<void>;
  readonly hint: () => Promise<void>;
  /** Of the table of partitions. */
  readonly leases: Leases;
  /** Of the table of names. */
  readonly nameLeases: Leases;
  readonly fleet: FleetRecords;
  /** Makes sure that the database is that of the fleet. */
  readonly prepare: () => Promise<void>;
  /** `address` is where other nodes reach this one. */
  readonly node: { readonly id: string; readonly program: string; readonly address: () => string };
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Between two rounds of forgetting flips; undefined for the usual time. */
  readonly forgetMs?: number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "fleetOwner" | "fleetVersion" | "fleetVersionsBehind">;
}

/** Flips are kept for an hour, for nodes that follow; one that comes later takes the manifest as it is. Some are forgotten this often. */
const keptSeconds = 3_600;
const usualForgetMs = 600_000;

/** Between two looks, also when a lease ends. */
const lookMsMin = 20;

type Loop = "look" | "beat";

/** Partitions that are followed at once. */
const followedAtOnce = 4;

/**
 * This node's copies of partitions: it follows what the database has, and takes over the changing of those that nobody has.
 *
 * Three loops, since following may take as long as shards take to arrive: one renews the leases and tells of this node, one looks
 * into the database once a second, and one forgets flips. None ends on an error: the next round tries again.
 */
export class Replica {
  readonly #services: ReplicaServices;
  readonly #partitions: readonly HeldPartition[];
  #beatCall: PendingCall | undefined;
  #lookCall: PendingCall | undefined;
  /** Settle when the running rounds end. */
  #beating: Promise<void> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();
  #forgetCall: PendingCall | undefined;
  #forgetting: Promise<void> = Promise.resolve();
  /** The lease on being this node: a copy of its data directory does not get it. */
  #identity: Lease | undefined;
  #isClosed = false;
  /** Whether it was looked which partitions this node should have. */
  #hasLooked = false;
  /** Whether this node is in the fleet: one that was replaced never owns anything again. Undefined before the database has said so. */
  #isMember: boolean | undefined;
  /** Whether it was logged that another process runs as this node. */
  #isTwin = false;
  /** Whether somebody has said that something has changed. */
  #isHinted = false;
  /** What waits to be followed, with what was last seen of it, and what is being followed. */
  readonly #waiting = new Map<HeldPartition, PartitionState | undefined>();
  readonly #following = new Map<HeldPartition, Promise<void>>();
  /** Why some are not followed. */
  readonly #problems = new Map<HeldPartition, unknown>();
  /** When the first of those that others own may be free, as was last seen. */
  #freeInMs: number | undefined;
  /** Those that this node owned when that was last told. */
  readonly #owned = new Set<number>();
  /** What was last logged of each loop; "" while it succeeds. */
  readonly #failures: Record<Loop, string> = { look: "", beat: "" };
  /** Counts how often this node has become an owner; of the last time for which `onOwner` has done its work. */
  #term = 0;
  #begunTerm = 0;
  #isBeginning = false;
  readonly #beginPause: Pause;
  /** Whether the database cannot be asked, as the last look found. */
  #isDatabaseAway = false;

  /**
   * Called when this node begins to change something of the index, or may not any more. If what is to be done at its beginning resolves with
   * false, it is called again after a while.
   */
  onOwner: (isOwner: boolean) => Promise<boolean> | undefined = () => undefined;

  constructor(services: ReplicaServices) {
    const { partitions, leases, node, leaseMs, pollMs, log } = services;
    this.#services = services;
    this.#beginPause = new Pause(pollMs);
    const isAlwaysHeld = partitions.length === 1;
    this.#partitions = partitions.map(
      (one) => new HeldPartition({ ...one, leases, nodeId: node.id, leaseMs, pollMs, isAlwaysHeld, log }),
    );
    for (const { manifest, number } of this.#partitions) manifest.refusal = () => this.refusalIn(number);
  }

  /** Whether this node may change something of the index, as far as it knows. */
  get isOwner(): boolean {
    return this.#partitions.some((one) => this.#isOwned(one));
  }

  /** The partitions that this node changes, as `onOwner` was last told. A lease that is prolonged late is still one of them. */
  get changed(): ReadonlySet<number> {
    return this.#owned;
  }

  #isOwned({ number, manifest }: HeldPartition): boolean {
    return this.#owned.has(number) && manifest.isOwner;
  }

  /** The partitions of which this node has had all that the database had at a moment since its start. */
  get followed(): readonly number[] {
    return this.#partitions.filter(({ hasFollowed }) => hasFollowed).map(({ number }) => number);
  }

  /** The partitions that could not be followed, or taken over, at the last attempt. */
  get failing(): readonly number[] {
    return [...this.#problems.keys()].map(({ number }) => number);
  }

  /** Whether searches of a partition can be answered here: before the database has said which this node should have, if it has it. */
  isSearchable(partition: number): boolean {
    const one = this.#partitions[partition];
    return one !== undefined && (this.#hasLooked ? one.hasFollowed : one.manifest.position.version > 0);
  }

  /** Those that it has as they were before its start, or before something could not be followed: better than nothing. */
  get outdated(): readonly number[] {
    return this.#partitions
      .filter(({ manifest, isWanted, hasFollowed }) => isWanted && !hasFollowed && manifest.position.version > 0)
      .map(({ number }) => number);
  }

  /**
   * Whether it has had all that the database had, at a moment since its start, of what it should have; or has something, and the database
   * cannot be asked.
   */
  get hasFollowed(): boolean {
    if (this.#isDatabaseAway && this.#partitions.some(({ manifest }) => manifest.position.version > 0)) return true;
    return this.#hasLooked && this.#partitions.every(({ isWanted, hasFollowed }) => hasFollowed || !isWanted);
  }

  /** Whether it has had all that the database had of all partitions at a moment since its start. */
  get hasSeenAll(): boolean {
    return this.#partitions.every(({ hasFollowed }) => hasFollowed);
  }

  /** Why the index cannot be changed here. */
  get refusal(): TrawlError {
    return this.refusalIn(0);
  }

  /** Why this partition cannot be changed here. */
  refusalIn(partition: number): TrawlError {
    const one = this.#partitions[partition];
    if (one === undefined || (this.#hasLooked && !one.isHeld))
      return new TrawlError(
        "conflict",
        `this node does not have this part of the index (partition ${partition}): \`trawl fleet status\` says which nodes have it`,
      );
    const { holder } = this.#services.leases;
    // With problems of single partitions, those of others are no reason.
    const isFailing = this.#problems.size > 0 ? this.#problems.has(one) : this.#failure !== "";
    return refuseChange(one.holder, holder, one.manifest.isOwner, isFailing);
  }

  start(): void {
    this.#beatAgain(0);
    this.#lookAgain(0);
    this.#forgetAgain();
  }

  #forgetAgain(): void {
    if (this.#isClosed) return;
    this.#forgetCall = callAfter(this.#services.forgetMs ?? usualForgetMs, () => {
      this.#forgetting = this.#forget()
        .catch((error: unknown) =>
          this.#services.log.warn({ error: errorMessage(error) }, "old flips are not forgotten yet"),
        )
        .finally(() => this.#forgetAgain());
    });
  }

  async #forget(): Promise<void> {
    for (const one of this.#partitions)
      for (let isMore = true; isMore && this.#isOwned(one) && !this.#isClosed; )
        isMore = await one.records.forgetOld(keptSeconds);
  }

  #beatAgain(delayMs: number): void {
    if (this.#isClosed) return;
    this.#beatCall = callAfter(delayMs, () => {
      this.#beating = this.#beat()
        .then(() => this.#succeed("beat"))
        .catch((error: unknown) => this.#fail("beat", error))
        .finally(() => this.#beatAgain(this.#services.leaseMs / 3));
    });
  }

  #lookAgain(delayMs: number): void {
    if (this.#isClosed) return;
    this.#lookCall = callAfter(this.#isHinted ? 0 : delayMs, () => {
      this.#lookCall = undefined;
      this.#isHinted = false;
      let freeInMs: number | undefined;
      this.#looking = this.#look()
        .then((ms) => {
          freeInMs = ms;
          this.#succeed("look");
        })
        .catch((error: unknown) => this.#fail("look", error))
        .finally(() => {
          const usualMs = this.#services.pollMs * (1 - jitterShare * Math.random());
          this.#lookAgain(Math.max(lookMsMin, Math.min(usualMs, freeInMs ?? usualMs)));
        });
    });
  }

  /** Something has changed: the next look is now, or follows the one that is running. */
  #hint(): void {
    this.#isHinted = true;
    const call = this.#lookCall;
    if (call === undefined) return;
    call.cancel();
    this.#lookAgain(0);
  }

  async #beat(): Promise<void> {
    const { leases, nameLeases } = this.#services;
    await leases.renew();
    const lostNames = await nameLeases.renew();
    if (lostNames.length > 0) this.#identity = undefined;
    this.#announce();
    await this.#tell();
  }

  /** Tells of this node, and learns whether it is in the fleet. */
  async #tell(): Promise<void> {
    const { fleet, node, log } = this.#services;
    const isMember = await fleet.beat(node.id, node.program, this.#version, this.#failure, node.address());
    const isNew = isMember !== this.#isMember;
    this.#isMember = isMember;
    if (isMember) return;
    if (isNew)
      log.error("this node is not in the fleet any more: another one has replaced it. Join again with another name");
    await this.#release();
    this.#announce();
  }

  /** How many flips its copies have, together. */
  get #version(): number {
    return this.#partitions.reduce((sum, { manifest }) => sum + manifest.position.version, 0);
  }

  /** Also what this node may not change at this moment, because its lease is prolonged late: it would be prolonged later. */
  async #release(): Promise<void> {
    for (const { manifest } of this.#partitions) await manifest.release();
  }

  /** Resolves with how long nothing can change that matters more than a second; undefined if that is not known. */
  async #look(): Promise<number | undefined> {
    const { states, listen, metrics } = this.#services;
    await this.#services.prepare();
    if (this.#isMember === undefined) await this.#tell();
    await this.#identify();
    // Without hints it is a second later.
    if (this.#partitions.some(({ manifest }) => !manifest.isOwner))
      await listen(() => this.#hint()).catch(() => undefined);
    const held = this.#partitions.filter(({ isHeld }) => isHeld).map(({ number }) => number);
    const found = await states(held);
    for (const one of this.#partitions) one.see(found.get(one.number));
    this.#hasLooked = true;
    const wanted = this.#partitions.filter(({ isHeld }) => isHeld);
    for (const one of this.#problems.keys()) if (!one.isHeld) this.#problems.delete(one);
    metrics.fleetVersionsBehind.set(wanted.reduce((sum, { behind }) => sum + behind, 0));
    for (const one of wanted) this.#waiting.set(one, found.get(one.number));
    this.#freeInMs = undefined;
    this.#startFollowing();
    await this.#followed();
    this.#announce();
    // What is wrong with an object is more than that the database did not answer meanwhile.
    const problems = [...this.#problems.values()];
    const [first] = [...problems.filter((error) => !(error instanceof DatabaseError)), ...problems];
    if (first !== undefined) throw first;
    return this.#freeInMs;
  }

  /** One that fails, or takes long, does not hold up the others. */
  #startFollowing(): void {
    for (const [one, state] of this.#waiting) {
      if (this.#following.size >= followedAtOnce || this.#isClosed) return;
      if (this.#following.has(one)) continue;
      this.#waiting.delete(one);
      this.#following.set(one, this.#follow(one, state));
    }
  }

  async #follow(one: HeldPartition, state: PartitionState | undefined): Promise<void> {
    try {
      const ms = await one.follow(state, () => this.isNode);
      if (ms !== undefined) this.#freeInMs = Math.min(ms, this.#freeInMs ?? ms);
      this.#problems.delete(one);
    } catch (error) {
      this.#problems.set(one, error);
    }
    this.#following.delete(one);
    this.#announce();
    this.#startFollowing();
  }

  /** Resolves when all is followed; where there are several, after the time of a look. */
  async #followed(): Promise<void> {
    let isLate = false;
    let timer: PendingCall | undefined;
    const late = new Promise<void>((resolve) => {
      if (this.#partitions.length > 1)
        timer = callAfter(this.#services.pollMs, () => {
          isLate = true;
          resolve();
        });
    });
    while (this.#following.size > 0 && !isLate) await Promise.race([late, ...this.#following.values()]);
    timer?.cancel();
  }

  /** Whether this process is the node, and in the fleet. */
  get isNode(): boolean {
    const { nameLeases } = this.#services;
    const isNode = this.#identity !== undefined && nameLeases.holds(this.#identity);
    return !this.#isClosed && this.#isMember === true && isNode;
  }

  /** Makes sure that no other process runs as this node. */
  async #identify(): Promise<void> {
    const { nameLeases, node, log } = this.#services;
    if (this.#identity !== undefined) return;
    this.#identity = await nameLeases.claim(`node/${node.id}`);
    const wasTwin = this.#isTwin;
    this.#isTwin = this.#identity === undefined;
    if (this.#isTwin && !wasTwin)
      log.warn(
        "another process runs as this node, or did a moment ago: if this goes on, the data directory is a copy, and must be emptied and joined anew. Until then this one only follows",
      );
  }

  #announce(): void {
    const { metrics, log } = this.#services;
    const owned = this.#partitions.filter(({ manifest }) => manifest.isOwner);
    metrics.fleetOwner.set(owned.length);
    metrics.fleetVersion.set(this.#version);
    const isNew = ({ number, manifest }: HeldPartition): boolean => manifest.isOwner !== this.#owned.has(number);
    const changed = this.#partitions.filter(isNew);
    for (const { number, manifest } of changed) {
      const { version } = manifest.position;
      const of = this.#partitions.length === 1 ? { version } : { partition: number, version };
      if (manifest.isOwner) this.#owned.add(number);
      else this.#owned.delete(number);
      log.info(
        of,
        manifest.isOwner
          ? "this node fetches and indexes from now on"
          : "this node does not fetch and index any more: it follows",
      );
    }
    if (changed.length > 0) {
      if (changed.some(({ manifest }) => manifest.isOwner)) this.#term++;
      if (changed.some(({ manifest }) => !manifest.isOwner)) void this.onOwner(false);
      this.#beginPause.end();
    }
    const isOwner = owned.length > 0;
    if (isOwner && this.#begunTerm !== this.#term && !this.#isBeginning && this.#beginPause.isOver) void this.#begin();
  }

  /** The lease may be over for a moment, and prolonged, while this is done: then nobody is told, and it is done again. */
  async #begin(): Promise<void> {
    const term = this.#term;
    this.#isBeginning = true;
    const isDone = await Promise.resolve(this.onOwner(true)).catch(() => false);
    this.#isBeginning = false;
    if (isDone === false) this.#beginPause.fail();
    else this.#begunTerm = term;
  }

  /** Why the index is not followed; "" if it is. */
  get #failure(): string {
    return this.#failures.look;
  }

  #succeed(loop: Loop): void {
    if (loop === "look" && this.#failure !== "") this.#services.log.info("the index is followed again");
    this.#failures[loop] = "";
    if (loop === "look") this.#isDatabaseAway = false;
  }

  #fail(loop: Loop, error: unknown): void {
    this.#announce();
    if (loop === "look") this.#isDatabaseAway = error instanceof DatabaseError;
    const message = errorMessage(error);
    const isKnown = Object.values(this.#failures).includes(message);
    if (this.#isClosed) return;
    this.#failures[loop] = message;
    if (isKnown) return;
    this.#services.log.warn(
      { error: message },
      loop === "look"
        ? "the index cannot be followed: it is searched as it is here"
        : "this node cannot tell the database that it is there",
    );
  }

  /** Lets another node take over at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#beatCall?.cancel();
    this.#lookCall?.cancel();
    this.#forgetCall?.cancel();
    const { nameLeases, fleet, node, hint } = this.#services;
    await Promise.all([this.#beating, this.#looking, this.#forgetting, ...this.#following.values()]);
    const wasOwner = this.#partitions.some(({ manifest }) => manifest.isOwner);
    const isNode = this.#identity !== undefined && nameLeases.holds(this.#identity);
    await Promise.all([
      isNode ? fleet.stop(node.id).catch(() => undefined) : undefined,
      this.#release().catch(() => undefined),
    ]);
    if (wasOwner) await hint();
    if (this.#identity !== undefined) await nameLeases.release(this.#identity).catch(() => undefined);
  }
}
