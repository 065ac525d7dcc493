/** Changes to repositories over GraphQL: who may make them, what they do, and that they last. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { isFull } from "../../support/full-run.js";
import { GitFixture } from "../../support/git-fixture.js";
import { restartSharedDaemon, sharedDaemon } from "../../support/shared-daemon.js";
import { until } from "../../support/waiting.js";

const fixture = GitFixture.create();
t.teardown(() => fixture.remove());
fixture.commit({ branch: "main", files: { "a.txt": "needle\n" } });
let daemon = await sharedDaemon(t, {
  repositories: [{ name: "host/configured", url: fixture.path, metadata: { team: "one" } }],
});
await daemon.add("host/added", fixture.path);
await daemon.control("POST", "/.api/users", { name: "ann" });
const tokens = new Map<string, string>();
for (const user of ["ann", "admin"]) tokens.set(user, await daemon.addToken(user));

interface Answer {
  readonly data?: Readonly<Record<string, unknown>>;
  readonly errors?: readonly { readonly message: string }[];
}

async function ask(user: string, query: string, variables: unknown = {}): Promise<Answer> {
  const token = tokens.get(user);
  const response = await fetch(`${daemon.url}/.api/graphql`, {
    method: "POST",
    headers: token === undefined ? {} : { authorization: `token ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as Answer;
}

const errorOf = async (user: string, query: string, variables: unknown = {}): Promise<string> =>
  (await ask(user, query, variables)).errors?.[0].message ?? "";

async function idOf(name: string): Promise<string> {
  const { data: found } = await ask("admin", "query ($name: String!) { repository(name: $name) { id } }", { name });
  return (found?.["repository"] as { id: string } | undefined)?.id ?? "";
}

async function metadataOf(name: string): Promise<unknown> {
  const { data: found } = await ask(
    "admin",
    "query ($name: String!) { repository(name: $name) { keyValuePairs { key value } } }",
    { name },
  );
  return (found?.["repository"] as { keyValuePairs: unknown } | undefined)?.keyValuePairs;
}

const [added, configured] = [await idOf("host/added"), await idOf("host/configured")];
const add =
  "mutation ($id: ID!, $key: String!, $value: String) { addRepoMetadata(repo: $id, key: $key, value: $value) { alwaysNil } }";

t.test("permissions", async (t) => {
  const rows = [
    'addRepoMetadata(repo: $id, key: "k") { alwaysNil }',
    'updateRepoKeyValuePair(repo: $id, key: "k") { alwaysNil }',
    "deleteRepository(repository: $id) { alwaysNil }",
    "updateMirrorRepository(repository: $id) { alwaysNil }",
    "checkMirrorRepositoryConnection(repository: $id) { error }",
    "recloneRepository(repo: $id) { alwaysNil }",
    "reindexRepository(repository: $id) { alwaysNil }",
    "deleteRepositoryFromDisk(repo: $id) { alwaysNil }",
    "syncExternalService(id: $id) { alwaysNil }",
    'setRepositoryPermissionsForUsers(repository: $id, userPermissions: [{bindID: "ann"}]) { alwaysNil }',
    "setRepositoryPermissionsUnrestricted(repositories: [$id], unrestricted: true) { alwaysNil }",
    "addRepositoryPermissionForUser(permission: { repository: $id }, userID: $id) { alwaysNil }",
    "removeRepositoryPermissionForUser(repository: $id, userID: $id) { alwaysNil }",
  ];
  for (const id of [added, "nonsense"]) {
    // The check comes before the id is read, in the same place for all.
    for (const row of id === added || isFull ? rows : rows.slice(0, 1)) {
      t.equal(await errorOf("nobody", `mutation ($id: ID!) { ${row} }`, { id }), "not authenticated", row);
      t.equal(await errorOf("ann", `mutation ($id: ID!) { ${row} }`, { id }), "must be site admin", row);
    }
  }
});

t.test("metadata", async (t) => {
  t.same(await ask("admin", add, { id: added, key: "owner", value: "x" }), {
    data: { addRepoMetadata: { alwaysNil: null } },
  });
  t.same(
    await ask("admin", 'mutation ($id: ID!) { addRepoKeyValuePair(repo: $id, key: "tag") { alwaysNil } }', {
      id: added,
    }),
    { data: { addRepoKeyValuePair: { alwaysNil: null } } },
  );
  t.same(await metadataOf("host/added"), [
    { key: "owner", value: "x" },
    { key: "tag", value: null },
  ]);
  t.match(await errorOf("admin", add, { id: added, key: "owner" }), /already/);
  await ask(
    "admin",
    'mutation ($id: ID!) { updateRepoMetadata(repo: $id, key: "owner", value: "y") { alwaysNil } deleteRepoMetadata(repo: $id, key: "tag") { alwaysNil } }',
    { id: added },
  );
  t.same(await metadataOf("host/added"), [{ key: "owner", value: "y" }]);
  t.same((await daemon.search("repo:has.meta(owner:y) needle")).found, ["host/added:a.txt:1"]);
  for (const [field, key, message] of [
    ["updateRepoMetadata", "none", /no metadata/],
    ["deleteRepoMetadata", "none", /no metadata/],
    ["addRepoMetadata", "", /1 to 255/],
    ["addRepoMetadata", "a\u0000", /1 to 255/],
    ["addRepoMetadata", "k".repeat(256), /1 to 255/],
  ] as const) {
    t.match(
      await errorOf("admin", `mutation ($id: ID!, $key: String!) { ${field}(repo: $id, key: $key) { alwaysNil } }`, {
        id: added,
        key,
      }),
      message,
      `${field} ${key}`,
    );
  }
  t.equal(
    await errorOf("admin", add, { id: Buffer.from("Repository:999").toString("base64"), key: "a" }),
    "repository not found",
  );
  t.match(await errorOf("admin", add, { id: Buffer.from("User:1").toString("base64"), key: "a" }), /id of a User/);
});

t.test("a metadata key can be the name of an object's built-in property", async (t) => {
  for (const key of ["constructor", "toString", "hasOwnProperty"]) {
    t.same((await daemon.search(`repo:has.meta(${key}) needle`)).found, [], `${key}: nobody has it`);
    t.same(await ask("admin", add, { id: added, key, value: "x" }), { data: { addRepoMetadata: { alwaysNil: null } } });
    t.same((await daemon.search(`repo:has.meta(${key}) needle`)).found, ["host/added:a.txt:1"]);
    const values = `{ repoMeta { key(key: "${key}") { values(first: 10) { nodes } } } }`;
    t.same(await ask("admin", values), { data: { repoMeta: { key: { values: { nodes: ["x"] } } } } });
    await ask(
      "admin",
      "mutation ($id: ID!, $key: String!) { deleteRepoMetadata(repo: $id, key: $key) { alwaysNil } }",
      { id: added, key },
    );
  }
});

t.test("metadata in addition to the configuration file", async (t) => {
  await ask("admin", add, { id: configured, key: "level", value: "2" });
  t.match(
    await errorOf(
      "admin",
      'mutation ($id: ID!) { updateRepoMetadata(repo: $id, key: "team", value: "two") { alwaysNil } }',
      { id: configured },
    ),
    /configuration file sets/,
  );
  t.match(
    await errorOf("admin", 'mutation ($id: ID!) { deleteRepoMetadata(repo: $id, key: "team") { alwaysNil } }', {
      id: configured,
    }),
    /configuration file sets/,
  );
  daemon = await restartSharedDaemon(daemon, "stop");
  const sorted = ((await metadataOf("host/configured")) as { key: string; value: string }[])
    .map(({ key, value }) => `${key}:${value}`)
    .sort();
  t.same(sorted, ["level:2", "team:one"], "both last");
  t.same(await metadataOf("host/added"), [{ key: "owner", value: "y" }]);
  await ask("admin", 'mutation ($id: ID!) { deleteRepoMetadata(repo: $id, key: "level") { alwaysNil } }', {
    id: configured,
  });
  t.same(await metadataOf("host/configured"), [{ key: "team", value: "one" }]);
});

/** The requests of src-auth-perms-sync: explicit permissions, one by one, and those that wait for a user. */
async function checkPermissionsApi(t: Test, sees: (user: string) => Promise<boolean>): Promise<void> {
  const change = async (mutation: string, user: string): Promise<unknown> =>
    await ask("admin", `mutation ($repo: ID!, $user: ID!) { ${mutation} { alwaysNil } }`, { repo: added, user });
  const explicit = async (user: string, source: string): Promise<unknown> => {
    const query = `query ($name: String!) {
      user(username: $name) { permissionsInfo { repositories(source: ${source}, first: 5) { nodes { id reason repository { name } } totalCount pageInfo { hasNextPage endCursor } } } }
    }`;
    const data = (await ask("admin", query, { name: user })).data as { user: { permissionsInfo: unknown } } | undefined;
    return data?.user.permissionsInfo;
  };
  const own = { id: added, reason: "Explicit API", repository: { name: "host/added" } };
  const page = { nodes: [own], totalCount: 1, pageInfo: { hasNextPage: false, endCursor: null } };
  t.same(await explicit("ann", "API"), { repositories: page });
  t.match(await explicit("ann", "REPO_SYNC"), { repositories: { totalCount: 0 } });
  const { user } = (await ask("admin", '{ user(username: "ann") { id } }')).data as { user: { id: string } };
  const remove = "removeRepositoryPermissionForUser(repository: $repo, userID: $user)";
  t.same(await change(remove, user.id), { data: { removeRepositoryPermissionForUser: { alwaysNil: null } } });
  t.equal(await sees("ann"), false);
  t.match(await explicit("ann", "API"), { repositories: { totalCount: 0 } });
  const add = "addRepositoryPermissionForUser(permission: { repository: $repo }, userID: $user)";
  for (let i = 0; i < 2; i++)
    t.same(await change(add, user.id), { data: { addRepositoryPermissionForUser: { alwaysNil: null } } });
  t.equal(await sees("ann"), true);
  t.match(await explicit("ann", "API"), { repositories: { totalCount: 1 } }, "added once");
  t.match(await change(add, Buffer.from("User:999").toString("base64")), { errors: [{ message: "user not found" }] });

  const set = "setRepositoryPermissionsForUsers(repository: $id, userPermissions: $readers) { alwaysNil }";
  await ask("admin", `mutation ($id: ID!, $readers: [UserPermissionInput!]!) { ${set} }`, {
    id: added,
    readers: [{ bindID: "ann" }, { bindID: "later" }],
  });
  const pending =
    '{ usersWithPendingPermissions authorizedUserRepositories(username: "LATER", first: 5) { nodes { id name } pageInfo { hasNextPage endCursor } } }';
  t.match((await ask("admin", pending)).data, {
    usersWithPendingPermissions: ["later"],
    authorizedUserRepositories: { nodes: [{ id: added, name: "host/added" }], pageInfo: { hasNextPage: false } },
  });
  const settings = "{ site { permissionsUserMappingBindID configuration { effectiveContents } } }";
  const { site } = (await ask("admin", settings)).data as {
    site: { permissionsUserMappingBindID: string; configuration: { effectiveContents: string } };
  };
  t.equal(site.permissionsUserMappingBindID, "USERNAME");
  t.match(JSON.parse(site.configuration.effectiveContents), {
    "permissions.userMapping": { enabled: true, bindID: "username" },
    "auth.enableUsernameChanges": false,
    auth: Object,
  });
  const plain = "{ site { configuration { effectiveContents(compatible: false) } } }";
  t.notMatch(JSON.stringify(await ask("admin", plain)), /userMapping/);
  const services = `{
    externalServices(first: 5) { nodes { id kind displayName url repoCount unrestricted suspended hasConnectionCheck supportsRepoExclusion creator { username } lastUpdater { username } } }
    site { authProviders { nodes { serviceType serviceID clientID displayName isBuiltin configID } } }
    users(first: 5) { nodes { id username builtinAuth externalAccounts(first: 50) { nodes { serviceType serviceID clientID accountData } } } }
  }`;
  t.match((await ask("admin", services)).data, {
    externalServices: { nodes: [{ url: "", unrestricted: false, suspended: false, creator: null }] },
    site: { authProviders: { nodes: [{ serviceType: "builtin", clientID: "", configID: "" }] } },
  });
}

t.test("visibility", async (t) => {
  const sees = async (user: string): Promise<boolean> =>
    (await ask(user, '{ repository(name: "host/added") { id } }')).data?.["repository"] !== null;
  t.same(
    await ask(
      "admin",
      'mutation ($id: ID!) { setRepositoryPermissionsForUsers(repository: $id, userPermissions: [{bindID: "ann", permission: READ}]) { alwaysNil } }',
      { id: added },
    ),
    { data: { setRepositoryPermissionsForUsers: { alwaysNil: null } } },
  );
  t.same([await sees("nobody"), await sees("ann"), await sees("admin")], [false, true, true]);
  const readers = `query ($name: String!) {
    repository(name: "host/added") { isPrivate permissionsInfo { permissions unrestricted syncedAt updatedAt } authorizedUsers(first: 5) { nodes { username } totalCount } }
    authorizedUserRepositories(username: $name, first: 10) { nodes { name } totalCount }
    user(username: "ann") { permissionsInfo { unrestricted } }
    usersWithPendingPermissions
  }`;
  const permissionsInfo = { permissions: ["READ"], unrestricted: false, syncedAt: null, updatedAt: null };
  t.match((await ask("admin", readers, { name: "ann" })).data, {
    repository: {
      isPrivate: true,
      permissionsInfo,
      authorizedUsers: { nodes: [{ username: "admin" }, { username: "ann" }], totalCount: 2 },
    },
    authorizedUserRepositories: { nodes: [{ name: "host/added" }, { name: "host/configured" }], totalCount: 2 },
    user: { permissionsInfo: { unrestricted: false } },
    usersWithPendingPermissions: [],
  });
  const nobodys = (await ask("admin", readers, { name: "nobody" })).data?.["authorizedUserRepositories"];
  t.same(nobodys, { nodes: [], totalCount: 0 }, "nothing was set for a name that nobody has");
  for (const query of [
    "{ usersWithPendingPermissions }",
    '{ authorizedUserRepositories(username: "ann", first: 1) { totalCount } }',
    '{ repository(name: "host/added") { authorizedUsers(first: 1) { totalCount } } }',
  ]) {
    t.equal(await errorOf("ann", query), "must be site admin", query);
  }
  t.same((await ask("ann", '{ repository(name: "host/added") { permissionsInfo { unrestricted } } }')).data, {
    repository: { permissionsInfo: null },
  });
  await checkPermissionsApi(t, sees);
  await ask(
    "admin",
    "mutation ($id: ID!) { setRepositoryPermissionsForUsers(repository: $id, userPermissions: []) { alwaysNil } }",
    { id: added },
  );
  t.same([await sees("nobody"), await sees("ann"), await sees("admin")], [false, false, true]);
  const unrestrict =
    "mutation ($ids: [ID!]!, $to: Boolean!) { setRepositoryPermissionsUnrestricted(repositories: $ids, unrestricted: $to) { alwaysNil } }";
  await ask("admin", unrestrict, { ids: [added], to: true });
  t.same([await sees("nobody"), await sees("ann")], [true, true]);
  await ask("admin", unrestrict, { ids: [added], to: false });
  t.same([await sees("nobody"), await sees("ann")], [false, false]);
  await ask("admin", unrestrict, { ids: [added], to: true });
  t.match(
    await errorOf(
      "admin",
      'mutation ($id: ID!) { setRepositoryPermissionsForUsers(repository: $id, userPermissions: [{bindID: "a b"}]) { alwaysNil } }',
      { id: added },
    ),
    /is not a valid name/,
  );
  t.match(await errorOf("admin", unrestrict, { ids: [configured], to: true }), /configuration file/);
  const audit = readFileSync(join(daemon.data, "audit.log"), "utf8");
  t.match(
    audit,
    /"event":"readers-changed","who":"admin","from":"127\.0\.0\.1","via":"token \d+","requestId":"[^"]+","repository":"host\/added","private":true,"readers":\["ann"\]/,
  );
  t.match(audit, /"event":"metadata-changed","who":"admin"/);
});

t.test("fetching and indexing", async (t) => {
  fixture.commit({ branch: "main", files: { "b.txt": "second\n" } });
  await ask("admin", "mutation ($id: ID!) { updateMirrorRepository(repository: $id) { alwaysNil } }", { id: added });
  await until(
    "the new commit is searchable",
    async () => (await daemon.search("repo:host/added second")).found.length === 1,
  );
  t.same(
    await ask("admin", "mutation ($id: ID!) { checkMirrorRepositoryConnection(repository: $id) { error } }", {
      id: added,
    }),
    { data: { checkMirrorRepositoryConnection: { error: null } } },
  );
  t.same(await ask("admin", 'mutation { checkMirrorRepositoryConnection(name: "host/added") { error } }'), {
    data: { checkMirrorRepositoryConnection: { error: null } },
  });
  fixture.commit({ branch: "main", files: { "c.txt": "third\n" } });
  await ask("admin", "mutation ($id: ID!) { recloneRepository(repo: $id) { alwaysNil } }", { id: added });
  await until("it is fetched anew", async () => (await daemon.search("repo:host/added third")).found.length === 1);
  t.equal((await daemon.get("/host/added/-/raw/c.txt")).text, "third\n");
  await ask("admin", "mutation ($id: ID!) { reindexRepository(repository: $id) { alwaysNil } }", { id: added });
  const refresh = (token: string) =>
    fetch(`${daemon.url}/.api/repos/host/added/-/refresh`, {
      method: "POST",
      headers: { authorization: `token ${token}` },
    });
  fixture.commit({ branch: "main", files: { "d.txt": "fourth\n" } });
  t.equal((await refresh(tokens.get("ann") ?? "")).status, 200);
  await until("a refresh fetches", async () => (await daemon.search("repo:host/added fourth")).found.length === 1);
});

t.test("repositories of the configuration file are kept", async (t) => {
  t.match(
    await errorOf("admin", "mutation ($id: ID!) { deleteRepository(repository: $id) { alwaysNil } }", {
      id: configured,
    }),
    /configuration file/,
  );
  t.match(
    await errorOf(
      "admin",
      'mutation { addExternalService(input: {kind: GITHUB, displayName: "x", config: "{}"}) { id } }',
    ),
    /configuration file/,
  );
  t.same(await ask("admin", "mutation ($id: ID!) { deleteRepository(repository: $id) { alwaysNil } }", { id: added }), {
    data: { deleteRepository: { alwaysNil: null } },
  });
  t.same(await ask("admin", '{ repository(name: "host/added") { id } }'), { data: { repository: null } });
  t.same((await daemon.search("repo:host/added needle")).found, []);
});
