import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Accounts } from "../account/identity/accounts.js";
import type { TokenLifetimes } from "../account/identity/access-tokens.js";
import type { Actor, AuditLog } from "../account/records/audit-log.js";
import type { AccessTokenPolicy } from "../account/sign-in/authenticator.js";
import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import { lazy } from "../base/lazy.js";
import type { Log } from "../base/log.js";
import { LoopDelayMeter } from "../base/loop-delay.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { OwnerCommands } from "../browse/mirror-answers.js";
import type { Catalog } from "../catalog/catalog.js";
import { RepositoryAddresses } from "../graphql/sources/repository-addresses.js";
import type { ControlServer } from "../http/server/control-server.js";
import type { HttpServer } from "../http/server/uws.js";
import { limitUnsentBytes, widenSendBuffers } from "../native/socket/socket.js";
import { Connections } from "../codehost/connections.js";
import { parseRemoteUrl } from "../git/run/remote-url.js";
import { attributesIn, type RepositoryConfig } from "../model/repository.js";
import { operatorViewer } from "../model/viewer.js";
import type { SharedIndex } from "../fleet/shared-index.js";
import type { Searcher } from "../search/searcher.js";
import type { CatalogSnapshots } from "../store/catalog-snapshots.js";
import type { RemovalGuard } from "../sync/repositories/configured-repositories.js";
import type { SyncManager } from "../sync/sync-manager.js";
import type { Backups } from "./parts/backup.js";
import { checkRepository } from "./config/file-repositories.js";
import { differingOptions } from "./config/config.js";
import type { Controlled, ReloadResult } from "./parts/controlled.js";
import type { ResolvedOptions } from "./config/options.js";
import {
  commitWaiter,
  createGraphqlExecutor,
  createRequestServices,
  elsewhereFinder,
  orderGiver,
  ownerCommands,
} from "./parts/graphql-parts.js";
import { mcpLoader, type McpLoader } from "./parts/mcp-parts.js";
import { createHttpServer } from "./parts/http-parts.js";
import { watchServices } from "./parts/service-gauges.js";
import { Profiler } from "./parts/profiler.js";
import { MetricsServer } from "./parts/metrics-server.js";
import { describeReaders, findLinked, HostReaders } from "./parts/host-readers.js";
import { createParts, type DaemonParts } from "./parts/parts.js";
import { divideCatalog, joinFleet, type JoinedFleet, openSharedIndex, warnOfNames } from "./parts/fleet-parts.js";
import { rereadOptions } from "./config/reread-options.js";
import type { GraphqlExecutor } from "../graphql/execution/executor.js";

/** Time for open streams to end after the stop command. */
const drainMs = 4_000;

/** Maximum number of repositories named in a log line. */
const namedRepositoriesMax = 20;

/** When the port has been open this long, everything that the first searches do not need is prepared in advance. */
const warmUpDelayMs = 1_000;

/**
 * Limit on the data in a socket that its client has not read: enough for any network, small enough to detect a slow
 * client.
 */
const unsentBytesMax = 128 * 1024;

/**
 * At shutdown, a socket accepts everything that a search may hold for its client, and the kernel delivers it, however
 * slow the client.
 */
const lastBytesMax = 1024 * 1024;

/** The actor that creates the first account. */
const programItself: Actor = { who: "trawld", sudoBy: undefined, from: "start" };

/**
 * One daemon: start, reload and stop. Caller guarantees: the data directory is prepared, and `control` listens on it.
 */
export class Daemon implements Controlled {
  readonly #options: ResolvedOptions;
  readonly #parts: DaemonParts;
  readonly catalog: Catalog;
  readonly searcher: Searcher;
  readonly sync: SyncManager;
  readonly accounts: Accounts;
  readonly audit: AuditLog;
  readonly accessTokens: AccessTokenPolicy;
  readonly tokenLifetimes: TokenLifetimes;
  readonly backups: Backups;
  readonly profiler: Profiler;
  readonly connections: Connections;
  readonly waitForCommit: Controlled["waitForCommit"];
  readonly orderRepository: Controlled["orderRepository"];
  readonly findElsewhere: Controlled["findElsewhere"];
  readonly #ownerCommands: OwnerCommands;
  /** Resolves with the reason when the durable state of a store is unknown. */
  readonly storeLost: Promise<string>;
  readonly #server: HttpServer;
  /** Undefined if the metrics are served with everything else. */
  readonly #metricsServer: MetricsServer | undefined;
  /** Undefined on a single host, and before the start. */
  #fleet: JoinedFleet | undefined;
  /** Undefined without `fleet.database`, and before the start. */
  #shared: SharedIndex | undefined;
  readonly #control: ControlServer;
  /** Created lazily: parsing the schema takes 0.1 s, which would delay the first searches. */
  readonly #warmUpSteps: readonly (() => unknown)[];
  #warmUpCall: PendingCall | undefined;
  /** The lists of repositories and connections that are in effect. */
  #configured: ResolvedOptions;
  #isStopping = false;
  #loopDelay: LoopDelayMeter | undefined;
  readonly #hostReaders: HostReaders;
  /** Settles when the last reload is done. */
  #reloads: Promise<unknown> = Promise.resolve();
  /** 0 until the port is open. */
  #port = 0;

  constructor(
    options: ResolvedOptions,
    webhookSecrets: ReadonlyMap<string, string>,
    control: ControlServer,
    snapshots: CatalogSnapshots,
    log: Log,
  ) {
    const parts = createParts(options, snapshots, log);
    this.#hostReaders = new HostReaders(parts);
    this.connections = new Connections({
      folder: join(options.data, "connections"),
      log,
      metrics: parts.registry.metrics,
      dataFolder: options.data,
      check: async (repository) => {
        checkRepository(repository);
        await parts.remotes.require(parseRemoteUrl(repository.url), repository.source);
      },
      known: (connection) => listedBy(parts.catalog, connection),
      // The connection itself has made sure that its list is not a mistake.
      apply: (connection) => this.#configureRepositories(this.#configured, { kind: "keep", exempt: connection }),
      findLinked: (provider, subject) =>
        findLinked(parts.accounts, this.#configured.identityProviders, provider, subject),
      applyReaders: async (connection, repositories) =>
        this.#mayConfigure ? this.#hostReaders.apply(connection, repositories) : [],
      leftOut: (connection) =>
        parts.sync.leftOut.flatMap(({ list, forConnection }) => (list === connection ? [forConnection] : [])),
    });
    parts.sync.onNameFreed = () => this.#configureRepositories(this.#configured, { kind: "keep", exempt: undefined });
    parts.accounts.identities.onChanged = () => this.connections.accountsChanged();
    parts.sync.fetchSecrets = {
      find: (repository) => this.connections.fetchSecret(repository),
      doubt: (repository) => this.connections.doubtSecret(repository),
    };
    parts.sync.describeReaders = (repository) => describeReaders(repository, this.connections);
    const services = createRequestServices(options, parts, this.connections, () => this.#configured);
    const graphql = lazy(() => createGraphqlExecutor(options, services, parts));
    watchServices(parts.registry, { ...parts, connections: this.connections, gitCache: services.gitCache });
    const addresses = new RepositoryAddresses(() => parts.catalog.repositoryTable(operatorViewer));
    this.#options = options;
    this.#parts = parts;
    this.#control = control;
    const mcp = mcpLoader(options, parts);
    this.#warmUpSteps = warmUpSteps(parts, graphql, mcp);
    this.#server = createHttpServer(options, parts, { webhookSecrets, services, addresses, graphql, mcp });
    this.#metricsServer = options.metrics.listen === "" ? undefined : new MetricsServer(options, parts.registry, log);
    this.waitForCommit = commitWaiter(services);
    this.orderRepository = orderGiver(services);
    this.findElsewhere = elsewhereFinder(options, services);
    this.#ownerCommands = ownerCommands(services, parts, addresses);
    this.catalog = parts.catalog;
    this.searcher = parts.searcher;
    this.sync = parts.sync;
    this.accounts = parts.accounts;
    this.audit = parts.audit;
    this.accessTokens = options.auth.accessTokens;
    this.tokenLifetimes = parts.tokenLifetimes;
    this.backups = parts.backups;
    this.profiler = new Profiler({ nameOf: (threadId) => poolOfThread(parts.threads, threadId) });
    this.storeLost = parts.stores.lost;
    this.#configured = options;
  }

  /** Loads the stored data in steps: 10,000 repositories and as many users take half a second. */
  async load(): Promise<void> {
    await divideCatalog(this.#options, this.catalog);
    const [largestId] = await Promise.all([
      largestMirrorId(this.#options.data),
      resultWhileYielding(this.catalog.load()),
    ]);
    this.catalog.reserveRepositoryId(largestId);
    await resultWhileYielding(this.accounts.load());
    for (const records of [this.#parts.jobs, this.#parts.notifications, this.#parts.precise])
      await resultWhileYielding(records.load());
    // Before the port is open: answers of code hosts about readers may have become too old while nothing ran.
    await this.connections.configure(this.#options.connections);
    await this.#applyReaders();
    // Also before: it deletes the files that belong to no upload, and clients have begun none yet.
    await this.#parts.precise.start();
    await this.#parts.resumable.load();
    const storedIds = await resultWhileYielding(this.#parts.stores.shards.idsInSteps());
    this.sync.shards.reserveShardIds(Math.max(this.catalog.nextShardId, (storedIds.at(-1) ?? 0) + 1));
    this.sync.shards.retire(storedIds.filter((id) => !this.#isLive(id)));
    // A node of a fleet with a database fetches them again, once it can.
    if (this.#parts.later === undefined) this.#repairMissing(new Set(storedIds));
  }

  #isLive(shardId: number): boolean {
    return this.catalog.shard(shardId) !== undefined || this.catalog.historyShard(shardId) !== undefined;
  }

  #repairMissing(storedIds: ReadonlySet<number>): void {
    const missing = this.catalog
      .shards()
      .map(({ record }) => record)
      .filter(({ id }) => !storedIds.has(id));
    if (missing.length === 0) return;
    const names = new Set(
      missing.flatMap(({ repositoryIds }) => repositoryIds).flatMap((id) => this.catalog.repository(id)?.name ?? []),
    );
    this.#parts.log.error(
      {
        shards: missing.map(({ id }) => id),
        repositories: [...names].slice(0, namedRepositoriesMax),
        repositoryCount: names.size,
      },
      `${missing.length} shards are missing from the store; their repositories will be indexed again from their mirrors`,
    );
    for (const { id } of missing) this.sync.repairs.repair(id);
  }

  metricsText(): Promise<string> {
    return this.#parts.registry.text();
  }

  /** Known once the port is open. */
  get externalUrl(): string {
    return this.searcher.baseUrl;
  }

  /** Opens the port, or uses the socket that is already listening, and starts to sync; returns the address. */
  async start(listener: number | undefined): Promise<{ readonly url: string; readonly port: number }> {
    const { metrics } = this.#parts.registry;
    this.#fleet = await joinFleet(this.#options, this.searcher, this.#parts, this.#ownerCommands, metrics);
    this.#shared = await openSharedIndex(this.#options, this.#parts, this.#fleet);
    const hasRepository = (id: number): boolean => this.catalog.repository(id) !== undefined;
    await this.accounts.start(programItself, !this.#options.auth.allowSignup, hasRepository);
    const port = this.#server.listen(
      this.#options.listenHost,
      this.#options.listenPort,
      (bound) => this.#tuneListener(bound),
      listener,
    );
    this.#port = port;
    this.#metricsServer?.start();
    const url = `http://${urlHost(this.#options)}:${port}`;
    this.searcher.baseUrl = this.#options.externalUrl || url;
    // Nobody can be asked for confirmation at startup: if most of a list is missing, it stays searchable until somebody is.
    if (this.#mayConfigure) await this.sync.moveSecrets();
    await this.#inTurn(async () => {
      this.#configureProviders(this.#configured);
      this.#parts.providers.start();
      await this.#configureRepositories(this.#configured, { kind: "keep", exempt: undefined });
    });
    this.sync.start();
    if (this.#mayConfigure) this.connections.start();
    this.#followIndex();
    await Promise.all([this.#parts.jobs.start(), this.#parts.notifications.start()]);
    if (this.#options.search.warmPercent > 0) this.#warmUpCall = callAfter(warmUpDelayMs, () => void this.#warmUp());
    this.#loopDelay = new LoopDelayMeter((worstSeconds) => this.#recordLoopDelay(worstSeconds));
    return { url, port };
  }

  /** Whether this daemon decides which repositories there are: a node that follows does not. */
  get #mayConfigure(): boolean {
    return this.#options.fleet.database === "" || this.#shared?.replica.isOwner === true;
  }

  /** In a fleet with a database: what follows when this node begins to change the index, or ceases to. */
  #followIndex(): void {
    const shared = this.#shared;
    if (shared === undefined) return;
    const { replica } = shared;
    let areListed = false;
    // Resolves with whether all of it is done: it is begun again otherwise.
    const begin = async (): Promise<boolean> => {
      if (!this.#mayConfigure || this.#isStopping) return false;
      let isApplied = true;
      try {
        await this.sync.moveSecrets();
        await this.#configureRepositories(this.#configured, { kind: "keep", exempt: undefined });
      } catch (error) {
        isApplied = false;
        this.#parts.log.error(`the configured repositories were not applied: ${errorMessage(error)}`);
      }
      if (!this.#mayConfigure) return false;
      this.sync.resume();
      if (!areListed) this.connections.start();
      areListed = true;
      return isApplied;
    };
    replica.onOwner = (isOwner) => {
      if (isOwner) return this.#inTurn(begin);
      this.sync.pause(() => replica.refusal);
      return undefined;
    };
    shared.start();
  }

  #recordLoopDelay(worstSeconds: number): void {
    this.#parts.registry.metrics.eventLoopDelaySeconds.observe(worstSeconds);
    this.#parts.registry.metrics.eventLoopDelayMaxSeconds.set(this.#loopDelay?.worstSeconds() ?? worstSeconds);
  }

  /** In several iterations of the event loop, because each of these takes about 10 ms. */
  async #warmUp(): Promise<void> {
    await this.#parts.noSearch();
    for (const begin of this.#warmUpSteps) {
      await setImmediate();
      if (this.#isStopping) return;
      try {
        await begin();
      } catch (error) {
        // For lack of descriptors, for example. The first request that needs it gets the error.
        this.#parts.log.warn(`the daemon could not prepare for the first requests: ${errorMessage(error)}`);
      }
    }
  }

  /** Reloads the configuration. If it is invalid, rejects with the errors, and nothing has changed. */
  reload(mayRemoveMost: boolean): Promise<ReloadResult> {
    return this.#inTurn(() => this.#reloadNow(mayRemoveMost));
  }

  /** Applies a configuration after those before it: a reload may be asked for while the daemon starts. */
  #inTurn<T>(apply: () => Promise<T>): Promise<T> {
    const applied = this.#reloads.then(apply);
    this.#reloads = applied.catch(() => undefined);
    return applied;
  }

  async #reloadNow(mayRemoveMost: boolean): Promise<ReloadResult> {
    try {
      const fresh = await rereadOptions(this.#options.typed);
      await this.#reconfigure(fresh, mayRemoveMost);
      this.#parts.contexts.configured = fresh.contexts;
      this.#configureProviders(fresh);
      const result = {
        repositories: fresh.repositories.length,
        contexts: fresh.contexts.length,
        needRestart: differingOptions(this.#options, fresh),
      };
      this.#parts.log.info(
        result,
        "configuration read again; options other than repositories, contexts, connections and identity providers need a restart",
      );
      return result;
    } catch (error) {
      this.#parts.log.error(`the configuration was not changed: ${errorMessage(error)}`);
      throw error;
    }
  }

  #configureProviders(options: ResolvedOptions): void {
    const { providers, directory, log } = this.#parts;
    providers.configure(options.identityProviders);
    directory.configure(options.identityProviders);
    warnOfNames(options, log);
  }

  /** Restores the previous connections if the configuration is refused. */
  async #reconfigure(fresh: ResolvedOptions, mayRemoveMost: boolean): Promise<void> {
    await this.connections.configure(fresh.connections);
    try {
      await this.#configureRepositories(fresh, { kind: mayRemoveMost ? "remove" : "refuse" });
      this.#configured = fresh;
      // The accounts that count may be those of another issuer.
      this.connections.accountsChanged();
    } catch (error) {
      await this.connections.configure(this.#configured.connections);
      throw error;
    }
  }

  /** Without a configuration file and repositories on the command line, there is no list. */
  async #configureRepositories({ typed, repositories }: ResolvedOptions, guard: RemovalGuard): Promise<void> {
    if (!this.#mayConfigure || (typed.configFile === undefined && typed.repositories.length === 0)) return;
    const listed = [...repositories, ...this.connections.repositories()];
    await this.sync.configure(listed, this.connections.names(), guard);
    // A host may have answered meanwhile.
    await this.#applyReaders();
  }

  async #applyReaders(): Promise<void> {
    if (!this.#mayConfigure) return;
    await this.connections.applyReaders();
    await this.#hostReaders.closeUndecided(this.connections);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#warmUpCall?.cancel();
    this.#loopDelay?.close();
    const { jobs, resumable, notifications, precise } = this.#parts;
    const work = Promise.all([
      jobs.stop(),
      resumable.stop(),
      notifications.stop(),
      precise.stop(),
      this.connections.close(),
    ]);
    this.#parts.watch.close();
    this.#parts.providers.close();
    const streams = this.#server.stop(drainMs);
    const metricsServer = this.#metricsServer?.stop();
    if (this.#port !== 0) widenSendBuffers(this.#port, lastBytesMax);
    await Promise.all([this.searcher.stop(), this.#parts.warmer.close()]);
    await this.#fleet?.stop();
    await Promise.all([streams, metricsServer, this.#control.close(), this.sync.close(), work]);
    await this.#shared?.close();
    const { search, ingest, read } = this.#parts.threads;
    await Promise.all([search.close(), ingest.close(), read.close(), this.#parts.spans?.close()]);
    await this.accounts.close();
    await this.#hostReaders.written();
    await this.audit.close();
    await this.#parts.snapshots.close();
    await this.#parts.stores.records.close();
  }

  #tuneListener(port: number): void {
    if (this.#options.kernel === "native" && !limitUnsentBytes(port, unsentBytesMax)) {
      this.#parts.log.warn(
        "the system does not support a limit on unsent bytes; very slow clients may be disconnected",
      );
    }
  }
}

/** The repositories that a connection has listed, as far as the catalog knows. */
function listedBy(catalog: Catalog, connection: string): readonly RepositoryConfig[] {
  return [...catalog.repositories()]
    .filter(({ configured, removedAt, source }) => configured && removedAt === "" && source?.connection === connection)
    .map((repository) => ({
      name: repository.name,
      url: repository.url,
      credential: repository.credential,
      branches: repository.branches,
      intervalSeconds: repository.intervalSeconds,
      ...attributesIn(repository),
    }));
}

function urlHost({ listenHost }: ResolvedOptions): string {
  return listenHost.includes(":") ? `[${listenHost}]` : listenHost;
}

/** The largest repository id for which there is a mirror; 0 if there is none. */
async function largestMirrorId(dataFolder: string): Promise<number> {
  return (await readdir(join(dataFolder, "mirrors"))).reduce(
    (max, folder) => Math.max(max, Number.parseInt(folder, 10) || 0),
    0,
  );
}

/** The name of the pool that the thread belongs to; undefined for a thread of none. */
function poolOfThread(threads: DaemonParts["threads"], threadId: number): string | undefined {
  return (["search", "read", "ingest"] as const).find((name) => threads[name].threadIds.includes(threadId));
}

/** What is prepared after the start, so that the first requests do not wait for it; each takes 10 ms or more. It may fail. */
function warmUpSteps(parts: DaemonParts, graphql: () => GraphqlExecutor, mcp: McpLoader): (() => unknown)[] {
  return [
    () => void parts.snapshots.takeIfChanged(),
    () => parts.warmer.start(),
    () => parts.threads.read.warm(),
    () => void graphql(),
    () => graphql().warmUp(),
    () => mcp?.(),
  ];
}
