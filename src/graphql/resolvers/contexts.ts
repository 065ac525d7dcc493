import type { KnownContext } from "../../account/context-directory.js";
import { contextMark, type ContextText, type OwnContext } from "../../account/contexts/own-contexts.js";
import type { Actor } from "../../account/records/audit-log.js";
import { TrawlError } from "../../base/errors.js";
import { filterInSteps, mapInSteps, sortInSteps } from "../../base/yielding.js";
import { ownerSource } from "./account-access.js";
import { nothing, paginate } from "./connection-types.js";
import { ContextSource } from "../sources/context-source.js";
import type { RequestContext } from "../../browse/request-context.js";
import { numericKey, parseGlobalId } from "../../browse/ids.js";
import { toRepositorySource } from "../../browse/repository-source.js";
import type { ResolversOf } from "./resolver-types.js";
import type { ObjectTypes } from "./schema-types.js";

type Query = ResolversOf<"Query">;
type Mutation = ResolversOf<"Mutation">;

/** Search contexts, as queries refer to them with `context:`. */
export const contextQueries: Pick<
  Query,
  "searchContexts" | "searchContextBySpec" | "isSearchContextAvailable" | "defaultSearchContext"
> = {
  searchContexts: async (_, { first, after, ...args }, context) => {
    const {
      work,
      services: { contexts },
    } = context;
    const wanted = await work.once(work.cacheKey("contexts", args), contexts.count, () =>
      wantedContexts(args, context),
    );
    return paginate(wanted, first, after);
  },
  searchContextBySpec: (_, { spec }, context) => findContext(spec, context),
  isSearchContextAvailable: (_, { spec }, context) => findContext(spec, context) !== null,
  defaultSearchContext: (_, __, context) => preferredContext(context),
};

export const searchContext: ResolversOf<"SearchContext"> = {
  namespace: ({ found: { own } }, _, context) => (own === undefined ? null : ownerSource(own.ownerId, context)),
  viewerCanManage: ({ found: { own } }, _, { viewer, services: { contexts } }) =>
    own !== undefined && contexts.owns(viewer, own.ownerId),
  viewerHasAsDefault: (source, _, context) => preferredContext(context).spec === source.spec,
  viewerHasStarred: ({ found }, _, { viewer, services: { accounts } }) =>
    accounts.contexts.isStarred(viewer.userId, contextState(found)),
  repositories: ({ found: { context } }, _, { repositories }) =>
    context.repositories.flatMap(({ name, revisions }) => {
      const record = repositories.byName(name);
      return record === undefined
        ? []
        : [{ repository: toRepositorySource(record), revisions: revisions.length === 0 ? ["HEAD"] : revisions }];
    }),
};

/** Changes to contexts: allowed for their owner or its members, and for contexts of the instance for site admins. */
export const contextMutations: Pick<
  Mutation,
  | "createSearchContext"
  | "updateSearchContext"
  | "deleteSearchContext"
  | "createSearchContextStar"
  | "deleteSearchContextStar"
  | "setDefaultSearchContext"
> = {
  createSearchContext: async (_, { searchContext: { namespace, ...given }, repositories }, context) => {
    const { accounts, contexts } = context.services;
    const ownerId = namespace === undefined || namespace === null ? 0 : ownerKey(namespace);
    const actor = requireOwner(ownerId, context);
    requireNotConfigured(ownerId, given.name, context);
    return new ContextSource(
      contexts.of(await accounts.contexts.create(ownerId, contextText(given, repositories, context), actor)),
    );
  },
  updateSearchContext: async (_, { id, searchContext: given, repositories }, context) => {
    const { accounts, contexts } = context.services;
    const { own, actor } = managed(id, context);
    requireNotConfigured(own.ownerId, given.name, context);
    return new ContextSource(
      contexts.of(await accounts.contexts.update(own.id, contextText(given, repositories, context), actor)),
    );
  },
  deleteSearchContext: async (_, { id }, context) => {
    const { own, actor } = managed(id, context);
    await context.services.accounts.contexts.delete(own.id, actor);
    return nothing;
  },
  createSearchContextStar: (_, { searchContextID, userID }, context) => setStar(searchContextID, userID, true, context),
  deleteSearchContextStar: (_, { searchContextID, userID }, context) =>
    setStar(searchContextID, userID, false, context),
  setDefaultSearchContext: async (_, { searchContextID, userID }, context) => {
    const userId = requireSelf(userID, context);
    const found = requireContext(searchContextID, context);
    await context.services.accounts.contexts.setPreferred(
      userId,
      new ContextSource(found).autoDefined ? "" : contextState(found),
    );
    return nothing;
  },
};

/** Anyone who knows the name of a configured context that is not public may use it. Null if there is none. */
export function findContext(spec: string, { viewer, services: { contexts } }: RequestContext): ContextSource | null {
  const found = contexts.find(spec, viewer);
  return found === undefined ? null : new ContextSource(found);
}

type WantedContexts = Omit<ObjectTypes["Query"]["searchContexts"]["args"], "first" | "after">;

/** The global one comes first, regardless of the order. */
function* wantedContexts(
  { query, namespaces, orderBy, descending }: WantedContexts,
  { viewer, services: { contexts } }: RequestContext,
): Generator<void, readonly ContextSource[]> {
  const text = query?.toLowerCase() ?? "";
  const owners =
    namespaces === null || namespaces.length === 0
      ? undefined
      : new Set(namespaces.map((id) => (id === null ? 0 : ownerKey(id))));
  const all = yield* mapInSteps(yield* contexts.listFor(viewer), (found) => new ContextSource(found));
  const [global, ...byName] = yield* filterInSteps(
    all,
    ({ spec, found, autoDefined }) =>
      autoDefined ||
      (spec.toLowerCase().includes(text) && (owners === undefined || owners.has(found.own?.ownerId ?? 0))),
  );
  const others =
    orderBy === "SEARCH_CONTEXT_UPDATED_AT"
      ? [...(yield* sortInSteps(byName, (a, b) => (a.updatedAt < b.updatedAt ? -1 : 1)))]
      : byName;
  if (descending === true) others.reverse();
  const hasGlobal = global.spec.toLowerCase().includes(text) && (owners === undefined || owners.has(0));
  return hasGlobal ? [global, ...others] : others;
}

function preferredContext({ viewer, services: { accounts, contexts } }: RequestContext): ContextSource {
  const mark = accounts.contexts.preferredContext(viewer.userId);
  return new ContextSource((mark === "" ? undefined : contexts.marked(mark, viewer)) ?? contexts.global);
}

function contextState({ own, context }: KnownContext): string {
  return contextMark(own ?? { name: context.name });
}

/** The number of a user or organization. Throws `bad-request` for another kind of id. */
function ownerKey(id: string): number {
  return numericKey(id, parseGlobalId(id).kind === "Org" ? "Org" : "User");
}

/** Throws `forbidden` for a viewer who is neither the owner nor a member of it. */
function requireOwner(ownerId: number, context: RequestContext): Actor {
  if (ownerId === 0) return context.requireSiteAdmin();
  const {
    actor,
    viewer,
    services: { contexts },
  } = context;
  if (contexts.owns(viewer, ownerId)) return actor;
  throw new TrawlError("forbidden", "must be authenticated as the owner of the search context, or as a member of it");
}

function requireNotConfigured(ownerId: number, name: string, { services: { contexts } }: RequestContext): void {
  if (contexts.isConfigured(ownerId, name))
    throw new TrawlError(
      "conflict",
      `search context ${JSON.stringify(name)} already exists, in the configuration file or as a built-in context`,
    );
}

/** A context that the viewer may use. Throws `not-found`. */
function requireContext(id: string, { viewer, services: { contexts } }: RequestContext): KnownContext {
  const { kind, key } = parseGlobalId(id);
  const found = kind === "SearchContext" && typeof key === "string" ? contexts.find(key, viewer) : undefined;
  if (found === undefined)
    throw new TrawlError("not-found", `search context ${JSON.stringify(String(key).slice(0, 100))} not found`);
  return found;
}

/** A context that the viewer may change. */
function managed(id: string, context: RequestContext): { readonly own: OwnContext; readonly actor: Actor } {
  const { actor } = context;
  const { own, spec } = requireContext(id, context);
  if (own === undefined)
    throw new TrawlError(
      "conflict",
      `the search context ${spec} is defined in the configuration file, or built in, and cannot be changed here`,
    );
  requireOwner(own.ownerId, context);
  return { own, actor };
}

interface GivenRepository {
  readonly repositoryID: string;
  readonly revisions: readonly string[];
}

/** Repositories are identified by name. Throws `not-found` for a repository that the viewer may not see. */
function contextText(
  { name, description, public: isPublic, query }: Omit<ContextText, "repositories">,
  given: readonly GivenRepository[],
  { repositories }: RequestContext,
): ContextText {
  const listed = given.map(({ repositoryID, revisions }) => {
    const record = repositories.byId(numericKey(repositoryID, "Repository"));
    if (record === undefined) throw new TrawlError("not-found", "repository not found");
    return { name: record.name, revisions };
  });
  return { name, description, public: isPublic, query, repositories: listed };
}

/** For data that concerns only the user. */
function requireSelf(userID: string, { actor: _, viewer }: RequestContext): number {
  const userId = numericKey(userID, "User");
  if (viewer.userId !== userId) throw new TrawlError("forbidden", `must be authenticated as user with id ${userId}`);
  return userId;
}

async function setStar(
  searchContextID: string,
  userID: string,
  isStarred: boolean,
  context: RequestContext,
): Promise<typeof nothing> {
  const userId = requireSelf(userID, context);
  await context.services.accounts.contexts.setStar(
    userId,
    contextState(requireContext(searchContextID, context)),
    isStarred,
  );
  return nothing;
}
