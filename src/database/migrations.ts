import { TrawlError } from "../base/errors.js";
import type { Database, Transaction } from "./database.js";

/** One step of the schema. A step adds, so that the program before it goes on; what nobody uses any more goes one release later. */
export interface Migration {
  readonly number: number;
  /** The number that a program has to know at least, to use a database with this step. */
  readonly neededFrom: number;
  readonly sql: string;
}

/** Held while the schema is changed; a number of our own. */
const lockKey = 7_203_114_090;

const tableSql = `create table if not exists migration (
  number int primary key, needed_from int not null, made timestamptz not null default now())`;

/**
 * Brings the schema up to the last of these migrations, each in a transaction; several nodes may do it at once. Resolves with the
 * number of those that were made. Throws `format-version` if a later program has made the schema, and this one must not use it.
 */
export async function migrate(database: Database, migrations: readonly Migration[]): Promise<number> {
  await requireSchema(database);
  let count = 0;
  while (await database.transaction((transaction) => makeNext(transaction, migrations))) count++;
  return count;
}

async function requireSchema(database: Database): Promise<void> {
  const { schema } = database;
  const found = await database.query("select 1 from pg_namespace where nspname = $1", [schema]);
  if (found.length > 0) return;
  // Two nodes that make it at once: one of them is told that it is there.
  await database.query(`create schema if not exists ${schema}`).catch(async (error: unknown) => {
    if ((await database.query("select 1 from pg_namespace where nspname = $1", [schema])).length === 0) throw error;
  });
}

/** Returns false if nothing is left to do. */
async function makeNext(transaction: Transaction, migrations: readonly Migration[]): Promise<boolean> {
  await transaction.query("select pg_advisory_xact_lock($1)", [lockKey]);
  await transaction.query(tableSql);
  const [row] = await transaction.query(
    "select coalesce(max(number), 0) as made, coalesce(max(needed_from), 0) as needed from migration",
  );
  const [made, needed] = [Number(row?.["made"]), Number(row?.["needed"])];
  const known = migrations.reduce((most, { number }) => Math.max(most, number), 0);
  if (needed > known)
    throw new TrawlError(
      "format-version",
      `the schema of the database is of a later version of Trawl: it needs ${needed}, and this one knows ${known}. Upgrade this node`,
    );
  const next = migrations.find(({ number }) => number === made + 1);
  if (next === undefined) return false;
  await transaction.query(next.sql);
  await transaction.query("insert into migration (number, needed_from) values ($1, $2)", [
    next.number,
    next.neededFrom,
  ]);
  return true;
}
