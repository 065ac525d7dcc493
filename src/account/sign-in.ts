import { TrawlError } from "../base/errors.js";
import type { Accounts, NewUser, User } from "./accounts.js";
import { Attempts } from "./attempts.js";
import type { AuditLog, Doer } from "./audit-log.js";

export interface SignInSettings {
  /** Whether anybody may make an account. */
  readonly allowSignup: boolean;
  readonly sessionLifetimeMs: number;
  /** Whether a name means something already, as one among the readers of a repository: nobody gets it by asking. */
  readonly isReserved: (name: string) => boolean;
}

export type SignInOutcome =
  | { readonly kind: "signed-in"; readonly session: string }
  | { readonly kind: "wrong" }
  | { readonly kind: "locked"; readonly waitMs: number };

/** Who wants an account. */
export interface SignUp {
  readonly name: string;
  /** "" for none. */
  readonly email: string;
  readonly password: string;
}

const hourMs = 3_600_000;

/** After these of one user in a row nobody gets in as that user for half an hour, with the right password neither. */
const triesOfUser = { count: 5, periodMs: hourMs / 2 };

/** From one address; accounts that are made there count, too. */
const triesOfAddress = { count: 50, periodMs: hourMs };

/**
 * How somebody gets a session: by name and password, by making an account, or by a link.
 *
 * A wrong name and a wrong password are answered alike and equally late. Limits hold for names that nobody has as well, so
 * they tell nothing either.
 */
export class SignIn {
  readonly #accounts: Accounts;
  readonly #audit: AuditLog;
  readonly #settings: SignInSettings;
  readonly #ofUser = new Attempts(triesOfUser);
  readonly #ofAddress = new Attempts(triesOfAddress);

  constructor(accounts: Accounts, audit: AuditLog, settings: SignInSettings) {
    this.#accounts = accounts;
    this.#audit = audit;
    this.#settings = settings;
  }

  get allowSignup(): boolean {
    return this.#settings.allowSignup;
  }

  /** `nameOrEmail` is of the user, `from` the address of the client. */
  async signIn(nameOrEmail: string, password: string, from: string): Promise<SignInOutcome> {
    const user = this.#find(nameOrEmail);
    const userKey = user === undefined ? `?${nameOrEmail.toLowerCase().slice(0, 320)}` : String(user.id);
    const waitMs = this.#ofAddress.begin(networkOf(from)) || this.#ofUser.begin(userKey);
    const doer: Doer = { who: user?.name ?? "", sudoBy: undefined, from };
    if (waitMs > 0) {
      this.#audit.noteSignInRefusal(from, { user: user?.name, reason: "locked out" });
      return { kind: "locked", waitMs };
    }
    const { passwords } = this.#accounts;
    const stamp = user === undefined ? undefined : passwords.stamp(user.id);
    const isRight = await passwords.matches(user?.id, password);
    if (user === undefined || !isRight) {
      this.#audit.noteSignInRefusal(from, { user: user?.name, reason: user === undefined ? "no such user" : "wrong password" });
      return { kind: "wrong" };
    }
    const session = await this.#open(user, () => passwords.stamp(user.id) === stamp);
    this.#ofUser.forget(userKey);
    this.#ofAddress.forgive(networkOf(from));
    this.#audit.note("sign-in", doer, { user: user.name });
    return { kind: "signed-in", session };
  }

  /** Makes an account, the first one that of a site admin. Rejects with `not-found` where nobody may. */
  async signUp(given: SignUp, from: string): Promise<SignInOutcome> {
    if (!this.#settings.allowSignup) throw new TrawlError("not-found", "Sign-up is not enabled: ask a site admin for an account.");
    if (this.#accounts.userCount > 0 && this.#settings.isReserved(given.name)) {
      // Told as any other name that is not to be had: who may read what is nobody's business.
      throw new TrawlError("conflict", `username ${JSON.stringify(given.name)} is already taken`);
    }
    return this.#create(given, from, (user, doer) =>
      (this.#accounts.userCount === 0 ? this.#accounts.createFirstUser(user, doer) : this.#accounts.createUser(user, doer)));
  }

  /** Makes the first account, that of a site admin. Rejects with `forbidden` when there is one. */
  async initialise(given: SignUp, from: string): Promise<SignInOutcome> {
    if (this.#accounts.userCount > 0) throw new TrawlError("forbidden", "Site is already initialized.");
    return this.#create(given, from, (user, doer) => this.#accounts.createFirstUser(user, doer));
  }

  /** Ends the session; it may have ended before. */
  async signOut(session: string, from: string): Promise<void> {
    const user = this.#accounts.sessions.find(session, new Date().getTime());
    if (user === undefined) return;
    await this.#accounts.sessions.close(session);
    this.#audit.note("sign-out", { who: user.name, sudoBy: undefined, from }, { user: user.name });
  }

  /** Sets a password by a link, after which its user may try to sign in at once. */
  async useReset(userId: number, code: string, password: string, from: string): Promise<void> {
    const { id } = await this.#accounts.passwords.useReset(userId, code, password, from);
    this.#ofUser.forget(String(id));
  }

  async #create(
    { name, email, password }: SignUp, from: string, create: (user: NewUser, doer: Doer) => Promise<User>,
  ): Promise<SignInOutcome> {
    const waitMs = this.#ofAddress.begin(networkOf(from));
    if (waitMs > 0) return { kind: "locked", waitMs };
    const given = { name, displayName: "", isSiteAdmin: false, passwordHash: await this.#accounts.passwords.hashed(password) };
    const user = await create(email === "" ? given : { ...given, email: { address: email, isVerified: false } }, { who: name, sudoBy: undefined, from });
    return { kind: "signed-in", session: await this.#open(user, () => true) };
  }

  #open(user: User, isStillAllowed: () => boolean): Promise<string> {
    return this.#accounts.sessions.open(user, this.#settings.sessionLifetimeMs, isStillAllowed);
  }

  #find(nameOrEmail: string): User | undefined {
    if (!nameOrEmail.includes("@")) return this.#accounts.userByName(nameOrEmail);
    const id = this.#accounts.emails.ownerOf(nameOrEmail);
    return id === undefined ? undefined : this.#accounts.user(id);
  }
}

/** An address of IPv4, and of IPv6 the half that says which network: who has one there has all. */
function networkOf(address: string): string {
  const groups = address.split(":");
  return groups.length === 8 && !address.startsWith("0000:0000:0000:0000:0000:ffff") ? groups.slice(0, 4).join(":") : address;
}
