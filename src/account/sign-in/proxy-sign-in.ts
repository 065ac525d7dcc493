import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Accounts } from "../identity/accounts.js";
import type { User } from "../identity/user.js";
import { type Actor, auditEntry, type AuditLog, type Sender } from "../records/audit-log.js";
import { ProviderProblem } from "./provider-config.js";

export interface ProxySettings {
  /** Whether whoever a proxy names gets an account. */
  readonly allowSignUp: boolean;
  /** As in `SignInSettings`. */
  readonly isReserved: (name: string) => boolean;
  readonly sessionLifetimeMs: number;
}

/**
 * Sessions of users whom a proxy names. The proxy decides about names: the name is the account, also one that is listed among the
 * readers of a repository, and an address is one that it has verified.
 */
export class ProxySignIn {
  readonly #accounts: Accounts;
  readonly #audit: AuditLog;
  readonly #settings: ProxySettings;

  constructor(accounts: Accounts, audit: AuditLog, settings: ProxySettings) {
    this.#accounts = accounts;
    this.#audit = audit;
    this.#settings = settings;
  }

  /** Opens a session for the user. Rejects with `ProviderProblem` if there is no such user. */
  async enter(name: string, sender: Sender): Promise<string> {
    try {
      const user = findNamed(this.#accounts, name) ?? (await this.#signUp(name, sender));
      const actor: Actor = { who: user.name, sudoBy: undefined, ...sender };
      const entry = auditEntry("sign-in", actor, { user: user.name, by: "proxy" });
      return await this.#accounts.sessions.open(user, this.#settings.sessionLifetimeMs, () => true, entry, "proxy");
    } catch (error) {
      if (error instanceof ProviderProblem) this.refuse(sender, error.message);
      throw error;
    }
  }

  refuse(sender: Sender, reason: string): void {
    this.#audit.recordProviderRefusal(sender, "proxy", reason);
  }

  async #signUp(name: string, sender: Sender): Promise<User> {
    if (!this.#settings.allowSignUp)
      throw new ProviderProblem(
        "refused",
        `there is no account of ${JSON.stringify(name)} here: ask a site admin for one`,
      );
    const [local = ""] = name.split("@");
    const isAddress = name !== local;
    const given = { name: local, displayName: "", isSiteAdmin: false };
    try {
      // Many addresses begin with this name. The readers of repositories are confidential: the message is that of a taken name.
      if (isAddress && this.#settings.isReserved(local))
        throw new TrawlError("conflict", `username ${JSON.stringify(local)} is already taken`);
      // The address of another user is a conflict: without it, the account would never be found again.
      return await this.#accounts.createUser(
        isAddress ? { ...given, email: { address: name, isVerified: true } } : given,
        { who: local, sudoBy: undefined, ...sender, via: "proxy" },
      );
    } catch (error) {
      if (!(error instanceof TrawlError) || error.httpStatus >= 500) throw error;
      throw new ProviderProblem("refused", `your account cannot be made: ${errorMessage(error)}`, { cause: error });
    }
  }
}

/** The user whom a proxy names, by name or by a verified address. */
export function findNamed(accounts: Pick<Accounts, "user" | "userByName" | "emails">, name: string): User | undefined {
  return name.includes("@") ? accounts.user(accounts.emails.findVerifiedOwner(name) ?? 0) : accounts.userByName(name);
}
