import type { Organization, User } from "../../account/identity/user.js";
import type { Actor } from "../../account/records/audit-log.js";
import type { SavedSearch } from "../../account/settings/saved-searches.js";
import type { Team } from "../../account/identity/teams.js";
import { TrawlError } from "../../base/errors.js";
import { OrganizationSource, TeamSource, UserSource } from "../sources/account-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import { numericKey, parseGlobalId } from "../../browse/ids.js";

/** An organization, for a viewer who may know about it. */
export interface ActingFor<T> {
  readonly actor: Actor;
  readonly of: T;
}

/** The user with this id. Throws `not-found`. */
export function requireUser(id: string, { services: { accounts } }: RequestContext): User {
  const user = accounts.user(numericKey(id, "User"));
  if (user === undefined) throw new TrawlError("not-found", "there is no such user (any more)");
  return user;
}

/** For a change to a user: allowed for the user and for site admins. */
export function actingForUser(id: string, context: RequestContext): ActingFor<User> {
  const actor = context.requireActingFor(numericKey(id, "User"));
  return { actor, of: requireUser(id, context) };
}

/** For a change to an organization: allowed for members and site admins. Others do not learn whether it exists. */
export function actingForOrganization(id: string, context: RequestContext): ActingFor<Organization> {
  const key = numericKey(id, "Org");
  const actor = context.requireActingFor(key);
  const organization = context.services.accounts.organizations.get(key);
  if (organization === undefined) throw new TrawlError("not-found", "there is no such organization (any more)");
  return { actor, of: organization };
}

/** The id of a user or organization for which the viewer may act. */
export function actingForOwner(id: string, context: RequestContext): number {
  return parseGlobalId(id).kind === "Org" ? actingForOrganization(id, context).of.id : actingForUser(id, context).of.id;
}

/** Whether the viewer may change the team: site admins always, its creator and its members unless it is read-only. */
export function mayChangeTeam(
  { isReadonly, creatorId, memberIds }: Team,
  { viewer: { userId, isSiteAdmin } }: RequestContext,
): boolean {
  return isSiteAdmin || (userId !== undefined && !isReadonly && (creatorId === userId || memberIds.includes(userId)));
}

/**
 * The saved searches that the viewer may see: public ones, and those of the viewer and its organizations; site admins
 * see all.
 */
export function maySeeSavedSearch({ isPublic, ownerId }: SavedSearch, context: RequestContext): boolean {
  return isPublic || context.mayActFor(ownerId);
}

/**
 * The user with this id. Null if there is none, and for anonymous viewers unless the user owns something public: they
 * must not learn who has an account.
 */
export function userSource(
  id: number | undefined,
  { isUser, viewer, services: { accounts } }: RequestContext,
): UserSource | null {
  const user = id === undefined ? undefined : accounts.user(id);
  // Whose narrow token it is, a program may ask.
  const isKnown = isUser || id === viewer.userId;
  return user === undefined || !(isKnown || accounts.ownsPublic(user.id)) ? null : new UserSource(user);
}

/** Null for anonymous viewers, and if it does not exist. */
export function teamSource(team: Team | undefined, { isUser }: RequestContext): TeamSource | null {
  return team === undefined || !isUser ? null : new TeamSource(team);
}

/** Null for viewers who may not know about it, and if it does not exist. */
export function organizationSource(
  organization: Organization | undefined,
  context: RequestContext,
): OrganizationSource | null {
  return organization === undefined || !context.mayActFor(organization.id)
    ? null
    : new OrganizationSource(organization);
}

/**
 * The owner of something that the viewer may see, by the number in its id: a viewer who may not see an organization can
 * read only its names, see `field-access`.
 */
export function ownerSource(
  id: number,
  { services: { accounts } }: RequestContext,
): UserSource | OrganizationSource | null {
  const user = accounts.user(id);
  if (user !== undefined) return new UserSource(user);
  const organization = accounts.organizations.get(id);
  return organization === undefined ? null : new OrganizationSource(organization);
}
