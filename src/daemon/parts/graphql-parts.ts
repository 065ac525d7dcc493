import { CommitFetches } from "../../browse/commit-fetches.js";
import { findOwner, waitForCommit, waitForCommitHere } from "../../browse/commit-wait.js";
import type { Asker, OwnerCommands } from "../../browse/mirror-answers.js";
import { GitCache } from "../../browse/mirror-reads.js";
import { orderHere, orderRepository } from "../../browse/repository-orders.js";
import type { Connections } from "../../codehost/connections.js";
import { type RequestServices, type RemoteRepository, RequestContext } from "../../browse/request-context.js";
import { GraphqlExecutor } from "../../graphql/execution/executor.js";
import { createSchema } from "../../graphql/execution/schema.js";
import type { RepositoryAddresses } from "../../graphql/sources/repository-addresses.js";
import { noOrigin } from "../../model/request-origin.js";
import { operatorViewer } from "../../model/viewer.js";
import type { Controlled } from "./controlled.js";
import type { ResolvedOptions } from "../config/options.js";
import { checkConfiguration } from "../config/reread-options.js";
import type { DaemonParts } from "./parts.js";
import { siteId } from "./program.js";
import { parseRemoteUrl, redactUrl } from "../../git/run/remote-url.js";
import { TrawlError } from "../../base/errors.js";
import type { RemoteRules } from "../../git/mirror/remote-rules.js";
import type { SyncManager } from "../../sync/sync-manager.js";
import { resolveRepository } from "../config/file-repositories.js";

/** Services shared by the resolvers of all requests. */
export function createRequestServices(
  options: ResolvedOptions,
  parts: DaemonParts,
  connections: Connections,
  configured: () => ResolvedOptions,
): RequestServices {
  const { catalog, searcher, sync, accounts, audit, contexts, tokenLifetimes, threads, log } = parts;
  return {
    repositoryCommands: sync.commands,
    addRemote: (given) => addRemote(sync, parts.remotes, given),
    commitFetches: new CommitFetches((name) => sync.commands.sync(name), options.sync.intervalSeconds * 1000),
    connections,
    catalog,
    jobs: parts.jobs,
    precise: parts.precise,
    notifications: parts.notifications,
    searcher,
    accounts,
    isReservedName: (name) => parts.providers.isReserved(name),
    hasProvider: (name) => parts.providers.has(name),
    accessTokens: options.auth.accessTokens,
    tokenLifetimes,
    audit,
    contexts,
    reads: threads.read,
    mirrors: parts.mirrors,
    gitCache: new GitCache(),
    log,
    activityOf: (repositoryId) => sync.activities.current(repositoryId),
    historyStatusOf: (repository) => sync.historyStatus(repository),
    externalUrl: () => searcher.baseUrl,
    configuration: () => visibleConfiguration({ ...options, ...reloadable(configured()) }),
    checkConfiguration: (text) => checkConfiguration(options.typed, text),
    siteId: siteId(options.data),
  };
}

/** How long a command waits for a commit: a first fetch may take this long. */
const commitWaitMs = 3_600_000;

/** Waits for commits in the name of the operator. */
export function commitWaiter(services: RequestServices): Controlled["waitForCommit"] {
  return (commit) => waitForCommit(commit, new RequestContext(services, operatorViewer, noOrigin, commitWaitMs));
}

/** Gives orders in the name of the operator. */
export function orderGiver(services: RequestServices): Controlled["orderRepository"] {
  return (order) => orderRepository(order, new RequestContext(services, operatorViewer, noOrigin, commitWaitMs));
}

/** Finds repositories for the operator that other nodes fetch. */
export function elsewhereFinder({ graphql }: ResolvedOptions, services: RequestServices): Controlled["findElsewhere"] {
  return async (name) => {
    const context = new RequestContext(services, operatorViewer, noOrigin, graphql.timeoutSeconds * 1000);
    const owner = await findOwner(name, context);
    return owner && (await services.mirrors.find([[owner]], name, context.readLimits));
  };
}

/** The request of another node. */
function toContext(services: RequestServices, { viewer, client, timeoutMs, onClosed }: Asker): RequestContext {
  // As the control interface of another node asks.
  const isOperator = viewer.isSiteAdmin && viewer.userId === undefined;
  const context = new RequestContext(services, isOperator ? operatorViewer : viewer, noOrigin, timeoutMs, client);
  onClosed(() => context.cancel());
  return context;
}

/** What this node does for others with the repositories that it fetches. */
export function ownerCommands(
  services: RequestServices,
  { share }: Pick<DaemonParts, "share">,
  addresses: RepositoryAddresses,
): OwnerCommands {
  return {
    requestFetches: (given, isAsked) => {
      const found = addresses.find(given).filter(({ id }) => share.has(id) && isAsked(id));
      for (const { id } of found) services.repositoryCommands.request(id);
      return found.map(({ name }) => name);
    },
    waitForCommit: (commit, asker) => waitForCommitHere(commit, toContext(services, asker)),
    orderRepository: async (order, asker) => {
      const context = toContext(services, asker);
      const left = new Promise<never>((_, reject) =>
        context.onCancel(() => reject(new TrawlError("cancelled", "the node that asked does not wait any more"))),
      );
      await context.beforeEnd(
        Promise.race([orderHere(order, context), left]),
        `what was ordered for ${order.repository}`,
      );
    },
  };
}

/** Parses the schema, which takes 0.1 s. */
export function createGraphqlExecutor(
  { rateLimits, graphql }: ResolvedOptions,
  services: RequestServices,
  { log, registry }: DaemonParts,
): GraphqlExecutor {
  const limits = {
    aliases: rateLimits.graphQLMaxAliases,
    fields: rateLimits.graphQLMaxFieldCount,
    depth: rateLimits.graphQLMaxDepth,
    duplicateFields: rateLimits.graphQLMaxDuplicateFieldCount,
    uniqueFields: rateLimits.graphQLMaxUniqueFieldCount,
  };
  return new GraphqlExecutor(createSchema(), services, limits, graphql.timeoutSeconds * 1000, log, registry.metrics);
}

/** The options that take effect without a restart. */
function reloadable({
  repositories,
  contexts,
  connections,
  identityProviders,
}: ResolvedOptions): Partial<ResolvedOptions> {
  return { repositories, contexts, connections, identityProviders };
}

/** The options that a site admin may see: all except passwords and secrets. */
function visibleConfiguration({ typed: _, repositories, webhooks, ...options }: ResolvedOptions): string {
  const secrets = Object.fromEntries(Object.keys(webhooks.secrets).map((id) => [id, "REDACTED"]));
  // Both are commands, and may contain the path of a key or a password.
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

/**
 * Adds a repository for a site admin, who may be at another host than the daemon: a path on the daemon's disk is
 * refused, because it could be one that only the daemon's account may read, and so are hosts that only this machine reaches.
 */
async function addRemote(
  { commands }: { readonly commands: Pick<SyncManager["commands"], "addAll"> },
  remotes: RemoteRules,
  given: RemoteRepository,
): Promise<void> {
  const remote = parseRemoteUrl(given.url);
  if (remote.kind === "local")
    throw new TrawlError(
      "forbidden",
      "a repository on the server's own disk is added by its operator, with `trawl repo add`; give an https or ssh URL",
    );
  const source = { connection: "", hosts: ["*"] };
  await remotes.require(remote, source);
  const { taken } = await commands.addAll([{ ...resolveRepository({ ...given }), source }]);
  if (taken.length > 0)
    throw new TrawlError(
      "conflict",
      `there is another repository named ${given.name}; remove it first, or choose another name`,
    );
}
