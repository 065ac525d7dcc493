import type { User } from "../../account/accounts.js";
import { TrawlError } from "../../base/errors.js";
import type { Repository } from "../../model/repository.js";
import { UserSource } from "../account-sources.js";
import { pageOf } from "../connections.js";
import type { RequestContext } from "../context.js";
import { repositoryPage } from "../repository-pages.js";
import { repositorySourceOf } from "../repository-source.js";
import type { ResolversOf } from "../resolver-types.js";

/** Who may see what, for site admins. */
export const permissionQueries: Pick<ResolversOf<"Query">, "authorizedUserRepositories" | "usersWithPendingPermissions"> = {
  authorizedUserRepositories: (_, { username, email, first, after }, context) => {
    context.requireSiteAdmin();
    const { accounts, catalog } = context.services;
    if (typeof username !== "string" && typeof email !== "string") throw new TrawlError("bad-request", "neither username nor email given");
    const owner = typeof email === "string" ? accounts.emails.verifiedOwnerOf(email) : undefined;
    const user = typeof username === "string" ? accounts.userByName(username) : accounts.user(owner ?? 0);
    if (user === undefined) throw new TrawlError("not-found", "there is no such user");
    const { records, totalCount, pageInfo } = repositoryPage(catalog.repositoryTable(accounts.viewerOf(user)), { first, after });
    return { nodes: records.map((record) => repositorySourceOf(record)), totalCount, pageInfo };
  },
  usersWithPendingPermissions: (_, __, context) => {
    context.requireSiteAdmin();
    const { accounts } = context.services;
    const names = new Set(context.repositories.values().flatMap(({ readers }) => readers));
    return [...names].filter((name) => accounts.userByName(name) === undefined && accounts.organisationByName(name) === undefined).sort();
  },
};

export const repositoryPermissions: Pick<ResolversOf<"Repository">, "permissionsInfo" | "authorizedUsers"> = {
  permissionsInfo: ({ record }, _, { viewer }) => (viewer.isSiteAdmin ? permissionsInfo(!record.private) : null),
  authorizedUsers: ({ record }, { first, after }, context) => {
    context.requireSiteAdmin();
    const page = pageOf(usersWhoSee(record, context), first, after);
    return { ...page, nodes: page.nodes.map((user) => new UserSource(user)) };
  },
};

export const userPermissions: Pick<ResolversOf<"User">, "permissionsInfo"> = {
  permissionsInfo: ({ user }) => permissionsInfo(user.isSiteAdmin),
};

/** What is configured holds at once: there is no time at which it was copied from elsewhere. */
function permissionsInfo(unrestricted: boolean) {
  return { permissions: ["READ" as const], updatedAt: null, syncedAt: null, unrestricted };
}

/** In the order in which they were created. */
function usersWhoSee({ private: isPrivate, readers }: Repository, { services: { accounts } }: RequestContext): readonly User[] {
  if (!isPrivate) return accounts.users();
  const ids = new Set(readers.flatMap((name) => accounts.userByName(name)?.id ?? accounts.organisationByName(name)?.memberIds ?? []));
  return accounts.users().filter(({ id, isSiteAdmin }) => isSiteAdmin || ids.has(id));
}
