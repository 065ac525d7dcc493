import { timingSafeEqual } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import type { User, UserFinder } from "./user.js";
import { auditEntry, type Actor } from "../records/audit-log.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import { PasswordHasher } from "./password-hasher.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import { checkPassword } from "./validation.js";
import { hashOfSecretText, newSecretText } from "./secret-text.js";
import type { Sessions } from "../sign-in/sessions.js";

/** The password of the user with this id. */
interface StoredPassword {
  readonly id: number;
  /** As argon2 writes it, with its parameters. */
  readonly hash: string;
}

/** The link by which the user with this id may set a password; only the hash of its code is kept. */
interface StoredReset {
  readonly id: number;
  readonly hash: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

export interface ResetLink {
  /** To be put behind the address of the site. */
  readonly path: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

const resetLifetimeMs = 24 * 3_600_000;

/**
 * Passwords of users, and the links by which they set one. A user has none at first, and then cannot sign in.
 *
 * Whoever's password changes is signed out everywhere. A link is made by a site admin, who hands it over; it is good
 * once, for a day, and until another one is made or a password is set.
 */
export class Passwords {
  readonly #changes: TransactionQueue;
  readonly #sessions: Sessions;
  readonly #users: UserFinder;
  readonly #hasher = new PasswordHasher();
  readonly #table: RecordTable<StoredPassword>;
  readonly #resets: RecordTable<StoredReset>;

  constructor(tables: RecordTables, changes: TransactionQueue, sessions: Sessions, users: UserFinder) {
    this.#changes = changes;
    this.#sessions = sessions;
    this.#users = users;
    this.#table = tables.add("password/", () => undefined);
    this.#resets = tables.add("reset/", () => undefined);
  }

  has(userId: number): boolean {
    return this.#table.get(userId) !== undefined;
  }

  /** Differs from what it was before when the password has changed. */
  stamp(userId: number): string | undefined {
    return this.#table.get(userId)?.hash;
  }

  /** Whether it is the user's password. It takes as long for those who have none, and for nobody. */
  matches(userId: number | undefined, password: string, isKnown = false): Promise<boolean> {
    return this.#hasher.matches(userId === undefined ? undefined : this.#table.get(userId)?.hash, password, isKnown);
  }

  /** What is kept of a password. Throws `bad-request` when it is too short or too long. */
  async hashed(password: string): Promise<string> {
    checkPassword(password);
    return this.#hasher.hash(password);
  }

  /** Sets the password of a user. */
  async set(userName: string, password: string, actor: Actor): Promise<void> {
    this.#users.require(userName);
    const kept = await this.hashed(password);
    await this.#commitNew(() => this.#users.require(userName), kept, actor);
  }

  /** Sets one's own password. Rejects with `forbidden` when the old one is wrong. */
  async change(userName: string, oldPassword: string, newPassword: string, actor: Actor): Promise<void> {
    const user = this.#users.require(userName);
    checkPassword(newPassword);
    const before = this.#table.get(user.id)?.hash;
    if (!(await this.matches(user.id, oldPassword))) throw new TrawlError("forbidden", "wrong old password");
    const kept = await this.hashed(newPassword);
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

  /** Makes a link by which the user sets a password, in place of an earlier one. The password there is stays. */
  newReset(userName: string, actor: Actor): Promise<ResetLink> {
    return this.#newReset(userName, () => [], actor);
  }

  /** Takes the password away, ends the user's sessions, and makes a link by which the user sets another one. */
  randomize(userName: string, actor: Actor): Promise<ResetLink> {
    return this.#newReset(
      userName,
      (user) => [...this.#withoutPassword(user), ...this.#sessions.removing(user)],
      actor,
    );
  }

  /** Sets the password by a link. Rejects with `forbidden` when it is none, was used or has expired. */
  async useReset(userId: number, code: string, password: string, from: string): Promise<User> {
    const codeHash = hashOfSecretText(code);
    const requireOwner = (): User => this.#requireOwner(userId, codeHash);
    const { name } = requireOwner();
    const kept = await this.hashed(password);
    return this.#commitNew(requireOwner, kept, { who: name, sudoBy: undefined, from });
  }

  /** The steps of a change that give the user a password that was hashed before. */
  adding({ id }: User, kept: string): readonly RecordWrite[] {
    return [this.#table.put({ id, hash: kept })];
  }

  /** The steps of a change that leave the user without password and link. */
  removing(user: User): readonly RecordWrite[] {
    return [...this.#withoutPassword(user), ...this.#withoutReset(user)];
  }

  #commitNew(requireUser: () => User, kept: string, actor: Actor): Promise<User> {
    return this.#changes.commit(
      () => {
        const user = requireUser();
        return {
          steps: [...this.adding(user, kept), ...this.#withoutReset(user), ...this.#sessions.removing(user)],
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
    const user = isGood ? this.#users.get(userId) : undefined;
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
