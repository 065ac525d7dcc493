import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { submodulePolicy } from "../git/mirror/submodule-rules.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { RateLimitError } from "../base/rate-limit.js";
import { replaceFile } from "../base/sync-to-disk.js";
import { readSecret } from "../base/secret-source.js";
import type { RepositoryConfig } from "../model/repository.js";
import { listHost } from "./api-listing.js";
import { listCommand } from "./command-listing.js";
import { GithubApp } from "./github-app/github-app.js";
import { listApp } from "./github-app/app-listing.js";
import { fixedToken, type HostToken } from "./page-reader.js";
import { compareLists, type ListChanges, type ListingAttempt, ListingRecord } from "./listing-record.js";
import { type ApiConnection, type ApiKindName, type ConnectionConfig, isLocal, type Listing } from "./connection.js";
import {
  HostPermissions,
  type PermissionServices,
  type PermissionState,
  type PermissionSummary,
} from "./readers/host-permissions.js";
import { listFolder } from "./folder-listing.js";
import { listUrls } from "./repository-list.js";
import { findSource, mayHaveToken, type Selection, selectRepositories, workingCopy } from "./selection.js";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../base/is-object.js";
import { withoutSuffix } from "../base/text.js";

/** The state of a connection, for people. */
export interface ConnectionStatus {
  readonly name: string;
  readonly kind: string;
  readonly url: string;
  /** Without those that are left out because another repository has their name. */
  readonly repositoryCount: number;
  /** How many of them the last list lacked: they are removed if the next one lacks them, too. */
  readonly missingCount: number;
  /** RFC 3339; "" before the first complete list. */
  readonly lastListed: string;
  /** Why the last attempt failed, or what it left out; "" if nothing is wrong. */
  readonly error: string;
  /** Sentences about some of the repositories that are left out because another one has their name. */
  readonly warnings: readonly string[];
  /** Absent if the host does not decide who reads its repositories. */
  readonly permissions?: PermissionSummary;
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
  /** Rejects if a repository is not valid, or may not be fetched. */
  readonly check: (repository: RepositoryConfig) => Promise<void>;
  /** What the catalog has of a connection, if its stored list is lost. */
  readonly known: (connection: string) => readonly RepositoryConfig[];
  /** Makes the catalog contain what `repositories` returns, after the list of this connection has changed. */
  readonly apply: (connection: string) => Promise<void>;
  /** Sentences about the repositories of a connection that are left out because another one has their name. */
  readonly leftOut: (connection: string) => readonly string[];
  readonly metrics: Pick<Metrics, "connectionListings" | "hostPermissionReads">;
  /** See `PermissionServices`. */
  readonly findLinked: PermissionServices["findLinked"];
  readonly applyReaders: PermissionServices["applyReaders"];
  /** The data directory, whose mirrors are not listed. */
  readonly dataFolder: string;
}

/** A whole list must be read within this time. */
const listMsMax = 1_800_000;
/** After a failure, the next attempt is no later than this. */
const retryMsMax = 300_000;

/** A list that has lost more than this share of its repositories is treated as a mistake. */
const removedShareMax = 0.5;

const namedMax = 5;

interface Connection {
  readonly config: ConnectionConfig;
  readonly store: StoredList;
  repositories: readonly RepositoryConfig[];
  /** The names of those that the last list lacked; with their URL if others share the name. */
  missing: ReadonlySet<string>;
  lastListed: string;
  error: string;
  timer: PendingCall | undefined;
  readonly configuredAt: string;
  nextListing: string;
  readonly attempts: ListingRecord;
  /** Undefined if the host does not decide who reads its repositories. */
  readonly permissions: HostPermissions | undefined;
  /** Undefined if it has a token, or none. */
  readonly app: GithubApp | undefined;
}

/**
 * Lists the repositories of the configured connections on their intervals, each connection for itself: one that is slow
 * delays no other.
 *
 * The previous list stays in effect while a new one cannot be read, and across restarts. What a new list lacks is kept until
 * the next one lacks it, too: a repository that is deleted while pages are read moves others to pages that were read before. If
 * a list could be read only in part, what the rest may contain is kept. A list that lacks most of what it had is refused until
 * somebody confirms it.
 */
export class Connections {
  readonly #services: ConnectionServices;
  readonly #stop = new AbortController();
  #connections: readonly Connection[] = [];
  /** The last listing of each connection; the next one of the same connection follows it. */
  readonly #running = new Map<Connection, Promise<void>>();
  /** Settles when the last list has been applied: one at a time, so that a list that is refused can be taken back. */
  #applied: Promise<unknown> = Promise.resolve();
  #isStarted = false;
  #attemptCount = 0;

  constructor(services: ConnectionServices) {
    this.#services = services;
  }

  /** Replaces the connections. Those that are new begin with their stored list. */
  async configure(configs: readonly ConnectionConfig[]): Promise<void> {
    const wanted = new Set(configs.map((config) => JSON.stringify(config)));
    const before = new Map(this.#connections.map((connection) => [JSON.stringify(connection.config), connection]));
    // What hosts have answered is stored, and the next one begins with it.
    for (const [text, old] of before) if (!wanted.has(text)) await old.permissions?.close();
    const connections = await Promise.all(
      configs.map((config) => before.get(JSON.stringify(config)) ?? this.#open(config)),
    );
    for (const old of this.#connections) if (!connections.includes(old)) old.timer?.cancel();
    this.#connections = connections;
    if (this.#isStarted) this.#schedule();
  }

  /** The repositories of all connections, in their order. Several may have the same name. */
  repositories(): readonly RepositoryConfig[] {
    return this.#connections.flatMap(
      ({ repositories, permissions }) => permissions?.withReaders(repositories) ?? repositories,
    );
  }

  /** What is known about the readers of a repository of a connection; undefined if the host does not decide about them. */
  permissionState(connection: string, repository: Pick<RepositoryConfig, "name" | "url">): PermissionState | undefined {
    return this.#connections.find(({ config }) => config.name === connection)?.permissions?.state(repository);
  }

  /** Makes the readers that hosts have named those of the catalog, whatever it has. */
  async applyReaders(): Promise<void> {
    for (const { permissions } of this.#connections) await permissions?.applyAll();
  }

  /** Somebody has linked or unlinked an account of an identity provider. */
  accountsChanged(): void {
    for (const { config, permissions } of this.#connections)
      if (config.permissionsProvider !== "") permissions?.remap();
  }

  /**
   * `USER:PASSWORD` with which a repository is fetched that a connection with a GitHub App lists; undefined for any other one. Rejects
   * if the app gets no token for it.
   */
  async fetchSecret(repository: FetchedRepository): Promise<string | undefined> {
    const app = this.#appFor(repository);
    if (app === undefined) return undefined;
    return `x-access-token:${await (await app.tokenFor(pathIn(repository.url))).current()}`;
  }

  /** The remote of a repository could not be read with that secret: perhaps it is no longer valid. */
  doubtSecret(repository: FetchedRepository): void {
    // It is about the same as the failure of the fetch.
    this.#appFor(repository)
      ?.doubt(pathIn(repository.url))
      .catch(() => undefined);
  }

  #appFor({ url, source }: FetchedRepository): GithubApp | undefined {
    const connection = this.#connections.find(({ config }) => config.name === source?.connection);
    return connection !== undefined && mayHaveToken(connection.config, url) ? connection.app : undefined;
  }

  names(): ReadonlySet<string> {
    return new Set(this.#connections.map(({ config }) => config.name));
  }

  statuses(): readonly ConnectionStatus[] {
    return this.#connections.map((connection) => {
      const { repositories, missing, lastListed, error, permissions } = connection;
      const { name, kind, url } = connection.config;
      const leftOut = this.#services.leftOut(name);
      const summary = permissions?.summary();
      const closed = summary === undefined ? [] : closedWarning(summary);
      const more = leftOut.length > namedMax ? [`${leftOut.length - namedMax} more are left out in the same way`] : [];
      return {
        name,
        kind,
        url,
        repositoryCount: repositories.length - leftOut.length,
        missingCount: missing.size,
        lastListed,
        error,
        warnings: [...closed, ...leftOut.slice(0, namedMax), ...more],
        ...(summary === undefined ? {} : { permissions: summary }),
      };
    });
  }

  details(): readonly ConnectionDetails[] {
    const statuses = this.statuses();
    return this.#connections.map(({ config, configuredAt, nextListing, attempts }, i) => {
      return { ...statuses[i], config, configuredAt, nextListing, attempts: attempts.list() };
    });
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
    connection.permissions?.request();
    const status = this.statuses().find((other) => other.name === name);
    if (status === undefined || connection.error !== "") throw new TrawlError("git", `${name}: ${connection.error}`);
    return status;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const { timer } of this.#connections) timer?.cancel();
    await Promise.all([...this.#running.values(), ...this.#connections.map(({ permissions }) => permissions?.close())]);
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
    const { repositories, missing } = (await store.read()) ?? {
      repositories: this.#services.known(config.name),
      missing: [],
    };
    // The rules of the present configuration apply to what was listed under an earlier one.
    const source = findSource(config);
    const app = config.app === "" ? undefined : new GithubApp({ ...config, kind: "github" }, this.#stop.signal);
    const permissions = await this.#openPermissions(config, app);
    permissions?.setRepositories(repositories);
    return {
      config,
      app,
      permissions,
      store,
      repositories: repositories.map((repository) => {
        const { workTree = "" } = repository.source ?? {};
        return {
          ...repository,
          lfs: config.lfs ? true : undefined,
          source: { ...source, ...workingCopy(config, workTree) },
          submodules: submodulePolicy(config),
        };
      }),
      missing: new Set(missing),
      lastListed: "",
      error: "",
      timer: undefined,
      nextListing: "",
      configuredAt: new Date().toISOString(),
      attempts: new ListingRecord(),
    };
  }

  async #openPermissions(config: ConnectionConfig, app: GithubApp | undefined): Promise<HostPermissions | undefined> {
    const { kind } = config;
    if (config.permissions !== "host" || isLocal(config)) return undefined;
    const tokenFor = (repository: string): Promise<HostToken> =>
      app?.tokenFor(repository) ?? Promise.resolve(fixedToken(readToken(config)));
    const permissions = new HostPermissions({ ...config, kind: kind as ApiKindName }, { ...this.#services, tokenFor });
    await permissions.load();
    return permissions;
  }

  #schedule(): void {
    for (const connection of this.#connections) {
      if (connection.timer === undefined) this.#listAfter(connection, 0);
      connection.permissions?.start();
    }
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
    const before = this.#running.get(connection) ?? Promise.resolve();
    const listed = before.then(() => this.#list(connection, mayRemoveMost));
    this.#running.set(connection, listed);
    void listed.then(() => {
      if (this.#running.get(connection) === listed) this.#running.delete(connection);
    });
    return listed;
  }

  async #list(connection: Connection, mayRemoveMost: boolean): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { config } = connection;
    let delayMs = config.intervalSeconds * 1000;
    connection.attempts.begin(++this.#attemptCount);
    try {
      const changes = await this.#replace(connection, mayRemoveMost);
      connection.attempts.end("completed", connection.error, changes);
      this.#services.metrics.connectionListings.inc({ outcome: "completed" });
    } catch (error) {
      connection.attempts.end(this.#stop.signal.aborted ? "cancelled" : "failed", errorMessage(error));
      delayMs = error instanceof RateLimitError ? error.waitMs : Math.min(delayMs, retryMsMax);
      connection.error = errorMessage(error);
      if (!this.#stop.signal.aborted) {
        this.#services.metrics.connectionListings.inc({ outcome: "failed" });
        this.#services.log.warn({ connection: config.name }, connection.error);
      }
    }
    this.#listAfter(connection, delayMs);
  }

  async #replace(connection: Connection, mayRemoveMost: boolean): Promise<ListChanges> {
    const { config } = connection;
    const listing = await this.#read(connection);
    const selection = await selectRepositories(config, listing.repositories, this.#services.check);
    const applied = this.#applied.then(() => this.#apply(connection, listing, selection, mayRemoveMost));
    this.#applied = applied.catch(() => undefined);
    return await applied;
  }

  async #apply(
    connection: Connection,
    listing: Listing,
    selection: Selection,
    mayRemoveMost: boolean,
  ): Promise<ListChanges> {
    if (!this.#connections.includes(connection))
      throw new TrawlError("cancelled", "the connection was changed while it was listed");
    const { config, repositories: before } = connection;
    const { kept, missing } = keptRepositories(connection, listing, selection, mayRemoveMost);
    const repositories = withoutCopies([...selection.repositories, ...kept]);
    const isChanged = JSON.stringify(before) !== JSON.stringify(repositories);
    if (isChanged) {
      connection.repositories = repositories;
      connection.permissions?.setRepositories(repositories);
      try {
        await this.#services.apply(config.name);
      } catch (error) {
        connection.repositories = before;
        connection.permissions?.setRepositories(before);
        throw error;
      }
    }
    if (isChanged || missing.size > 0 || connection.missing.size > 0)
      await connection.store.write({ repositories, missing: [...missing] });
    connection.missing = missing;
    connection.lastListed = new Date().toISOString();
    const problems = [...listing.problems, ...selection.problems];
    connection.error = problems.length === 0 ? "" : `left out: ${problems.join("; ")}`;
    if (missing.size > 0)
      this.#services.log.warn(
        { connection: config.name, repositories: [...missing].slice(0, namedMax), count: missing.size },
        "repositories are no longer listed: they are removed if the next list lacks them, too",
      );
    return compareLists(before, repositories);
  }

  async #read({ config, app }: Connection): Promise<Listing> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(listMsMax)]);
    const token = readToken(config);
    const { kind } = config;
    if (app !== undefined) return await listApp(config as ApiConnection, app, signal);
    switch (kind) {
      case "list":
        return await listUrls(config, token, signal);
      case "folder":
        return await listFolder(config, this.#services.dataFolder, signal);
      case "command":
        return await listCommand(config, signal);
      default:
        return await listHost({ ...config, kind }, token, signal);
    }
  }
}

/** What is needed of a repository to find what it is fetched with. */
export type FetchedRepository = Pick<RepositoryConfig, "url" | "source">;

/** "" if there is none. */
function readToken({ name, credential }: ConnectionConfig): string {
  return credential === "" ? "" : readSecret(credential, `connection ${name}`);
}

/** `OWNER/NAME` of `https://github.com/OWNER/NAME.git`. */
function pathIn(url: string): string {
  return withoutSuffix(new URL(url).pathname.slice(1), ".git");
}

function closedWarning({ closedCount, error }: PermissionSummary): readonly string[] {
  return closedCount === 0 || error === ""
    ? []
    : [`only site admins may read ${closedCount} repositories, because the host does not say who else may: ${error}`];
}

/**
 * What stays of the known repositories that are not selected any more. Those that the filters exclude go at once, as do those
 * whose URL may not be fetched now; those that are not listed, or that are listed with something unusable, when that happens
 * for the second time, or when somebody has confirmed the list. Throws `conflict` if most would go sooner or later.
 */
function keptRepositories(
  { config, repositories: before, missing: missedBefore }: Connection,
  { repositories: listed, mayHave }: Listing,
  { repositories, refused }: Selection,
  mayRemoveMost: boolean,
): { readonly kept: readonly RepositoryConfig[]; readonly missing: ReadonlySet<string> } {
  if (mayRemoveMost) return { kept: [], missing: new Set() };
  // Of several that share a name, each is looked for by its URL. Otherwise, one with another URL is the same.
  const shared = sharedNames(before);
  const keyOf = ({ name, url }: Pick<RepositoryConfig, "name" | "url">): string =>
    shared.has(name) ? `${name} ${url}` : name;
  const selected = new Set(repositories.map(keyOf));
  const listedKeys = new Set(
    listed.flatMap(({ name, url, sshUrl }) =>
      [url, sshUrl].map((one) => keyOf({ name: config.prefix + name, url: one })),
    ),
  );
  const isExcluded = (one: RepositoryConfig): boolean =>
    listedKeys.has(keyOf(one)) && (!refused.has(one.name) || refused.get(one.name) === one.url);
  const gone = before.filter((one) => !selected.has(keyOf(one)));
  const unread = gone.filter((one) => !isExcluded(one) && mayHave(one.url));
  const unreadOnes = new Set(unread);
  const going = gone.filter((one) => !unreadOnes.has(one));
  if (going.length > before.length * removedShareMax) throw mostAreGone(config.name, going, before.length);
  const vanished = going.filter((one) => !isExcluded(one) && !missedBefore.has(keyOf(one)));
  return { kept: [...unread, ...vanished], missing: new Set(vanished.map(keyOf)) };
}

/** The names that several have. */
function sharedNames(repositories: readonly RepositoryConfig[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const { name } of repositories) {
    if (seen.has(name)) shared.add(name);
    seen.add(name);
  }
  return shared;
}

/** A page of a host may repeat what an earlier one had. */
function withoutCopies(repositories: readonly RepositoryConfig[]): readonly RepositoryConfig[] {
  return [...new Map(repositories.map((one) => [`${one.name} ${one.url}`, one])).values()];
}

function mostAreGone(connection: string, gone: readonly RepositoryConfig[], count: number): TrawlError {
  const names = gone.slice(0, namedMax).map(({ name }) => name);
  const shown = names.join(", ") + (gone.length > namedMax ? ", ..." : "");
  return new TrawlError(
    "conflict",
    `this would remove ${gone.length} of ${count} repositories (${shown}). If that is intended, run \`trawl connection sync ${connection} --yes\`.`,
  );
}

/** What is remembered of a connection. */
interface KnownList {
  readonly repositories: readonly RepositoryConfig[];
  /** The names of those that the last list did not contain: the next one decides. */
  readonly missing: readonly string[];
}

/** The last list of a connection, in a file of the data directory. It contains no secrets, only where they are. */
class StoredList {
  readonly #path: string;

  constructor(folder: string, name: string) {
    this.#path = join(folder, `${name}.json`);
  }

  /** Undefined if there is none yet, or if the file is damaged: the next listing replaces it. */
  async read(): Promise<KnownList | undefined> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#path, "utf8"));
      // The format of earlier versions.
      if (Array.isArray(value)) return { repositories: value, missing: [] };
      const isKnown = isObject(value) && Array.isArray(value["repositories"]) && Array.isArray(value["missing"]);
      return isKnown ? (value as unknown as KnownList) : undefined;
    } catch {
      return undefined;
    }
  }

  async write(list: KnownList): Promise<void> {
    await replaceFile(this.#path, JSON.stringify(list));
  }
}
