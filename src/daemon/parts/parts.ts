import { hostname } from "node:os";
import { join } from "node:path";
import { Accounts } from "../../account/identity/accounts.js";
import { ContextDirectory } from "../../account/context-directory.js";
import { TokenLifetimes } from "../../account/identity/access-tokens.js";
import { SealedTexts } from "../../account/identity/sealed-texts.js";
import { ScimDirectory } from "../../account/directory/scim-directory.js";
import { ProviderSignIn } from "../../account/sign-in/provider-sign-in.js";
import { AuditLog } from "../../account/records/audit-log.js";
import { sleep } from "../../base/deadline.js";
import { shareLimits } from "../../base/fair-semaphore.js";
import type { Log } from "../../base/log.js";
import { createMetrics, type MetricRegistry, type Metrics } from "../../base/metrics.js";
import { Catalog } from "../../catalog/catalog.js";
import type { Manifest } from "../../catalog/manifest.js";
import { maySee } from "../../catalog/visible-tables.js";
import { IngestPool } from "../../pool/ingest-pool.js";
import { ReadPool } from "../../pool/read-pool.js";
import { SearchPool, searchWorkerEntry } from "../../pool/search-pool.js";
import { jobsFolder, SearchJobs } from "../../jobs/search-jobs.js";
import { loadKernel } from "../../native/kernel/load.js";
import { Notifications } from "../../notify/notifications.js";
import { PreciseIndexes } from "../../precise/precise-indexes.js";
import { makePressure } from "../../protocol/control-block.js";
import { ResumableStreams, resumeFolder } from "../../resume/resumable-streams.js";
import { CommitLists } from "../../search/history/history-choice.js";
import { IndexedContributors } from "../../search/history/indexed-contributors.js";
import { CommitAttributeReader } from "../../search/revisions/commit-attributes.js";
import { RevisionCache } from "../../search/revisions/revision-cache.js";
import { CostBudgets } from "../../search/limits/search-limits.js";
import { mirrorsFolder } from "../../model/repository.js";
import { Mirrors } from "../../browse/mirrors.js";
import { Searcher } from "../../search/searcher.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import { CodeWarmer } from "../../search/warming/code-warmer.js";
import { ShardWarmer } from "../../search/warming/shard-warmer.js";
import { SliceScheduler } from "../../search/slices/search-slices.js";
import type { CatalogSnapshots } from "../../store/catalog-snapshots.js";
import { LineFile } from "../../store/line-file.js";
import { SyncActivities } from "../../sync/services/activity.js";
import { SyncManager } from "../../sync/sync-manager.js";
import { Backups } from "./backup.js";
import { readObjectOptions } from "../config/fleet-options.js";
import { LaterManifest } from "./later-manifest.js";
import { watchGauges } from "./gauges.js";
import type { ResolvedOptions } from "../config/options.js";
import { RemoteRules } from "../../git/mirror/remote-rules.js";
import { SpanExporter, spanSender } from "./span-exporter.js";
import { SnapshotSchedule } from "./snapshot-schedule.js";
import { StoreWatch } from "./store-watch.js";
import { programVersion } from "./program.js";
import { globalId } from "../../browse/ids.js";
import { type OwnShare, type SyncServices, type SyncSettings, wholeShare } from "../../sync/services/sync-settings.js";
import { RecordStore } from "../../store/record-store.js";
import { ShardStore } from "../../store/shard-store.js";

/** All components of a daemon except its server. */
export interface DaemonParts {
  readonly log: Log;
  readonly registry: MetricRegistry;
  readonly stores: Stores;
  readonly audit: AuditLog;
  readonly snapshots: SnapshotSchedule;
  readonly catalog: Catalog;
  readonly manifest: Manifest;
  /** What of it this node changes. */
  readonly share: OwnShare;
  /** The manifest as long as it is not opened; undefined on a single host, and in a fleet without a database. */
  readonly later: LaterManifest | undefined;
  readonly threads: Threads;
  readonly sync: SyncManager;
  /** Where repositories may be fetched from. */
  readonly remotes: RemoteRules;
  readonly accounts: Accounts;
  readonly contexts: ContextDirectory;
  readonly providers: ProviderSignIn;
  readonly directory: ScimDirectory;
  readonly tokenLifetimes: TokenLifetimes;
  readonly watch: StoreWatch;
  readonly searcher: Searcher;
  readonly mirrors: Mirrors;
  readonly revisionCache: RevisionCache;
  /** Undefined unless spans are exported. */
  readonly spans: SpanExporter | undefined;
  readonly warmer: ShardWarmer;
  readonly backups: Backups;
  readonly jobs: SearchJobs;
  readonly resumable: ResumableStreams;
  readonly precise: PreciseIndexes;
  readonly notifications: Notifications;
  /** Resolves when no search is running, or after some seconds. */
  readonly noSearch: () => Promise<void>;
}

/** How often work that can wait checks whether a search is running, and how many times at most. */
const searchWaitMs = 200;
const searchWaitsMax = 20;

interface Threads {
  readonly search: SearchPool;
  readonly read: ReadPool;
  readonly ingest: IngestPool;
}

/** Each component is created after those that it uses. */
export function createParts(options: ResolvedOptions, files: CatalogSnapshots, log: Log): DaemonParts {
  const registry = createMetrics();
  const { metrics } = registry;
  const settings = { dataFolder: options.data, kernel: options.kernel };
  const pools = { log, metrics };
  // Its memory is allocated only as it is used.
  const cache = new RevisionCache(options.search.revisionCacheBytes);
  const pressure = makePressure();
  const searchSettings = { ...settings, pressure, arena: cache.arena };
  const search = new SearchPool(searchWorkerEntry, searchSettings, options.workers, pools);
  // Its threads start while the main thread loads the catalog.
  if (options.search.warmPercent > 0) search.startAll();
  const stores = new Stores(options.data);
  const { records } = stores;
  const audit = new AuditLog(new LineFile(join(options.data, "audit.log")), log);
  const snapshots = new SnapshotSchedule(files, records, log);
  const catalog = new Catalog(records);
  const readSettings = {
    ...settings,
    arena: cache.arena,
    ctagsCommand: options.index.symbols ? options.index.ctagsCommand : undefined,
  };
  const read = new ReadPool(readSettings, options.readers, options.clients.sharePercent, pools);
  const activities = new SyncActivities(catalog);
  const { workers, maxHeapBytes } = options.index;
  const objects = readObjectOptions(options.fleet, true);
  const ingest = new IngestPool({ ...settings, objects }, workers, maxHeapBytes, pools, (progress) =>
    activities.record(progress),
  );
  const threads = { search, read, ingest };
  const scheduler = new SliceScheduler(options.workers, pressure);
  const isSearching = (): boolean => searcher.isSearching;
  // A single host keeps its own manifest.
  const later = options.fleet.database === "" ? undefined : new LaterManifest();
  const manifest: Manifest = later ?? catalog;
  const restore: SyncServices["restore"] = later && ((record, kind) => later.restore(record, kind));
  const share = later === undefined ? wholeShare : later.share(catalog);
  const services = { catalog, manifest, share, pool: ingest, activities, log, metrics, restore, isSearching };
  const sync = createSync(options, services, (reason) => stores.recordLoss(reason));
  catalog.onRetired = (shardIds) => sync.shards.retire(shardIds);
  const accounts = createAccounts(stores, audit, log, catalog, sync);
  const contexts = new ContextDirectory(accounts, options.contexts);
  const watch = watchStores(stores, log, sync);
  const spans = createSpanExporter(options, registry, log);
  const searchParts = { catalog, threads, scheduler, cache, accounts, contexts, watch, sync, log, registry, spans };
  const searcher = createSearcher(options, searchParts);
  const warmer = createWarmer(options, searcher, searchParts, stores);
  const backups = new Backups({ dataFolder: options.data, catalog, records, sync, pool: ingest, log });
  const tokenLifetimes = createTokenLifetimes(options);
  const parts = {
    log,
    registry,
    stores,
    audit,
    snapshots,
    catalog,
    manifest,
    share,
    later,
    threads,
    sync,
    accounts,
    contexts,
  };
  const providers = createProviders(options, parts);
  const all: DaemonParts = {
    ...parts,
    remotes: new RemoteRules(options.data, options.git.networks),
    tokenLifetimes,
    providers,
    directory: new ScimDirectory(accounts, providers.users, log),
    watch,
    searcher,
    mirrors: new Mirrors({
      name: options.fleet.node,
      folder: join(options.data, mirrorsFolder),
      reads: threads.read,
      record: (id) => catalog.repository(id),
      fleet: () => searcher.fleet,
      isShared: options.fleet.database !== "",
      log,
      metrics,
    }),
    revisionCache: cache,
    spans,
    warmer,
    backups,
    jobs: createJobs(options, searcher, parts),
    resumable: createResumable(options, searcher, catalog, log, metrics),
    precise: createPrecise(options, parts),
    notifications: createNotifications(options, searcher, parts),
    noSearch: () => waitWhile(isSearching),
  };
  watchParts(options, all, scheduler);
  return all;
}

async function waitWhile(isSearching: () => boolean): Promise<void> {
  for (let waits = 0; waits < searchWaitsMax && isSearching(); waits++) await sleep(searchWaitMs);
}

function watchParts(options: ResolvedOptions, parts: DaemonParts, scheduler: SliceScheduler): void {
  const { registry, catalog, sync, searcher, threads } = parts;
  watchGauges(registry, {
    catalog,
    sync,
    scheduler,
    searches: searcher,
    ingest: threads.ingest,
    read: threads.read,
    dataFolder: options.data,
    reserveBytes: options.git.reserveBytes,
    version: programVersion(),
    kernel: options.kernel,
  });
}

function createAccounts({ records }: Stores, audit: AuditLog, log: Log, catalog: Catalog, sync: SyncManager): Accounts {
  const accounts = new Accounts(records, audit, log, (name) => sync.commands.removeReader(name));
  catalog.onReadersChanged = (before, after) =>
    accounts.leases.endMatching(
      (viewer) => maySee(before, viewer) && !maySee(after, viewer),
      "The readers of a repository have changed.",
    );
  return accounts;
}

function createSpanExporter(
  { tracing }: ResolvedOptions,
  { metrics }: MetricRegistry,
  log: Log,
): SpanExporter | undefined {
  if (tracing.endpoint === "") return undefined;
  const resource = {
    "service.name": "trawl",
    "service.version": programVersion(),
    "host.name": hostname(),
    "process.pid": String(process.pid),
  };
  return new SpanExporter({
    send: spanSender(tracing.endpoint, userAgent(), tracing.credential),
    resource,
    metrics,
    log,
  });
}

function userAgent(): string {
  return `trawl/${programVersion()}`;
}

function createProviders(
  { auth, data }: ResolvedOptions,
  { accounts, audit, catalog, later, log }: Pick<DaemonParts, "accounts" | "audit" | "catalog" | "later" | "log">,
): ProviderSignIn {
  return new ProviderSignIn(accounts, audit, log, {
    sessionLifetimeMs: auth.sessionDays * 86_400_000,
    isReserved: (name) => {
      later?.requireReaders();
      return catalog.isReader(name);
    },
    sealed: new SealedTexts(join(data, "session-key")),
    load: async (config) => {
      const { IdentityProvider } = await import("../../account/sign-in/identity-provider.js");
      return new IdentityProvider(config);
    },
  });
}

function createTokenLifetimes({ auth }: ResolvedOptions): TokenLifetimes {
  return new TokenLifetimes({
    defaultDays: auth.tokenDays,
    longestDays: auth.maxTokenDays,
    allowsNever: auth.allowTokensWithoutExpiry,
  });
}

function watchStores({ records, shards }: Stores, log: Log, sync: SyncManager): StoreWatch {
  const watched = [
    { name: "the catalog", guard: records.guard },
    { name: "the shard store", guard: shards.guard },
  ];
  return new StoreWatch(watched, log, (error) => sync.suspend(error));
}

interface SearchParts
  extends Pick<
    DaemonParts,
    "catalog" | "threads" | "accounts" | "contexts" | "watch" | "sync" | "log" | "registry" | "spans"
  > {
  readonly scheduler: SliceScheduler;
  readonly cache: RevisionCache;
}

function createSearcher(options: ResolvedOptions, parts: SearchParts): Searcher {
  const { catalog, threads, scheduler, cache, accounts, contexts, log, registry } = parts;
  const { search, clients } = options;
  const lists = new CommitLists();
  const contributors = new IndexedContributors({
    catalog,
    repository: (id) => catalog.repository(id),
    pool: threads.search,
    scheduler,
    lists,
    reads: threads.read,
  });
  const searcher = new Searcher(
    {
      catalog,
      pool: threads.search,
      scheduler,
      commitAttributes: new CommitAttributeReader(threads.read, options.readers, contributors),
      ownersOf: (repositoryId) => accounts.ownerFiles.bytesOf(repositoryId),
      revisions: { reads: threads.read, cache, limits: indexLimits(options) },
      commitLists: lists,
      log,
      defaultCount: search.defaultCount,
      defaultTimeoutMs: search.defaultTimeoutSeconds * 1000,
      maxTimeoutMs: search.maxTimeoutSeconds * 1000,
      budgets: new CostBudgets({
        scannedBytes: search.budgetScannedBytes,
        workerMs: search.budgetWorkerSeconds * 1000,
        windowMs: search.budgetSeconds * 1000,
      }),
      slowSearches: {
        slowMs: options.log.slowSearchMilliseconds || Infinity,
        costlyMs: options.log.costlySearchMilliseconds || Infinity,
        logsQueries: options.log.queries,
      },
      onSpan: parts.spans && ((span) => parts.spans?.add(span)),
      onShardFailure: repairShard(parts),
    },
    shareLimits(search.concurrent, search.queue, clients.sharePercent),
    registry.metrics,
  );
  searcher.contextsOf = (viewer) => contexts.contextsForViewer(viewer);
  searcher.addressesOf = (name) => {
    const user = accounts.userByName(name);
    const emails = user === undefined ? undefined : accounts.emails.of(user.id);
    return emails?.filter(({ isVerified }) => isVerified).map(({ address }) => address);
  };
  return searcher;
}

type JobParts = Pick<DaemonParts, "stores" | "accounts" | "catalog" | "threads" | "log" | "registry">;

function createJobs(
  { data, jobs, kernel }: ResolvedOptions,
  searcher: Searcher,
  { stores, accounts, catalog, threads, log, registry: { metrics } }: JobParts,
): SearchJobs {
  return new SearchJobs({
    folder: jobsFolder(data),
    store: stores.records,
    searcher,
    reads: threads.read,
    baseUrl: () => searcher.baseUrl,
    repository: (id) => catalog.repository(id),
    viewerOf: (userId) => {
      const user = accounts.activeUser(userId);
      return user === undefined ? undefined : accounts.toViewer(user);
    },
    kernel: loadKernel(kernel),
    log,
    metrics,
    limits: {
      concurrent: jobs.concurrent,
      countMax: jobs.countMax,
      ofUserMax: Math.max(1, Math.floor(jobs.countMax / 10)),
      bytesMax: jobs.bytes,
      totalBytesMax: jobs.totalBytes,
      exportBytesMax: jobs.exportBytes,
      retentionDays: jobs.retentionDays,
      timeoutMs: jobs.timeoutSeconds * 1000,
    },
  });
}

/** How long one look for a commit in a mirror may take. */
const commitLookMs = 60_000;

function createPrecise(
  { data, precise }: ResolvedOptions,
  { stores, catalog, threads, sync, log }: Pick<DaemonParts, "stores" | "catalog" | "threads" | "sync" | "log">,
): PreciseIndexes {
  const hasCommit = async (repositoryId: number, oid: string): Promise<boolean> => {
    const limits = { timeoutMs: commitLookMs, stop: new Int32Array(new SharedArrayBuffer(4)), client: "uploads" };
    return (await threads.read.run({ kind: "read-commits", repositoryId, oids: [oid] }, limits)).commits.length > 0;
  };
  const indexes = new PreciseIndexes({
    dataFolder: data,
    store: stores.records,
    repository: (id) => catalog.repository(id),
    bringCommit: async ({ id, name }, oid) => {
      if (await hasCommit(id, oid)) return true;
      await sync.commands.sync(name);
      return hasCommit(id, oid);
    },
    build: (task) => threads.ingest.precise(task),
    log,
    limits: {
      uploadBytesMax: precise.uploadBytes,
      indexBytesMax: precise.indexBytes,
      totalBytesMax: precise.totalBytes,
      keptMax: precise.keptCount,
    },
  });
  catalog.onRemoved = (repositoryIds) =>
    void indexes
      .removeRepositories(repositoryIds)
      .catch((error: unknown) => log.error({ err: error }, "indexes of a deleted repository could not be deleted"));
  return indexes;
}

function createResumable(
  { data, resume }: ResolvedOptions,
  searcher: Searcher,
  catalog: Catalog,
  log: Log,
  metrics: Metrics,
): ResumableStreams {
  return new ResumableStreams({
    folder: resumeFolder(data),
    version: programVersion(),
    searcher,
    tableOf: (viewer) => catalog.repositoryTable(viewer),
    log,
    metrics,
    limits: { countMax: resume.countMax, bytesMax: resume.bytes, retentionDays: resume.retentionDays },
  });
}

function createWarmer(
  { search }: ResolvedOptions,
  searcher: Searcher,
  parts: SearchParts,
  { shards }: Stores,
): ShardWarmer {
  const { catalog, threads, scheduler, log } = parts;
  const environment = { catalog, pool: threads.search, scheduler, log, onShardFailure: repairShard(parts) };
  const searchAsPage = (query: string, stop: AbortSignal): Promise<void> => searcher.warmUp(query, stop);
  const readCommit = (view: CatalogView, stop: AbortSignal): Promise<void> => searcher.warmUpReads(view, stop);
  const codeWarmer = new CodeWarmer(environment, () => parts.sync.hasPendingSymbols, searchAsPage, readCommit);
  return new ShardWarmer(environment, {
    faultCount: () => shards.guard.faultCount,
    memoryShare: search.warmPercent / 100,
    afterPass: (view) => codeWarmer.run(view),
    onClose: () => codeWarmer.stop(),
  });
}

/** What to do when a shard could not be read. */
function repairShard({ watch, sync }: SearchParts): (shardId: number) => void {
  return (shardId) => {
    watch.look();
    sync.repairs.repair(shardId);
    sync.historyRepairs.repair(shardId);
  };
}

interface UsedParts {
  readonly stores: Stores;
  readonly accounts: Accounts;
  readonly audit: AuditLog;
  readonly catalog: Catalog;
  readonly log: Log;
  readonly registry: MetricRegistry;
}

/** Also connects them to the changes of the catalog. */
function createNotifications(
  { notifications, mail }: ResolvedOptions,
  searcher: Searcher,
  { stores, accounts, audit, catalog, log, registry: { metrics } }: UsedParts,
): Notifications {
  const created = new Notifications({
    store: stores.records,
    accounts,
    searcher,
    repository: (id) => catalog.repository(id),
    baseUrl: () => searcher.baseUrl,
    searchKey: (id) => globalId("SavedSearch", id),
    userAgent: userAgent(),
    log,
    audit,
    metrics,
    mail,
    limits: {
      countMax: notifications.countMax,
      intervalMs: notifications.intervalSeconds * 1000,
      timeoutMs: notifications.timeoutSeconds * 1000,
      queueBytes: notifications.queueBytes,
      attemptsMax: notifications.attempts,
      retryMs: notifications.retrySeconds * 1000,
      origins: notifications.origins,
      networks: notifications.networks,
    },
  });
  catalog.onStaging = (changed) => created.stage(changed);
  return created;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The limits that determine which content is indexed. */
function indexLimits({ index }: ResolvedOptions): SyncSettings["limits"] {
  return {
    fileBytesMax: index.maxFileBytes,
    largeFiles: index.largeFiles,
    trigramCountMax: index.maxTrigramCount,
  };
}

function createSync(
  options: ResolvedOptions,
  services: Omit<SyncServices, "settings">,
  onStoreLost: (reason: string) => void,
): SyncManager {
  const settings: SyncSettings = {
    dataFolder: options.data,
    limits: indexLimits(options),
    fetch: fetchSettings(options),
    symbols: { enabled: options.index.symbols, command: options.index.ctagsCommand },
    intervalMsMin: options.sync.intervalSeconds * 1000,
    intervalMsMax: options.sync.maxIntervalSeconds * 1000,
    acceptEmptyMs: options.sync.acceptEmptyHours * hourMs,
    removalGraceMs: options.sync.removalGraceDays * dayMs,
    historyBytesMax: options.index.historyBytes,
    program: programVersion(),
    onStoreLost,
  };
  return new SyncManager({ ...services, settings });
}

function fetchSettings({ sync, git }: ResolvedOptions): SyncSettings["fetch"] {
  return {
    silenceMs: sync.timeoutSeconds * 1000,
    timeoutMs: git.maxFetchSeconds * 1000,
    bytesMax: git.maxFetchBytes,
    memoryBytesMax: git.maxMemoryBytes,
    reserveBytes: git.reserveBytes,
    home: git.home,
    sshCommand: git.sshCommand,
    credentialHelper: git.credentialHelper,
    followRedirects: git.followRedirects,
    networks: git.networks,
    lfsBytesMax: git.maxLfsBytes,
    lfsPointersMax: git.maxLfsPointers,
  };
}

/** The two stores of the data directory, opened. */
class Stores {
  readonly shards: ShardStore;
  readonly records: RecordStore;
  /** Resolves with the reason when the durable state of a store is unknown. */
  readonly lost: Promise<string>;
  readonly #lose: (reason: string) => void;

  constructor(dataFolder: string) {
    this.shards = new ShardStore(join(dataFolder, "shards"));
    this.records = new RecordStore(join(dataFolder, "catalog"));
    let lose: (reason: string) => void = () => undefined;
    this.lost = new Promise((resolve) => {
      lose = resolve;
    });
    this.#lose = lose;
    this.records.onLost = lose;
  }

  /** Called when a write in a thread has failed with an unknown outcome. */
  recordLoss(reason: string): void {
    this.#lose(reason);
  }
}
