/** Guessing passwords is delayed; users who know theirs, and others at the same address, wait little or not at all. */
import t, { type Test } from "tap";
import { operator } from "../../../src/account/records/audit-log.js";
import { SignIn, type SignInOutcome } from "../../../src/account/sign-in/sign-in.js";
import { AccountSite } from "../../support/account-site.js";

const password = "correct horse battery";

/** The number of guesses per hour that are not delayed: at one name, and at all names from one network. */
const [freeOfPair, freeOfNetwork] = [5, 50];

/** A clock that only tests advance, so that the duration of a check on a busy machine does not matter. */
let nowMs = 0;

async function signInOf(
  t: Test,
  ...names: readonly string[]
): Promise<(name: string, text: string, from: string) => Promise<SignInOutcome>> {
  const site = new AccountSite(t);
  for (const name of names) {
    await site.user(name);
    await site.accounts.passwords.set(name, password, operator);
  }
  const signIn = new SignIn(
    site.accounts,
    site.audit,
    { allowSignup: false, sessionLifetimeMs: 60_000, isReserved: () => false },
    () => nowMs,
  );
  return (name, text, from) => signIn.signIn(name, text, { from });
}

/** 0 if there is no wait. */
function waitOf(outcome: SignInOutcome): number {
  return outcome.kind === "locked" ? outcome.waitMs : 0;
}

const [proxy, elsewhere] = ["192.0.2.1", "192.0.2.2"];

t.test("guesses at one name", async (t) => {
  const signIn = await signInOf(t, "ann");
  for (let i = 0; i < freeOfPair; i++) t.same(await signIn("ann", "wrong", proxy), { kind: "wrong" });
  const waitMs = waitOf(await signIn("ann", password, proxy));
  t.equal(waitMs, 5000, "its owner waits, too, at this address");
  t.match(await signIn("ann", password, elsewhere), { kind: "signed-in" }, "and not elsewhere");
});

t.test("guesses at many names through a proxy with other users behind it", async (t) => {
  const signIn = await signInOf(t, "ann", "bob");
  t.match(await signIn("ann", password, proxy), { kind: "signed-in" });
  let guessCount = 0;
  let outcome: SignInOutcome = { kind: "wrong" };
  while (outcome.kind === "wrong" && guessCount < 2 * freeOfNetwork)
    outcome = await signIn(`name${guessCount++}`, "wrong", proxy);
  t.equal(guessCount, freeOfNetwork + 1, "a guess after all that are free waits");
  t.match(await signIn("ann", password, proxy), { kind: "signed-in" }, "who has signed in there before does not wait");
  t.equal(waitOf(await signIn("bob", password, proxy)), 100, "others wait for a moment");
  let longestMs = 0;
  for (let i = 0; i < 20; i++) {
    const waitMs = waitOf(await signIn(`more${i}`, "wrong", proxy));
    longestMs = Math.max(longestMs, waitMs);
    nowMs += waitMs;
  }
  t.equal(longestMs, 2000, "and two seconds at most");
  t.match(await signIn("bob", password, elsewhere), { kind: "signed-in" });
});

t.test("simultaneous guesses do not delay other addresses", async (t) => {
  const signIn = await signInOf(t, "ann", "bob");
  t.match(await signIn("ann", password, proxy), { kind: "signed-in" });
  const guesses = Array.from({ length: 45 }, (_, i) => signIn(`name${i}`, "wrong", proxy));
  const others = [signIn("ann", password, proxy), signIn("bob", password, elsewhere)];
  const kinds = (await Promise.all(guesses)).map(({ kind }) => kind);
  t.equal(kinds.filter((kind) => kind === "wrong").length, 20, "as many as are checked for one network");
  t.equal(kinds.filter((kind) => kind === "locked").length, 25, "the others wait");
  for (const outcome of await Promise.all(others)) t.match(outcome, { kind: "signed-in" });
});

t.test("names that are asked for by signing up", async (t) => {
  const site = new AccountSite(t);
  await site.user("ann");
  const isReserved = (name: string): boolean => name === "fay";
  const settings = { allowSignup: true, sessionLifetimeMs: 60_000, isReserved };
  const signIn = new SignIn(site.accounts, site.audit, settings, () => nowMs);
  for (const name of ["ann", "fay"]) {
    const given = { name, email: "", password };
    await t.rejects(signIn.signUp(given, { from: proxy }), { message: `username "${name}" is already taken` });
    await t.rejects(signIn.signUp({ ...given, password: "short" }, { from: proxy }), { message: /too short/ });
  }
  // A password that is too short is refused before it is hashed, and counts as well.
  for (let i = 4; i < freeOfNetwork; i++)
    await t.rejects(signIn.signUp({ name: "eve", email: "", password: "short" }, { from: proxy }), {
      message: /too short/,
    });
  for (const name of ["ann", "fay", "eve"])
    t.equal(waitOf(await signIn.signUp({ name, email: "", password }, { from: proxy })), 1000, name);
  t.equal(signIn.nameCheckWaitMs({ from: proxy }), 0, "the question alone is counted apart");
});
