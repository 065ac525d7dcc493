import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Accounts } from "../identity/accounts.js";
import type { DirectoryEntry } from "../identity/provisioned.js";
import { type Identity, isSuspended, type NewUser, type User } from "../identity/user.js";
import type { Actor, Sender } from "../records/audit-log.js";
import { checkName } from "../records/validation.js";
import type { ProviderAnswer } from "./identity-provider.js";
import { type ProviderConfig, ProviderProblem } from "./provider-config.js";

/** Names that are tried for an account: `ann`, `ann-2`, and so on. */
const namesMax = 50;

const nameCharsMax = 200;

/** Of what a provider says, that of which an account is made. */
type NewPerson = Pick<ProviderAnswer, "issuer" | "subject" | "username" | "displayName" | "verifiedEmail">;

/**
 * The accounts of those who sign in with a provider. An account is found by issuer and subject only: names and addresses can be
 * given to somebody else, and some providers let users choose theirs.
 */
export class ProviderAccounts {
  readonly #accounts: Accounts;
  /** As in `SignInSettings`. */
  readonly #isReserved: (name: string) => boolean;

  constructor(accounts: Accounts, isReserved: (name: string) => boolean) {
    this.#accounts = accounts;
    this.#isReserved = isReserved;
  }

  /** The account of somebody who has signed in, which may be a new one. Rejects with `ProviderProblem` if there is none. */
  async enter(config: ProviderConfig, answer: ProviderAnswer, sender: Sender): Promise<User> {
    const known = this.#accounts.identities.find(answer);
    if (known !== undefined) requireOpen(known);
    const user =
      known ?? (await this.#linkedByAddress(config, answer, sender)) ?? (await this.#signUp(config, answer, sender));
    await this.setMemberships(config, user, answer.groups, sender);
    return user;
  }

  /** Links the account of a provider to that of a user who is signed in. */
  async link(config: ProviderConfig, userId: number, answer: ProviderAnswer, sender: Sender): Promise<User> {
    const user = this.#accounts.user(userId);
    if (user === undefined) throw new ProviderProblem("refused", "your account does not exist any more");
    const known = this.#accounts.identities.find(answer);
    if (known !== undefined && known.id !== user.id)
      throw new ProviderProblem("refused", `this account at ${config.displayName} belongs to another user here`);
    if (known === undefined)
      await this.#accounts.identities.link(user.name, answer, config.name, toActor(user.name, config, sender));
    await this.setMemberships(config, user, answer.groups, sender);
    return user;
  }

  /** Makes the user a member of the organizations of these groups, and of no other one that the provider decides about. */
  async setMemberships(
    { organizations: nameByGroup, ...config }: ProviderConfig,
    user: User,
    groups: readonly string[] | undefined,
    sender: Sender,
  ): Promise<void> {
    // What the directory sends is newer, and decides alone.
    if (groups === undefined || config.scimToken !== "") return;
    const { organizations } = this.#accounts;
    const wanted = new Set(groups.flatMap((group) => (Object.hasOwn(nameByGroup, group) ? [nameByGroup[group]] : [])));
    // What is taken away comes first: it must not depend on what can fail.
    const names = [...new Set(Object.values(nameByGroup))];
    for (const name of names.sort((a, b) => Number(wanted.has(a)) - Number(wanted.has(b)))) {
      const isMember = organizations.byName(name)?.memberIds.includes(user.id) === true;
      if (isMember === wanted.has(name)) continue;
      const actor = toActor(user.name, config, sender);
      if (organizations.byName(name) === undefined)
        await organizations.create({ name, displayName: "", memberIds: [] }, actor).catch((error: unknown) => {
          // Another member may have been faster.
          if (organizations.byName(name) === undefined) throw error;
        });
      await organizations.setMember(name, user.name, wanted.has(name), actor);
    }
  }

  /** The account that belongs to a user of the provider's directory; undefined if it has none yet. */
  findFor(config: ProviderConfig, identity: Identity | undefined, email: string): User | undefined {
    const known = identity === undefined ? undefined : this.#accounts.identities.find(identity);
    return known ?? (config.linkVerifiedEmail && email !== "" ? this.#ownerWithout(config, email) : undefined);
  }

  /** Makes the account of a user of the provider's directory. Rejects with `conflict` if there is no name for it. */
  async createFor(
    config: ProviderConfig,
    entry: DirectoryEntry,
    { subject, email, isActive }: { readonly subject: string; readonly email: string; readonly isActive: boolean },
    actor: Actor,
  ): Promise<User> {
    const { userName: username, displayName } = entry;
    const given = {
      username,
      verifiedEmail: email,
      displayName: displayName || username,
      subject,
      issuer: config.issuer,
    };
    const user = await this.#createNamed(config, given, (newUser) =>
      this.#accounts.createProvisioned(
        subject === "" ? { ...newUser, identity: undefined } : newUser,
        { entry, isActive },
        actor,
      ),
    );
    if (user === undefined)
      throw new TrawlError("conflict", `there is no name for an account of ${JSON.stringify(username)}`);
    return user;
  }

  /** The owner of the address if it was verified here, unless somebody signs in to the account by this provider already. */
  #ownerWithout({ issuer }: Pick<ProviderConfig, "issuer">, email: string): User | undefined {
    const { emails, identities } = this.#accounts;
    const user = this.#accounts.user(emails.findVerifiedOwner(email) ?? 0);
    return user === undefined || identities.forUser(user.id).some((other) => other.issuer === issuer)
      ? undefined
      : user;
  }

  /** Only where both sides have verified the address. */
  async #linkedByAddress(config: ProviderConfig, answer: ProviderAnswer, sender: Sender): Promise<User | undefined> {
    if (!config.linkVerifiedEmail || answer.verifiedEmail === "") return undefined;
    const user = this.#ownerWithout(answer, answer.verifiedEmail);
    if (user === undefined) return undefined;
    requireOpen(user);
    return this.#accounts.identities.link(user.name, answer, config.name, toActor(user.name, config, sender));
  }

  async #signUp(config: ProviderConfig, answer: ProviderAnswer, sender: Sender): Promise<User> {
    requireSignUp(config, answer);
    const base = chooseName(answer);
    if (base === "")
      throw new ProviderProblem("refused", `${config.displayName} says no name that could be yours here`);
    const user = await this.#createNamed(config, answer, (newUser) =>
      this.#accounts.createUser(newUser, toActor(newUser.name, config, sender)),
    ).catch((error: unknown) => {
      throw toProblem(error);
    });
    if (user !== undefined) return user;
    throw new ProviderProblem(
      "refused",
      `the name ${JSON.stringify(base)} belongs to another account here: ask a site admin`,
    );
  }

  /** Tries one name after another; undefined if all belong to others, or there is none. */
  async #createNamed(
    config: ProviderConfig,
    answer: NewPerson,
    create: (user: NewUser) => Promise<User>,
  ): Promise<User | undefined> {
    const base = chooseName(answer);
    if (base === "") return undefined;
    // What the provider alone decides is also the name that somebody has listed before the first sign-in.
    const names = config.trustUsernames ? [base] : this.#freeNames(base);
    for (const name of names) {
      try {
        return await create(this.#newUser(name, config, answer));
      } catch (error) {
        const isTaken = error instanceof TrawlError && error.code === "conflict" && this.#accounts.isNameTaken(name);
        if (!isTaken) throw error;
      }
    }
    return undefined;
  }

  /** One after another: each look goes through the readers of all repositories, and the first name is usually free. */
  *#freeNames(base: string): Generator<string> {
    for (let at = 1; at <= namesMax; at++) {
      const name = at === 1 ? base : `${base}-${at}`;
      if (!this.#accounts.isNameTaken(name) && !this.#isReserved(name)) yield name;
    }
  }

  #newUser(name: string, config: ProviderConfig, { issuer, subject, displayName, verifiedEmail }: NewPerson): NewUser {
    // An address that is verified here counts everywhere, so not every provider may say it.
    const isTrusted = config.linkVerifiedEmail || config.signUpDomains.includes(domainIn(verifiedEmail));
    const hasAddress =
      verifiedEmail !== "" && isTrusted && this.#accounts.emails.findOwner(verifiedEmail) === undefined;
    return {
      name,
      displayName: displayName.slice(0, nameCharsMax),
      isSiteAdmin: false,
      identity: { issuer, subject, provider: config.name },
      ...(hasAddress ? { email: { address: verifiedEmail, isVerified: true } } : {}),
    };
  }
}

/** Otherwise somebody who is suspended would get another account. */
function requireOpen(user: User): void {
  if (isSuspended(user)) throw new ProviderProblem("refused", "your account is suspended: ask a site admin");
}

/** Throws `ProviderProblem` unless the rules of the provider let this person have an account. */
function requireSignUp(config: ProviderConfig, { verifiedEmail, groups }: ProviderAnswer): void {
  const { displayName, signUp, signUpDomains, signUpGroups } = config;
  if (signUp === "all") return;
  const refused = (reason: string): ProviderProblem =>
    new ProviderProblem("refused", `${reason}: ask a site admin for one`);
  if (signUp === "none")
    throw refused(`your account at ${displayName} is linked to no account here, and none is made by signing in`);
  const isListed =
    (verifiedEmail !== "" && signUpDomains.includes(domainIn(verifiedEmail))) ||
    groups?.some((group) => signUpGroups.includes(group)) === true;
  if (!isListed)
    throw refused(
      verifiedEmail === "" && signUpDomains.length > 0
        ? `${displayName} names neither a verified address nor a group with which you would get an account here`
        : "neither your address nor your groups give you an account here",
    );
}

function domainIn(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1).toLowerCase();
}

/** A valid name from what the provider says; "" if there is none. */
function chooseName({ username, verifiedEmail, displayName }: NewPerson): string {
  for (const text of [username, verifiedEmail, displayName]) {
    const [local = ""] = text.split("@");
    // Of several separators one remains, so there is at most one at each end.
    const name = local
      .replace(/[^A-Za-z0-9_.-]+/g, "-")
      .replace(/[.-]{2,}/g, "-")
      .slice(0, nameCharsMax)
      .replace(/^[.-]/, "")
      .replace(/[.-]$/, "");
    try {
      checkName(name);
      return name;
    } catch {
      // The next one may be one.
    }
  }
  return "";
}

function toActor(who: string, { name }: Pick<ProviderConfig, "name">, sender: Sender): Actor {
  return { who, sudoBy: undefined, ...sender, via: `identity provider ${name}` };
}

/** An account that cannot be made is a refusal, unless it is a fault of ours. */
function toProblem(error: unknown): unknown {
  return error instanceof TrawlError && error.httpStatus < 500
    ? new ProviderProblem("refused", `your account cannot be made: ${errorMessage(error)}`, { cause: error })
    : error;
}
