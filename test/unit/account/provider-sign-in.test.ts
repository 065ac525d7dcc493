/** Sessions of identity providers after a restart, when what is asked does not answer. */
import { mkdirSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SealedTexts } from "../../../src/account/identity/sealed-texts.js";
import { auditEntry, operator } from "../../../src/account/records/audit-log.js";
import type { IdentityProvider } from "../../../src/account/sign-in/identity-provider.js";
import { type ProviderConfig, ProviderProblem } from "../../../src/account/sign-in/provider-config.js";
import { ProviderSignIn } from "../../../src/account/sign-in/provider-sign-in.js";
import { silentLog } from "../../../src/base/log.js";
import { AccountSite } from "../../support/account-site.js";
import { until } from "../../support/waiting.js";

const identity = { issuer: "https://acme.example", subject: "1" };

/** A session of an hour ago, and a provider that does not answer; `ask` begins to ask it, as after a restart. */
async function startSession(t: Test, onFault: (keyPath: string) => void = () => undefined) {
  const site = new AccountSite(t);
  const user = await site.user("ann");
  const path = join(site.folder, "key");
  const sealed = await new SealedTexts(path).seal("a token", `${identity.issuer}\n${identity.subject}`);
  const checkedAt = new Date(new Date().getTime() - 3_600_000).toISOString();
  const session = await site.accounts.sessions.open(user, 86_400_000, () => true, auditEntry("sign-in", operator, {}), {
    ...identity,
    name: "acme",
    isRefreshed: true,
    refresh: { sealed, checkedAt },
  });
  /** The token of each question, and whether the session went on. */
  const asked: (readonly [token: string, isOpen: boolean])[] = [];
  const refresh = (token: string): Promise<never> => {
    asked.push([token, isOpen()]);
    return Promise.reject(new ProviderProblem("unreachable", "Acme is away"));
  };
  const log = silentLog();
  log.error = () => onFault(path);
  const ask = (): void => {
    const signIn = new ProviderSignIn(site.accounts, site.audit, log, {
      sessionLifetimeMs: 86_400_000,
      isReserved: () => false,
      sealed: new SealedTexts(path),
      load: () => Promise.resolve({ refresh } as unknown as IdentityProvider),
    });
    const config: Partial<ProviderConfig> = { name: "acme", refreshSeconds: 0.5, organizations: {} };
    signIn.configure([config as ProviderConfig]);
    signIn.start();
    t.teardown(() => signIn.close());
  };
  const isOpen = (): boolean => site.accounts.sessions.find(session, new Date().getTime()) !== undefined;
  return { site, path, ask, asked, isOpen };
}

t.test("after a stop, a provider that does not answer ends a session at the fourth question", async (t) => {
  const { site, ask, asked, isOpen } = await startSession(t);
  ask();
  await until("the session has ended", () => !isOpen());
  t.same(asked, Array(4).fill(["a token", true]));
  t.match((await site.audited()).at(-1), {
    event: "sessions-ended",
    reason: "the provider has not answered for long: Acme is away",
  });
});

t.test("a key that cannot be read for a moment ends no session", async (t) => {
  let faults = 0;
  const { path, ask, asked } = await startSession(t, (path) => {
    if (faults++ > 0) return;
    rmdirSync(path);
    renameSync(`${path}.away`, path);
  });
  renameSync(path, `${path}.away`);
  mkdirSync(path);
  ask();
  await until("the provider is asked", () => asked.length > 0);
  t.equal(faults, 1);
  t.same(asked[0], ["a token", true]);
});
