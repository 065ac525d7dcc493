import type { Accounts } from "../../account/identity/accounts.js";
import { isSuspended, type User } from "../../account/identity/user.js";
import { TrawlError } from "../../base/errors.js";
import { filterInSteps, sortInSteps } from "../../base/yielding.js";
import type { RequestContext } from "../../browse/request-context.js";
import { parseTime } from "./list-filters.js";
import { globalId } from "../../browse/ids.js";
import type { ObjectTypes, SiteUserOrderBy, SiteUsersDateRangeInput } from "./schema-types.js";

/** A user in the administrators' list. */
export interface SiteUser {
  readonly id: string;
  readonly username: string;
  readonly displayName: string | null;
  readonly email: string | null;
  readonly createdAt: string;
  readonly lastActiveAt: string | null;
  readonly deletedAt: null;
  readonly siteAdmin: boolean;
  readonly scimControlled: boolean;
  readonly eventsCount: number;
  readonly locked: boolean;
}

type Wishes = ObjectTypes["Site"]["users"]["args"];

/** Maximum number of users in one response. */
const nodesMax = 1000;

/** The users who satisfy the conditions. Caller guarantees: the viewer is a site admin. */
export function findSiteUsers(
  wishes: Wishes,
  { work, services: { accounts } }: RequestContext,
): Promise<readonly User[]> {
  const tests = compileTests(wishes, accounts);
  return work.once(work.cacheKey("site users", wishes), accounts.userCount, () =>
    filterInSteps(accounts.users(), (user) => tests.every((test) => test(user))),
  );
}

/** A range of the users found, sorted. Throws `bad-request` for a negative limit or offset. */
export async function siteUserNodes(
  found: readonly User[],
  { limit, offset, orderBy, descending }: ObjectTypes["SiteUsers"]["nodes"]["args"],
  { work, services: { accounts } }: RequestContext,
): Promise<readonly SiteUser[]> {
  const start = offset ?? 0;
  const count = limit ?? nodesMax;
  if (start < 0 || count < 0)
    throw new TrawlError("bad-request", `limit: ${count} and offset: ${start} must not be negative`);
  const keyOf = keys[orderBy ?? "USERNAME"];
  const direction = descending === true ? -1 : 1;
  const sorted = await work.run(
    found.length,
    sortInSteps(
      found,
      (a, b) => direction * (compare(keyOf(a, accounts), keyOf(b, accounts)) || compare(a.name, b.name)),
    ),
  );
  return sorted.slice(start, start + Math.min(count, nodesMax)).map((user) => siteUser(user, accounts));
}

function siteUser(user: User, accounts: Accounts): SiteUser {
  const { id, name, displayName, createdAt, isSiteAdmin } = user;
  return {
    id: globalId("User", id),
    username: name,
    displayName: displayName || null,
    email: primaryEmail(id, accounts) || null,
    createdAt,
    lastActiveAt: lastActiveAt(id, accounts) || null,
    deletedAt: null,
    siteAdmin: isSiteAdmin,
    scimControlled: accounts.provisioned.user(id) !== undefined,
    eventsCount: 0,
    locked: isSuspended(user),
  };
}

/** "" if there is none. */
function primaryEmail(userId: number, accounts: Accounts): string {
  return accounts.emails.of(userId).at(0)?.address ?? "";
}

/** RFC 3339; "" if never. */
function lastActiveAt(userId: number, accounts: Accounts): string {
  const lastMs = accounts.lastUses.of(userId);
  return lastMs === undefined ? "" : new Date(lastMs).toISOString();
}

const keys: Readonly<Record<SiteUserOrderBy, (user: User, accounts: Accounts) => string>> = {
  USERNAME: ({ name }) => name.toLowerCase(),
  EMAIL: ({ id }, accounts) => primaryEmail(id, accounts),
  LAST_ACTIVE_AT: ({ id }, accounts) => lastActiveAt(id, accounts),
  DELETED_AT: () => "",
  EVENTS_COUNT: () => "",
  CREATED_AT: ({ createdAt }) => createdAt,
  SITE_ADMIN: ({ isSiteAdmin }) => (isSiteAdmin ? "1" : "0"),
};

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compileTests(
  { query, siteAdmin, username, email, lastActiveAt: activeRange, deletedAt, createdAt, eventsCount }: Wishes,
  accounts: Accounts,
): readonly ((user: User) => boolean)[] {
  const text = query?.toLowerCase() ?? "";
  const isWithin = (range: SiteUsersDateRangeInput | null | undefined) =>
    range === undefined || range === null ? undefined : rangeTest(range);
  const [isActiveThen, isDeletedThen, isCreatedThen] = [
    isWithin(activeRange),
    isWithin(deletedAt),
    isWithin(createdAt),
  ];
  const tests: readonly (((user: User) => boolean) | false | undefined)[] = [
    text !== "" &&
      (({ id, name, displayName }) =>
        [name, displayName, primaryEmail(id, accounts)].some((field) => field.toLowerCase().includes(text))),
    typeof siteAdmin === "boolean" && (({ isSiteAdmin }) => isSiteAdmin === siteAdmin),
    typeof username === "string" && (({ name }) => name.toLowerCase() === username.toLowerCase()),
    typeof email === "string" && (({ id }) => primaryEmail(id, accounts).toLowerCase() === email.toLowerCase()),
    isActiveThen && (({ id }) => isActiveThen(lastActiveAt(id, accounts) || null)),
    isDeletedThen && (() => isDeletedThen(null)),
    isCreatedThen && (({ createdAt: time }) => isCreatedThen(time)),
    // Events are not counted.
    () => (eventsCount?.gte ?? 0) <= 0 && (eventsCount?.lte ?? 0) >= 0,
  ];
  return tests.filter((test) => typeof test === "function");
}

/** Times are RFC 3339 in UTC on both sides, so they can be compared as texts once they have the same format. */
function rangeTest({ gte, lte, empty, not }: SiteUsersDateRangeInput): (time: string | null) => boolean {
  const [lowest, highest] = [gte, lte].map((limit) =>
    typeof limit === "string" ? new Date(parseTime(limit)).toISOString() : undefined,
  );
  const isWithin = (time: string | null): boolean => {
    if (typeof empty === "boolean") return (time === null) === empty;
    return time !== null && (lowest === undefined || time >= lowest) && (highest === undefined || time <= highest);
  };
  return (time) => isWithin(time) !== (not === true);
}
