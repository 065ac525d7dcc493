import type { User } from "../../account/identity/user.js";
import { TrawlError } from "../../base/errors.js";
import { eachInSteps, filterInSteps, inOneStep, sortInSteps } from "../../base/yielding.js";
import type { Repository } from "../../model/repository.js";
import { UserSource } from "../sources/account-sources.js";
import { paginate } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import { repositoryPage } from "./repository-lists.js";
import { toRepositorySource } from "../../browse/repository-source.js";
import type { ResolversOf } from "./resolver-types.js";

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
    if (user === undefined) throw new TrawlError("not-found", "there is no such user");
    // The table is created if it does not exist, which takes 10 to 40 ms for 10,000 repositories.
    const table = await context.work.once(`table of ${user.id}`, context.repositories.count, () =>
      inOneStep(() => catalog.repositoryTable(accounts.toViewer(user))),
    );
    const { records, totalCount, pageInfo } = await repositoryPage(table, { first, after }, context);
    return { nodes: records.map((record) => toRepositorySource(record)), totalCount, pageInfo };
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
      ? { ...permissionsInfo(!record.private), ...hostPermissions(record, services.connections) }
      : null,
  authorizedUsers: async ({ record }, { first, after }, context) => {
    context.requireSiteAdmin();
    const page = paginate(await usersWhoSee(record, context), first, after);
    return { ...page, nodes: page.nodes.map((user) => new UserSource(user)) };
  },
};

export const userPermissions: Pick<ResolversOf<"User">, "permissionsInfo"> = {
  permissionsInfo: ({ user }) => permissionsInfo(user.isSiteAdmin),
};

/** Configured permissions take effect immediately: they are not synced from elsewhere at a certain time. */
function permissionsInfo(unrestricted: boolean) {
  return { permissions: ["READ" as const], updatedAt: null, syncedAt: null, closedReason: null, unrestricted };
}

/** What is told of permissions from a code host. */
function hostPermissions(
  { name, url, configured, source }: Repository,
  connections: RequestContext["services"]["connections"],
) {
  const state = configured && source ? connections.permissionState(source.connection, { name, url }) : undefined;
  if (state === undefined) return {};
  const { askedAt, isClosed, error } = state;
  return {
    syncedAt: askedAt || null,
    updatedAt: askedAt || null,
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
