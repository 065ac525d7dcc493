import { messageOf, TrawlError } from "../../base/errors.js";
import type { AuditEvent, Doer } from "../../account/audit-log.js";
import { checkName } from "../../account/rules.js";
import type { MetadataChange } from "../../model/metadata-change.js";
import type { Repository } from "../../model/repository.js";
import { nothing } from "../connections.js";
import type { RequestContext } from "../context.js";
import { numericKey } from "../ids.js";
import type { ResolversOf } from "../resolver-types.js";

type Mutation = ResolversOf<"Mutation">;

/** Changes to repositories. All of them are a site admin's, and each leaves a line in the audit log. */
export const repositoryMutations: Pick<Mutation, "addRepoMetadata" | "updateRepoMetadata" | "deleteRepoMetadata" | "addRepoKeyValuePair" | "updateRepoKeyValuePair"
  | "deleteRepoKeyValuePair" | "deleteRepository" | "updateMirrorRepository" | "checkMirrorRepositoryConnection" | "reindexRepository" | "recloneRepository"
  | "deleteRepositoryFromDisk" | "setRepositoryPermissionsForUsers" | "setRepositoryPermissionsUnrestricted" | "excludeRepoFromExternalServices"
  | "addExternalService" | "updateExternalService" | "deleteExternalService" | "syncExternalService"> = {
  addRepoMetadata: (_, { repo, key, value }, context) => changeMetadata(repo, { kind: "add", key, value: value ?? null }, context),
  updateRepoMetadata: (_, { repo, key, value }, context) => changeMetadata(repo, { kind: "update", key, value: value ?? null }, context),
  deleteRepoMetadata: (_, { repo, key }, context) => changeMetadata(repo, { kind: "delete", key }, context),
  addRepoKeyValuePair: (_, { repo, key, value }, context) => changeMetadata(repo, { kind: "add", key, value: value ?? null }, context),
  updateRepoKeyValuePair: (_, { repo, key, value }, context) => changeMetadata(repo, { kind: "update", key, value: value ?? null }, context),
  deleteRepoKeyValuePair: (_, { repo, key }, context) => changeMetadata(repo, { kind: "delete", key }, context),
  deleteRepository: async (_, { repository }, context) => {
    const { doer, found } = administered(repository, context);
    // It would come back with the next start.
    if (found.configured) throw new TrawlError("conflict", `${found.name} is listed in the configuration file or on the command line: remove it there`);
    await context.services.orders.remove(found.name);
    return noted(context, "repository-removed", doer, { repository: found.name });
  },
  updateMirrorRepository: (_, { repository }, context) => order("fetch", repository, context),
  checkMirrorRepositoryConnection: async (_, { repository, name }, context) => {
    context.requireSiteAdmin();
    const found = repository === undefined || repository === null ? context.repositories.byName(name ?? "") : administered(repository, context).found;
    if (found === undefined) throw new TrawlError("not-found", "give the id or the name of a repository that is here");
    return { error: await fetchError(found, context) };
  },
  reindexRepository: (_, { repository }, context) => order("index", repository, context),
  recloneRepository: (_, { repo }, context) => order("clone", repo, context),
  deleteRepositoryFromDisk: (_, { repo }, context) => order("clone", repo, context),
  setRepositoryPermissionsForUsers: async (_, { repository, userPermissions }, context) => {
    const { doer, found } = administered(repository, context);
    const readers = [...new Set(userPermissions.map(({ bindID }) => bindID))];
    if (readers.length > readerCountMax) throw new TrawlError("bad-request", `a repository has at most ${readerCountMax} readers; make an organisation one of them`);
    for (const reader of readers) checkName(reader);
    await context.services.orders.setFacts(found.name, { private: true, readers });
    return noted(context, "readers-changed", doer, { repository: found.name, private: true, readers });
  },
  setRepositoryPermissionsUnrestricted: async (_, { repositories, unrestricted }, context) => {
    context.requireSiteAdmin();
    const all = repositories.map((repository) => administered(repository, context));
    for (const { doer, found } of all) {
      await context.services.orders.setFacts(found.name, { private: !unrestricted });
      noted(context, "readers-changed", doer, { repository: found.name, private: !unrestricted });
    }
    return nothing;
  },
  excludeRepoFromExternalServices: (_, __, context) => refuseServices(context),
  addExternalService: (_, __, context) => refuseServices(context),
  updateExternalService: (_, __, context) => refuseServices(context),
  deleteExternalService: (_, __, context) => refuseServices(context),
  syncExternalService: (_, { id }, context) => {
    const doer = context.requireSiteAdmin();
    numericKey(id, "ExternalService");
    for (const { id: repositoryId } of context.repositories.values()) context.services.orders.request(repositoryId);
    return noted(context, "repository-ordered", doer, { order: "fetch", repositories: context.repositories.count });
  },
};

const readerCountMax = 10_000;

/** The repository of an id, for a site admin. Throws `forbidden` for others, before anything else, and `not-found`. */
function administered(id: string, context: RequestContext): { readonly doer: Doer; readonly found: Repository } {
  const doer = context.requireSiteAdmin();
  const found = context.repositories.byId(numericKey(id, "Repository"));
  if (found === undefined) throw new TrawlError("not-found", "repository not found");
  return { doer, found };
}

async function changeMetadata(repo: string, change: MetadataChange, context: RequestContext): Promise<typeof nothing> {
  const { doer, found } = administered(repo, context);
  await context.services.orders.changeMetadata(found.name, change);
  return noted(context, "metadata-changed", doer, { repository: found.name, change });
}

function order(what: "fetch" | "index" | "clone", id: string, context: RequestContext): typeof nothing {
  const { doer, found } = administered(id, context);
  const { orders } = context.services;
  switch (what) {
    case "fetch": orders.request(found.id); break;
    case "index": orders.requestIndexing(found.id); break;
    case "clone": orders.requestCloning(found.id); break;
  }
  return noted(context, "repository-ordered", doer, { order: what, repository: found.name });
}

/** Why it cannot be fetched; null when it can. A fetch that takes longer than the request goes on without it. */
async function fetchError({ name }: Repository, context: RequestContext): Promise<string | null> {
  try {
    await context.beforeEnd(context.services.orders.sync(name), `fetching ${name}`);
    return null;
  } catch (error) {
    if (error instanceof TrawlError) return messageOf(error);
    throw error;
  }
}

function noted(context: RequestContext, event: AuditEvent, doer: Doer, what: Readonly<Record<string, unknown>>): typeof nothing {
  context.services.audit.note(event, doer, what);
  return nothing;
}

function refuseServices(context: RequestContext): never {
  context.requireSiteAdmin();
  throw new TrawlError("forbidden", "code hosts are not connected here: repositories are listed in the configuration file, or added by `trawl repo add`");
}
