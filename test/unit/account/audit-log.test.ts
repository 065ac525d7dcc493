/**
 * The audit log: each line is on the disk before its act, an act without a line does not happen, and no flood hides a
 * line.
 */
import { readFileSync, symlinkSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import {
  auditEntry,
  AuditLog,
  operator,
  type Author,
  type AuditEvent,
} from "../../../src/account/records/audit-log.js";
import type { Accounts } from "../../../src/account/identity/accounts.js";
import { siteSubject } from "../../../src/account/settings/settings-table.js";
import { silentLog } from "../../../src/base/log.js";
import { LineFile } from "../../../src/store/line-file.js";
import { AccountSite, plainToken } from "../../support/account-site.js";

const password = "correct horse battery";
const author: Author = { id: 1, actor: operator };
const context = { name: "c", description: "", public: true, query: "repo:a", repositories: [] };
const search = { ownerId: 1, description: "d", query: "q", isDraft: false, isPublic: false };
const dayMs = 86_400_000;

/**
 * Every change of accounts, in an order in which each finds the results of the previous ones. `id` is that of the last
 * record.
 */
const acts: readonly (readonly [event: AuditEvent, act: (accounts: Accounts, id: number) => Promise<unknown>])[] = [
  [
    "user-created",
    (accounts) =>
      accounts.createUser(
        { name: "ann", displayName: "", isSiteAdmin: false, email: { address: "a@b", isVerified: true } },
        operator,
      ),
  ],
  ["user-changed", (accounts) => accounts.updateUser("ann", { displayName: "Ann" }, operator)],
  [
    "organization-created",
    (accounts) => accounts.organizations.create({ name: "core", displayName: "", memberIds: [] }, operator),
  ],
  ["organization-changed", (accounts) => accounts.organizations.update("core", { displayName: "Core" }, operator)],
  ["member-added", (accounts) => accounts.organizations.setMember("core", "ann", true, operator)],
  ["member-removed", (accounts) => accounts.organizations.setMember("core", "ann", false, operator)],
  ["email-added", (accounts) => accounts.emails.add("ann", "x@y", false, operator)],
  ["email-changed", (accounts) => accounts.emails.setVerified("ann", "x@y", true, operator)],
  ["email-removed", (accounts) => accounts.emails.remove("ann", "x@y", operator)],
  ["password-changed", (accounts) => accounts.passwords.set("ann", password, operator)],
  ["password-link-created", (accounts) => accounts.passwords.newReset("ann", operator)],
  [
    "sign-in",
    (accounts) =>
      accounts.sessions.open(accounts.userByName("ann")!, dayMs, () => true, auditEntry("sign-in", operator, {})),
  ],
  ["sessions-ended", (accounts) => accounts.sessions.closeAll("ann", operator)],
  ["token-created", (accounts) => accounts.accessTokens.create("ann", plainToken, operator)],
  ["token-deleted", (accounts) => accounts.accessTokens.delete(accounts.accessTokens.list().at(-1)?.id ?? 0, operator)],
  ["context-created", (accounts) => accounts.contexts.create(0, context, operator)],
  ["context-changed", (accounts) => accounts.contexts.update([...accounts.contexts.all()][0].id, context, operator)],
  ["context-deleted", (accounts) => accounts.contexts.delete([...accounts.contexts.all()][0].id, operator)],
  ["settings-changed", (accounts) => accounts.settings.change(siteSubject, undefined, () => "{}", author)],
  ["saved-search-created", (accounts, id) => accounts.savedSearches.create({ ...search, ownerId: id }, author)],
  [
    "saved-search-changed",
    (accounts) => accounts.savedSearches.update([...accounts.savedSearches.all()][0].id, { query: "r" }, author),
  ],
  [
    "saved-search-deleted",
    (accounts) => accounts.savedSearches.delete([...accounts.savedSearches.all()][0].id, operator),
  ],
  [
    "team-created",
    (accounts) =>
      accounts.teams.create({ name: "crew", displayName: "", parentId: 0, isReadonly: false, creatorId: 1 }, operator),
  ],
  ["team-changed", (accounts) => accounts.teams.setMembers(accounts.teams.byName("crew")!.id, () => [1], operator)],
  ["team-deleted", (accounts) => accounts.teams.delete(accounts.teams.byName("crew")!.id, operator)],
  [
    "invitation-created",
    (accounts) => accounts.invitations.create(accounts.organizations.require("core"), 1, { email: "x@y" }, operator),
  ],
  ["invitation-extended", (accounts) => accounts.invitations.extend(invitationOf(accounts), operator)],
  ["invitation-revoked", (accounts) => accounts.invitations.revoke(invitationOf(accounts), operator)],
  ["owners-changed", (accounts) => accounts.ownerFiles.add({ id: 1, name: "host/a" }, "* @ann\n", operator)],
  ["organization-deleted", (accounts) => accounts.deleteOrganization("core", operator)],
  ["user-deleted", (accounts) => accounts.deleteUser("ann", operator)],
];

function invitationOf(accounts: Accounts): number {
  return accounts.invitations.pendingOf(accounts.organizations.require("core").id)[0]?.id ?? 0;
}

/** The id of the user that the actions are about, or of any user. */
function annOf(accounts: Accounts): number {
  return accounts.userByName("ann")?.id ?? 1;
}

/** Everything about accounts that a caller can see. */
function stateOf(site: AccountSite): string {
  const records = [...site.store.withPrefix("")].filter(({ key }) => key !== "account-counters");
  return JSON.stringify(records.map(({ key, value }) => [key, value.toString()]));
}

t.test("a line is on the disk before its action", async (t) => {
  const site = new AccountSite(t);
  await site.user("root", true);
  const path = join(site.folder, "audit.log");
  let seen = "";
  const apply = site.store.apply.bind(site.store);
  site.store.apply = (changes) => {
    if (changes.length > 0) seen = readFileSync(path, "utf8").trim().split("\n").at(-1) ?? "";
    return apply(changes);
  };
  for (const [event, act] of acts) {
    seen = "";
    await act(site.accounts, annOf(site.accounts));
    t.match(JSON.parse(seen), { event, who: "operator", from: "control socket" }, event);
  }
});

t.test("an action that cannot be recorded does not happen", async (t) => {
  const site = new AccountSite(t);
  await site.user("root", true);
  for (const [event, act] of acts) {
    const before = stateOf(site);
    site.failAudit = true;
    await t.rejects(
      act(site.accounts, annOf(site.accounts)),
      { code: "storage", message: /^nothing was changed, because the audit log could not be written: / },
      event,
    );
    t.equal(stateOf(site), before, `${event}: nothing has changed`);
    site.failAudit = false;
    await act(site.accounts, annOf(site.accounts));
    t.not(stateOf(site), before, `${event}: it happens once it can be recorded`);
  }
});

t.test("an action that fails after its line gets another line", async (t) => {
  const site = new AccountSite(t);
  await site.user("root", true);
  const apply = site.store.apply.bind(site.store);
  site.store.apply = () => Promise.reject(new Error("the disk is full"));
  await t.rejects(site.user("bob"), { message: "the disk is full" });
  site.store.apply = apply;
  t.match((await site.audited()).slice(-2), [
    { event: "user-created", user: "bob", outcome: undefined },
    { event: "user-created", user: "bob", outcome: "failed", reason: "the disk is full" },
  ]);
  t.equal(site.accounts.userByName("bob"), undefined);
});

t.test("simultaneous lines are written together, in order, and none is split", async (t) => {
  const folder = t.testdir();
  const file = new LineFile(join(folder, "lines"));
  t.teardown(() => file.close());
  await Promise.all(Array.from({ length: 5000 }, (_, at) => file.append(`line ${at}`)));
  t.equal(
    readFileSync(join(folder, "lines"), "utf8"),
    Array.from({ length: 5000 }, (_, at) => `line ${at}\n`).join(""),
  );
  const refused = await Promise.allSettled(Array.from({ length: 12_000 }, (_, at) => file.append(String(at))));
  t.equal(
    refused.filter(({ status }) => status === "rejected").length,
    1999,
    "more than 10,000 do not wait behind the one that is being written",
  );

  symlinkSync("/dev/full", join(folder, "full"));
  const full = new LineFile(join(folder, "full"));
  t.teardown(() => full.close());
  await t.rejects(full.append("x"), { code: "storage", message: /cannot write .*full: ENOSPC/ });
});

t.test("a line is synced before its writer continues", async (t) => {
  const folder = t.testdir();
  const handle = await open(join(folder, "any"), "a");
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const file = new LineFile(join(folder, "lines"));
  t.teardown(() => file.close());
  const syncs = t.capture(prototype, "datasync", prototype.datasync);
  const sizes: number[] = [];
  for (let i = 0; i < 3; i++) {
    await file.append(`line ${i}`);
    sizes.push(syncs().length);
  }
  t.same(sizes, [1, 1, 1]);
});

t.test("a flood of rejections does not hide those of another address", async (t) => {
  const lines: Record<string, unknown>[] = [];
  const file = {
    append: async (line: string) => {
      lines.push(JSON.parse(line) as Record<string, unknown>);
    },
    settled: async () => undefined,
    close: async () => undefined,
  };
  const audit = new AuditLog(file, silentLog());
  for (let i = 0; i < 10_000; i++) audit.recordRefusal({ from: "192.0.2.66" }, "Invalid access token.");
  for (let i = 0; i < 10_000; i++)
    audit.recordRefusal(
      { from: `2001:0db8:0000:0001:${(i + 4096).toString(16)}:0000:0000:0001` },
      "Invalid access token.",
    );
  for (let i = 0; i < 3; i++)
    audit.recordSignInRefusal({ from: "192.0.2.7" }, { user: "ann", reason: "wrong password" });
  const ofAnn = lines.filter(({ user }) => user === "ann");
  t.equal(ofAnn.length, 3, "each has a line");
  t.ok(lines.length < 20, `${lines.length} lines`);
  await audit.close();
  for (const from of ["192.0.2.66", "2001:0db8:0000:0001"]) {
    const told = lines.filter((line) => String(line["from"]).startsWith(from));
    t.equal(
      told.reduce((sum, { untold }) => sum + (typeof untold === "number" ? untold : 1), 0),
      10_000,
      `${from}: each is counted`,
    );
    t.match(told.at(-1), {
      event: "credential-refused",
      from,
      reason: "Invalid access token.",
      first: /^20/,
      last: /^20/,
    });
  }
  lines.length = 0;
  for (let i = 0; i < 100_000; i++)
    audit.recordRefusal({ from: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` }, `reason ${i}`);
  await audit.close();
  t.ok(lines.length < 3600, `${lines.length} lines of 100,000 addresses`);
});
