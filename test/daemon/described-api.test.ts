/** What a running daemon answers, in success and in error, is what its OpenAPI document says: status, type and body. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { findFailures } from "../../src/http/api/openapi.js";
import { operations } from "../../src/http/api/operations.js";
import { dataDirectory, testDaemon, withSymbols } from "../support/daemon.js";
import { DescribedApi } from "../support/described-api.js";
import { ask } from "../support/graphql.js";
import { fixture } from "../support/git-mirror.js";
import { clientId, TestProvider, Visitor } from "../support/identity-provider.js";
import { until } from "../support/waiting.js";

const secret = "0123456789abcdef-hook";
const password = "correct horse";
const repository = "example.org/team/one";

const source = fixture(t);
source.commit({
  branch: "main",
  message: "add a needle\n",
  files: {
    CODEOWNERS: "*.c @ann\n",
    "src/list.c": "int needle_count(void) { return 1; }\n// needle needle\n",
    "src/copy.c": "int needle_count(void) { return 1; }\n// needle needle\n",
    "needle.txt": "a needle\n",
  },
});

const data = dataDirectory(t);
const configuration = {
  webhooks: { secrets: { host: secret } },
  auth: { allowSignup: true, header: "X-Proxied-User", headerProxies: ["127.0.0.1"] },
};
writeFileSync(join(data, "trawl.jsonc"), JSON.stringify(configuration));
// The workers' budget is not used up; it is there to be told.
const budget = ["--set", "search.budgetScannedBytes=1000000000000", "--set", "search.budgetWorkerSeconds=86400"];
const daemon = await testDaemon(t, ["--config", join(data, "trawl.jsonc"), ...withSymbols, ...budget], data);
const api = await DescribedApi.read(daemon.url);
const json = (value: unknown): string => JSON.stringify(value);
const cookieIn = (headers: Headers): string => headers.get("set-cookie")?.split(";")[0] ?? "";

/** Of the site admin. */
let [session, sudo] = ["", ""];
let ann: { readonly Authorization: string };

t.test("the first account", async () => {
  const body = json({ username: "admin", email: "admin@example.org", password });
  session = cookieIn((await api.expect("initialiseSite", 200, { body })).headers);
  ann = { Authorization: `token ${await daemon.addToken("admin")}` };
  sudo = await daemon.addToken("admin", ["site-admin:sudo"]);
  await daemon.add(repository, source.path);
});

t.test("the stream, with each type of result", async (t) => {
  const types = new Set<unknown>();
  const search = async (q: string, more: Record<string, string> = {}) => {
    const { events } = await api.expect("search", 200, { query: { q, ...more }, headers: { "User-Agent": "a test" } });
    for (const match of (events.get("matches") ?? []).flat() as { type: unknown }[]) types.add(match.type);
    return events;
  };
  await until("symbols are there", async () => (await search("type:symbol needle_count")).has("matches"));
  await search("needle", { receipt: "1", explain: "1", feat: "search-debug" });
  await search("needle type:file", { cm: "t", cl: "1", duplicates: "1" });
  await search("type:path list");
  await search("repo:one", { near: "0" });
  await search("type:commit needle");
  await search("type:diff needle");
  await search("needle select:file.owners");
  await search("needle count:1", { strict: "1" });
  t.ok((await search("needl(e", { t: "regexp" })).has("alert"));
  t.ok((await search("needle", { display: "many" })).has("error"));
  t.ok((await search("needle rev:absent")).has("alert"));
  t.ok((await search("needel", {})).has("done"));
  t.ok((await search("needle", { resume: "1" })).has("matches"));
  const inGo = await api.expect("search", 200, {
    query: { q: "needle select:file.owners" },
    headers: { "User-Agent": "Go-http-client/1.1" },
  });
  t.match(inGo.events.get("alert"), [{ description: /results of the type person, at which this client ends/ }]);
  t.notOk(inGo.events.has("matches"), "a client in Go would end at an owner");
  t.same([...types].sort(), ["commit", "content", "diff", "path", "person", "repo", "symbol"]);
  await api.expect("searchForPages", 200, { query: { q: "needle" } });
  for (const id of ["searchForPatterns", "searchForPagesForPatterns"]) {
    const { events } = await api.expect(id, 200, { query: { q: "" }, body: json({ patterns: ["needle", "count"] }) });
    t.ok(events.has("matches"));
    await api.refuse(id, 400, "bad-request", { query: { q: "" }, body: json({ patterns: [] }) });
  }
});

t.test("the headers of rate limits", async (t) => {
  const { headers } = await api.expect("search", 200, { query: { q: "needle" } });
  t.match(
    headers.get("ratelimit-policy"),
    /^"searches";q=\d+;qu="concurrent-requests", "scanned";q=1000000000000;qu="content-bytes";w=\d+, "worker-time";q=86400000;qu="trawl-worker-milliseconds";w=\d+$/,
  );
  t.match(headers.get("ratelimit"), /^"searches";r=\d+, "scanned";r=\d+;t=\d+, "worker-time";r=\d+;t=\d+$/);
});

t.test("receipts, changes and traces", async () => {
  const { events } = await api.expect("search", 200, { query: { q: "needle", receipt: "1" } });
  const progress = (events.get("progress") ?? []).at(-1) as { trace: string; receipt: { url: string } };
  const { receipt, trace } = progress;
  const id = receipt.url.slice(receipt.url.lastIndexOf("/") + 1);
  for (const list of ["repositories", "excluded"])
    await api.expect("searchReceipt", 200, { captures: [id], query: { list } });
  await api.refuse("searchReceipt", 400, "bad-request", { captures: [id], query: { list: "other" } });
  await api.refuse("searchReceipt", 404, "not-found", { captures: ["absent"] });
  await api.expect("searchTrace", 200, { captures: [trace.slice(trace.lastIndexOf("/") + 1)] });
  await api.refuse("searchTrace", 404, "not-found", { captures: ["absent"] });
  source.commit({ branch: "main", message: "more\n", files: { "needle.txt": "\nno nail\n", "new.txt": "needle\n" } });
  await daemon.sync(repository);
  const query = { q: "needle" };
  t.ok((await api.expect("searchChanges", 200, { query, body: json(receipt) })).events.has("changes"));
  t.ok((await api.expect("search", 200, { query: { ...query, since: id } })).events.has("changes"));
  t.ok((await api.expect("searchChanges", 200, { query, body: "{}" })).events.has("error"));
  const both = { query: { ...query, duplicates: "1" }, body: json(receipt) };
  await api.refuse("searchChanges", 400, "bad-request", both);
  for (const one of ["search", "searchForPages"])
    await api.refuse(one, 400, "bad-request", { query: { ...query, resume: "1", since: id } });
  for (const one of ["search", "searchForPages"]) {
    await api.refuse(one, 400, "bad-request", { query, headers: { "Last-Event-ID": "other" } });
    await api.refuse(one, 405, "method-not-allowed", { query, method: "PUT" });
  }
});

t.test("search jobs", async (t) => {
  const name = "users/-/searchJobs/1";
  const call = async (id: string, message: object) =>
    JSON.parse((await api.expect(id, 200, { headers: ann, body: json(message) })).text);
  await call("createSearchJob", { parent: "users/-", searchJob: { query: "needle" } });
  await call("createSearchJob", { parent: "users/-", searchJob: { query: "nail" } });
  await until("the job has ended", async () => (await call("getSearchJob", { name })).state === "STATE_COMPLETED");
  t.match(await call("listSearchJobs", { parent: "users/-", pageSize: 1 }), { nextPageToken: /\d/ });
  await call("cancelSearchJob", { name });
  await call("deleteSearchJob", { name: "users/-/searchJobs/2" });
  const forms = [
    ["exportSearchJob", "1.jsonl", "1.csv", "1.parquet", "1.log"],
    ["exportSearchJobForPages", "1.jsonl", "1.csv"],
    ["exportSearchJobOfUser", "1/results.jsonl", "1/logs.log"],
  ];
  for (const [id = "", ...files] of forms) {
    const headers = id === "exportSearchJobForPages" ? { Cookie: session } : ann;
    for (const file of files) await api.expect(id, 200, { captures: [file], headers });
    const captures = files.slice(0, 1);
    await api.expect(id, 206, { captures, headers: { ...headers, Range: "bytes=0-9" } });
    await api.refuse(id, 416, "range-not-satisfiable", { captures, headers: { ...headers, Range: "bytes=999999-" } });
    await api.refuse(id, 400, "bad-request", { captures: ["x"], headers });
    await api.refuse(id, 404, "not-found", { captures: [files[0]!.replace("1", "99")], headers });
  }
  for (const { id, pattern } of operations) {
    if (pattern !== "/api/searchjobs.v1.Service/METHOD") continue;
    const fail = (status: number, body: unknown, headers: Record<string, string> = ann) =>
      api.expect(id, status, { headers, body: json(body) });
    t.match(JSON.parse((await fail(400, { name: 1, parent: 1 })).text), { code: "invalid_argument" });
    await fail(401, {}, {});
    await fail(415, {}, { ...ann, "Content-Type": "text/plain" });
    await fail(501, {}, { ...ann, "Content-Encoding": "gzip" });
    if (id !== "createSearchJob" && id !== "listSearchJobs") await fail(404, { name: "users/-/searchJobs/99" });
  }
});

t.test("content", async () => {
  const captures = [repository, "src/list.c"];
  await api.expect("blame", 200, { captures });
  await api.refuse("blame", 404, "not-found", { captures: [repository, "absent"] });
  await api.refuse("blame", 400, "bad-request", { captures: [repository, "%ff%00"] });
  const { headers } = await api.expect("rawContent", 200, { captures });
  await api.expect("rawContent", 200, { captures: [repository.replaceAll("/", "%2F"), "src"] });
  for (const format of ["zip", "tar"]) await api.expect("rawContent", 200, { captures, query: { format } });
  await api.expect("rawContent", 204, { captures: [repository, "absent"], query: { maxBytes: "10" } });
  await api.expect("rawContent", 206, { captures, headers: { Range: "bytes=0-2" } });
  await api.expect("rawContent", 304, { captures, headers: { "If-None-Match": headers.get("etag") ?? "" } });
  await api.refuse("rawContent", 416, "range-not-satisfiable", { captures, headers: { Range: "bytes=9999-" } });
  await api.refuse("rawContent", 404, "not-found", { captures: [repository, "absent"] });
  await api.refuse("rawContent", 400, "bad-request", { captures: [repository, "%ff%00"] });
  await api.expect("refreshRepository", 200, { captures: [repository], headers: ann });
  await api.refuse("refreshRepository", 401, "unauthenticated", { captures: [repository] });
  await api.refuse("refreshRepository", 404, "not-found", { captures: ["absent"], headers: ann });
  await api.expect("repositoryShield", 200, { captures: [repository] });
});

t.test("what operators, clients and browsers ask for", async (t) => {
  for (const id of [
    "openApi",
    "health",
    "readiness",
    "metrics",
    "version",
    "clientConfig",
    "srcVersion",
    "robots",
    "icon",
  ])
    await api.expect(id, 200);
  for (const id of ["openSearch", "oauthServer"]) await api.expect(id, 200);
  await api.expect("srcBuild", 302, { captures: ["src_linux_amd64"] });
  await api.refuse("srcBuild", 404, "not-found", { captures: ["src_plan9"] });
  await api.refuse("canUploadScip", 405, "method-not-allowed");
  for (const id of ["uploadScip", "uploadLsif"]) {
    const begin = { repository, commit: source.git("rev-parse", "refs/heads/main"), multiPart: "true", numParts: "1" };
    await api.expect(id, 202, { headers: ann, query: begin });
    await api.refuse(id, 400, "bad-request", { headers: ann, query: { repository }, body: "no index" });
    await api.refuse(id, 401, "unauthenticated");
    await api.refuse(id, 404, "not-found", { headers: ann, query: { ...begin, repository: "absent" } });
    await api.refuse(id, 413, "content-too-large", {
      headers: ann,
      query: begin,
      body: "what begins an upload has no body",
    });
  }
  const pages = await fetch(`${daemon.url}/search`, { headers: { Accept: "text/html" } });
  const files = [...(await pages.text()).matchAll(/\/\.assets\/([^"]+)"/g)].map(([, file = ""]) => file);
  t.ok(files.length > 1, "the pages are built");
  for (const file of files.slice(0, 4)) await api.expect("webFile", 200, { captures: [file] });
  await api.refuse("webFile", 404, "not-found", { captures: ["absent.js"] });
});

t.test("assistants", async () => {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  for (const id of ["mcp", "mcpVersion1", "mcpAllTools"]) {
    const headers = { Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18" };
    await api.expect(id, 200, { headers, body: json(call) });
    await api.expect(id, 202, { headers, body: json({ jsonrpc: "2.0", method: "notifications/initialized" }) });
    await api.expect(id, 400, { headers, body: "{" });
    await api.refuse(id, 415, "unsupported-media-type", { headers: { "Content-Type": "text/plain" }, body: "{}" });
  }
});

t.test("accounts", async () => {
  const known = { email: "admin", password };
  await api.expect("signIn", 200, { body: json(known) });
  await api.refuse("signIn", 401, "unauthenticated", { body: json({ ...known, password: "wrong" }) });
  await api.expect("signUp", 200, { body: json({ username: "bob", email: "bob@example.org", password }) });
  await api.refuse("signUp", 409, "conflict", { body: json({ username: "bob", email: "bob@example.org", password }) });
  await api.refuse("initialiseSite", 403, "forbidden", {
    body: json({ username: "c", email: "c@example.org", password }),
  });
  for (const { id, tag, method } of operations) {
    if (tag !== "accounts" || method !== "POST") continue;
    const foreign = { headers: { Origin: "https://other.example" }, body: "{}" };
    await api.refuse(id, 403, "forbidden", foreign);
    if (id !== "signOut") await api.refuse(id, 400, "bad-request", { body: "[]" });
  }
  await api.refuse("requestPasswordReset", 404, "not-found", { body: "{}" });
  await api.refuse("resetPassword", 403, "forbidden", { body: json({ userID: 99, code: "x", password }) });
  const query = 'mutation { createUser(username: "cas", email: "cas@example.org") { resetPasswordURL } }';
  const created = (await ask(daemon.url, query, null, ann.Authorization)) as {
    data: { createUser: { resetPasswordURL: string } };
  };
  const link = new URL(created.data.createUser.resetPasswordURL, daemon.url).searchParams;
  const reset = { userID: Number(link.get("userID")), code: link.get("code"), password };
  await api.expect("resetPassword", 200, { body: json(reset) });
  await api.expect("signOutByLink", 200, { headers: { Cookie: session, "Sec-Fetch-Site": "cross-site" } });
  await api.expect("signOutByLink", 302);
  await api.expect("signOut", 200);
  await api.expect("signOut", 303, { headers: { Accept: "text/html" } });
  await api.expect("isUsernameTaken", 200, { captures: ["bob"], headers: ann });
  await api.refuse("isUsernameTaken", 404, "not-found", { captures: ["nobody"], headers: ann });
});

t.test("a program is authorized in a browser", async () => {
  const begin = { client_id: "trawl", scope: "user:all" };
  const { text } = await api.expect("authorizeDevice", 200, { body: new URLSearchParams(begin) });
  const { user_code, device_code } = JSON.parse(text);
  await api.expect("authorizeDevice", 400, { body: new URLSearchParams({ ...begin, scope: "other" }) });
  await api.expect("authorizeDevice", 401, { body: new URLSearchParams({ client_id: "other" }) });
  await api.expect("authorizationPage", 302);
  const own = { headers: { Cookie: session } };
  await api.expect("authorizationPage", 200, { ...own, query: { user_code } });
  await api.expect("decideAuthorization", 302, { body: new URLSearchParams({ user_code }) });
  await api.expect("decideAuthorization", 404, { ...own, body: new URLSearchParams({ user_code: "other" }) });
  for (const id of ["authorizationPage", "decideAuthorization"])
    await api.refuse(id, 401, "unauthenticated", { headers: { Authorization: "token wrong" } });
  for (const id of ["authorizationPage", "decideAuthorization"])
    await api.refuse(id, 403, "forbidden", { headers: { Origin: "https://other.example" } });
  const decision = new URLSearchParams({ user_code, decision: "approve" });
  await api.expect("decideAuthorization", 200, { ...own, body: decision });
  const grant = { client_id: "trawl", grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code };
  await api.expect("issueToken", 200, { body: new URLSearchParams(grant) });
  await api.expect("issueToken", 400, { body: new URLSearchParams(grant) });
  await api.expect("issueToken", 401, { body: new URLSearchParams({ client_id: "other" }) });
  await api.expect("revokeToken", 200, { body: new URLSearchParams({ client_id: "trawl", token: "x" }) });
  await api.expect("revokeToken", 401, { body: new URLSearchParams({ client_id: "other" }) });
});

t.test("an assistant is authorized by a code", async () => {
  for (const { id, tag, method } of operations)
    if (tag === "oauth" && method === "GET" && !/(?:Page|Provider|Proxy)$/.test(id)) await api.expect(id, 200);
  const redirect_uri = "http://127.0.0.1:1/";
  const headers = { "Content-Type": "application/json" };
  const description = json({ client_name: "a test", redirect_uris: [redirect_uri] });
  const { text } = await api.expect("registerClient", 201, { headers, body: description });
  await api.expect("registerClient", 400, { headers, body: "{}" });
  const asked = {
    response_type: "code",
    client_id: (JSON.parse(text) as { client_id: string }).client_id,
    redirect_uri,
    code_challenge: "x".repeat(43),
    code_challenge_method: "S256",
  };
  const own = { Cookie: session, Origin: daemon.url };
  await api.expect("assistantPage", 302, { query: asked });
  await api.expect("assistantPage", 200, { headers: own, query: asked });
  await api.expect("assistantPage", 303, { headers: own, query: { ...asked, scope: "other" } });
  await api.expect("assistantPage", 400, { headers: own, query: { ...asked, client_id: "other" } });
  const decision = (more: Record<string, string>) => new URLSearchParams({ ...asked, decision: "deny", ...more });
  await api.expect("decideOnAssistant", 302, { body: decision({}) });
  await api.expect("decideOnAssistant", 303, { headers: own, body: decision({}) });
  await api.expect("decideOnAssistant", 400, { headers: own, body: decision({ client_id: "other" }) });
  for (const id of ["assistantPage", "decideOnAssistant"]) {
    await api.refuse(id, 401, "unauthenticated", { headers: { Authorization: "token wrong" } });
    await api.refuse(id, 403, "forbidden", { headers: { Origin: "https://other.example" } });
  }
});

t.test("identity providers", async (t) => {
  const provider = await TestProvider.start(t, daemon.url, "the secret of a client");
  const file = join(data, "client-secret");
  writeFileSync(file, "the secret of a client");
  const acme = { name: "acme", issuer: provider.issuer, clientId, clientSecret: `file:${file}`, signUp: "all" };
  writeFileSync(join(data, "trawl.jsonc"), json({ ...configuration, identityProviders: [acme] }));
  await daemon.control("POST", "/.api/reload", { mayRemoveMost: true });
  const [captures, others] = [["acme"], ["other"]];
  const own = { Cookie: session, Origin: daemon.url };
  /** What a browser brings back from the provider. */
  const sign = async () => {
    const { headers } = await api.expect("signInWithProvider", 302, { captures });
    const visitor = new Visitor();
    await visitor.visit(headers.get("location") ?? "");
    const query = Object.fromEntries(new URL(visitor.visited.at(-1) ?? "").searchParams);
    return { captures, query, headers: { Cookie: cookieIn(headers) } };
  };
  await api.expect("answerOfProvider", 302, await sign());
  await api.expect("answerOfProvider", 403, { captures });
  await api.expect("linkAccountOfProvider", 200, { captures, headers: own });
  for (const [user, status] of Object.entries({ admin: 302, nobody: 403, "": 404 }))
    await api.expect("signInByProxy", status, { headers: { "X-Proxied-User": user } });
  const logout_token = await provider.signLogout({ sub: "ann" });
  await api.expect("logoutByProvider", 200, { captures, body: new URLSearchParams({ logout_token }) });
  await api.expect("logoutByProvider", 400, { captures, body: new URLSearchParams({ logout_token }) });
  const last = await sign();
  provider.stop();
  await api.expect("answerOfProvider", 503, last);
  // What was read before is known for an hour.
  await daemon.control("POST", "/.api/reload", { mayRemoveMost: true });
  await api.expect("signInWithProvider", 503, { captures });
  await api.refuse("linkAccountOfProvider", 503, "overloaded", { captures, headers: own });
  await api.refuse("linkAccountOfProvider", 401, "unauthenticated", { captures, headers: { Origin: daemon.url } });
  await api.refuse("linkAccountOfProvider", 403, "forbidden", { captures, headers: { Cookie: session } });
  await api.expect("signInWithProvider", 404, { captures: others });
  await api.expect("answerOfProvider", 404, { captures: others });
  await api.refuse("linkAccountOfProvider", 404, "not-found", { captures: others, headers: own });
  await api.expect("logoutByProvider", 404, { captures: others, body: new URLSearchParams({ logout_token }) });
});

t.test("webhooks", async (t) => {
  const captures = ["host"];
  const headers = { Authorization: `Bearer ${secret}` };
  const body = json({ repository: repository });
  const { headers: answered } = await api.expect("webhook", 202, { captures, headers, body });
  t.equal(answered.get("ratelimit-policy"), '"deliveries";q=600;w=60');
  t.match(answered.get("ratelimit"), /^"deliveries";r=599;t=\d+$/);
  await api.refuse("webhook", 400, "bad-request", { captures, headers, body: "{" });
  await api.refuse("webhook", 401, "unauthenticated", { captures, body });
});

t.test("credentials, and bodies that are too long", async () => {
  const long = "x".repeat((1 << 20) + 1);
  for (const operation of operations) {
    const { id, access, errorForm } = operation;
    const failures = findFailures(operation);
    const refuse = async (status: number, code: string, headers: Record<string, string>) => {
      if (errorForm === "ConnectError") await api.expect(id, status, { headers, body: "{}" });
      else if (operation.method === "POST") await api.refuse(id, status, code, { headers, body: "{}" });
      else await api.refuse(id, status, code, { headers });
    };
    if (access === "viewer" || access === "user" || access === "site-admin") {
      await refuse(401, "unauthenticated", { Authorization: "token wrong" });
      await refuse(403, "forbidden", { Authorization: `token-sudo token="${sudo}",user="nobody"` });
    }
    // The limit on an upload depends on what it is for.
    if (failures.includes(413) && !id.startsWith("upload"))
      await api.refuse(id, 413, "content-too-large", { headers: access === "browser" ? {} : ann, body: long });
  }
});

/** What no request here can bring about: a body that takes a minute, a used-up share, a full disk, and the like. */
const unprovoked: readonly RegExp[] = [
  / (408|410|422|429|507)$/,
  /^readiness 503$/,
  // Where another node of a fleet does not answer.
  /^webhook 503$/,
  /^upload(?:Scip|Lsif) 503$/,
  // Where no one may sign up, and a method of a later version of the protocol.
  /^signUp 404$/,
  /^mcp\w* 404$/,
];

t.test("all that is described was seen", async (t) => {
  t.same(
    api.unseen().filter((name) => !unprovoked.some((pattern) => pattern.test(name))),
    [],
  );
});
