/** GitHub Apps, against a double that verifies what the app signs and serves git to its tokens only. */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { createMetrics } from "../../../src/base/metrics.js";
import { listApp } from "../../../src/codehost/github-app/app-listing.js";
import { GithubApp } from "../../../src/codehost/github-app/github-app.js";
import type { ApiConnection } from "../../../src/codehost/connection.js";
import { Connections } from "../../../src/codehost/connections.js";
import { resolveOptions } from "../../../src/daemon/config/config.js";
import { connection } from "../../support/code-host.js";
import { runCommand, textsOnly } from "../../support/daemon.js";
import { GitFixture } from "../../support/git-fixture.js";
import { type AppHost, appId, githubAppHost, otherKey } from "../../support/github-app-host.js";
import { GraphqlSite } from "../../support/graphql-site.js";
import { becomes } from "../../support/waiting.js";

const never = new AbortController().signal;

const twoAccounts = {
  acme: { id: 11, repositories: ["one", "private-two"] },
  Lab: { id: 22, repositories: ["three"] },
};

async function start(t: Test, accounts: Parameters<typeof githubAppHost>[2] = twoAccounts, pageSize?: number) {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "a.txt": "alpha\n" } });
  const host = await githubAppHost(t, fixture, accounts, pageSize);
  const keyFile = join(t.testdir(), "key.pem");
  writeFileSync(keyFile, host.privateKey);
  return { host, keyFile, fixture };
}

function configured({ url }: AppHost, keyFile: string, changes: Partial<ApiConnection> = {}): ApiConnection {
  return connection({ url, app: appId, appKey: `file:${keyFile}`, owners: [], ...changes });
}

const names = (listed: readonly { readonly name: string }[]) => listed.map(({ name }) => name).join();

/** Lists with a new app, which knows no tokens. */
const list = (config: ApiConnection) => listApp(config, new GithubApp(config, never), never);

t.test("which installations are listed", async (t) => {
  const { host, keyFile } = await start(t, twoAccounts, 1);
  const config = configured(host, keyFile);
  const all = await list(config);
  t.equal(names(all.repositories), "acme/one,acme/private-two,Lab/three", "all, page by page");
  t.same(all.problems, []);
  t.match(all.repositories, [{ private: false }, { private: true }, { private: false }]);
  t.equal(names((await list({ ...config, installation: "22" })).repositories), "Lab/three");
  t.equal(names((await list({ ...config, owners: ["acme"] })).repositories), "acme/one,acme/private-two");
  const some = await list({ ...config, owners: ["acme", "nobody"] });
  t.equal(names(some.repositories), "acme/one,acme/private-two");
  t.match(some.problems, [/the app 4711 is not installed on .* for nobody/]);
  const mayHave = (path: string): boolean => some.mayHave(`http://127.0.0.1:${host.port}/${path}.git`);
  t.ok(mayHave("nobody/x"), "nothing is removed of the account that could not be read");
  t.notOk(mayHave("acme/x") || mayHave("ACME/x"), "and of the others, what they lack");
  t.ok(some.mayHave("https://h/acme/x") && some.mayHave("git@h:acme/x"), "what is elsewhere is of another list");
  t.same(host.asked[0], { contents: "read", metadata: "read" }, "no more rights than are needed");
  await t.rejects(list({ ...config, maxRepositories: 2 }), { message: /more than .* repositories: raise/ });
});

t.test("a suspended installation is left out, and the others are listed", async (t) => {
  const { host, keyFile } = await start(t, { ...twoAccounts, gone: { id: 33, repositories: [], suspended: true } });
  const config = configured(host, keyFile);
  const { repositories, problems, mayHave } = await list(config);
  t.equal(names(repositories), "acme/one,acme/private-two,Lab/three");
  t.ok(mayHave(`http://127.0.0.1:${host.port}/gone/x.git`));
  t.notOk(mayHave(`http://127.0.0.1:${host.port}/lab/x.git`), "the list of another account is whole");
  t.match(problems, [/suspended on .* as installation 33: an owner of the account can resume it/]);
  await t.rejects(list({ ...config, installation: "33" }), { code: "forbidden", message: /is suspended/ });
});

t.test("one token for many callers, renewed before it ends", async (t) => {
  const { host, keyFile } = await start(t);
  const app = new GithubApp(configured(host, keyFile), never);
  const asks = () => host.requests.filter((line) => line.includes("access_tokens")).length;
  const tokens = await Promise.all(Array.from({ length: 20 }, async () => (await app.tokenFor("acme/one")).current()));
  t.equal(new Set(tokens).size, 1);
  t.equal(asks(), 1);
  t.equal(await (await app.tokenFor("ACME/private-two")).current(), tokens[0], "an owner has one installation");
  t.not(await (await app.tokenFor("Lab/three")).current(), tokens[0]);
  t.equal(host.requests.filter((line) => line.endsWith("/installation app")).length, 2);
  const other = await app.token("11").replace(tokens[0] ?? "");
  t.not(other, tokens[0]);
  t.equal(await app.token("11").replace(tokens[0] ?? ""), other, "what was replaced is not replaced again");
  await app.doubt("acme/one");
  const third = await app.token("11").current();
  t.not(third, other, "a token with which a fetch failed");
  await app.doubt("acme/one");
  t.equal(await app.token("11").current(), third, "is not replaced again and again");

  // A token that is valid for a minute is handed out for two thirds of it, by the clock that only goes forward.
  host.faults.changeToken = (answer) => ({
    ...answer,
    expires_at: new Date(new Date().getTime() + 66_000).toISOString(),
  });
  const short = new GithubApp(configured(host, keyFile), never);
  const first = await short.token("11").current();
  const now = performance.now.bind(performance);
  t.teardown(() => (performance.now = now));
  performance.now = () => now() + 38_000;
  t.equal(await short.token("11").current(), first);
  performance.now = () => now() + 46_000;
  t.not(await short.token("11").current(), first);
});

t.test("a token that is revoked while a list is read is replaced once", async (t) => {
  const { host, keyFile } = await start(t, { acme: { id: 11, repositories: ["one", "two", "three"] } }, 1);
  const config = configured(host, keyFile, { installation: "11" });
  let pageCount = 0;
  host.faults.answer = (path) => {
    if (path === "installation/repositories" && ++pageCount === 2) host.revokeAll();
    return undefined;
  };
  t.equal(names((await list(config)).repositories), "acme/one,acme/two,acme/three", "revoked after a page");
  t.equal(host.tokens.size, 2);
  host.faults.answer = (path) =>
    path === "installation/repositories" ? { status: 401, body: { message: "Bad credentials" } } : undefined;
  const before = host.requests.length;
  await t.rejects(list(config), { message: /Bad credentials.*; check the token/ });
  t.equal(host.requests.length - before, 4, "two tokens and two pages");
});

t.test("what can be wrong, in plain words", async (t) => {
  const { host, keyFile } = await start(t);
  const other = join(dirname(keyFile), "other.pem");
  const config = configured(host, keyFile, { installation: "11" });
  const withKey = (text: string): ApiConnection => {
    writeFileSync(other, text);
    return { ...config, appKey: `file:${other}` };
  };
  const isHidden = (error: unknown): void => {
    const text = String(error);
    t.notMatch(text, /ghs_|PRIVATE KEY-----\n|eyJ/, "without secrets");
  };
  const refused = async (name: string, config: ApiConnection, message: RegExp): Promise<void> =>
    await list(config).then(
      () => {
        t.fail(name);
      },
      (error: unknown) => {
        t.match(String(error), message, name);
        isHidden(error);
      },
    );
  await refused("another key", withKey(otherKey()), /does not accept file:.*other\.pem as a key of the app 4711/);
  await refused("a short key", withKey(otherKey(1024)), /is not one of RSA with 2048 bits/);
  await refused("no key", withKey("secret words\n"), /other\.pem is not the private key of an app/);
  await refused("no file", { ...config, appKey: `file:${other}.no` }, /connection acme: cannot read its secret/);
  await refused("another app", { ...config, app: "4712" }, /as a key of the app 4712: check that app is its App ID/);
  await refused("not installed", { ...config, installation: "99" }, /is not installed on .* as installation 99/);
  for (const [aheadMs, message] of [
    [-700_000, /the clock of this machine is (69|70)\d s ahead of that of 127/],
    [3_600_000, /the clock of this machine is (359|360)\d s behind that of 127/],
  ] as const) {
    host.faults.clockAheadMs = aheadMs;
    await refused(`a clock ${aheadMs} ms ahead`, config, message);
  }
  host.faults.clockAheadMs = 45_000;
  t.equal((await list(config)).repositories.length, 2, "a small difference does no harm");
  host.faults.clockAheadMs = 0;
  const answers: readonly (readonly [name: string, status: number, body: unknown, message: RegExp])[] = [
    [
      "the rights are not granted",
      422,
      { message: "permissions not granted" },
      /repository permissions Contents and Metadata/,
    ],
    ["forbidden", 403, { message: "no" }, /answered 403/],
    ["down", 502, "bad gateway", /answered 502/],
    ["a limit", 429, "", /allows no more requests/],
    ["changed by a proxy", 203, { token: "ghs_secret" }, /access_tokens answered 203; check/],
    ["not JSON", 201, "<html>ghs_secret", /sent no JSON about the app/],
    ["a list", 201, ["ghs_secret"], /sent no JSON about the app/],
    ["no token", 201, { expires_at: "2100-01-01T00:00:00Z" }, /sent no token/],
    ["a token with a line feed", 201, { token: "ghs_a\nX: b", expires_at: "2100-01-01T00:00:00Z" }, /sent no token/],
    ["an endless token", 201, { token: "g".repeat(5000), expires_at: "2100-01-01T00:00:00Z" }, /sent no token/],
    ["too much", 201, "x".repeat(2 ** 21), /sent more than 1048576 bytes/],
    ["over", 201, { token: "ghs_a", expires_at: "2001-01-01T00:00:00Z" }, /not valid for a minute: check the clocks/],
    ["without an end", 201, { token: "ghs_a" }, /not valid for a minute/],
    ["an end that is none", 201, { token: "ghs_a", expires_at: "soon" }, /not valid for a minute/],
  ];
  for (const [name, status, body, message] of answers) {
    host.faults.answer = (path) => (path.endsWith("/access_tokens") ? { status, body } : undefined);
    await refused(name, config, message);
  }
  host.faults.answer = (path) =>
    path === "app/installations" ? { status: 200, body: [{ id: "../../x" }] } : undefined;
  await refused("an installation without a number", { ...config, installation: "" }, /installation without a number/);
  host.faults.answer = (path) => (path === "app/installations" ? { status: 200, body: [] } : undefined);
  await refused("installed nowhere", { ...config, installation: "" }, /not installed in any account/);
  host.faults.answer = () => undefined;
  host.faults.changeToken = (answer) => ({ ...answer, expires_at: "9999-12-31T00:00:00Z" });
  const app = new GithubApp(config, never);
  const first = await app.token("11").current();
  const now = performance.now.bind(performance);
  performance.now = () => now() + 2_500_000;
  t.not(await app.token("11").current(), first, "an end that is absurd counts as an hour");
  performance.now = now;
});

t.test("a failure is not repeated for each repository", async (t) => {
  const { host, keyFile } = await start(t);
  host.faults.answer = (path) => (path.endsWith("/access_tokens") ? { status: 500, body: "" } : undefined);
  const app = new GithubApp(configured(host, keyFile, { installation: "11" }), never);
  for (let i = 0; i < 20; i++) await t.rejects(app.token("11").current(), { message: /answered 500/ });
  t.equal(host.requests.length, 1);
});

t.test("an app that is installed again has another number", async (t) => {
  const acme = { id: 11, repositories: ["one", "two"] };
  const { host, keyFile } = await start(t, { acme });
  const config = configured(host, keyFile);
  const reinstall = (): void => {
    acme.id++;
    host.revokeAll();
  };
  const app = new GithubApp(config, never);
  const reader = await app.tokenFor("acme/one");
  const first = await reader.current();
  reinstall();
  let before = host.requests.length;
  const second = await reader.replace(first);
  t.not(second, first, "for who asks for readers");
  t.equal(await (await app.tokenFor("acme/two")).current(), second, "and for fetches");
  t.same(host.requests.slice(before), [
    "POST app/installations/11/access_tokens app",
    "GET orgs/acme/installation app",
    "POST app/installations/12/access_tokens app",
  ]);

  reinstall();
  const now = performance.now.bind(performance);
  t.teardown(() => (performance.now = now));
  performance.now = () => now() + 2_500_000;
  before = host.requests.length;
  const tokens = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => (await app.tokenFor(`acme/${i}`)).current()),
  );
  t.equal(new Set([...tokens, second]).size, 2, "one new token for many callers, after the old one has ended");
  t.equal(host.requests.length - before, 3);

  reinstall();
  performance.now = () => now() + 5_000_000;
  t.same(await app.installations(never), [{ id: "14", owner: "acme" }]);
  before = host.requests.length;
  await (await app.tokenFor("acme/one")).current();
  t.same(host.requests.slice(before), ["POST app/installations/14/access_tokens app"], "a list says the number");

  reinstall();
  performance.now = () => now() + 7_500_000;
  t.equal(await app.installationIn("ACME"), "15");
  before = host.requests.length;
  await (await app.tokenFor("acme/one")).current();
  t.same(host.requests.slice(before), ["POST app/installations/15/access_tokens app"], "as does that of an owner");

  performance.now = () => now() + 10_000_000;
  host.faults.answer = (path) => (path.endsWith("/access_tokens") ? { status: 404, body: "" } : undefined);
  before = host.requests.length;
  for (let i = 0; i < 5; i++) await t.rejects(reader.current(), { message: /not installed .* as installation 15/ });
  t.equal(host.requests.length - before, 2, "one that the host denies and names is not asked for again and again");
});

t.test("a repository that was not chosen does no harm to others of its owner", async (t) => {
  const { host, keyFile } = await start(t);
  const app = new GithubApp(configured(host, keyFile), never);
  const current = async (name: string) => await (await app.tokenFor(name)).current();
  const token = await current("acme/not-chosen");
  t.equal(await current("acme/one"), token);
  await app.doubt("acme/not-chosen");
  const next = await current("acme/not-chosen");
  t.not(next, token, "it might have been the token");
  t.equal(await current("acme/one"), next);
});

t.test("the token goes to the host of the connection only", async (t) => {
  const { host, keyFile } = await start(t);
  const folder = dirname(keyFile);
  const connections = new Connections({
    folder,
    dataFolder: folder,
    log: { warn: () => undefined } as never,
    metrics: createMetrics().metrics,
    check: async () => undefined,
    known: () => [],
    leftOut: () => [],
    findLinked: () => undefined,
    applyReaders: async () => [],
    apply: async () => undefined,
  });
  t.teardown(() => connections.close());
  await connections.configure([configured(host, keyFile, { owners: ["acme"] })]);
  const secret = (url: string, name = "acme") => connections.fetchSecret({ url, source: { connection: name } });
  t.equal(await secret(`http://127.0.0.1:${host.port}/acme/one.git`), `x-access-token:${[...host.tokens.keys()][0]}`);
  for (const url of ["http://elsewhere.example/acme/one.git", `https://127.0.0.1:${host.port}/acme/one.git`, "/srv/x"])
    t.equal(await secret(url), undefined, url);
  t.equal(await secret(`http://127.0.0.1:${host.port}/acme/one.git`, "other"), undefined, "of another connection");
  await t.rejects(secret(`http://127.0.0.1:${host.port}/acme/a/../../b/c/d.git`), {
    message: /not the name|not installed/,
  });
});

t.test("configurations that are refused", async (t) => {
  const configFile = join(t.testdir(), "trawl.jsonc");
  const resolve = (item: object) => {
    const url = "https://api.github.com";
    writeFileSync(configFile, JSON.stringify({ connections: [{ name: "x", kind: "github", url, ...item }] }));
    return resolveOptions({ configFile, overrides: [], repositories: [] }).connections[0];
  };
  const app = { app: "Iv1.8a61f9b3a7aba766", appKey: "file:/etc/trawl/app.pem" };
  for (const [wrong, message] of [
    [{ ...app, kind: "gitea", url: "https://h", owners: ["a"] }, /app is only for github/],
    [{ app: "1" }, /app needs appKey/],
    [{ appKey: "file:/k", owners: ["a"] }, /appKey and installation need an app/],
    [{ ...app, credential: "file:/t" }, /app and credential: remove one/],
    [{ ...app, installation: "1", owners: ["a"] }, /leave out owners, or installation/],
    [{ ...app, installation: "abc" }, /installation/],
    [{ ...app, ssh: true }, /leave out ssh/],
    [{ ...app, appKey: "/etc/key" }, /appKey/],
  ] as const)
    t.throws(() => resolve(wrong), { code: "bad-config", message });
  t.match(resolve(app), { ...app, installation: "", owners: [] });
  t.match(resolve({ ...app, permissions: "host", userNames: { a: "b" } }), { permissions: "host" });
});

t.test("a daemon lists, fetches and asks for readers with tokens of an app", async (t) => {
  const { host, keyFile, fixture } = await start(t);
  const item = {
    name: "acme",
    kind: "github",
    url: host.url,
    app: appId,
    appKey: `file:${keyFile}`,
    prefix: "",
    permissions: "host",
    userNames: { ann: "ann" },
  };
  const site = await GraphqlSite.start(t, { connections: [item] }, textsOnly);
  const { daemon } = site;
  const found = async (asker: "anonymous" | "ann" | "bob"): Promise<string> => {
    const query = '{ search(query: "alpha") { results { results { ... on FileMatch { repository { name } } } } } }';
    const { data } = (await site.ask(asker, query)) as {
      data: { search: { results: { results: { repository: { name: string } }[] } } };
    };
    return data.search.results.results
      .map(({ repository }) => repository.name)
      .sort()
      .join();
  };
  await becomes(t, () => found("ann"), "Lab/three,acme/one,acme/private-two", "all are searchable for who reads them");
  t.equal(await found("bob"), "Lab/three,acme/one", "only who reads it on the host sees what is private");
  await t.test("a push is fetched after all tokens were revoked", async (t) => {
    host.revokeAll();
    fixture.commit({ branch: "main", files: { "b.txt": "beta\n" } });
    await t.rejects(daemon.sync("acme/one"), { message: /rejects the user and password/ }, "which finds it out");
    await daemon.sync("acme/one");
    await becomes(
      t,
      async () => (await daemon.search("repo:^acme/one$ beta")).found.join(),
      "acme/one:b.txt:1",
      "soon",
    );
  });
  await t.test("where it is told, and nothing secret", async (t) => {
    const { out } = await runCommand("connection", "list", "--data", daemon.data);
    t.match(out, /acme {2}github .*3 repositories/);
    const { data } = await site.ask("admin", `{ externalServices { nodes { displayName config } } }`);
    const { nodes } = (data as { externalServices: { nodes: { displayName: string; config: string }[] } })
      .externalServices;
    const config = nodes.find(({ displayName }) => displayName === "acme")?.config ?? "";
    t.match(config, /"appKey": "REDACTED"/);
    t.notMatch(config, keyFile);
    const configFile = join(dirname(keyFile), "trawl.jsonc");
    const doctor = async (appKey: string): Promise<string> => {
      writeFileSync(configFile, JSON.stringify({ connections: [{ ...item, appKey: `file:${appKey}` }] }));
      return (await runCommand("doctor", "--data", daemon.data, "--config", configFile)).out;
    };
    const good = await doctor(keyFile);
    t.match(good, /good +app key +connection acme: the key of the app 4711 can be used/);
    t.match(good, /good +connections +1 connections/);
    t.match(await doctor(configFile), /bad +app key +connection acme: .* is not the private key of an app/);
    const told = [
      out,
      good,
      config,
      JSON.stringify(await daemon.wholeLog()),
      JSON.stringify(await daemon.list()),
    ].join();
    for (const token of host.tokens.keys()) t.notMatch(told, token);
  });
});
