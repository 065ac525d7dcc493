import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { TokenRequest } from "../../../src/account/identity/user.js";
import { auditEntry, operator, type Actor } from "../../../src/account/records/audit-log.js";
import type { AuthResult, Authenticator } from "../../../src/account/sign-in/authenticator.js";
import { readLifetime } from "../../../src/account/records/validation.js";
import { TokenLifetimes } from "../../../src/account/identity/access-tokens.js";
import { SignIn } from "../../../src/account/sign-in/sign-in.js";
import { AccountSite, plainToken } from "../../support/account-site.js";
import { wallClock } from "../../support/wall-clock.js";

const dayMs = 86_400_000;
const signInEntry = auditEntry("sign-in", operator, {});
const sudoToken: TokenRequest = { ...plainToken, scopes: ["user:all", "site-admin:sudo"] };

function authenticate(authenticator: Authenticator, authorization?: string, query = ""): string {
  const headers = new Map(authorization === undefined ? [] : [["authorization", authorization]]);
  return shown(
    authenticator.authenticate({ query, path: "/.api/graphql", headers, remoteAddress: "192.0.2.1", requestId: "abc" }),
  );
}

function shown(entry: AuthResult): string {
  if (entry.kind === "refused") return `${entry.status} ${entry.message}`;
  const { name, isSiteAdmin, sudoBy } = entry.viewer;
  return `${name === "" ? "anonymous" : name}${isSiteAdmin ? " (admin)" : ""}${sudoBy === undefined ? "" : ` by ${sudoBy}`}`;
}

t.test("only the first start creates a site admin", async (t) => {
  const site = new AccountSite(t);
  await site.accounts.start(operator, true, () => true);
  await site.accounts.start(operator, true, () => true);
  t.match(site.accounts.users(), [{ name: "admin", isSiteAdmin: true }]);
  t.equal(site.accounts.userCount, 1);
});

t.test("the viewer of each credential", async (t) => {
  const site = new AccountSite(t);
  await site.user("root", true);
  await site.user("bob");
  await site.user("eve", true);
  const [root, bob, sudo, evesSudo] = await Promise.all([
    site.token("root"),
    site.token("bob"),
    site.token("root", sudoToken),
    site.token("eve", sudoToken),
  ]);
  await site.accounts.updateUser("eve", { isSiteAdmin: false }, operator);
  const none = `sgp_local_${"0".repeat(40)}`;
  const invalid = "401 Invalid access token.";
  const rows: readonly (readonly [header: string | undefined, inPrivate: string, inPublic: string])[] = [
    [undefined, "401 Private mode requires authentication.", "anonymous"],
    [`token ${root}`, "root (admin)", "root (admin)"],
    [`token token="${bob}"`, "bob", "bob"],
    [`token ${bob.replace("sgp_local_", "")}`, "bob", "bob"],
    [`token ${bob.replace("sgp_local_", "sgp_0123456789abcdef_")}`, "bob", "bob"],
    [`token ${bob.toUpperCase().replace("SGP_LOCAL_", "sgp_local_")}`, "bob", "bob"],
    [`Bearer ${bob}`, "bob", "bob"],
    [`Basic ${Buffer.from(`${bob}:x`).toString("base64")}`, "bob", "bob"],
    ["Basic OnNlY3JldA==", "401 Private mode requires authentication.", "401 Invalid Authorization header."],
    ["Digest x", "401 Private mode requires authentication.", "401 Invalid Authorization header."],
    ["token", "401 Invalid Authorization header.", "401 Invalid Authorization header."],
    ["token-sudo x", "401 Invalid Authorization header.", "401 Invalid Authorization header."],
    [`token ${none}`, invalid, invalid],
    ["token no-token", invalid, invalid],
    [`token ${bob}x`, invalid, invalid],
    [`token-sudo token="${sudo}",user="bob"`, "bob by root", "bob by root"],
    [`token-sudo user="BOB",token="${sudo}"`, "bob by root", "bob by root"],
    [`token ${sudo}`, "root (admin)", "root (admin)"],
    [`token-sudo token="${root}",user="bob"`, invalid, invalid],
    [`token-sudo token="${none}",user="bob"`, invalid, invalid],
    [
      `token-sudo token="${sudo}",user="nobody"`,
      "403 Unable to sudo to nonexistent user.",
      "403 Unable to sudo to nonexistent user.",
    ],
    [
      `token-sudo token="${sudo}"`,
      "403 Unable to sudo to nonexistent user.",
      "403 Unable to sudo to nonexistent user.",
    ],
    [
      `token-sudo token="${evesSudo}",user="bob"`,
      "403 The subject user of a sudo access token must be a site admin.",
      "403 The subject user of a sudo access token must be a site admin.",
    ],
  ];
  for (const [header, inPrivate, inPublic] of rows) {
    t.equal(authenticate(site.authenticator(false), header), inPrivate, `private: ${header}`);
    t.equal(authenticate(site.authenticator(true), header), inPublic, `public: ${header}`);
  }
  t.equal(authenticate(site.authenticator(false), undefined, `token=${bob}`), "bob");
  t.equal(
    authenticate(site.authenticator(true, "none"), `token ${bob}`),
    "401 Access token authorization is disabled.",
  );
  t.equal(authenticate(site.authenticator(true, "none"), "token"), "401 Invalid Authorization header.");
  t.match((await site.audited()).filter(({ event }) => event === "sudo").at(0), {
    who: "bob",
    sudoBy: "root",
    from: "192.0.2.1",
    path: "/.api/graphql",
  });
});

t.test("a token is invalid as soon as it is revoked or its user is deleted", async (t) => {
  const site = new AccountSite(t);
  await site.user("root", true);
  await site.user("bob");
  const [first, second] = [await site.token("bob"), await site.token("bob")];
  const [{ id }] = site.accounts.accessTokens.list();
  await site.accounts.accessTokens.delete(id, operator);
  t.equal(authenticate(site.authenticator(true), `token ${first}`), "401 Invalid access token.");
  t.equal(authenticate(site.authenticator(true), `token ${second}`), "bob");
  await site.accounts.deleteUser("bob", operator);
  t.equal(authenticate(site.authenticator(true), `token ${second}`), "401 Invalid access token.");
  t.same(site.accounts.accessTokens.list(), []);
  await site.user("bob");
  t.equal(
    authenticate(site.authenticator(true), `token ${second}`),
    "401 Invalid access token.",
    "another user of that name is another user",
  );
  await site.reopen();
  t.equal(
    authenticate(site.authenticator(true), `token ${second}`),
    "401 Invalid access token.",
    "also after a restart",
  );
  await t.rejects(site.accounts.accessTokens.delete(id, operator), { code: "not-found" });
});

t.test("expiry follows the wall clock when it jumps forward or back", async (t) => {
  const site = new AccountSite(t);
  await site.user("bob");
  const text = await site.token("bob", { ...plainToken, lifetimeMs: dayMs });
  const now = new Date().getTime();
  const isValid = (atMs: number): boolean => site.accounts.accessTokens.find(text, atMs) !== undefined;
  t.ok(isValid(now + dayMs - 5000));
  t.notOk(isValid(now + dayMs + 5000));
  t.notOk(isValid(now + 40_000 * dayMs), "a clock that is far ahead");
  t.ok(isValid(now), "and right again");
  t.ok(isValid(now - 1000 * dayMs), "a token may seem to come from the future");
});

t.test("the last use of a token, when the clock jumps forward or back", async (t) => {
  const site = new AccountSite(t);
  const { id } = await site.user("bob");
  await site.token("bob");
  const now = new Date().getTime();
  const [token] = site.accounts.accessTokens.list();
  const used = async (atMs: number): Promise<number> => {
    site.accounts.lastUses.note(token.id, atMs);
    await site.reopen();
    return Date.parse(site.accounts.accessTokens.list()[0].lastUsedAt) - now;
  };
  t.equal(token.lastUsedAt, "");
  t.equal(await used(now + 5000), 5000, "it is written");
  t.equal(await used(now - dayMs / 2), 5000, "a clock that went back does not take it away");
  t.equal(await used(now + 400 * dayMs), 400 * dayMs);
  t.equal(await used(now + 9000), 9000, "one that was far ahead for a while does not stay");
  t.equal(site.accounts.lastUses.of(id), undefined);
  site.accounts.lastUses.note(id, now);
  await site.accounts.accessTokens.delete(token.id, operator);
  site.accounts.lastUses.note(token.id, now);
  await site.reopen();
  t.equal(site.accounts.lastUses.of(token.id), undefined, "nothing is kept of what is gone");
  t.equal(site.accounts.lastUses.of(id), now);
});

t.test(
  "whoever sends requests was here, with a token or a session; who acts as somebody else is here, and the other one is not",
  async (t) => {
    const site = new AccountSite(t);
    const [root, bob, ann] = [await site.user("root", true), await site.user("bob"), await site.user("ann")];
    const authenticator = site.authenticator(true);
    const uses = (): readonly boolean[] =>
      [root, bob, ann].map(({ id }) => site.accounts.lastUses.of(id) !== undefined);
    authenticate(authenticator, `token-sudo user="bob",token="${await site.token("root", sudoToken)}"`);
    t.same(uses(), [true, false, false]);
    authenticate(authenticator, `token ${await site.token("bob")}`);
    t.same(uses(), [true, true, false]);
    const session = await site.accounts.sessions.open(ann, dayMs, () => true, signInEntry);
    const withCookie = (cookie: string): AuthResult =>
      authenticator.authenticate({
        query: "",
        path: "/.api/graphql",
        headers: new Map([
          ["cookie", cookie],
          ["x-requested-with", "Sourcegraph"],
        ]),
        remoteAddress: "192.0.2.1",
        requestId: "",
      });
    t.match(withCookie(`sgs=${session}`), { viewer: { name: "ann", isSignedIn: true } });
    t.same(uses(), [true, true, true]);
    t.match(withCookie(""), { viewer: { name: "", isSignedIn: false } });
    await site.reopen();
    t.same(uses(), [true, true, true], "also after a restart");
    await site.accounts.deleteUser("ann", operator);
    t.same(uses(), [true, true, false]);
  },
);

t.test("sessions, when the clock jumps forward or back", async (t) => {
  const site = new AccountSite(t);
  const bob = await site.user("bob");
  const now = new Date().getTime();
  const { sessions } = site.accounts;
  const isOpen = (text: string, atMs = now): boolean => sessions.find(text, atMs) !== undefined;
  const first = await sessions.open(bob, dayMs, () => true, signInEntry);
  t.notOk(isOpen(first, now + 2 * dayMs), "it expires by the clock on the wall");
  t.ok(isOpen(first, now - 400 * dayMs));
  t.ok(isOpen(first), "and a clock that was ahead for a while ends none");

  const clock = wallClock(t);
  const opened: string[] = [];
  for (let i = 0; i < 20; i++) {
    clock.set(now - (i * dayMs) / 1000);
    opened.push(await sessions.open(bob, dayMs, () => true, signInEntry));
  }
  t.notOk(isOpen(first), "the one that was opened first makes room");
  t.ok(
    opened.every((text) => isOpen(text)),
    "though a clock that goes back calls the others older",
  );

  clock.set(now + 20 * dayMs);
  await site.accounts.start(operator, true, () => true);
  clock.set(now);
  t.ok(
    opened.every((text) => isOpen(text)),
    "a start with a clock that is ahead forgets none",
  );
  clock.set(now + 40 * dayMs);
  await site.accounts.start(operator, true, () => true);
  clock.set(now);
  t.notOk(
    opened.some((text) => isOpen(text)),
    "until that is long ago",
  );
});

t.test("limits on attempts and on their log lines are durations, which do not depend on the wall clock", async (t) => {
  const site = new AccountSite(t);
  await site.user("bob");
  const signIn = new SignIn(site.accounts, site.audit, {
    allowSignup: false,
    sessionLifetimeMs: dayMs,
    isReserved: () => false,
  });
  const now = new Date().getTime();
  const clock = wallClock(t);
  const kinds: string[] = [];
  for (let i = 0; i < 7; i++) {
    clock.set(now + (i % 2 === 0 ? i : -i) * dayMs);
    kinds.push((await signIn.signIn("bob", "no password", { from: "192.0.2.1" })).kind);
  }
  t.same(kinds, [...new Array<string>(5).fill("wrong"), "locked", "locked"]);
  for (let i = 0; i < 200; i++) {
    clock.set(now + i * dayMs);
    authenticate(site.authenticator(true), "token nonsense");
  }
  t.ok((await site.audited()).length < 20, "a minute's lines, and those of the next where the test meets its end");
});

t.test("a link to set a password expires by the wall clock", async (t) => {
  const site = new AccountSite(t);
  const { id } = await site.user("bob");
  const { path } = await site.accounts.passwords.newReset("bob", operator);
  const code = /code=(\w+)/.exec(path)?.[1] ?? "";
  const now = new Date().getTime();
  const clock = wallClock(t);
  clock.set(now + 2 * dayMs);
  await t.rejects(site.accounts.passwords.useReset(id, code, "a password of bob", { from: "192.0.2.1" }), {
    code: "forbidden",
  });
  clock.set(now - 2 * dayMs);
  t.match(await site.accounts.passwords.useReset(id, code, "a password of bob", { from: "192.0.2.1" }), {
    name: "bob",
  });
});

t.test("a start deletes tokens that expired long ago", async (t) => {
  const site = new AccountSite(t);
  await site.user("root", true);
  await site.token("root", { ...plainToken, lifetimeMs: -40 * dayMs });
  await site.token("root", { ...plainToken, lifetimeMs: -dayMs });
  await site.token("root");
  t.equal(site.accounts.accessTokens.list().length, 3);
  await site.accounts.start(operator, true, () => true);
  t.equal(site.accounts.accessTokens.list().length, 2);
});

t.test("only a hash is on the disk", async (t) => {
  const site = new AccountSite(t);
  await site.user("bob");
  const text = await site.token("bob");
  t.match(text, /^sgp_local_[0-9a-f]{40}$/);
  const secret = text.slice(-40);
  await site.reopen();
  for (const file of ["catalog/data.mdb", "audit.log"]) {
    const bytes = readFileSync(join(site.folder, file));
    t.notOk(bytes.includes(secret) || bytes.includes(Buffer.from(secret, "hex")), file);
  }
  t.equal(authenticate(site.authenticator(true), `token ${text}`), "bob");
});

t.test("of two simultaneous creations of one name, one is rejected", async (t) => {
  const site = new AccountSite(t);
  const names = ["bob", "BOB", "bob", "Bob"];
  const results = await Promise.allSettled([
    ...names.map((name) => site.user(name)),
    site.accounts.organizations.create({ name: "bob", displayName: "", memberIds: [] }, operator),
  ]);
  t.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
  for (const result of results)
    if (result.status === "rejected") t.match(result.reason, { code: "conflict", message: /is already taken$/ });
  t.equal(site.accounts.userCount, 1);
  const tokens = await Promise.all(Array.from({ length: 20 }, () => site.token("bob")));
  t.equal(new Set(tokens).size, 20);
  t.equal(new Set(site.accounts.accessTokens.list().map(({ id }) => id)).size, 20, "each with an id of its own");
  await site.reopen();
  t.equal(site.accounts.accessTokens.list().length, 20);
});

t.test("rejected requests", async (t) => {
  const site = new AccountSite(t);
  await site.user("root", true);
  await site.user("bob");
  for (const name of ["", "-a", "a b", "a--b", "a..b", "ä", "a/b", "x".repeat(256), "a\n", "../a"]) {
    await t.rejects(async () => site.user(name), { code: "bad-request" }, JSON.stringify(name));
  }
  for (const name of ["a", "a-", "a.b-c_d", "1", "x".repeat(255)]) t.equal((await site.user(name)).name, name);
  const scopes: readonly (readonly [scopes: readonly string[], message: RegExp])[] = [
    [[], /must have scope "user:all", "search" or "mcp"/],
    [["site-admin:sudo"], /must have scope "user:all", "search" or "mcp"/],
    [["repository:host/code"], /must have scope "user:all", "search" or "mcp"/],
    [["user:all", "search"], /"user:all" includes everything/],
    [["user:all", "repository:host/code"], /"user:all" includes everything/],
    [["search", "site-admin:sudo"], /"site-admin:sudo" needs the scope "user:all"/],
    [["search", "repository:"], /unknown access token scope "repository:"/],
    [["search", "repository:a b"], /unknown access token scope/],
    [["search", ...Array.from({ length: 104 }, (_, i) => `repository:r${i}`)], /at most 100 repositories/],
    [["user:all", "user:all"], /given twice/],
    [
      ["user:all", "all"],
      /unknown access token scope "all" \(valid scopes: user:all, site-admin:sudo, search, mcp, repository:NAME\)/,
    ],
    [["user:all", "site-admin:sudo"], /only a site admin/],
  ];
  for (const [given, message] of scopes)
    await t.rejects(site.token("bob", { ...plainToken, scopes: given }), { code: "bad-request", message });
  await t.rejects(site.token("nobody"), { code: "not-found", message: /no user named "nobody"/ });
  await t.rejects(site.accounts.deleteUser("root", operator), { code: "conflict", message: /only site admin/ });
  await t.rejects(site.accounts.updateUser("root", { isSiteAdmin: false }, operator), {
    code: "conflict",
    message: /only site admin/,
  });
  for (const text of ["90", "d", "0d", "-1d", "90 d", "1y", "99999999w", "1.5d"])
    t.throws(() => readLifetime(text), { code: "bad-request" }, text);
  t.equal(readLifetime("90d"), 90 * dayMs);
  t.equal(readLifetime("never"), "never");
  t.equal(readLifetime(""), undefined);
});

t.test("the lifetime of a token", async (t) => {
  const lifetimes = new TokenLifetimes({ defaultDays: 90, longestDays: 365, allowsNever: false });
  t.equal(lifetimes.lifetimeMs(undefined), 90 * dayMs);
  t.equal(lifetimes.lifetimeMs(365 * dayMs), 365 * dayMs);
  t.throws(() => lifetimes.lifetimeMs(365 * dayMs + 1), { code: "bad-request", message: /auth\.maxTokenDays/ });
  t.throws(() => lifetimes.lifetimeMs("never"), { code: "bad-request", message: /auth\.allowTokensWithoutExpiry/ });
  t.equal(
    new TokenLifetimes({ defaultDays: 90, longestDays: 30, allowsNever: false }).lifetimeMs(undefined),
    30 * dayMs,
    "the shorter one counts",
  );
  t.equal(new TokenLifetimes({ defaultDays: 90, longestDays: 365, allowsNever: true }).lifetimeMs("never"), undefined);
  t.equal(
    new TokenLifetimes({ defaultDays: 90, longestDays: 365, allowsNever: true }).lifetimeMs(undefined),
    90 * dayMs,
    "not unless it is asked for",
  );
});

t.test("a site admin can act as another user only if that is allowed", async (t) => {
  const site = new AccountSite(t);
  await site.user("root", true);
  await site.user("boss", true);
  const text = await site.token("root", sudoToken);
  const refused = "403 Unable to sudo to another site admin: auth.allowSudoToSiteAdmins is off.";
  t.equal(authenticate(site.authenticator(true), `token-sudo user="boss",token="${text}"`), refused);
  t.equal(authenticate(site.authenticator(true), `token-sudo user="root",token="${text}"`), "root (admin) by root");
  t.equal(
    authenticate(site.authenticator(true, "all-users-create", true), `token-sudo user="boss",token="${text}"`),
    "boss (admin) by root",
  );
});

t.test("a member can read the organization's repositories, until the membership ends", async (t) => {
  const site = new AccountSite(t);
  const bob = await site.user("Bob");
  await site.accounts.organizations.create({ name: "Core", displayName: "", memberIds: [] }, operator);
  const names = (): readonly string[] => site.accounts.toViewer(bob).readerNames;
  t.same(names(), ["bob"]);
  await site.accounts.organizations.setMember("core", "bob", true, operator);
  await site.accounts.organizations.setMember("core", "bob", true, operator);
  t.same(names(), ["bob", "core"]);
  t.same(site.accounts.organizations.all()[0].memberIds, [bob.id]);
  await site.reopen();
  t.same(names(), ["bob", "core"]);
  await site.accounts.organizations.setMember("core", "bob", false, operator);
  t.same(names(), ["bob"]);
});

t.test("the audit log records actors and actions", async (t) => {
  const site = new AccountSite(t);
  const actor: Actor = { who: "bob", sudoBy: "root", from: "192.0.2.7" };
  await site.accounts.createUser({ name: "ann", displayName: "", isSiteAdmin: false }, actor);
  await site.accounts.accessTokens.create("ann", { ...plainToken, note: "for a script" }, actor);
  t.match(await site.audited(), [
    { event: "user-created", who: "bob", sudoBy: "root", from: "192.0.2.7", user: "ann", time: /^\d{4}-.*Z$/ },
    { event: "token-created", who: "bob", user: "ann", scopes: ["user:all"], note: "for a script" },
  ]);
  for (let i = 0; i < 500; i++) authenticate(site.authenticator(true), "token x");
  const refusals = (await site.audited()).filter(({ event }) => event === "credential-refused");
  t.ok(refusals.length < 20, `${refusals.length} lines of 500 refusals`);
  t.match(refusals[0], { from: "192.0.2.1", requestId: "abc", reason: "Invalid access token." });
});
