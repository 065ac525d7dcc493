/** Passwords, links to set them, e-mail addresses and sessions, with a store of their own. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { auditEntry, operator } from "../../../src/account/records/audit-log.js";
import { AccountSite } from "../../support/account-site.js";

const [first, second, third] = ["correct horse", "battery staple", "twelve chars"];
const dayMs = 86_400_000;
const signIn = auditEntry("sign-in", operator, {});

t.test("a password admits its user and nobody else", async (t) => {
  const site = new AccountSite(t);
  const [bob, ann] = [await site.user("bob"), await site.user("ann")];
  t.notOk(site.accounts.passwords.has(bob.id));
  t.notOk(await site.accounts.passwords.matches(bob.id, ""), "who has none gets in with none");
  await site.accounts.passwords.set("bob", first, operator);
  t.ok(site.accounts.passwords.has(bob.id));
  t.ok(await site.accounts.passwords.matches(bob.id, first));
  for (const wrong of ["", `${first} `, first.toUpperCase(), "\0"])
    t.notOk(await site.accounts.passwords.matches(bob.id, wrong), JSON.stringify(wrong));
  t.notOk(await site.accounts.passwords.matches(ann.id, first));
  t.notOk(await site.accounts.passwords.matches(undefined, first));
  await site.reopen();
  t.ok(await site.accounts.passwords.matches(bob.id, first), "after a restart");
  for (const file of ["catalog/data.mdb", "audit.log"])
    t.notOk(readFileSync(join(site.folder, file)).includes(first), file);
  t.ok(readFileSync(join(site.folder, "catalog/data.mdb")).includes("$argon2id$v=19$m=19456,t=2,p=1$"));
});

t.test("a reset also removes the links to identity providers", async (t) => {
  const site = new AccountSite(t);
  const { passwords, identities } = site.accounts;
  const { id } = await site.user("bob");
  const link = (subject: string) =>
    identities.link("bob", { issuer: "https://id.acme.example", subject }, "acme", operator);
  await link("one");
  const { path } = await passwords.randomize("bob", operator);
  const code = /code=([0-9a-f]+)/.exec(path)?.[1] ?? "";
  t.same(identities.forUser(id), [], "whoever linked it does not sign in any more");
  await link("two");
  await passwords.useReset(id, code, second, { from: "test" });
  t.same(identities.forUser(id), []);
  await link("three");
  await passwords.change("bob", second, third, operator);
  t.equal(identities.forUser(id).length, 1, "the user's own change keeps it");
});

t.test("limits on the length of a password", async (t) => {
  const site = new AccountSite(t);
  await site.user("bob");
  for (const good of ["x".repeat(12), "x".repeat(72), "\u{1f40e}".repeat(72)])
    await t.resolves(site.accounts.passwords.set("bob", good, operator));
  for (const bad of [
    "",
    "x".repeat(11),
    "\u{1f40e}".repeat(11),
    "x".repeat(73),
    "\u{1f40e}".repeat(73),
    "x".repeat(1_000_000),
  ]) {
    await t.rejects(site.accounts.passwords.set("bob", bad, operator), {
      code: "bad-request",
      message: /^the password is too (short|long)/,
    });
  }
  await t.rejects(site.accounts.passwords.set("eve", first, operator), { code: "not-found" });
});

t.test("changing one's own password requires the old one", async (t) => {
  const site = new AccountSite(t);
  const { id } = await site.user("bob");
  await site.accounts.passwords.set("bob", first, operator);
  await t.rejects(site.accounts.passwords.change("bob", second, third, operator), {
    code: "forbidden",
    message: "wrong old password",
  });
  await t.rejects(site.accounts.passwords.change("bob", first, "short", operator), { code: "bad-request" });
  await site.accounts.passwords.change("bob", first, second, operator);
  t.notOk(await site.accounts.passwords.matches(id, first));
  t.ok(await site.accounts.passwords.matches(id, second));
  const changes = await Promise.allSettled(
    [third, "another of mine"].map((password) => site.accounts.passwords.change("bob", second, password, operator)),
  );
  t.same(
    changes.map(({ status }) => status).sort(),
    ["fulfilled", "rejected"],
    "of two at the same time one comes too late",
  );
});

t.test("a link sets a password once, within a day; only the latest link is valid", async (t) => {
  const site = new AccountSite(t);
  const { id } = await site.user("bob");
  const { passwords } = site.accounts;
  const codeOf = (path: string): string => new URLSearchParams(path.split("?")[1]).get("code") ?? "";
  const earlier = codeOf((await passwords.newReset("bob", operator)).path);
  const { path, expiresAt } = await passwords.newReset("bob", operator);
  t.match(path, new RegExp(`^/password-reset\\?code=[0-9a-f]{64}&userID=${id}$`));
  t.ok(Math.abs(Date.parse(expiresAt) - new Date().getTime() - dayMs) < 60_000);
  const code = codeOf(path);
  const invalid = { code: "forbidden", message: "Password reset code was invalid or expired." };
  for (const [user, wrong] of [
    [id, earlier],
    [id, ""],
    [id, code.toUpperCase()],
    [id + 1, code],
    [0, code],
  ] as const) {
    await t.rejects(passwords.useReset(user, wrong, first, { from: "192.0.2.1" }), invalid);
  }
  await t.rejects(
    passwords.useReset(id, code, "short", { from: "192.0.2.1" }),
    { code: "bad-request" },
    "which does not use it up",
  );
  const uses = await Promise.allSettled(
    [1, 2, 3].map((at) => passwords.useReset(id, code, `${first} ${at}`, { from: "192.0.2.1" })),
  );
  t.equal(uses.filter(({ status }) => status === "fulfilled").length, 1);
  await t.rejects(passwords.useReset(id, code, first, { from: "192.0.2.1" }), invalid);

  await passwords.set("bob", first, operator);
  const forced = codeOf((await passwords.randomize("bob", operator)).path);
  t.notOk(passwords.has(id), "the password is gone");
  t.notOk(readFileSync(join(site.folder, "catalog/data.mdb")).includes(forced));
  await site.reopen();
  await site.accounts.passwords.useReset(id, forced, second, { from: "192.0.2.1" });
  t.ok(await site.accounts.passwords.matches(id, second), "also after a restart");
  t.notOk(JSON.stringify(await site.audited()).includes(forced));
  t.match((await site.audited()).at(-1), { event: "password-changed", who: "bob", from: "192.0.2.1", user: "bob" });
});

t.test("sessions end when the password changes, the user is deleted, or the user signs out", async (t) => {
  const site = new AccountSite(t);
  const bob = await site.user("bob");
  await site.user("root", true);
  const open = (): Promise<string> => site.accounts.sessions.open(bob, dayMs, () => true, signIn);
  const isIn = (text: string, atMs = new Date().getTime()): boolean =>
    site.accounts.sessions.find(text, atMs)?.id === bob.id;
  const [left, kept] = [await open(), await open()];
  t.match(kept, /^[0-9a-f]{64}$/);
  t.ok(isIn(left) && isIn(kept));
  t.notOk(isIn(kept, new Date().getTime() + dayMs + 5000));
  for (const wrong of ["", kept.slice(1), `${kept}0`, "0".repeat(64), kept.toUpperCase()]) t.notOk(isIn(wrong), wrong);
  await site.accounts.sessions.close(left, signIn);
  await site.accounts.sessions.close(left, signIn);
  t.notOk(isIn(left));
  await site.reopen();
  t.ok(isIn(kept), "one outlives the process");
  t.notOk(isIn(left));
  t.notOk(readFileSync(join(site.folder, "catalog/data.mdb")).includes(kept), "only a hash is on the disk");
  await site.accounts.passwords.set("bob", first, operator);
  t.notOk(isIn(kept), "a new password ends it");
  const forced = await open();
  await site.accounts.passwords.randomize("bob", operator);
  t.notOk(isIn(forced));
  await t.rejects(
    site.accounts.sessions.open(bob, dayMs, () => false, signIn),
    { code: "forbidden" },
  );
  const last = await open();
  await site.accounts.deleteUser("bob", operator);
  t.equal(site.accounts.sessions.find(last, new Date().getTime()), undefined);
  await t.rejects(open(), { code: "forbidden" }, "who is gone does not come in");
});

t.test("a new session replaces the user's oldest one", async (t) => {
  const site = new AccountSite(t);
  const bob = await site.user("bob");
  const texts: string[] = [];
  for (let i = 0; i < 23; i++) texts.push(await site.accounts.sessions.open(bob, dayMs, () => true, signIn));
  const now = new Date().getTime();
  t.equal(texts.filter((text) => site.accounts.sessions.find(text, now) !== undefined).length, 20);
  t.ok(site.accounts.sessions.find(texts.at(-1)!, now));
});

t.test("an e-mail address belongs to one user, and is deleted with it", async (t) => {
  const site = new AccountSite(t);
  await site.user("root", true);
  const bob = await site.accounts.createUser(
    { name: "bob", displayName: "", isSiteAdmin: false, email: { address: "bob@example.org", isVerified: true } },
    operator,
  );
  const { emails } = site.accounts;
  const listed = (): readonly string[] =>
    site.accounts.emails.of(bob.id).map(({ address, isVerified }) => `${address}${isVerified ? "" : "?"}`);
  await emails.add("bob", "b@example.org", false, operator);
  t.same(listed(), ["bob@example.org", "b@example.org?"]);
  for (const taken of ["bob@example.org", "BOB@example.org", "b@example.org"]) {
    await t.rejects(
      emails.add("root", taken, true, operator),
      { code: "conflict", message: /is already taken$/ },
      taken,
    );
  }
  await t.rejects(
    site.accounts.createUser(
      { name: "eve", displayName: "", isSiteAdmin: false, email: { address: "B@example.org", isVerified: false } },
      operator,
    ),
    { code: "conflict" },
  );
  t.equal(site.accounts.userByName("eve"), undefined, "all or nothing");
  for (const bad of ["", "b", "@", "a@", "@b", "a b@c", "a@b@c", "a@b\n", `${"x".repeat(400)}@example.org`]) {
    await t.rejects(async () => emails.add("bob", bad, true, operator), { code: "bad-request" }, JSON.stringify(bad));
  }
  await emails.setVerified("bob", "B@example.org", true, operator);
  await emails.setPrimary("bob", "b@example.org", operator);
  t.same(listed(), ["b@example.org", "bob@example.org"]);
  await site.reopen();
  t.same(listed(), ["b@example.org", "bob@example.org"], "after a restart");
  t.equal(site.accounts.emails.findOwner("BOB@EXAMPLE.ORG"), bob.id);
  await site.accounts.emails.remove("bob", "bob@example.org", operator);
  await t.rejects(site.accounts.emails.remove("bob", "bob@example.org", operator), { code: "not-found" });
  t.same(listed(), ["b@example.org"]);
  await site.accounts.deleteUser("bob", operator);
  t.equal(site.accounts.emails.findOwner("b@example.org"), undefined);
  await site.accounts.emails.add("root", "b@example.org", true, operator);
});
