import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLSchema } from "graphql";
import { siteSubject } from "../../account/settings/settings-table.js";
import { assert } from "../../base/assert.js";
import { emptyPage } from "../resolvers/connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ObjectTypes, SourceOf } from "../resolvers/schema-types.js";
import { subjectKey } from "../sources/settings-sources.js";

/**
 * Who may read a field of an object about a user or an organization: everyone who has the object, users, its owner, or
 * site admins. Each group includes the following ones. The owner of a user is that user; the owners of an organization
 * are its members.
 */
type Readers = "everyone" | "users" | "owner" | "admins";

/**
 * Others get an error, or the value of `otherwise` for fields that clients request of any object although they discard
 * responses with errors.
 */
type FieldAccess = Readers | { readonly readers: Readers; readonly otherwise: unknown };

type GuardedType = "User" | "Org" | "AccessToken" | "Settings" | "SavedSearch" | "Team";

/** The owner of the object: the id of a user or an organization, 0 for the site; undefined if it has none. */
const ownerOf: { readonly [T in GuardedType]: (source: SourceOf<T>) => number | undefined } = {
  User: ({ user }) => user.id,
  Org: ({ organization }) => organization.id,
  AccessToken: ({ token }) => token.userId,
  Settings: ({ subject }) => subjectKey(subject),
  SavedSearch: ({ search }) => search.ownerId,
  Team: () => undefined,
};

const noOrganizations = { nodes: [], totalCount: 0 };
const noStatistics = {
  searchQueries: 0,
  pageViews: 0,
  codeIntelligenceActions: 0,
  findReferencesActions: 0,
  lastActiveTime: null,
  lastActiveCodeHostIntegrationTime: null,
};

/**
 * The table of access rules. Objects are reachable through many fields: a public context contains the organization that
 * owns it. Therefore each field is guarded here, however its object was reached, and a field without a row does not
 * compile.
 */
const accessOf: { readonly [T in GuardedType]: { readonly [F in keyof ObjectTypes[T]]: FieldAccess } } = {
  User: {
    id: "everyone",
    databaseID: "everyone",
    username: "everyone",
    namespaceName: "everyone",
    displayName: "everyone",
    avatarURL: "everyone",
    url: "everyone",
    settingsURL: "everyone",
    email: { readers: "owner", otherwise: "" },
    emails: { readers: "owner", otherwise: [] },
    primaryEmail: { readers: "owner", otherwise: null },
    hasVerifiedEmail: { readers: "owner", otherwise: false },
    latestSettings: { readers: "owner", otherwise: null },
    settingsCascade: "owner",
    configurationCascade: "owner",
    organizationInvitations: { readers: "owner", otherwise: [] },
    accessTokens: "owner",
    externalAccounts: { readers: "owner", otherwise: emptyPage },
    eventLogs: { readers: "owner", otherwise: emptyPage },
    searchable: "users",
    usageStatistics: { readers: "owner", otherwise: noStatistics },
    createdAt: "users",
    updatedAt: "users",
    siteAdmin: "users",
    teams: { readers: "users", otherwise: emptyPage },
    // Their resolver omits organizations of which the viewer is not a member.
    organizations: { readers: "users", otherwise: noOrganizations },
    organizationMemberships: { readers: "users", otherwise: noOrganizations },
    permissionsInfo: { readers: "admins", otherwise: null },
    // These are not recorded, or are about the viewer.
    builtinAuth: "everyone",
    tags: "everyone",
    viewerCanChangeUsername: "everyone",
    scimControlled: "everyone",
    codyProEnabled: "everyone",
    tosAccepted: "everyone",
    completedPostSignup: "everyone",
    session: "everyone",
    viewerCanAdminister: "everyone",
    permissions: "everyone",
    roles: "everyone",
  },
  Org: {
    id: "everyone",
    name: "everyone",
    namespaceName: "everyone",
    displayName: "everyone",
    url: "everyone",
    settingsURL: "everyone",
    viewerCanAdminister: "everyone",
    viewerIsMember: "everyone",
    viewerPendingInvitation: "everyone",
    createdAt: "owner",
    members: "owner",
    latestSettings: { readers: "owner", otherwise: null },
    settingsCascade: "owner",
    configurationCascade: "owner",
  },
  AccessToken: {
    id: "owner",
    subject: "owner",
    scopes: "owner",
    note: "owner",
    creator: "owner",
    createdAt: "owner",
    lastUsedAt: "owner",
    expiresAt: "owner",
  },
  Settings: { id: "owner", subject: "owner", author: "owner", createdAt: "owner", contents: "owner" },
  SavedSearch: {
    id: "everyone",
    description: "everyone",
    query: "everyone",
    draft: "everyone",
    visibility: "everyone",
    owner: "everyone",
    namespace: "everyone",
    createdAt: "everyone",
    updatedAt: "everyone",
    url: "everyone",
    viewerCanAdminister: "everyone",
    notify: { readers: "owner", otherwise: false },
    notification: { readers: "owner", otherwise: null },
    notifySlack: "everyone",
    slackWebhookURL: "everyone",
    createdBy: { readers: "users", otherwise: null },
    updatedBy: { readers: "users", otherwise: null },
  },
  Team: {
    id: "users",
    name: "users",
    displayName: "users",
    url: "users",
    avatarURL: "users",
    readonly: "users",
    members: "users",
    parentTeam: "users",
    childTeams: "users",
    viewerCanAdminister: "users",
    creator: "users",
    external: "users",
  },
};

/** The fields of `Query` that a narrow token may read, which are about repositories, or about the site as everybody sees it. */
const openToNarrow: ReadonlySet<string> = new Set([
  "currentUser",
  "highlightCode",
  "repositories",
  "repository",
  "repositoryRedirect",
  "search",
  "searchQueryAggregate",
  "site",
]);

/** Closes all other fields of `Query`, and all of `Mutation`, to narrow tokens: those too that are added to the schema later. */
function guardRoots(schema: GraphQLSchema): void {
  for (const type of [schema.getQueryType(), schema.getMutationType()])
    for (const field of Object.values(type?.getFields() ?? {})) {
      if (type?.name === "Query" && openToNarrow.has(field.name)) continue;
      const resolve: Resolve = field.resolve ?? defaultFieldResolver;
      field.resolve = (source, args, context, info) => {
        context.requireAllRights();
        return resolve(source, args, context, info);
      };
    }
}

/** Adds the checks of the table, and those of narrow tokens, to the resolvers of the schema. */
export function guardFields(schema: GraphQLSchema): void {
  guardRoots(schema);
  for (const [typeName, fields] of Object.entries(accessOf) as [GuardedType, Readonly<Record<string, FieldAccess>>][]) {
    const type = schema.getType(typeName);
    assert(type !== undefined && "getFields" in type, `${typeName} is a type of the schema with fields`);
    for (const [name, access] of Object.entries(fields)) {
      const field = type.getFields()[name];
      assert(field !== undefined && "args" in field, `${typeName}.${name} is a field of the schema`);
      if (access !== "everyone") field.resolve = guarded(typeName, access, field.resolve ?? defaultFieldResolver);
    }
  }
}

type Resolve = GraphQLFieldResolver<unknown, RequestContext>;

function guarded(typeName: GuardedType, access: FieldAccess, resolve: Resolve): Resolve {
  const ownerId = ownerOf[typeName] as (source: unknown) => number | undefined;
  const readers = typeof access === "string" ? access : access.readers;
  return (source, args, context, info) => {
    if (mayRead(readers, ownerId(source), context)) return resolve(source, args, context, info);
    if (typeof access !== "string") return access.otherwise;
    return refuse(readers, ownerId(source), context);
  };
}

function mayRead(readers: Readers, ownerId: number | undefined, context: RequestContext): boolean {
  switch (readers) {
    case "everyone":
      return true;
    case "users":
      return context.isUser;
    case "owner":
      return ownerId === siteSubject || (ownerId !== undefined && context.mayActFor(ownerId));
    case "admins":
      return context.viewer.isSiteAdmin;
  }
}

/** Throws `forbidden`, with the message that clients know. */
function refuse(readers: Readers, ownerId: number | undefined, context: RequestContext): never {
  if (readers === "admins") context.requireSiteAdmin();
  context.requireActingFor(ownerId ?? siteSubject);
  assert(false, "a reader without access was refused above");
}
