import { timingSafeEqual } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Actor } from "../records/audit-log.js";
import { GroupIndex } from "../records/group-index.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { Leases } from "../sign-in/leases.js";
import type { LastUses } from "./last-uses.js";
import { hashOfSecretText } from "./secret-text.js";
import { hashOfToken, newTokenText } from "./token-text.js";
import {
  endMs,
  expiryMs,
  familyHash,
  isReplayed,
  newRefresh,
  newRefreshText,
  refreshed,
  refreshHashes,
  type RefreshableTexts,
  type RefreshLifetimes,
  type StoredToken,
} from "./refreshable-token.js";
import type { AccessToken, TokenRequest, User, UserFinder } from "./user.js";
import { checkNote, checkScopes, requireRoom } from "./validation.js";

interface KnownHash {
  readonly id: number;
  readonly hash: Uint8Array;
  readonly expiresMs: number;
}

const tokensOfUserMax = 1000;

/** Tokens that create one another. */
const chainMax = 8;

/** The access tokens of users. Only hashes of their texts are stored. */
export class AccessTokens {
  readonly #changes: TransactionQueue;
  readonly #users: UserFinder;
  readonly #lastUses: LastUses;
  readonly #table: RecordTable<StoredToken>;
  /** Parsed once from the record, because every request needs it. */
  readonly #byHash = new Map<string, KnownHash>();
  /** By current and by previous hash. */
  readonly #byRefresh = new Map<string, number>();
  readonly #idsOfUser = new GroupIndex<StoredToken>(({ userId }) => [userId]);
  /** By the token with which they were created. */
  readonly #idsOfMaker = new GroupIndex<StoredToken>(({ madeBy }) => (madeBy === undefined ? [] : [madeBy]));

  constructor(tables: RecordTables, changes: TransactionQueue, users: UserFinder, lastUses: LastUses, leases: Leases) {
    this.#changes = changes;
    this.#users = users;
    this.#lastUses = lastUses;
    this.#table = tables.add<StoredToken>("token/", (before, after) => {
      if (before !== undefined) this.#byHash.delete(before.hash);
      for (const hash of refreshHashes(before)) this.#byRefresh.delete(hash);
      for (const hash of refreshHashes(after)) this.#byRefresh.set(hash, after?.id ?? 0);
      if (before !== undefined && after === undefined)
        leases.end(`token/${before.id}`, "The access token was deleted.");
      if (after !== undefined) {
        const { id, hash } = after;
        this.#byHash.set(hash, { id, hash: Buffer.from(hash), expiresMs: expiryMs(after) });
      }
      this.#idsOfUser.change(before, after);
      this.#idsOfMaker.change(before, after);
    });
  }

  /** The tokens of one user, or of all. */
  list(userId?: number): readonly AccessToken[] {
    const tokens = userId === undefined ? [...this.#table.values()].sort((a, b) => a.id - b.id) : this.#ofUser(userId);
    return tokens.map((token) => this.#shown(token));
  }

  get(id: number): AccessToken | undefined {
    const token = this.#table.get(id);
    return token === undefined ? undefined : this.#shown(token);
  }

  /** Creates a token. Its text is returned to the caller, and is stored nowhere. */
  async create(
    userName: string,
    { scopes, note, lifetimeMs, maker }: TokenRequest,
    actor: Actor,
  ): Promise<{ readonly token: AccessToken; readonly text: string }> {
    checkNote(note);
    const text = newTokenText();
    const token = await this.#changes.commit(
      () => {
        const user = this.#users.require(userName);
        requireRoom(this.#idsOfUser.count(user.id), tokensOfUserMax, `access tokens of ${user.name}`);
        const now = new Date();
        const askedMs = lifetimeMs === undefined ? Infinity : now.getTime() + lifetimeMs;
        const endMs = maker?.mayShorten === true ? Math.min(askedMs, this.#expiryMs(maker.id)) : askedMs;
        if (maker !== undefined) this.#checkMaker(maker.id, endMs);
        const stored: StoredToken = {
          id: this.#changes.newId(),
          userId: user.id,
          creator: actor.who,
          note,
          scopes: checkScopes(scopes, user.isSiteAdmin),
          createdAt: now.toISOString(),
          expiresAt: endMs === Infinity ? "" : new Date(endMs).toISOString(),
          hash: hashOfToken(text) ?? "",
          ...(maker === undefined ? {} : { madeBy: maker.id }),
        };
        return { steps: [this.#table.put(stored)], result: stored };
      },
      ({ id, expiresAt }) => auditEntry("token-created", actor, { user: userName, token: id, scopes, note, expiresAt }),
    );
    return { token: this.#shown(token), text };
  }

  /** A token does not create one that is valid for longer than itself, nor a long chain of them. */
  #checkMaker(madeBy: number, endMs: number): void {
    const maker = this.#table.get(madeBy);
    if (maker === undefined) throw new TrawlError("forbidden", "the access token of this request was deleted");
    if (expiryMs(maker) < endMs)
      throw new TrawlError(
        "bad-request",
        `an access token cannot create one that is valid for longer than itself, until ${maker.expiresAt}; sign in to create it`,
      );
    let depth = 1;
    for (let one: StoredToken | undefined = maker; one?.madeBy !== undefined; one = this.#table.get(one.madeBy))
      depth++;
    if (depth > chainMax)
      throw new TrawlError(
        "bad-request",
        `access tokens create one another at most ${chainMax} deep; sign in to create it`,
      );
  }

  #expiryMs(id: number): number {
    const token = this.#table.get(id);
    return token === undefined ? 0 : expiryMs(token);
  }

  /** Creates a token whose text is valid for a short time, and is replaced by `refresh`. */
  async createRefreshable(
    userName: string,
    note: string,
    { lifetimeMs, refreshMs, familyMs }: RefreshLifetimes,
    actor: Actor,
  ): Promise<RefreshableTexts> {
    const texts = { text: newTokenText(), refreshText: newRefreshText() };
    const stored = await this.#changes.commit(
      () => {
        const user = this.#users.require(userName);
        requireRoom(this.#idsOfUser.count(user.id), tokensOfUserMax, `access tokens of ${user.name}`);
        const nowMs = new Date().getTime();
        const result: StoredToken = {
          id: this.#changes.newId(),
          userId: user.id,
          creator: actor.who,
          note,
          scopes: ["user:all"],
          createdAt: new Date(nowMs).toISOString(),
          expiresAt: new Date(nowMs + lifetimeMs).toISOString(),
          hash: hashOfToken(texts.text) ?? "",
          refresh: newRefresh(texts.refreshText, "", nowMs, refreshMs, new Date(nowMs + familyMs).toISOString()),
        };
        return { steps: [this.#table.put(result)], result };
      },
      ({ id, expiresAt, scopes }) =>
        auditEntry("token-created", actor, { user: userName, token: id, scopes, note, expiresAt }),
    );
    return { token: this.#shown(stored), ...texts };
  }

  /** Replaces both texts. Undefined if the text is unknown, replaced or expired, or its token was deleted. */
  async refresh(refreshText: string, times: RefreshLifetimes, from: string): Promise<RefreshableTexts | undefined> {
    const given = hashOfSecretText(refreshText);
    const found = this.#table.get(this.#findRefreshable(refreshText) ?? 0);
    const user = found === undefined ? undefined : this.#users.get(found.userId);
    if (found === undefined || user === undefined) return undefined;
    const actor: Actor = { who: user.name, sudoBy: undefined, from, via: `token ${found.id}` };
    const texts = { text: newTokenText(), refreshText: newRefreshText(refreshText) };
    const stored = await this.#changes.commit(
      () => {
        const result = refreshed(this.#table.get(found.id), given, texts, times);
        return { steps: result === undefined ? [] : [this.#table.put(result)], result };
      },
      (result) =>
        result === undefined
          ? undefined
          : auditEntry("token-refreshed", actor, { user: user.name, token: result.id, expiresAt: result.expiresAt }),
    );
    if (stored !== undefined) return { token: this.#shown(stored), ...texts };
    const left = this.#table.get(found.id);
    if (left !== undefined && isReplayed(left, given, new Date().getTime())) await this.delete(found.id, actor);
    return undefined;
  }

  /** Deletes the token that has this text, or can be refreshed with it. Does nothing if there is none. */
  async revoke(text: string, from: string): Promise<void> {
    const hash = hashOfToken(text);
    const id = (hash === undefined ? undefined : this.#byHash.get(hash)?.id) ?? this.#findRefreshable(text);
    const token = this.#table.get(id ?? 0);
    const user = token === undefined ? undefined : this.#users.get(token.userId);
    if (token === undefined || user === undefined) return;
    await this.delete(token.id, { who: user.name, sudoBy: undefined, from, via: `token ${token.id}` });
  }

  #findRefreshable(refreshText: string): number | undefined {
    const family = familyHash(refreshText);
    return this.#byRefresh.get(family ?? hashOfSecretText(refreshText));
  }

  delete(id: number, actor: Actor): Promise<AccessToken> {
    return this.#changes.commit(
      () => {
        const token = this.#table.get(id);
        if (token === undefined)
          throw new TrawlError(
            "not-found",
            `there is no access token ${id}; \`trawl token list\` lists the existing ones`,
          );
        return { steps: this.#removing(token), result: this.#shown(token) };
      },
      (token) => auditEntry("token-deleted", actor, { user: this.#users.get(token.userId)?.name, token: id }),
    );
  }

  /**
   * Returns the token with this text and its user, or undefined when the token is unknown, deleted, expired or
   * malformed.
   *
   * Expiry is compared with the wall clock at each use, and the outcome is not remembered: a clock that was wrong for a
   * while does no harm once it is right again.
   */
  find(text: string, nowMs: number): { readonly token: AccessToken; readonly user: User } | undefined {
    const hash = hashOfToken(text);
    const known = hash === undefined ? undefined : this.#byHash.get(hash);
    if (
      hash === undefined ||
      known === undefined ||
      !timingSafeEqual(Buffer.from(hash), known.hash) ||
      known.expiresMs <= nowMs
    )
      return undefined;
    const token = this.#table.get(known.id);
    const user = token === undefined ? undefined : this.#users.get(token.userId);
    if (token === undefined || user === undefined || !this.#hasMakers(token)) return undefined;
    return { token: this.#shown(token), user };
  }

  /**
   * Whether the tokens with which it was created still exist. One of another user was created by a site admin's sudo
   * request, and ends when the admin is none any more. Caller guarantees: the chain is acyclic, since ids grow.
   */
  #hasMakers(token: StoredToken): boolean {
    for (let one = token; one.madeBy !== undefined; ) {
      const maker = this.#table.get(one.madeBy);
      if (maker === undefined) return false;
      if (maker.userId !== one.userId && this.#users.get(maker.userId)?.isSiteAdmin !== true) return false;
      one = maker;
    }
    return true;
  }

  /** Whether there is a token with this id. */
  has(id: number): boolean {
    return this.#table.get(id) !== undefined;
  }

  /** What deleting a user removes. */
  removingUser(userId: number): readonly RecordWrite[] {
    return this.#removingAll(this.#ofUser(userId));
  }

  /** Removes tokens that ended before `endedMs`. */
  removingExpired(endedMs: number): readonly RecordWrite[] {
    const expired = [...this.#table.values()].filter((token) => endMs(token) < endedMs);
    return this.#removingAll(expired);
  }

  /** With the tokens that it has created, and those that these have. */
  #removing(token: StoredToken): readonly RecordWrite[] {
    return this.#removingAll([token]);
  }

  #removingAll(tokens: readonly StoredToken[]): readonly RecordWrite[] {
    const all = new Set(tokens.flatMap((token) => this.#withMade(token)));
    return [...all].flatMap((one) => [this.#table.remove(one), ...this.#lastUses.removing(one.id)]);
  }

  #withMade(token: StoredToken): readonly StoredToken[] {
    const found = [token];
    for (const maker of found) found.push(...this.#idsOfMaker.of(maker.id).flatMap((id) => this.#table.get(id) ?? []));
    return found;
  }

  #ofUser(userId: number): readonly StoredToken[] {
    return this.#idsOfUser.of(userId).flatMap((id) => this.#table.get(id) ?? []);
  }

  #shown(token: StoredToken): AccessToken {
    const { hash, refresh, ...shown } = token;
    const usedMs = this.#lastUses.of(token.id);
    return { ...shown, lastUsedAt: usedMs === undefined ? "" : new Date(usedMs).toISOString() };
  }
}
