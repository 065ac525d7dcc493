import { Pool, type PoolClient } from "pg";
import { assert } from "../base/assert.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { DatabaseAddress } from "./database-address.js";
import { type Timeline, TimelineFence } from "./timeline.js";

/** What a value of a query may be. Numbers beyond 2^53 and bytes go as texts. */
export type QueryValue = string | number | boolean | null | readonly number[] | readonly string[];

export type Row = Readonly<Record<string, unknown>>;

export interface DatabaseSettings {
  readonly address: DatabaseAddress;
  /** Reads the password for a new connection; undefined if there is none. */
  readonly password: (() => string) | undefined;
  /** PEM of the authorities that the certificate of the server may be of; undefined for those of the system. */
  readonly authority: string | undefined;
  /** The schema that has the tables. */
  readonly schema: string;
  /** What the log of the server calls this process. */
  readonly name: string;
  readonly connectionsMax: number;
  /** Queries that wait for a connection at once: more are refused. */
  readonly waitingMax: number;
  /** A connection must be there within this time, including the wait for one that is free. */
  readonly connectMs: number;
  /** The server gives up a statement after this time, and a lock after half of it. */
  readonly statementMs: number;
  /** After this time without an answer the connection is closed, and what it did is unknown. Longer than `statementMs`. */
  readonly answerMs: number;
  /** The database that this host has used before; undefined if none. */
  readonly seen: Timeline | undefined;
}

/**
 * Something went wrong with the database. Unless `isUnknown`, nothing was changed. If it is, a change may have been made, or may be made
 * later: who needs to know looks for what it would have left, after it has made sure that it cannot come any more.
 */
export class DatabaseError extends TrawlError {
  readonly isUnknown: boolean;
  /** Five characters that the server gives; "" if it has not answered. */
  readonly sqlState: string;

  constructor(message: string, isUnknown: boolean, sqlState: string, cause: unknown) {
    super("storage", message, { cause });
    this.isUnknown = isUnknown;
    this.sqlState = sqlState;
  }
}

/** Queries on one connection, in one transaction. */
export interface Transaction {
  query(sql: string, values?: readonly QueryValue[]): Promise<readonly Row[]>;
}

/**
 * Connections to one PostgreSQL database, of which each has limits: how many there are, who waits for one, and how long anything
 * takes. The server must be the primary one, and pass the fence of timelines. A transaction that is confirmed is on the disk of the server, and of
 * its synchronous standby if it has one: `synchronous_commit` cannot be lowered by the settings of the server.
 *
 * Loaded only where `fleet.database` is set.
 */
export class Database implements Transaction {
  readonly #settings: DatabaseSettings;
  readonly #pool: Pool;
  readonly #fence: TimelineFence;
  /** Connections of which it is known that they may be used. */
  readonly #checked = new WeakSet<PoolClient>();
  #waitingCount = 0;
  #isClosed = false;
  /** The connection on which hints come. */
  #listener: PoolClient | undefined;
  #endListening: () => void = () => undefined;

  /** Called when another server has taken over the database. */
  onTakenOver: (timeline: Timeline) => void = () => undefined;

  constructor(settings: DatabaseSettings) {
    const { address, password, authority, schema, name, connectMs, statementMs, answerMs } = settings;
    assert(/^[a-z_][a-z0-9_]{0,40}$/.test(schema), "a schema has a plain name");
    assert(answerMs > statementMs, "the server gives up before the client does");
    this.#settings = settings;
    this.#fence = new TimelineFence(settings.seen);
    const { host, port, database, user, isRemote } = address;
    this.#pool = new Pool({
      host,
      port,
      database,
      user,
      // Without one, pg would look for a password in the environment and the home directory.
      password: () => password?.() ?? "",
      ssl: isRemote ? { rejectUnauthorized: true, ...(authority === undefined ? {} : { ca: authority }) } : false,
      application_name: `trawl ${name}`.slice(0, 63),
      max: settings.connectionsMax,
      connectionTimeoutMillis: connectMs,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      query_timeout: answerMs,
      statement_timeout: statementMs,
      lock_timeout: Math.ceil(statementMs / 2),
      idle_in_transaction_session_timeout: answerMs,
      options: `-c search_path=${schema} -c synchronous_commit=on -c default_transaction_isolation=read\\ committed`,
      allowExitOnIdle: true,
    });
    // An idle connection that breaks is replaced by the next query.
    this.#pool.on("error", () => undefined);
  }

  /** The last server that was used. */
  get timeline(): Timeline | undefined {
    return this.#fence.seen;
  }

  get schema(): string {
    return this.#settings.schema;
  }

  /** One statement in a transaction of its own. Rejects with a `DatabaseError`. */
  async query(sql: string, values: readonly QueryValue[] = []): Promise<readonly Row[]> {
    const client = await this.#connect();
    try {
      const { rows } = await client.query<Row>(sql, [...values]);
      client.release();
      return rows;
    } catch (error) {
      const failure = toFailure(error, true);
      client.release(isBroken(failure));
      throw failure;
    }
  }

  /**
   * Several statements, all of which are made or none. Rejects with the error of `work`, or with a `DatabaseError`, which is unknown
   * only if the answer to the last step is missing.
   */
  async transaction<T>(work: (transaction: Transaction) => Promise<T>, isSnapshot = false): Promise<T> {
    const client = await this.#connect();
    const run = async (sql: string, values: readonly QueryValue[], isLast: boolean): Promise<readonly Row[]> => {
      try {
        return (await client.query<Row>(sql, [...values])).rows;
      } catch (error) {
        throw toFailure(error, isLast);
      }
    };
    try {
      await run(isSnapshot ? "begin isolation level repeatable read read only" : "begin", [], false);
      const result = await work({ query: (sql, values = []) => run(sql, values, false) });
      await run("commit", [], true);
      client.release();
      return result;
    } catch (error) {
      // A connection that is closed takes its transaction with it.
      const isClean = error instanceof DatabaseError ? !isBroken(error) : true;
      const isRolledBack =
        isClean &&
        (await run("rollback", [], false).then(
          () => true,
          () => false,
        ));
      client.release(!isRolledBack);
      throw error;
    }
  }

  /**
   * Tells who listens that something has changed: a hint, which may be lost. It is a statement of its own, since in the transaction
   * of a change it would take a lock of the whole server until that is durable.
   */
  async hint(): Promise<void> {
    await this.query("select pg_notify($1, '')", [this.#channel]);
  }

  get #channel(): string {
    return `${this.#settings.schema}_changes`;
  }

  /** Calls `onHint` for each hint, on a connection of its own, until `close`. Does nothing while that is there. */
  async listen(onHint: () => void): Promise<void> {
    if (this.#listener !== undefined || this.#isClosed) return;
    const client = await this.#connect();
    const end = (): void => {
      if (this.#listener !== client) return;
      this.#listener = undefined;
      client.removeListener("notification", onHint);
      client.release(true);
    };
    this.#listener = client;
    this.#endListening = end;
    client.on("notification", onHint);
    client.once("end", end);
    client.once("error", end);
    try {
      await client.query(`listen ${this.#channel}`);
    } catch (error) {
      end();
      throw toFailure(error, false);
    }
  }

  async #connect(): Promise<PoolClient> {
    if (this.#isClosed) throw new TrawlError("shutting-down", "the connections to the database are closed");
    const { waitingMax, address } = this.#settings;
    if (this.#waitingCount >= waitingMax)
      throw new TrawlError("overloaded", `${waitingMax} queries are waiting for the database`);
    this.#waitingCount++;
    let client: PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      const { host, port } = address;
      throw new DatabaseError(
        `cannot connect to the database at ${host}, port ${port}: ${errorMessage(error)}`,
        false,
        sqlStateIn(error),
        error,
      );
    } finally {
      this.#waitingCount--;
    }
    try {
      if (!this.#checked.has(client)) await this.#check(client);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** Whether this is the server to ask. */
  async #check(client: PoolClient): Promise<void> {
    // A connection that is lost while it is used rejects its query, and nobody else need know.
    client.on("error", () => undefined);
    let row: Row | undefined;
    try {
      [row] = (await client.query<Row>(identitySql)).rows;
    } catch (error) {
      throw toFailure(error, false);
    }
    if (row?.["is_standby"] !== false)
      throw new DatabaseError(
        "this server of the database is a standby: give the address of the primary one",
        false,
        "",
        undefined,
      );
    if (Number(row["version"]) < 150_000)
      throw new DatabaseError("PostgreSQL 15 or later is needed", false, "", undefined);
    const found = { system: String(row["system"]), timeline: Number(row["timeline"]) };
    if (this.#fence.judge(found)) this.onTakenOver(found);
    this.#checked.add(client);
  }

  /** Closes the connections when their queries have ended. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#endListening();
    await this.#pool.end();
  }
}

/**
 * The timeline in the name of the file that is being written: the one in the control file is older for a while after a
 * standby has become the primary server.
 */
export const timelineSql = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int";

const identitySql = `select pg_is_in_recovery() as is_standby,
  current_setting('server_version_num')::int as version,
  (select system_identifier::text from pg_control_system()) as system,
  case when pg_is_in_recovery() then 0 else ${timelineSql} end as timeline`;

function sqlStateIn(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : "";
}

/** `isFinal` if the statement would have made its changes by itself. */
function toFailure(error: unknown, isFinal: boolean): DatabaseError {
  const sqlState = sqlStateIn(error);
  // The server says that it has not made the statement. When it stops, or loses its client, that may be after it has.
  const isRefused = sqlState !== "" && !/^(?:08|57P|40003)/.test(sqlState);
  return new DatabaseError(`the database: ${errorMessage(error)}`, isFinal && !isRefused, sqlState, error);
}

/** Whether the connection must not be used again. */
function isBroken({ sqlState }: DatabaseError): boolean {
  return sqlState === "" || /^(?:08|57P|25P)/.test(sqlState);
}
