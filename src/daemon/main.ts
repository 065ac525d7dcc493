import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { collectAlone } from "../base/collector.js";
import { callAfter, sleep, type PendingCall } from "../base/deadline.js";
import { Accounts } from "../account/identity/accounts.js";
import { AuditLog, type Actor } from "../account/records/audit-log.js";
import { ContextDirectory } from "../account/contexts/context-directory.js";
import { Authenticator, type AccessTokenPolicy } from "../account/sign-in/authenticator.js";
import { Origins } from "../account/sign-in/origins.js";
import { SignIn } from "../account/sign-in/sign-in.js";
import { TokenLifetimes } from "../account/identity/token-lifetimes.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { lazy } from "../base/lazy.js";
import { LoopDelayMeter } from "../base/loop-delay.js";
import { shareLimits } from "../base/fair-semaphore.js";
import { createLog, type Log } from "../base/log.js";
import { resultWhileYielding } from "../base/yielding.js";
import { createMetrics, type Metrics } from "../base/metrics.js";
import { Catalog } from "../catalog/catalog.js";
import { maySee } from "../catalog/visible-tables.js";
import { redactUrl } from "../git/mirror/remote-url.js";
import { RequestContext, type GraphqlServices } from "../browse/request-context.js";
import { GraphqlExecutor } from "../graphql/execution/executor.js";
import { GitCache } from "../browse/git-reads.js";
import { RepositoryAddresses } from "../graphql/sources/repository-addresses.js";
import { createSchema } from "../graphql/execution/schema.js";
import { ControlServer } from "../http/server/control-server.js";
import { ClientAddresses } from "../http/access/client-address.js";
import { addRoutes } from "../http/routes/routes.js";
import { TrustedHosts } from "../http/access/trusted-hosts.js";
import { descriptorLimit, openAnswersMax } from "../http/server/descriptor-share.js";
import { HttpServer } from "../http/server/uws.js";
import type { Repository } from "../model/repository.js";
import { anonymous, operatorViewer, type Viewer } from "../model/viewer.js";
import { limitUnsentBytes, findListener, widenSendBuffers } from "../native/socket/socket.js";
import { RevisionCache } from "../search/revisions/revision-cache.js";
import { Searcher } from "../search/searcher.js";
import { CommitAttributeReader } from "../search/revisions/commit-attributes.js";
import { SliceScheduler } from "../search/slice-scheduler.js";
import { LineFile } from "../store/line-file.js";
import { CatalogSnapshots } from "../store/catalog-snapshots.js";
import { RecordStore } from "../store/record-store.js";
import { ShardStore } from "../store/shard-store.js";
import { SyncManager } from "../sync/sync-manager.js";
import { IngestPool, ReadPool, SearchPool, searchWorkerEntry } from "../pool/pools.js";
import { Backups } from "./backup.js";
import { differingOptions, resolveOptions } from "./config.js";
import { controlHandlers } from "./control.js";
import type { Controlled, ReloadResult } from "./controlled.js";
import type { ResolvedOptions } from "./options.js";
import { prepareData, recoverStores } from "./data-directory.js";
import { watchGauges } from "./gauges.js";
import { readiness } from "./readiness.js";
import { ServiceManager } from "./service-manager.js";
import { SnapshotSchedule } from "./snapshot-schedule.js";
import { StoreWatch } from "./store-watch.js";
import { readWebhookSecrets } from "./webhook-secrets.js";

/** Open streams get this long to end after the order to stop; the process is gone within ten seconds. */
const drainMs = 4_000;
const exitMs = 9_000;

/** A line of the log names this many repositories. */
const namedRepositoriesMax = 20;

const dayMs = 86_400_000;

/** Once the port is open this long, what the first searches do not need is made before somebody asks for it. */
const warmUpDelayMs = 1_000;

/** What a socket may hold that its client has not taken: enough for any network, little enough to notice a slow one. */
const unsentBytesMax = 128 * 1024;

/**
 * At the end of the daemon a socket takes all that a search may hold for its client, and the kernel delivers it to the
 * slowest.
 */
const lastBytesMax = 1024 * 1024;

/**
 * Runs the daemon until SIGTERM or SIGINT; resolves with the exit code. SIGHUP reads the configuration again: its lists
 * of repositories and contexts take effect, other options need a new start and are named in the log.
 */
export async function runDaemon(options: ResolvedOptions): Promise<number> {
  collectAlone();
  const log = createLog(options.log.level, options.log.format);
  const manager = ServiceManager.fromEnvironment(log);
  const secrets = readWebhookSecrets(options.webhooks.secrets);
  prepareData(options.data);
  // The control socket is the lock on the data directory: nothing in there is touched before it is ours.
  let daemon: Daemon | undefined;
  const control = new ControlServer(
    controlHandlers(() => {
      if (daemon === undefined) throw new TrawlError("overloaded", "the daemon is starting; try again in a moment");
      return daemon;
    }),
    log,
  );
  await control.listen(options.data);
  const snapshots = new CatalogSnapshots(join(options.data, "catalog-snapshots"));
  // Whoever reads that it listens may signal at once.
  const stopped = stopSignal();
  manager.starting("Checking the stores");
  await recoverStores(options.data, snapshots, log);
  manager.starting("Opening the catalog");
  const started = new Daemon(options, secrets, control, snapshots, log);
  await started.load();
  daemon = started;
  manager.starting("Reading the configured repositories");
  // Clients that come while the daemon is started again wait at this socket, and none is refused.
  const socketName = `listen-${options.listen.replaceAll(":", "_")}`;
  const { url, port } = await started.start(manager.takeBack(socketName));
  const listener = findListener(port);
  if (listener !== undefined) manager.keep(socketName, listener);
  process.on(
    "SIGHUP",
    () =>
      void manager.reload(() =>
        started.reload(false).then(
          () => undefined,
          () => undefined,
        ),
      ),
  );
  process.stdout.write(`trawld: listening on ${url}\n`);
  manager.ready(`Listening on ${url}`);
  const lost = await Promise.race([stopped, started.storeLost]);
  const exitCode = lost === undefined ? 0 : 1;
  manager.stopping();
  if (lost === undefined) log.info("stopping");
  else
    log.error(
      { reason: lost },
      "the disk failed while a store was written: the daemon ends, and its next start looks at what the disk has",
    );
  callAfter(exitMs, () => process.exit(exitCode));
  if (lost === undefined) await started.stop();
  // LMDB never answers a write that it could not begin: without the timer nothing would keep the process until it ends
  // with its code.
  else await Promise.race([started.stop().catch(() => undefined), sleep(exitMs)]);
  return exitCode;
}

function stopSignal(): Promise<undefined> {
  return new Promise((resolve) => {
    process.once("SIGTERM", () => resolve(undefined));
    process.once("SIGINT", () => resolve(undefined));
  });
}

/** Who makes the first account. */
const programItself: Actor = { who: "trawld", sudoBy: undefined, from: "start" };

/**
 * The parts of one daemon, put together. Caller guarantees: the data directory is prepared, and `control` listens on
 * it.
 */
class Daemon implements Controlled {
  readonly #options: ResolvedOptions;
  readonly #log: Log;
  readonly catalog: Catalog;
  readonly searcher: Searcher;
  readonly sync: SyncManager;
  readonly accounts: Accounts;
  readonly audit: AuditLog;
  readonly accessTokens: AccessTokenPolicy;
  readonly tokenLifetimes: TokenLifetimes;
  readonly backups: Backups;
  readonly #records: RecordStore;
  readonly #shards: ShardStore;
  readonly #snapshots: SnapshotSchedule;
  readonly #watch: StoreWatch;
  readonly #contexts: ContextDirectory;
  readonly #searchPool: SearchPool;
  readonly #ingestPool: IngestPool;
  readonly #readPool: ReadPool;
  /** Reading the schema takes 0.1 s, which a start with searches waiting does not have. */
  readonly #graphql: () => GraphqlExecutor;
  #warmUpCall: PendingCall | undefined;
  #isStopping = false;
  #loopDelay: LoopDelayMeter | undefined;
  readonly #metrics: Metrics;
  readonly #server: HttpServer;
  readonly #control: ControlServer;
  /** Resolves with the reason when nobody knows any more what the disk has of a store. */
  readonly storeLost: Promise<string>;
  #loseStore: (reason: string) => void = () => undefined;
  /** 0 until it is open. */
  #port = 0;

  constructor(
    options: ResolvedOptions,
    secrets: ReadonlyMap<string, string>,
    control: ControlServer,
    snapshots: CatalogSnapshots,
    log: Log,
  ) {
    this.#options = options;
    this.#control = control;
    this.#log = log;
    this.accessTokens = options.auth.accessTokens;
    const { tokenDays, maxTokenDays, allowTokensWithoutExpiry } = options.auth;
    this.tokenLifetimes = new TokenLifetimes({
      defaultDays: tokenDays,
      longestDays: maxTokenDays,
      allowsNever: allowTokensWithoutExpiry,
    });
    const metrics = createMetrics();
    this.#metrics = metrics.metrics;
    const settings = { dataFolder: options.data, kernel: options.kernel };
    // Its memory is taken as it is used.
    const cache = new RevisionCache(options.search.revisionCacheBytes);
    const pressure = new Int32Array(new SharedArrayBuffer(4));
    const pools = { log, metrics: metrics.metrics };
    // First of all: its threads start while this one reads the catalog.
    this.#searchPool = new SearchPool(
      searchWorkerEntry,
      { ...settings, pressure, arena: cache.arena },
      options.workers,
      pools,
    );
    this.#shards = new ShardStore(join(options.data, "shards"));
    this.#records = new RecordStore(join(options.data, "catalog"));
    this.storeLost = new Promise((resolve) => {
      this.#loseStore = resolve;
    });
    this.#records.onLost = this.#loseStore;
    this.audit = new AuditLog(new LineFile(join(options.data, "audit.log")), log);
    this.#snapshots = new SnapshotSchedule(snapshots, this.#records, log);
    const stores = [
      { name: "the catalog", guard: this.#records.guard },
      { name: "the shard store", guard: this.#shards.guard },
    ];
    this.#watch = new StoreWatch(stores, log, (error) => this.sync.suspend(error));
    this.accounts = new Accounts(this.#records, this.audit, log, (name) => this.sync.commands.removeReader(name));
    this.catalog = new Catalog(this.#records, (shardIds) => this.sync.shards.retire(shardIds));
    this.catalog.onReadersChanged = (before, after) =>
      this.accounts.leases.endMatching(
        (viewer) => maySee(before, viewer) && !maySee(after, viewer),
        "Who may read a repository has changed.",
      );
    const limits = {
      fileBytesMax: options.index.maxFileBytes,
      largeFiles: options.index.largeFiles,
      trigramCountMax: options.index.maxTrigramCount,
    };
    this.#readPool = new ReadPool(
      { ...settings, arena: cache.arena },
      options.readers,
      options.clients.sharePercent,
      pools,
    );
    this.#ingestPool = new IngestPool(settings, options.index.workers, options.index.maxHeapBytes, pools, (progress) =>
      this.sync.activities.record(progress),
    );
    this.sync = new SyncManager({
      catalog: this.catalog,
      pool: this.#ingestPool,
      log,
      metrics: metrics.metrics,
      settings: {
        dataFolder: options.data,
        limits,
        fetch: {
          silenceMs: options.sync.timeoutSeconds * 1000,
          timeoutMs: options.git.maxFetchSeconds * 1000,
          bytesMax: options.git.maxFetchBytes,
          memoryBytesMax: options.git.maxMemoryBytes,
          reserveBytes: options.git.reserveBytes,
          home: options.git.home,
          sshCommand: options.git.sshCommand,
          credentialHelper: options.git.credentialHelper,
          followRedirects: options.git.followRedirects,
        },
        intervalMsMin: options.sync.intervalSeconds * 1000,
        intervalMsMax: options.sync.maxIntervalSeconds * 1000,
        removalGraceMs: options.sync.removalGraceDays * dayMs,
        program: programVersion(),
        onStoreLost: this.#loseStore,
      },
    });
    const scheduler = new SliceScheduler(options.workers, pressure);
    this.backups = new Backups({
      dataFolder: options.data,
      catalog: this.catalog,
      records: this.#records,
      sync: this.sync,
      pool: this.#ingestPool,
      log,
    });
    this.searcher = new Searcher(
      {
        catalog: this.catalog,
        pool: this.#searchPool,
        scheduler,
        commitAttributes: new CommitAttributeReader(this.#readPool, options.readers),
        revisions: { reads: this.#readPool, cache, limits },
        log,
        defaultCount: options.search.defaultCount,
        defaultTimeoutMs: options.search.defaultTimeoutSeconds * 1000,
        maxTimeoutMs: options.search.maxTimeoutSeconds * 1000,
        onShardFailure: (shardId) => {
          this.#watch.look();
          this.sync.repairs.repair(shardId);
        },
      },
      shareLimits(options.search.concurrent, options.search.queue, options.clients.sharePercent),
      metrics.metrics,
    );
    watchGauges(metrics, {
      catalog: this.catalog,
      sync: this.sync,
      scheduler,
      searches: this.searcher,
      ingest: this.#ingestPool,
      read: this.#readPool,
      dataFolder: options.data,
      reserveBytes: options.git.reserveBytes,
      version: programVersion(),
      kernel: options.kernel,
    });
    this.#contexts = new ContextDirectory(this.accounts, options.contexts);
    this.searcher.contextsOf = (viewer) => this.#contexts.contextsForViewer(viewer);
    this.#server = new HttpServer(log, (method, status) =>
      metrics.metrics.httpRequests.inc({ method, status: String(status) }),
    );
    this.#server.setOpenMax(this.#openAnswersMax(options));
    this.#server.setClientAddresses(new ClientAddresses(options.trustedProxies));
    const origins = new Origins(options.externalUrl, options.trustedOrigins);
    const sessionLifetimeMs = options.auth.sessionDays * dayMs;
    const shared = this.#graphqlServices(options);
    this.#graphql = lazy(() => this.#graphqlExecutor(options, shared, metrics.metrics));
    const addresses = new RepositoryAddresses(() => this.catalog.repositoryTable(operatorViewer));
    addRoutes(this.#server, {
      authenticator: new Authenticator(
        this.accounts,
        {
          isPublic: options.auth.public,
          accessTokens: this.accessTokens,
          allowsSudoToSiteAdmins: options.auth.allowSudoToSiteAdmins,
        },
        origins,
        this.audit,
      ),
      origins,
      sharePercent: options.clients.sharePercent,
      hosts: new TrustedHosts({
        listenHost: options.listenHost,
        externalUrl: options.externalUrl,
        trustedHosts: options.trustedHosts,
        machine: hostname(),
      }),
      signIn: new SignIn(this.accounts, this.audit, {
        allowSignup: options.auth.allowSignup,
        sessionLifetimeMs,
        isReserved: (name) => this.#isReader(name),
      }),
      cookies: { areSecure: options.externalUrl.startsWith("https:"), lifetimeMs: sessionLifetimeMs },
      isNameTaken: (name) => this.accounts.isNameTaken(name) || this.#isReader(name),
      graphql: { answer: (...request) => this.#graphql().answer(...request) },
      search: this.searcher,
      content: {
        contextFor: (viewer, from) => new RequestContext(shared, viewer, from, options.graphql.timeoutSeconds * 1000),
        mirrorsFolder: join(options.data, "mirrors"),
        stallMs: options.search.stallSeconds * 1000,
      },
      refresh: (name, viewer) => this.#refresh(name, viewer),
      externalUrl: () => this.externalUrl,
      webhooks: {
        webhookSecrets: secrets,
        requestByAddress: (given) => this.#requestByAddress(addresses.find(given)),
        recordRefusal: (from, reason) => this.audit.recordRefusal(from, reason),
      },
      readiness: (viewer) =>
        readiness(this.#watch.damages, this.sync.statuses(), viewer ?? anonymous, this.#visibleNames(viewer)),
      seesAll: (viewer) => this.catalog.seesAll(viewer),
      metrics,
      log,
      stallMs: options.search.stallSeconds * 1000,
    });
  }

  /**
   * Reads what is stored, with the control socket and the watchdog served meanwhile: 10,000 repositories and as many
   * users take half a second.
   */
  async load(): Promise<void> {
    await resultWhileYielding(this.catalog.load());
    await resultWhileYielding(this.accounts.load());
    this.catalog.reserveRepositoryId(await largestMirrorId(this.#options.data));
    const storedIds = await resultWhileYielding(this.#shards.idsInSteps());
    this.sync.shards.reserveShardIds(Math.max(this.catalog.nextShardId, (storedIds.at(-1) ?? 0) + 1));
    this.sync.shards.retire(storedIds.filter((id) => this.catalog.shard(id) === undefined));
    this.#repairMissing(new Set(storedIds));
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
    this.#log.error(
      {
        shards: missing.map(({ id }) => id),
        repositories: [...names].slice(0, namedRepositoriesMax),
        repositoryCount: names.size,
      },
      `${missing.length} shards are missing from the store; their repositories are indexed again from their mirrors`,
    );
    for (const { id } of missing) this.sync.repairs.repair(id);
  }

  /** Known once the port is open. */
  get externalUrl(): string {
    return this.searcher.baseUrl;
  }

  #visibleNames(viewer: Viewer | undefined): (name: string) => boolean {
    const table = viewer === undefined ? undefined : this.catalog.repositoryTable(viewer);
    return (name) => table?.byName(name) !== undefined;
  }

  #requestByAddress(repositories: readonly Repository[]): readonly string[] {
    for (const { id } of repositories) this.sync.commands.request(id);
    return repositories.map(({ name }) => name);
  }

  /** Whether some repository names this user or organisation among its readers, whether there is one or not. */
  #isReader(name: string): boolean {
    const lower = name.toLowerCase();
    for (const { readers } of this.catalog.repositories())
      if (readers.some((reader) => reader.toLowerCase() === lower)) return true;
    return false;
  }

  #refresh(name: string, viewer: Viewer): boolean {
    const repository = this.catalog.repositoryTable(viewer).byName(name);
    if (repository !== undefined) this.sync.commands.request(repository.id);
    return repository !== undefined;
  }

  #graphqlServices(options: ResolvedOptions): GraphqlServices {
    const { catalog, searcher, sync } = this;
    const configuration = lazy(() => visibleConfiguration(options));
    return {
      repositoryCommands: sync.commands,
      catalog,
      searcher,
      accounts: this.accounts,
      accessTokens: this.accessTokens,
      tokenLifetimes: this.tokenLifetimes,
      audit: this.audit,
      contexts: this.#contexts,
      reads: this.#readPool,
      gitCache: new GitCache(),
      log: this.#log,
      activityOf: (repositoryId) => sync.activities.current(repositoryId),
      externalUrl: () => this.externalUrl,
      configuration,
      siteId: siteId(options.data),
    };
  }

  /** Each search that runs or waits has a connection, which is a descriptor. */
  #openAnswersMax({ search: { concurrent, queue } }: ResolvedOptions): number {
    const count = openAnswersMax(descriptorLimit());
    if (concurrent + queue > count) {
      this.#log.warn(
        `search.concurrent and search.queue allow ${concurrent + queue} searches, and the limit on descriptors ${count} requests; raise LimitNOFILE, or lower search.queue`,
      );
    }
    return count;
  }

  #graphqlExecutor(
    { rateLimits, graphql }: ResolvedOptions,
    services: GraphqlServices,
    metrics: Metrics,
  ): GraphqlExecutor {
    const limits = {
      aliases: rateLimits.graphQLMaxAliases,
      fields: rateLimits.graphQLMaxFieldCount,
      depth: rateLimits.graphQLMaxDepth,
      duplicateFields: rateLimits.graphQLMaxDuplicateFieldCount,
      uniqueFields: rateLimits.graphQLMaxUniqueFieldCount,
    };
    return new GraphqlExecutor(createSchema(), services, limits, graphql.timeoutSeconds * 1000, this.#log, metrics);
  }

  /** Opens the port, or takes the socket that listens already, and begins to sync; returns the address. */
  async start(listener: number | undefined): Promise<{ readonly url: string; readonly port: number }> {
    await this.accounts.start(programItself, !this.#options.auth.allowSignup);
    const port = this.#server.listen(
      this.#options.listenHost,
      this.#options.listenPort,
      (bound) => this.#tuneListener(bound),
      listener,
    );
    this.#port = port;
    const url = `http://${urlHost(this.#options)}:${port}`;
    this.searcher.baseUrl = this.#options.externalUrl || url;
    // Nobody can be asked at a start: what the configuration no longer lists is hidden, and can come back.
    await this.sync.moveSecrets();
    await this.#configureRepositories(this.#options, true);
    this.sync.start();
    this.#warmUpCall = callAfter(warmUpDelayMs, () => void this.#warmUp());
    this.#loopDelay = new LoopDelayMeter((worstSeconds) => this.#recordLoopDelay(worstSeconds));
    return { url, port };
  }

  #recordLoopDelay(worstSeconds: number): void {
    this.#metrics.eventLoopDelaySeconds.observe(worstSeconds);
    this.#metrics.eventLoopDelayMaxSeconds.set(this.#loopDelay?.worstSeconds() ?? worstSeconds);
  }

  /** In several turns of the event loop, as each of these takes some 10 ms. */
  async #warmUp(): Promise<void> {
    void this.#snapshots.takeIfChanged();
    const parts = [() => this.#readPool.warm(), () => void this.#graphql(), () => void this.#graphql().warmUp()];
    for (const begin of parts) {
      await setImmediate();
      if (this.#isStopping) return;
      begin();
    }
  }

  /** Reads the configuration again. Rejects with what is wrong, and then nothing has changed. */
  async reload(mayRemoveMost: boolean): Promise<ReloadResult> {
    try {
      const fresh = resolveOptions(this.#options.typed);
      await this.#configureRepositories(fresh, mayRemoveMost);
      this.#contexts.configured = fresh.contexts;
      const result = {
        repositories: fresh.repositories.length,
        contexts: fresh.contexts.length,
        needRestart: differingOptions(this.#options, fresh),
      };
      this.#log.info(result, "configuration read again; options other than repositories and contexts need a restart");
      return result;
    } catch (error) {
      this.#log.error(`the configuration stays as it was: ${errorMessage(error)}`);
      throw error;
    }
  }

  /** Without a configuration file and without repositories on the command line there is no list that could lack one. */
  async #configureRepositories({ typed, repositories }: ResolvedOptions, mayRemoveMost: boolean): Promise<void> {
    if (typed.configFile === undefined && typed.repositories.length === 0) return;
    await this.sync.configure(repositories, mayRemoveMost);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#warmUpCall?.cancel();
    this.#loopDelay?.close();
    this.#watch.close();
    const streams = this.#server.stop(drainMs);
    if (this.#port !== 0) widenSendBuffers(this.#port, lastBytesMax);
    await this.searcher.stop();
    await Promise.all([streams, this.#control.close(), this.sync.close()]);
    await Promise.all([this.#searchPool.close(), this.#ingestPool.close(), this.#readPool.close()]);
    await this.accounts.close();
    await this.audit.close();
    await this.#snapshots.close();
    await this.#records.close();
  }

  #tuneListener(port: number): void {
    if (this.#options.kernel === "native" && !limitUnsentBytes(port, unsentBytesMax)) {
      this.#log.warn("the system does not bound unsent bytes; very slow clients may be cut");
    }
  }
}

function urlHost({ listenHost }: ResolvedOptions): string {
  return listenHost.includes(":") ? `[${listenHost}]` : listenHost;
}

function programVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return version;
}

/** What a site admin may see of the options: all but passwords and secrets. */
function visibleConfiguration({ typed: _, repositories, webhooks, ...options }: ResolvedOptions): string {
  const secrets = Object.fromEntries(Object.keys(webhooks.secrets).map((id) => [id, "REDACTED"]));
  // Both are commands, and may hold the path of a key or a password.
  const { sshCommand, credentialHelper } = options.git;
  const git = { ...options.git, sshCommand: redacted(sshCommand), credentialHelper: redacted(credentialHelper) };
  return JSON.stringify(
    {
      ...options,
      git,
      webhooks: { secrets },
      repositories: repositories.map((repository) => ({ ...repository, url: redactUrl(repository.url) })),
    },
    null,
    2,
  );
}

function redacted(text: string): string {
  return text === "" ? "" : "REDACTED";
}

/** The same for each start on this data. */
function siteId(dataFolder: string): string {
  return createHash("sha256").update(`${hostname()}\0${dataFolder}`).digest("hex").slice(0, 32);
}

/** The largest repository id for which there is a mirror, 0 without one. */
async function largestMirrorId(dataFolder: string): Promise<number> {
  return (await readdir(join(dataFolder, "mirrors"))).reduce(
    (max, folder) => Math.max(max, Number.parseInt(folder, 10) || 0),
    0,
  );
}
