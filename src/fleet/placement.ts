import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { eachInSteps, resultWhileYielding } from "../base/yielding.js";
import type { Catalog } from "../catalog/catalog.js";
import type { Lease, Leases } from "../database/leases.js";
import type { CopyReport, PlanInput, PlanRecords } from "./plan-records.js";
import { type FleetPlan, planFleet } from "./planner.js";

export interface PlacementServices {
  readonly records: PlanRecords;
  /** Of the table of names. */
  readonly leases: Leases;
  readonly node: {
    /** Whether this process is the node, and in the fleet. */
    readonly isNode: boolean;
    /** The partitions of which it has had all that the database had at a moment since its start. */
    readonly followed: readonly number[];
    /** Those that could not be followed at the last attempt. */
    readonly failing: readonly number[];
  };
  readonly nodeId: string;
  readonly catalog: Pick<Catalog, "positionIn" | "partitions" | "version" | "shards" | "historyShards">;
  readonly leaseMs: number;
  /** Between two rounds. */
  readonly pauseMs: number;
  readonly log: Log;
}

/** The lease of the node that plans. */
const leaseName = "planner";

/** What the plan is made with, beside the number of copies. */
const planOptions = { loadsMax: 4, replaceAfterSeconds: 600 };

/**
 * This node's part in deciding where partitions are: it tells what it has, and plans for all nodes while it has the lease for that. A plan is
 * computed from what the database has and from nothing else, so whoever has the lease goes on where the one before stopped.
 */
export class Placement {
  readonly #services: PlacementServices;
  #call: PendingCall | undefined;
  /** Settles when the running round ends. */
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;
  #lease: Lease | undefined;
  /** Of the copies of this node, by partition, at a version of the catalog. */
  #sizes: { readonly version: number; readonly byteCounts: ReadonlyMap<number, number> } = {
    version: -1,
    byteCounts: new Map(),
  };
  /** What was last logged; "" while it succeeds. */
  #failure = "";

  constructor(services: PlacementServices) {
    this.#services = services;
  }

  start(): void {
    this.#again(0);
  }

  #again(delayMs: number): void {
    if (this.#isClosed) return;
    this.#call = callAfter(delayMs, () => {
      this.#running = this.#round()
        .then(() => void (this.#failure = ""))
        .catch((error: unknown) => this.#fail(error))
        .finally(() => this.#again(this.#services.pauseMs));
    });
  }

  /** Each round tries all of it again. */
  #fail(error: unknown): void {
    const message = errorMessage(error);
    if (message === this.#failure || this.#isClosed) return;
    this.#failure = message;
    this.#services.log.warn({ error: message }, "this node cannot take part in placing the partitions of the fleet");
  }

  async #round(): Promise<void> {
    const { node } = this.#services;
    // Either nothing is known of the database yet, or this node was replaced: then others plan, once the lease is given back.
    if (!node.isNode) return this.#release();
    await this.#report();
    if (await this.#mayPlan()) await this.#plan();
  }

  async #report(): Promise<void> {
    const { records, nodeId, catalog, node } = this.#services;
    // Asked first: what is there then has all of it.
    const followed = new Set(node.followed);
    const failing = new Set(node.failing);
    const { count } = catalog.partitions;
    const versions = Array.from({ length: count }, (_, partition) => catalog.positionIn(partition).version);
    const byteCounts = await this.#measure();
    const reports = versions.flatMap((version, partition): CopyReport[] => {
      const hasAll = followed.has(partition);
      const isFailing = failing.has(partition);
      if (version === 0 && !hasAll && !isFailing) return [];
      return [{ partition, version, byteCount: byteCounts.get(partition) ?? 0, hasAll, isFailing }];
    });
    await records.report(nodeId, reports);
  }

  /** Counts again only if something has changed, because there may be very many. */
  async #measure(): Promise<ReadonlyMap<number, number>> {
    const { catalog } = this.#services;
    const { version } = catalog;
    if (this.#sizes.version === version) return this.#sizes.byteCounts;
    const byteCounts = new Map<number, number>();
    const add = (repositoryId: number, byteCount: number): void => {
      const partition = catalog.partitions.find(repositoryId);
      byteCounts.set(partition, (byteCounts.get(partition) ?? 0) + byteCount);
    };
    const texts = catalog.shards().map(({ record }) => record);
    await resultWhileYielding(
      eachInSteps(texts, ({ repositoryIds, storedBytes }) => {
        const first = repositoryIds.find((id) => id !== 0);
        if (first !== undefined) add(first, storedBytes);
      }),
    );
    const histories = [...catalog.historyShards()];
    await resultWhileYielding(
      eachInSteps(histories, ({ repositoryId, storedBytes }) => add(repositoryId, storedBytes)),
    );
    this.#sizes = { version, byteCounts };
    return byteCounts;
  }

  async #mayPlan(): Promise<boolean> {
    const { leases } = this.#services;
    if (this.#lease === undefined || !leases.holds(this.#lease)) this.#lease = await leases.claim(leaseName);
    return this.#lease !== undefined;
  }

  async #plan(): Promise<void> {
    const { records, leases, catalog, leaseMs, log } = this.#services;
    const lease = this.#lease;
    if (lease === undefined) return;
    await records.makePartitions(catalog.partitions.count);
    const input = await records.read(leaseMs);
    // Each node has a copy of everything, unless the fleet was made with fewer.
    const options = { ...planOptions, copies: input.copies || Math.max(1, input.nodes.length) };
    const plan = await resultWhileYielding(planFleet(input.nodes, input.partitions, options));
    if (!isNews(plan, input) || this.#isClosed) return;
    const { epoch, timeline } = lease;
    const fence = { lease: leaseName, holder: leases.holder, epoch, timeline, version: input.version };
    const isWritten = await records.write(fence, plan, input.partitions);
    if (!isWritten) {
      // Another node plans, or a copy has taken over the database: the next round claims it anew, if it can.
      leases.forget(lease);
      this.#lease = undefined;
      return;
    }
    if (plan.refusal !== "" && plan.refusal !== input.refusal)
      log.warn({ reason: plan.refusal }, "the owners and copies of partitions stay as they are");
    for (const { kind, partition: id, node } of plan.changes)
      if (kind === "own") log.info({ partition: id, node }, "the plan of the fleet has another owner");
  }

  /** Lets another node plan at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#call?.cancel();
    await this.#running;
    await this.#release().catch(() => undefined);
  }

  async #release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    if (lease !== undefined) await this.#services.leases.release(lease);
  }
}

function isNews({ changes, refusal, withoutRoom }: FleetPlan, before: PlanInput): boolean {
  return changes.length > 0 || refusal !== before.refusal || withoutRoom !== before.withoutRoom;
}
