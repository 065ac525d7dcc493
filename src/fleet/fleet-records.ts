import { randomUUID } from "node:crypto";
import { TrawlError } from "../base/errors.js";
import type { Position } from "../catalog/catalog-records.js";
import { type Database, DatabaseError, type Row } from "../database/database.js";
import type { SharedRepository, SharedShard } from "./partition-records.js";

/** The fleet that a database belongs to. */
export interface FleetRecord {
  /** A UUID, made with the fleet. */
  readonly id: string;
  readonly name: string;
  /** How many partitions it has, for ever. */
  readonly partitions: number;
  /** How many copies each of them should have; 0 for one at each node. */
  readonly copies: number;
}

/** A node as it has told of itself. */
export interface NodeRecord {
  /** A UUID, made when it joined; its data directory has it. */
  readonly id: string;
  readonly name: string;
  /** Of the program that it runs; "" before it has started. */
  readonly program: string;
  /** How many flips its copy has. */
  readonly version: number;
  /** Seconds since it was heard of; undefined before it has started. */
  readonly silentSeconds: number | undefined;
  /** Why it does not follow; "" if it does. */
  readonly failure: string;
  /** Whether it has stopped, and said so. */
  readonly isStopped: boolean;
  /** Whether it is to be emptied. */
  readonly isDraining: boolean;
}

/** What of the server an operator should know. */
export interface ServerRecord {
  readonly timeline: number;
  readonly standbyCount: number;
  /** Whether each confirmed change is on a standby, too. */
  readonly isSynchronous: boolean;
}

/** What is decided when a fleet is made; what is absent stays, or is the usual. */
export type FleetShape = Partial<Pick<FleetRecord, "partitions" | "copies">>;

/** An index that becomes that of a new fleet, as it is at one moment. Its rows are read once, some at a time. */
export interface ImportedIndex {
  readonly position: Position;
  readonly nextRepositoryId: number;
  readonly repositories: Iterable<SharedRepository>;
  readonly shards: Iterable<SharedShard>;
}

/** Rows that are written by one statement. */
const importedAtOnce = 500;

/** The migration from which on a fleet may have several partitions. */
const partitionsMigration = 5;

/** Of the reason why a node does not follow, which it tells the others. */
const failureCharactersMax = 500;

/** The fleet and its nodes, in the database. */
export class FleetRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Undefined before `trawl fleet init`. */
  async fleet(): Promise<FleetRecord | undefined> {
    const [row] = await this.#database
      .query("select id, name, partitions, copies from fleet")
      .catch((error: unknown) => {
        // There is no such table, or no such schema.
        if (error instanceof DatabaseError && /^(?:42P01|3F000)$/.test(error.sqlState)) return [];
        throw error;
      });
    return row === undefined
      ? undefined
      : {
          id: String(row["id"]),
          name: String(row["name"]),
          partitions: Number(row["partitions"]),
          copies: Number(row["copies"]),
        };
  }

  /**
   * Makes the fleet, unless there is one, with one partition and a copy of it at each node if nothing else is wanted. If there is one, the number of
   * copies is changed, if one is given. Throws `conflict` if it has another name, or another number of partitions, and `bad-config` for copies of
   * the only one. Programs that know only one partition must not use the database of a fleet with several.
   */
  async init(name: string, { partitions, copies }: FleetShape = {}): Promise<FleetRecord> {
    const before = await this.fleet();
    const count = partitions ?? before?.partitions ?? 1;
    if (copies !== undefined && copies > 0 && count === 1)
      throw new TrawlError(
        "bad-config",
        "an index that is not divided has a copy at each node: give --partitions, too",
      );
    await this.#database.transaction(async (transaction) => {
      const made = await transaction.query(
        "insert into fleet (id, name, partitions, copies) values ($1, $2, $3, $4) on conflict do nothing returning 1",
        [randomUUID(), name, count, copies ?? 0],
      );
      if (made.length > 0 && count > 1)
        await transaction.query("update migration set needed_from = number where number = $1", [partitionsMigration]);
    });
    const fleet = await this.require(name);
    if (fleet.partitions !== count)
      throw new TrawlError(
        "conflict",
        `the fleet ${name} has ${fleet.partitions} partitions, which is for ever: ${count} are possible only for a new fleet`,
      );
    if (copies === undefined || copies === fleet.copies) return fleet;
    await this.#database.query("update fleet set copies = $1", [copies]);
    return { ...fleet, copies };
  }

  /** The fleet, which must have this name. */
  async require(name: string): Promise<FleetRecord> {
    const fleet = await this.fleet();
    if (fleet === undefined)
      throw new TrawlError("conflict", "the database has no fleet yet: make it with `trawl fleet init`");
    if (fleet.name !== name)
      throw new TrawlError(
        "conflict",
        `the database is that of the fleet ${JSON.stringify(fleet.name)}, and fleet.id is ${JSON.stringify(name)}: see fleet.database and fleet.id`,
      );
    return fleet;
  }

  /**
   * Makes the fleet with one partition, which has this index, and its first node; all of it or nothing. What an earlier attempt for the same node
   * has made of the same index stays, and is made anew if that node has never run. Throws `conflict` if the database has anything else.
   */
  async import(
    name: string,
    node: { readonly id: string; readonly name: string },
    index: ImportedIndex,
  ): Promise<FleetRecord> {
    const { position, nextRepositoryId, repositories, shards } = index;
    await this.#database.transaction(async (transaction) => {
      await transaction.query("insert into fleet (id, name) values ($1, $2) on conflict do nothing", [
        randomUUID(),
        name,
      ]);
      // Another import waits here.
      const [found] = await transaction.query("select name, partitions from fleet for update");
      const members = await transaction.query(
        "select id, name, seen is null as is_new from node order by name limit 2",
      );
      const parts = await transaction.query("select flip_id, epoch = 0 as is_new from partition order by id limit 2");
      const [first] = members;
      const [partition] = parts;
      const isAlone = found?.["name"] === name && found["partitions"] === 1 && members.length <= 1 && parts.length <= 1;
      const isOurs = isAlone && first?.["id"] === node.id && first["name"] === node.name;
      if (isOurs && partition?.["flip_id"] === position.flipId) return;
      const isUnused = (first === undefined || (isOurs && first["is_new"] === true)) && partition?.["is_new"] !== false;
      if (!isAlone || !isUnused)
        throw new TrawlError(
          "conflict",
          "the database has a fleet already, with another index: use an empty one, or `trawl fleet join` with an empty data directory",
        );
      // An earlier import ended before the directory knew of it, and the single host went on: nobody has used what it made.
      for (const table of ["flip", "shard", "repository", "partition", "node"])
        await transaction.query(`delete from ${table}`);
      await transaction.query("insert into node (id, name) values ($1, $2)", [node.id, node.name]);
      await transaction.query(
        "insert into partition (id, version, flip_id, next_repository_id) values (0, $1, $2, $3)",
        [position.version, position.flipId, nextRepositoryId],
      );
      // The log needs the flip of this version. Nobody follows it: who has no copy misses those before it, and reads the manifest.
      await transaction.query(
        `insert into flip (partition, version, id, epoch, timeline, change) values (0, $1, $2, 0, current_timeline(), '')`,
        [position.version, position.flipId],
      );
      for (const rows of inParts(repositories))
        await transaction.query(
          `insert into repository (partition, id, name, record)
           select 0, r.id, r.name, r.record from json_to_recordset($1::json) as r(id bigint, name text, record text)`,
          [rows],
        );
      for (const rows of inParts(shards))
        await transaction.query(
          `insert into shard (partition, name, kind, record, tombstones, added)
           select 0, s.name, s.kind, s.record, decode(s.tombstones, 'base64'), $2
           from json_to_recordset($1::json) as s(name text, kind text, record text, tombstones text)`,
          [rows, position.version],
        );
    });
    return await this.require(name);
  }

  /** Adds a node. Throws `conflict` if there is one with this name, unless it is to be replaced and was not heard of for a while. */
  async join(id: string, name: string, replaces: boolean, aliveMs: number): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      const [row] = await transaction.query(
        `select (seen > clock_timestamp() - $2 * interval '1 ms') as is_alive from node where name = $1 for update`,
        [name, aliveMs],
      );
      if (row !== undefined) {
        if (row["is_alive"] === true)
          throw new TrawlError("conflict", `a node ${name} runs: give this one another name, or stop that one`);
        if (!replaces)
          throw new TrawlError(
            "conflict",
            `a node ${name} has joined with another data directory: use that one, give this node another name, or replace it with --replace`,
          );
        await transaction.query("delete from node where name = $1", [name]);
      }
      await transaction.query("insert into node (id, name) values ($1, $2)", [id, name]);
    });
  }

  /** Removes a node, with all that is planned for it. What it holds ends by itself. */
  async leave(id: string): Promise<void> {
    await this.#database.query("delete from node where id = $1", [id]);
  }

  /** Tells of this node. Resolves with false if it is not in the fleet any more. `address` is where others reach it, "" if they need not. */
  async beat(id: string, program: string, version: number, failure: string, address = ""): Promise<boolean> {
    const rows = await this.#database.query(
      `update node set seen = clock_timestamp(), program = $2, version = $3, failure = $4, address = $5 where id = $1 returning 1`,
      [id, program, version, failure.slice(0, failureCharactersMax), address],
    );
    return rows.length > 0;
  }

  /** Tells that this node stops: what it should own is free for others at once. */
  async stop(id: string): Promise<void> {
    await this.#database.query("update node set stopped = clock_timestamp() where id = $1", [id]);
  }

  async nodes(): Promise<readonly NodeRecord[]> {
    const rows = await this.#database.query(
      `select id, name, program, version::float8 as version, failure, is_draining,
       coalesce(stopped >= seen, false) as is_stopped, extract(epoch from clock_timestamp() - seen)::float8 as silent from node order by name limit 1000`,
    );
    return rows.map((row: Row) => ({
      id: String(row["id"]),
      name: String(row["name"]),
      program: String(row["program"]),
      version: Number(row["version"]),
      failure: String(row["failure"]),
      isStopped: row["is_stopped"] === true,
      isDraining: row["is_draining"] === true,
      silentSeconds: typeof row["silent"] === "number" ? Math.max(0, row["silent"]) : undefined,
    }));
  }

  async server(): Promise<ServerRecord> {
    const [row] = await this.#database.query(
      `select current_timeline() as timeline, current_setting('synchronous_standby_names') <> '' as is_synchronous,
       (select count(*)::int from pg_stat_replication) as standbys`,
    );
    return {
      timeline: Number(row?.["timeline"]),
      standbyCount: Number(row?.["standbys"]),
      isSynchronous: row?.["is_synchronous"] === true,
    };
  }
}

/** JSON of lists of at most `importedAtOnce` items. */
function* inParts(items: Iterable<object>): Generator<string, void> {
  let part: string[] = [];
  for (const item of items) {
    part.push(JSON.stringify(item));
    if (part.length < importedAtOnce) continue;
    yield `[${part.join(",")}]`;
    part = [];
  }
  if (part.length > 0) yield `[${part.join(",")}]`;
}
