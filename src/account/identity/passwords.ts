import type { Identities } from "./identities.js";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import type { AccessTokens } from "./access-tokens.js";
import type { User, UserFinder } from "./user.js";
import { monotonicMs } from "../../base/deadline.js";
import { type Actor, auditEntry, type AuditLog, type Sender, type SignInRefusal } from "../records/audit-log.js";
import { networkPrefix, limitOfGuesses, RateLimiter } from "../records/rate-limiter.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import { checkPassword } from "../records/validation.js";
import { hashOfSecretText, newSecretText } from "./secret-text.js";
import type { Sessions } from "./sessions.js";
import { hash, verify } from "@node-rs/argon2";
import { FairSemaphore } from "../../base/fair-semaphore.js";

/** The password of the user with this id. */
interface StoredPassword {
  readonly id: number;
  /** As written by argon2, with its parameters. */
  readonly hash: string;
}

/** The link with which the user with this id may set a password; only the hash of its code is stored. */
interface StoredReset {
  readonly id: number;
  readonly hash: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

export interface ResetLink {
  /** To be appended to the address of the site. */
  readonly path: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

/** What users have besides passwords, some of which end with a password. */
interface CredentialsOfUsers {
  readonly sessions: Sessions;
  readonly tokens: Pick<AccessTokens, "removingUser">;
  readonly identities: Pick<Identities, "removing">;
}

const resetLifetimeMs = 24 * 3_600_000;

/**
 * Passwords of users, and the links with which they set one. A new user has no password, and cannot sign in.
 *
 * Changing a password ends all sessions of the user; a reset, after which nobody should act for the user who did before,
 * ends access tokens too. A link is created by a site admin, who passes it on; it is valid
 * once, for a day, and until another one is created or a password is set.
 */
export class Passwords {
  readonly #changes: TransactionQueue;
  readonly #sessions: Sessions;
  readonly #users: UserFinder;
  readonly #hasher = new PasswordHasher();
  readonly #table: RecordTable<StoredPassword>;
  readonly #resets: RecordTable<StoredReset>;
  readonly #tokens: CredentialsOfUsers["tokens"];
  readonly #identities: CredentialsOfUsers["identities"];
  readonly #audit: Pick<AuditLog, "recordSignInRefusal">;
  /** Guesses of old passwords, by network and user. */
  readonly #guesses = new RateLimiter(limitOfGuesses);

  constructor(
    tables: RecordTables,
    changes: TransactionQueue,
    users: UserFinder,
    audit: Pick<AuditLog, "recordSignInRefusal">,
    { sessions, tokens, identities }: CredentialsOfUsers,
  ) {
    this.#identities = identities;
    this.#audit = audit;
    this.#tokens = tokens;
    this.#changes = changes;
    this.#sessions = sessions;
    this.#users = users;
    this.#table = tables.add("password/", () => undefined);
    this.#resets = tables.add("reset/", () => undefined);
  }

  has(userId: number): boolean {
    return this.#table.get(userId) !== undefined;
  }

  /** Changes whenever the password changes. */
  stamp(userId: number): string | undefined {
    return this.#table.get(userId)?.hash;
  }

  /** Whether it is the user's password. It takes as long for users without a password, and for unknown users. */
  matches(userId: number | undefined, password: string, client = "", isKnown = false): Promise<boolean> {
    const kept = userId === undefined ? undefined : this.#table.get(userId)?.hash;
    return this.#hasher.matches(kept, password, client, isKnown);
  }

  /**
   * The stored form of a password. Throws `bad-request` if it is too short or too long. `client` is who waits for it:
   * clients take turns.
   */
  async hashed(password: string, client: string): Promise<string> {
    checkPassword(password);
    return this.#hasher.hash(password, client);
  }

  /** Sets the password of a user. */
  async set(userName: string, password: string, actor: Actor): Promise<void> {
    this.#users.require(userName);
    const kept = await this.hashed(password, actor.from);
    await this.#commitNew(() => this.#users.require(userName), kept, actor);
  }

  /**
   * Changes the user's own password. Rejects with `forbidden` if the old one is wrong, and with `too-many-requests` after
   * several wrong ones: who has a session must not guess faster than who signs in.
   */
  async change(userName: string, oldPassword: string, newPassword: string, actor: Actor): Promise<void> {
    const user = this.#users.require(userName);
    checkPassword(newPassword);
    const before = this.#table.get(user.id)?.hash;
    const client = `${networkPrefix(actor.from)} user/${user.id}`;
    const waitMs = this.#guesses.begin(client, monotonicMs());
    const refuse = (reason: SignInRefusal): void =>
      this.#audit.recordSignInRefusal({ from: actor.from, requestId: actor.requestId }, { user: user.name, reason });
    if (waitMs > 0) {
      refuse("too many attempts to change the password");
      const seconds = Math.ceil(waitMs / 1000);
      throw new TrawlError("too-many-requests", `too many wrong passwords: try again in ${seconds} s`);
    }
    if (!(await this.matches(user.id, oldPassword, client))) {
      refuse("wrong old password");
      throw new TrawlError("forbidden", "wrong old password");
    }
    this.#guesses.forget(client);
    const kept = await this.hashed(newPassword, client);
    await this.#commitNew(
      () => {
        if (this.#table.get(user.id)?.hash !== before)
          throw new TrawlError("conflict", "the password was changed by another request in the meantime");
        return this.#users.require(userName);
      },
      kept,
      actor,
    );
  }

  /**
   * Creates a link with which the user can set a password, replacing an earlier link. The existing password remains
   * valid.
   */
  newReset(userName: string, actor: Actor): Promise<ResetLink> {
    return this.#newReset(userName, () => [], actor);
  }

  /**
   * Removes the password and the links to identity providers, ends the user's sessions and access tokens, and creates a link with which the user can set a new
   * one.
   */
  randomize(userName: string, actor: Actor): Promise<ResetLink> {
    return this.#newReset(
      userName,
      (user) => [
        ...this.#withoutPassword(user),
        ...this.#sessions.removing(user),
        ...this.#tokens.removingUser(user.id),
        ...this.#identities.removing(user),
      ],
      actor,
    );
  }

  /** Sets the password with a link. Rejects with `forbidden` if the link is invalid, used or expired. */
  async useReset(userId: number, code: string, password: string, sender: Sender): Promise<User> {
    const codeHash = hashOfSecretText(code);
    const requireOwner = (): User => this.#requireOwner(userId, codeHash);
    const { name } = requireOwner();
    const kept = await this.hashed(password, networkPrefix(sender.from));
    return this.#commitNew(requireOwner, kept, { who: name, sudoBy: undefined, ...sender }, (user) => [
      ...this.#tokens.removingUser(user.id),
      ...this.#identities.removing(user),
    ]);
  }

  /** The writes that give the user a password that has already been hashed. */
  adding({ id }: User, kept: string): readonly RecordWrite[] {
    return [this.#table.put({ id, hash: kept })];
  }

  /** The writes that remove the user's password and link. */
  removing(user: User): readonly RecordWrite[] {
    return [...this.#withoutPassword(user), ...this.#withoutReset(user)];
  }

  #commitNew(
    requireUser: () => User,
    kept: string,
    actor: Actor,
    moreSteps: (user: User) => readonly RecordWrite[] = () => [],
  ): Promise<User> {
    return this.#changes.commit(
      () => {
        const user = requireUser();
        return {
          steps: [
            ...this.adding(user, kept),
            ...this.#withoutReset(user),
            ...this.#sessions.removing(user),
            ...moreSteps(user),
          ],
          result: user,
        };
      },
      (user) => auditEntry("password-changed", actor, { user: user.name }),
    );
  }

  async #newReset(
    userName: string,
    moreSteps: (user: User) => readonly RecordWrite[],
    actor: Actor,
  ): Promise<ResetLink> {
    const code = newSecretText();
    const expiresAt = new Date(new Date().getTime() + resetLifetimeMs).toISOString();
    const { id } = await this.#changes.commit(
      () => {
        const user = this.#users.require(userName);
        return {
          steps: [this.#resets.put({ id: user.id, hash: hashOfSecretText(code), expiresAt }), ...moreSteps(user)],
          result: user,
        };
      },
      (user) => auditEntry("password-link-created", actor, { user: user.name, expiresAt }),
    );
    return { path: `/password-reset?code=${code}&userID=${id}`, expiresAt };
  }

  #requireOwner(userId: number, codeHash: string): User {
    const reset = this.#resets.get(userId);
    const isGood =
      reset !== undefined &&
      timingSafeEqual(Buffer.from(reset.hash), Buffer.from(codeHash)) &&
      Date.parse(reset.expiresAt) > new Date().getTime();
    const user = isGood ? this.#users.active(userId) : undefined;
    if (user === undefined) throw new TrawlError("forbidden", "Password reset code was invalid or expired.");
    return user;
  }

  #withoutPassword({ id }: User): readonly RecordWrite[] {
    const stored = this.#table.get(id);
    return stored === undefined ? [] : [this.#table.remove(stored)];
  }

  #withoutReset({ id }: User): readonly RecordWrite[] {
    const stored = this.#resets.get(id);
    return stored === undefined ? [] : [this.#resets.remove(stored)];
  }
}

/**
 * argon2id with 19 MiB and two passes, the minimum that OWASP recommends: 20 ms on one core. `algorithm` 2 is argon2id.
 */
const cost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Limit on passwords waiting to be checked; a further one is refused. 100 of them take two seconds. */
const waitingMax = 100;

/** Of one client, so that it cannot fill the queue. */
const clientWaitingMax = 20;

/**
 * Additional limit for users signing in from a network from which they have signed in before: a flood of other attempts
 * does not lock them out.
 */
const waitingOfKnownMax = 50;

/**
 * Computes and compares password hashes one at a time, on a thread other than the main thread: many simultaneous
 * sign-ins use one core and 19 MiB, and wait for each other. Clients take turns: many passwords of one delay another's by
 * one hash.
 */
class PasswordHasher {
  readonly #turns = new FairSemaphore({
    countMax: 1,
    clientCountMax: 1,
    waitingMax: waitingMax + waitingOfKnownMax,
    clientWaitingMax,
  });
  /**
   * A hash that matches no password, for users without one: they are refused after the same time as users who have one.
   */
  readonly #ofNothing =
    `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${unpadded(16)}$${unpadded(32)}`;

  /** The stored form of a password: parameters, salt and hash. */
  hash(password: string, client: string): Promise<string> {
    return this.#inTurn(client, waitingMax, () => hash(password, cost));
  }

  /** Whether the hash matches the password; undefined stands for a user without a password. */
  matches(kept: string | undefined, password: string, client: string, isKnown: boolean): Promise<boolean> {
    const max = isKnown ? waitingMax + waitingOfKnownMax : waitingMax;
    return this.#inTurn(client, max, () => verify(kept ?? this.#ofNothing, password));
  }

  /** Rejects with `overloaded` if too many are waiting, of this client or of all. */
  async #inTurn<T>(client: string, max: number, work: () => Promise<T>): Promise<T> {
    const { waitingCount } = this.#turns;
    if (waitingCount >= max || this.#turns.refusal(client) !== undefined)
      throw new TrawlError("overloaded", `${waitingCount} passwords are waiting to be checked; try again in a moment`);
    return await new Promise((resolve, reject) => {
      this.#turns.acquire(client, (release) => {
        work().finally(release).then(resolve, reject);
      });
    });
  }
}

/** Random bytes in the base64 variant of argon2's text format. */
function unpadded(byteCount: number): string {
  return randomBytes(byteCount).toString("base64").replaceAll("=", "");
}
