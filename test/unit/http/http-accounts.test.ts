/** Accounts on a running daemon, from the command line to HTTP responses. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { operations } from "../../../src/http/api/operations.js";
import { authorizeDevice } from "../../../src/cli/connection/device-login.js";
import { dataDirectory, runCommand, testDaemon, type DaemonProcess } from "../../support/daemon.js";
import { GitFixture } from "../../support/git-fixture.js";
import { sharedDaemon } from "../../support/shared-daemon.js";
import { until } from "../../support/waiting.js";

function source(t: Test): string {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "a.txt": "needle\n" } });
  return fixture.path;
}

/** The single line that a command prints. */
async function lineOf(...args: string[]): Promise<string> {
  const { exitCode, out, err } = await runCommand(...args);
  t.equal(exitCode, 0, err);
  return out.trim();
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function request(daemon: DaemonProcess, path: string, authorization?: string, method = "GET"): Promise<Answer> {
  const headers = { origin: "https://editor.example", ...(authorization === undefined ? {} : { authorization }) };
  const body = method === "POST" ? JSON.stringify({ query: "{ site { productVersion } }" }) : null;
  const response = await fetch(daemon.url + path, { method, headers, body });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** For the daemons that nobody uses without an account. */
const privateMode = ["--set", "auth.public=false"];

const stream = "/.api/search/stream?q=needle";

/** The operations that a narrow token may use, by its scope; everything else is closed to it. */
const openTo = {
  search: [
    "blame",
    "searchChanges",
    "search",
    "searchForPages",
    "searchForPatterns",
    "searchForPagesForPatterns",
    "searchReceipt",
  ],
  mcp: ["mcp", "mcpVersion1", "mcpAllTools"],
};

t.test("narrow tokens: what each opens", async (t) => {
  const daemon = await sharedDaemon(t, {}, privateMode);
  const files = ["one", "two", "closed"];
  for (const name of files)
    await daemon.control("POST", "/.api/repos", {
      name: `host/${name}`,
      url: source(t),
      ...(name === "closed" ? { private: true, readers: ["ann"] } : {}),
    });
  for (const name of ["ann", "bob"]) await daemon.control("POST", "/.api/users", { name });
  const tokenOf = (user: string, scopes: string) =>
    lineOf("token", "create", user, "--scope", scopes, "--data", daemon.data);
  const one = "repository:host/one";
  const tokens = {
    all: await tokenOf("admin", "user:all"),
    search: await tokenOf("admin", "search"),
    mcp: await tokenOf("admin", "mcp"),
    searchOne: await tokenOf("admin", `search,${one},repository:host/closed,repository:host/absent`),
    bobOne: await tokenOf("bob", `search,mcp,${one},repository:host/closed`),
  };
  const send = async (token: string, path: string, body?: unknown, method = body === undefined ? "GET" : "POST") => {
    const headers = { Authorization: `token ${token}`, "Content-Type": "application/json" };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(daemon.url + path, {
      method,
      headers,
      redirect: "manual",
      ...(body === undefined ? {} : { body: text }),
    });
    return { status: response.status, text: await response.text() };
  };

  // Every route that is described, so that one that is added later is closed or listed above.
  for (const { id, method, pattern, access } of operations) {
    // Files are asked for below.
    if (pattern === undefined || (access !== "viewer" && access !== "user" && access !== "site-admin")) continue;
    const path = pattern.replace("NAME", "host/one").replace(/[A-Z]{2,}/g, "1");
    for (const scope of ["search", "mcp"] as const) {
      const { status, text } = await send(tokens[scope], path, method === "POST" ? {} : undefined, method);
      const isOpen = (openTo[scope] as readonly string[]).includes(id);
      if (isOpen) t.not(status, 403, `${scope} ${id}`);
      else t.match(`${status} ${text}`, /^403 .*(?:only for|permission_denied)/s, `${scope} ${id}`);
    }
  }

  const names = async (token: string) => {
    const { text } = await send(token, "/.api/search/stream?q=needle+fork:yes");
    return [...new Set([...text.matchAll(/"repository":"host\/(\w+)"/g)].map(([, name]) => name))].sort();
  };
  t.same(await names(tokens.search), ["closed", "one", "two"], "it sees what its user sees");
  t.same(await names(tokens.searchOne), ["closed", "one"]);
  t.same(await names(tokens.bobOne), ["one"], "and no more than its user");
  for (const [token, name, status] of [
    ["search", "closed", 200],
    ["searchOne", "closed", 200],
    ["searchOne", "two", 404],
    ["bobOne", "one", 200],
    ["bobOne", "closed", 404],
    ["bobOne", "two", 404],
    ["mcp", "one", 403],
  ] as const) {
    const place = `/host/${name}`;
    for (const path of [`${place}/-/raw/a.txt`, `${place}/-/blob/a.txt`, place])
      t.equal((await send(tokens[token], path)).status, status, `${token} ${path}`);
  }
  const basic = `Basic ${Buffer.from(`${tokens.mcp}:`).toString("base64")}`;
  t.equal((await fetch(`${daemon.url}${stream}`, { headers: { Authorization: basic } })).status, 403, "as a user name");
  t.equal((await fetch(`${daemon.url}${stream}&token=${tokens.mcp}`)).status, 403, "in the query");
  t.equal((await fetch(`${daemon.url}${stream}`, { headers: { Authorization: `Bearer ${tokens.mcp}` } })).status, 403);
  const asBob = `token-sudo token="${tokens.search}",user="bob"`;
  t.equal(
    (await fetch(`${daemon.url}${stream}`, { headers: { Authorization: asBob } })).status,
    401,
    "acts for nobody",
  );

  const listed = async (token: string) => {
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_repos", arguments: {} } };
    const { status, text } = await send(token, "/.api/mcp", call);
    return `${status} ${[...text.matchAll(/host\/(\w+)/g)].map(([, name]) => name).join()}`;
  };
  t.equal(await listed(tokens.mcp), "200 closed,one,two");
  t.equal(await listed(tokens.bobOne), "200 one");
  t.equal(await listed(tokens.search), "403 ");

  // A receipt and the events of a stream are those of one user, but not of each of the user's tokens.
  const { text: told } = await send(tokens.all, "/.api/search/stream?q=needle+fork:yes&receipt=1&resume=1");
  const [receipt = ""] = /\/\.api\/search\/receipt\/[\w-]+/.exec(told) ?? [];
  const [, lastEvent = ""] = /^id: (.*)$/m.exec(told) ?? [];
  t.not(lastEvent, "");
  t.equal((await send(tokens.search, receipt)).status, 200);
  t.equal((await send(tokens.searchOne, receipt)).status, 404);
  const resumed = await fetch(`${daemon.url}/.api/search/stream?q=needle+fork:yes&receipt=1&resume=1`, {
    headers: { Authorization: `token ${tokens.searchOne}`, "Last-Event-ID": lastEvent },
  });
  t.notMatch(await resumed.text(), /host\/two/, "a resumed stream");

  const graphql = async (token: string, query: string) => {
    const { status, text } = await send(token, "/.api/graphql", { query });
    return status === 200 ? (JSON.parse(text) as { data?: unknown; errors?: readonly { message: string }[] }) : status;
  };
  const found =
    '{ a: repository(name: "host/one") { name } b: repository(name: "host/two") { name } site { productVersion } currentUser { username } search(query: "needle fork:yes", version: V3) { results { matchCount repositories { name } } } repositories(first: 9) { nodes { name } totalCount } }';
  t.match(await graphql(tokens.bobOne, found), {
    data: {
      a: { name: "host/one" },
      b: null,
      currentUser: { username: "bob" },
      search: { results: { matchCount: 1, repositories: [{ name: "host/one" }] } },
      repositories: { nodes: [{ name: "host/one" }], totalCount: 1 },
    },
  });
  t.equal(await graphql(tokens.mcp, "{ site { productVersion } }"), 403);
  const own = "currentUser { id";
  const { data } = (await graphql(tokens.all, `{ ${own} } }`)) as { data: { currentUser: { id: string } } };
  const user = JSON.stringify(data.currentUser.id);
  for (const document of [
    `{ ${own} accessTokens(first: 9) { nodes { id } } } }`,
    `{ ${own} settingsCascade { final } } }`,
    `{ node(id: ${user}) { id } }`,
    "{ users { totalCount } }",
    "{ searchJobs(first: 9) { nodes { id } } }",
    "{ savedSearches(first: 9) { nodes { id notification { url } } } }",
    "{ viewerSettings { final } }",
    "{ externalServices { totalCount } }",
    "{ temporarySettings { contents } }",
    `mutation { createAccessToken(user: ${user}, scopes: ["search"], note: "") { token } }`,
    `mutation { createSavedSearch(input: { owner: ${user}, description: "d", query: "q" }) { id } }`,
    'mutation { createSearchJob(query: "needle") { id } }',
    `mutation { deleteUser(user: ${user}) { alwaysNil } }`,
  ]) {
    const answer = (await graphql(tokens.search, document)) as { errors?: readonly { message: string }[] };
    t.match(answer.errors?.[0]?.message, /narrow|must be authenticated/, document);
  }
  t.match(await graphql(tokens.search, "{ currentUser { username email emails { email } } }"), {
    data: { currentUser: { username: "admin", email: "", emails: [] } },
  });

  // What the token may do is decided by what its user may do at that moment.
  await daemon.control("POST", "/.api/repos/host%2Fone/attributes", { private: true, readers: ["ann"] });
  t.same(await names(tokens.bobOne), []);
  await daemon.control("POST", "/.api/repos/host%2Fone/attributes", { private: false });
  const shown = (await daemon.control("GET", "/.api/tokens")) as readonly {
    scopes: string[];
    createdAt: string;
    expiresAt: string;
  }[];
  const [narrow] = shown.filter(({ scopes }) => scopes[0] === "mcp");
  const lifetimeMs = Date.parse(narrow?.expiresAt ?? "") - Date.parse(narrow?.createdAt ?? "");
  t.ok(lifetimeMs < 91 * 86_400_000, "it expires unless asked otherwise");
  await until("the refusal is recorded", () =>
    /"credential-refused".*only for mcp/.test(readFileSync(join(daemon.data, "audit.log"), "utf8")),
  );
});

t.test("private mode: a token gives access", async (t) => {
  const daemon = await sharedDaemon(t, {}, privateMode);
  const { data } = daemon;
  await daemon.add("example.org/a", source(t));
  const closed: readonly (readonly [path: string, method: string])[] = [
    [stream, "GET"],
    ["/search/stream?q=needle", "GET"],
    ["/.api/graphql", "POST"],
    ["/.api/search/trace/1", "GET"],
    ["/metrics", "GET"],
  ];
  for (const [path, method] of closed) {
    const { status, text, headers } = await request(daemon, path, undefined, method);
    t.equal(`${status} ${text}`, "401 Private mode requires authentication.\n", path);
    t.equal(headers.get("content-type"), "text/plain; charset=utf-8");
    t.equal(headers.get("access-control-allow-origin"), null, "no page elsewhere learns more than that");
    const wrong = await request(daemon, path, "token wrong", method);
    t.equal(
      wrong.headers.get("access-control-allow-origin"),
      path.startsWith("/.api/") ? "https://editor.example" : null,
      "one that sends a token may read why",
    );
  }
  t.equal((await request(daemon, "/healthz")).status, 200);
  t.same(JSON.parse((await request(daemon, "/readyz")).text), { ready: true, repositories: [] }, "nothing is named");
  t.equal((await request(daemon, stream, undefined, "OPTIONS")).status, 200);

  t.match(await lineOf("user", "list", "--data", data), /^admin {2}site admin {2}created /);
  t.match(await lineOf("user", "create", "bob", "--data", data), /^bob {2}created /);
  const token = await lineOf("token", "create", "bob", "--note", "for a test", "--data", data);
  t.match(token, /^sgp_local_[0-9a-f]{40}$/, "the token alone");
  for (const [path, method] of closed.slice(0, 3))
    t.equal((await request(daemon, path, `token ${token}`, method)).status, 200, path);
  t.match((await request(daemon, stream, `token ${token}`)).text, /"path":"a\.txt"/);
  t.match((await request(daemon, `${stream}&token=${token}`)).text, /"path":"a\.txt"/);
  t.match(JSON.parse((await request(daemon, "/readyz", `token ${token}`)).text), {
    repositories: [{ name: "example.org/a" }],
  });
  t.equal(
    (await runCommand("search", "--endpoint", daemon.url, "--token", token, "needle")).out,
    "example.org/a:a.txt:1:needle\n",
  );
  t.match(
    (await runCommand("search", "--endpoint", daemon.url, "needle")).err,
    /answered 401: Private mode requires authentication\. Run `trawl login`, or set an access token/,
  );

  const [, id] =
    /^(\d+) {2}bob {2}user:all {2}expires \S+ {2}last used \S+ {2}for a test$/.exec(
      await lineOf("token", "list", "bob", "--data", data),
    ) ?? [];
  t.equal(await lineOf("token", "delete", id!, "--data", data), `deleted token ${id} of bob`);
  t.equal((await request(daemon, stream, `token ${token}`)).text, "Invalid access token.\n");
});

t.test("public mode: anyone can search, but an invalid token is rejected", async (t) => {
  const daemon = await sharedDaemon(t);
  const { data } = daemon;
  const audited = () => readFileSync(join(data, "audit.log"), "utf8").trim().split("\n");
  const before = audited().length;
  await daemon.add("example.org/a", source(t));
  t.equal((await request(daemon, stream)).status, 200);
  const { status, text } = await request(daemon, stream, "token nonsense");
  t.equal(`${status} ${text}`, "401 Invalid access token.\n");

  const sudo = await lineOf("token", "create", "admin", "--scope", "user:all,site-admin:sudo", "--data", data);
  await daemon.control("POST", "/.api/users", { name: "bob" });
  t.equal((await request(daemon, stream, `token-sudo user="bob",token="${sudo}"`)).status, 200);
  t.equal(
    (await request(daemon, stream, `token-sudo user="eve",token="${sudo}"`)).text,
    "Unable to sudo to nonexistent user.\n",
  );

  const trace = async (authorization?: string): Promise<string> =>
    /"trace":"http:\/\/[^/"]+([^"]+)"/.exec((await request(daemon, stream, authorization)).text)?.[1] ?? "";
  const [ofBob, ofNobody] = [await trace(`token-sudo user="bob",token="${sudo}"`), await trace()];
  t.equal((await request(daemon, ofBob)).status, 404, "what another one searched for is not shown");
  t.match((await request(daemon, ofBob, `token ${sudo}`)).text, /^query: needle/);
  t.match((await request(daemon, ofNobody)).text, /^query: needle/);

  const events = () =>
    new Set(
      audited()
        .slice(before)
        .map((line) => (JSON.parse(line) as { event: string }).event)
        // Which has no line of its own once other tests have sent many that are wrong.
        .filter((event) => event !== "credential-refused"),
    );
  await until("all is recorded", () => events().size >= 3);
  t.same([...events()].sort(), ["sudo", "token-created", "user-created"]);
});

t.test("rejected commands, and the list of organizations", async (t) => {
  const data = dataDirectory(t);
  const daemon = await testDaemon(t, ["--set", "auth.accessTokens=none"], data);
  const token = { user: "admin", scopes: ["user:all"], note: "", expires: "90d" };
  const refusals: readonly (readonly [method: "POST" | "DELETE", path: string, body: unknown, message: RegExp])[] = [
    ["POST", "users", { name: "a b" }, /"a b" is not a valid name/],
    ["POST", "users", { name: 7 }, /"name" must be a string/],
    ["POST", "users", undefined, /"name" must be a string/],
    ["POST", "users", { name: "x", isSiteAdmin: "yes" }, /"isSiteAdmin" must be true or false/],
    ["POST", "users", { name: "Admin" }, /username "Admin" is already taken/],
    ["DELETE", "users/admin", undefined, /is the only site admin/],
    ["DELETE", "users/eve", undefined, /there is no user named "eve"/],
    ["POST", "organizations", { name: "admin" }, /organization name "admin" is already taken/],
    ["POST", "organizations/core", { user: "admin" }, /there is no organization named "core"/],
    ["POST", "tokens", token, /access tokens are disabled/],
    ["DELETE", "tokens/77", undefined, /there is no access token 77/],
    ["DELETE", "tokens/x", undefined, /"x" is not the id of an access token/],
  ];
  for (const [method, path, body, message] of refusals)
    await t.rejects(daemon.control(method, `/.api/${path}`, body), { message }, path);
  t.match(await lineOf("org", "create", "core", "--data", data), /^core {2}no members$/);
  t.match(await lineOf("org", "add", "core", "admin", "--data", data), /^core {2}admin$/);
  const { exitCode, out, err } = await runCommand("token", "create", "admin", "--data", data);
  t.equal(exitCode, 2);
  t.equal(out, "");
  t.match(err, /^trawl: access tokens are disabled/);
  t.equal((await request(daemon, "/.well-known/openid-configuration")).status, 404, "no program can get one either");
  t.equal(await authorizeDevice(daemon.url, () => t.fail("there is no code")), undefined);
  for (const header of ["token nonsense", `token sgp_local_${"0".repeat(40)}`]) {
    const { status, text } = await request(daemon, stream, header);
    t.equal(`${status} ${text}`, "401 Access token authorization is disabled.\n");
  }
  await until("refusals are recorded", () =>
    readFileSync(join(data, "audit.log"), "utf8").includes('"event":"credential-refused"'),
  );
});

t.test("each rejection is a status and a line of plain text", async (t) => {
  const daemon = await sharedDaemon(t, {}, privateMode);
  const tokenOf = (user: string, ...scopes: string[]): Promise<string> => daemon.addToken(user, scopes);
  await daemon.control("POST", "/.api/users", { name: "eve", isSiteAdmin: true });
  const [plain, sudo, former] = [
    await tokenOf("admin"),
    await tokenOf("admin", "site-admin:sudo"),
    await tokenOf("eve", "site-admin:sudo"),
  ];
  await daemon.control("POST", "/.api/users/eve", { isSiteAdmin: false });
  const [malformed, invalid, closed] = [
    "401 Unauthorized: Invalid Authorization header.\n",
    "401 Unauthorized: Invalid access token.\n",
    "401 Unauthorized: Private mode requires authentication.\n",
  ];
  const rows: readonly (readonly [header: string | undefined, answer: string])[] = [
    [undefined, closed],
    ["token", malformed],
    ["token-sudo abc", malformed],
    ['token-sudo token="",user="eve"', malformed],
    ['token-sudo user="a\\",token="b"', malformed],
    ["token nonsense", invalid],
    [`token sgp_local_${"0".repeat(40)}`, invalid],
    [`token-sudo token="${plain}",user="eve"`, invalid],
    [
      `token-sudo token="${former}",user="admin"`,
      "403 Forbidden: The subject user of a sudo access token must be a site admin.\n",
    ],
    [`token-sudo token="${sudo}",user="nobody"`, "403 Forbidden: Unable to sudo to nonexistent user.\n"],
    ["Digest abc", closed],
    ["Basic OnNlY3JldA==", closed],
  ];
  for (const path of [stream, "/.api/graphql"]) {
    for (const [header, answer] of rows) {
      const headers: Record<string, string> = header === undefined ? {} : { authorization: header };
      const response = await fetch(
        daemon.url + path,
        path === stream ? { headers } : { headers, method: "POST", body: '{"query":"{ __typename }"}' },
      );
      t.equal(`${response.status} ${response.statusText}: ${await response.text()}`, answer, `${path} ${header}`);
      t.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
    }
  }
});
