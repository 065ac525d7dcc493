import { TrawlError } from "../../base/errors.js";
import type { User, UserFinder } from "./user.js";
import { auditEntry, type AuditEntry, type Actor } from "../records/audit-log.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import { reindex, type RecordTable, type RecordTables, type RecordWrite } from "../records/record-table.js";
import { checkEmail, requireRoom } from "../records/validation.js";

export interface Email {
  readonly address: string;
  /**
   * Whether a site admin, or an identity provider or proxy that is trusted with addresses, has confirmed that it belongs to the
   * user.
   */
  readonly isVerified: boolean;
  /** RFC 3339. */
  readonly addedAt: string;
}

/** The addresses of the user with this id, the primary one first. */
interface StoredEmails {
  readonly id: number;
  readonly emails: readonly Email[];
}

const emailsOfUserMax = 20;

/**
 * E-mail addresses of users. Each address belongs to at most one user, and comparisons ignore case. A user's first
 * address is primary until another one is made primary.
 */
export class Emails {
  readonly #changes: TransactionQueue;
  readonly #users: UserFinder;
  readonly #table: RecordTable<StoredEmails>;
  readonly #userIdOfAddress = new Map<string, number>();

  constructor(tables: RecordTables, changes: TransactionQueue, users: UserFinder) {
    this.#changes = changes;
    this.#users = users;
    this.#table = tables.add("email/", (before, after) => {
      reindex(this.#userIdOfAddress, before, after, ({ emails }) => emails.map(({ address }) => address.toLowerCase()));
    });
  }

  /** The primary one first. */
  of(userId: number): readonly Email[] {
    return this.#table.get(userId)?.emails ?? [];
  }

  /** The owner of an address; undefined if there is none. */
  findOwner(address: string): number | undefined {
    return this.#userIdOfAddress.get(address.toLowerCase());
  }

  /** The owner of a verified address; undefined if there is none. */
  findVerifiedOwner(address: string): number | undefined {
    const owner = this.findOwner(address);
    const found =
      owner === undefined
        ? undefined
        : this.of(owner).find((email) => email.address.toLowerCase() === address.toLowerCase());
    return found?.isVerified === true ? owner : undefined;
  }

  /** Rejects with `conflict` if the address is taken. */
  add(userName: string, address: string, isVerified: boolean, actor: Actor): Promise<Email> {
    checkEmail(address);
    return this.#changes.commit(
      () => {
        const email: Email = { address, isVerified, addedAt: new Date().toISOString() };
        return { steps: [this.adding(this.#users.require(userName), email)], result: email };
      },
      () => auditEntry("email-added", actor, { user: userName, email: address, isVerified }),
    );
  }

  remove(userName: string, address: string, actor: Actor): Promise<void> {
    return this.#change(
      userName,
      address,
      (email, others) => [others, email],
      (email) => auditEntry("email-removed", actor, { user: userName, email: email.address }),
    );
  }

  setPrimary(userName: string, address: string, actor: Actor): Promise<void> {
    return this.#change(
      userName,
      address,
      (email, others) => [[email, ...others], email],
      (email) => auditEntry("email-changed", actor, { user: userName, email: email.address, isPrimary: true }),
    );
  }

  setVerified(userName: string, address: string, isVerified: boolean, actor: Actor): Promise<void> {
    return this.#change(
      userName,
      address,
      (email, _, all) => {
        const changed = { ...email, isVerified };
        return [all.map((other) => (other === email ? changed : other)), changed];
      },
      (email) => auditEntry("email-changed", actor, { user: userName, email: email.address, isVerified }),
    );
  }

  /** The write that adds an address to the user. Throws `conflict` if the address is taken. */
  adding(user: User, email: Email): RecordWrite {
    if (this.findOwner(email.address) !== undefined)
      throw new TrawlError("conflict", `the e-mail address ${JSON.stringify(email.address)} is already taken`);
    const emails = this.of(user.id);
    requireRoom(emails.length, emailsOfUserMax, `e-mail addresses of ${user.name}`);
    return this.#table.put({ id: user.id, emails: [...emails, email] });
  }

  /** The writes that remove all addresses of the user. */
  removing(user: User): readonly RecordWrite[] {
    const stored = this.#table.get(user.id);
    return stored === undefined ? [] : [this.#table.remove(stored)];
  }

  /** `decide` receives the address, the user's other addresses and all of them in order; it returns the new list. */
  async #change(
    userName: string,
    address: string,
    decide: (email: Email, others: readonly Email[], all: readonly Email[]) => readonly [readonly Email[], Email],
    entryOf: (email: Email) => AuditEntry,
  ): Promise<void> {
    await this.#changes.commit(() => {
      const user = this.#users.require(userName);
      const all = this.of(user.id);
      const email = all.find((candidate) => candidate.address.toLowerCase() === address.toLowerCase());
      if (email === undefined)
        throw new TrawlError("not-found", `${user.name} has no e-mail address ${JSON.stringify(address)}`);
      const [emails, result] = decide(
        email,
        all.filter((other) => other !== email),
        all,
      );
      return { steps: [this.#table.put({ id: user.id, emails })], result };
    }, entryOf);
  }
}
