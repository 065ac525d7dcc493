/** Readers that a code host decides about: small servers answer in the shapes of the real hosts. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createMetrics } from "../../../src/base/metrics.js";
import { apiKinds } from "../../../src/codehost/api-kinds.js";
import type { ApiConnection, ApiKindName } from "../../../src/codehost/connection.js";
import { Connections } from "../../../src/codehost/connections.js";
import { fixedToken } from "../../../src/codehost/page-reader.js";
import { PageReader } from "../../../src/codehost/page-reader.js";
import { DueQueue } from "../../../src/codehost/readers/due-queue.js";
import { ReaderLists } from "../../../src/codehost/readers/reader-lists.js";
import { readerSources } from "../../../src/codehost/readers/reader-sources.js";
import { resolveOptions } from "../../../src/daemon/config/config.js";
import type { RepositoryConfig } from "../../../src/model/repository.js";
import { type Answer, codeHost, connection } from "../../support/code-host.js";
import { until } from "../../support/waiting.js";

const never = new AbortController().signal;

/** The names of those who read `acme/one` on a double that answers to paths. */
async function readersAt(t: Test, kind: ApiKindName, answers: Readonly<Record<string, Answer>>) {
  const none: Answer = { status: 404, body: { message: "none" } };
  const { url, requests } = await codeHost(t, ({ pathname, searchParams }) => {
    const isAfter = searchParams.get("page") !== "1" && answers[`${pathname} 1`] !== undefined;
    return answers[`${pathname} ${searchParams.get("page")}`] ?? answers[pathname] ?? (isAfter ? { body: [] } : none);
  });
  const source = readerSources[kind];
  if (source === undefined) throw new Error(kind);
  const reader = new PageReader({
    kind: apiKinds[kind],
    url,
    token: fixedToken("secret"),
    signal: never,
    noun: "users",
    countMax: 1000,
    remedy: " for acme/one",
  });
  const users = await source("acme/one", reader);
  return { users: users.map(({ id, name }) => `${id} ${name}`).join(), requests };
}

t.test("who reads a repository", async (t) => {
  const github = await readersAt(t, "github", {
    "/repos/acme/one/collaborators 1": {
      headers: { link: '<http://x/?page=2>; rel="next"' },
      body: [
        { login: "ann", id: 1, permissions: { admin: false, pull: true }, role_name: "read" },
        { login: "none", id: 2, permissions: { pull: false } },
        { login: "odd", id: 3, permissions: { pull: "true" } },
        { login: "bare", id: 4 },
        { login: "", id: 5, permissions: { pull: true } },
        { login: "text", id: "6", permissions: { pull: true } },
      ],
    },
    "/repos/acme/one/collaborators 2": {
      headers: { link: '<http://x/?page=1>; rel="first"' },
      body: [{ login: "Bob", id: 7, permissions: { pull: true } }],
    },
  });
  t.equal(github.users, "1 ann,7 Bob");
  t.equal(github.requests[0]?.url.searchParams.get("affiliation"), "all");
  t.equal(github.requests[0]?.headers["authorization"], "Bearer secret");

  const member = { state: "active", access_level: 30, expires_at: null };
  const gitlab = await readersAt(t, "gitlab", {
    "/api/v4/projects/acme%2Fone/members/all 1": {
      headers: { "x-total": "8" },
      body: [
        { ...member, id: 1, username: "ann" },
        { ...member, id: 2, username: "guest", access_level: 10 },
        { ...member, id: 3, username: "blocked", state: "blocked" },
        { ...member, id: 4, username: "awaiting", membership_state: "awaiting" },
        { ...member, id: 5, username: "over", expires_at: "2020-01-01" },
        { ...member, id: 6, username: "later", expires_at: "2999-01-01", membership_state: "active" },
        { ...member, id: 7, username: "odd", expires_at: "soon" },
        { ...member, id: 8, username: "text", access_level: "30" },
      ],
    },
  });
  t.equal(gitlab.users, "1 ann,6 later");

  const team = { permission: "write", units_map: { "repo.code": "read" } };
  const members = (id: number): Answer => ({
    body: [
      { id: 100 + id, login: `of-${id}` },
      { id: 1, login: "ann" },
    ],
  });
  const base = "/api/v1/repos/acme/one";
  const gitea = await readersAt(t, "gitea", {
    [`${base}/collaborators 1`]: {
      body: [
        { id: 1, login: "ann" },
        { id: 2, login: "off", active: false },
      ],
    },
    [`${base}/teams 1`]: {
      body: [
        { ...team, id: 3 },
        { ...team, id: 4, units_map: { "repo.code": "none", "repo.issues": "write" } },
        { id: 5, permission: "owner" },
        { id: 6, permission: "read", units: ["repo.code"] },
        { id: 7, permission: "read", units: ["repo.issues"] },
      ],
    },
    ...Object.fromEntries([3, 4, 5, 6, 7].map((id) => [`/api/v1/teams/${id}/members 1`, members(id)])),
  });
  t.equal(gitea.users, "1 ann,103 of-3,105 of-5,106 of-6");
  const own = await readersAt(t, "gitea", {
    [`${base}/collaborators`]: { headers: { "x-total-count": "0" }, body: [] },
    [`${base}/teams`]: { status: 405, body: { message: "repo is not owned by an organization" } },
    [base]: { body: { owner: { id: 9, login: "acme" } } },
  });
  t.equal(own.users, "9 acme");
});

t.test("answers that are none", async (t) => {
  const path = "/repos/acme/one/collaborators";
  const user = (id: number) => ({ id, login: `u${id}`, permissions: { pull: true } });
  const rows: readonly (readonly [name: string, answer: Answer, message: RegExp])[] = [
    ["no right to ask", { status: 403, body: "Must have push access" }, /Must have push access; check the token/],
    ["a wrong token", { status: 401 }, /check the token/],
    ["a repository that is gone", { status: 404 }, /answered 404/],
    ["a limit", { status: 429 }, /allows no more requests/],
    [
      "a part of the list",
      { headers: { "x-total-count": "9", link: 'rel="last"' }, body: [user(1)] },
      /lists 1 of 9 users/,
    ],
    ["the same page for ever", { headers: { link: 'rel="next"' }, body: [user(1)] }, /changes while/],
    ["too many", { body: Array.from({ length: 1001 }, (_, i) => user(i + 1)) }, /more than 1000 users for acme\/one/],
    ["no list", { body: { message: "ok" } }, /sent no list/],
  ];
  for (const [name, answer, message] of rows)
    await t.rejects(readersAt(t, "github", { [path]: answer }), { message }, name);
  const gitea = {
    "/api/v1/repos/acme/one/collaborators": { headers: { "x-total-count": "0" }, body: [] },
    "/api/v1/repos/acme/one/teams": { status: 500, body: "the backend answered 405" },
    "/api/v1/repos/acme/one": { body: { owner: { id: 9, login: "acme" } } },
  };
  await t.rejects(readersAt(t, "gitea", gitea), { message: /answered 500/ }, "the words of a host are no status");
  const reader = new PageReader({
    kind: apiKinds.github,
    url: "http://127.0.0.1:1",
    token: fixedToken(""),
    signal: never,
    noun: "users",
    countMax: 1,
    remedy: "",
  });
  for (const name of ["../x", "a/..", "a//b", "."])
    await t.rejects(readerSources.github!(name, reader), { message: /is not the name of a repository/ }, name);
});

/** Connections, the readers that they have applied, and those of what they list. */
function started(t: Test, folder: string, links: ReadonlyMap<string, string> = new Map()) {
  const applied = new Map<string, string>();
  const warnings: string[] = [];
  const count = { found: 0, applied: 0 };
  const connections: Connections = new Connections({
    folder,
    dataFolder: join(folder, "data"),
    log: { warn: (_: object, text: string) => warnings.push(text), error: () => undefined } as never,
    metrics: createMetrics().metrics,
    check: async () => undefined,
    known: () => [],
    leftOut: () => [],
    apply: async () => connections.applyReaders(),
    findLinked: (provider, subject) => {
      count.found++;
      return links.get(`${provider} ${subject}`);
    },
    applyReaders: async (_, repositories: readonly RepositoryConfig[]) => {
      count.applied++;
      repositories.forEach(({ name, readers }) => applied.set(name, readers.join()));
      return [];
    },
  });
  t.teardown(() => connections.close());
  return { connections, applied, warnings, count };
}

const listed = (name: string, isPrivate: boolean) => ({
  id: name,
  full_name: `acme/${name}`,
  clone_url: `https://h/acme/${name}`,
  private: isPrivate,
  visibility: isPrivate ? "private" : "public",
});

t.test("readers follow the host, and the door is closed while it cannot be asked", async (t) => {
  let collaborators: Answer = {};
  const people = (...names: string[]): Answer => ({
    body: names.map((login, i) => ({ login, id: i + 1, permissions: { pull: true } })),
  });
  const { url, requests } = await codeHost(t, ({ pathname, searchParams }) => {
    if (searchParams.get("page") !== "1") return { body: [] };
    if (!pathname.endsWith("/collaborators")) return { body: [listed("closed", true), listed("open", false)] };
    return collaborators;
  });
  const folder = t.testdir({ token: "secret" });
  const config: ApiConnection = connection({
    url,
    permissions: "host",
    credential: `file:${folder}/token`,
    permissionsSeconds: 60,
    permissionsProvider: "lab",
    userNames: { ANN: "ann", carol: "carla", eve: null },
  });
  const links = new Map([
    ["lab 2", "bert"],
    ["lab 3", "mallory"],
    ["other 1", "zoe"],
  ]);
  const first = started(t, folder, links);
  const readers = (): string | undefined => first.applied.get("host/acme/closed");
  const state = () =>
    first.connections.permissionState("acme", { name: "host/acme/closed", url: "https://h/acme/closed" });
  collaborators = { status: 500, body: "broken" };
  await first.connections.configure([config]);
  first.connections.start();
  await until(
    "an error is told",
    () => first.connections.statuses()[0]?.permissions?.error.includes("answered 500") === true,
  );
  t.match(state(), { askedAt: "", isClosed: true, error: /answered 500/ });
  t.equal(readers(), "");
  t.match(first.connections.statuses()[0], {
    permissions: { repositoryCount: 1, closedCount: 1 },
    warnings: [/only site admins may read 1 repositories.*answered 500/],
  });

  // Eve is nobody by the configuration, although an account of the provider is linked to her number.
  collaborators = people("ann", "bob", "eve", "stranger");
  await first.connections.list("acme", false);
  await until("ann and bob read it", () => readers() === "ann,bert");
  t.match(state(), { askedAt: /^20/, isClosed: false, error: "" });
  t.notOk(first.applied.has("host/acme/open"), "what is public has no readers");
  t.same(
    first.connections.repositories().map((one) => [one.name, one.private, one.readers]),
    [
      ["host/acme/closed", true, ["ann", "bert"]],
      ["host/acme/open", false, []],
    ],
  );
  links.delete("lab 2");
  first.connections.accountsChanged();
  await until("who is unlinked reads nothing", () => readers() === "ann");
  collaborators = people("carol");
  await first.connections.list("acme", false);
  await until("another answer", () => readers() === "carla");

  // A start begins with what was known.
  await first.connections.close();
  const second = started(t, folder, links);
  await second.connections.configure([config]);
  t.same(second.connections.repositories()[0]?.readers, ["carla"], "what is known counts at once");
  const path = join(folder, "acme.readers");
  const stored = readFileSync(path, "utf8");
  for (const [name, text] of [
    ["too old", stored.replace(/\[(\d{13}),/, (_, ms) => `[${Number(ms) - 3600_000},`)],
    ["of the future", stored.replace(/\[(\d{13}),/, (_, ms) => `[${Number(ms) + 3600_000},`)],
    ["damaged", stored.slice(0, -5)],
    ["of another host", stored.replace(url, "http://elsewhere")],
  ] as const) {
    writeFileSync(path, text);
    const other = started(t, folder, links);
    await other.connections.configure([config]);
    t.same(other.connections.repositories()[0]?.readers, [], `an answer that is ${name} does not count`);
  }

  // It cannot be asked any more: what it said counts for three seconds, and not longer.
  await second.connections.close();
  const { connections, applied } = started(t, folder, links);
  await connections.configure([{ ...config, permissionsSeconds: 3 }]);
  connections.start();
  await until("it says so again", () => applied.get("host/acme/closed") === "carla");
  collaborators = { status: 401 };
  const askedBefore = requests.length;
  await until("the door is closed", () => applied.get("host/acme/closed") === "");
  t.ok(requests.length > askedBefore, "it was asked");
  t.same(connections.repositories()[0]?.readers, []);
  t.match(connections.statuses()[0], { permissions: { closedCount: 1, error: /check the token/ } });
  collaborators = people("ann");
  await until("it is open again", () => applied.get("host/acme/closed") === "ann");
});

t.test("a host that is down or limits requests is not asked for each repository", async (t) => {
  for (const [answer, most, told] of [
    [{ status: 429, headers: { "retry-after": "600" } }, 4, 4],
    [{ status: 401 }, 8, 1],
    [{ status: 500 }, 8, 1],
  ] as const) {
    const names = Array.from({ length: 40 }, (_, i) => listed(`r${i}`, true));
    const { url, requests } = await codeHost(t, ({ pathname, searchParams }) =>
      pathname.endsWith("/collaborators") ? answer : { body: searchParams.get("page") === "1" ? names : [] },
    );
    const folder = t.testdir({ token: "secret" });
    const { connections, warnings } = started(t, folder);
    const config = { permissions: "host", credential: `file:${folder}/token`, userNames: { a: "a" } } as const;
    await connections.configure([connection({ url, ...config })]);
    connections.start();
    await until("the host has rest", () => warnings.length === told);
    t.ok(asked() <= most, `${asked()} questions`);
    await connections.list("acme", false);
    await until("it has rest again", () => warnings.length === 2 * told);
    t.equal(connections.statuses()[0]?.permissions?.closedCount, 40);
    t.ok(asked() <= 2 * most, `${asked()} questions after it was to be asked again`);
    await connections.close();
    function asked(): number {
      return requests.filter(({ url: { pathname } }) => pathname.endsWith("/collaborators")).length;
    }
  }
});

t.test("repositories that the host refuses keep no other one closed", async (t) => {
  const refused = Array.from({ length: 12 }, (_, i) => listed(`r${i}`, true));
  const { url, requests } = await codeHost(t, ({ pathname, searchParams }) => {
    if (searchParams.get("page") !== "1") return { body: [] };
    if (pathname.endsWith("/good/collaborators")) return { body: [{ login: "a", id: 1, permissions: { pull: true } }] };
    if (pathname.endsWith("/collaborators")) return { status: pathname.includes("/r1") ? 404 : 403 };
    return { body: [...refused, listed("good", true)] };
  });
  const folder = t.testdir({ token: "secret" });
  const { connections, applied } = started(t, folder);
  await connections.configure([
    connection({ url, permissions: "host", credential: `file:${folder}/token`, userNames: { a: "ann" } }),
  ]);
  connections.start();
  const asked = () => requests.filter(({ url: { pathname } }) => /\/r\d+\/collaborators$/.test(pathname)).length;
  await until("the one after them is open", () => applied.get("host/acme/good") === "ann" && asked() >= 12);
  t.match(connections.statuses()[0]?.permissions, { closedCount: 12, error: /answered 40[34]/ });
  t.equal(asked(), 12, "each was asked for once");
});

t.test("accounts are looked up again once for many that are linked", async (t) => {
  const names = Array.from({ length: 30 }, (_, i) => listed(`r${i}`, true));
  // Each repository has another list of ten users.
  const { url } = await codeHost(t, ({ pathname, searchParams }) => {
    if (searchParams.get("page") !== "1") return { body: [] };
    const at = /\/r(\d+)\/collaborators$/.exec(pathname)?.[1];
    if (at === undefined) return { body: names };
    const login = (i: number) => ({ login: `u${i}`, id: 10 * Number(at) + i, permissions: { pull: true } });
    return { body: Array.from({ length: 10 }, (_, i) => login(i + 1)) };
  });
  const folder = t.testdir({ token: "secret" });
  const links = new Map([["lab 1", "ann"]]);
  const { connections, applied, count } = started(t, folder, links);
  const config = { permissions: "host", credential: `file:${folder}/token`, permissionsProvider: "lab" } as const;
  await connections.configure([connection({ url, ...config })]);
  connections.start();
  await until("all are known", () => connections.statuses()[0]?.permissions?.closedCount === 0 && applied.size === 30);
  await connections.applyReaders();
  const before = { ...count };
  links.set("lab 2", "bob");
  for (let i = 0; i < 100; i++) connections.accountsChanged();
  links.set("lab 11", "carl");
  connections.accountsChanged();
  await until("the last one reads", () => applied.get("host/acme/r1") === "carl");
  t.equal(applied.get("host/acme/r0"), "ann,bob");
  t.ok(count.found - before.found <= 600, `${count.found - before.found} users were looked up`);
  t.ok(count.applied - before.applied <= 2, "nothing is applied for readers who are the same");
});

t.test("a list of readers is kept once, as long as it is used", async (t) => {
  const lists = new ReaderLists(function* (users) {
    yield;
    return users.map(({ name }) => name).sort();
  });
  const users = [1, 2, 9, 10, 100].map((id) => ({ id: String(id), name: `u${id}` }));
  const [first, again] = [await lists.take(users), await lists.take([...users].reverse())];
  t.equal(first, again, "in another order");
  const renamed = await lists.take(users.map((user) => (user.id === "9" ? { ...user, name: "other" } : user)));
  t.not(renamed, first, "who is renamed may be somebody else here");
  const { names } = first;
  t.equal((await lists.lookUpAgain(never)).size, 0);
  t.equal(first.names, names, "the same names are the same array");
  lists.release(first);
  t.equal(lists.size, 2);
  lists.release(again);
  lists.release(renamed);
  t.equal(lists.size, 0);
});

t.test("keys by the time at which they are due", async (t) => {
  const queue = new DueQueue();
  const taken = (nowMs: number): readonly string[] => {
    const keys: string[] = [];
    for (let key = queue.take(nowMs); key !== undefined; key = queue.take(nowMs)) keys.push(key);
    return keys;
  };
  queue.set("late", 9);
  queue.set("b", 2);
  queue.set("c", 3);
  queue.set("first", Number.NEGATIVE_INFINITY);
  queue.set("a", 1);
  queue.set("gone", 1);
  queue.delete("gone");
  queue.set("c", 0);
  t.same(taken(5), ["first", "c", "a", "b"]);
  t.same(taken(5), []);
  t.same(taken(9), ["late"]);
  const times = new Map<string, number>();
  for (let i = 0; i < 2_000; i++) {
    const [key, dueMs] = [`k${(i * 7) % 300}`, (i * 7919) % 1_009];
    times.set(key, dueMs);
    queue.set(key, dueMs);
  }
  t.same(
    taken(2_000).map((key) => times.get(key)),
    [...times.values()].sort((a, b) => a - b),
    "in order, each once, although each was moved several times",
  );
});

t.test("configurations that are refused", async (t) => {
  const configFile = join(t.testdir(), "trawl.jsonc");
  const host = {
    name: "x",
    kind: "github",
    url: "https://h",
    owners: ["a"],
    credential: "file:/t",
    permissions: "host",
  };
  for (const [changes, message] of [
    [{}, /need userNames or a permissionsProvider/],
    [{ userNames: { a: "b" }, readers: ["core"] }, /no readers of its own/],
    [{ userNames: { a: "b" }, credential: "" }, /need a credential/],
    [{ userNames: { a: "b" }, kind: "gerrit" }, /known for github, gitlab, gitea, not for gerrit/],
    [{ userNames: { a: "b" }, permissions: "readers" }, /only for permissions of the host/],
    [{ permissionsProvider: "lab", kind: "gitlab" }, /no identity provider is named "lab"/],
    [{ permissionsProvider: "lab" }, /permissionsProvider is not for github/],
    [
      { permissionsProvider: "login", kind: "gitlab" },
      /has to be the host itself, h, but the issuer of login is at else/,
    ],
  ] as const) {
    const identityProviders = [{ name: "login", issuer: "https://else", clientId: "trawl" }];
    writeFileSync(configFile, JSON.stringify({ connections: [{ ...host, ...changes }], identityProviders }));
    t.throws(() => resolveOptions({ configFile, overrides: [], repositories: [] }), { code: "bad-config", message });
  }
});
