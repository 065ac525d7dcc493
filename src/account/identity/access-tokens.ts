import { timingSafeEqual } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import { type Actor, auditEntry, type Sender } from "../records/audit-log.js";
import { GroupIndex, type RecordTable, type RecordTables, type RecordWrite } from "../records/record-table.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { Leases } from "./leases.js";
import type { LastUses } from "./last-uses.js";
import { hashOfSecretText, hashOfToken, newSecretText, newTokenText } from "./secret-text.js";
import type { AccessToken, TokenRequest, User, UserFinder } from "./user.js";
import { areNarrow, checkNote, checkScopes, requireRoom, type TokenScope } from "../records/validation.js";

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
      if (before !== undefined) this.#byHash.delete(hashIn(before));
      for (const hash of refreshHashes(before)) this.#byRefresh.delete(hash);
      for (const hash of refreshHashes(after)) this.#byRefresh.set(hash, after?.id ?? 0);
      if (before !== undefined && after === undefined)
        leases.end(`token/${before.id}`, "The access token was deleted.");
      if (after !== undefined) {
        const { id } = after;
        const hash = hashIn(after);
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

  /** Whether a program received the token through a grant, or made it with another token; of an unknown token too. */
  isDerived(id: number): boolean {
    const token = this.#table.get(id);
    return token === undefined || token.refresh !== undefined || token.madeBy !== undefined;
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
        const checked = checkScopes(scopes, user.isSiteAdmin);
        const stored: StoredToken = {
          id: this.#changes.newId(),
          userId: user.id,
          creator: actor.who,
          note,
          scopes: checked,
          createdAt: now.toISOString(),
          expiresAt: endMs === Infinity ? "" : new Date(endMs).toISOString(),
          hash: storedHash(text, checked),
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

  /**
   * Creates a token whose text is valid for a short time, and is replaced by `refresh`. Undefined if there is no such user, or
   * what the user has approved does not hold any more, which `isStillApproved` tells when nothing can happen in between.
   */
  async createRefreshable(
    { userId, isStillApproved }: Approval,
    program: Program,
    { lifetimeMs, refreshMs, familyMs }: RefreshLifetimes,
    sender: Sender,
  ): Promise<RefreshableTexts | undefined> {
    const texts = { text: newTokenText(), refreshText: newRefreshText() };
    const made = await this.#changes.commit(
      () => {
        const user = this.#users.active(userId);
        if (user === undefined || !isStillApproved(user)) return { steps: [], result: undefined };
        requireRoom(this.#idsOfUser.count(user.id), tokensOfUserMax, `access tokens of ${user.name}`);
        const nowMs = new Date().getTime();
        const stored: StoredToken = {
          id: this.#changes.newId(),
          userId: user.id,
          creator: user.name,
          note: program.note,
          scopes: program.scopes,
          createdAt: new Date(nowMs).toISOString(),
          expiresAt: new Date(nowMs + lifetimeMs).toISOString(),
          hash: storedHash(texts.text, program.scopes),
          refresh: {
            client: program.client,
            ...newRefresh(texts.refreshText, "", nowMs, refreshMs, new Date(nowMs + familyMs).toISOString()),
          },
        };
        return { steps: [this.#table.put(stored)], result: { stored, user } };
      },
      (result) => {
        if (result === undefined) return undefined;
        const { id, scopes, note, expiresAt } = result.stored;
        const actor: Actor = { who: result.user.name, sudoBy: undefined, ...sender };
        return auditEntry("token-created", actor, { user: result.user.name, token: id, scopes, note, expiresAt });
      },
    );
    return made === undefined ? undefined : { token: this.#shown(made.stored), ...texts };
  }

  /**
   * Replaces both texts. Undefined if the text is unknown, replaced or expired, if its token was deleted, or was given to
   * another program than that with the id `client`.
   */
  async refresh(
    refreshText: string,
    client: string,
    times: RefreshLifetimes,
    sender: Sender,
  ): Promise<RefreshableTexts | undefined> {
    const given = hashOfSecretText(refreshText);
    const found = this.#table.get(this.#findRefreshable(refreshText) ?? 0);
    const user = found === undefined ? undefined : this.#users.active(found.userId);
    if (found === undefined || user === undefined || (found.refresh?.client ?? client) !== client) return undefined;
    const actor: Actor = { who: user.name, sudoBy: undefined, ...sender, via: `token ${found.id}` };
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
    if (left !== undefined && isReplayed(left, given, new Date().getTime())) await this.#end(left, actor);
    return undefined;
  }

  /** Deletes the token that has this text, or can be refreshed with it. Does nothing if there is none. */
  async revoke(text: string, sender: Sender): Promise<void> {
    const hash = hashOfToken(text);
    const id = (hash === undefined ? undefined : this.#byHash.get(hash)?.id) ?? this.#findRefreshable(text);
    const token = this.#table.get(id ?? 0);
    const user = token === undefined ? undefined : this.#users.get(token.userId);
    if (token === undefined || user === undefined) return;
    await this.#end(token, { who: user.name, sudoBy: undefined, ...sender, via: `token ${token.id}` });
  }

  /** Deletes the token with this id, if there is one: what a program obtained it with was used again. */
  async endGranted(id: number, sender: Sender): Promise<void> {
    const token = this.#table.get(id);
    const user = token === undefined ? undefined : this.#users.get(token.userId);
    if (token === undefined || user === undefined) return;
    await this.#end(token, { who: user.name, sudoBy: undefined, ...sender, via: `token ${id}` });
  }

  /** Deletes a token, unless another request has just done so. */
  async #end({ id, userId }: StoredToken, actor: Actor): Promise<void> {
    await this.#changes.commit(
      () => {
        const left = this.#table.get(id);
        return { steps: left === undefined ? [] : this.#removing(left), result: left };
      },
      (left) =>
        left === undefined
          ? undefined
          : auditEntry("token-deleted", actor, { user: this.#users.get(userId)?.name, token: id }),
    );
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

  get count(): number {
    return this.#table.count;
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
    const user = token === undefined ? undefined : this.#users.active(token.userId);
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
      if (maker.userId !== one.userId && this.#users.active(maker.userId)?.isSiteAdmin !== true) return false;
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

/**
 * What precedes the hash of a narrow token. A program of before there were such tokens would take one for a token that may do
 * everything: so it does not find it, should it be given the data.
 */
const narrowMark = "narrow:";

/** The hash of a token's text, as it is stored. */
function storedHash(text: string, scopes: readonly TokenScope[]): string {
  return `${areNarrow(scopes) ? narrowMark : ""}${hashOfToken(text) ?? ""}`;
}

function hashIn({ hash }: StoredToken): string {
  return hash.startsWith(narrowMark) ? hash.slice(narrowMark.length) : hash;
}

/** A token as it is stored: only hashes of its texts. */
export interface StoredToken extends Omit<AccessToken, "lastUsedAt"> {
  readonly hash: string;
  /** Of a token whose text a program replaces from time to time. */
  readonly refresh?: Refresh;
}

/**
 * The other text of such a token, with which its text is replaced; both are replaced together. The first half of the text
 * is the same for all that follow one another, the family: so any earlier one is recognized.
 */
interface Refresh {
  readonly hash: string;
  /** The id of the program that received it. Absent in records of older programs. */
  readonly client?: string;
  /** Of the first half. Absent in records of older programs, whose texts have no halves. */
  readonly family?: string;
  /** "" before the first replacement. */
  readonly previousHash: string;
  /** RFC 3339. */
  readonly replacedAt: string;
  readonly expiresAt: string;
  /** RFC 3339: when the family ends, however often it was refreshed. Absent in records of older programs. */
  readonly endsAt?: string;
}

/** A program that may act for a user. */
export interface Program {
  readonly client: string;
  /** Of its tokens. */
  readonly note: string;
  readonly scopes: readonly TokenScope[];
}

/** What a user has approved. */
export interface Approval {
  readonly userId: number;
  readonly isStillApproved: (user: User) => boolean;
}

/** The texts of a token that a program refreshes. */
export interface RefreshableTexts {
  readonly token: AccessToken;
  readonly text: string;
  readonly refreshText: string;
}

/** How long such a text can be used, how long it can be replaced, and how long after the first one that can go on. */
export interface RefreshLifetimes {
  readonly lifetimeMs: number;
  readonly refreshMs: number;
  readonly familyMs: number;
}

/**
 * Two processes of a program may refresh at the same time: the second one is refused. Who uses a replaced text later has
 * copied it, or somebody else has: the token is deleted.
 */
const sameTimeMs = 60_000;

const separator = ".";

/** A new text of the family of an earlier one, or of a new family. */
function newRefreshText(earlier = ""): string {
  const family = earlier.includes(separator) ? earlier.slice(0, earlier.indexOf(separator)) : newSecretText();
  return `${family}${separator}${newSecretText()}`;
}

/** The hash by which the family of a text is found; undefined for a text without halves. */
function familyHash(refreshText: string): string | undefined {
  const at = refreshText.indexOf(separator);
  return at < 0 ? undefined : hashOfSecretText(refreshText.slice(0, at));
}

function newRefresh(
  refreshText: string,
  previousHash: string,
  nowMs: number,
  refreshMs: number,
  endsAt: string,
): Refresh {
  const family = familyHash(refreshText);
  return {
    hash: hashOfSecretText(refreshText),
    ...(family === undefined ? {} : { family }),
    previousHash,
    replacedAt: new Date(nowMs).toISOString(),
    expiresAt: new Date(Math.min(nowMs + refreshMs, Date.parse(endsAt))).toISOString(),
    endsAt,
  };
}

/** The token with other texts; undefined if the given hash is not that of its current text, or has expired. */
export function refreshed(
  before: StoredToken | undefined,
  given: string,
  { text, refreshText }: { readonly text: string; readonly refreshText: string },
  { lifetimeMs, refreshMs, familyMs }: RefreshLifetimes,
): StoredToken | undefined {
  const nowMs = new Date().getTime();
  if (before?.refresh?.hash !== given || Date.parse(before.refresh.expiresAt) <= nowMs) return undefined;
  const endsAt = before.refresh.endsAt ?? new Date(nowMs + familyMs).toISOString();
  return {
    ...before,
    expiresAt: new Date(Math.min(nowMs + lifetimeMs, Date.parse(endsAt))).toISOString(),
    hash: storedHash(text, before.scopes),
    refresh: { ...before.refresh, ...newRefresh(refreshText, given, nowMs, refreshMs, endsAt) },
  };
}

/** The hashes by which the token is found from such a text. */
function refreshHashes(token: StoredToken | undefined): readonly string[] {
  const { hash = "", previousHash = "", family } = token?.refresh ?? {};
  return [...(family === undefined ? [hash] : [family]), previousHash].filter((one) => one !== "");
}

/** Whether a text of the family that is not the current one was used, and not just by a second process of the program. */
function isReplayed({ refresh }: StoredToken, given: string, nowMs: number): boolean {
  if (refresh === undefined || refresh.hash === given) return false;
  return refresh.previousHash !== given || nowMs - Date.parse(refresh.replacedAt) > sameTimeMs;
}

/** When it can neither be used nor be refreshed. */
export function endMs(token: StoredToken): number {
  return Math.max(expiryMs(token), token.refresh === undefined ? 0 : Date.parse(token.refresh.expiresAt));
}

function expiryMs({ expiresAt }: StoredToken): number {
  return expiresAt === "" ? Infinity : Date.parse(expiresAt);
}

const dayMs = 86_400_000;

export interface LifetimeSettings {
  /** The lifetime of a token if none is requested. */
  readonly defaultDays: number;
  readonly longestDays: number;
  /** Whether tokens without expiry may be requested. */
  readonly allowsNever: boolean;
}

/** Lifetimes of access tokens: each expires unless a token without expiry is allowed and requested. */
export class TokenLifetimes {
  readonly #settings: LifetimeSettings;

  constructor(settings: LifetimeSettings) {
    this.#settings = settings;
  }

  get allowsNever(): boolean {
    return this.#settings.allowsNever;
  }

  /**
   * Milliseconds until a new token expires, undefined for never; `asked` is undefined if nothing was requested. Throws
   * `bad-request` if the request is not allowed.
   */
  lifetimeMs(asked: number | "never" | undefined): number | undefined {
    const { defaultDays, longestDays, allowsNever } = this.#settings;
    if (asked === undefined) return Math.min(defaultDays, longestDays) * dayMs;
    if (asked === "never") {
      if (allowsNever) return undefined;
      throw new TrawlError(
        "bad-request",
        `access tokens without expiry are not allowed: request at most ${longestDays} days, or set auth.allowTokensWithoutExpiry`,
      );
    }
    if (asked > longestDays * dayMs)
      throw new TrawlError(
        "bad-request",
        `the access token would be valid for more than ${longestDays} days, the maximum set by auth.maxTokenDays`,
      );
    return asked;
  }
}
