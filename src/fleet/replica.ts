import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { DatabaseError } from "../database/database.js";
import { type Elapsed, elapsedNow, elapsedSince, type Lease, type Leases } from "../database/leases.js";
import type { FleetRecords } from "./fleet-records.js";
import type { PartitionRecords, PartitionState, PlannedOwner } from "./partition-records.js";
import type { SharedManifest } from "./shared-manifest.js";

export interface ReplicaServices {
  readonly manifest: SharedManifest;
  readonly records: PartitionRecords;
  /** Of the table of partitions. */
  readonly leases: Leases;
  /** Of the table of names. */
  readonly nameLeases: Leases;
  readonly fleet: FleetRecords;
  /** Makes sure that the database is that of the fleet. */
  readonly prepare: () => Promise<void>;
  readonly node: { readonly id: string; readonly program: string };
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

/** What has failed is tried again after a pause that doubles, up to this. */
const pauseMsMax = 60_000;

/** Nodes do not all ask at the same moment: a pause is shorter by up to this share. */
const jitterShare = 0.2;

/** The pause after attempts of one kind that have failed, one after the other. */
class Pause {
  readonly #firstMs: number;
  #longestMs = 0;
  #ms = 0;
  #since = elapsedNow();

  constructor(firstMs: number) {
    this.#firstMs = firstMs;
  }

  fail(): void {
    const longest = Math.min(Math.max(this.#firstMs, 2 * this.#longestMs), pauseMsMax);
    this.#longestMs = longest;
    this.#ms = longest * (1 - jitterShare * Math.random());
    this.#since = elapsedNow();
  }

  end(): void {
    this.#longestMs = 0;
    this.#ms = 0;
  }

  get isOver(): boolean {
    return elapsedSince(this.#since) >= this.#ms;
  }
}

/**
 * This node's copy of the index: it follows what the database has, and takes over the changing of the index when nobody has it.
 *
 * Three loops, since following may take as long as shards take to arrive: one renews the leases and tells of this node, one looks
 * into the database once a second, and one forgets flips. None ends on an error: the next round tries again.
 */
export class Replica {
  readonly #services: ReplicaServices;
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
  #hasFollowed = false;
  /** Whether this node is in the fleet: one that was replaced never owns anything again. Undefined before the database has said so. */
  #isMember: boolean | undefined;
  /** Whether it was logged that another process runs as this node. */
  #isTwin = false;
  /** Whether somebody has said that something has changed. */
  #isHinted = false;
  #wasOwner = false;
  /** What was last logged of each loop; "" while it succeeds. */
  readonly #failures: Record<Loop, string> = { look: "", beat: "" };
  #owner = "";
  /** Since when the partition waits for the node that should own it. */
  #reservedSince: Elapsed | undefined;

  /** Counts how often this node has become the owner; of the last time for which `onOwner` has done its work. */
  #term = 0;
  #begunTerm = 0;
  #isBeginning = false;
  readonly #beginPause: Pause;
  readonly #followPause: Pause;
  /** Why following failed last. */
  #followError: unknown;
  /** Whether the database cannot be asked, as the last look found. */
  #isDatabaseAway = false;

  /**
   * Called when this node begins to change the index, or may not any more. If what is to be done at its beginning resolves with false, it is called
   * again after a while.
   */
  onOwner: (isOwner: boolean) => Promise<boolean> | undefined = () => undefined;

  constructor(services: ReplicaServices) {
    this.#services = services;
    this.#beginPause = new Pause(services.pollMs);
    this.#followPause = new Pause(services.pollMs);
    services.manifest.refusal = () => this.refusal;
  }

  /** Whether this node may change the index, as far as it knows. */
  get isOwner(): boolean {
    return this.#wasOwner && this.#services.manifest.isOwner;
  }

  /**
   * Whether it has had all that the database had at a moment since its start; or has something, and the database cannot be asked.
   */
  get hasFollowed(): boolean {
    return this.#hasFollowed || (this.#isDatabaseAway && this.#services.manifest.position.version > 0);
  }

  /** Whether it has had all that the database had at a moment since its start. */
  get hasSeenAll(): boolean {
    return this.#hasFollowed;
  }

  /** Why the index cannot be changed here. */
  get refusal(): TrawlError {
    return new TrawlError(
      "conflict",
      sayWhoChanges(this.#owner, this.#services.leases.holder, this.#services.manifest.isOwner, this.#failure !== ""),
    );
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
    for (let isMore = true; isMore && this.isOwner && !this.#isClosed; )
      isMore = await this.#services.records.forgetOld(keptSeconds);
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
    const { fleet, node, manifest, log } = this.#services;
    const isMember = await fleet.beat(node.id, node.program, manifest.position.version, this.#failure);
    const isNew = isMember !== this.#isMember;
    this.#isMember = isMember;
    if (isMember || !isNew) return;
    log.error("this node is not in the fleet any more: another one has replaced it. Join again with another name");
    await manifest.release();
    this.#announce();
  }

  /** Resolves with how long nothing can change that matters more than a second; undefined if that is not known. */
  async #look(): Promise<number | undefined> {
    const { manifest, records, metrics } = this.#services;
    await this.#services.prepare();
    if (this.#isMember === undefined) await this.#tell();
    await this.#identify();
    // Without hints it is a second later.
    if (!manifest.isOwner) await records.listen(() => this.#hint()).catch(() => undefined);
    let state = await records.state();
    if (manifest.isOwner && this.#isForAnother(state)) {
      await this.#handOver(state.planned);
      state = await records.state();
    }
    const { version, flipId } = manifest.position;
    this.#owner = state?.holder ?? "";
    metrics.fleetVersionsBehind.set(Math.abs((state?.version ?? 0) - version));
    const isBehind = state !== undefined && (state.version !== version || state.flipId !== flipId);
    // One that this process has, and does not know of, is that of a flip or a claim whose answer was lost.
    const isFree = state === undefined || state.freeInMs < 0 || state.holder === this.#services.leases.holder;
    const mayClaim = !manifest.isOwner && this.isNode && isFree && !this.#isReserved(state);
    // What the bucket lacks would be asked for each second. The failure stays that of the last attempt.
    if ((isBehind || mayClaim) && !this.#followPause.isOver) throw this.#followError;
    try {
      if (isBehind) await manifest.follow();
      this.#hasFollowed = true;
      if (mayClaim && (await manifest.claim())) await this.#settle();
      this.#followPause.end();
    } catch (error) {
      // Some of it was followed.
      if (manifest.position.version !== version) this.#followPause.end();
      // The database is asked for its state at each look anyway.
      if (!(error instanceof DatabaseError)) this.#followPause.fail();
      this.#followError = error;
      throw error;
    }
    this.#announce();
    // It is taken as soon as it is free.
    return manifest.isOwner || state === undefined || state.freeInMs < 0 ? undefined : state.freeInMs + 1;
  }

  /** Whether the plan wants another node to own the partition, which can go on at once. */
  #isForAnother(state: PartitionState | undefined): state is PartitionState & { readonly planned: PlannedOwner } {
    return state?.planned?.isReady === true && state.planned.id !== this.#services.node.id;
  }

  /** Whether what was given back is for another node. That has the time of a lease to take it. */
  #isReserved(state: PartitionState | undefined): boolean {
    if (state?.isReleased !== true || !this.#isForAnother(state)) {
      this.#reservedSince = undefined;
      return false;
    }
    this.#reservedSince ??= elapsedNow();
    return elapsedSince(this.#reservedSince) < this.#services.leaseMs;
  }

  async #handOver({ name }: PlannedOwner): Promise<void> {
    const { manifest, records, log } = this.#services;
    log.info({ to: name }, "the plan of the fleet gives the index to another node");
    await manifest.release();
    this.#announce();
    await records.hint();
  }

  /** The plan may have had another owner, which has ended. */
  async #settle(): Promise<void> {
    const { records, manifest, node, leases } = this.#services;
    const { epoch } = manifest;
    if (epoch !== undefined) await records.settle(node.id, { holder: leases.holder, epoch });
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
    const { manifest, metrics, log } = this.#services;
    const { isOwner, position } = manifest;
    metrics.fleetOwner.set(isOwner ? 1 : 0);
    metrics.fleetVersion.set(position.version);
    if (isOwner !== this.#wasOwner) {
      this.#wasOwner = isOwner;
      log.info(
        { version: position.version },
        isOwner
          ? "this node fetches and indexes from now on"
          : "this node does not fetch and index any more: it follows",
      );
      if (isOwner) this.#term++;
      else void this.onOwner(false);
      this.#beginPause.end();
    }
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
    const { manifest, nameLeases, fleet, node, records } = this.#services;
    await Promise.all([this.#beating, this.#looking, this.#forgetting]);
    const wasOwner = manifest.isOwner;
    const isNode = this.#identity !== undefined && nameLeases.holds(this.#identity);
    await Promise.all([
      isNode ? fleet.stop(node.id).catch(() => undefined) : undefined,
      manifest.release().catch(() => undefined),
    ]);
    if (wasOwner) await records.hint();
    if (this.#identity !== undefined) await nameLeases.release(this.#identity).catch(() => undefined);
  }
}

/** The name of the node that holds a lease: holders are NAME/BOOT. "" if nobody holds it. */
export function nameHolder(holder: string): string {
  return holder.split("/")[0] ?? "";
}

/** Why a node may not change the index, for clients: the names of nodes, and nothing of where the database and the objects are. */
export function sayWhoChanges(holder: string, own: string, isOwner: boolean, isFailing: boolean): string {
  const name = nameHolder(holder);
  const again = "try again in a moment";
  const reason = isFailing ? " (its log says what keeps it from following)" : "";
  // Its lease before a restart counts as its own too.
  if (isOwner || (holder !== "" && name === nameHolder(own)))
    return `this node is about to change the index${reason}: ${again}`;
  if (holder === "") return `no node changes the index at this moment, and this node follows${reason}: ${again}`;
  return `node ${name} changes the index at this moment, and this node follows${reason}: ask that node`;
}
