import { TrawlError } from "../../base/errors.js";
import { filterInSteps } from "../../base/yielding.js";
import { actingForOrganisation, organisationSource, requireUser, userSource } from "./account-access.js";
import { OrganisationSource, type UserSource } from "../sources/account-sources.js";
import { paginateBothWays, nothing, paginate } from "./connections.js";
import type { RequestContext } from "../../browse/request-context.js";
import { parseGlobalId } from "../../browse/ids.js";
import type { ResolversOf } from "../execution/resolver-types.js";
import { loadCascade } from "../sources/settings-sources.js";
import { pendingForViewer } from "./invitations.js";
import { latestSettings } from "./settings.js";
import { namesHold } from "./filters.js";

type Query = ResolversOf<"Query">;
type Mutation = ResolversOf<"Mutation">;

export const organisationQueries: Pick<Query, "organization" | "organizations" | "namespace" | "namespaceByName"> = {
  organization: (_, { name }, context) =>
    organisationSource(context.services.accounts.organisations.byName(name), context),
  organizations: async (_, { first, after, query }, context) => {
    context.requireSiteAdmin();
    const {
      work,
      services: { accounts },
    } = context;
    const found = await work.once(work.cacheKey("organisations", { query }), accounts.organisations.count, () =>
      filterInSteps(accounts.organisations.all(), namesHold(query)),
    );
    const { nodes, totalCount } = paginate(found, first, after);
    await context.yieldAfter(nodes.length);
    return { nodes: nodes.map((organisation) => new OrganisationSource(organisation)), totalCount };
  },
  namespace: (_, { id }, context) => {
    const { kind, key } = parseGlobalId(id);
    return typeof key !== "number" ? null : findNamespace(kind, key, context);
  },
  namespaceByName: (_, { name }, context) => {
    const { accounts } = context.services;
    const user = accounts.userByName(name);
    return user === undefined
      ? organisationSource(accounts.organisations.byName(name), context)
      : userSource(user.id, context);
  },
};

export const organisation: ResolversOf<"Org"> = {
  members: async ({ organisation: { memberIds } }, { query, ...page }, context) => {
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
    await context.takeItems(nodes.length, "members of organisations");
    return { nodes: nodes.flatMap((id) => userSource(id, context) ?? []), totalCount, pageInfo };
  },
  viewerPendingInvitation: ({ organisation: of }, _, context) => pendingForViewer(of, context),
  latestSettings,
  settingsCascade: (source, _, context) => loadCascade(source, context),
  configurationCascade: (source, _, context) => loadCascade(source, context),
  viewerCanAdminister: ({ organisation: { id } }, _, context) => context.mayActFor(id),
  viewerIsMember: ({ organisation: { memberIds } }, _, { viewer: { userId } }) =>
    userId !== undefined && memberIds.includes(userId),
};

export const organisationMutations: Pick<
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
    return new OrganisationSource(
      await context.services.accounts.organisations.create(
        { name, displayName: displayName ?? "", memberIds: [id] },
        actor,
      ),
    );
  },
  updateOrganization: async (_, { id, displayName }, context) => {
    const { actor, of } = actingForOrganisation(id, context);
    return new OrganisationSource(
      await context.services.accounts.organisations.update(
        of.name,
        { displayName: displayName ?? of.displayName },
        actor,
      ),
    );
  },
  deleteOrganization: async (_, { organization }, context) => {
    const actor = context.requireSiteAdmin();
    await context.services.accounts.deleteOrganisation(actingForOrganisation(organization, context).of.name, actor);
    return nothing;
  },
  addUserToOrganization: async (_, { organization, username }, context) => {
    const actor = context.requireSiteAdmin();
    await context.services.accounts.organisations.setMember(
      actingForOrganisation(organization, context).of.name,
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
async function removeMember(userId: string, organisationId: string, context: RequestContext): Promise<typeof nothing> {
  const {
    actor,
    of: { name, memberIds },
  } = actingForOrganisation(organisationId, context);
  const user = requireUser(userId, context);
  if (memberIds.length === 1 && memberIds.includes(user.id) && !context.viewer.isSiteAdmin) {
    throw new TrawlError(
      "conflict",
      `${JSON.stringify(user.name)} is the only member; a site admin can remove it, or delete the organisation`,
    );
  }
  await context.services.accounts.organisations.setMember(name, user.name, false, actor);
  return nothing;
}

function findNamespace(kind: string, key: number, context: RequestContext): UserSource | OrganisationSource | null {
  const { accounts } = context.services;
  if (kind === "Org") return organisationSource(accounts.organisations.get(key), context);
  return kind === "User" ? userSource(key, context) : null;
}
