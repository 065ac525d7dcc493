import { TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { DatabaseError } from "../database/database.js";
import { type Elapsed, elapsedNow, elapsedSince, type Leases } from "../database/leases.js";
import type { PartitionRecords, PartitionState, PlannedOwner } from "./partition-records.js";
import type { SharedManifest } from "./shared-manifest.js";

/** A partition at this node: its manifest, and its records in the database. */
export interface NodePartition {
  readonly manifest: SharedManifest;
  readonly records: PartitionRecords;
}

export interface HeldServices extends NodePartition {
  /** Of the table of partitions. */
  readonly leases: Leases;
  /** Of this node. */
  readonly nodeId: string;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Whether it is held whatever the plan says of copies. */
  readonly isAlwaysHeld: boolean;
  readonly log: Log;
}

/** What has failed is tried again after a pause that doubles, up to this. */
const pauseMsMax = 60_000;

/** Nodes do not all ask at the same moment: a pause is shorter by up to this share. */
export const jitterShare = 0.2;

/** The pause after attempts of one kind that have failed, one after the other. */
export class Pause {
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
 * One partition as this node has it: it is followed, and taken over when nobody has it; dropped, when the plan wants no copy here any more.
 * Who holds it asks the database where it stands, and tells it.
 */
export class HeldPartition {
  readonly #services: HeldServices;
  readonly #followPause: Pause;
  /** Why following failed last. */
  #followError: unknown;
  /** Since when it waits for the node that should own it. */
  #reservedSince: Elapsed | undefined;
  #hasFollowed = false;
  #holder = "";
  #isWanted: boolean;
  /** Whether the plan was told that this node has taken it. */
  #isSettled = true;

  constructor(services: HeldServices) {
    this.#services = services;
    this.#followPause = new Pause(services.pollMs);
    this.#isWanted = services.isAlwaysHeld;
  }

  get manifest(): SharedManifest {
    return this.#services.manifest;
  }

  get records(): PartitionRecords {
    return this.#services.records;
  }

  get number(): number {
    return this.#services.records.partition;
  }

  /** Whether this node has something of it, or should have. */
  get isHeld(): boolean {
    return this.#isWanted || this.#hasSomething;
  }

  get #hasSomething(): boolean {
    return this.manifest.isOwner || this.manifest.position.version > 0;
  }

  /** Whether this node should have it, and has had all that the database had of it at a moment since its start. */
  get hasFollowed(): boolean {
    return this.#isWanted && this.#hasFollowed;
  }

  /** Whether the plan wants a copy of it here, as was last seen. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** Who has its lease, as was last seen. */
  get holder(): string {
    return this.#holder;
  }

  /** How many flips this node lacks, as was last seen. */
  behind = 0;

  /** Takes what the database says, before `follow`. */
  see(state: PartitionState | undefined): void {
    const { isAlwaysHeld, manifest } = this.#services;
    this.#isWanted = isAlwaysHeld || state?.own !== undefined;
    this.#holder = state?.holder ?? "";
    this.behind = Math.abs((state?.version ?? 0) - manifest.position.version);
  }

  /**
   * Makes of this node what the database says: follows, takes over, hands over, or drops. Resolves with how long nothing can change
   * that matters more than a second; undefined if that is not known.
   */
  async follow(seen: PartitionState | undefined, isNode: () => boolean): Promise<number | undefined> {
    const { manifest, records, leases } = this.#services;
    let state = seen;
    if (!this.#isWanted) {
      if (this.#hasSomething) await this.#drop();
      this.#hasFollowed = false;
      return undefined;
    }
    if (manifest.isOwner && !this.#isSettled) await this.#settle();
    if (manifest.isOwner && this.#isForAnother(state)) {
      // What was seen may be older than that this node has taken it.
      state = await records.state();
      if (this.#isForAnother(state)) {
        await this.#handOver(state.planned);
        state = await records.state();
      }
      this.#holder = state?.holder ?? "";
    }
    const { version, flipId } = manifest.position;
    const isBehind = state !== undefined && (state.version !== version || state.flipId !== flipId);
    // One that this process has, and does not know of, is that of a flip or a claim whose answer was lost.
    const isFree = state === undefined || state.freeInMs < 0 || state.holder === leases.holder;
    const mayClaim = !manifest.isOwner && isNode() && isFree && !this.#isReserved(state);
    // What the bucket lacks would be asked for each second. The failure stays that of the last attempt.
    if ((isBehind || mayClaim) && !this.#followPause.isOver) throw this.#followError;
    try {
      if (isBehind) await manifest.follow();
      this.#hasFollowed = true;
      // Following may have taken long.
      if (mayClaim && isNode() && (await manifest.claim())) {
        this.#isSettled = false;
        await this.#settle();
      }
      this.#followPause.end();
    } catch (error) {
      // Some of it was followed.
      if (manifest.position.version !== version) this.#followPause.end();
      // The database is asked for its state at each look anyway.
      if (!(error instanceof DatabaseError)) this.#followPause.fail();
      this.#followError = error;
      throw error;
    }
    // It is taken as soon as it is free.
    return manifest.isOwner || state === undefined || state.freeInMs < 0 ? undefined : state.freeInMs + 1;
  }

  /** Whether the plan wants another node to own the partition, which can go on at once. */
  #isForAnother(state: PartitionState | undefined): state is PartitionState & { readonly planned: PlannedOwner } {
    return state?.planned?.isReady === true && state.planned.id !== this.#services.nodeId;
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
    log.info({ partition: this.number, to: name }, "the plan of the fleet gives a partition to another node");
    await manifest.release();
    await records.hint();
  }

  async #drop(): Promise<void> {
    const { manifest, log } = this.#services;
    log.info({ partition: this.number }, "the plan of the fleet has no copy of a partition here any more");
    await manifest.drop();
  }

  /** The plan may have had another owner, which has ended. */
  async #settle(): Promise<void> {
    const { records, manifest, nodeId, leases } = this.#services;
    const { epoch } = manifest;
    if (epoch === undefined) return;
    await records.settle(nodeId, { holder: leases.holder, epoch });
    this.#isSettled = true;
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

export function refuseChange(...who: Parameters<typeof sayWhoChanges>): TrawlError {
  return new TrawlError("conflict", sayWhoChanges(...who));
}
