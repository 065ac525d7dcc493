/** Who can read which field of users, organizations and their objects, tested with real requests. */
import t from "tap";
import { createSchema } from "../../../src/graphql/execution/schema.js";
import { fieldsOf, selectionOf, tellsSomething } from "../../support/field-readers.js";
import { GraphqlSite, idOf, type Asker } from "../../support/graphql-site.js";

/**
 * Who reads a field of a public object: everybody, users, its owner (the user itself, or a member of the organization)
 * or site admins; each includes those behind it. What a "viewer" field says is about who asks, and never secret.
 */
type Readers = "everyone" | "users" | "owner" | "admins" | "viewer";

const rows: Readonly<Record<string, Readonly<Record<string, Readers>>>> = {
  User: {
    id: "everyone",
    databaseID: "everyone",
    username: "everyone",
    displayName: "everyone",
    avatarURL: "everyone",
    url: "everyone",
    settingsURL: "everyone",
    namespaceName: "everyone",
    email: "owner",
    emails: "owner",
    primaryEmail: "owner",
    hasVerifiedEmail: "owner",
    createdAt: "users",
    updatedAt: "users",
    siteAdmin: "users",
    builtinAuth: "everyone",
    latestSettings: "owner",
    settingsCascade: "owner",
    configurationCascade: "owner",
    eventLogs: "owner",
    organizationInvitations: "owner",
    searchable: "users",
    organizations: "owner",
    organizationMemberships: "owner",
    accessTokens: "owner",
    externalAccounts: "owner",
    teams: "users",
    usageStatistics: "owner",
    tags: "users",
    viewerCanChangeUsername: "viewer",
    scimControlled: "users",
    codyProEnabled: "users",
    tosAccepted: "everyone",
    completedPostSignup: "everyone",
    session: "viewer",
    viewerCanAdminister: "viewer",
    permissions: "users",
    roles: "users",
    permissionsInfo: "admins",
  },
  Org: {
    id: "everyone",
    name: "everyone",
    displayName: "everyone",
    url: "everyone",
    settingsURL: "everyone",
    namespaceName: "everyone",
    createdAt: "owner",
    members: "owner",
    latestSettings: "owner",
    settingsCascade: "owner",
    configurationCascade: "owner",
    viewerCanAdminister: "viewer",
    viewerIsMember: "viewer",
    viewerPendingInvitation: "viewer",
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
    createdAt: "everyone",
    updatedAt: "everyone",
    url: "everyone",
    owner: "everyone",
    namespace: "everyone",
    createdBy: "users",
    updatedBy: "users",
    viewerCanAdminister: "viewer",
    notify: "owner",
    notification: "owner",
    notifySlack: "everyone",
    slackWebhookURL: "everyone",
  },
  SearchContext: {
    id: "everyone",
    name: "everyone",
    namespace: "everyone",
    description: "everyone",
    spec: "everyone",
    autoDefined: "everyone",
    query: "everyone",
    repositories: "everyone",
    public: "everyone",
    updatedAt: "everyone",
    viewerCanManage: "viewer",
    viewerHasAsDefault: "viewer",
    viewerHasStarred: "viewer",
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
    viewerCanAdminister: "viewer",
    creator: "users",
    external: "users",
  },
};

const classes: Readonly<Record<Exclude<Readers, "viewer">, readonly Asker[]>> = {
  everyone: ["anonymous", "bob", "ann", "admin"],
  users: ["bob", "ann", "admin"],
  owner: ["ann", "admin"],
  admins: ["admin"],
};
const askers: readonly Asker[] = ["anonymous", "bob", "ann", "admin"];

/** Fields that contain nothing for any viewer, because there is nothing to return. */
const empty = new Set([
  "SavedSearch.notification",
  "User.avatarURL",
  "User.updatedAt",
  "User.externalAccounts",
  "User.tags",
  "User.scimControlled",
  "User.codyProEnabled",
  "User.permissions",
  "User.roles",
  "User.settingsCascade",
  "User.configurationCascade",
  "User.eventLogs",
  "User.organizationInvitations",
  "User.siteAdmin",
  "AccessToken.lastUsedAt",
  "Team.avatarURL",
  "Team.parentTeam",
  "Team.childTeams",
  "Team.external",
  "Team.readonly",
  "SavedSearch.draft",
  "SavedSearch.notify",
  "SavedSearch.notifySlack",
  "SavedSearch.slackWebhookURL",
  "SearchContext.autoDefined",
  "SearchContext.repositories",
]);

interface Made {
  readonly annId: string;
  readonly token: string;
  readonly team: string;
  readonly ofCore: string;
}

/** The fields of each type, reached by every viewer from a public context or saved search, or by id. */
async function makeAll(site: GraphqlSite): Promise<Made> {
  const annId = await site.userId("ann");
  const coreId = (
    await site.data<{ createOrganization: { id: string } }>(
      "admin",
      'mutation { createOrganization(name: "core", displayName: "Core") { id } }',
    )
  ).createOrganization.id;
  await site.data(
    "admin",
    `mutation { addUserToOrganization(organization: "${coreId}", username: "ann") { alwaysNil } updateUser(user: "${annId}", displayName: "Ann") { id } }`,
  );
  for (const [name, owner] of [
    ["shared", coreId],
    ["mine", annId],
  ]) {
    await site.data(
      "ann",
      `mutation { createSearchContext(searchContext: { name: "${name}", description: "d", public: true, query: "repo:x", namespace: "${owner}" }, repositories: []) { id } }`,
    );
  }
  await site.data("ann", `mutation { addUserEmail(user: "${annId}", email: "ann@example.org") { alwaysNil } }`);
  await site.data(
    "admin",
    `mutation { setUserEmailVerified(user: "${annId}", email: "ann@example.org", verified: true) { alwaysNil } }`,
  );
  for (const subject of [annId, coreId])
    await site.data(
      "ann",
      `mutation { settingsMutation(input: { subject: "${subject}" }) { overwriteSettings(contents: "{\\"secret\\": 1}") { empty { alwaysNil } } } }`,
    );
  const token = (
    await site.data<{ createAccessToken: { id: string } }>(
      "ann",
      `mutation { createAccessToken(user: "${annId}", scopes: ["user:all"], note: "n", durationSeconds: 3600) { id token } }`,
    )
  ).createAccessToken;
  await site.data(
    "ann",
    'mutation { createTeam(name: "crew", displayName: "Crew") { id } addTeamMembers(teamName: "crew", members: [{ username: "ann" }]) { id } }',
  );
  const team = (await site.data<{ team: { id: string } }>("ann", '{ team(name: "crew") { id } }')).team.id;
  const saved = await site.data<{ createSavedSearch: { id: string } }>(
    "admin",
    `mutation { createSavedSearch(input: { owner: "${coreId}", description: "d", query: "q", visibility: PUBLIC }) { id } }`,
  );
  return { annId, token: token.id, team, ofCore: saved.createSavedSearch.id };
}

/** Requests in which `%` stands for a selection of fields of the type. */
function pathsTo({ annId, token, team, ofCore }: Made): Readonly<Record<string, readonly string[]>> {
  const node = (id: string, type: string): string => `{ node(id: "${id}") { ... on ${type} { % } } }`;
  return {
    User: ['{ searchContextBySpec(spec: "@ann/mine") { namespace { ... on User { % } } } }', node(annId, "User")],
    Org: [
      '{ searchContextBySpec(spec: "@core/shared") { namespace { ... on Org { % } } } }',
      `{ node(id: "${ofCore}") { ... on SavedSearch { owner { ... on Org { % } } } } }`,
      `{ node(id: "${ofCore}") { ... on SavedSearch { namespace { ... on Org { % } } } } }`,
    ],
    AccessToken: [node(token, "AccessToken")],
    Settings: [
      '{ searchContextBySpec(spec: "@core/shared") { namespace { ... on Org { latestSettings { % } } } } }',
      '{ searchContextBySpec(spec: "@ann/mine") { namespace { ... on User { latestSettings { % } } } } }',
    ],
    SavedSearch: [node(ofCore, "SavedSearch")],
    SearchContext: ['{ searchContextBySpec(spec: "@core/shared") { % } }'],
    Team: [node(team, "Team"), '{ team(name: "crew") { % } }'],
  };
}

const schema = createSchema();

t.test("who can read what", async (t) => {
  const site = await GraphqlSite.start(t);
  const made = await makeAll(site);
  const paths = pathsTo(made);
  for (const [typeName, readersOf] of Object.entries(rows)) {
    await t.test(typeName, async (t) => {
      const fields = fieldsOf(schema, typeName);
      t.same(Object.keys(readersOf).sort(), [...fields.keys()].sort(), "each field has a row");
      for (const [name, readers] of Object.entries(readersOf)) {
        const field = fields.get(name);
        if (field === undefined || readers === "viewer") continue;
        for (const path of paths[typeName] ?? []) {
          const answers = await Promise.all(
            askers.map((asker) => site.ask(asker, path.replace("%", selectionOf(field)))),
          );
          for (const [at, asker] of askers.entries()) {
            const tells = tellsSomething(answers[at]?.data);
            if (!classes[readers].includes(asker))
              t.notOk(tells, `${asker} may not read ${typeName}.${name} by ${path}`);
            else if (!empty.has(`${typeName}.${name}`))
              t.ok(tells, `${asker} reads ${typeName}.${name} by ${path}: ${JSON.stringify(answers[at])}`);
          }
        }
      }
    });
  }

  await t.test("anonymous viewers find no user and no team who shows nothing to them", async (t) => {
    const ask = (query: string): Promise<unknown> => site.data("anonymous", query);
    t.same(await ask('{ user(username: "bob") { id } }'), { user: null });
    t.same(await ask('{ user(email: "ann@example.org") { id } }'), { user: null }, "nor whose address it is");
    t.same(await ask('{ namespaceByName(name: "bob") { id } }'), { namespaceByName: null });
    for (let id = 1; id <= 12; id++) {
      const { data } = await site.ask(
        "anonymous",
        `{ user: node(id: "${idOf("User", id)}") { ... on User { username } } namespace(id: "${idOf("User", id)}") { namespaceName } }`,
      );
      t.notMatch(JSON.stringify(data), /bob/, `user ${id}`);
    }
    t.same(await ask('{ team(name: "crew") { id } }'), { team: null });
    t.equal(await site.refusal("anonymous", "{ teams(first: 10) { nodes { id } } }"), "not authenticated");
    t.equal(await site.refusal("anonymous", "{ users(first: 10) { nodes { id } } }"), "not authenticated");
  });

  await t.test("the name of an author is not told to anonymous viewers", async (t) => {
    const { data } = await site.ask(
      "anonymous",
      `{ node(id: "${made.ofCore}") { ... on SavedSearch { createdBy { username } updatedBy { username } } } }`,
    );
    t.same(data, { node: { createdBy: null, updatedBy: null } });
    const siteId = (await site.data<{ site: { id: string } }>("admin", "{ site { id } }")).site.id;
    await site.data(
      "admin",
      `mutation { settingsMutation(input: { subject: "${siteId}" }) { overwriteSettings(contents: "{}") { empty { alwaysNil } } } }`,
    );
    t.match(await site.data("anonymous", "{ site { latestSettings { contents author { username } } } }"), {
      site: { latestSettings: { contents: "{}", author: null } },
    });
  });
});
