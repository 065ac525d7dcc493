/** Sign-in with OpenID Connect at a real provider, which also lies. */
import assert from "node:assert/strict";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { type OutgoingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import t, { type Test } from "tap";
import { codeHost } from "../support/code-host.js";
import { runCommand } from "../support/daemon.js";
import { GraphqlSite } from "../support/graphql-site.js";
import { clientId, TestProvider, Visitor } from "../support/identity-provider.js";
import { configure, restartSharedDaemon } from "../support/shared-daemon.js";
import { until } from "../support/waiting.js";

const secret = "a secret of the client";

let started: Promise<TestProvider> | undefined;

/** Of all tests here: the daemon is one, too. */
function sharedProvider(trawlUrl: string): Promise<TestProvider> {
  return (started ??= TestProvider.start(t, trawlUrl, secret));
}

/** What a page says that refuses. */
function alertIn(html: string): string | undefined {
  return /role="alert">([^<]*)/
    .exec(html)?.[1]
    ?.replaceAll("&#34;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">");
}

const late = /Acme did not answer within 5 s/;
const attemptsMax = 10;

/** A daemon, a provider `acme`, and people with browsers. */
class Scene {
  readonly site: GraphqlSite;
  readonly provider: TestProvider;
  connections: readonly object[] = [];
  /** Whether the provider is to answer too late. */
  isSlow = false;
  readonly #folder: string;

  private constructor(site: GraphqlSite, provider: TestProvider, folder: string) {
    this.site = site;
    this.provider = provider;
    this.#folder = folder;
  }

  static async start(t: Test, options: object = {}): Promise<Scene> {
    const site = await GraphqlSite.start(t);
    const provider = await sharedProvider(site.daemon.url);
    provider.reset();
    const scene = new Scene(site, provider, t.testdir());
    await scene.configure(options);
    return scene;
  }

  get url(): string {
    return this.site.daemon.url;
  }

  async configure(...all: readonly object[]): Promise<void> {
    const file = join(this.#folder, "secret");
    writeFileSync(file, `${secret}\n`);
    const identityProviders = all.map((options) => ({
      name: "acme",
      displayName: "Acme",
      issuer: this.provider.issuer,
      clientId,
      clientSecret: `file:${file}`,
      ...options,
    }));
    await configure(this.site.daemon, { identityProviders, connections: this.connections });
  }

  /** Again if the provider, which runs in this process, had no processor for too long. */
  async signIn(account: string, visitor = new Visitor(), provider = "acme", query = "returnTo=/search%3Fq=x") {
    this.provider.account = account;
    for (let attempt = 1; ; attempt++) {
      const { status, text, url } = await visitor.visit(`${this.url}/-/oidc/${provider}/sign-in?${query}`);
      const answer = { visitor, status, url, problem: alertIn(text) };
      const isLate = late.test(answer.problem ?? "");
      if (!isLate || this.isSlow || attempt === attemptsMax) return answer;
    }
  }

  /** The name of whoever is signed in; undefined for nobody. */
  async nameOf(visitor: Visitor): Promise<string | undefined> {
    const query = "{ currentUser { username organizations { nodes { name } } } }";
    const { data } = await this.site.ask({ cookie: visitor.session(this.url) }, query);
    return (data as { currentUser: { username: string } | null }).currentUser?.username;
  }

  organization(name: string): Promise<readonly string[]> {
    return this.site.daemon
      .control("GET", "/.api/organizations")
      .then(
        (all) =>
          (all as { name: string; members: readonly string[] }[]).find((one) => one.name === name)?.members ?? [],
      );
  }

  get refusals(): readonly unknown[] {
    return this.site.audited.filter(({ event }) => event === "sign-in-refused").map(({ reason }) => reason);
  }
}

t.test("a provider that lies is refused, and one that is slow or gone is named", async (t) => {
  const scene = await Scene.start(t, { signUp: "all" });
  const { provider } = scene;
  const expected: RegExp[] = [];
  const lie = async (problem: RegExp, status = 403): Promise<void> => {
    const answer = await scene.signIn("liar");
    t.match(answer, { status, problem });
    expected.push(problem);
    t.equal(await scene.nameOf(answer.visitor), undefined);
    provider.lies.clear();
  };
  provider.lieAboutTokens(() => ({ iss: "https://else.example" }));
  await lie(/Acme sent an answer of another issuer/);
  provider.lieAboutTokens(() => ({ aud: "another client" }));
  await lie(/Acme sent an answer that is for another application/);
  provider.lieAboutTokens(() => ({ nonce: "another one" }));
  await lie(/Acme sent an answer that belongs to another sign-in/);
  provider.lieAboutTokens(() => ({}), true);
  await lie(/Acme .*signature|Acme .*key/i);
  provider.lies.set("/me", (body) => JSON.stringify({ ...JSON.parse(body), groups: { admin: true } }));
  await lie(/claim "groups" that is no list of texts/);
  provider.lies.set("/token", () => new Promise(() => undefined));
  scene.isSlow = true;
  await lie(late, 503);
  scene.isSlow = false;
  await scene.configure({ signUp: "all", issuer: "http://127.0.0.1:2" });
  await lie(/Acme cannot be reached \(ECONNREFUSED\)/, 503);
  await scene.configure({ signUp: "all" });
  // The audit log has some lines of each kind in a minute, of a few kinds, from one address.
  for (const problem of expected)
    await until(`the audit log has ${problem.source}`, () =>
      scene.refusals.some((reason) => problem.test(String(reason))),
    );
  provider.lieAboutTokens(() => ({ sub: "somebody else" }));
  await lie(/Acme sent answers about different users/);
  provider.lieAboutTokens(() => ({ exp: 1 }));
  await lie(/not valid at this time: compare the clocks/);
  provider.lies.set("/me", (body) => JSON.stringify({ ...JSON.parse(body), sub: "somebody else" }));
  await lie(/Acme sent answers about different users/);
  for (const [groups, problem] of [
    [["a", 1], /no list of texts/],
    [Array.from({ length: 3_000 }, (_, at) => `group ${at}`), /3000 groups, more than 2000/],
  ] as const) {
    provider.lies.set("/me", (body) => JSON.stringify({ ...JSON.parse(body), groups }));
    await lie(problem);
  }
  provider.lies.set("/me", (body) => JSON.stringify({ ...JSON.parse(body), _claim_names: { groups: "src1" } }));
  await lie(/leaves the groups out/);
  provider.lies.set("/token", () => "<html>");
  await lie(/cannot be read/);
  provider.lies.set("/token", () => `"${"x".repeat(300_000)}"`);
  await lie(/sent more than 262144 bytes/, 503);
  t.equal(await scene.nameOf((await scene.signIn("eve")).visitor), "eve", "and afterwards it is believed again");

  await scene.configure({});
  provider.lies.set("/.well-known/openid-configuration", (body) =>
    body.replaceAll(provider.issuer, "https://else.example"),
  );
  await lie(/Acme sent an answer of another issuer/);
  t.equal((await scene.signIn("eve", new Visitor(), "nobody")).status, 404);
});

t.test("a new employee signs in, and is a member of the organizations of the groups", async (t) => {
  const organizations = { "core-devs": "core", plans: "planning" };
  const scene = await Scene.start(t, { signUp: "listed", signUpDomains: ["Acme.example"], organizations });
  const { claims } = scene.provider;
  const eve = {
    name: "Eve Example",
    email: "eve@acme.example",
    email_verified: true,
    groups: ["core-devs", "constructor"],
  };
  claims.set("eve", eve);
  const { visitor, status, url } = await scene.signIn("eve");
  t.match([status, url], [200, `${scene.url}/search?q=x`]);
  t.equal(await scene.nameOf(visitor), "eve");
  // Some providers do not decode what is encoded needlessly.
  t.equal(scene.provider.credentials.at(-1)?.split(":")[0], clientId);
  t.same([await scene.organization("core"), await scene.organization("planning")], [["eve"], []]);
  const [sent = ""] = visitor.visited.slice(1);
  t.match(new URL(sent).searchParams, new Map([["code_challenge_method", "S256"]]));
  for (const name of ["state", "nonce", "code_challenge"])
    t.ok((new URL(sent).searchParams.get(name) ?? "").length >= 43);
  const { data } = await scene.site.ask(
    "admin",
    '{ user(username: "eve") { displayName emails { email verified } siteAdmin } }',
  );
  t.match(data, {
    user: { displayName: "Eve Example", emails: [{ email: "eve@acme.example", verified: true }], siteAdmin: false },
  });
  t.match(
    scene.site.audited
      .filter(({ who }) => who === "eve")
      .map(({ event, via, provider, subject }) => [event, via, provider, subject]),
    [
      ["user-created", "identity provider acme", "acme", "eve"],
      ["organization-created", "identity provider acme"],
      ["member-added", "identity provider acme"],
      ["sign-in", undefined, "acme", "eve"],
    ],
  );

  claims.set("eve", { ...eve, groups: ["plans"], email: "else@acme.example", preferred_username: "admin" });
  t.equal(
    await scene.nameOf((await scene.signIn("eve")).visitor),
    "eve",
    "the subject counts, and not a name or an address",
  );
  t.same(
    [await scene.organization("core"), await scene.organization("planning")],
    [[], ["eve"]],
    "a group has vanished",
  );
  t.ok(
    scene.site.audited.some(
      ({ event, who, via, organization }) =>
        event === "member-removed" && who === "eve" && via === "identity provider acme" && organization === "core",
    ),
    "and the audit log has that",
  );

  await scene.configure({ organizations: { later: "Future" } });
  const team = 'mutation { createTeam(name: "future") { id } }';
  t.match(await scene.site.ask("bob", team), { errors: [{ message: "team name is already taken" }] });
});

t.test("who gets an account, and under which name", async (t) => {
  const scene = await Scene.start(t);
  await scene.configure(
    {},
    { name: "listed", signUp: "listed", signUpDomains: ["acme.example"], signUpGroups: ["staff"] },
    { name: "all", signUp: "all" },
    { name: "trusting", signUp: "all", trustUsernames: true },
    { name: "linking", linkVerifiedEmail: true },
  );
  const signIn = (account: string, provider: string) => scene.signIn(account, new Visitor(), provider);
  const { claims } = scene.provider;
  t.match(await signIn("eve", "acme"), { status: 403, problem: /linked to no account here, and none is made/ });
  claims.set("unverified", { email: "u@acme.example", email_verified: false });
  claims.set("foreign", { email: "acme.example@else.example", email_verified: true });
  claims.set("staff", { groups: ["staff"] });
  t.match(await signIn("unverified", "listed"), { status: 403, problem: /neither a verified address nor a group/ });
  t.match(await signIn("foreign", "listed"), { status: 403, problem: /Neither your address nor your groups/ });
  t.equal(await scene.nameOf((await signIn("staff", "listed")).visitor), "staff");

  const { daemon } = scene.site;
  await daemon.control("POST", "/.api/users", { name: "taken", email: "taken@acme.example" });
  claims.set("taken", { email: "taken@acme.example", email_verified: true });
  t.equal(await scene.nameOf((await signIn("taken", "all")).visitor), "taken-2", "a name is not an account");
  claims.set("odd", { preferred_username: "…Zoë <zoe>@x" });
  t.equal(await scene.nameOf((await signIn("odd", "all")).visitor), "Zo-zoe");
  claims.set("nameless", { preferred_username: 7 });
  t.match(await signIn("nameless", "all"), { status: 403, problem: /says no name/ });
  claims.set("other", { preferred_username: "bob" });
  t.match(await signIn("other", "trusting"), { status: 403, problem: /name "bob" belongs to another account/ });

  claims.set("ann", { email: "ann@acme.example", email_verified: true });
  await daemon.control("POST", "/.api/users", { name: "anna", email: "ann@acme.example" });
  const mutation = (verified: boolean) =>
    scene.site
      .userId("anna")
      .then((user) =>
        scene.site.data(
          "admin",
          `mutation { setUserEmailVerified(user: "${user}", email: "ann@acme.example", verified: ${verified}) { alwaysNil } }`,
        ),
      );
  await mutation(false);
  t.match(await signIn("ann", "linking"), { status: 403 }, "nobody has verified the address here");
  await mutation(true);
  t.equal(await scene.nameOf((await signIn("ann", "linking")).visitor), "anna");
  claims.set("second", { email: "ann@acme.example", email_verified: true });
  t.match(await signIn("second", "linking"), { status: 403 }, "the account has an identity of this provider");
});

t.test("an answer is of use only in the browser that asked for it, once, and leads to no other site", async (t) => {
  const scene = await Scene.start(t, { signUp: "all" });
  const visitor = new Visitor();
  const begin = async () =>
    (await visitor.send(`${scene.url}/-/oidc/acme/sign-in`)).response.headers.get("location") ?? "";
  const callback = async (): Promise<string> => {
    // Another cookie jar knows nothing of the sign-in, so it stops at the page that says so.
    const stranger = new Visitor();
    const { status, text } = await stranger.visit(await begin());
    t.equal(status, 403);
    t.match(text, /not begun in this browser/);
    return stranger.visited.at(-1) ?? "";
  };
  const answer = await callback();
  t.equal((await visitor.send(answer)).response.status, 302);
  t.equal(await scene.nameOf(visitor), "ann-2", "ann is another account");
  const again = await visitor.send(answer);
  t.equal(again.response.status, 403);
  t.match(again.text, /Acme refused: /, "a code is good for once");
  const changed = new URL(await callback());
  changed.searchParams.set("iss", "https://else.example");
  t.match((await visitor.send(changed.href)).text, /another issuer|cannot be accepted/);
  const denied = new URL(await callback());
  denied.searchParams.delete("code");
  denied.searchParams.set("error", "access_denied");
  denied.searchParams.set("error_description", "<b>no</b>");
  t.match(alertIn((await visitor.send(denied.href)).text), 'Acme did not sign you in: "<b>no</b>".');
  for (const returnTo of [
    "https://else.example",
    "//else.example",
    "/\\else.example",
    "/a\nb",
    `/${"x".repeat(2_000)}`,
  ]) {
    const { url } = await scene.signIn("ann", new Visitor(), "acme", new URLSearchParams({ returnTo }).toString());
    t.equal(url, `${scene.url}/`, returnTo.slice(0, 40));
  }
});

t.test("sessions end when the provider says so", async (t) => {
  const scopes = ["openid", "profile", "email", "offline_access"];
  const scene = await Scene.start(t, {
    signUp: "all",
    scopes,
    prompt: "consent",
    refreshSeconds: 1,
    organizations: { staff: "staff" },
  });
  const { provider } = scene;
  provider.claims.set("eve", { groups: ["staff"] });
  const eve = (await scene.signIn("eve")).visitor;
  t.same(await scene.organization("staff"), ["eve"]);
  provider.claims.set("eve", { groups: [] });
  await until("the group is gone", async () => (await scene.organization("staff")).length === 0);
  provider.gone.add("eve");
  await until("the session has ended", async () => (await scene.nameOf(eve)) === undefined);
  t.match(scene.site.audited.at(-1), {
    event: "sessions-ended",
    user: "eve",
    provider: "acme",
    reason: /Acme refused: /,
  });

  await scene.configure({ signUp: "all" });
  const both = [(await scene.signIn("zoe")).visitor, (await scene.signIn("zoe")).visitor];
  const logOut = async (claims: object, header = {}, key?: Uint8Array) => {
    const logout_token = await provider.signLogout({ sub: "zoe", ...claims }, header, key);
    const body = new URLSearchParams({ logout_token });
    const response = await fetch(`${scene.url}/-/oidc/acme/backchannel-logout`, { method: "POST", body });
    return { status: response.status, text: await response.text(), body };
  };
  for (const [claims, problem] of [
    [{ iss: "https://else.example" }, /another issuer/],
    [{ aud: "another client" }, /another application/],
    [{ events: {} }, /token for something else/],
    [{ nonce: "x" }, /token for something else/],
    [{ sub: undefined }, /neither a user nor a session/],
    [{ iat: 1 }, /cannot be accepted|too long ago/],
    [{ jti: undefined }, /cannot be accepted/],
  ] as const) {
    const { status, text } = await logOut(claims);
    t.match([status, text], [400, problem]);
  }
  t.match(await logOut({}, { alg: "HS256" }, Buffer.from(secret.padEnd(32))), { status: 400, text: /only it has/ });
  t.match(await logOut({ sid: "another" }), { status: 200 });
  t.same([await scene.nameOf(both[0]), await scene.nameOf(both[1])], ["zoe", "zoe"]);
  const { status, body } = await logOut({});
  t.equal(status, 200);
  t.same([await scene.nameOf(both[0]), await scene.nameOf(both[1])], [undefined, undefined]);
  const replay = await fetch(`${scene.url}/-/oidc/acme/backchannel-logout`, { method: "POST", body });
  t.match([replay.status, await replay.text()], [400, /used before/]);

  const last = (await scene.signIn("zoe")).visitor;
  await scene.configure();
  await until("the provider is gone, and with it the session", async () => (await scene.nameOf(last)) === undefined);
});

t.test("a user who is signed in links an account of the provider", async (t) => {
  const scene = await Scene.start(t);
  const password = "correct horse battery";
  await scene.site.daemon.control("POST", "/.api/users", { name: "carol", password });
  const visitor = new Visitor();
  const enter = () =>
    visitor.send(`${scene.url}/-/sign-in`, { method: "POST", body: JSON.stringify({ email: "carol", password }) });
  await enter();
  const link = (headers: Record<string, string>, browser = visitor) =>
    browser.send(`${scene.url}/-/oidc/acme/link`, { method: "POST", headers });
  t.equal((await link({})).response.status, 403, "a page of ours says that it is one");
  t.equal((await link({ Origin: "https://else.example" })).response.status, 401, "its cookie is none");
  t.equal((await link({ Origin: scene.url }, new Visitor())).response.status, 401);
  const begun = await link({ Origin: scene.url });
  t.equal(begun.response.status, 200);
  scene.provider.account = "carol at acme";
  await visitor.visit((JSON.parse(begun.text) as { location: string }).location);
  t.match(
    scene.site.audited.filter(({ event }) => event === "identity-linked"),
    [{ user: "carol", subject: "carol at acme" }],
  );
  const elsewhere = (await scene.signIn("carol at acme")).visitor;
  t.equal(await scene.nameOf(elsewhere), "carol");
  await enter();

  const asked = (browser: Visitor, query: string, variables?: Readonly<Record<string, unknown>>) =>
    scene.site.ask({ cookie: browser.session(scene.url) }, query, variables);
  const listed = async (browser: Visitor) => {
    const { data } = await asked(browser, linkedQuery);
    return (data as Linked).currentUser.externalAccounts.nodes;
  };
  const [linked] = await listed(visitor);
  t.match(linked, { serviceType: "openidconnect", serviceID: scene.provider.issuer, accountID: "carol at acme" });
  t.match(linked, { provider: "acme", createdAt: /^20/ });
  const unlink = (browser: Visitor, id = linked.id) => asked(browser, unlinkMutation, { id });
  const byBob = await scene.site.ask("bob", unlinkMutation, { id: linked.id });
  t.match(byBob, { errors: [{ message: /must be authenticated as the authorized user/ }] });
  t.match(await unlink(visitor, "VXNlcjox"), { errors: [{ message: /is not the id of an external account/ }] });
  t.same((await unlink(visitor)).errors, undefined);
  t.equal(await scene.nameOf(visitor), "carol", "who signed in with a password goes on");
  t.equal(await scene.nameOf(elsewhere), undefined, "the session of the account that was unlinked has ended");
  t.same(await listed(visitor), []);
  t.match(
    scene.site.audited.filter(({ event }) => event === "identity-unlinked"),
    [{ who: "carol", user: "carol", provider: "acme", subject: "carol at acme" }],
  );
  t.match(await scene.signIn("carol at acme"), { status: 403 }, "and the account signs nobody in");
});

t.test("nobody unlinks the only account with which they can sign in", async (t) => {
  const scene = await Scene.start(t, { signUp: "all" });
  const { visitor } = await scene.signIn("erin");
  const headers = { cookie: visitor.session(scene.url) };
  const { data } = await scene.site.ask(headers, linkedQuery);
  const [{ id }] = (data as Linked).currentUser.externalAccounts.nodes;
  t.match(await scene.site.ask(headers, unlinkMutation, { id }), { errors: [{ message: /the only account/ }] });
  t.equal(await scene.nameOf(visitor), "erin");
  t.same((await scene.site.ask("admin", unlinkMutation, { id })).errors, undefined, "a site admin does");
  t.equal(await scene.nameOf(visitor), undefined);
});

t.test("a linked account reads what it may read on the code host that is the provider", async (t) => {
  const scene = await Scene.start(t);
  const { url } = await codeHost(t, ({ pathname, searchParams }) => {
    if (searchParams.get("page") !== "1") return { body: [] };
    if (pathname.endsWith("/collaborators")) return { body: [{ id: 17, login: "whoever" }] };
    if (pathname.endsWith("/teams")) return { body: [] };
    return { body: [{ id: 1, full_name: "closed/plans", clone_url: `${url}/closed/plans.git`, private: true }] };
  });
  const permissions = {
    permissions: "host",
    permissionsProvider: "acme",
    credential: `file:${t.testdir({ token: "x" })}/token`,
  };
  scene.connections = [{ name: "forge", kind: "gitea", url, owners: ["closed"], prefix: "", ...permissions }];
  await scene.configure({ signUp: "all" });
  const status = async () => (await scene.site.daemon.list()).find(({ name }) => name === "closed/plans");
  await until("the host was asked", async () => /asked 20/.test((await status())?.readersFrom ?? ""));
  t.same((await status())?.readers, [], "nobody is known yet");
  const { visitor } = await scene.signIn("17");
  const other = (await scene.signIn("18")).visitor;
  const sees = async (browser: Visitor): Promise<boolean> => {
    const asked = await scene.site.ask(
      { cookie: browser.session(scene.url) },
      '{ repository(name: "closed/plans") { id } }',
    );
    return (asked.data as { repository: unknown } | undefined)?.repository !== null;
  };
  await until("who has signed in reads it", () => sees(visitor));
  t.equal(await sees(other), false, "another account of the provider does not");
  const { data } = await scene.site.ask({ cookie: visitor.session(scene.url) }, linkedQuery);
  const [{ id }] = (data as Linked).currentUser.externalAccounts.nodes;
  const readerCount = async () => (await status())?.readers.length;
  await scene.configure({ signUp: "all", issuer: `${scene.provider.issuer}/other` });
  await until("the accounts of another issuer are others", async () => (await readerCount()) === 0);
  await scene.configure({ signUp: "all" });
  await until("with its issuer, it reads it again", async () => (await readerCount()) === 1);
  t.same((await scene.site.ask("admin", unlinkMutation, { id })).errors, undefined);
  await until("an account that is unlinked reads nothing", async () => (await readerCount()) === 0);
});

const linkedQuery = `{ currentUser { externalAccounts(first: 10) {
  nodes { id serviceType serviceID accountID provider createdAt } totalCount } } }`;
const unlinkMutation = "mutation U($id: ID!) { deleteExternalAccount(externalAccount: $id) { alwaysNil } }";

interface Linked {
  readonly currentUser: { readonly externalAccounts: { readonly nodes: readonly { readonly id: string }[] } };
}

/** The status and the text of an answer; `localAddress` is from where the connection is opened. */
function rawRequest(url: string, headers: OutgoingHttpHeaders, localAddress = "127.0.0.1"): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, localAddress, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve(`${response.statusCode} ${text}`));
    });
    asked.on("error", reject).end();
  });
}

const scimToken = "a token of the directory";

/** What a directory asks by SCIM, and is answered. */
class Directory {
  readonly #url: string;

  constructor(scene: Scene) {
    this.#url = `${scene.url}/.api/scim/v2`;
  }

  async ask(method: string, path: string, body?: unknown, token = scimToken) {
    const response = await fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: (text === "" ? {} : JSON.parse(text)) as Record<string, never> };
  }

  async create(what: "Users" | "Groups", resource: object): Promise<string> {
    const { status, json } = await this.ask("POST", `/${what}`, resource);
    assert.equal(status, 201, JSON.stringify(json));
    return json["id"] as unknown as string;
  }

  patch(path: string, ...operations: readonly object[]) {
    return this.ask("PATCH", path, {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
      Operations: operations,
    });
  }
}

async function startDirectory(t: Test, options: object = {}) {
  const scene = await Scene.start(t);
  const file = join(t.testdir(), "scim-token");
  writeFileSync(file, `${scimToken}\n`);
  const configure = (more: object = {}): Promise<void> =>
    scene.configure({ scimToken: `file:${file}`, organizations: { devs: "core" }, ...options, ...more });
  await configure();
  return { scene, configure, directory: new Directory(scene) };
}

t.test("a directory creates, suspends and deletes accounts", async (t) => {
  const { scene, directory, configure } = await startDirectory(t);
  const { site } = scene;
  // As Okta does it: it asks whether there is one, creates it, and replaces it.
  const filter = `/Users?filter=${encodeURIComponent('userName eq "EVE@acme.example"')}&startIndex=1&count=100`;
  t.match(await directory.ask("GET", filter), { status: 200, json: { totalResults: 0, Resources: [] } });
  const eve = {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    userName: "eve@acme.example",
    externalId: "subject-of-eve",
    name: { givenName: "Eve", familyName: "Example" },
    displayName: "Eve Example",
    emails: [{ primary: true, value: "eve@acme.example", type: "work" }],
    locale: "en-US",
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { department: "R&D" },
    active: true,
  };
  const id = await directory.create("Users", eve);
  t.match(await directory.ask("GET", filter), { json: { totalResults: 1, Resources: [{ id, active: true }] } });
  t.match(await directory.ask("POST", "/Users", eve), { status: 409, json: { scimType: "uniqueness", status: "409" } });
  t.match(
    await site.data(
      "admin",
      '{ user(username: "eve") { displayName scimControlled externalAccounts(first: 9) { nodes { accountID } } } }',
    ),
    {
      user: {
        displayName: "Eve Example",
        scimControlled: true,
        externalAccounts: { nodes: [{ accountID: "subject-of-eve" }] },
      },
    },
  );

  // Nobody gets an account by signing in (signUp is none), and this one has it before.
  const { visitor } = await scene.signIn("subject-of-eve");
  t.equal(await scene.nameOf(visitor), "eve");
  const token = await site.daemon.addToken("eve");
  const withToken = async (): Promise<number> =>
    (await fetch(`${scene.url}/.api/client-config`, { headers: { authorization: `token ${token}` } })).status;
  t.equal(await withToken(), 200);

  // As Entra ID does it: names of operations in capitals, and texts for booleans.
  t.match(await directory.patch(`/Users/${id}`, { op: "Replace", path: "active", value: "False" }), {
    status: 200,
    json: { active: false },
  });
  t.equal(await scene.nameOf(visitor), undefined, "the session has ended");
  t.equal(await withToken(), 401, "tokens open nothing");
  t.match(await scene.signIn("subject-of-eve"), { status: 403, problem: /Your account is suspended/ });
  t.match(await directory.patch(`/Users/${id}`, { op: "replace", value: { active: true, "name.givenName": "Eva" } }), {
    json: { active: true, name: { givenName: "Eva", familyName: "Example" } },
  });
  t.equal(await withToken(), 200, "what was there before is there again");
  t.equal(await scene.nameOf(visitor), undefined, "but the browser signs in again");
  t.equal(await scene.nameOf((await scene.signIn("subject-of-eve")).visitor), "eve");

  // What the directory says does not open what an operator has closed, nor what it does not speak of.
  const set = (option: string) => runCommand("user", "set", "eve", option, "--data", site.daemon.data);
  await set("--suspended");
  t.match(await directory.ask("PUT", `/Users/${id}`, eve), { status: 200, json: { active: true } });
  t.equal(await withToken(), 401);
  await directory.patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
  await directory.ask("PUT", `/Users/${id}`, { ...eve, active: undefined });
  t.match((await directory.ask("PUT", `/Users/${id}`, { ...eve, active: null })).status, 400);
  t.match(await directory.ask("GET", `/Users/${id}`), { json: { active: false } });
  await set("--suspended");
  t.match(await directory.ask("GET", `/Users/${id}`), { json: { active: false } }, "both have suspended it");
  t.equal((await directory.ask("DELETE", `/Users/${id}`)).status, 409, "nor is it made anew");
  t.match(await set("--no-suspended"), { exitCode: 0, out: /^eve {2}created/ });
  t.equal(await withToken(), 200, "an operator opens all");

  // Whoever is suspended does not get another account by the address.
  await scene.configure({ signUp: "all", linkVerifiedEmail: true });
  const bob = await site.userId("bob");
  await site.data(
    "admin",
    'mutation ($user: ID!) { addUserEmail(user: $user, email: "bob@acme.example") { alwaysNil } setUserEmailVerified(user: $user, email: "bob@acme.example", verified: true) { alwaysNil } }',
    { user: bob },
  );
  await runCommand("user", "set", "bob", "--suspended", "--data", site.daemon.data);
  scene.provider.claims.set("robert", { email: "bob@acme.example", email_verified: true });
  t.match(await scene.signIn("robert"), { status: 403, problem: /Your account is suspended/ });
  await runCommand("user", "set", "bob", "--no-suspended", "--data", site.daemon.data);
  await configure();

  // The same person under another subject.
  await directory.ask("PUT", `/Users/${id}`, { ...eve, externalId: "another subject" });
  t.match(await scene.signIn("subject-of-eve"), { status: 403, problem: /linked to no account here/ });
  t.equal(await scene.nameOf((await scene.signIn("another subject")).visitor), "eve");

  t.equal((await directory.ask("DELETE", `/Users/${id}`)).status, 204);
  t.equal((await directory.ask("GET", `/Users/${id}`)).status, 404);
  t.equal((await directory.ask("DELETE", `/Users/${id}`)).status, 404);
  t.match(await site.data("admin", '{ user(username: "eve") { id } }'), { user: null });
  const changes = site.audited.filter(({ who }) => who === "directory acme").map(({ event }) => event);
  t.same([...new Set(changes)], ["user-created", "user-changed", "user-deleted"]);
});

t.test("a directory sees and changes only what it has sent", async (t) => {
  const { scene, directory, configure } = await startDirectory(t);
  const { site } = scene;
  for (const name of ["admin", "ann"]) {
    const id = Number(/\d+/.exec(Buffer.from(await site.userId(name), "base64").toString())?.[0]);
    for (const method of ["GET", "DELETE"])
      t.equal((await directory.ask(method, `/Users/${id}`)).status, 404, `${method} ${name}`);
    t.equal((await directory.patch(`/Users/${id}`, { op: "replace", path: "active", value: false })).status, 404);
  }
  t.match(await directory.ask("GET", "/Users"), { json: { totalResults: 0 } });
  const named = await directory.create("Users", { userName: "ann" });
  t.match(await directory.ask("GET", `/Users/${named}`), { json: { userName: "ann" } });
  t.match(
    await site.data("admin", '{ user(username: "ann-2") { username } }'),
    { user: { username: "ann-2" } },
    "a name is not taken from its owner",
  );
  t.match(await directory.ask("GET", "/Users", undefined, "another token of 16 characters"), { status: 401 });
  t.match(await directory.ask("GET", "/Users", undefined, ""), { status: 401 });
  t.equal(
    (await fetch(`${scene.url}/.api/client-config`, { headers: { authorization: `Bearer ${scimToken}` } })).status,
    401,
    "its token opens nothing else",
  );

  // The last site admin is not locked out.
  await configure({ linkVerifiedEmail: true });
  const user = await site.userId("admin");
  await site.data(
    "admin",
    'mutation ($user: ID!) { addUserEmail(user: $user, email: "root@acme.example") { alwaysNil } setUserEmailVerified(user: $user, email: "root@acme.example", verified: true) { alwaysNil } }',
    { user },
  );
  const root = await directory.create("Users", { userName: "root", emails: [{ value: "root@acme.example" }] });
  t.match(await directory.patch(`/Users/${root}`, { op: "replace", path: "active", value: false }), {
    status: 409,
    json: { detail: /"admin" is the only site admin/ },
  });
  t.match(await directory.ask("DELETE", `/Users/${root}`), { status: 409 });
  // Operators do the same, also without a directory.
  const set = (...words: readonly string[]) => runCommand("user", "set", ...words, "--data", site.daemon.data);
  t.match(await set("admin", "--suspended"), { exitCode: 2, err: /"admin" is the only site admin/ });
  t.match(await set("bob", "--suspended"), { exitCode: 0, out: /^bob {2}suspended by operator {2}created/ });
  const asBob = { headers: { authorization: site.authorization("admin as bob") ?? "" } };
  t.match(await (await fetch(`${scene.url}/.api/client-config`, asBob)).text(), /sudo to nonexistent user/);
  t.match(await set("bob"), { exitCode: 2, err: /nothing to change/ });
  t.match(await set("bob", "--no-suspended"), { exitCode: 0, out: /^bob {2}created/ });
  await configure({ scimToken: "" });
  t.equal((await directory.ask("GET", "/Users")).status, 401, "as soon as it is not configured any more");
});

t.test("groups of a directory are members of organizations", async (t) => {
  const { scene, directory, configure } = await startDirectory(t);
  const { site } = scene;
  await site.daemon.control("POST", "/.api/organizations", { name: "core" });
  await site.daemon.control("POST", "/.api/organizations/core", { user: "ann", isMember: true });
  const [one, two, three] = [
    await directory.create("Users", { userName: "one", externalId: "one" }),
    await directory.create("Users", { userName: "two" }),
    await directory.create("Users", { userName: "three" }),
  ];
  const member = (id: string) => ({ value: id });
  const core = async (): Promise<readonly string[]> => [...(await scene.organization("core"))].sort();
  const group = await directory.create("Groups", { displayName: "devs", externalId: "g1", members: [member(one)] });
  t.same(await core(), ["ann", "one"], "who was there before stays");
  // What the provider says at sign-in is older.
  scene.provider.claims.set("one", { groups: [] });
  await scene.signIn("one");
  t.same(await core(), ["ann", "one"]);
  t.match(
    await directory.patch(`/Groups/${group}`, { op: "Add", path: "members", value: [member(two), member(three)] }),
    { status: 200, json: { members: [member(one), member(two), member(three)] } },
  );
  t.same(await core(), ["ann", "one", "three", "two"]);
  await directory.patch(`/Groups/${group}`, { op: "Remove", path: `members[value eq "${one}"]` });
  await directory.patch(`/Groups/${group}`, { op: "remove", path: "members", value: [member(three)] });
  t.same(await core(), ["ann", "two"]);
  const listed = await directory.ask(
    "GET",
    `/Groups?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "Devs"')}`,
  );
  t.match(listed.json, { totalResults: 1, Resources: [{ id: group, displayName: "devs", externalId: "g1" }] });
  t.notOk(JSON.stringify(listed.json).includes("members"));
  t.match(await directory.ask("GET", `/Users/${two}`), { json: { groups: [{ value: group, display: "devs" }] } });
  t.match(await directory.patch(`/Groups/${group}`, { op: "add", path: "members", value: [member("999999")] }), {
    status: 400,
    json: { scimType: "invalidValue", detail: /no user 999999 in this directory/ },
  });
  t.match(await directory.ask("POST", "/Groups", { displayName: "DEVS" }), { status: 409 });
  t.match(await directory.patch(`/Groups/${group}`, { op: "replace", path: `members[value eq "${two}"]`, value: [] }), {
    status: 400,
    json: { scimType: "invalidPath" },
  });
  const other = await directory.create("Groups", { displayName: "others", members: [member(one)] });
  t.same(await core(), ["ann", "two"], "a group without an organization");
  await configure({ organizations: { devs: "core", others: "core" } });
  await until("the configuration holds", async () => (await core()).includes("one"));
  // One organization that cannot be made keeps nobody in another one.
  await configure({ organizations: { others: "ann", devs: "core" } });
  await until("the configuration holds", async () => !(await core()).includes("one"));
  await directory.patch(`/Groups/${group}`, { op: "remove", path: "members" });
  t.same(await core(), ["ann"]);
  await directory.patch(`/Groups/${group}`, { op: "add", path: "members", value: [member(two)] });
  await configure({ organizations: { devs: "core", others: "core" } });
  await until("the configuration holds", async () => (await core()).includes("one"));
  t.equal((await directory.ask("DELETE", `/Groups/${other}`)).status, 204);
  t.same(await core(), ["ann", "two"]);
  await directory.ask("PUT", `/Groups/${group}`, { displayName: "devs", members: [] });
  t.same(await core(), ["ann"]);
  await directory.patch(`/Groups/${group}`, { op: "add", path: "members", value: member(two) });
  await directory.ask("DELETE", `/Users/${two}`);
  t.match(await directory.ask("GET", `/Groups/${group}`), { json: { members: [] } });
  t.same(await core(), ["ann"]);
});

t.test("a directory that sends nonsense is told what is wrong", async (t) => {
  const { directory } = await startDirectory(t);
  const id = await directory.create("Users", { userName: "odd" });
  const refused = async (reason: RegExp, status: number, ...request: readonly [string, string, unknown?]) =>
    t.match(await directory.ask(...request), { status, json: { status: String(status), detail: reason } });
  await refused(/not JSON/, 400, "POST", "/Users", "{");
  await refused(/the body must be a JSON object/, 400, "POST", "/Users", "[1]");
  await refused(/userName is required/, 400, "POST", "/Users", {});
  await refused(/userName must be a text/, 400, "POST", "/Users", { userName: "a\nb" });
  await refused(/no name for an account/, 409, "POST", "/Users", { userName: "???" });
  await refused(/there is no user 0x1/, 404, "GET", "/Users/0x1");
  await refused(/cannot be understood/, 400, "GET", `/Users?filter=${encodeURIComponent("userName eq")}`);
  await refused(/one line/, 400, "GET", `/Users?filter=${encodeURIComponent(`a eq "${"\n".repeat(60)}`)}`);
  await refused(/at most 1,000 characters/, 400, "GET", `/Users?filter=${"a".repeat(1_001)}`);
  await refused(/count is not a number/, 400, "GET", "/Users?count=x");
  await refused(/has a list of Operations/, 400, "PATCH", `/Users/${id}`, {});
  await refused(/has a path/, 400, "PATCH", `/Users/${id}`, { Operations: [{ op: "remove" }] });
  await refused(/userName is required/, 400, "PATCH", `/Users/${id}`, {
    Operations: [{ op: "remove", path: "userName" }],
  });
  await refused(/true or false/, 400, "PATCH", `/Users/${id}`, {
    Operations: [{ op: "add", path: "active", value: 7 }],
  });
  t.match(await directory.patch(`/Users/${id}`, { op: "add", path: "__proto__.active", value: false }), {
    json: { active: true },
  });
  t.match(await directory.ask("GET", "/Schemas"), { json: { totalResults: 2 } });
  t.match(await directory.ask("GET", "/ServiceProviderConfig"), { json: { patch: { supported: true } } });
  t.match(await directory.ask("GET", "/ResourceTypes/User"), { json: { endpoint: "/Users" } });
  // Pages fit together.
  for (const name of ["p1", "p2", "p3"]) await directory.create("Users", { userName: name });
  const page = async (start: number): Promise<readonly string[]> => {
    const filter = encodeURIComponent('userName sw "P" and not (active eq false)');
    const { json } = await directory.ask(
      "GET",
      `/Users?filter=${filter}&startIndex=${start}&count=2&attributes=userName`,
    );
    t.equal(json["totalResults"], 3);
    return (json["Resources"] as unknown as { userName: string }[]).map(({ userName }) => userName);
  };
  t.same([await page(1), await page(3), await page(9)], [["p1", "p2"], ["p3"], []]);
  const search = { filter: 'emails pr or displayName co "x" or userName eq "P2"', attributes: ["userName"], count: 5 };
  t.match(await directory.ask("POST", "/Users/.search", search), {
    status: 200,
    json: { totalResults: 1, Resources: [{ userName: "p2" }] },
  });
  await refused(/nothing at .*Nowhere/, 404, "GET", "/Nowhere");
});

t.test("a proxy names the user in a header", async (t) => {
  const options = {
    "auth.header": "X-Forwarded-User",
    "auth.headerProxies": '["127.0.0.1"]',
    "auth.headerSignUp": "true",
  };
  const { daemon } = await GraphqlSite.start(
    t,
    {},
    Object.entries(options).flatMap(([key, value]) => ["--set", `${key}=${value}`]),
  );
  const page = { Accept: "text/html" };
  const named = (name: string, more: Record<string, string> = page) => ({
    headers: { ...more, "X-Forwarded-User": name },
  });
  const ask = async (visitor: Visitor, name: string | undefined): Promise<unknown> => {
    const headers = { "X-Requested-With": "test", ...(name === undefined ? {} : { "X-Forwarded-User": name }) };
    const init = { method: "POST", headers, body: JSON.stringify({ query: "{ currentUser { username } }" }) };
    const { text } = await visitor.send(`${daemon.url}/.api/graphql`, init);
    return (JSON.parse(text) as { data: { currentUser: { username: string } | null } }).data.currentUser?.username;
  };
  const visitor = new Visitor();
  const enter = async (name: string) => {
    const { response } = await visitor.send(`${daemon.url}/search?q=x`, named(name));
    t.equal(response.headers.get("location"), "/-/proxy/sign-in?returnTo=%2Fsearch%3Fq%3Dx");
    return visitor.send(`${daemon.url}/-/proxy/sign-in?returnTo=%2Fsearch%3Fq%3Dx`, named(name));
  };
  t.equal((await enter("ann")).response.headers.get("location"), "/search?q=x");
  t.equal((await visitor.send(`${daemon.url}/search?q=x`, named("ann"))).response.status, 200);
  t.equal(await ask(visitor, "ann"), "ann");
  t.equal(await ask(visitor, "bob"), undefined, "the proxy has signed in somebody else");
  t.equal(await ask(visitor, undefined), undefined, "the request did not come through the proxy");
  await enter("new@acme.example");
  t.equal(await ask(visitor, "new@acme.example"), "new", "an account is made");
  const odd = await visitor.send(`${daemon.url}/-/proxy/sign-in`, named("not a name"));
  t.match([odd.response.status, odd.text], [403, /not a valid name/]);
  t.equal(
    (await visitor.send(`${daemon.url}/-/proxy/sign-in?returnTo=//else.example`, named("ann"))).response.headers.get(
      "location",
    ),
    "/",
  );
  const raw = await rawRequest(`${daemon.url}/-/proxy/sign-in`, { "X-Forwarded-User": ["ann", "admin"] });
  t.match(raw, /^400 .*the header x-forwarded-user occurs twice/);
  const elsewhere = "127.0.0.2";
  for (const path of ["/search?q=x", "/.api/search/stream?q=x", "/-/proxy/sign-in"]) {
    const answer = await rawRequest(daemon.url + path, { ...page, "X-Forwarded-User": "ann" }, elsewhere);
    t.match(answer, /^403 .*x-forwarded-user comes from 127\.0\.0\.2, which is not in auth\.headerProxies/s, path);
  }
  t.match(
    await rawRequest(`${daemon.url}/search?q=x`, page, elsewhere),
    /^200 /,
    "without the header nothing is refused",
  );
});

// The last one: the provider knows the first address of the daemon only.
t.test("sessions end when the provider says so, also after a restart", async (t) => {
  const scene = await Scene.start(t, {
    signUp: "all",
    scopes: ["openid", "profile", "email", "offline_access"],
    prompt: "consent",
    refreshSeconds: 1,
    organizations: { staff: "staff" },
  });
  const { provider } = scene;
  provider.claims.set("eve", { groups: [] });
  const cookies = new Map<string, string>();
  for (const name of ["eve", "zoe", "kim"])
    cookies.set(name, (await scene.signIn(name)).visitor.session(scene.url) ?? "");
  let { daemon } = scene.site;
  const isSignedIn = async (name: string): Promise<boolean> => {
    const response = await fetch(`${daemon.url}/.api/graphql`, {
      method: "POST",
      headers: { cookie: cookies.get(name) ?? "", "x-requested-with": "Sourcegraph" },
      body: JSON.stringify({ query: "{ currentUser { username } }" }),
    });
    const { data } = (await response.json()) as { data: { currentUser: { username: string } | null } };
    return data.currentUser?.username === name;
  };
  const isStaff = async (): Promise<boolean> => {
    const all = (await daemon.control("GET", "/.api/organizations")) as { name: string; members: string[] }[];
    return all.some(({ name, members }) => name === "staff" && members.includes("eve"));
  };
  t.equal(statSync(join(daemon.data, "session-key")).mode & 0o777, 0o600);
  for (const how of ["kill", "stop"] as const) {
    await daemon[how]();
    if (how === "stop") provider.gone.add("zoe");
    daemon = await restartSharedDaemon(daemon, how);
    provider.claims.set("eve", { groups: ["staff"] });
    await until(`the provider is asked after a restart (${how})`, isStaff);
    provider.claims.set("eve", { groups: [] });
    await until("and again", async () => !(await isStaff()));
    t.ok(await isSignedIn("eve"));
  }
  await until("a session that ended meanwhile", async () => !(await isSignedIn("zoe")));
  t.ok(await isSignedIn("kim"));
  // As after the restore of a backup, which lacks the key.
  rmSync(join(daemon.data, "session-key"));
  daemon = await restartSharedDaemon(daemon, "stop");
  await until("without the key, nobody can be asked", async () => !(await isSignedIn("kim")));
});
