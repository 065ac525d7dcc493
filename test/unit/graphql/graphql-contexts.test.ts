/**
 * Search contexts that people make over GraphQL: whose they are, and what they find. That they last is in
 * graphql-settings.test.ts.
 */
import t from "tap";
import { GitFixture } from "../../support/git-fixture.js";
import { sharedDaemon } from "../../support/shared-daemon.js";

const fixture = GitFixture.create();
t.teardown(() => fixture.remove());
fixture.commit({ branch: "main", files: { "a.txt": "needle\n" } });
fixture.commit({ branch: "side", files: { "side.txt": "needle\n" } });
const daemon = await sharedDaemon(t, {
  contexts: [
    { name: "configured", query: "repo:one" },
    { name: "quiet", public: false, query: "repo:one" },
  ],
});
await daemon.add("host/one", fixture.path);
await daemon.control("POST", "/.api/repos", {
  name: "host/hidden",
  url: fixture.path,
  private: true,
  readers: ["ann"],
});
const tokens = new Map<string, string>();
for (const user of ["ann", "bob", "admin"]) {
  if (user !== "admin") await daemon.control("POST", "/.api/users", { name: user });
  tokens.set(user, await daemon.addToken(user));
}
await daemon.control("POST", "/.api/organizations", { name: "team" });
await daemon.control("POST", "/.api/organizations/team", { user: "bob" });

type Fields = Readonly<Record<string, never>>;
const headersOf = (user: string): Record<string, string> =>
  tokens.has(user) ? { authorization: `token ${tokens.get(user)}` } : {};

async function ask(
  user: string,
  query: string,
  variables: unknown = {},
): Promise<{ readonly data?: Fields; readonly errors?: readonly { readonly message: string }[] }> {
  const response = await fetch(`${daemon.url}/.api/graphql`, {
    method: "POST",
    headers: headersOf(user),
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as { data?: Fields };
}

const errorOf = async (user: string, query: string, variables: unknown = {}): Promise<string> =>
  (await ask(user, query, variables)).errors?.[0].message ?? "";

/** The repository and path of each match. */
async function found(user: string, query: string): Promise<string[]> {
  const text = await (
    await fetch(`${daemon.url}/.api/search/stream?${new URLSearchParams({ q: query })}`, { headers: headersOf(user) })
  ).text();
  return [...text.matchAll(/"path":"([^"]*)"[^}]*?"repository":"([^"]*)"/g)]
    .map(([, path, repository]) => `${repository}:${path}`)
    .sort();
}

const idOf = (kind: string, key: unknown): string => Buffer.from(`${kind}:${JSON.stringify(key)}`).toString("base64");
const { data: names } = await ask(
  "admin",
  '{ ann: user(username: "ann") { id } bob: user(username: "bob") { id } one: repository(name: "host/one") { id } hidden: repository(name: "host/hidden") { id } }',
);
const ids = Object.fromEntries(
  Object.entries(names as unknown as Record<string, { id: string }>).map(([name, { id }]) => [name, id]),
);
const team = (await ask("bob", "{ currentUser { organizations { nodes { id } } } }")).data as unknown as {
  currentUser: { organizations: { nodes: { id: string }[] } };
};
ids["team"] = team.currentUser.organizations.nodes[0].id;

const create = `mutation ($context: SearchContextInput!, $repositories: [SearchContextRepositoryRevisionsInput!]!) {
  createSearchContext(searchContext: $context, repositories: $repositories) { id spec name query public viewerCanManage autoDefined namespace { namespaceName } repositories { repository { name } revisions } }
}`;
const update = `mutation ($id: ID!, $context: SearchContextEditInput!, $repositories: [SearchContextRepositoryRevisionsInput!]!) {
  updateSearchContext(id: $id, searchContext: $context, repositories: $repositories) { spec description }
}`;
const context = (name: string, more: object = {}): object => ({
  name,
  description: "",
  public: true,
  query: "",
  ...more,
});
const list = async (user: string): Promise<string[]> => {
  const { data: answer } = await ask(user, "{ searchContexts { nodes { spec } } }");
  return (answer as unknown as { searchContexts: { nodes: { spec: string }[] } }).searchContexts.nodes.map(
    ({ spec }) => spec,
  );
};

t.test("creating contexts, and searching in them", async (t) => {
  const mine = await ask("ann", create, {
    context: context("mine", { namespace: ids["ann"], public: false }),
    repositories: [
      { repositoryID: ids["one"], revisions: ["side"] },
      { repositoryID: ids["hidden"], revisions: [] },
    ],
  });
  t.match(mine, {
    data: {
      createSearchContext: {
        id: idOf("SearchContext", "@ann/mine"),
        spec: "@ann/mine",
        name: "mine",
        viewerCanManage: true,
        autoDefined: false,
        namespace: { namespaceName: "ann" },
      },
    },
  });
  t.match(
    await ask("bob", create, {
      context: context("shared", { namespace: ids["team"], query: "repo:one" }),
      repositories: [],
    }),
    { data: { createSearchContext: { spec: "@team/shared", namespace: { namespaceName: "team" } } } },
  );
  t.match(
    await ask("admin", create, { context: context("site", { query: "repo:^host/ rev:side" }), repositories: [] }),
    { data: { createSearchContext: { spec: "site", namespace: null } } },
  );
  t.same(await found("ann", "context:@ann/mine needle"), ["host/hidden:a.txt", "host/one:side.txt"]);
  t.same(await found("bob", "context:@team/shared needle"), ["host/one:a.txt"]);
  t.same(await found("nobody", "context:site needle"), ["host/one:side.txt"]);
  t.same(await list("ann"), ["global", "@ann/mine", "@team/shared", "configured", "site"]);
  t.same(await list("nobody"), ["global", "@team/shared", "configured", "site"]);
  const stream = (spec: string) =>
    fetch(`${daemon.url}/.api/search/stream?${new URLSearchParams({ q: `context:${spec} needle` })}`, {
      headers: headersOf("bob"),
    }).then((response) => response.text());
  t.equal(
    (await stream("@ann/mine")).replaceAll("@ann/mine", "@ann/none"),
    await stream("@ann/none"),
    "one that is private is as good as absent",
  );
  for (const user of ["bob", "admin", "nobody"])
    t.match(
      await ask(user, '{ searchContextBySpec(spec: "@ann/mine") { id } isSearchContextAvailable(spec: "@ann/mine") }'),
      { data: { searchContextBySpec: null, isSearchContextAvailable: false } },
      user,
    );
  t.match(
    (
      await ask("ann", "query ($owners: [ID]) { searchContexts(namespaces: $owners) { nodes { spec } } }", {
        owners: [ids["ann"]],
      })
    ).data,
    { searchContexts: { nodes: [{ spec: "@ann/mine" }] } },
  );
});

t.test("rejected requests", async (t) => {
  const rows: readonly (readonly [user: string, context: object, message: RegExp, repositories?: readonly object[]])[] =
    [
      ["nobody", context("x", { namespace: ids["ann"] }), /^not authenticated$/],
      ["ann", context("x"), /^must be site admin$/],
      ["bob", context("x", { namespace: ids["ann"] }), /owner/],
      ["ann", context("x", { namespace: ids["team"] }), /owner/],
      ["ann", context("mine", { namespace: ids["ann"] }), /already exists/],
      ["admin", context("configured"), /already exists/],
      ["admin", context("global"), /already exists/],
      ["ann", context("a b", { namespace: ids["ann"] }), /letters/],
      ["ann", context("x".repeat(33), { namespace: ids["ann"] }), /1 to 32/],
      ["ann", context("x", { namespace: ids["ann"], description: "d".repeat(1025) }), /1024/],
      ["ann", context("x", { namespace: ids["ann"], query: "repo:a needle" }), /invalid query/],
      [
        "ann",
        context("x", { namespace: ids["ann"], query: "repo:a" }),
        /mutually exclusive/,
        [{ repositoryID: ids["one"], revisions: [] }],
      ],
      [
        "bob",
        context("x", { namespace: ids["bob"] }),
        /repository not found/,
        [{ repositoryID: ids["hidden"], revisions: [] }],
      ],
      [
        "ann",
        context("x", { namespace: ids["ann"] }),
        /255/,
        [{ repositoryID: ids["one"], revisions: ["r".repeat(256)] }],
      ],
      ["ann", context("x", { namespace: idOf("Repository", 1) }), /id of a Repository/],
    ];
  for (const [user, given, message, repositories = []] of rows)
    t.match(
      await errorOf(user, create, { context: given, repositories }),
      message,
      JSON.stringify([user, given]).slice(0, 200),
    );
  const id = idOf("SearchContext", "@team/shared");
  t.match(await errorOf("ann", update, { id, context: context("shared"), repositories: [] }), /owner/);
  t.match(
    await errorOf("ann", update, { id: idOf("SearchContext", "configured"), context: context("x"), repositories: [] }),
    /configuration file/,
  );
  t.match(
    await errorOf("bob", "mutation ($id: ID!) { deleteSearchContext(id: $id) { alwaysNil } }", {
      id: idOf("SearchContext", "@ann/mine"),
    }),
    /"@ann\/mine" not found/,
  );
  t.match(
    await errorOf("bob", "mutation ($id: ID!) { deleteSearchContext(id: $id) { alwaysNil } }", {
      id: idOf("SearchContext", "global"),
    }),
    /or built in/,
  );
});

t.test("stars, defaults and changes", async (t) => {
  const star =
    "mutation ($id: ID!, $user: ID!) { createSearchContextStar(searchContextID: $id, userID: $user) { alwaysNil } setDefaultSearchContext(searchContextID: $id, userID: $user) { alwaysNil } }";
  t.match(
    await errorOf("bob", star, { id: idOf("SearchContext", "site"), user: ids["ann"] }),
    /must be authenticated as user with id \d+/,
  );
  t.notOk((await ask("ann", star, { id: idOf("SearchContext", "site"), user: ids["ann"] })).errors);
  t.notOk((await ask("bob", star, { id: idOf("SearchContext", "@team/shared"), user: ids["bob"] })).errors);
  t.match(
    await ask("bob", update, {
      id: idOf("SearchContext", "@team/shared"),
      context: context("renamed", { description: "new", query: "repo:one" }),
      repositories: [],
    }),
    { data: { updateSearchContext: { spec: "@team/renamed", description: "new" } } },
  );
  const marks =
    '{ defaultSearchContext { spec viewerHasAsDefault } searchContextBySpec(spec: "@team/renamed") { viewerHasStarred viewerHasAsDefault } }';
  t.match(
    (await ask("bob", marks)).data,
    {
      defaultSearchContext: { spec: "@team/renamed", viewerHasAsDefault: true },
      searchContextBySpec: { viewerHasStarred: true, viewerHasAsDefault: true },
    },
    "marks follow a name that changes",
  );
  t.match((await ask("ann", marks)).data, {
    defaultSearchContext: { spec: "site" },
    searchContextBySpec: { viewerHasStarred: false, viewerHasAsDefault: false },
  });
  t.same(await list("ann"), ["global", "@ann/mine", "@team/renamed", "configured", "site"]);
  await ask("admin", "mutation ($id: ID!) { deleteSearchContext(id: $id) { alwaysNil } }", {
    id: idOf("SearchContext", "site"),
  });
  t.match(
    (await ask("ann", marks)).data,
    { defaultSearchContext: { spec: "global" } },
    "the mark of what is gone is gone",
  );
  await daemon.control("DELETE", "/.api/users/ann");
  await daemon.control("POST", "/.api/users", { name: "ann" });
  t.same(await list("admin"), ["global", "@team/renamed", "configured"]);
});
