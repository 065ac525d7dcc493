import type { SavedSearch } from "../../account/settings/saved-searches.js";
import type { DeliveryRecord } from "../../notify/delivery-store.js";
import { TrawlError } from "../../base/errors.js";
import { filterInSteps, sortInSteps } from "../../base/yielding.js";
import { actingForOwner, maySeeSavedSearch, ownerSource, userSource } from "./account-access.js";
import { SavedSearchSource } from "../sources/account-sources.js";
import { pageCountMax, paginateBothWays, nothing } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import { numericKey, parseGlobalId } from "../../browse/ids.js";
import type { ResolversOf } from "./resolver-types.js";
import type { ObjectTypes, SourceOf } from "./schema-types.js";

type Mutation = ResolversOf<"Mutation">;

export const savedSearchQueries: Pick<ResolversOf<"Query">, "savedSearches" | "savedSearchList"> = {
  savedSearches: async (_, { first, last, after, before, ...wanted }, context) => {
    if (typeof first !== "number" && typeof last !== "number") {
      throw new TrawlError("bad-request", "you must provide a `first` or `last` value to properly paginate");
    }
    const found = await findSearches(wanted, context);
    const { nodes, totalCount, pageInfo } = paginateBothWays(found, { first, last, after, before });
    await context.yieldAfter(nodes.length);
    return { nodes: nodes.flatMap((search) => savedSearchSource(search, context) ?? []), totalCount, pageInfo };
  },
  savedSearchList: async (_, __, context) => {
    const wanted = { viewerIsAffiliated: true, includeDrafts: true, orderBy: "SAVED_SEARCH_DESCRIPTION" } as const;
    const found = (await findSearches(wanted, context)).slice(0, pageCountMax);
    await context.yieldAfter(found.length);
    return found.flatMap((search) => savedSearchSource(search, context) ?? []);
  },
};

async function findSearches(wanted: Wanted, context: RequestContext): Promise<readonly SavedSearch[]> {
  const { work, services } = context;
  return await work.once(work.cacheKey("saved searches", wanted), services.accounts.savedSearches.count, () =>
    wantedSearches(wanted, context),
  );
}

type Wanted = Omit<ObjectTypes["Query"]["savedSearches"]["args"], "first" | "last" | "after" | "before">;

function* wantedSearches(
  { owner, namespace, query, viewerIsAffiliated, includeDrafts, orderBy }: Wanted,
  context: RequestContext,
): Generator<void, readonly SavedSearch[]> {
  const ownerId = owner ?? namespace;
  const tests: ((search: SavedSearch) => boolean)[] = [
    (search) => maySeeSavedSearch(search, context),
    ...(typeof ownerId === "string" ? [ofOwner(ownerId)] : []),
    ...(typeof query === "string" && query !== "" ? [holding(query.toLowerCase())] : []),
    ...(typeof viewerIsAffiliated === "boolean"
      ? [({ ownerId: id }: SavedSearch) => isAffiliated(id, context) === viewerIsAffiliated]
      : []),
    ...(includeDrafts === false ? [({ isDraft }: SavedSearch) => !isDraft] : []),
  ];
  const found = yield* filterInSteps([...context.services.accounts.savedSearches.all()], (search) =>
    tests.every((test) => test(search)),
  );
  return yield* sortInSteps(found, orderBy === "SAVED_SEARCH_UPDATED_AT" ? byTime : byDescription);
}

export const savedSearch: ResolversOf<"SavedSearch"> = {
  createdBy: ({ search }, _, context) => userSource(search.createdBy, context),
  updatedBy: ({ search }, _, context) => userSource(search.updatedBy, context),
  viewerCanAdminister: ({ search }, _, context) => context.mayActFor(search.ownerId),
  notification: ({ search }, _, context) => {
    const { notification } = search;
    if (notification === undefined) return null;
    const { url, format = "WEBHOOK", enabledAt, enabledBy } = notification;
    const deliveries = context.services.notifications.deliveries(search).map(shownDelivery);
    return { url, format, enabledAt, enabledBy: userSource(enabledBy, context), deliveries };
  },
};

function shownDelivery(delivery: DeliveryRecord): SourceOf<"SavedSearchDelivery"> {
  const { id, event, state, counts, createdAt, attempts, lastAttemptAt, status = null, error } = delivery;
  const last = { lastAttemptAt: lastAttemptAt || null, status, error: error || null };
  return { id, event, state, ...counts, createdAt, attempts, ...last };
}

export const savedSearchMutations: Pick<
  Mutation,
  | "createSavedSearch"
  | "updateSavedSearch"
  | "deleteSavedSearch"
  | "transferSavedSearchOwnership"
  | "changeSavedSearchVisibility"
  | "enableSavedSearchNotification"
  | "disableSavedSearchNotification"
  | "testSavedSearchNotification"
> = {
  createSavedSearch: async (_, { input, description, query, orgID, userID }, context) => {
    const { author } = context;
    const owner = input?.owner ?? orgID ?? userID;
    if (typeof owner !== "string")
      throw new TrawlError("bad-request", "give an input with an owner, or userID or orgID");
    const isPublic = input?.visibility === "PUBLIC";
    if (isPublic) context.requireSiteAdmin();
    const text = {
      description: input?.description ?? description ?? "",
      query: input?.query ?? query ?? "",
      isDraft: input?.draft === true,
    };
    const ownerId = actingForOwner(owner, context);
    return requireSource(
      await context.services.accounts.savedSearches.create({ ...text, ownerId, isPublic }, author),
      context,
    );
  },
  updateSavedSearch: async (_, { id, input, description, query }, context) => {
    const { author } = context;
    const before = requireSavedSearch(id, context);
    const text = {
      description: input?.description ?? description ?? before.description,
      query: input?.query ?? query ?? before.query,
      isDraft: input === undefined || input === null ? before.isDraft : input.draft === true,
    };
    if (before.notification !== undefined && text.query !== before.query)
      await context.services.notifications.requireEvaluable({ ...before, ...text }, context.viewer);
    return requireSource(await context.services.accounts.savedSearches.update(before.id, text, author), context);
  },
  deleteSavedSearch: async (_, { id }, context) => {
    const { actor } = context;
    await context.services.accounts.savedSearches.delete(requireSavedSearch(id, context).id, actor);
    return nothing;
  },
  transferSavedSearchOwnership: async (_, { id, newOwner }, context) => {
    const { author } = context;
    const before = requireSavedSearch(id, context);
    return requireSource(
      await context.services.accounts.savedSearches.update(
        before.id,
        { ownerId: actingForOwner(newOwner, context) },
        author,
      ),
      context,
    );
  },
  enableSavedSearchNotification: async (_, { id, url, format }, context) => {
    const { author, viewer, services } = context;
    const chosen = { url, format: format ?? "WEBHOOK" };
    const search = await services.notifications.enable(requireSavedSearch(id, context), chosen, author, viewer);
    return { savedSearch: requireSource(search, context), secret: search.notification?.secret ?? "" };
  },
  disableSavedSearchNotification: async (_, { id }, context) => {
    const { author } = context;
    return requireSource(
      await context.services.notifications.disable(requireSavedSearch(id, context), author),
      context,
    );
  },
  testSavedSearchNotification: async (_, { id }, context) =>
    shownDelivery(await context.services.notifications.test(requireSavedSearch(id, context))),
  changeSavedSearchVisibility: async (_, { id, newVisibility }, context) => {
    const { author } = context;
    context.requireSiteAdmin();
    const before = requireSavedSearch(id, context);
    return requireSource(
      await context.services.accounts.savedSearches.update(before.id, { isPublic: newVisibility === "PUBLIC" }, author),
      context,
    );
  },
};

/** Null if the viewer may not see it, or if it does not exist. */
export function savedSearchById(id: number, context: RequestContext): SavedSearchSource | null {
  const search = context.services.accounts.savedSearches.get(id);
  return search === undefined || !maySeeSavedSearch(search, context) ? null : savedSearchSource(search, context);
}

/** Null if its owner no longer exists. */
function savedSearchSource(search: SavedSearch, context: RequestContext): SavedSearchSource | null {
  const owner = ownerSource(search.ownerId, context);
  return owner === null ? null : new SavedSearchSource(search, owner);
}

function requireSource(search: SavedSearch, context: RequestContext): SavedSearchSource {
  const source = savedSearchSource(search, context);
  if (source === null) throw new TrawlError("not-found", "there is no such owner (any more)");
  return source;
}

/** A saved search that the viewer may change. A viewer who may not see it learns nothing about it. */
function requireSavedSearch(id: string, context: RequestContext): SavedSearch {
  const search = context.services.accounts.savedSearches.get(numericKey(id, "SavedSearch"));
  if (search === undefined || !maySeeSavedSearch(search, context))
    throw new TrawlError("not-found", "there is no such saved search (any more)");
  context.requireActingFor(search.ownerId);
  return search;
}

function ofOwner(id: string): (search: SavedSearch) => boolean {
  const { key } = parseGlobalId(id);
  return ({ ownerId }) => ownerId === key;
}

function holding(text: string): (search: SavedSearch) => boolean {
  return ({ description, query }) => description.toLowerCase().includes(text) || query.toLowerCase().includes(text);
}

function isAffiliated(ownerId: number, { viewer: { userId }, services: { accounts } }: RequestContext): boolean {
  return (
    userId !== undefined &&
    (ownerId === userId || accounts.organizations.get(ownerId)?.memberIds.includes(userId) === true)
  );
}

function byDescription(a: SavedSearch, b: SavedSearch): number {
  return a.description < b.description ? -1 : a.description > b.description ? 1 : a.id - b.id;
}

/** Latest first. */
function byTime(a: SavedSearch, b: SavedSearch): number {
  return a.updatedAt > b.updatedAt ? -1 : a.updatedAt < b.updatedAt ? 1 : b.id - a.id;
}
