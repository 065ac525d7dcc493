import { randomUUID } from "node:crypto";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { Catalog } from "../catalog/catalog.js";
import type { Manifest } from "../catalog/manifest.js";
import { Database, type DatabaseSettings } from "../database/database.js";
import { Leases } from "../database/leases.js";
import { migrate } from "../database/migrations.js";
import { schema } from "../database/schema.js";
import { FleetRecords } from "./fleet-records.js";
import { type DirectoryIdentity, writeIdentityFile } from "./node-identity.js";
import { ObjectShards, type ObjectTaskServices } from "./node-shards.js";
import { heldStates, PartitionRecords } from "./partition-records.js";
import { PartitionedManifest } from "./partitioned-manifest.js";
import { Placement } from "./placement.js";
import type { HoldingNode } from "../search/fleet/partition-nodes.js";
import { PlanRecords } from "./plan-records.js";
import { Replica } from "./replica.js";
import { liveByPartition, SharedManifest } from "./shared-manifest.js";

/** How a node reaches the database of its fleet. */
export type DatabaseOptions = Pick<DatabaseSettings, "address" | "password" | "authority">;

export interface SharedIndexServices extends ObjectTaskServices {
  readonly database: DatabaseOptions;
  readonly dataFolder: string;
  readonly identity: DirectoryIdentity;
  /** The option `fleet.id`. */
  readonly fleetName: string;
  readonly program: string;
  readonly leaseMs: number;
  /** Where other nodes reach this one; "" if they need not. */
  readonly address?: () => string;
  /** Called once a second with all nodes and what they hold; absent where nodes do not ask one another. */
  readonly onHolders?: ((nodes: readonly HoldingNode[]) => void) | undefined;
  readonly catalog: Catalog;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** One query of each node per second, which finds one row: hints come sooner, and may be lost. */
const pollMs = 1_000;

/** Between two plans, which are the same unless something has happened. */
const planMs = 2_000;

/** The codes of errors that a database may have for a while. */
const passing: ReadonlySet<string> = new Set(["storage", "overloaded", "shutting-down"]);

/** Connections with the limits of a daemon. */
export function openDatabase(options: DatabaseOptions, name: string, seen: DatabaseSettings["seen"]): Database {
  return new Database({
    ...options,
    schema: "trawl",
    name,
    connectionsMax: 4,
    waitingMax: 1_000,
    connectMs: 5_000,
    statementMs: 30_000,
    answerMs: 35_000,
    seen,
  });
}

/** The index that the nodes of a fleet share, at one of them. */
export class SharedIndex {
  readonly #services: SharedIndexServices;
  readonly #database: Database;
  readonly #fleet: FleetRecords;
  #isPrepared = false;
  readonly manifest: Manifest;
  readonly replica: Replica;
  readonly placement: Placement;
  /** Damaged shards are brought again by it, whatever partition they are of. */
  readonly shards: ObjectShards;

  /** Caller guarantees: the catalog is loaded. */
  constructor(services: SharedIndexServices) {
    const { database, identity, catalog, log, leaseMs, program, metrics } = services;
    this.#services = services;
    this.#database = openDatabase(database, identity.name, identity.seen);
    this.#database.onTakenOver = (seen) => {
      log.warn(seen, "another server has taken over the database");
      void this.#remember();
    };
    this.#fleet = new FleetRecords(this.#database);
    const holder = `${identity.name}/${randomUUID()}`;
    const leases = new Leases(this.#database, "partition", holder, leaseMs);
    requireNoOtherIndex(catalog);
    this.shards = new ObjectShards(services);
    const liveShards = liveByPartition(catalog);
    const partitions = Array.from({ length: catalog.partitions.count }, (_, partition) => {
      const records = new PartitionRecords(this.#database, partition, leaseMs);
      const live = liveShards.get(partition) ?? [];
      // Each keeps what it has brought until its own flip is made.
      const shards = new ObjectShards(services);
      return { records, manifest: new SharedManifest({ catalog, live, records, leases, shards, log }) };
    });
    const [first] = partitions;
    this.manifest =
      partitions.length === 1
        ? first.manifest
        : new PartitionedManifest(
            catalog,
            partitions.map(({ manifest }) => manifest),
          );
    const plans = new PlanRecords(this.#database);
    const nameLeases = new Leases(this.#database, "lease", holder, leaseMs);
    this.replica = new Replica({
      partitions,
      states: async (held) => {
        await this.#lookAtHolders(plans);
        return heldStates(this.#database, leaseMs, identity.node, held);
      },
      listen: (onHint) => first.records.listen(onHint),
      hint: () => first.records.hint(),
      leases,
      nameLeases,
      fleet: this.#fleet,
      prepare: () => this.#prepare(),
      node: { id: identity.node, program, address: services.address ?? (() => "") },
      leaseMs,
      pollMs,
      log,
      metrics,
    });
    this.placement = new Placement({
      records: plans,
      leases: nameLeases,
      node: this.replica,
      nodeId: identity.node,
      catalog,
      leaseMs,
      pauseMs: Math.min(planMs, leaseMs),
      log,
    });
  }

  async #lookAtHolders(plans: PlanRecords): Promise<void> {
    const { onHolders } = this.#services;
    if (onHolders !== undefined) onHolders(await plans.holders());
  }

  /** Begins to follow, and to take part in the planning. */
  start(): void {
    this.replica.start();
    this.placement.start();
  }

  /**
   * Looks whether the database is that of the fleet. Throws `conflict`, `bad-config` or `format-version` if the daemon should not start; a
   * database that does not answer is no reason: it is looked at again before anything of it is followed.
   */
  async check(): Promise<void> {
    const { log } = this.#services;
    try {
      await this.#prepare();
    } catch (error) {
      if (error instanceof TrawlError && !passing.has(error.code)) throw error;
      log.warn(
        { error: errorMessage(error) },
        "the database of the fleet cannot be asked: the index is searched as it is here",
      );
    }
  }

  /** Once, when the database answers. */
  async #prepare(): Promise<void> {
    if (this.#isPrepared) return;
    const { identity, fleetName, log } = this.#services;
    await migrate(this.#database, schema);
    const { id, partitions } = await this.#fleet.require(fleetName);
    if (id !== identity.fleet)
      throw new TrawlError(
        "conflict",
        "the data directory is that of a node of another fleet with the same name: use an empty one, and `trawl fleet join`",
      );
    const { count } = this.#services.catalog.partitions;
    if (partitions !== count)
      throw new TrawlError(
        "conflict",
        `the fleet has ${partitions} partitions, and the data directory is that of a node of one with ${count}: use an empty one, and \`trawl fleet join\``,
      );
    await this.#remember();
    const { isSynchronous, standbyCount } = await this.#fleet.server();
    if (standbyCount > 0 && !isSynchronous)
      log.warn(
        "the database has a standby that is not synchronous: if it takes over, changes may be lost that were confirmed",
      );
    this.#isPrepared = true;
  }

  /** Writes down which database this node has seen, so that it never follows an earlier one after a new start. */
  async #remember(): Promise<void> {
    const { dataFolder, identity, log } = this.#services;
    const seen = this.#database.timeline;
    await writeIdentityFile(dataFolder, { ...identity, seen }).catch((error: unknown) =>
      log.error({ error: errorMessage(error) }, "which database was seen could not be written down"),
    );
  }

  async close(): Promise<void> {
    await Promise.all([this.placement.close(), this.replica.close()]);
    await this.#database.close();
  }
}

/** An index that a single host has made has no names that other nodes know. */
function requireNoOtherIndex(catalog: Catalog): void {
  const records = [...catalog.shards().map(({ record }) => record), ...catalog.historyShards()];
  if (
    records.some(({ object }) => object === undefined) ||
    [...catalog.repositories()].some(({ id }) => catalog.positionIn(catalog.partitions.find(id)).version === 0)
  )
    throw new TrawlError(
      "conflict",
      "the data directory has an index that was made without a fleet: use an empty one, and `trawl fleet join`",
    );
}
