import { TrawlError } from "../base/errors.js";
import type { Database, Row } from "../database/database.js";
import type { HoldingNode } from "../search/fleet/partition-nodes.js";
import { nameHolder } from "./held-partition.js";
import type { FleetPlan, PlanChange, PlannedCopy, PlannedNode, PlannedPartition } from "./planner.js";

/** What a plan is computed from, as of one moment. */
export interface PlanInput {
  /** How many plans have been written. */
  readonly version: number;
  readonly nodes: readonly PlannedNode[];
  readonly partitions: readonly PlannedPartition[];
  /** How many copies each partition should have; 0 for one at each node. */
  readonly copies: number;
  /** What the last plan said. */
  readonly refusal: string;
  readonly withoutRoom: number;
}

/** The conditions of a plan: it is refused if the database has another value for any of them. */
export interface PlanFence {
  /** Of the lease by this name. */
  readonly lease: string;
  readonly holder: string;
  readonly epoch: number;
  readonly timeline: number;
  /** Of the plans that it was computed from. */
  readonly version: number;
}

/** What a node has of a partition. */
export interface CopyReport {
  readonly partition: number;
  readonly version: number;
  readonly byteCount: number;
  /** Whether it has had all that the database has of it, at a moment since its start. */
  readonly hasAll: boolean;
  /** Whether it could not be followed, or taken over, at the last attempt. */
  readonly isFailing: boolean;
}

/** A partition, as the status of the fleet shows it. */
export interface PartitionPlace {
  readonly id: number;
  readonly version: number;
  /** The node that changes it, and the one that should by the plan; "" for none. */
  readonly owner: string;
  readonly planned: string;
  readonly copies: readonly (Omit<PlannedCopy, "isFailing"> & { readonly version: number })[];
}

/** A node that has not been heard of for so many lengths of a lease is taken for one that does not run. */
export const aliveLeases = 3;

/** More are not planned for. */
const nodesMax = 1_000;
const copiesMax = 100_000;

/** Nodes do not tell what they can hold, so each may hold as much as the others. */
const capacityBytes = 2 ** 50;

/**
 * All of a plan in one statement, like a flip: the first step locks the lease, so that it waits for who claims it at this moment, and the
 * others do nothing if it is over. A change that does not fit any more, because a node was removed or has taken a partition
 * since the plan was computed, is left out; the next plan is computed from what there is then.
 */
const writeSql = `with held as (
  select 1 from lease where name = $1 and holder = $2 and epoch = $3 and current_timeline() = $4 for update),
planned as (
  update plan set version = version + 1, refusal = $6, without_room = $7
  where version = $5 and exists (select from held) returning version),
wanted as (
  select w.kind, w.partition, n.id as node
  from planned, json_to_recordset($8::json) as w(kind text, partition int, node text) join node n on n.name = w.node),
loaded as (
  insert into copy (partition, node, state) select partition, node, 'loading' from wanted where kind = 'load'
  on conflict do nothing),
changed as (
  update copy c set state = case w.kind when 'leave' then 'leaving' else 'ready' end from wanted w
  where c.partition = w.partition and c.node = w.node
  and ((w.kind = 'leave' and c.state = 'ready') or (w.kind = 'keep' and c.state = 'leaving'))),
dropped as (
  delete from copy c using wanted w where w.kind = 'drop' and c.partition = w.partition and c.node = w.node),
owned as (
  update partition p set owner = w.node
  from wanted w join json_to_recordset($9::json) as b(id int, owner text) on b.id = w.partition
  where w.kind = 'own' and p.id = w.partition
  and coalesce((select name from node where id = p.owner), '') = b.owner)
select version::float8 as version from planned`;

/**
 * The plan of a fleet in the database: which node should own each partition, and where its copies should be. One node writes it at a
 * time; each node writes what it has itself.
 */
export class PlanRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * What there is, for the planner. A node that was not heard of for some lengths of a lease, or has stopped, is missing. One that drains
   * and is not heard of has gone for good, as far as its copies are concerned; one that never ran has none.
   */
  async read(leaseMs: number): Promise<PlanInput> {
    return this.#database.transaction(async (transaction) => {
      const [plan] = await transaction.query("select version::float8 as version, refusal, without_room from plan");
      const [fleet] = await transaction.query("select copies from fleet");
      const nodes = await transaction.query(
        `select name, is_draining, coalesce(stopped >= seen, false) as is_stopped,
         extract(epoch from clock_timestamp() - seen)::float8 as silent
         from node where seen is not null order by name limit $1`,
        [nodesMax + 1],
      );
      const copies = await transaction.query(
        `select c.partition, n.name as node, c.state, c.bytes::float8 as bytes, coalesce(c.failing, false) as failing
         from copy c join node n on n.id = c.node where n.seen is not null order by c.partition, n.name limit $1`,
        [copiesMax + 1],
      );
      // A plan of some of them would make copies that are there.
      if (nodes.length > nodesMax || copies.length > copiesMax)
        throw new TrawlError("storage", `the fleet has more than ${nodesMax} nodes, or ${copiesMax} copies`);
      const partitions = await transaction.query(
        "select p.id, coalesce(n.name, '') as owner from partition p left join node n on n.id = p.owner order by p.id",
      );
      return {
        version: Number(plan?.["version"]),
        nodes: nodes.map((row) => toNode(row, leaseMs)),
        partitions: toPartitions(partitions, copies),
        copies: Number(fleet?.["copies"] ?? 0),
        refusal: String(plan?.["refusal"]),
        withoutRoom: Number(plan?.["without_room"]),
      };
    }, true);
  }

  /** Where each partition is, for people. */
  async places(): Promise<readonly PartitionPlace[]> {
    const rows = await this.#database.query(
      `select p.id, p.version::float8 as version, case when p.until > clock_timestamp() then p.holder else '' end as holder,
       coalesce(o.name, '') as planned,
       coalesce(json_agg(json_build_object('node', n.name, 'state', c.state, 'version', c.version) order by n.name)
         filter (where n.name is not null), '[]')::text as copies
       from partition p left join node o on o.id = p.owner left join copy c on c.partition = p.id left join node n on n.id = c.node
       group by p.id, o.name order by p.id`,
    );
    return rows.map((row) => ({
      id: Number(row["id"]),
      version: Number(row["version"]),
      owner: nameHolder(String(row["holder"])),
      planned: String(row["planned"]),
      copies: JSON.parse(String(row["copies"])) as PartitionPlace["copies"],
    }));
  }

  /** All nodes, with where they are reached, and of which partitions they have copies that answer searches. */
  async holders(): Promise<readonly HoldingNode[]> {
    const rows = await this.#database.query(
      `with held as (
         select split_part(holder, '/', 1) as name, array_agg(id order by id) as owned
         from partition where until > clock_timestamp() group by 1)
       select n.name, n.address, coalesce(array_agg(c.partition order by c.partition) filter (where c.state <> 'loading'), '{}') as partitions,
         coalesce(h.owned, '{}') as owned
       from node n left join copy c on c.node = n.id left join held h on h.name = n.name
       group by n.id, h.owned order by n.name limit $1`,
      [nodesMax],
    );
    return rows.map((row) => ({
      name: String(row["name"]),
      address: String(row["address"]),
      partitions: toNumbers(row["partitions"]),
      owned: toNumbers(row["owned"]),
    }));
  }

  /** Makes the rows of partitions that nobody has owned yet. */
  async makePartitions(count: number): Promise<void> {
    await this.#database.query(
      "insert into partition (id) select id from generate_series(0, $1::int - 1) as id on conflict do nothing",
      [count],
    );
  }

  /** Writes a plan. Resolves with false if the fence has refused it. */
  async write(fence: PlanFence, plan: FleetPlan, partitions: readonly PlannedPartition[]): Promise<boolean> {
    const owned = new Set(plan.changes.filter(({ kind }) => kind === "own").map(({ partition }) => partition));
    const before = partitions.filter(({ id }) => owned.has(id)).map(({ id, owner }) => ({ id, owner }));
    const rows = await this.#database.query(writeSql, [
      fence.lease,
      fence.holder,
      fence.epoch,
      fence.timeline,
      fence.version,
      plan.refusal.slice(0, refusalCharactersMax),
      plan.withoutRoom,
      JSON.stringify(plan.changes satisfies readonly PlanChange[]),
      JSON.stringify(before),
    ]);
    // Who misses it looks within a second.
    if (rows.length > 0 && plan.changes.length > 0) void this.#database.hint().catch(() => undefined);
    return rows.length > 0;
  }

  /** Writes what a node has. Its copies answer from when they have had everything; those that it should not have get no row. */
  async report(node: string, copies: readonly CopyReport[]): Promise<void> {
    if (copies.length === 0) return;
    await this.#database.query(
      `update copy c set version = r.version, bytes = r."byteCount", failing = r."isFailing",
       state = case when c.state = 'loading' and r."hasAll" then 'ready' else c.state end
       from json_to_recordset($2::json) as r(partition int, version bigint, "byteCount" bigint, "hasAll" boolean, "isFailing" boolean)
       where c.node = $1 and c.partition = r.partition and (c.version, c.bytes, c.failing, c.state = 'loading' and r."hasAll")
       is distinct from (r.version, r."byteCount", r."isFailing", false)`,
      [node, JSON.stringify(copies)],
    );
  }

  /**
   * Lets a node be emptied, or be used again. Resolves with false if there is no such node. A copy that is leaving because of it is
   * kept, if it is still there, by the next plan.
   */
  async drain(name: string, isDraining: boolean): Promise<boolean> {
    const rows = await this.#database.query("update node set is_draining = $2 where name = $1 returning 1", [
      name,
      isDraining,
    ]);
    if (rows.length > 0) void this.#database.hint().catch(() => undefined);
    return rows.length > 0;
  }
}

function toNumbers(value: unknown): readonly number[] {
  return Array.isArray(value) ? value.map(Number) : [];
}

/** Of the reason why nothing is planned. */
const refusalCharactersMax = 1_000;

function toNode(row: Row, leaseMs: number): PlannedNode {
  const silentSeconds = Math.max(0, Number(row["silent"]));
  const isMissing = row["is_stopped"] === true || silentSeconds * 1000 > aliveLeases * leaseMs;
  const isDraining = row["is_draining"] === true;
  return {
    name: String(row["name"]),
    zone: "",
    state: isMissing ? (isDraining ? "expelled" : "missing") : isDraining ? "draining" : "present",
    missingSeconds: isMissing ? silentSeconds : 0,
    isHeard: !isMissing && silentSeconds * 1000 <= leaseMs,
    holds: true,
    owns: true,
    capacityBytes,
  };
}

function toPartitions(partitions: readonly Row[], copies: readonly Row[]): readonly PlannedPartition[] {
  const found = new Map<number, { byteCount: number; copies: PlannedCopy[] }>();
  for (const { partition, node, state, bytes, failing } of copies) {
    const held = found.get(Number(partition)) ?? { byteCount: 0, copies: [] };
    found.set(Number(partition), held);
    held.copies.push({ node: String(node), state: state as PlannedCopy["state"], isFailing: failing === true });
    held.byteCount = Math.max(held.byteCount, Number(bytes));
  }
  return partitions.map((row) => {
    const id = Number(row["id"]);
    return { id, owner: String(row["owner"]), ...(found.get(id) ?? { byteCount: 0, copies: [] }) };
  });
}
