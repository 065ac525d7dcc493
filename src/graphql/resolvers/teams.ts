import type { Team } from "../../account/identity/teams.js";
import { TrawlError } from "../../base/errors.js";
import { filterInSteps, sortInSteps } from "../../base/yielding.js";
import { mayChangeTeam, teamSource, userSource } from "./account-access.js";
import { TeamSource, UserSource } from "../sources/account-sources.js";
import { nothing, paginate } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import { numericKey } from "../../browse/ids.js";
import type { ResolversOf } from "./resolver-types.js";
import type { ObjectTypes, TeamMemberInput } from "./schema-types.js";
import { namesHold } from "./list-filters.js";

type Query = ResolversOf<"Query">;
type Mutation = ResolversOf<"Mutation">;

/** Limit on the members named in one request. */
const namedMembersMax = 1000;

export const teamQueries: Pick<Query, "team" | "teams"> = {
  team: (_, { name }, context) => teamSource(context.services.accounts.teams.byName(name), context),
  teams: async (_, { first, after, ...args }, context) => {
    context.requireUser();
    const {
      work,
      services: {
        accounts: { teams },
      },
    } = context;
    return teamPage(
      await work.once(work.cacheKey("teams", args), teams.count, () => wantedTeams(args, context)),
      first,
      after,
      context,
    );
  },
};

export const team: ResolversOf<"Team"> = {
  members: async ({ team: { memberIds } }, { first, after, search }, context) => {
    const {
      work,
      services: { accounts },
    } = context;
    const isNamed = namesHold(search);
    const users = await work.run(
      memberIds.length,
      filterInSteps(
        memberIds.flatMap((id) => accounts.user(id) ?? []),
        isNamed,
      ),
    );
    const page = paginate(users, first, after);
    await context.yieldAfter(page.nodes.length);
    return { ...page, nodes: page.nodes.map((user) => new UserSource(user)) };
  },
  parentTeam: ({ team: { parentId } }, _, { services: { accounts } }) => {
    const parent = accounts.teams.get(parentId);
    return parent === undefined ? null : new TeamSource(parent);
  },
  childTeams: async ({ team: { id } }, { first, after, search }, context) => {
    const {
      work,
      services: {
        accounts: { teams },
      },
    } = context;
    const parts = await work.once(`parts of ${id}`, 1, () => sorted(teams.childTeams(id)));
    return teamPage(await work.run(parts.length, filterInSteps(parts, namesHold(search))), first, after, context);
  },
  viewerCanAdminister: (source, _, context) => mayChangeTeam(source.team, context),
  creator: ({ team: { creatorId } }, _, context) => userSource(creatorId, context),
};

export const teamMutations: Pick<
  Mutation,
  "createTeam" | "updateTeam" | "deleteTeam" | "addTeamMembers" | "setTeamMembers" | "removeTeamMembers"
> = {
  createTeam: async (_, { name, displayName, readonly, parentTeam, parentTeamName }, context) => {
    const { actor, id } = context.author;
    if (readonly === true) context.requireSiteAdmin();
    requireFreeName(name, context);
    const parentId = findParent(parentTeam, parentTeamName, context) ?? 0;
    const given = { name, displayName: displayName ?? "", parentId, isReadonly: readonly === true, creatorId: id };
    return new TeamSource(await context.services.accounts.teams.create(given, actor));
  },
  updateTeam: async (_, { id, name, displayName, parentTeam, parentTeamName, makeRoot }, context) => {
    const { actor } = context;
    const found = requireTeam(id, typeof id === "string" ? undefined : name, context);
    const parentId = findParent(parentTeam, parentTeamName, context);
    if (parentId !== undefined && makeRoot === true)
      throw new TrawlError(
        "bad-request",
        "a team cannot have a parent and be a root: give either parentTeam or makeRoot",
      );
    const isRenamed = typeof id === "string" && typeof name === "string" && name !== found.name;
    if (isRenamed) requireFreeName(name, context);
    const changes = {
      ...(isRenamed ? { name } : {}),
      ...(typeof displayName === "string" ? { displayName } : {}),
      ...(makeRoot === true ? { parentId: 0 } : parentId === undefined ? {} : { parentId }),
    };
    return new TeamSource(await context.services.accounts.teams.update(found.id, changes, actor));
  },
  deleteTeam: async (_, { id, name }, context) => {
    const { actor } = context;
    await context.services.accounts.teams.delete(requireTeam(id, name, context).id, actor);
    return nothing;
  },
  addTeamMembers: (_, args, context) => setMembers(args, (named, members) => [...members, ...named], context),
  setTeamMembers: (_, args, context) => setMembers(args, (named) => named, context),
  removeTeamMembers: (_, args, context) =>
    setMembers(args, (named, members) => members.filter((id) => !named.includes(id)), context),
};

interface MemberArguments {
  readonly team?: string | null | undefined;
  readonly teamName?: string | null | undefined;
  readonly members: readonly TeamMemberInput[];
  readonly skipUnmatchedMembers: boolean | null;
}

async function setMembers(
  args: MemberArguments,
  choose: (named: readonly number[], members: readonly number[]) => readonly number[],
  context: RequestContext,
): Promise<TeamSource> {
  const { actor } = context;
  const { id } = requireTeam(args.team, args.teamName, context);
  if (args.members.length > namedMembersMax)
    throw new TrawlError(
      "bad-request",
      `members: ${args.members.length} exceed the limit of ${namedMembersMax}; split them into several requests`,
    );
  const named = args.members.flatMap((member) => {
    const userId = findMemberId(member, context);
    if (userId === undefined && args.skipUnmatchedMembers !== true) {
      throw new TrawlError(
        "not-found",
        `no user matches ${JSON.stringify(member).slice(0, 500)}; set skipUnmatchedMembers to skip such members`,
      );
    }
    return userId ?? [];
  });
  return new TeamSource(
    await context.services.accounts.teams.setMembers(id, (members) => choose(named, members), actor),
  );
}

/** The user to whom an input refers; undefined if there is none. An address must be verified. */
function findMemberId(
  { userID, username, email }: TeamMemberInput,
  { services: { accounts } }: RequestContext,
): number | undefined {
  if (typeof userID === "string") return accounts.user(numericKey(userID, "User"))?.id;
  if (typeof username === "string") return accounts.userByName(username)?.id;
  return typeof email === "string" ? accounts.emails.findVerifiedOwner(email) : undefined;
}

/** The message is that for any other name that is taken, because the readers of repositories are confidential. */
function requireFreeName(name: string, { viewer, services }: RequestContext): void {
  if (!viewer.isSiteAdmin && services.isReservedName(name))
    throw new TrawlError("conflict", "team name is already taken");
}

/** A team that the viewer may change. */
function requireTeam(id: string | null | undefined, name: string | null | undefined, context: RequestContext): Team {
  const found = namedTeam(id, name, context);
  if (found === undefined) throw new TrawlError("bad-request", "the team must be given by id or by name");
  if (!mayChangeTeam(found, context))
    throw new TrawlError("forbidden", "must be authenticated as a member of the team or site admin");
  return found;
}

function findParent(
  id: string | null | undefined,
  name: string | null | undefined,
  context: RequestContext,
): number | undefined {
  const parent = namedTeam(id, name, context);
  if (parent?.isReadonly) context.requireSiteAdmin();
  return parent?.id;
}

/** Undefined if neither id nor name is given; throws `not-found` if there is no such team. */
function namedTeam(
  id: string | null | undefined,
  name: string | null | undefined,
  { services: { accounts } }: RequestContext,
): Team | undefined {
  if (typeof id !== "string" && typeof name !== "string") return undefined;
  const found = typeof id === "string" ? accounts.teams.get(numericKey(id, "Team")) : accounts.teams.byName(name ?? "");
  if (found === undefined)
    throw new TrawlError("not-found", `there is no team ${JSON.stringify((name ?? id ?? "").slice(0, 255))}`);
  return found;
}

function* wantedTeams(
  { search, exceptAncestor, includeChildTeams }: Omit<ObjectTypes["Query"]["teams"]["args"], "first" | "after">,
  context: RequestContext,
): Generator<void, readonly Team[]> {
  const { teams } = context.services.accounts;
  const isDeep = includeChildTeams === true || (typeof search === "string" && search !== "");
  const except = typeof exceptAncestor === "string" ? numericKey(exceptAncestor, "Team") : undefined;
  const isNamed = namesHold(search);
  return yield* sorted(
    yield* filterInSteps(
      isDeep ? teams.all() : teams.childTeams(0),
      (found) => isNamed(found) && (except === undefined || !isWithin(found, except, context)),
    ),
  );
}

function sorted(teams: readonly Team[]): Generator<void, readonly Team[]> {
  return sortInSteps(teams, (a, b) => (a.name < b.name ? -1 : 1));
}

/** Caller guarantees: the teams are sorted. */
async function teamPage(
  teams: readonly Team[],
  first: number | null | undefined,
  after: string | null | undefined,
  context: RequestContext,
) {
  const page = paginate(teams, first, after);
  await context.yieldAfter(page.nodes.length);
  return { ...page, nodes: page.nodes.map((found) => new TeamSource(found)) };
}

function isWithin(of: Team, ancestor: number, { services: { accounts } }: RequestContext): boolean {
  for (let at: Team | undefined = of; at !== undefined; at = accounts.teams.get(at.parentId))
    if (at.id === ancestor) return true;
  return false;
}
