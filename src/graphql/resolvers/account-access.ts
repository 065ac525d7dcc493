import type { Organisation, User } from "../../account/identity/user.js";
import type { Actor } from "../../account/records/audit-log.js";
import type { SavedSearch } from "../../account/settings/saved-searches.js";
import type { Team } from "../../account/identity/teams.js";
import { TrawlError } from "../../base/errors.js";
import { OrganisationSource, TeamSource, UserSource } from "../sources/account-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import { numericKey, parseGlobalId } from "../../browse/ids.js";

/** What an organisation is to somebody who may know of it. */
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

/** For a change to a user: by itself, or by a site admin. */
export function actingForUser(id: string, context: RequestContext): ActingFor<User> {
  const actor = context.requireActingFor(numericKey(id, "User"));
  return { actor, of: requireUser(id, context) };
}

/** For a change to an organisation: by a member, or by a site admin. Others don't learn whether it is there. */
export function actingForOrganisation(id: string, context: RequestContext): ActingFor<Organisation> {
  const key = numericKey(id, "Org");
  const actor = context.requireActingFor(key);
  const organisation = context.services.accounts.organisations.get(key);
  if (organisation === undefined) throw new TrawlError("not-found", "there is no such organisation (any more)");
  return { actor, of: organisation };
}

/** The id of a user or organisation that the viewer may act for. */
export function actingForOwner(id: string, context: RequestContext): number {
  return parseGlobalId(id).kind === "Org" ? actingForOrganisation(id, context).of.id : actingForUser(id, context).of.id;
}

/** Whether the viewer may change the team: a site admin always, who made it and its members unless it is readonly. */
export function mayChangeTeam(
  { isReadonly, creatorId, memberIds }: Team,
  { viewer: { userId, isSiteAdmin } }: RequestContext,
): boolean {
  return isSiteAdmin || (userId !== undefined && !isReadonly && (creatorId === userId || memberIds.includes(userId)));
}

/** Those that the viewer may see: public ones, and those of itself and its organisations; site admins see all. */
export function maySeeSavedSearch({ isPublic, ownerId }: SavedSearch, context: RequestContext): boolean {
  return isPublic || context.mayActFor(ownerId);
}

/**
 * The user with this id. Null for nobody, and for those without an account unless the user owns something public: they
 * must not learn who has an account here.
 */
export function userSource(
  id: number | undefined,
  { isUser, services: { accounts } }: RequestContext,
): UserSource | null {
  const user = id === undefined ? undefined : accounts.user(id);
  return user === undefined || !(isUser || accounts.ownsPublic(user.id)) ? null : new UserSource(user);
}

/** Null for those without an account, as for one that is not there. */
export function teamSource(team: Team | undefined, { isUser }: RequestContext): TeamSource | null {
  return team === undefined || !isUser ? null : new TeamSource(team);
}

/** Null for those who may not know of it, as for one that is not there. */
export function organisationSource(
  organisation: Organisation | undefined,
  context: RequestContext,
): OrganisationSource | null {
  return organisation === undefined || !context.mayActFor(organisation.id)
    ? null
    : new OrganisationSource(organisation);
}

/**
 * The owner of something that the viewer may see, by the number in its id: a viewer who may not see an organisation
 * reads its names alone, see `field-access`.
 */
export function ownerSource(
  id: number,
  { services: { accounts } }: RequestContext,
): UserSource | OrganisationSource | null {
  const user = accounts.user(id);
  if (user !== undefined) return new UserSource(user);
  const organisation = accounts.organisations.get(id);
  return organisation === undefined ? null : new OrganisationSource(organisation);
}
