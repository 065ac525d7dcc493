import { TrawlError } from "../../base/errors.js";
import { filterInSteps } from "../../base/yielding.js";
import { globalId, parseGlobalId } from "../../browse/ids.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ListingAttempt } from "../../codehost/listing-record.js";
import type { ConnectionKind } from "../../codehost/connection.js";
import type { ConnectionDetails } from "../../codehost/connections.js";
import type { Repository } from "../../model/repository.js";
import { repositorySummary } from "./repository-summary.js";

/** The key of the service for repositories that no connection lists. */
const configuredKey = 1;

/** A service that repositories come from: a connection to a code host, or the operator's own list. */
export interface ExternalServiceSource {
  readonly __typename: "ExternalService";
  readonly id: string;
  readonly kind: (typeof shownKinds)[ConnectionKind];
  readonly displayName: string;
  readonly config: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly lastSyncAt: string | null;
  readonly nextSyncAt: string | null;
  readonly lastSyncError: string | null;
  readonly repoCount: number;
  readonly warning: string | null;
  readonly webhookURL: null;
  readonly url: string;
  readonly unrestricted: false;
  readonly suspended: false;
  readonly hasConnectionCheck: false;
  readonly supportsRepoExclusion: false;
  readonly creator: null;
  readonly lastUpdater: null;
  /** Undefined for the operator's list. */
  readonly connection: ConnectionDetails | undefined;
}

const shownKinds = {
  github: "GITHUB",
  gitlab: "GITLAB",
  gitea: "OTHER",
  "bitbucket-cloud": "BITBUCKETCLOUD",
  "bitbucket-data-center": "BITBUCKETSERVER",
  "azure-devops": "AZUREDEVOPS",
  gerrit: "GERRIT",
  list: "OTHER",
  folder: "LOCALGIT",
  command: "OTHER",
} as const satisfies Record<ConnectionKind, string>;

/** What other servers have and this one does not. */
const neverSo = {
  webhookURL: null,
  unrestricted: false,
  suspended: false,
  hasConnectionCheck: false,
  supportsRepoExclusion: false,
  creator: null,
  lastUpdater: null,
} as const;

/** All services: the operator's list first, then the connections in the order of the configuration. */
export async function externalServices(context: RequestContext): Promise<readonly ExternalServiceSource[]> {
  return [await configuredService(context), ...context.services.connections.details().map(connectionService)];
}

/** The service that a repository comes from. */
export async function findService(repository: Repository, context: RequestContext): Promise<ExternalServiceSource> {
  const { connections } = context.services;
  const found = connections.details().find(({ name }) => name === listingConnection(repository));
  return found === undefined ? configuredService(context) : connectionService(found);
}

/** Null if there is none with this key. */
export async function serviceByKey(key: unknown, context: RequestContext): Promise<ExternalServiceSource | null> {
  if (key === configuredKey) return configuredService(context);
  const found = context.services.connections.details().find(({ name }) => name === key);
  return found === undefined ? null : connectionService(found);
}

/** Whether a repository comes from the service with this id. Throws `bad-request` if it is the id of something else. */
export function comesFrom(id: string, { services: { connections } }: RequestContext): (one: Repository) => boolean {
  const key = serviceKey(id);
  const names = connections.names();
  return (repository) => {
    const listing = listingConnection(repository);
    return (listing !== undefined && names.has(listing) ? listing : configuredKey) === key;
  };
}

/** The name of the connection that a repository comes from; it may not be configured any more. Undefined if none has listed it. */
function listingConnection({ configured, source }: Repository): string | undefined {
  return configured ? source?.connection : undefined;
}

/** The key in the id of a service: the name of a connection, or the key of the operator's list. */
export function serviceKey(id: string): unknown {
  const { kind, key } = parseGlobalId(id);
  if (kind === "ExternalService") return key;
  throw new TrawlError(
    "bad-request",
    `${JSON.stringify(id.slice(0, 200))} is the id of a ${kind.slice(0, 100)}, not of an ExternalService`,
  );
}

/** The state of an attempt to list a connection, as a job. */
export function shownAttempt({ number, state, startedAt, finishedAt, error, changes }: ListingAttempt) {
  const states = { running: "PROCESSING", completed: "COMPLETED", failed: "FAILED", cancelled: "CANCELED" } as const;
  return {
    __typename: "ExternalServiceSyncJob" as const,
    id: globalId("ExternalServiceSyncJob", number),
    state: states[state],
    startedAt,
    finishedAt: finishedAt || null,
    failureMessage: error || null,
    reposSynced: changes.added + changes.modified + changes.unmodified,
    repoSyncErrors: error === "" ? 0 : 1,
    reposAdded: changes.added,
    reposDeleted: changes.removed,
    reposModified: changes.modified,
    reposUnmodified: changes.unmodified,
  };
}

/** The repositories of the configuration file and those added at run time. */
async function configuredService(context: RequestContext): Promise<ExternalServiceSource> {
  const { work, services, repositories } = context;
  const { newest } = await repositorySummary(context);
  const isOwn = comesFrom(globalId("ExternalService", configuredKey), context);
  const own = await work.once("repositories of no connection", repositories.count, () =>
    filterInSteps([...repositories.values()], isOwn),
  );
  const date = newest || "1970-01-01T00:00:00Z";
  return {
    __typename: "ExternalService",
    id: globalId("ExternalService", configuredKey),
    kind: "OTHER",
    displayName: "Configured repositories",
    config: services.configuration(),
    createdAt: date,
    updatedAt: date,
    repoCount: own.length,
    lastSyncAt: newest || null,
    nextSyncAt: null,
    lastSyncError: null,
    warning: null,
    ...neverSo,
    url: "",
    connection: undefined,
  };
}

/** The configuration of a connection contains no secrets, only where they are; that is not shown either. */
function connectionService(connection: ConnectionDetails): ExternalServiceSource {
  const { name, config, configuredAt, repositoryCount, lastListed, nextListing, error, warnings } = connection;
  const hidden = (place: string): string => (place === "" ? "" : "REDACTED");
  return {
    __typename: "ExternalService",
    id: globalId("ExternalService", name),
    kind: shownKinds[config.kind],
    displayName: name,
    config: JSON.stringify(
      { ...config, credential: hidden(config.credential), appKey: hidden(config.appKey) },
      null,
      2,
    ),
    createdAt: configuredAt,
    updatedAt: configuredAt,
    repoCount: repositoryCount,
    lastSyncAt: lastListed || null,
    nextSyncAt: nextListing || null,
    lastSyncError: error || null,
    warning: warnings.join("\n") || null,
    ...neverSo,
    url: config.url,
    connection,
  };
}
