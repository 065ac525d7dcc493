import type { User } from "../../account/identity/user.js";
import { TrawlError } from "../../base/errors.js";
import { eachInSteps, filterInSteps, inOneStep, sortInSteps } from "../../base/yielding.js";
import type { Repository } from "../../model/repository.js";
import { UserSource } from "../sources/account-sources.js";
import type { PermissionsSource } from "../sources/sources.js";
import { RepositoryTable } from "../../catalog/repository-table.js";
import { globalId } from "../../browse/ids.js";
import { paginate } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import { repositoryPage } from "./repository-lists.js";
import { toRepositorySource } from "../../browse/repository-source.js";
import type { ResolversOf } from "./resolver-types.js";
import type { PermissionSource } from "./schema-types.js";

/** Queries about permissions, for site admins. */
export const permissionQueries: Pick<
  ResolversOf<"Query">,
  "authorizedUserRepositories" | "usersWithPendingPermissions"
> = {
  authorizedUserRepositories: async (_, { username, email, first, after }, context) => {
    context.requireSiteAdmin();
    const { accounts, catalog } = context.services;
    if (typeof username !== "string" && typeof email !== "string")
      throw new TrawlError("bad-request", "neither username nor email given");
    const owner = typeof email === "string" ? accounts.emails.findVerifiedOwner(email) : undefined;
    const user = typeof username === "string" ? accounts.userByName(username) : accounts.user(owner ?? 0);
    // Whoever gets this name sees what was set for it.
    if (user === undefined) return await pendingRepositories(username ?? "", { first, after }, context);
    // The table is created if it does not exist, which takes 10 to 40 ms for 10,000 repositories.
    const table = await context.work.once(`table of ${user.id}`, context.repositories.count, () =>
      inOneStep(() => catalog.repositoryTable(accounts.toViewer(user))),
    );
    const { records, totalCount, pageInfo } = await repositoryPage(table, { first, after }, context);
    return { nodes: records.map((record) => toRepositorySource(record)), totalCount, pageInfo, notListed: null };
  },
  usersWithPendingPermissions: (_, __, context) => {
    context.requireSiteAdmin();
    const {
      repositories,
      work,
      services: { accounts },
    } = context;
    return work.once("pending readers", repositories.count, function* () {
      const names = new Set<string>();
      yield* eachInSteps(repositories.values(), ({ readers }) => readers.forEach((name) => names.add(name)));
      const pending = yield* filterInSteps(
        [...names],
        (name) => accounts.userByName(name) === undefined && accounts.organizations.byName(name) === undefined,
      );
      return yield* sortInSteps(pending, (a, b) => (a < b ? -1 : 1));
    });
  },
};

export const repositoryPermissions: Pick<ResolversOf<"Repository">, "permissionsInfo" | "authorizedUsers"> = {
  permissionsInfo: ({ record }, _, { viewer, services }) =>
    viewer.isSiteAdmin
      ? { ...configured(!record.private, undefined), ...hostPermissions(record, services.connections) }
      : null,
  authorizedUsers: async ({ record }, { first, after }, context) => {
    context.requireSiteAdmin();
    const page = paginate(await usersWhoSee(record, context), first, after);
    return { ...page, nodes: page.nodes.map((user) => new UserSource(user)) };
  },
};

export const userPermissions: Pick<ResolversOf<"User">, "permissionsInfo"> = {
  permissionsInfo: ({ user }) => configured(user.isSiteAdmin, user),
};

export const permissionsInfo: ResolversOf<"PermissionsInfo"> = {
  permissions: () => ["READ"],
  updatedAt: ({ syncedAt }) => syncedAt,
  repositories: async ({ user }, page, context) =>
    user === undefined ? null : await repositoriesReadBy(user, page, context),
};

interface ReaderPage {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly source?: PermissionSource | null | undefined;
}

const reasons = { API: "Explicit API", REPO_SYNC: "Permissions sync", none: "Configuration" } as const;

/** The private repositories whose readers have this name. */
function namingRepositories(name: string, context: RequestContext): Promise<readonly Repository[]> {
  const lower = name.toLowerCase();
  const { repositories, work } = context;
  return work.once(`repositories that name ${lower}`, repositories.count, () =>
    filterInSteps(
      [...repositories.values()],
      ({ private: isPrivate, readers }) => isPrivate && readers.some((reader) => reader.toLowerCase() === lower),
    ),
  );
}

/** Where the readers of a repository come from. */
function findReadersSource(record: Repository, { services }: RequestContext): keyof typeof reasons {
  if (!record.configured) return "API";
  return findHostState(record, services.connections) === undefined ? "none" : "REPO_SYNC";
}

/** Undefined if no code host decides about the readers of a repository. */
function findHostState({ name, url, configured, source }: Repository, connections: PermissionStates) {
  return configured && source !== undefined ? connections.permissionState(source.connection, { name, url }) : undefined;
}

type PermissionStates = Pick<RequestContext["services"]["connections"], "permissionState">;

async function repositoriesReadBy({ name }: User, { first, after, source }: ReaderPage, context: RequestContext) {
  const all = (await namingRepositories(name, context)).map((record) => ({
    record,
    from: findReadersSource(record, context),
  }));
  const wanted = all.filter(({ from }) => source === undefined || source === null || from === source);
  const page = paginate(wanted, first, after);
  return {
    ...page,
    nodes: page.nodes.map(({ record, from }) => ({
      id: globalId("Repository", record.id),
      repository: toRepositorySource(record),
      reason: reasons[from],
      updatedAt: null,
    })),
  };
}

/** The repositories that were set by hand for a name which nobody has yet. */
async function pendingRepositories(
  name: string,
  { first, after }: { readonly first: number; readonly after: string | null | undefined },
  context: RequestContext,
) {
  const isOrganization = context.services.accounts.organizations.byName(name) !== undefined;
  const found = name === "" || isOrganization ? [] : await namingRepositories(name, context);
  const table = RepositoryTable.of(found, false, undefined);
  const { records, totalCount, pageInfo } = await repositoryPage(table, { first, after }, context);
  return { nodes: records.map((record) => toRepositorySource(record)), totalCount, pageInfo, notListed: null };
}

/** Configured permissions take effect immediately: they are not synced from elsewhere at a certain time. */
function configured(unrestricted: boolean, user: User | undefined): PermissionsSource {
  return { unrestricted, syncedAt: null, closedReason: null, user };
}

/** What is told of permissions from a code host. */
function hostPermissions(record: Repository, connections: PermissionStates) {
  const state = findHostState(record, connections);
  if (state === undefined) return {};
  const { askedAt, isClosed, error } = state;
  return {
    syncedAt: askedAt || null,
    closedReason: isClosed ? error || "the code host has not been asked yet" : null,
  };
}

/** In order of creation. */
async function usersWhoSee(
  { private: isPrivate, readers }: Repository,
  { work, services: { accounts } }: RequestContext,
): Promise<readonly User[]> {
  if (!isPrivate) return accounts.users();
  const ids = new Set(
    readers.flatMap((name) => accounts.userByName(name)?.id ?? accounts.organizations.byName(name)?.memberIds ?? []),
  );
  return work.run(
    accounts.userCount,
    filterInSteps(accounts.users(), ({ id, isSiteAdmin }) => isSiteAdmin || ids.has(id)),
  );
}
