import { hash } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Actor } from "../records/audit-log.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import { requireRoom } from "../records/validation.js";
import type { Identity, User, UserFinder } from "./user.js";

/** An account at a provider that is linked to a user. */
export interface LinkedIdentity extends Identity {
  /** A hash of both, because they may be longer than a key. */
  readonly id: string;
  readonly userId: number;
  /** The name of the provider when it was linked. */
  readonly provider: string;
  /** RFC 3339. */
  readonly linkedAt: string;
}

const identitiesOfUserMax = 20;

/** Which accounts belong to the identities of providers. An identity belongs to at most one account. */
export class Identities {
  readonly #changes: TransactionQueue;
  readonly #users: UserFinder;
  readonly #table: RecordTable<LinkedIdentity>;
  readonly #idsOfUser = new Map<number, Set<string>>();
  /** Called soon after accounts were linked or unlinked. */
  onChanged: () => void = () => undefined;
  #isTold = false;

  constructor(tables: RecordTables, changes: TransactionQueue, users: UserFinder) {
    this.#changes = changes;
    this.#users = users;
    this.#table = tables.add("identity/", (before, after) => {
      if (before !== undefined) this.#idsOfUser.get(before.userId)?.delete(before.id);
      if (after !== undefined)
        this.#idsOfUser.set(after.userId, (this.#idsOfUser.get(after.userId) ?? new Set()).add(after.id));
      this.#tell();
    });
  }

  /** Once for many, and when the whole change is visible. */
  #tell(): void {
    if (this.#isTold) return;
    this.#isTold = true;
    setImmediate(() => {
      this.#isTold = false;
      this.onChanged();
    });
  }

  /** The user with this identity; undefined if there is none. */
  find(identity: Identity): User | undefined {
    const stored = this.#table.get(identityKey(identity));
    return stored === undefined ? undefined : this.#users.get(stored.userId);
  }

  /** In the order in which they were linked. */
  forUser(userId: number): readonly LinkedIdentity[] {
    const all = [...(this.#idsOfUser.get(userId) ?? [])].flatMap((id) => this.#table.get(id) ?? []);
    return all.sort((a, b) => (a.linkedAt < b.linkedAt ? -1 : 1));
  }

  /** Rejects with `conflict` if the identity belongs to another account. */
  link(userName: string, identity: Identity, provider: string, actor: Actor): Promise<User> {
    return this.#changes.commit(
      () => {
        const user = this.#users.require(userName);
        return { steps: [this.adding(user, identity, provider)], result: user };
      },
      (user) => auditEntry("identity-linked", actor, { user: user.name, provider, subject: identity.subject }),
    );
  }

  /** The write that links an identity to the user. Throws `conflict` if it belongs to another account. */
  adding(user: User, { issuer, subject }: Identity, provider: string): RecordWrite {
    const id = identityKey({ issuer, subject });
    if (this.#table.get(id) !== undefined)
      throw new TrawlError("conflict", `this account at ${provider} is linked to another user already`);
    requireRoom(this.#idsOfUser.get(user.id)?.size ?? 0, identitiesOfUserMax, `identities of ${user.name}`);
    return this.#table.put({ id, issuer, subject, userId: user.id, provider, linkedAt: new Date().toISOString() });
  }

  /**
   * The writes with which this is the identity that the user has at the provider; none without one, or if it is so. Throws
   * `conflict` if it belongs to another account.
   */
  replacing(user: User, identity: (Identity & { readonly provider: string }) | undefined): readonly RecordWrite[] {
    if (identity === undefined || this.find(identity)?.id === user.id) return [];
    const former = this.forUser(user.id).filter(({ issuer }) => issuer === identity.issuer);
    return [...former.map((other) => this.#table.remove(other)), this.adding(user, identity, identity.provider)];
  }

  get(id: string): LinkedIdentity | undefined {
    return this.#table.get(id);
  }

  /** The write that unlinks it. */
  removingOne(identity: LinkedIdentity): RecordWrite {
    return this.#table.remove(identity);
  }

  /** The writes that remove all identities of the user. */
  removing({ id }: User): readonly RecordWrite[] {
    return this.forUser(id).map((identity) => this.#table.remove(identity));
  }
}

function identityKey({ issuer, subject }: Identity): string {
  return hash("sha256", JSON.stringify([issuer, subject]), "hex");
}
