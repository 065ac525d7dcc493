import type { Database, Row, Transaction } from "../database/database.js";

/** Where a partition stands in the database. */
export interface PartitionState {
  readonly version: number;
  readonly flipId: string;
  readonly holder: string;
  readonly epoch: number;
  readonly timeline: number;
  readonly nextRepositoryId: number;
  /** How long somebody has the lease, by the clock of the database; not above 0 if nobody has it. */
  readonly freeInMs: number;
  /** Whether who had it last has given it back, or nobody has had it. */
  readonly isReleased: boolean;
  /** Who should own it by the plan; undefined if it says nothing. */
  readonly planned: PlannedOwner | undefined;
  /** What the plan says of the copy of the node that asks; undefined if it should have none. */
  readonly own: "loading" | "ready" | "leaving" | undefined;
}

/** Where the partitions stand that this node holds or should hold, by partition. */
export type PartitionStates = ReadonlyMap<number, PartitionState>;

/** Asks for the states of these partitions, and of those of which the node should have a copy, in one query. */
export async function heldStates(
  database: Pick<Database, "query">,
  leaseMs: number,
  node: string,
  held: readonly number[],
): Promise<PartitionStates> {
  const rows = await database.query(heldSql, [held, leaseMs, node]);
  return new Map(rows.map((row) => [Number(row["partition"]), toState(row)]));
}

export interface PlannedOwner {
  /** Of the node. */
  readonly id: string;
  readonly name: string;
  /** Whether it was heard of within a lease, follows, and has had all of the partition. */
  readonly isReady: boolean;
}

/** A shard as the database has it; its id is another one on each node. */
export interface SharedShard {
  readonly name: string;
  readonly kind: "text" | "history";
  /** JSON of its record without the id. */
  readonly record: string;
  /** Base64 of the words of its tombstones; null if it has none. */
  readonly tombstones: string | null;
}

export interface SharedRepository {
  readonly id: number;
  readonly name: string;
  /** JSON. */
  readonly record: string;
}

/** A flip as it is stored: the change for those who follow, and the rows that it leaves. */
export interface SharedFlip {
  readonly id: string;
  /** See flip-format.ts. */
  readonly change: string;
  /** JSON of a list of `SharedRepository`. */
  readonly repositories: string;
  readonly removedRepositoryIds: readonly number[];
  /** JSON of a list of `SharedShard`: those that are new or differ. */
  readonly shards: string;
  readonly removedShards: readonly string[];
  readonly nextRepositoryId: number;
}

/** The conditions of a flip: it is refused if the database has another value for any of them. */
export interface Fence {
  readonly holder: string;
  readonly epoch: number;
  readonly timeline: number;
  /** The version before the flip. */
  readonly version: number;
}

export interface LoggedFlip {
  readonly version: number;
  readonly id: string;
  readonly change: string;
}

/** Flips that are read at once. */
const flipsAtOnce = 32;

/** Or fewer, of this size; or one, of any size. */
const flipBytesAtOnce = 2 ** 23;

/** Flips, or shards, that are forgotten by one statement. */
const forgottenAtOnce = 200;

/**
 * All of a flip in one statement, which is one transaction: the first step takes the lock of the partition and checks the fence, and the
 * others do nothing if it does not hold. So a flip costs one way to the database and back.
 */
const flipSql = `with flipped as (
  update partition set version = version + 1, flip_id = $6, next_repository_id = greatest(next_repository_id, $12)
  where id = $1 and holder = $2 and epoch = $3 and version = $4 and current_timeline() = $5 returning version),
logged as (
  insert into flip (partition, version, id, epoch, timeline, change)
  select $1, version, $6, $3, $5, $7 from flipped),
gone_repositories as (
  delete from repository using flipped where partition = $1 and id = any($9::bigint[])),
put_repositories as (
  insert into repository (partition, id, name, record)
  select $1, r.id, r.name, r.record from flipped, json_to_recordset($8::json) as r(id bigint, name text, record text)
  on conflict (partition, id) do update set name = excluded.name, record = excluded.record),
gone_shards as (
  update shard set removed = flipped.version from flipped where partition = $1 and name = any($11::text[]) and removed is null),
put_shards as (
  insert into shard (partition, name, kind, record, tombstones, added)
  select $1, s.name, s.kind, s.record, decode(s.tombstones, 'base64'), flipped.version
  from flipped, json_to_recordset($10::json) as s(name text, kind text, record text, tombstones text)
  on conflict (partition, name) do update
  set kind = excluded.kind, record = excluded.record, tombstones = excluded.tombstones, removed = null)
select version::float8 as version from flipped`;

/** $2 is the length of a lease, and $3 the node that asks. */
const stateSql = `select p.id as partition, p.version::float8 as version, flip_id, holder, epoch::float8 as epoch, current_timeline() as timeline,
  next_repository_id::float8 as next_repository_id, (1000 * extract(epoch from greatest(until, clock_timestamp() - interval '1 s') - clock_timestamp()))::float8 as free_in,
  until = '-infinity' as is_released, n.id as planned, n.name as planned_name, coalesce(c.state = 'ready' and not coalesce(c.failing, n.failure <> '')
    and n.seen > clock_timestamp() - $2 * interval '1 ms' and not coalesce(n.stopped >= n.seen, false), false) as is_ready,
  own.state as own
  from partition p left join node n on n.id = p.owner left join copy c on c.partition = p.id and c.node = n.id
  left join copy own on own.partition = p.id and own.node = $3`;

const onlySql = `${stateSql} where p.id = $1`;

/** Those that a node holds, or should hold. */
const heldSql = `${stateSql} where p.id = any($1::int[]) or own.node is not null`;

/** The manifest of one partition, in the database. */
export class PartitionRecords {
  readonly #database: Database;
  readonly partition: number;
  readonly #leaseMs: number;

  constructor(database: Database, partition: number, leaseMs: number) {
    this.#database = database;
    this.partition = partition;
    this.#leaseMs = leaseMs;
  }

  /** Calls `onHint` soon after each flip, as far as hints come. */
  async listen(onHint: () => void): Promise<void> {
    await this.#database.listen(onHint);
  }

  async state(): Promise<PartitionState | undefined> {
    const [row] = await this.#database.query(onlySql, [this.partition, this.#leaseMs, ""]);
    return row === undefined ? undefined : toState(row);
  }

  /** Makes the node that has taken the partition the one that should own it, so that it goes on when the one before comes back. */
  async settle(node: string, { holder, epoch }: Pick<Fence, "holder" | "epoch">): Promise<void> {
    await this.#database.query(
      "update partition set owner = $2 where id = $1 and holder = $3 and epoch = $4 and owner is distinct from $2",
      [this.partition, node, holder, epoch],
    );
  }

  /** Lets others look at once, as far as hints come. */
  async hint(): Promise<void> {
    await this.#database.hint().catch(() => undefined);
  }

  /** Makes a flip. Resolves with false if the fence has refused it. */
  async flip(fence: Fence, flip: SharedFlip): Promise<boolean> {
    const rows = await this.#database.query(flipSql, [
      this.partition,
      fence.holder,
      fence.epoch,
      fence.version,
      fence.timeline,
      flip.id,
      flip.change,
      flip.repositories,
      flip.removedRepositoryIds,
      flip.shards,
      flip.removedShards,
      flip.nextRepositoryId,
    ]);
    // Who misses it looks within a second.
    if (rows.length > 0) void this.#database.hint().catch(() => undefined);
    return rows.length > 0;
  }

  /**
   * Whether a flip was made whose answer was lost. The epoch is raised first, which waits for a flip that is being made and
   * refuses one that has not arrived yet: so what is answered stays true. The lease has to be claimed anew.
   */
  async wasMade({ holder, epoch }: Fence, flipId: string): Promise<boolean> {
    return this.#database.transaction(async (transaction) => {
      await transaction.query("update partition set epoch = epoch + 1 where id = $1 and holder = $2 and epoch = $3", [
        this.partition,
        holder,
        epoch,
      ]);
      return (await transaction.query("select 1 from flip where id = $1", [flipId])).length > 0;
    });
  }

  /**
   * Some of the flips after a version, in order, the oldest first; undefined if the database does not have them, or if the flip at that version
   * was another one than the one that is named.
   */
  async flipsAfter(version: number, flipId: string): Promise<readonly LoggedFlip[] | undefined> {
    const rows = await this.#database.query(
      `select version::float8 as version, id, change
       from (select *, row_number() over following as number, sum(octet_length(change)) over following as bytes
         from (select version, id, case version when $2 then '' else change end as change
           from flip where partition = $1 and version >= $2 order by version limit $3) one
         window following as (order by version)) counted
       where number <= 2 or bytes <= $4 order by version`,
      [this.partition, version, flipsAtOnce + 1, flipBytesAtOnce],
    );
    const flips = rows.map((row) => ({
      version: Number(row["version"]),
      id: String(row["id"]),
      change: String(row["change"]),
    }));
    if (version === 0) return flips[0] === undefined || flips[0].version === 1 ? flips : undefined;
    return flips[0]?.version === version && flips[0].id === flipId ? flips.slice(1) : undefined;
  }

  /** The whole manifest as of one moment, in parts, after the state that it is of. */
  async snapshot(
    take: (repositories: readonly SharedRepository[], shards: readonly SharedShard[]) => void,
  ): Promise<PartitionState | undefined> {
    return this.#database.transaction(async (transaction) => {
      const [row] = await transaction.query(onlySql, [this.partition, this.#leaseMs, ""]);
      if (row === undefined) return undefined;
      for await (const rows of this.#pages(transaction, repositoryPageSql, 0, "id"))
        take(
          rows.map((one) => ({ id: Number(one["id"]), name: String(one["name"]), record: String(one["record"]) })),
          [],
        );
      for await (const rows of this.#pages(transaction, shardPageSql, "", "name")) take([], rows.map(toShard));
      return toState(row);
    }, true);
  }

  async *#pages(
    transaction: Transaction,
    sql: string,
    start: string | number,
    key: string,
  ): AsyncGenerator<readonly Row[]> {
    for (let last = start; ; ) {
      const rows = await transaction.query(sql, [this.partition, last, pageRows]);
      if (rows.length > 0) yield rows;
      if (rows.length < pageRows) return;
      last = rows[rows.length - 1]?.[key] as string | number;
    }
  }

  /** Forgets some of the flips that are older than this, the oldest ones, like `forget`. Resolves with whether there may be more. */
  async forgetOld(seconds: number): Promise<boolean> {
    const [row] = await this.#database.query(
      `with oldest as (select version, made from flip where partition = $1 order by version limit $3)
       select max(version)::float8 as version, count(*)::int as count from oldest
       where made < clock_timestamp() - $2 * interval '1 s'`,
      [this.partition, seconds, forgottenAtOnce],
    );
    const version = row?.["version"];
    if (typeof version !== "number") return false;
    const forgotten = await this.forget(version);
    return forgotten === forgottenAtOnce;
  }

  /**
   * Forgets flips up to this version, and what no later version has; resolves with how many flips. The last flip is kept: it identifies
   * the version. Nothing is locked that a flip needs for more than a moment.
   */
  async forget(version: number): Promise<number> {
    const state = await this.state();
    const last = Math.min(version, (state?.version ?? 0) - 1);
    const flips = await this.#database.query("delete from flip where partition = $1 and version <= $2 returning 1", [
      this.partition,
      last,
    ]);
    for (let count = forgottenAtOnce; count === forgottenAtOnce; ) {
      const shards = await this.#database.query(
        `delete from shard where partition = $1 and removed <= $2 and name in
         (select name from shard where partition = $1 and removed <= $2 limit $3) returning 1`,
        [this.partition, last, forgottenAtOnce],
      );
      count = shards.length;
    }
    return flips.length;
  }
}

/** A page is read and parsed in about a millisecond. */
const pageRows = 500;

const repositoryPageSql = `select id::float8 as id, name, record from repository
  where partition = $1 and id > $2 order by id limit $3`;

const shardPageSql = `select name, kind, record, encode(tombstones, 'base64') as tombstones from shard
  where partition = $1 and name > $2 and removed is null order by name limit $3`;

function toState(row: Row): PartitionState {
  return {
    version: Number(row["version"]),
    flipId: String(row["flip_id"]),
    holder: String(row["holder"]),
    epoch: Number(row["epoch"]),
    timeline: Number(row["timeline"]),
    nextRepositoryId: Number(row["next_repository_id"]),
    freeInMs: Number(row["free_in"]),
    isReleased: row["is_released"] === true,
    planned:
      typeof row["planned"] === "string"
        ? { id: row["planned"], name: String(row["planned_name"]), isReady: row["is_ready"] === true }
        : undefined,
    own: typeof row["own"] === "string" ? (row["own"] as PartitionState["own"]) : undefined,
  };
}

function toShard(row: Row): SharedShard {
  const { tombstones } = row;
  return {
    name: String(row["name"]),
    kind: row["kind"] === "history" ? "history" : "text",
    record: String(row["record"]),
    tombstones: typeof tombstones === "string" ? tombstones : null,
  };
}
