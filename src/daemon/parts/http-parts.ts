import { hostname } from "node:os";
import { AuthorizationCodes } from "../../account/sign-in/authorization-codes.js";
import { Authenticator } from "../../account/sign-in/authenticator.js";
import { ClientDocuments } from "../../account/sign-in/client-documents.js";
import { DeviceGrants } from "../../account/sign-in/device-grants.js";
import { ProxyHeader } from "../../account/sign-in/proxy-header.js";
import { ProxySignIn } from "../../account/sign-in/proxy-sign-in.js";
import { Origins } from "../../account/sign-in/origins.js";
import { SignIn } from "../../account/sign-in/sign-in.js";
import type { MirrorLimits } from "../../browse/mirror-messages.js";
import type { FetchesElsewhere } from "../../browse/remote-mirrors.js";
import type { Replica } from "../../fleet/replica.js";
import type { Log } from "../../base/log.js";
import { ChangeWatches } from "../../search/changes/change-watch.js";
import type { Searcher } from "../../search/searcher.js";
import { orderRepository } from "../../browse/repository-orders.js";
import { TrawlError } from "../../base/errors.js";
import { type RequestServices, RequestContext } from "../../browse/request-context.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { GraphqlExecutor } from "../../graphql/execution/executor.js";
import type { RepositoryAddresses } from "../../graphql/sources/repository-addresses.js";
import { ClientAddresses } from "../../http/server/client-address.js";
import { TrustedHosts } from "../../http/access/request-check.js";
import { addRoutes } from "../../http/routes/routes.js";
import { loadWebFiles, webFolder } from "../../http/routes/web-files.js";
import { descriptorLimit, openAnswersMax } from "../../http/server/descriptor-share.js";
import { HttpServer } from "../../http/server/uws.js";
import { requestCounter } from "./request-counter.js";
import { anonymous, operatorViewer, type Viewer } from "../../model/viewer.js";
import type { ResolvedOptions } from "../config/options.js";
import type { McpLoader } from "./mcp-parts.js";
import type { DaemonParts } from "./parts.js";
import type { HistoryStatus } from "../../model/history-record.js";
import { type RepositoryStatus, visibleError } from "../../model/repository-status.js";
import { readSecret } from "../../base/secret-source.js";
import { productVersion } from "../../model/versions.js";

const dayMs = 86_400_000;

/** A program that was authorized and then not used for this long must be authorized again. */
const refreshDaysMax = 30;

type Routes = Parameters<typeof addRoutes>[1];

/** What the routes need in addition to the parts. */
export interface RouteSources {
  readonly webhookSecrets: ReadonlyMap<string, string>;
  readonly services: RequestServices;
  readonly addresses: RepositoryAddresses;
  readonly graphql: () => GraphqlExecutor;
  readonly mcp: McpLoader;
}

/** The server with all of its routes; it is not listening yet. */
export function createHttpServer(options: ResolvedOptions, parts: DaemonParts, sources: RouteSources): HttpServer {
  const { log, registry } = parts;
  const server = new HttpServer(log, requestCounter(registry.metrics));
  registry.onText(() => registry.metrics.httpRequestsOpen.set(server.openResponses));
  server.setOpenMax(countOpenAnswers(options, log));
  server.setSingleHeader(options.auth.header);
  server.setClientAddresses(new ClientAddresses(options.trustedProxies));
  addRoutes(server, {
    ...signInRoutes(options, parts),
    ...contentRoutes(options, parts, sources),
    mcp: sources.mcp,
    jobs: parts.jobs,
    uploads: { precise: parts.precise, audit: parts.audit, uploaders: options.precise.uploaders },
    resumable: parts.resumable,
    webhooks: webhooks(parts, sources),
    scim: {
      directory: parts.directory,
      readSecret,
      log: parts.log,
      recordRefusal: (sender, reason) => parts.audit.recordRefusal(sender, reason),
    },
    sharePercent: options.clients.sharePercent,
    hosts: new TrustedHosts({
      listenHost: options.listenHost,
      externalUrl: options.externalUrl,
      trustedHosts: options.trustedHosts,
      machine: hostname(),
    }),
    readiness: (viewer) =>
      readiness(
        parts.watch.damages,
        parts.sync.statuses(),
        parts.later?.replica,
        (name) => parts.share.has(parts.catalog.repositoryByName(name)?.id ?? 0),
        viewer ?? anonymous,
        visibleNames(parts.catalog, viewer),
      ),
    metrics: registry,
    servesMetrics: options.metrics.listen === "",
    log,
    web: loadWebFiles(webFolder, log),
  });
  return server;
}

function signInRoutes(
  options: ResolvedOptions,
  { accounts, audit, providers, searcher, tokenLifetimes }: DaemonParts,
): Pick<
  Routes,
  | "authenticator"
  | "origins"
  | "signIn"
  | "cookies"
  | "isNameTaken"
  | "oauth"
  | "providers"
  | "proxies"
  | "sessionUserId"
> {
  const origins = new Origins(options.externalUrl, options.trustedOrigins);
  const sessionLifetimeMs = options.auth.sessionDays * dayMs;
  const access = {
    isPublic: options.auth.public,
    accessTokens: options.auth.accessTokens,
    allowsSudoToSiteAdmins: options.auth.allowSudoToSiteAdmins,
  };
  const isReserved = (name: string): boolean => providers.isReserved(name);
  const proxyHeader = new ProxyHeader(options.auth.header, options.auth.headerProxies);
  const tokenMs = tokenLifetimes.lifetimeMs(undefined) ?? Infinity;
  return {
    authenticator: new Authenticator(accounts, access, origins, audit, proxyHeader),
    proxies: {
      header: proxyHeader,
      signIn: new ProxySignIn(accounts, audit, {
        allowSignUp: options.auth.headerSignUp,
        sessionLifetimeMs,
        isReserved,
      }),
    },
    origins,
    signIn: new SignIn(accounts, audit, {
      allowSignup: options.auth.allowSignup,
      sessionLifetimeMs,
      isReserved,
    }),
    oauth: {
      policy: options.auth.accessTokens,
      devices: new DeviceGrants(),
      tokens: accounts.accessTokens,
      hasSession: (id) => accounts.sessions.has(id),
      refreshMs: Math.min(refreshDaysMax * dayMs, tokenMs),
      familyMs: tokenMs,
      codes: new AuthorizationCodes(),
      assistants: options.mcp.enabled
        ? {
            documents: new ClientDocuments(options.mcp.clientNetworks, `trawl/${productVersion}`),
            mayRegister: options.mcp.registration,
          }
        : undefined,
      recordRefusal: (sender, reason) => audit.recordRefusal(sender, reason),
      baseUrl: ({ headers }) => urlFor(options.externalUrl, headers.get("host"), searcher.baseUrl),
    },
    cookies: { areSecure: options.externalUrl.startsWith("https:"), lifetimeMs: sessionLifetimeMs },
    providers,
    sessionUserId: (session) => accounts.sessions.find(session, new Date().getTime())?.id,
    isNameTaken: (name) => accounts.isNameTaken(name) || isReserved(name),
  };
}

/**
 * The URL by which a client has reached this server: without `externalUrl`, a client may use any of its names, and must find the same one
 * in what it is told. The name is one of ours, because a request with another is refused.
 */
function urlFor(externalUrl: string, host: string | undefined, baseUrl: string): string {
  return externalUrl === "" && host !== undefined && /^[\w.:[\]-]{1,260}$/.test(host) ? `http://${host}` : baseUrl;
}

function contentRoutes(
  options: ResolvedOptions,
  { catalog, searcher }: DaemonParts,
  { services, graphql }: RouteSources,
): Pick<
  Routes,
  "graphql" | "search" | "watches" | "content" | "refresh" | "externalUrl" | "seesAll" | "stallMs" | "diffType"
> {
  const stallMs = options.search.stallSeconds * 1000;
  return {
    graphql: { answer: (...request) => graphql().answer(...request) },
    search: searcher,
    watches: new ChangeWatches({
      search: searcher,
      watchFlips: (viewer, onFlip, onListening) => watchAllFlips(searcher, viewer, onFlip, onListening),
    }),
    content: {
      contextFor: (viewer, origin) =>
        new RequestContext(services, viewer, origin, options.graphql.timeoutSeconds * 1000),
      stallMs,
    },
    refresh: async (name, viewer, origin) => {
      const context = new RequestContext(services, viewer, origin, options.graphql.timeoutSeconds * 1000);
      try {
        await orderRepository({ repository: name, kind: "fetch", waits: false, acceptsLoss: false }, context);
        return true;
      } catch (error) {
        if (error instanceof TrawlError && error.code === "not-found") return false;
        throw error;
      }
    },
    externalUrl: () => searcher.baseUrl,
    seesAll: (viewer) => catalog.seesAll(viewer),
    stallMs,
    diffType: options.search.diffType,
  };
}

/** Of all nodes of a fleet whose searches go to all. */
function watchAllFlips(
  searcher: Searcher,
  viewer: Viewer,
  onFlip: () => void,
  onListening: (areAll: boolean) => void,
): () => void {
  // Only this may throw.
  const elsewhere = searcher.fleet?.watchFlips(viewer, onFlip, onListening);
  if (elsewhere === undefined) onListening(true);
  const here = searcher.watchFlips(viewer, onFlip);
  return () => {
    here();
    elsewhere?.();
  };
}

/** Deliveries that other nodes are told of at the same time. */
const forwardedMax = 64;

/** Code hosts wait for ten seconds, and most of them send nothing again. */
const forwardMs = 5_000;

const tooManyForwarded: FetchesElsewhere = {
  queued: [],
  lacks: ["too many deliveries are being passed on to other nodes: try again in a moment"],
  lacking: undefined,
};

function webhooks(
  { catalog, sync, audit, registry, share, mirrors }: DaemonParts,
  { webhookSecrets, addresses }: Pick<RouteSources, "webhookSecrets" | "addresses">,
): Routes["webhooks"] {
  const limits: MirrorLimits = {
    viewer: operatorViewer,
    client: "webhooks",
    timeoutMs: forwardMs,
    stop: new Int32Array(new SharedArrayBuffer(4)),
    onCancel: () => () => undefined,
  };
  let forwardedCount = 0;
  const tellOthers = async (given: readonly string[]): Promise<FetchesElsewhere | undefined> => {
    if (given.length === 0) return undefined;
    if (forwardedCount >= forwardedMax) return tooManyForwarded;
    forwardedCount++;
    try {
      return await mirrors.requestFetches(given, limits);
    } finally {
      forwardedCount--;
    }
  };
  return {
    webhookSecrets,
    requestByAddress: async (given) => {
      const repositories = addresses.find(given);
      const own = repositories.filter(({ id }) => share.has(id));
      for (const { id } of own) sync.commands.request(id);
      const told = await tellOthers(given);
      // They are fetched here if this node takes over.
      const others = repositories.filter(({ id }) => !share.has(id));
      const untold = others.filter(({ id }) => told?.lacking?.has(catalog.partitions.find(id)) !== false);
      for (const { id } of untold) sync.commands.request(id);
      const [first] = untold;
      const lack = told === undefined && first !== undefined ? [share.refusal(first.id).message] : [];
      const queued = new Set([...own.map(({ name }) => name), ...(told?.queued ?? [])]);
      return { queued: [...queued], lacks: told?.lacks ?? lack };
    },
    recordRefusal: (sender, reason) => audit.recordRefusal(sender, reason),
    count: (outcome) => registry.metrics.webhookDeliveries.inc({ outcome }),
  };
}

/** Each search that is running or waiting has a connection, which uses a file descriptor. */
function countOpenAnswers({ search: { concurrent, queue } }: ResolvedOptions, log: Log): number {
  const count = openAnswersMax(descriptorLimit());
  if (concurrent + queue > count) {
    log.warn(
      `search.concurrent and search.queue allow ${concurrent + queue} searches, but the limit on file descriptors allows only ${count} requests; raise LimitNOFILE, or lower search.queue`,
    );
  }
  return count;
}

function visibleNames(catalog: Catalog, viewer: Viewer | undefined): (name: string) => boolean {
  const table = viewer === undefined ? undefined : catalog.repositoryTable(viewer);
  return (name) => table?.byName(name) !== undefined;
}

/**
 * The error shown for a damaged store to viewers who are not site admins, because the original message contains a path
 * of the machine.
 */
const damaged = "A store of the daemon was damaged while it was running. It is repaired at the next start.";

/**
 * Whether no store is damaged and each repository is searchable or has failed, and the status of each repository that
 * may be named. A repository without progress is listed with its state only, so that the response stays small; its
 * history is mentioned unless all of its commits are indexed. Errors and warnings are shown to site admins only.
 */
function readiness(
  damages: readonly string[],
  statuses: readonly RepositoryStatus[],
  replica: Pick<Replica, "hasFollowed"> | undefined,
  isIndexedHere: (name: string) => boolean,
  viewer: Pick<Viewer, "isSiteAdmin">,
  isNamed: (name: string) => boolean,
): { readonly ready: boolean; readonly body: unknown } {
  // A node that follows can be searched when it has what the fleet has, also what is not indexed anywhere yet.
  const hasAll =
    (replica === undefined || replica.hasFollowed) &&
    statuses.every(({ name, state }) => state !== "pending" || !isIndexedHere(name));
  const ready = damages.length === 0 && hasAll;
  const repositories = statuses
    .filter(({ name, state }) => state !== "removed" && isNamed(name))
    .map(({ name, state, activity, error, warnings, historyIndex }) => ({
      name,
      state,
      ...(activity === "" ? {} : { activity }),
      ...(error === "" ? {} : { error: visibleError(error, viewer) }),
      ...(warnings.length === 0 || !viewer.isSiteAdmin ? {} : { warnings }),
      ...describeHistory(historyIndex, viewer),
    }));
  const told = viewer.isSiteAdmin ? damages : damages.slice(0, 1).map(() => damaged);
  return { ready, body: { ready, ...(told.length === 0 ? {} : { damages: told }), repositories } };
}

function describeHistory(history: HistoryStatus, viewer: Pick<Viewer, "isSiteAdmin">): { readonly history?: unknown } {
  const { isUpToDate, reachableCount, indexedCount, storedBytes, error } = history;
  if (reachableCount === null && error === "") return {};
  if (isUpToDate && reachableCount === indexedCount) return {};
  const failure = error === "" ? {} : { error: visibleError(error, viewer) };
  return { history: { commits: reachableCount, indexed: indexedCount, bytes: storedBytes, ...failure } };
}
