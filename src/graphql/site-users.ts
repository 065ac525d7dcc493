import { TrawlError } from "../base/errors.js";
import type { RequestContext } from "./context.js";
import { timeOf } from "./filters.js";
import { globalId } from "./ids.js";
import type { ObjectTypes, SiteUserOrderBy, SiteUsersDateRangeInput } from "./schema-types.js";

/** A user as an administrator looks for one. */
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

/** More are not given in one answer. */
const nodesMax = 1000;

/** The users who are as wished. Caller guarantees: the viewer is site admin. */
export function findSiteUsers(wishes: Wishes, { services: { accounts } }: RequestContext): readonly SiteUser[] {
  const uses = accounts.lastUses();
  const all = accounts.users().map(({ id, name, displayName, createdAt, isSiteAdmin }): SiteUser => {
    const lastMs = uses.get(id);
    return {
      id: globalId("User", id), username: name, displayName: displayName || null, email: accounts.emails.of(id).at(0)?.address ?? null, createdAt,
      lastActiveAt: lastMs === undefined ? null : new Date(lastMs).toISOString(), deletedAt: null, siteAdmin: isSiteAdmin, scimControlled: false, eventsCount: 0, locked: false,
    };
  });
  const tests = testsOf(wishes);
  return all.filter((user) => tests.every((test) => test(user)));
}

/** Some of those that were found, in order. Throws `bad-request` for a negative limit or offset. */
export function siteUserNodes(found: readonly SiteUser[], { limit, offset, orderBy, descending }: ObjectTypes["SiteUsers"]["nodes"]["args"]): readonly SiteUser[] {
  const start = offset ?? 0;
  const count = limit ?? nodesMax;
  if (start < 0 || count < 0) throw new TrawlError("bad-request", `limit: ${count} and offset: ${start} must not be negative`);
  const keyOf = keys[orderBy ?? "USERNAME"];
  const sorted = [...found].sort((a, b) => compare(keyOf(a), keyOf(b)) || compare(a.username, b.username));
  return (descending === true ? sorted.reverse() : sorted).slice(start, start + Math.min(count, nodesMax));
}

const keys: Readonly<Record<SiteUserOrderBy, (user: SiteUser) => string>> = {
  USERNAME: ({ username }) => username.toLowerCase(),
  EMAIL: ({ email }) => email ?? "",
  LAST_ACTIVE_AT: ({ lastActiveAt }) => lastActiveAt ?? "",
  DELETED_AT: () => "",
  EVENTS_COUNT: () => "",
  CREATED_AT: ({ createdAt }) => createdAt,
  SITE_ADMIN: ({ siteAdmin }) => (siteAdmin ? "1" : "0"),
};

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function testsOf({ query, siteAdmin, username, email, lastActiveAt, deletedAt, createdAt, eventsCount }: Wishes): readonly ((user: SiteUser) => boolean)[] {
  const text = query?.toLowerCase() ?? "";
  const isWithin = (range: SiteUsersDateRangeInput | null | undefined) => (range === undefined || range === null ? () => true : rangeTest(range));
  const [isActiveThen, isDeletedThen, isCreatedThen] = [isWithin(lastActiveAt), isWithin(deletedAt), isWithin(createdAt)];
  return [
    ({ username: name, displayName, email: address }) => text === "" || [name, displayName, address].some((field) => field?.toLowerCase().includes(text) === true),
    ({ siteAdmin: is }) => siteAdmin === undefined || siteAdmin === null || is === siteAdmin,
    ({ username: name }) => typeof username !== "string" || name.toLowerCase() === username.toLowerCase(),
    ({ email: address }) => typeof email !== "string" || address?.toLowerCase() === email.toLowerCase(),
    (user) => isActiveThen(user.lastActiveAt) && isDeletedThen(user.deletedAt) && isCreatedThen(user.createdAt),
    ({ eventsCount: count }) => count >= (eventsCount?.gte ?? 0) && count <= (eventsCount?.lte ?? Infinity),
  ];
}

/** Times are RFC 3339 in UTC on both sides, so they compare as texts once they are written alike. */
function rangeTest({ gte, lte, empty, not }: SiteUsersDateRangeInput): (time: string | null) => boolean {
  const [lowest, highest] = [gte, lte].map((limit) => (typeof limit === "string" ? new Date(timeOf(limit)).toISOString() : undefined));
  const isWithin = (time: string | null): boolean => {
    if (typeof empty === "boolean") return (time === null) === empty;
    return time !== null && (lowest === undefined || time >= lowest) && (highest === undefined || time <= highest);
  };
  return (time) => isWithin(time) !== (not === true);
}
