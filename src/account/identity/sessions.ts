import { TrawlError } from "../../base/errors.js";
import { eachInSteps } from "../../base/yielding.js";
import type { Identity, User, UserFinder } from "./user.js";
import { auditEntry, type AuditEntry, type Actor } from "../records/audit-log.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { Leases } from "./leases.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import { hashOfSecretText, newSecretText } from "./secret-text.js";

/** The sign-in at an identity provider on which a session depends. */
export interface SessionProvider extends Identity {
  readonly name: string;
  /** The session at the provider; absent if it has named none. */
  readonly sessionId?: string;
  /** Whether the provider is asked from time to time, with a refresh token. */
  readonly isRefreshed: boolean;
  /** Absent in records of older programs, and if it could not be stored: then the session ends after a restart. */
  readonly refresh?: StoredRefresh;
}

/** With what the provider is asked about a session. */
export interface StoredRefresh {
  /** The refresh token, encrypted; see `SealedTexts`. */
  readonly sealed: string;
  /** RFC 3339: when the provider has last said that the user is signed in. */
  readonly checkedAt: string;
}

/** A session that an identity provider may end. */
export interface ProviderSession {
  readonly id: string;
  readonly userId: number;
  readonly provider: SessionProvider;
}

/** A signed-in browser. Its cookie contains a random text, of which only the hash is stored. */
interface StoredSession {
  /** The hash. */
  readonly id: string;
  readonly userId: number;
  /**
   * Greater than that of each session opened before: the wall clock may go back, so it does not determine which is
   * older.
   */
  readonly number: number;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Absent for a sign-in with a password, and by a proxy. */
  readonly provider?: SessionProvider;
  /** Whether a proxy has named the user, which has to be so at each request. */
  readonly isByProxy?: boolean;
}

/** A further session ends the oldest. */
const sessionsOfUserMax = 20;
const sessionCountMax = 100_000;

const textPattern = /^[0-9a-f]{64}$/;

/**
 * Sessions survive a restart of the process, and end when they expire, at sign-out, when the user's password changes,
 * when the user is deleted, and when the identity provider says so.
 */
export class Sessions {
  readonly #changes: TransactionQueue;
  readonly #users: UserFinder;
  readonly #table: RecordTable<StoredSession>;
  readonly #idsOfUser = new Map<number, Set<string>>();
  /** Sessions of sign-ins at identity providers. */
  readonly #providerIds = new Set<string>();

  constructor(tables: RecordTables, changes: TransactionQueue, users: UserFinder, leases: Leases) {
    this.#changes = changes;
    this.#users = users;
    this.#table = tables.add("session/", (before, after) => {
      if (before !== undefined) this.#forget(before);
      if (before !== undefined && after === undefined) leases.end(`session/${before.id}`, "The session has ended.");
      if (after === undefined) return;
      this.#idsOfUser.set(after.userId, (this.#idsOfUser.get(after.userId) ?? new Set()).add(after.id));
      if (after.provider !== undefined) this.#providerIds.add(after.id);
    });
  }

  /**
   * Opens a session; only the caller knows its text. `isStillAllowed` is called when nothing can happen in between: a
   * password that was changed while it was being checked lets nobody in. `entry` records who signs in, and from where.
   */
  async open(
    user: User,
    lifetimeMs: number,
    isStillAllowed: () => boolean,
    entry: AuditEntry,
    by?: SessionProvider | "proxy",
  ): Promise<string> {
    const text = newSecretText();
    await this.#changes.commit(
      () => {
        if (this.#users.active(user.id) === undefined || !isStillAllowed())
          throw new TrawlError("forbidden", "Authentication failed");
        const now = new Date();
        const session: StoredSession = {
          id: hashOfSecretText(text),
          userId: user.id,
          number: this.#changes.newId(),
          createdAt: now.toISOString(),
          expiresAt: new Date(now.getTime() + lifetimeMs).toISOString(),
          ...(by === undefined ? {} : by === "proxy" ? { isByProxy: true } : { provider: by }),
        };
        return { steps: [...this.#makingRoom(user.id, now.getTime()), this.#table.put(session)], result: undefined };
      },
      () => entry,
    );
    return text;
  }

  get count(): number {
    return this.#table.count;
  }

  /** The user who is signed in with this text; undefined if nobody is. */
  find(text: string, nowMs: number): User | undefined {
    return this.lookUp(text, nowMs)?.user;
  }

  /** Like `find`, with what is known of the session. Expiry is checked against the wall clock, as for access tokens. */
  lookUp(
    text: string,
    nowMs: number,
  ): { readonly id: string; readonly user: User; readonly expiresMs: number; readonly isByProxy: boolean } | undefined {
    // The look-up uses the hash, so its duration reveals nothing about the text.
    const session = textPattern.test(text) ? this.#table.get(hashOfSecretText(text)) : undefined;
    const user = session === undefined || isOver(session, nowMs) ? undefined : this.#users.active(session.userId);
    return session === undefined || user === undefined
      ? undefined
      : { id: session.id, user, expiresMs: Date.parse(session.expiresAt), isByProxy: session.isByProxy === true };
  }

  /** Whether the session with this id has not been ended, nor its user deleted. It may have expired. */
  has(id: string): boolean {
    return this.#table.get(id) !== undefined;
  }

  /** Stores with what the provider of a session is asked from now on, unless it has ended. */
  keepRefresh(id: string, refresh: StoredRefresh): Promise<void> {
    return this.#changes.commit(
      () => {
        const session = this.#table.get(id);
        if (session?.provider === undefined) return { steps: [], result: undefined };
        const provider = { ...session.provider, refresh };
        return { steps: [this.#table.put({ ...session, provider })], result: undefined };
      },
      () => undefined,
    );
  }

  /** Ends a session, if it has not ended yet. */
  close(text: string, entry: AuditEntry): Promise<void> {
    return this.#changes.commit(
      () => {
        const session = this.#table.get(hashOfSecretText(text));
        return { steps: session === undefined ? [] : [this.#table.remove(session)], result: undefined };
      },
      () => entry,
    );
  }

  /** Those of sign-ins at identity providers that are wanted. There may be many: each `yield` ends a step. */
  *providerSessions(isWanted: (session: ProviderSession) => boolean): Generator<void, ProviderSession[]> {
    const found: ProviderSession[] = [];
    yield* eachInSteps([...this.#providerIds], (id) => {
      const { userId, provider } = this.#table.get(id) ?? {};
      if (userId === undefined || provider === undefined) return;
      const session = { id, userId, provider };
      if (isWanted(session)) found.push(session);
    });
    return found;
  }

  /** The writes that end the sessions of the user that began with this identity. */
  removingSignedInBy(userId: number, { issuer, subject }: Identity): readonly RecordWrite[] {
    return this.#ofUser(userId)
      .filter(({ provider }) => provider?.issuer === issuer && provider.subject === subject)
      .map((session) => this.#table.remove(session));
  }

  /** Ends those of these sessions that have not ended yet. */
  closeById(ids: readonly string[], entry: AuditEntry): Promise<void> {
    return this.#changes.commit(
      () => {
        const sessions = ids.flatMap((id) => this.#table.get(id) ?? []);
        return { steps: sessions.map((session) => this.#table.remove(session)), result: undefined };
      },
      () => entry,
    );
  }

  /** Ends all sessions of the user. */
  closeAll(userName: string, actor: Actor): Promise<void> {
    return this.#changes.commit(
      () => ({ steps: this.removing(this.#users.require(userName)), result: undefined }),
      () => auditEntry("sessions-ended", actor, { user: userName }),
    );
  }

  /** The writes that end all sessions of the user. */
  removing({ id }: User): readonly RecordWrite[] {
    return this.#ofUser(id).map((session) => this.#table.remove(session));
  }

  /** The writes that delete sessions that had expired at this time. */
  removingExpired(atMs: number): readonly RecordWrite[] {
    return [...this.#table.values()]
      .filter((session) => isOver(session, atMs))
      .map((session) => this.#table.remove(session));
  }

  #forget({ id, userId }: StoredSession): void {
    const ids = this.#idsOfUser.get(userId);
    ids?.delete(id);
    if (ids?.size === 0) this.#idsOfUser.delete(userId);
    this.#providerIds.delete(id);
  }

  /** In the order in which they were opened. */
  #ofUser(userId: number): readonly StoredSession[] {
    const sessions = [...(this.#idsOfUser.get(userId) ?? [])].flatMap((id) => this.#table.get(id) ?? []);
    return sessions.sort((a, b) => a.number - b.number);
  }

  /** Ends the user's expired and oldest sessions, and the oldest of all if there are too many. */
  #makingRoom(userId: number, nowMs: number): readonly RecordWrite[] {
    const sessions = this.#ofUser(userId);
    const kept = new Set(sessions.filter((session) => !isOver(session, nowMs)).slice(-sessionsOfUserMax + 1));
    const gone = sessions.filter((session) => !kept.has(session));
    const oldest = gone.length === 0 && this.#table.count >= sessionCountMax ? this.#oldest() : undefined;
    return [...gone, ...(oldest === undefined ? [] : [oldest])].map((session) => this.#table.remove(session));
  }

  #oldest(): StoredSession | undefined {
    let oldest: StoredSession | undefined;
    for (const session of this.#table.values())
      if (oldest === undefined || session.number < oldest.number) oldest = session;
    return oldest;
  }
}

function isOver({ expiresAt }: StoredSession, nowMs: number): boolean {
  return Date.parse(expiresAt) <= nowMs;
}
