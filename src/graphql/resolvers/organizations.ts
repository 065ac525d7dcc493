import { TrawlError } from "../../base/errors.js";
import { filterInSteps } from "../../base/yielding.js";
import { actingForOrganization, organizationSource, requireUser, userSource } from "./account-access.js";
import { OrganizationSource, type UserSource } from "../sources/account-sources.js";
import { paginateBothWays, nothing, paginate } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import { parseGlobalId } from "../../browse/ids.js";
import type { ResolversOf } from "./resolver-types.js";
import { loadCascade } from "../sources/settings-sources.js";
import { pendingForViewer } from "./invitations.js";
import { latestSettings } from "./settings.js";
import { namesHold } from "./list-filters.js";

type Query = ResolversOf<"Query">;
type Mutation = ResolversOf<"Mutation">;

export const organizationQueries: Pick<Query, "organization" | "organizations" | "namespace" | "namespaceByName"> = {
  organization: (_, { name }, context) =>
    organizationSource(context.services.accounts.organizations.byName(name), context),
  organizations: async (_, { first, after, query }, context) => {
    context.requireSiteAdmin();
    const {
      work,
      services: { accounts },
    } = context;
    const found = await work.once(work.cacheKey("organizations", { query }), accounts.organizations.count, () =>
      filterInSteps(accounts.organizations.all(), namesHold(query)),
    );
    const { nodes, totalCount } = paginate(found, first, after);
    await context.yieldAfter(nodes.length);
    return { nodes: nodes.map((organization) => new OrganizationSource(organization)), totalCount };
  },
  namespace: (_, { id }, context) => {
    const { kind, key } = parseGlobalId(id);
    return typeof key !== "number" ? null : findNamespace(kind, key, context);
  },
  namespaceByName: (_, { name }, context) => {
    const { accounts } = context.services;
    const user = accounts.userByName(name);
    return user === undefined
      ? organizationSource(accounts.organizations.byName(name), context)
      : userSource(user.id, context);
  },
};

export const organization: ResolversOf<"Org"> = {
  members: async ({ organization: { memberIds } }, { query, ...page }, context) => {
    const {
      work,
      services: { accounts },
    } = context;
    const isNamed = namesHold(query);
    const wanted = query
      ? await work.run(
          memberIds.length,
          filterInSteps(memberIds, (id) => isNamed(accounts.user(id) ?? nobody)),
        )
      : memberIds;
    const { nodes, totalCount, pageInfo } = paginateBothWays(wanted, page);
    await context.takeItems(nodes.length, "members of organizations");
    return { nodes: nodes.flatMap((id) => userSource(id, context) ?? []), totalCount, pageInfo };
  },
  viewerPendingInvitation: ({ organization: of }, _, context) => pendingForViewer(of, context),
  latestSettings,
  settingsCascade: (source, _, context) => loadCascade(source, context),
  configurationCascade: (source, _, context) => loadCascade(source, context),
  viewerCanAdminister: ({ organization: { id } }, _, context) => context.mayActFor(id),
  viewerIsMember: ({ organization: { memberIds } }, _, { viewer: { userId } }) =>
    userId !== undefined && memberIds.includes(userId),
};

export const organizationMutations: Pick<
  Mutation,
  | "createOrganization"
  | "updateOrganization"
  | "deleteOrganization"
  | "addUserToOrganization"
  | "removeUserFromOrganization"
  | "removeUserFromOrg"
> = {
  createOrganization: async (_, { name, displayName }, context) => {
    const actor = context.requireSiteAdmin();
    const { id } = context.author;
    return new OrganizationSource(
      await context.services.accounts.organizations.create(
        { name, displayName: displayName ?? "", memberIds: [id] },
        actor,
      ),
    );
  },
  updateOrganization: async (_, { id, displayName }, context) => {
    const { actor, of } = actingForOrganization(id, context);
    return new OrganizationSource(
      await context.services.accounts.organizations.update(
        of.name,
        { displayName: displayName ?? of.displayName },
        actor,
      ),
    );
  },
  deleteOrganization: async (_, { organization }, context) => {
    const actor = context.requireSiteAdmin();
    await context.services.accounts.deleteOrganization(actingForOrganization(organization, context).of.name, actor);
    return nothing;
  },
  addUserToOrganization: async (_, { organization, username }, context) => {
    const actor = context.requireSiteAdmin();
    await context.services.accounts.organizations.setMember(
      actingForOrganization(organization, context).of.name,
      username,
      true,
      actor,
    );
    return nothing;
  },
  removeUserFromOrganization: (_, { user, organization }, context) => removeMember(user, organization, context),
  removeUserFromOrg: (_, { userID, orgID }, context) => removeMember(userID, orgID, context),
};

/** Represents a member who was deleted in the meantime. */
const nobody = { name: "", displayName: "" };

/** Only a site admin may remove the last member, because nobody else could add members again. */
async function removeMember(userId: string, organizationId: string, context: RequestContext): Promise<typeof nothing> {
  const {
    actor,
    of: { name, memberIds },
  } = actingForOrganization(organizationId, context);
  const user = requireUser(userId, context);
  if (memberIds.length === 1 && memberIds.includes(user.id) && !context.viewer.isSiteAdmin) {
    throw new TrawlError(
      "conflict",
      `${JSON.stringify(user.name)} is the only member; a site admin can remove it, or delete the organization`,
    );
  }
  await context.services.accounts.organizations.setMember(name, user.name, false, actor);
  return nothing;
}

function findNamespace(kind: string, key: number, context: RequestContext): UserSource | OrganizationSource | null {
  const { accounts } = context.services;
  if (kind === "Org") return organizationSource(accounts.organizations.get(key), context);
  return kind === "User" ? userSource(key, context) : null;
}
