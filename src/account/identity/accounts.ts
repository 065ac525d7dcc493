import { timingSafeEqual } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Viewer } from "../../model/viewer.js";
import type { RecordStore } from "../../store/record-store.js";
import { auditEntry, type AuditLog, type Actor } from "../records/audit-log.js";
import { TransactionQueue } from "../records/transaction-queue.js";
import { Emails } from "./emails.js";
import { GroupIndex } from "../records/group-index.js";
import { LastUses } from "./last-uses.js";
import { Leases } from "../sign-in/leases.js";
import { Names } from "./names.js";
import { Passwords } from "./passwords.js";
import { OwnContexts } from "../contexts/own-contexts.js";
import { RecordTables, type RecordObserver, type RecordTable, type RecordWrite } from "../records/record-table.js";
import { checkDisplayName, checkEmail, checkName, checkNote, checkScopes, requireRoom } from "./validation.js";
import { SavedSearches } from "../settings/saved-searches.js";
import { Sessions } from "../sign-in/sessions.js";
import { SettingsTable, siteSubject } from "../settings/settings-table.js";
import { Teams } from "./teams.js";
import { hashOfToken, newTokenText } from "./token-text.js";
import type { AccessToken, NewUser, Organisation, TokenRequest, User, UserFinder } from "./user.js";

interface StoredToken extends Omit<AccessToken, "lastUsedAt"> {
  readonly hash: string;
}

const userCountMax = 100_000;
const organisationCountMax = 10_000;
const tokensOfUserMax = 1000;

/**
 * A token or session that ended this long ago is forgotten at the next start; one that starts with a clock ahead loses
 * none.
 */
const expiredKeptMs = 30 * 86_400_000;

/**
 * Users, organisations and access tokens: in memory for reading, in the record store for keeping.
 *
 * Changes are applied one after the other, as `Changes` promises: of two who create the same name at the same time one
 * gets `conflict`, and a deleted token or user is refused from the moment the deletion is answered.
 *
 * Lives on the main thread.
 */
export class Accounts {
  /** What is being answered to whom; it ends with the credential. */
  readonly leases = new Leases();
  readonly emails: Emails;
  readonly contexts: OwnContexts;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly teams: Teams;
  readonly settings: SettingsTable;
  readonly savedSearches: SavedSearches;
  readonly lastUses: LastUses;
  readonly #audit: AuditLog;
  readonly #onNameGone: (name: string) => Promise<void>;
  readonly #tables: RecordTables;
  readonly #users: RecordTable<User>;
  readonly #organisations: RecordTable<Organisation>;
  readonly #tokens: RecordTable<StoredToken>;
  readonly #changes: TransactionQueue;
  readonly #names = new Names();
  /** Read once from its record, as every request asks. */
  readonly #tokenOfHash = new Map<
    string,
    { readonly id: number; readonly hash: Uint8Array; readonly expiresMs: number }
  >();
  readonly #organisationIdsOfUser = new GroupIndex<Organisation>(({ memberIds }) => memberIds);
  readonly #tokenIdsOfUser = new GroupIndex<StoredToken>(({ userId }) => [userId]);
  readonly #viewers = new Map<number, Viewer>();
  /** In the order in which they were created; made when it is asked for. */
  #usersInOrder: readonly User[] | undefined;

  /**
   * Empty until `load` is done. `onNameGone` takes the name of who is to be deleted from wherever it stands, before
   * another one may get it.
   */
  constructor(store: RecordStore, audit: AuditLog, log: Log, onNameGone: (name: string) => Promise<void>) {
    this.#changes = new TransactionQueue(store, audit);
    const tables = new RecordTables(store);
    this.#tables = tables;
    this.#audit = audit;
    this.#onNameGone = onNameGone;
    this.#users = tables.add<User>(
      "user/",
      this.#observer("user", (before, after) => {
        this.#usersInOrder = undefined;
        if (before !== undefined) this.#endLeases(before, after);
      }),
    );
    this.#organisations = tables.add<Organisation>(
      "organisation/",
      this.#observer("organisation", (before, after) => {
        this.#organisationIdsOfUser.change(before, after);
        for (const id of before?.memberIds ?? []) {
          if (after?.memberIds.includes(id) !== true)
            this.leases.end(`user/${id}`, "The account is no longer a member of an organisation.");
        }
      }),
    );
    this.#tokens = tables.add<StoredToken>("token/", (before, after) => {
      if (before !== undefined) this.#tokenOfHash.delete(before.hash);
      if (before !== undefined && after === undefined)
        this.leases.end(`token/${before.id}`, "The access token was deleted.");
      if (after !== undefined)
        this.#tokenOfHash.set(after.hash, { id: after.id, hash: Buffer.from(after.hash), expiresMs: expiryMs(after) });
      this.#tokenIdsOfUser.change(before, after);
    });
    const finder: UserFinder = { get: (id) => this.user(id), require: (name) => this.#requireUser(name) };
    this.emails = new Emails(tables, this.#changes, finder);
    this.sessions = new Sessions(tables, this.#changes, finder, this.leases);
    this.passwords = new Passwords(tables, this.#changes, this.sessions, finder);
    this.contexts = new OwnContexts(tables, this.#changes);
    const isOwner = (id: number): boolean => this.user(id) !== undefined || this.organisation(id) !== undefined;
    this.teams = new Teams(tables, this.#changes, this.#names);
    this.settings = new SettingsTable(tables, this.#changes, (id) => id === siteSubject || isOwner(id));
    this.savedSearches = new SavedSearches(tables, this.#changes, isOwner);
    this.lastUses = new LastUses(
      tables,
      this.#changes,
      log,
      (id) => this.user(id) !== undefined || this.#tokens.get(id) !== undefined,
    );
  }

  /** Reads what is stored, in steps; before anything else. */
  load(): Generator<void, void> {
    return this.#tables.load();
  }

  get userCount(): number {
    return this.#users.count;
  }

  /** In the order in which they were created. */
  users(): readonly User[] {
    this.#usersInOrder ??= [...this.#users.values()].sort((a, b) => a.id - b.id);
    return this.#usersInOrder;
  }

  user(id: number): User | undefined {
    return this.#users.get(id);
  }

  userByName(name: string): User | undefined {
    return this.#users.get(this.#names.find("user", name) ?? 0);
  }

  /** Whether a user, an organisation or a team has it. */
  isNameTaken(name: string): boolean {
    return this.#names.isTaken(name);
  }

  /** Whether the user or organisation owns something that everybody may see, and so is named to everybody. */
  ownsPublic(ownerId: number): boolean {
    return this.contexts.hasPublicForOwner(ownerId) || this.savedSearches.hasPublicForOwner(ownerId);
  }

  get organisationCount(): number {
    return this.#organisations.count;
  }

  organisations(): readonly Organisation[] {
    return [...this.#organisations.values()].sort((a, b) => a.id - b.id);
  }

  organisation(id: number): Organisation | undefined {
    return this.#organisations.get(id);
  }

  organisationByName(name: string): Organisation | undefined {
    return this.#organisations.get(this.#names.find("organisation", name) ?? 0);
  }

  /** Those that the user is a member of. */
  organisationsForUser(userId: number): readonly Organisation[] {
    return this.#organisationIdsOfUser.of(userId).flatMap((id) => this.#organisations.get(id) ?? []);
  }

  /** Those of one user, or of all. */
  tokens(userId?: number): readonly AccessToken[] {
    const tokens =
      userId === undefined ? [...this.#tokens.values()].sort((a, b) => a.id - b.id) : this.#tokensForUser(userId);
    return tokens.map((token) => this.#shown(token));
  }

  token(id: number): AccessToken | undefined {
    const token = this.#tokens.get(id);
    return token === undefined ? undefined : this.#shown(token);
  }

  /** What the user may see and do. */
  toViewer(user: User): Viewer {
    const known = this.#viewers.get(user.id);
    if (known !== undefined) return known;
    const readerNames = [user, ...this.organisationsForUser(user.id)].map(({ name }) => name.toLowerCase()).sort();
    const viewer = {
      userId: user.id,
      name: user.name,
      isSiteAdmin: user.isSiteAdmin,
      readerNames,
      sudoBy: undefined,
      isSignedIn: false,
    };
    this.#viewers.set(user.id, viewer);
    return viewer;
  }

  /** Rejects with `conflict` when somebody has the name or the address. */
  createUser(given: NewUser, actor: Actor): Promise<User> {
    return this.#createUser(given, () => undefined, actor);
  }

  /** The same for somebody who comes first, and becomes site admin. Rejects with `conflict` when there is anybody. */
  createFirstUser(given: Omit<NewUser, "isSiteAdmin">, actor: Actor): Promise<User> {
    return this.#createUser(
      { ...given, isSiteAdmin: true },
      () => {
        if (this.#users.count > 0) throw new TrawlError("conflict", "the site has users already");
      },
      actor,
    );
  }

  /** Changes what is given. Rejects with `conflict` rather than leave no site admin. */
  updateUser(name: string, changes: Partial<Pick<User, "displayName" | "isSiteAdmin">>, actor: Actor): Promise<User> {
    if (changes.displayName !== undefined) checkDisplayName(changes.displayName);
    return this.#changes.commit(
      () => {
        const user = this.#requireUser(name);
        if (changes.isSiteAdmin === false) this.#requireOtherAdmin(user);
        const result = { ...user, ...changes };
        return { steps: [this.#users.put(result)], result };
      },
      (user) => auditEntry("user-changed", actor, { user: user.name, ...changes }),
    );
  }

  /**
   * Deletes a user with its tokens, sessions, password, addresses, memberships, settings and saved searches. Rejects
   * with `conflict` rather than leave no site admin.
   */
  async deleteUser(name: string, actor: Actor): Promise<User> {
    const known = this.#requireUser(name);
    this.#requireOtherAdmin(known);
    return this.#audit.around(auditEntry("user-deleted", actor, { user: known.name }), async () => {
      await this.#onNameGone(name);
      return this.#deleteUser(name);
    });
  }

  #deleteUser(name: string): Promise<User> {
    return this.#changes.commit(
      () => {
        const user = this.#requireUser(name);
        this.#requireOtherAdmin(user);
        const steps = [
          ...this.#tokensForUser(user.id).flatMap((token) => this.#removingToken(token)),
          ...this.lastUses.removing(user.id),
          ...this.organisationsForUser(user.id).map((group) => this.#organisations.put(without(group, user.id))),
          ...this.sessions.removing(user),
          ...this.passwords.removing(user),
          ...this.emails.removing(user),
          ...this.contexts.removing(user),
          ...this.teams.removingUser(user.id),
          ...this.settings.removing(user.id),
          ...this.savedSearches.removing(user.id),
          this.#users.remove(user),
        ];
        return { steps, result: user };
      },
      () => undefined,
    );
  }

  createOrganisation(
    given: Pick<Organisation, "name" | "displayName" | "memberIds">,
    actor: Actor,
  ): Promise<Organisation> {
    checkName(given.name);
    checkDisplayName(given.displayName);
    return this.#changes.commit(
      () => {
        this.#names.requireFree("organisation", given.name);
        requireRoom(this.#organisations.count, organisationCountMax, "organisations");
        const organisation: Organisation = { id: this.#changes.newId(), ...given, createdAt: new Date().toISOString() };
        return { steps: [this.#organisations.put(organisation)], result: organisation };
      },
      ({ name }) => auditEntry("organisation-created", actor, { organisation: name }),
    );
  }

  updateOrganisation(name: string, changes: Pick<Organisation, "displayName">, actor: Actor): Promise<Organisation> {
    checkDisplayName(changes.displayName);
    return this.#changes.commit(
      () => {
        const result = { ...this.#requireOrganisation(name), ...changes };
        return { steps: [this.#organisations.put(result)], result };
      },
      (organisation) => auditEntry("organisation-changed", actor, { organisation: organisation.name, ...changes }),
    );
  }

  /** Deletes an organisation with its settings and saved searches. */
  async deleteOrganisation(name: string, actor: Actor): Promise<Organisation> {
    const known = this.#requireOrganisation(name);
    return this.#audit.around(auditEntry("organisation-deleted", actor, { organisation: known.name }), async () => {
      await this.#onNameGone(name);
      return this.#deleteOrganisation(name);
    });
  }

  #deleteOrganisation(name: string): Promise<Organisation> {
    return this.#changes.commit(
      () => {
        const organisation = this.#requireOrganisation(name);
        const steps = [
          ...this.contexts.removing(organisation),
          ...this.settings.removing(organisation.id),
          ...this.savedSearches.removing(organisation.id),
          this.#organisations.remove(organisation),
        ];
        return { steps, result: organisation };
      },
      () => undefined,
    );
  }

  /** Makes a user a member, or no member any more; it may be so already. */
  setMember(organisationName: string, userName: string, isMember: boolean, actor: Actor): Promise<Organisation> {
    return this.#changes.commit(
      () => {
        const organisation = this.#requireOrganisation(organisationName);
        const user = this.#requireUser(userName);
        const others = without(organisation, user.id);
        const result = isMember ? { ...others, memberIds: [...others.memberIds, user.id] } : others;
        return { steps: [this.#organisations.put(result)], result };
      },
      ({ name }) =>
        auditEntry(isMember ? "member-added" : "member-removed", actor, { organisation: name, user: userName }),
    );
  }

  /** Makes a token; its text is known to the caller alone. */
  async createToken(
    userName: string,
    { scopes, note, lifetimeMs }: TokenRequest,
    actor: Actor,
  ): Promise<{ readonly token: AccessToken; readonly text: string }> {
    checkNote(note);
    const text = newTokenText();
    const token = await this.#changes.commit(
      () => {
        const user = this.#requireUser(userName);
        requireRoom(this.#tokenIdsOfUser.count(user.id), tokensOfUserMax, `access tokens of ${user.name}`);
        const now = new Date();
        const stored: StoredToken = {
          id: this.#changes.newId(),
          userId: user.id,
          creator: actor.who,
          note,
          scopes: checkScopes(scopes, user.isSiteAdmin),
          createdAt: now.toISOString(),
          expiresAt: lifetimeMs === undefined ? "" : new Date(now.getTime() + lifetimeMs).toISOString(),
          hash: hashOfToken(text) ?? "",
        };
        return { steps: [this.#tokens.put(stored)], result: stored };
      },
      ({ id, expiresAt }) => auditEntry("token-created", actor, { user: userName, token: id, scopes, note, expiresAt }),
    );
    return { token: this.#shown(token), text };
  }

  deleteToken(id: number, actor: Actor): Promise<AccessToken> {
    return this.#changes.commit(
      () => {
        const token = this.#tokens.get(id);
        if (token === undefined)
          throw new TrawlError(
            "not-found",
            `there is no access token ${id}; \`trawl token list\` shows those there are`,
          );
        return { steps: this.#removingToken(token), result: this.#shown(token) };
      },
      (token) => auditEntry("token-deleted", actor, { user: this.user(token.userId)?.name, token: id }),
    );
  }

  /**
   * The token with this text and its user, undefined when it is unknown, revoked, expired or no token at all.
   *
   * Expiry is a comparison with the wall clock at each use, and nothing remembers its outcome: a clock that was wrong
   * for a while does no harm once it is right again.
   */
  findToken(text: string, nowMs: number): { readonly token: AccessToken; readonly user: User } | undefined {
    const hash = hashOfToken(text);
    const known = hash === undefined ? undefined : this.#tokenOfHash.get(hash);
    if (
      hash === undefined ||
      known === undefined ||
      !timingSafeEqual(Buffer.from(hash), known.hash) ||
      known.expiresMs <= nowMs
    )
      return undefined;
    const token = this.#tokens.get(known.id);
    const user = token === undefined ? undefined : this.#users.get(token.userId);
    return token === undefined || user === undefined ? undefined : { token: this.#shown(token), user };
  }

  /**
   * Creates a site admin when there is nobody and `wantsAdmin`, and forgets tokens and sessions that ended long ago.
   */
  async start(actor: Actor, wantsAdmin: boolean): Promise<void> {
    if (wantsAdmin && this.#users.count === 0) await this.createFirstUser({ name: "admin", displayName: "" }, actor);
    const longAgoMs = new Date().getTime() - expiredKeptMs;
    const old = [...this.#tokens.values()].filter(
      ({ expiresAt }) => expiresAt !== "" && Date.parse(expiresAt) < longAgoMs,
    );
    const steps = [...old.flatMap((token) => this.#removingToken(token)), ...this.sessions.removingExpired(longAgoMs)];
    if (steps.length > 0)
      await this.#changes.commit(
        () => ({ steps, result: undefined }),
        () => undefined,
      );
  }

  /** Writes what is not written yet. Idempotent. */
  async close(): Promise<void> {
    this.leases.close();
    await this.lastUses.close();
    await this.#changes.settled();
  }

  #removingToken(token: StoredToken): readonly RecordWrite[] {
    return [this.#tokens.remove(token), ...this.lastUses.removing(token.id)];
  }

  #tokensForUser(userId: number): readonly StoredToken[] {
    return this.#tokenIdsOfUser.of(userId).flatMap((id) => this.#tokens.get(id) ?? []);
  }

  #shown(token: StoredToken): AccessToken {
    const { hash, ...shown } = token;
    const usedMs = this.lastUses.of(token.id);
    return { ...shown, lastUsedAt: usedMs === undefined ? "" : new Date(usedMs).toISOString() };
  }

  #createUser({ email, passwordHash, ...given }: NewUser, check: () => void, actor: Actor): Promise<User> {
    checkName(given.name);
    checkDisplayName(given.displayName);
    if (email !== undefined) checkEmail(email.address);
    return this.#changes.commit(
      () => {
        check();
        this.#names.requireFree("user", given.name);
        requireRoom(this.#users.count, userCountMax, "users");
        const user: User = { id: this.#changes.newId(), ...given, createdAt: new Date().toISOString() };
        const steps = [
          this.#users.put(user),
          ...(email === undefined ? [] : [this.emails.adding(user, { ...email, addedAt: user.createdAt })]),
          ...(passwordHash === undefined ? [] : this.passwords.adding(user, passwordHash)),
        ];
        return { steps, result: user };
      },
      (user) => auditEntry("user-created", actor, { user: user.name, isSiteAdmin: user.isSiteAdmin }),
    );
  }

  #requireUser(name: string): User {
    const user = this.userByName(name);
    if (user === undefined)
      throw new TrawlError(
        "not-found",
        `there is no user named ${JSON.stringify(name)}; \`trawl user list\` shows those there are`,
      );
    return user;
  }

  #requireOrganisation(name: string): Organisation {
    const organisation = this.organisationByName(name);
    if (organisation === undefined) {
      throw new TrawlError(
        "not-found",
        `there is no organisation named ${JSON.stringify(name)}; \`trawl org list\` shows those there are`,
      );
    }
    return organisation;
  }

  /** Who may see what follows from names and members. */
  #observer<T extends User | Organisation>(
    kind: "user" | "organisation",
    observe: RecordObserver<T>,
  ): RecordObserver<T> {
    const observeName = this.#names.observer(kind);
    return (before, after) => {
      observeName(before, after);
      observe(before, after);
      this.#viewers.clear();
    };
  }

  #endLeases(before: User, after: User | undefined): void {
    if (after === undefined) this.leases.end(`user/${before.id}`, "The account was deleted.");
    else if (before.isSiteAdmin && !after.isSiteAdmin)
      this.leases.end(`user/${before.id}`, "The account is no longer a site admin's.");
  }

  #requireOtherAdmin(user: User): void {
    const hasOther = [...this.#users.values()].some((other) => other.isSiteAdmin && other.id !== user.id);
    if (user.isSiteAdmin && !hasOther)
      throw new TrawlError(
        "conflict",
        `${JSON.stringify(user.name)} is the only site admin; make somebody else one first`,
      );
  }
}

function expiryMs({ expiresAt }: StoredToken): number {
  return expiresAt === "" ? Infinity : Date.parse(expiresAt);
}

function without(organisation: Organisation, userId: number): Organisation {
  return { ...organisation, memberIds: organisation.memberIds.filter((id) => id !== userId) };
}
