import { errorMessage, TrawlError } from "../../base/errors.js";
import { auditEntry, type AuditEntry, type Actor } from "../../account/records/audit-log.js";
import { checkName } from "../../account/records/validation.js";
import type { MetadataChange } from "../../model/repository.js";
import type { Repository } from "../../model/repository.js";
import { nothing } from "./connection-types.js";
import type { RepositoryOrder } from "../../browse/mirror-messages.js";
import { orderRepository } from "../../browse/repository-orders.js";
import type { RequestContext } from "../../browse/request-context.js";
import { numericKey } from "../../browse/ids.js";
import { toRepositorySource } from "../../browse/repository-source.js";
import type { ResolversOf } from "./resolver-types.js";

type Mutation = ResolversOf<"Mutation">;

/** Changes to repositories. All require a site admin, and each is recorded in the audit log. */
export const repositoryMutations: Pick<
  Mutation,
  | "addRepoMetadata"
  | "updateRepoMetadata"
  | "deleteRepoMetadata"
  | "addRepoKeyValuePair"
  | "updateRepoKeyValuePair"
  | "deleteRepoKeyValuePair"
  | "addRepository"
  | "deleteRepository"
  | "updateMirrorRepository"
  | "checkMirrorRepositoryConnection"
  | "reindexRepository"
  | "recloneRepository"
  | "deleteRepositoryFromDisk"
  | "setRepositoryPermissionsForUsers"
  | "addRepositoryPermissionForUser"
  | "removeRepositoryPermissionForUser"
  | "setRepositoryPermissionsUnrestricted"
> = {
  addRepoMetadata: (_, { repo, key, value }, context) =>
    changeMetadata(repo, { kind: "add", key, value: value ?? null }, context),
  updateRepoMetadata: (_, { repo, key, value }, context) =>
    changeMetadata(repo, { kind: "update", key, value: value ?? null }, context),
  deleteRepoMetadata: (_, { repo, key }, context) => changeMetadata(repo, { kind: "delete", key }, context),
  addRepoKeyValuePair: (_, { repo, key, value }, context) =>
    changeMetadata(repo, { kind: "add", key, value: value ?? null }, context),
  updateRepoKeyValuePair: (_, { repo, key, value }, context) =>
    changeMetadata(repo, { kind: "update", key, value: value ?? null }, context),
  deleteRepoKeyValuePair: (_, { repo, key }, context) => changeMetadata(repo, { kind: "delete", key }, context),
  addRepository: async (_, { name, cloneURL, private: isPrivate }, context) => {
    const actor = context.requireSiteAdmin();
    const given = { name, url: cloneURL, private: isPrivate === true };
    const entry = auditEntry("repository-added", actor, { repository: name, private: given.private });
    await audited(context, entry, () => context.services.addRemote(given));
    const added = context.repositories.byName(name);
    if (added === undefined) throw new TrawlError("not-found", `${name} was removed again`);
    return toRepositorySource(added);
  },
  deleteRepository: async (_, { repository }, context) => {
    const { actor, found } = administered(repository, context);
    // It would reappear at the next start.
    if (found.configured)
      throw new TrawlError(
        "conflict",
        `${found.name} is listed in the configuration file or on the command line: remove it there`,
      );
    return audited(context, auditEntry("repository-removed", actor, { repository: found.name }), () =>
      context.services.repositoryCommands.remove(found.name),
    );
  },
  updateMirrorRepository: (_, { repository }, context) => order("fetch", repository, context),
  checkMirrorRepositoryConnection: async (_, { repository, name }, context) => {
    context.requireSiteAdmin();
    const found =
      repository === undefined || repository === null
        ? await context.findRepository(name ?? "")
        : (await administeredAnywhere(repository, context)).found;
    if (found === undefined) throw new TrawlError("not-found", "give the id or the name of an existing repository");
    return { error: await fetchError(found, context) };
  },
  reindexRepository: (_, { repository }, context) => order("index", repository, context),
  recloneRepository: (_, { repo }, context) => order("clone", repo, context),
  deleteRepositoryFromDisk: (_, { repo }, context) => order("clone", repo, context),
  setRepositoryPermissionsForUsers: async (_, { repository, userPermissions }, context) => {
    const { actor, found } = administered(repository, context);
    const readers = [...new Set(userPermissions.map(({ bindID }) => bindID))];
    if (readers.length > readerCountMax)
      throw new TrawlError(
        "bad-request",
        `a repository has at most ${readerCountMax} readers; make an organization one of them`,
      );
    for (const reader of readers) checkName(reader);
    const entry = auditEntry("readers-changed", actor, { repository: found.name, private: true, readers });
    return audited(context, entry, () =>
      context.services.repositoryCommands.setAttributes(found.name, { private: true, readers }),
    );
  },
  addRepositoryPermissionForUser: (_, { permission, userID }, context) =>
    setReader(permission.repository, userID, true, context),
  removeRepositoryPermissionForUser: (_, { repository, userID }, context) =>
    setReader(repository, userID, false, context),
  setRepositoryPermissionsUnrestricted: async (_, { repositories, unrestricted }, context) => {
    context.requireSiteAdmin();
    const all = repositories.map((repository) => administered(repository, context));
    for (const { actor, found } of all) {
      const entry = auditEntry("readers-changed", actor, { repository: found.name, private: !unrestricted });
      await audited(context, entry, () =>
        context.services.repositoryCommands.setAttributes(found.name, { private: !unrestricted }),
      );
    }
    return nothing;
  },
};

const readerCountMax = 10_000;

/** The repository of an id, for a site admin. Throws `forbidden` for others, before anything else, and `not-found`. */
function administered(id: string, context: RequestContext): { readonly actor: Actor; readonly found: Repository } {
  const actor = context.requireSiteAdmin();
  const found = context.repositories.byId(numericKey(id, "Repository"));
  if (found === undefined) throw new TrawlError("not-found", "repository not found");
  return { actor, found };
}

async function setReader(
  repository: string,
  userId: string,
  isReader: boolean,
  context: RequestContext,
): Promise<typeof nothing> {
  const { actor, found } = administered(repository, context);
  const user = context.services.accounts.user(numericKey(userId, "User"));
  if (user === undefined) throw new TrawlError("not-found", "user not found");
  if (isReader && found.readers.length >= readerCountMax)
    throw new TrawlError("bad-request", `a repository has at most ${readerCountMax} readers`);
  const change = isReader ? { added: [user.name] } : { removed: [user.name] };
  return audited(context, auditEntry("readers-changed", actor, { repository: found.name, ...change }), () =>
    context.services.repositoryCommands.setReader(found.name, user.name, isReader),
  );
}

async function changeMetadata(repo: string, change: MetadataChange, context: RequestContext): Promise<typeof nothing> {
  const { actor, found } = administered(repo, context);
  return audited(context, auditEntry("metadata-changed", actor, { repository: found.name, change }), () =>
    context.services.repositoryCommands.changeMetadata(found.name, change),
  );
}

/** The repository of an id, also if it is another node that has it. Rejects like `administered`. */
async function administeredAnywhere(id: string, context: RequestContext): Promise<ReturnType<typeof administered>> {
  const actor = context.requireSiteAdmin();
  const found = await context.findRepository(numericKey(id, "Repository"));
  if (found === undefined) throw new TrawlError("not-found", "repository not found");
  return { actor, found };
}

async function order(kind: RepositoryOrder["kind"], id: string, context: RequestContext): Promise<typeof nothing> {
  const { actor, found } = await administeredAnywhere(id, context);
  const given = { repository: found.name, kind, waits: false, acceptsLoss: false };
  return audited(context, auditEntry("repository-ordered", actor, { order: kind, repository: found.name }), () =>
    orderRepository(given, context),
  );
}

/** Why it cannot be fetched; null if it can. A fetch that takes longer than the request continues after it. */
async function fetchError({ name }: Repository, context: RequestContext): Promise<string | null> {
  try {
    const given = { repository: name, kind: "fetch", waits: true, acceptsLoss: false } as const;
    await context.beforeEnd(orderRepository(given, context), `fetching ${name}`);
    return null;
  } catch (error) {
    if (error instanceof TrawlError) return errorMessage(error);
    throw error;
  }
}

/** Records an action, runs it, and returns its result. */
async function audited(context: RequestContext, entry: AuditEntry, act: () => unknown): Promise<typeof nothing> {
  await context.services.audit.around(entry, act);
  return nothing;
}
