import { BoundedMap } from "../../base/bounded-map.js";
import { monotonicMs } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import type { Accounts } from "../identity/accounts.js";
import type { NewUser, User } from "../identity/user.js";
import { limitOfGuesses, RateLimiter, type RateLimitPolicy, networkPrefix } from "../records/rate-limiter.js";
import { type Actor, auditEntry, type AuditLog, type Sender } from "../records/audit-log.js";

export interface SignInSettings {
  /** Whether anyone may create an account. */
  readonly allowSignup: boolean;
  readonly sessionLifetimeMs: number;
  /**
   * Whether a name already has a meaning, such as being listed among the readers of a repository: it cannot be claimed
   * by signing up.
   */
  readonly isReserved: (name: string) => boolean;
}

export type SignInOutcome =
  | { readonly kind: "signed-in"; readonly session: string }
  | { readonly kind: "wrong" }
  | { readonly kind: "locked"; readonly waitMs: number };

/** The data of a sign-up. */
export interface SignUp {
  readonly name: string;
  /** "" for none. */
  readonly email: string;
  readonly password: string;
}

/** Of an unknown name, this much is stored. */
const nameCharsMax = 320;

const hourMs = 3_600_000;

/** For all names from one network, which may be a proxy with many users: so the wait stays short. */
const limitOfNetwork: RateLimitPolicy = { freeCount: 50, firstWaitMs: 100, longestWaitMs: 2000, periodMs: hourMs };

/** For accounts created from one network, and for questions whether a name is taken. */
const limitOfSignUp: RateLimitPolicy = { freeCount: 50, firstWaitMs: 1000, longestWaitMs: 60_000, periodMs: hourMs };

/** Limit on passwords from one network that are being or waiting to be checked, out of 100: 0.4 s of a core. */
const checksOfNetworkMax = 20;

/** Limit on stored pairs of a user and a network from which the user has signed in since startup. */
const knownPairsMax = 100_000;

/**
 * How a session is obtained: with name and password, by creating an account, or with a link.
 *
 * A wrong name and a wrong password get the same response after the same time. Limits also apply to unknown names, so
 * they reveal nothing.
 *
 * Guessing is slowed down by network (an IPv4 address, or 64 bits of IPv6), and accounts are never locked: attempts
 * from elsewhere do not affect the owner. Where the owner has signed in before, attempts at other names from the same
 * network do not either.
 */
export class SignIn {
  readonly #accounts: Accounts;
  readonly #audit: AuditLog;
  readonly #settings: SignInSettings;
  readonly #now: () => number;
  readonly #ofPair = new RateLimiter(limitOfGuesses);
  readonly #ofNetwork = new RateLimiter(limitOfNetwork);
  readonly #ofSignUp = new RateLimiter(limitOfSignUp);
  readonly #ofNameCheck = new RateLimiter(limitOfSignUp);
  readonly #knownPairs = new BoundedMap<string, true>(knownPairsMax, () => 1);
  /** Checks that are running or waiting, by network. */
  readonly #checks = new Map<string, number>();

  constructor(accounts: Accounts, audit: AuditLog, settings: SignInSettings, now: () => number = monotonicMs) {
    this.#accounts = accounts;
    this.#audit = audit;
    this.#settings = settings;
    this.#now = now;
  }

  get allowSignup(): boolean {
    return this.#settings.allowSignup;
  }

  /** `nameOrEmail` identifies the user. */
  async signIn(nameOrEmail: string, password: string, sender: Sender): Promise<SignInOutcome> {
    const user = this.#find(nameOrEmail);
    const network = networkPrefix(sender.from);
    const pair = attemptKey(user?.id ?? `?${nameOrEmail.toLowerCase().slice(0, nameCharsMax)}`, network);
    const isKnown = this.#knownPairs.get(pair) === true;
    const waitMs = this.#waitMs(pair, network, isKnown);
    if (waitMs > 0) {
      this.#audit.recordSignInRefusal(sender, { user: user?.name, reason: "too many attempts" });
      return { kind: "locked", waitMs };
    }
    const { passwords } = this.#accounts;
    const stamp = user === undefined ? undefined : passwords.stamp(user.id);
    const isRight = await this.#counted(network, () =>
      passwords.matches(user?.id, password, isKnown ? pair : network, isKnown),
    );
    if (user === undefined || !isRight) {
      this.#audit.recordSignInRefusal(sender, {
        user: user?.name,
        reason: user === undefined ? "no such user" : "wrong password",
      });
      return { kind: "wrong" };
    }
    const session = await this.#open(user, () => passwords.stamp(user.id) === stamp, sender);
    this.#ofPair.forget(pair);
    // Attempts by known users were not counted; otherwise a user with an account could guess others' passwords without
    // limit.
    if (!isKnown) this.#ofNetwork.forgive(network);
    this.#knownPairs.set(pair, true);
    return { kind: "signed-in", session };
  }

  /** Creates an account; the first one becomes a site admin. Rejects with `not-found` if sign-up is disabled. */
  async signUp(given: SignUp, sender: Sender): Promise<SignInOutcome> {
    if (!this.#settings.allowSignup)
      throw new TrawlError("not-found", "Sign-up is not enabled: ask a site admin for an account.");
    return this.#create(given, sender, async (user, actor) => {
      if (this.#accounts.userCount === 0) return this.#accounts.createFirstUser(user, actor);
      // The same message, after the same work and counted in the same way, as for any other unavailable name: the
      // readers of repositories are confidential.
      if (this.#settings.isReserved(given.name))
        throw new TrawlError("conflict", `username ${JSON.stringify(given.name)} is already taken`);
      return this.#accounts.createUser(user, actor);
    });
  }

  /**
   * How long the question whether a name is taken must wait; it is counted if that is zero. Signing up tells the same,
   * with the same limit; the questions are counted apart, so that asking does not delay creating the account.
   */
  nameCheckWaitMs(sender: Sender): number {
    const waitMs = this.#ofNameCheck.begin(networkPrefix(sender.from), this.#now());
    if (waitMs > 0)
      this.#audit.recordSignInRefusal(sender, { user: undefined, reason: "too many questions for names" });
    return waitMs;
  }

  /** Creates the first account, a site admin. Rejects with `forbidden` if there already is one. */
  async initialise(given: SignUp, sender: Sender): Promise<SignInOutcome> {
    if (this.#accounts.userCount > 0) throw new TrawlError("forbidden", "Site is already initialized.");
    return this.#create(given, sender, (user, actor) => this.#accounts.createFirstUser(user, actor));
  }

  /** Ends the session, if it has not ended yet. */
  async signOut(session: string, sender: Sender): Promise<void> {
    const user = this.#accounts.sessions.find(session, new Date().getTime());
    if (user === undefined) return;
    await this.#accounts.sessions.close(
      session,
      auditEntry("sign-out", { who: user.name, sudoBy: undefined, ...sender }, { user: user.name }),
    );
  }

  /** Sets a password with a link, after which its user may immediately try to sign in. */
  async useReset(userId: number, code: string, password: string, sender: Sender): Promise<void> {
    const { id } = await this.#accounts.passwords.useReset(userId, code, password, sender);
    this.#ofPair.forget(attemptKey(id, networkPrefix(sender.from)));
  }

  async #create(
    { name, email, password }: SignUp,
    sender: Sender,
    create: (user: NewUser, actor: Actor) => Promise<User>,
  ): Promise<SignInOutcome> {
    const waitMs = this.#ofSignUp.begin(networkPrefix(sender.from), this.#now());
    if (waitMs > 0) {
      this.#audit.recordSignInRefusal(sender, { user: undefined, reason: "too many sign-ups" });
      return { kind: "locked", waitMs };
    }
    const given = {
      name,
      displayName: "",
      isSiteAdmin: false,
      passwordHash: await this.#accounts.passwords.hashed(password, networkPrefix(sender.from)),
    };
    const user = await create(email === "" ? given : { ...given, email: { address: email, isVerified: false } }, {
      who: name,
      sudoBy: undefined,
      ...sender,
    });
    return { kind: "signed-in", session: await this.#open(user, () => true, sender) };
  }

  /** How long the attempt must wait; it is counted if that is zero. */
  #waitMs(pair: string, network: string, isKnown: boolean): number {
    const nowMs = this.#now();
    if (!isKnown && (this.#checks.get(network) ?? 0) >= checksOfNetworkMax) return limitOfNetwork.longestWaitMs;
    return this.#ofPair.begin(pair, nowMs) || (isKnown ? 0 : this.#ofNetwork.begin(network, nowMs));
  }

  async #counted(network: string, check: () => Promise<boolean>): Promise<boolean> {
    this.#checks.set(network, (this.#checks.get(network) ?? 0) + 1);
    try {
      return await check();
    } finally {
      const count = (this.#checks.get(network) ?? 1) - 1;
      if (count > 0) this.#checks.set(network, count);
      else this.#checks.delete(network);
    }
  }

  #open(user: User, isStillAllowed: () => boolean, sender: Sender): Promise<string> {
    const entry = auditEntry("sign-in", { who: user.name, sudoBy: undefined, ...sender }, { user: user.name });
    return this.#accounts.sessions.open(user, this.#settings.sessionLifetimeMs, isStillAllowed, entry);
  }

  #find(nameOrEmail: string): User | undefined {
    if (!nameOrEmail.includes("@")) return this.#accounts.userByName(nameOrEmail);
    const id = this.#accounts.emails.findOwner(nameOrEmail);
    return id === undefined ? undefined : this.#accounts.user(id);
  }
}

/** The key under which attempts are stored, for a user (by id if known) and a network. */
function attemptKey(user: number | string, network: string): string {
  return `${network} ${user}`;
}
