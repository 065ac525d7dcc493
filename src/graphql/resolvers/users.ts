import type { Accounts } from "../../account/identity/accounts.js";
import type { Organization, User } from "../../account/identity/user.js";
import type { Email } from "../../account/identity/emails.js";
import type { LinkedIdentity } from "../../account/identity/identities.js";
import { TrawlError } from "../../base/errors.js";
import { filterInSteps, inOneStep, mapInSteps } from "../../base/yielding.js";
import { actingForUser, requireUser, userSource } from "./account-access.js";
import {
  ExternalAccountSource,
  InvitationSource,
  OrganizationSource,
  TeamSource,
  UserSource,
} from "../sources/account-sources.js";
import { emptyPage, nothing, paginate, paginateBothWays } from "./connection-types.js";
import { parseGlobalId } from "../../browse/ids.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ResolversOf } from "./resolver-types.js";
import type { ObjectTypes } from "./schema-types.js";
import { loadCascade } from "../sources/settings-sources.js";
import { userPermissions } from "./permissions.js";
import { latestSettings } from "./settings.js";
import { namesHold, parseTime } from "./list-filters.js";
import { tokenPage } from "./tokens.js";

type Query = ResolversOf<"Query">;
type Mutation = ResolversOf<"Mutation">;

export const userQueries: Pick<Query, "currentUser" | "user" | "users"> = {
  currentUser: (_, __, context) => userSource(context.viewer.userId, context),
  user: (_, { username, email }, context) => {
    const { accounts } = context.services;
    if (typeof username === "string") return userSource(accounts.userByName(username)?.id, context);
    if (typeof email !== "string") throw new TrawlError("bad-request", "neither username nor email given");
    // Anonymous viewers may not learn the owner of an address.
    return context.isUser ? userSource(accounts.emails.findVerifiedOwner(email), context) : null;
  },
  users: async (_, { first, after, ...args }, context) => {
    context.requireSiteAdmin();
    const {
      work,
      services: { accounts },
    } = context;
    const page = paginate(
      await work.once(work.cacheKey("users", args), accounts.userCount, () => wantedUsers(args, accounts)),
      first,
      after,
    );
    await context.yieldAfter(page.nodes.length);
    return { ...page, nodes: page.nodes.map((user) => new UserSource(user)) };
  },
};

export const user: ResolversOf<"User"> = {
  // field-access defines who may read which field.
  email: ({ user: { id } }, _, { services: { accounts } }) => accounts.emails.of(id).at(0)?.address ?? "",
  emails: ({ user: { id } }, _, { services: { accounts } }) => accounts.emails.of(id).map(shownEmail),
  primaryEmail: ({ user: { id } }, _, { services: { accounts } }) =>
    accounts.emails.of(id).slice(0, 1).map(shownEmail).at(0) ?? null,
  hasVerifiedEmail: ({ user: { id } }, _, { services: { accounts } }) =>
    accounts.emails.of(id).some(({ isVerified }) => isVerified),
  latestSettings,
  settingsCascade: (source, _, context) => loadCascade(source, context),
  configurationCascade: (source, _, context) => loadCascade(source, context),
  organizations: async ({ user: { id } }, _, context) => {
    const nodes = await knownOrganizations(id, context);
    return { nodes, totalCount: nodes.length };
  },
  organizationMemberships: async (source, _, context) => {
    const organizations = await knownOrganizations(source.user.id, context);
    return {
      nodes: organizations.map((organization) => ({ organization, user: source })),
      totalCount: organizations.length,
    };
  },
  accessTokens: ({ user: { id } }, { first, after }, context) =>
    tokenPage(context.services.accounts.accessTokens.list(id), first, after, context),
  organizationInvitations: ({ user: of }, _, { services: { accounts } }) =>
    accounts.invitations.pendingFor(of).map((one) => new InvitationSource(one)),
  externalAccounts: ({ user: { id } }, { first, after }, { services: { accounts } }) => {
    const page = paginate(accounts.identities.forUser(id), first, after);
    return { ...page, nodes: page.nodes.map((identity) => new ExternalAccountSource(identity)) };
  },
  eventLogs: () => emptyPage,
  teams: async ({ user: { id } }, { first, after, search }, context) => {
    const {
      work,
      services: {
        accounts: { teams },
      },
    } = context;
    const all = await work.once(`teams of ${id}`, 1, () => inOneStep(() => teams.ofUser(id)));
    const page = paginate(await work.run(all.length, filterInSteps(all, namesHold(search))), first, after);
    await context.yieldAfter(page.nodes.length);
    return { ...page, nodes: page.nodes.map((team) => new TeamSource(team)) };
  },
  usageStatistics: ({ user: { id } }, _, context) => {
    const lastMs = context.services.accounts.lastUses.of(id);
    return {
      searchQueries: 0,
      pageViews: 0,
      codeIntelligenceActions: 0,
      findReferencesActions: 0,
      lastActiveCodeHostIntegrationTime: null,
      lastActiveTime: lastMs === undefined ? null : new Date(lastMs).toISOString(),
    };
  },
  ...userPermissions,
  viewerCanAdminister: ({ user: { id } }, _, context) => context.mayActFor(id),
  builtinAuth: () => true,
  tags: () => [],
  viewerCanChangeUsername: () => false,
  scimControlled: ({ user: { id } }, _, { services: { accounts } }) => accounts.provisioned.user(id) !== undefined,
  codyProEnabled: () => false,
  tosAccepted: () => true,
  completedPostSignup: () => true,
  session: ({ user: { id } }, _, { viewer }) => ({ canSignOut: viewer.isSignedIn && viewer.userId === id }),
  permissions: () => ({ nodes: [] }),
  roles: () => paginateBothWays([], {}),
};

export const userMutations: Pick<
  Mutation,
  | "createUser"
  | "deleteUser"
  | "deleteUsers"
  | "recoverUsers"
  | "updateUser"
  | "setUserIsSiteAdmin"
  | "setSearchable"
  | "setTag"
  | "addUserEmail"
  | "removeUserEmail"
  | "setUserEmailPrimary"
  | "setUserEmailVerified"
  | "updatePassword"
  | "createPassword"
  | "randomizeUserPassword"
  | "invalidateSessionsByID"
  | "invalidateSessionsByIDs"
  | "deleteExternalAccount"
> = {
  createUser: async (_, { username, email, verifiedEmail }, context) => {
    const actor = context.requireSiteAdmin();
    const { accounts, externalUrl } = context.services;
    const address =
      typeof email === "string" && email !== "" ? { email: { address: email, isVerified: verifiedEmail ?? true } } : {};
    const created = await accounts.createUser(
      { name: username, displayName: "", isSiteAdmin: false, ...address },
      actor,
    );
    const { path } = await accounts.passwords.newReset(created.name, actor);
    return { user: new UserSource(created), resetPasswordURL: externalUrl() + path };
  },
  deleteUser: (_, { user: id }, context) => deleteUsers([id], context),
  deleteExternalAccount: async (_, { externalAccount }, context) => {
    const { actor, viewer, services } = context;
    const { id, userId } = requireIdentity(externalAccount, context);
    const mayLockOut = viewer.isSiteAdmin && viewer.userId !== userId;
    await services.accounts.unlinkIdentity(id, { mayLockOut, isUsable: services.hasProvider }, actor);
    return nothing;
  },
  deleteUsers: (_, { users }, context) => deleteUsers(users, context),
  recoverUsers: (_, __, context) => {
    context.requireSiteAdmin();
    throw new TrawlError("not-found", "deleted users cannot be recovered; create them again with createUser");
  },
  updateUser: async (_, { user: id, username, displayName, avatarURL }, context) => {
    const {
      actor,
      of: { name },
    } = actingForUser(id, context);
    if (typeof username === "string" && username !== name) {
      throw new TrawlError(
        "bad-request",
        "user names cannot be changed, because permissions refer to them; create another user and delete this one",
      );
    }
    if (typeof avatarURL === "string" && avatarURL !== "")
      throw new TrawlError("bad-request", "avatars are not supported; omit avatarURL");
    const changes = typeof displayName === "string" ? { displayName } : {};
    return new UserSource(await context.services.accounts.updateUser(name, changes, actor));
  },
  setUserIsSiteAdmin: async (_, { userID, siteAdmin }, context) => {
    const actor = context.requireSiteAdmin();
    if (siteAdmin) requireOwnCredential(context);
    const { id, name } = requireUser(userID, context);
    if (id === context.viewer.userId)
      throw new TrawlError("forbidden", "refusing to set current user site admin status");
    await context.services.accounts.updateUser(name, { isSiteAdmin: siteAdmin }, actor);
    return nothing;
  },
  setSearchable: async (_, { searchable }, context) => {
    const { actor } = context.author;
    await context.services.accounts.updateUser(actor.who, { isUnlisted: !searchable }, actor);
    return nothing;
  },
  setTag: (_, __, context) => {
    context.requireSiteAdmin();
    return nothing;
  },
  addUserEmail: async (_, { user: id, email }, context) => {
    const {
      actor,
      of: { name },
    } = actingForUser(id, context);
    await context.services.accounts.emails.add(name, email, false, actor);
    return nothing;
  },
  removeUserEmail: async (_, { user: id, email }, context) => {
    const {
      actor,
      of: { name },
    } = actingForUser(id, context);
    await context.services.accounts.emails.remove(name, email, actor);
    return nothing;
  },
  setUserEmailPrimary: async (_, { user: id, email }, context) => {
    const {
      actor,
      of: { id: key, name },
    } = actingForUser(id, context);
    const { emails } = context.services.accounts;
    const found = emails.of(key).find(({ address }) => address.toLowerCase() === email.toLowerCase());
    if (found?.isVerified === false)
      throw new TrawlError("bad-request", `${JSON.stringify(email)} is not verified; a site admin can verify it`);
    await emails.setPrimary(name, email, actor);
    return nothing;
  },
  setUserEmailVerified: async (_, { user: id, email, verified }, context) => {
    const actor = context.requireSiteAdmin();
    await context.services.accounts.emails.setVerified(requireUser(id, context).name, email, verified, actor);
    return nothing;
  },
  updatePassword: async (_, { oldPassword, newPassword }, context) => {
    const { actor } = requireSession(context);
    await context.services.accounts.passwords.change(actor.who, oldPassword, newPassword, actor);
    return nothing;
  },
  createPassword: async (_, { newPassword }, context) => {
    const { id, actor } = requireSession(context).author;
    const { passwords } = context.services.accounts;
    if (passwords.has(id))
      throw new TrawlError("conflict", "there is already a password; change it with updatePassword");
    await passwords.set(actor.who, newPassword, actor);
    return nothing;
  },
  randomizeUserPassword: async (_, { user: id }, context) => {
    const actor = context.requireSiteAdmin();
    requireSession(context);
    const { accounts, externalUrl } = context.services;
    const { path } = await accounts.passwords.randomize(requireUser(id, context).name, actor);
    return { resetPasswordURL: externalUrl() + path, emailSent: false };
  },
  invalidateSessionsByID: (_, { userID }, context) => endSessions([userID], context),
  invalidateSessionsByIDs: (_, { userIDs }, context) => endSessions(userIDs, context),
};

/** A token, which may be stolen or about to expire, changes no password: the change would outlast it. */
function requireSession(context: RequestContext): RequestContext {
  if (context.viewer.credential?.kind === "token")
    throw new TrawlError("forbidden", "a password cannot be changed with an access token: sign in with a browser");
  return context;
}

/**
 * A new site admin outlasts a token that was given to a program for a while, that another token made, or that acts as
 * somebody else, so it is made in a browser session or with a token that the admin created.
 */
function requireOwnCredential({ viewer, services }: RequestContext): void {
  if (viewer.credential?.kind !== "token") return;
  if (viewer.sudoBy === undefined && !services.accounts.accessTokens.isDerived(viewer.credential.id)) return;
  throw new TrawlError(
    "forbidden",
    "a site admin cannot be made with a token that a program received, that acts as another user, or that another token made: sign in with a browser, or use a token that you created there",
  );
}

function wantedUsers(
  { query, activePeriod, inactiveSince }: Omit<ObjectTypes["Query"]["users"]["args"], "first" | "after">,
  accounts: Accounts,
): Generator<void, readonly User[]> {
  const isNamed = namesHold(query);
  const activeMs = activePeriod === undefined || activePeriod === null ? 0 : startOfPeriod(activePeriod, new Date());
  const inactiveMs = inactiveSince === undefined || inactiveSince === null ? Infinity : parseTime(inactiveSince);
  const isActiveThen = (usedMs: number): boolean => usedMs >= activeMs && usedMs <= inactiveMs;
  return filterInSteps(accounts.users(), (each) => isNamed(each) && isActiveThen(accounts.lastUses.of(each.id) ?? 0));
}

/** Nobody is deleted unless all can be. */
async function deleteUsers(ids: readonly string[], context: RequestContext): Promise<typeof nothing> {
  const actor = context.requireSiteAdmin();
  if (ids.length === 0) throw new TrawlError("bad-request", "must specify at least one user ID");
  const users = new Map(ids.map((id) => requireUser(id, context)).map((found): [number, User] => [found.id, found]));
  if (users.has(context.viewer.userId ?? 0)) throw new TrawlError("forbidden", "unable to delete current user");
  for (const { name } of users.values()) await context.services.accounts.deleteUser(name, actor);
  return nothing;
}

async function endSessions(ids: readonly string[], context: RequestContext): Promise<typeof nothing> {
  const all = ids.map((id) => actingForUser(id, context));
  for (const {
    actor,
    of: { name },
  } of all)
    await context.services.accounts.sessions.closeAll(name, actor);
  return nothing;
}

function shownEmail({ address, isVerified }: Email, at: number) {
  return { email: address, isPrimary: at === 0, verified: isVerified, verificationPending: !isVerified };
}

/** Users know all of their own organizations, and of another user's only those that they share. */
async function knownOrganizations(userId: number, context: RequestContext): Promise<readonly OrganizationSource[]> {
  const {
    viewer,
    work,
    services: { accounts },
  } = context;
  const isKnown = ({ id }: Organization): boolean => viewer.userId === userId || context.mayActFor(id);
  const nodes = await work.once(`organizations of ${userId}`, 1, function* () {
    const organizations = yield* filterInSteps(accounts.organizations.ofUser(userId), isKnown);
    return yield* mapInSteps(organizations, (organization) => new OrganizationSource(organization));
  });
  await context.takeItems(nodes.length, "organizations of users");
  return nodes;
}

/** Days begin at midnight UTC, weeks on Monday. */
function startOfPeriod(period: "TODAY" | "THIS_WEEK" | "THIS_MONTH" | "ALL_TIME", now: Date): number {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  switch (period) {
    case "TODAY":
      return Date.UTC(year, month, day);
    case "THIS_WEEK":
      return Date.UTC(year, month, day - ((now.getUTCDay() + 6) % 7));
    case "THIS_MONTH":
      return Date.UTC(year, month, 1);
    case "ALL_TIME":
      return 0;
  }
}

/** An account at a provider that the viewer may unlink. Others do not learn whether it is linked. */
function requireIdentity(id: string, context: RequestContext): LinkedIdentity {
  const { kind, key } = parseGlobalId(id);
  if (kind !== "ExternalAccount" || typeof key !== "string")
    throw new TrawlError("bad-request", `${JSON.stringify(id.slice(0, 200))} is not the id of an external account`);
  const identity = context.services.accounts.identities.get(key);
  if (identity !== undefined && context.mayActFor(identity.userId)) return identity;
  if (context.viewer.isSiteAdmin) throw new TrawlError("not-found", "this account is not linked (any more)");
  throw new TrawlError("forbidden", "must be authenticated as the authorized user or site admin");
}
