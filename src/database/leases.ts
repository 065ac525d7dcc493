import { readFileSync } from "node:fs";
import { assert } from "../base/assert.js";
import { monotonicMs } from "../base/deadline.js";
import type { Database } from "./database.js";

/** The tables that have leases, and the type of their key. Each has the columns `holder`, `epoch` and `until`. */
const tables = {
  lease: { key: "name", type: "text" },
  partition: { key: "id", type: "int" },
} as const;

export type LeaseTable = keyof typeof tables;

/** What a holder has. */
export interface Lease {
  readonly key: string;
  /** Counts the holders: a change is fenced by asking for it in the statement that makes the change. */
  readonly epoch: number;
  /** The timeline of the database at this moment. */
  readonly timeline: number;
}

/** The table of leases by name; the one for partitions belongs to those. */
export const leaseTableSql = `create table lease (
  name text primary key, holder text not null default '', epoch bigint not null default 0,
  until timestamptz not null default '-infinity')`;

/** Time that has passed, also while the machine was suspended, when the monotonic clock stands still. */
export interface Elapsed {
  readonly clockMs: number;
  readonly uptimeMs: number;
}

export function elapsedNow(): Elapsed {
  return { clockMs: monotonicMs(), uptimeMs: uptimeMs() };
}

export function elapsedSince({ clockMs, uptimeMs: before }: Elapsed): number {
  return Math.max(monotonicMs() - clockMs, uptimeMs() - before);
}

/** 0 where there is no such file: then the monotonic clock has to do. */
function uptimeMs(): number {
  try {
    return 1000 * Number(readFileSync("/proc/uptime", "latin1").split(" ")[0]);
  } catch {
    return 0;
  }
}

/**
 * Leases of one holder on rows of one table: who has one may work on what it names, alone. The database's clock decides when one is over.
 *
 * Leases only keep two from doing the same work. That nothing is changed by who has lost one is up to the change itself, which names
 * the holder and the epoch; so a holder that was paused for an hour may go on as if nothing had happened, and gets nowhere.
 */
export class Leases {
  readonly #database: Database;
  readonly #table: LeaseTable;
  readonly #holder: string;
  readonly #lengthMs: number;
  /** Since when the last that was asked for counts, by key: before the question was sent. */
  readonly #held = new Map<string, { readonly lease: Lease; readonly since: Elapsed }>();
  #renewing: Promise<readonly string[]> | undefined;

  /** `holder` must be of this process only: a name with something that was made at its start. */
  constructor(database: Database, table: LeaseTable, holder: string, lengthMs: number) {
    assert(holder !== "" && lengthMs > 0, "a lease has a holder and a length");
    this.#database = database;
    this.#table = table;
    this.#holder = holder;
    this.#lengthMs = lengthMs;
  }

  get holder(): string {
    return this.#holder;
  }

  /** Takes a lease that nobody else has, with a new epoch even if this holder has it. Resolves with undefined if somebody has it. */
  async claim(key: string): Promise<Lease | undefined> {
    const { key: column, type } = tables[this.#table];
    await this.#database.query(`insert into ${this.#table} (${column}) values ($1::${type}) on conflict do nothing`, [
      key,
    ]);
    const since = elapsedNow();
    const [row] = await this.#database.query(
      `update ${this.#table} set holder = $2, epoch = epoch + 1, until = clock_timestamp() + $3 * interval '1 ms'
       where ${column} = $1::${type} and (until < clock_timestamp() or holder = $2)
       returning epoch::float8 as epoch, current_timeline() as timeline`,
      [key, this.#holder, this.#lengthMs],
    );
    this.#held.delete(key);
    if (row === undefined) return undefined;
    const lease = { key, epoch: Number(row["epoch"]), timeline: Number(row["timeline"]) };
    this.#held.set(key, { lease, since });
    return lease;
  }

  /** Whether this holder may begin something with it: it has not ended by the clocks of this machine. */
  holds({ key, epoch }: Lease): boolean {
    const held = this.#held.get(key);
    return held?.lease.epoch === epoch && elapsedSince(held.since) < this.#lengthMs;
  }

  /** Prolongs all leases of this holder in one statement. Resolves with the keys of those that it has lost. One renewal runs at a time. */
  renew(): Promise<readonly string[]> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<readonly string[]> {
    const asked = [...this.#held.values()].map(({ lease }) => lease);
    if (asked.length === 0) return [];
    const { key: column, type } = tables[this.#table];
    const since = elapsedNow();
    const rows = await this.#database.query(
      `update ${this.#table} t set until = clock_timestamp() + $1 * interval '1 ms'
       from unnest($2::${type}[], $3::bigint[]) as asked(key, epoch)
       where t.${column} = asked.key and t.epoch = asked.epoch and t.holder = $4
       returning t.${column}::text as key, t.epoch::float8 as epoch`,
      [this.#lengthMs, asked.map(({ key }) => key), asked.map(({ epoch }) => epoch), this.#holder],
    );
    const renewed = new Set(rows.map(({ key, epoch }) => `${String(epoch)} ${String(key)}`));
    const lost: string[] = [];
    for (const lease of asked) {
      // It was claimed anew, or given back, meanwhile.
      if (this.#held.get(lease.key)?.lease.epoch !== lease.epoch) continue;
      if (renewed.has(`${lease.epoch} ${lease.key}`)) this.#held.set(lease.key, { lease, since });
      else if (this.#held.delete(lease.key)) lost.push(lease.key);
    }
    return lost;
  }

  /** Does not prolong a lease any more: it ends by itself, unless it is claimed before. */
  forget({ key, epoch }: Lease): void {
    if (this.#held.get(key)?.lease.epoch === epoch) this.#held.delete(key);
  }

  /** Gives a lease back, so that another holder need not wait. */
  async release(lease: Lease): Promise<void> {
    const { key, epoch } = lease;
    const { key: column, type } = tables[this.#table];
    this.forget(lease);
    await this.#database.query(
      `update ${this.#table} set until = '-infinity' where ${column} = $1::${type} and holder = $2 and epoch = $3`,
      [key, this.#holder, epoch],
    );
  }
}
