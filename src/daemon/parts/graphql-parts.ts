import { lazy } from "../../base/lazy.js";
import { CommitFetches } from "../../browse/commit-fetches.js";
import { waitForCommit } from "../../browse/commit-wait.js";
import { GitCache } from "../../browse/git-reads.js";
import type { Connections } from "../../codehost/connections.js";
import { type GraphqlServices, RequestContext } from "../../browse/request-context.js";
import { GraphqlExecutor } from "../../graphql/execution/executor.js";
import { createSchema } from "../../graphql/execution/schema.js";
import { operatorViewer } from "../../model/viewer.js";
import type { Controlled } from "../controlled.js";
import type { ResolvedOptions } from "../options.js";
import { checkConfiguration } from "../reread-options.js";
import { addRemote } from "../remote-repository.js";
import type { DaemonParts } from "./parts.js";
import { siteId } from "./program.js";
import { visibleConfiguration } from "./visible-configuration.js";

/** Services shared by the resolvers of all requests. */
export function createGraphqlServices(
  options: ResolvedOptions,
  parts: DaemonParts,
  connections: Connections,
): GraphqlServices {
  const { catalog, searcher, sync, accounts, audit, contexts, tokenLifetimes, threads, log } = parts;
  return {
    repositoryCommands: sync.commands,
    addRemote: (given) => addRemote(sync, parts.remotes, given),
    commitFetches: new CommitFetches((name) => sync.commands.sync(name), options.sync.intervalSeconds * 1000),
    connections,
    catalog,
    jobs: parts.jobs,
    notifications: parts.notifications,
    searcher,
    accounts,
    accessTokens: options.auth.accessTokens,
    tokenLifetimes,
    audit,
    contexts,
    reads: threads.read,
    gitCache: new GitCache(),
    log,
    activityOf: (repositoryId) => sync.activities.current(repositoryId),
    historyStatusOf: (repository) => sync.historyStatus(repository),
    externalUrl: () => searcher.baseUrl,
    configuration: lazy(() => visibleConfiguration(options)),
    checkConfiguration: (text) => checkConfiguration(options.typed, text),
    siteId: siteId(options.data),
  };
}

/** How long a command waits for a commit: a first fetch may take this long. */
const commitWaitMs = 3_600_000;

/** Waits for commits in the name of the operator. */
export function commitWaiter(services: GraphqlServices): Controlled["waitForCommit"] {
  return (commit) => waitForCommit(commit, new RequestContext(services, operatorViewer, "", commitWaitMs));
}

/** Parses the schema, which takes 0.1 s. */
export function createGraphqlExecutor(
  { rateLimits, graphql }: ResolvedOptions,
  services: GraphqlServices,
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
