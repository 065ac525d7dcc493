import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { readSecret } from "../base/secret-source.js";
import type { RepositoryConfig } from "../model/repository.js";
import { listHost } from "./api-listing.js";
import { ListingRecord, compareLists, type ListingAttempt, type ListChanges } from "./listing-record.js";
import type { ConnectionConfig, ListedRepository } from "./connection.js";
import { listFolder } from "./folder-listing.js";
import { RateLimitError } from "./host-request.js";
import { listUrls } from "./list-listing.js";
import { selectRepositories } from "./selection.js";
import { StoredList } from "./stored-list.js";

/** The state of a connection, for people. */
export interface ConnectionStatus {
  readonly name: string;
  readonly kind: string;
  readonly url: string;
  readonly repositoryCount: number;
  /** RFC 3339; "" before the first complete list. */
  readonly lastListed: string;
  /** Why the last attempt failed, or what it left out; "" if nothing is wrong. */
  readonly error: string;
}

/** A connection with everything that is known about it. */
export interface ConnectionDetails extends ConnectionStatus {
  readonly config: ConnectionConfig;
  /** RFC 3339: when this configuration came into effect. */
  readonly configuredAt: string;
  /** RFC 3339: when it will be listed next; "" while it is being listed, or waits for another connection. */
  readonly nextListing: string;
  /** Newest first. */
  readonly attempts: readonly ListingAttempt[];
}

export interface ConnectionServices {
  /** Where lists are stored. */
  readonly folder: string;
  readonly log: Log;
  /** Throws if a repository is not valid. */
  readonly check: (repository: RepositoryConfig) => void;
  /**
   * Makes the catalog contain what `repositories` returns. Rejects if most repositories would be removed, unless
   * `mayRemoveMost`.
   */
  readonly apply: (mayRemoveMost: boolean) => Promise<void>;
}

/** A whole list must be read within this time. */
const listMsMax = 1_800_000;
/** After a failure, the next attempt is no later than this. */
const retryMsMax = 300_000;

interface Connection {
  readonly config: ConnectionConfig;
  readonly store: StoredList;
  repositories: readonly RepositoryConfig[];
  lastListed: string;
  error: string;
  timer: PendingCall | undefined;
  readonly configuredAt: string;
  nextListing: string;
  readonly attempts: ListingRecord;
}

/**
 * Lists the repositories of the configured connections on their intervals, one connection at a time.
 *
 * The previous list stays in effect while a new one cannot be read completely, and across restarts.
 */
export class Connections {
  readonly #services: ConnectionServices;
  readonly #stop = new AbortController();
  #connections: readonly Connection[] = [];
  #running: Promise<void> = Promise.resolve();
  #isStarted = false;
  #attemptCount = 0;
  /** The connection that lists a repository, by its name; created when it is needed. */
  #connectionOf: ReadonlyMap<string, string> | undefined;

  constructor(services: ConnectionServices) {
    this.#services = services;
  }

  /** Replaces the connections. Those that are new begin with their stored list. */
  async configure(configs: readonly ConnectionConfig[]): Promise<void> {
    const before = new Map(this.#connections.map((connection) => [JSON.stringify(connection.config), connection]));
    const connections = await Promise.all(
      configs.map((config) => before.get(JSON.stringify(config)) ?? this.#open(config)),
    );
    for (const old of this.#connections) if (!connections.includes(old)) old.timer?.cancel();
    this.#connections = connections;
    this.#connectionOf = undefined;
    if (this.#isStarted) this.#schedule();
  }

  /** The repositories of all connections; a name that several have is that of the first. */
  repositories(): readonly RepositoryConfig[] {
    const all = new Map<string, RepositoryConfig>();
    for (const { repositories } of this.#connections)
      for (const repository of repositories) if (!all.has(repository.name)) all.set(repository.name, repository);
    return [...all.values()];
  }

  statuses(): readonly ConnectionStatus[] {
    return this.#connections.map(({ config: { name, kind, url }, repositories, lastListed, error }) => {
      return { name, kind, url, repositoryCount: repositories.length, lastListed, error };
    });
  }

  details(): readonly ConnectionDetails[] {
    const statuses = this.statuses();
    return this.#connections.map(({ config, configuredAt, nextListing, attempts }, i) => {
      return { ...statuses[i], config, configuredAt, nextListing, attempts: attempts.list() };
    });
  }

  /** The name of the connection that lists this repository; undefined if none does. */
  connectionOf(repositoryName: string): string | undefined {
    this.#connectionOf ??= new Map(
      this.#connections
        .toReversed()
        .flatMap(({ config, repositories }) => repositories.map((r) => [r.name, config.name])),
    );
    return this.#connectionOf.get(repositoryName);
  }

  /** Lists soon, without waiting for the result. Throws `not-found`. */
  request(name: string): void {
    const connection = this.#require(name);
    if (connection.nextListing !== "") this.#listAfter(connection, 0);
  }

  /** Begins to list. */
  start(): void {
    this.#isStarted = true;
    this.#schedule();
  }

  /** Lists now. Rejects with `not-found`, or with the error of the listing. */
  async list(name: string, mayRemoveMost: boolean): Promise<ConnectionStatus> {
    const connection = this.#require(name);
    await this.#enqueue(connection, mayRemoveMost);
    const status = this.statuses().find((other) => other.name === name);
    if (status === undefined || connection.error !== "") throw new TrawlError("git", `${name}: ${connection.error}`);
    return status;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const { timer } of this.#connections) timer?.cancel();
    await this.#running;
  }

  #require(name: string): Connection {
    const connection = this.#connections.find(({ config }) => config.name === name);
    if (connection === undefined)
      throw new TrawlError(
        "not-found",
        `there is no connection named ${JSON.stringify(name)}; see \`trawl connection list\``,
      );
    return connection;
  }

  async #open(config: ConnectionConfig): Promise<Connection> {
    const store = new StoredList(this.#services.folder, config.name);
    const repositories = (await store.read()) ?? [];
    const configuredAt = new Date().toISOString();
    const state = { lastListed: "", error: "", timer: undefined, nextListing: "" };
    return { config, store, repositories, ...state, configuredAt, attempts: new ListingRecord() };
  }

  #schedule(): void {
    for (const connection of this.#connections) if (connection.timer === undefined) this.#listAfter(connection, 0);
  }

  #listAfter(connection: Connection, delayMs: number): void {
    if (this.#stop.signal.aborted || !this.#connections.includes(connection)) return;
    connection.timer?.cancel();
    connection.nextListing = new Date(new Date().getTime() + delayMs).toISOString();
    connection.timer = callAfter(delayMs, () => void this.#enqueue(connection, false));
  }

  /** Resolves when it was listed; a failure is in its status. */
  #enqueue(connection: Connection, mayRemoveMost: boolean): Promise<void> {
    connection.nextListing = "";
    this.#running = this.#running.then(() => this.#list(connection, mayRemoveMost));
    return this.#running;
  }

  async #list(connection: Connection, mayRemoveMost: boolean): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { config } = connection;
    let delayMs = config.intervalSeconds * 1000;
    connection.attempts.begin(++this.#attemptCount);
    try {
      const changes = await this.#replace(connection, mayRemoveMost);
      connection.attempts.end("completed", connection.error, changes);
    } catch (error) {
      connection.attempts.end(this.#stop.signal.aborted ? "cancelled" : "failed", errorMessage(error));
      delayMs = error instanceof RateLimitError ? error.waitMs : Math.min(delayMs, retryMsMax);
      connection.error = errorMessage(error);
      if (!this.#stop.signal.aborted) this.#services.log.warn({ connection: config.name }, connection.error);
    }
    this.#listAfter(connection, delayMs);
  }

  async #replace(connection: Connection, mayRemoveMost: boolean): Promise<ListChanges> {
    const listed = await this.#read(connection.config);
    const { repositories, problems } = selectRepositories(connection.config, listed, this.#services.check);
    const before = connection.repositories;
    if (JSON.stringify(before) !== JSON.stringify(repositories)) {
      this.#setRepositories(connection, repositories);
      try {
        await this.#services.apply(mayRemoveMost);
      } catch (error) {
        this.#setRepositories(connection, before);
        throw error;
      }
      await connection.store.write(repositories);
    }
    connection.lastListed = new Date().toISOString();
    connection.error = problems.length === 0 ? "" : `left out: ${problems.join("; ")}`;
    return compareLists(before, repositories);
  }

  #setRepositories(connection: Connection, repositories: readonly RepositoryConfig[]): void {
    connection.repositories = repositories;
    this.#connectionOf = undefined;
  }

  async #read(config: ConnectionConfig): Promise<readonly ListedRepository[]> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(listMsMax)]);
    const token = config.credential === "" ? "" : readSecret(config.credential, `connection ${config.name}`);
    const { kind } = config;
    switch (kind) {
      case "list":
        return await listUrls(config, token, signal);
      case "folder":
        return await listFolder(config, signal);
      default:
        return await listHost({ ...config, kind }, token, signal);
    }
  }
}
