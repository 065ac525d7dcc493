import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { readSecret } from "../base/secret-source.js";
import type { RepositoryConfig } from "../model/repository.js";
import { listHost } from "./api-listing.js";
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

  /** Begins to list. */
  start(): void {
    this.#isStarted = true;
    this.#schedule();
  }

  /** Lists now. Rejects with `not-found`, or with the error of the listing. */
  async list(name: string, mayRemoveMost: boolean): Promise<ConnectionStatus> {
    const connection = this.#connections.find(({ config }) => config.name === name);
    if (connection === undefined)
      throw new TrawlError(
        "not-found",
        `there is no connection named ${JSON.stringify(name)}; see \`trawl connection list\``,
      );
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

  async #open(config: ConnectionConfig): Promise<Connection> {
    const store = new StoredList(this.#services.folder, config.name);
    const repositories = (await store.read()) ?? [];
    return { config, store, repositories, lastListed: "", error: "", timer: undefined };
  }

  #schedule(): void {
    for (const connection of this.#connections) if (connection.timer === undefined) this.#listAfter(connection, 0);
  }

  #listAfter(connection: Connection, delayMs: number): void {
    if (this.#stop.signal.aborted || !this.#connections.includes(connection)) return;
    connection.timer?.cancel();
    connection.timer = callAfter(delayMs, () => void this.#enqueue(connection, false));
  }

  /** Resolves when it was listed; a failure is in its status. */
  #enqueue(connection: Connection, mayRemoveMost: boolean): Promise<void> {
    this.#running = this.#running.then(() => this.#list(connection, mayRemoveMost));
    return this.#running;
  }

  async #list(connection: Connection, mayRemoveMost: boolean): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { config } = connection;
    let delayMs = config.intervalSeconds * 1000;
    try {
      await this.#replace(connection, mayRemoveMost);
    } catch (error) {
      delayMs = error instanceof RateLimitError ? error.waitMs : Math.min(delayMs, retryMsMax);
      connection.error = errorMessage(error);
      if (!this.#stop.signal.aborted) this.#services.log.warn({ connection: config.name }, connection.error);
    }
    this.#listAfter(connection, delayMs);
  }

  async #replace(connection: Connection, mayRemoveMost: boolean): Promise<void> {
    const listed = await this.#read(connection.config);
    const { repositories, problems } = selectRepositories(connection.config, listed, this.#services.check);
    const before = connection.repositories;
    if (JSON.stringify(before) !== JSON.stringify(repositories)) {
      connection.repositories = repositories;
      try {
        await this.#services.apply(mayRemoveMost);
      } catch (error) {
        connection.repositories = before;
        throw error;
      }
      await connection.store.write(repositories);
    }
    connection.lastListed = new Date().toISOString();
    connection.error = problems.length === 0 ? "" : `left out: ${problems.join("; ")}`;
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
