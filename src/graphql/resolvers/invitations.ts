import type { Invitation } from "../../account/identity/invitations.js";
import type { Organization, User } from "../../account/identity/user.js";
import type { Actor } from "../../account/records/audit-log.js";
import { TrawlError } from "../../base/errors.js";
import { filterInSteps } from "../../base/yielding.js";
import { numericKey } from "../../browse/ids.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ResolversOf } from "./resolver-types.js";
import { UserSource, InvitationSource, invitationPath } from "../sources/account-sources.js";
import { actingForOrganization, ownerSource, requireUser, userSource } from "./account-access.js";
import { nothing } from "./connection-types.js";
import { namesHold } from "./list-filters.js";

type Query = ResolversOf<"Query">;
type Mutation = ResolversOf<"Mutation">;

/** Users that a search for new members returns. */
const foundUsersMax = 10;

const noInvitation = "there is no such invitation, or it is not for you";

export const invitationQueries: Pick<Query, "invitationByToken" | "pendingInvitations" | "autocompleteMembersSearch"> =
  {
    invitationByToken: (_, { token }, context) => {
      context.requireUser();
      const found = /^\d{1,15}$/.test(token) ? invitationSource(Number(token), context) : null;
      if (found === null) throw new TrawlError("not-found", noInvitation);
      return found;
    },
    pendingInvitations: (_, { organization }, context) => {
      const { of } = actingForOrganization(organization, context);
      return context.services.accounts.invitations.pendingOf(of.id).map((one) => new InvitationSource(one));
    },
    autocompleteMembersSearch: async (_, { organization, query }, context) => {
      const { of } = actingForOrganization(organization, context);
      const { accounts } = context.services;
      const isNamed = namesHold(query);
      const isFound = (user: User): boolean => isNamed(user) && (user.isUnlisted !== true || user.name === query);
      const found = await context.work.run(accounts.userCount, filterInSteps(accounts.users(), isFound));
      return found.slice(0, foundUsersMax).map((user) => {
        const { id, username, displayName, avatarURL } = new UserSource(user);
        return { id, username, displayName, avatarURL, inOrg: of.memberIds.includes(user.id) ? 1 : 0 };
      });
    },
  };

export const invitation: ResolversOf<"OrganizationInvitation"> = {
  organization: ({ invitation: { organisationId } }, _, context) => {
    const organization = ownerSource(organisationId, context);
    if (organization?.__typename !== "Org") throw new TrawlError("not-found", noInvitation);
    return organization;
  },
  sender: ({ invitation: { senderId } }, _, context) => userSource(senderId, context),
  recipient: ({ invitation: { recipientId } }, _, context) => userSource(recipientId, context),
  respondURL: ({ invitation: of }, _, { services }) => services.externalUrl() + invitationPath(of),
  isVerifiedEmail: ({ invitation: of }, _, context) => {
    if (of.recipientEmail === "") return null;
    const user = viewingUser(context);
    return user !== undefined && context.services.accounts.invitations.isRecipient(of, user);
  },
};

export const invitationMutations: Pick<
  Mutation,
  | "inviteUserToOrganization"
  | "respondToOrganizationInvitation"
  | "resendOrganizationInvitationNotification"
  | "revokeOrganizationInvitation"
> = {
  inviteUserToOrganization: async (_, { organization, username, email }, context) => {
    const { actor, of } = actingForOrganization(organization, context);
    const { accounts, externalUrl } = context.services;
    const isByName = typeof username === "string" && username !== "";
    if (isByName === (typeof email === "string" && email !== ""))
      throw new TrawlError("bad-request", "give either a username or an e-mail address");
    const invited = isByName ? { user: namedUser(username, context) } : { email: email ?? "" };
    const made = await accounts.invitations.create(of, context.viewer.userId ?? 0, invited, actor);
    return { sentInvitationEmail: false, invitationURL: externalUrl() + invitationPath(made) };
  },
  respondToOrganizationInvitation: async (_, { organizationInvitation, responseType }, context) => {
    const { actor } = context;
    const user = viewingUser(context);
    if (user === undefined) throw new TrawlError("forbidden", "not authenticated");
    const id = numericKey(organizationInvitation, "OrganizationInvitation");
    await context.services.accounts.invitations.respond(id, user, responseType, actor);
    return nothing;
  },
  resendOrganizationInvitationNotification: async (_, { organizationInvitation }, context) => {
    const { actor, id } = administered(organizationInvitation, context);
    await context.services.accounts.invitations.extend(id, actor);
    return nothing;
  },
  revokeOrganizationInvitation: async (_, { organizationInvitation }, context) => {
    const { actor, id } = administered(organizationInvitation, context);
    await context.services.accounts.invitations.revoke(id, actor);
    return nothing;
  },
};

/** Null unless the viewer is its recipient, or may act for its organization. */
export function invitationSource(id: number, context: RequestContext): InvitationSource | null {
  const { invitations } = context.services.accounts;
  const found = invitations.get(id);
  const user = viewingUser(context);
  if (found === undefined) return null;
  const isFor = user !== undefined && invitations.isRecipient(found, user);
  return isFor || context.mayActFor(found.organisationId) ? new InvitationSource(found) : null;
}

/** The pending invitation of the viewer to an organization; null if there is none. */
export function pendingForViewer({ id }: Organization, context: RequestContext): InvitationSource | null {
  const user = viewingUser(context);
  const pending = user === undefined ? [] : context.services.accounts.invitations.pendingFor(user);
  const found = pending.find(({ organisationId }) => organisationId === id);
  return found === undefined ? null : new InvitationSource(found);
}

function viewingUser({ viewer: { userId }, services: { accounts } }: RequestContext): User | undefined {
  return userId === undefined ? undefined : accounts.user(userId);
}

function namedUser(name: string, context: RequestContext): User {
  const user = context.services.accounts.userByName(name);
  if (user === undefined)
    throw new TrawlError("not-found", `there is no user named ${JSON.stringify(name.slice(0, 255))}`);
  return requireUser(new UserSource(user).id, context);
}

/** For members of the organization and site admins; to others, the invitation does not exist. */
function administered(id: string, context: RequestContext): { readonly actor: Actor } & Pick<Invitation, "id"> {
  const { actor } = context;
  const found = context.services.accounts.invitations.get(numericKey(id, "OrganizationInvitation"));
  if (found === undefined || !context.mayActFor(found.organisationId)) throw new TrawlError("not-found", noInvitation);
  return { actor, id: found.id };
}
