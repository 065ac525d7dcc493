import type { ClientRequest } from "./client-request.js";

const userFields = `
  fragment UserFields on User {
    id username displayName siteAdmin
    organizations { nodes { id name displayName } }
    emails { email verified }
    usageStatistics { lastActiveTime lastActiveCodeHostIntegrationTime }
    url
  }`;
const teamFields = "id name displayName readonly";
const settingsFields = `
  fragment SettingsSubjectFields on SettingsSubject { id latestSettings { id contents author { id username } createdAt } settingsURL viewerCanAdminister }`;

const idOf = (kind: string, key: number): string => Buffer.from(`${kind}:${key}`).toString("base64");
/** The daemon's first user is its only one. */
const admin = idOf("User", 1);
const nobody = idOf("User", 999);

/**
 * The commands of `src` about users, organizations, teams and settings. Each is sent twice, so what changes something
 * takes it back in the same request, or is one that is refused.
 */
export const srcAccounts: readonly ClientRequest[] = [
  {
    name: "src-auth-perms-sync, before it sets permissions",
    query:
      "query ValidatePermissionsConfig { site { permissionsUserMappingBindID configuration { effectiveContents } } }",
    asAdmin: true,
    data: () => ({
      site: {
        permissionsUserMappingBindID: "USERNAME",
        configuration: { effectiveContents: /"permissions\.userMapping": \{ "enabled": true/ },
      },
    }),
  },
  {
    name: "src-auth-perms-sync, permissions of a user",
    query: `query UserExplicitRepos($id: ID!, $first: Int!, $after: String) {
      node(id: $id) { ... on User { permissionsInfo { repositories(source: API, first: $first, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } } } }
    }`,
    variables: () => ({ id: admin, first: 100, after: null }),
    asAdmin: true,
    data: () => ({ node: { permissionsInfo: { repositories: { nodes: [], pageInfo: { hasNextPage: false } } } } }),
  },
  {
    name: "src-auth-perms-sync, permissions that wait for a user",
    query: `query PendingUserRepos($bindID: String!, $first: Int!, $after: String) {
      authorizedUserRepositories(username: $bindID, first: $first, after: $after) { nodes { id name } pageInfo { hasNextPage endCursor } }
    }`,
    variables: () => ({ bindID: "later", first: 100, after: null }),
    asAdmin: true,
    data: () => ({ authorizedUserRepositories: { nodes: [], pageInfo: { hasNextPage: false } } }),
  },
  {
    name: "users list",
    query: `query Users($first: Int, $query: String) { users(first: $first, query: $query) { nodes { ...UserFields } } } ${userFields}`,
    variables: () => ({ first: 1000, query: "" }),
    asAdmin: true,
    data: () => ({
      users: {
        nodes: [
          {
            id: admin,
            username: "admin",
            siteAdmin: true,
            organizations: { nodes: [] },
            emails: [],
            url: "/users/admin",
          },
        ],
      },
    }),
  },
  {
    name: "users list by tag",
    query: `query Users($first: Int, $query: String, $tag: String) { users(first: $first, query: $query, tag: $tag) { nodes { ...UserFields } } } ${userFields}`,
    variables: () => ({ first: 1000, query: "adm", tag: null }),
    asAdmin: true,
    data: () => ({ users: { nodes: [{ username: "admin" }] } }),
  },
  {
    name: "users list, not signed in",
    query: `query Users($first: Int, $query: String) { users(first: $first, query: $query) { nodes { ...UserFields } } } ${userFields}`,
    variables: () => ({ first: 1000, query: "" }),
    error: /^not authenticated$/,
  },
  {
    name: "users get",
    query: `query User($username: String, $email: String) { user(username: $username, email: $email) { ...UserFields } } ${userFields}`,
    variables: () => ({ username: "admin", email: null }),
    asAdmin: true,
    data: () => ({ user: { id: admin, username: "admin" } }),
  },
  {
    name: "users get of nobody",
    query: `query User($username: String, $email: String) { user(username: $username, email: $email) { ...UserFields } } ${userFields}`,
    variables: () => ({ username: "nobody", email: null }),
    asAdmin: true,
    data: () => ({ user: null }),
  },
  {
    name: "users create of a name that is taken",
    query:
      "mutation CreateUser($username: String!, $email: String!) { createUser(username: $username, email: $email) { resetPasswordURL } }",
    variables: () => ({ username: "admin", email: "somebody@example.org" }),
    asAdmin: true,
    error: /is already taken$/,
  },
  {
    name: "users create, not signed in",
    query:
      "mutation CreateUser($username: String!, $email: String!) { createUser(username: $username, email: $email) { resetPasswordURL } }",
    variables: () => ({ username: "somebody", email: "somebody@example.org" }),
    error: /^not authenticated$/,
  },
  {
    name: "users delete, first",
    query: "query UserCount { users { totalCount } }",
    asAdmin: true,
    data: () => ({ users: { totalCount: 1 } }),
  },
  {
    name: "users delete of nobody",
    query: "mutation DeleteUser($user: ID!) { deleteUser(user: $user) { alwaysNil } }",
    variables: () => ({ user: nobody }),
    asAdmin: true,
    error: /./,
  },
  {
    name: "users tag",
    query:
      "mutation SetUserTag($user: ID!, $tag: String!, $present: Boolean!) { setTag(node: $user, tag: $tag, present: $present) { alwaysNil } }",
    variables: () => ({ user: admin, tag: "beta", present: true }),
    asAdmin: true,
    data: () => ({ setTag: { alwaysNil: null } }),
  },
  {
    name: "users prune, first",
    query: "query getCurrentUser { currentUser { username } }",
    asAdmin: true,
    data: () => ({ currentUser: { username: "admin" } }),
  },
  {
    name: "users prune, how many",
    query: "query getInactiveUsersCount { site { users { totalCount } } }",
    asAdmin: true,
    data: () => ({ site: { users: { totalCount: 1 } } }),
  },
  {
    name: "users prune, who",
    query: `query getInactiveUsers($limit: Int, $offset: Int) { site { users { nodes(limit: $limit, offset: $offset) { id username email siteAdmin deletedAt } } } }`,
    variables: () => ({ limit: 100, offset: 0 }),
    asAdmin: true,
    data: () => ({ site: { users: { nodes: [{ username: "admin", siteAdmin: true, deletedAt: null }] } } }),
  },
  {
    name: "orgs list",
    query:
      "query Organizations($first: Int, $query: String) { organizations(first: $first, query: $query) { nodes { id name displayName members { nodes { id username } } } } }",
    variables: () => ({ first: 1000, query: "" }),
    asAdmin: true,
    data: () => ({ organizations: { nodes: [] } }),
  },
  {
    name: "orgs get of none",
    query:
      "query Organization($name: String!) { organization(name: $name) { id name displayName members { nodes { id username } } } }",
    variables: () => ({ name: "none" }),
    asAdmin: true,
    data: () => ({ organization: null }),
  },
  {
    name: "orgs create of a name that is taken",
    query:
      "mutation CreateOrg($name: String!, $displayName: String!) { createOrganization(name: $name, displayName: $displayName) { id } }",
    variables: () => ({ name: "admin", displayName: "" }),
    asAdmin: true,
    error: /is already taken$/,
  },
  {
    name: "orgs delete of none",
    query: "mutation DeleteOrg($organization: ID!) { deleteOrganization(organization: $organization) { alwaysNil } }",
    variables: () => ({ organization: idOf("Org", 999) }),
    asAdmin: true,
    error: /./,
  },
  {
    name: "orgs members add to none",
    query:
      "mutation AddUser($organization: ID!, $username: String!) { addUserToOrganization(organization: $organization, username: $username) { alwaysNil } }",
    variables: () => ({ organization: idOf("Org", 999), username: "admin" }),
    asAdmin: true,
    error: /./,
  },
  {
    name: "orgs members remove from none",
    query:
      "mutation RemoveUser($orgID: ID!, $userID: ID!) { removeUserFromOrg(orgID: $orgID, userID: $userID) { alwaysNil } }",
    variables: () => ({ orgID: idOf("Org", 999), userID: admin }),
    asAdmin: true,
    error: /./,
  },
  {
    name: "teams create, members add and remove, update, delete",
    query: `mutation ($name: String!, $members: [TeamMemberInput!]!) {
      createTeam(name: $name, displayName: "Core", parentTeamName: null, readonly: false) { name displayName readonly }
      addTeamMembers(teamName: $name, members: $members, skipUnmatchedMembers: false) { members(first: 100) { nodes { ... on User { username } } } }
      removeTeamMembers(teamName: $name, members: $members, skipUnmatchedMembers: false) { members(first: 100) { nodes { ... on User { username } } } }
      updateTeam(name: $name, displayName: "The core") { displayName }
      deleteTeam(name: $name) { alwaysNil }
    }`,
    variables: () => ({ name: "core", members: [{ userID: null, email: null, username: "admin" }] }),
    asAdmin: true,
    data: () => ({
      createTeam: { name: "core", displayName: "Core", readonly: false },
      addTeamMembers: { members: { nodes: [{ username: "admin" }] } },
      removeTeamMembers: { members: { nodes: [] } },
      updateTeam: { displayName: "The core" },
      deleteTeam: { alwaysNil: null },
    }),
  },
  {
    name: "teams create of a name that is taken",
    query: `mutation CreateTeam($name: String!, $readonly: Boolean!) { createTeam(name: $name, readonly: $readonly) { ${teamFields} } }`,
    variables: () => ({ name: "admin", readonly: false }),
    asAdmin: true,
    error: /^team name is already taken$/,
  },
  {
    name: "teams list",
    query: `query Teams($first: Int!, $search: String!) { teams(first: $first, search: $search) { nodes { ${teamFields} } } }`,
    variables: () => ({ first: 1000, search: "" }),
    asAdmin: true,
    data: () => ({ teams: { nodes: [] } }),
  },
  {
    name: "teams list of a parent",
    query: `query ChildTeams($name: String!, $first: Int!, $search: String!) { team(name: $name) { childTeams(first: $first, search: $search) { nodes { ${teamFields} } } } }`,
    variables: () => ({ name: "none", first: 1000, search: "" }),
    asAdmin: true,
    data: () => ({ team: null }),
  },
  {
    name: "teams members list",
    query:
      "query TeamMembers($name: String!, $first: Int!, $search: String!) { team(name: $name) { members(first: $first, search: $search) { nodes { ... on User { id username } } } } }",
    variables: () => ({ name: "none", first: 1000, search: "" }),
    asAdmin: true,
    data: () => ({ team: null }),
  },
  {
    name: "config get",
    query: `query SettingsSubject($id: ID!) { settingsSubject(id: $id) { ...SettingsSubjectFields settingsCascade { subjects { ...SettingsSubjectFields } final } } } ${settingsFields}`,
    variables: () => ({ id: admin }),
    asAdmin: true,
    data: () => ({ settingsSubject: { id: admin, viewerCanAdminister: true, settingsCascade: { final: /^\{/ } } }),
  },
  {
    name: "config edit, not signed in",
    query: `mutation EditSettings($input: SettingsMutationGroupInput!, $edit: SettingsEdit!) { settingsMutation(input: $input) { editSettings(edit: $edit) { empty { alwaysNil } } } }`,
    variables: () => ({
      input: { subject: admin, lastID: null },
      edit: { keyPath: [{ property: "search.contextLines" }], value: 3 },
    }),
    error: /^not authenticated$/,
  },
  {
    name: "validate install, executors",
    query:
      "query executors($query: String, $active: Boolean, $first: Int, $after: String) { executors(query: $query, active: $active, first: $first, after: $after) { totalCount } }",
    variables: () => ({ query: "", active: true, first: 100, after: "" }),
    asAdmin: true,
    data: () => ({ executors: { totalCount: 0 } }),
  },
  {
    name: "validate install, e-mail",
    query: "mutation sendTestEmail($to: String!) { sendTestEmail(to: $to) }",
    variables: () => ({ to: "a@example.org" }),
    asAdmin: true,
    error: /^Trawl does not send e-mail/,
  },
];
