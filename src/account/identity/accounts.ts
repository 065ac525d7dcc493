import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Viewer } from "../../model/viewer.js";
import type { Records } from "../../store/records.js";
import { OwnContexts } from "../contexts/own-contexts.js";
import { type Actor, auditEntry, type AuditLog } from "../records/audit-log.js";
import { type RecordTable, RecordTables, type RecordWrite } from "../records/record-table.js";
import { TransactionQueue } from "../records/transaction-queue.js";
import { OwnerFiles } from "../ownership/owner-files.js";
import { SavedSearches } from "../settings/saved-searches.js";
import { SettingsTable, siteSubject, TemporarySettings } from "../settings/settings-table.js";
import { Leases } from "./leases.js";
import { Sessions } from "./sessions.js";
import { AccessTokens } from "./access-tokens.js";
import { Emails } from "./emails.js";
import { Identities } from "./identities.js";
import { Invitations } from "./invitations.js";
import { LastUses } from "./last-uses.js";
import { Names } from "./names.js";
import { Organizations } from "./organizations.js";
import { Passwords } from "./passwords.js";
import { type DirectoryEntry, Provisioned, type ProvisionedGroup, type ProvisionedUser } from "./provisioned.js";
import { Teams } from "./teams.js";
import {
  type Identity,
  isSuspended,
  type NewUser,
  type Organization,
  type SuspendedBy,
  type User,
  type UserFinder,
} from "./user.js";
import { checkDisplayName, checkEmail, checkName, requireRoom } from "../records/validation.js";

const userCountMax = 100_000;

/** What a directory says of a user. */
export interface Provisioning {
  readonly entry: DirectoryEntry;
  /** Of the user at the provider; undefined if the directory has not named it. */
  readonly identity: (Identity & { readonly provider: string }) | undefined;
  readonly isActive: boolean;
}

/**
 * Tokens and sessions that ended this long ago are deleted at the next start. The delay protects them from a start with
 * a clock that is ahead.
 */
const expiredKeptMs = 30 * 86_400_000;

/**
 * Users, and everything that belongs to them: read from memory, persisted in the record store.
 *
 * Changes are applied one at a time, as `TransactionQueue` promises: of two callers that create the same name at the
 * same time one gets `conflict`, and a deleted token or user is refused from the moment the deletion is answered.
 *
 * Lives on the main thread.
 */
export class Accounts {
  /** Responses in progress; they end with the credential that they were requested with. */
  readonly leases = new Leases();
  readonly accessTokens: AccessTokens;
  readonly emails: Emails;
  readonly identities: Identities;
  readonly provisioned: Provisioned;
  readonly contexts: OwnContexts;
  readonly organizations: Organizations;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly teams: Teams;
  readonly settings: SettingsTable;
  readonly savedSearches: SavedSearches;
  readonly lastUses: LastUses;
  readonly ownerFiles: OwnerFiles;
  readonly invitations: Invitations;
  readonly temporarySettings: TemporarySettings;
  readonly #audit: AuditLog;
  readonly #onNameGone: (name: string) => Promise<void>;
  readonly #tables: RecordTables;
  readonly #users: RecordTable<User>;
  readonly #changes: TransactionQueue;
  readonly #names = new Names();
  readonly #viewers = new Viewers((userId) => this.organizations.ofUser(userId));
  /** In the order in which they were created; computed when it is needed. */
  #usersInOrder: readonly User[] | undefined;

  /**
   * Empty until `load` is done. `onNameGone` removes the name of a user or organization that will be deleted from
   * wherever it is used, before the name can be given to another one.
   */
  constructor(store: Records, audit: AuditLog, log: Log, onNameGone: (name: string) => Promise<void>) {
    this.#changes = new TransactionQueue(store, audit);
    const tables = new RecordTables(store);
    this.#tables = tables;
    this.#audit = audit;
    this.#onNameGone = onNameGone;
    const finder: UserFinder = {
      get: (id) => this.user(id),
      active: (id) => this.activeUser(id),
      require: (name) => this.#requireUser(name),
    };
    this.#users = this.#addUserTable();
    this.organizations = new Organizations(tables, this.#changes, this.#names, finder, this.leases, () =>
      this.#viewers.clear(),
    );
    this.lastUses = new LastUses(
      tables,
      this.#changes,
      log,
      (id) => this.user(id) !== undefined || this.accessTokens.has(id),
    );
    this.accessTokens = new AccessTokens(tables, this.#changes, finder, this.lastUses, this.leases);
    this.emails = new Emails(tables, this.#changes, finder);
    this.identities = new Identities(tables, this.#changes, finder);
    this.provisioned = new Provisioned(tables);
    this.sessions = new Sessions(tables, this.#changes, finder, this.leases);
    this.passwords = new Passwords(tables, this.#changes, finder, audit, {
      sessions: this.sessions,
      tokens: this.accessTokens,
      identities: this.identities,
    });
    this.contexts = new OwnContexts(tables, this.#changes);
    const isOwner = (id: number): boolean => this.user(id) !== undefined || this.organizations.get(id) !== undefined;
    this.teams = new Teams(tables, this.#changes, this.#names);
    this.settings = new SettingsTable(tables, this.#changes, (id) => id === siteSubject || isOwner(id));
    this.savedSearches = new SavedSearches(tables, this.#changes, isOwner);
    this.ownerFiles = new OwnerFiles(tables, this.#changes);
    this.invitations = new Invitations(tables, this.#changes, this.organizations, this.emails);
    this.temporarySettings = new TemporarySettings(tables, this.#changes, (id) => this.user(id) !== undefined);
  }

  #addUserTable(): RecordTable<User> {
    const observeName = this.#names.observer("user");
    return this.#tables.add<User>("user/", (before, after) => {
      observeName(before, after);
      this.#usersInOrder = undefined;
      if (before !== undefined) this.#endLeases(before, after);
      this.#viewers.clear();
    });
  }

  /** Reads what is stored, in steps. Must be called before anything else. */
  load(): Generator<void, void> {
    return this.#tables.load();
  }

  /** Entries of the maps of requests and credentials. */
  get mapSizes(): Readonly<Record<"users" | "sessions" | "access_tokens" | "leases", number>> {
    return {
      users: this.#users.count,
      sessions: this.sessions.count,
      access_tokens: this.accessTokens.count,
      leases: this.leases.count,
    };
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

  /** Undefined for an account that is suspended, too. */
  activeUser(id: number): User | undefined {
    const user = this.user(id);
    return user === undefined || isSuspended(user) ? undefined : user;
  }

  userByName(name: string): User | undefined {
    return this.#users.get(this.#names.find("user", name) ?? 0);
  }

  /** Whether a user, an organization or a team has this name. */
  isNameTaken(name: string): boolean {
    return this.#names.isTaken(name);
  }

  /** Whether the user or organization owns something public, so that everybody may see its name. */
  ownsPublic(ownerId: number): boolean {
    return this.contexts.hasPublicForOwner(ownerId) || this.savedSearches.hasPublicForOwner(ownerId);
  }

  /** What the user may see and do. */
  toViewer(user: User): Viewer {
    return this.#viewers.find(user);
  }

  /** Rejects with `conflict` when the name or the address is taken. */
  createUser(given: NewUser, actor: Actor): Promise<User> {
    return this.#createUser(given, () => undefined, actor);
  }

  /** Like `createUser`, with what a directory says of the user. */
  createProvisioned(
    given: NewUser,
    { entry, isActive }: Pick<Provisioning, "entry" | "isActive">,
    actor: Actor,
  ): Promise<User> {
    return this.#createUser(
      isActive ? given : { ...given, suspendedBy: ["directory"] },
      () => undefined,
      actor,
      (user) => [this.provisioned.putting(user.id, entry)],
    );
  }

  /**
   * Stores what a directory says about a user. The identity that it names replaces the one that the user has at that provider. `decide`
   * receives the present state. Rejects with `conflict` if the identity belongs to another account, or if no site admin would be left.
   */
  provision(
    userId: number,
    decide: (user: User, before: ProvisionedUser | undefined) => Provisioning,
    actor: Actor,
  ): Promise<User> {
    return this.#changes
      .commit(
        () => {
          const user = this.user(userId);
          if (user === undefined) throw new TrawlError("not-found", "this user does not exist any more");
          const { entry, identity, isActive } = decide(user, this.provisioned.user(userId));
          if (!isActive) this.#requireOtherAdmin(user);
          const displayName = entry.displayName || user.displayName;
          checkDisplayName(displayName);
          const after: User = { ...user, displayName, suspendedBy: withSuspension(user, "directory", !isActive) };
          const steps = [
            this.#users.put(after),
            this.provisioned.putting(userId, entry),
            ...(isActive ? [] : this.sessions.removing(user)),
            ...this.identities.replacing(user, identity),
          ];
          return { steps, result: { after, identity } };
        },
        ({ after: { name, displayName, suspendedBy }, identity }) =>
          auditEntry("user-changed", actor, { user: name, displayName, suspendedBy, subject: identity?.subject }),
      )
      .then(({ after }) => after);
  }

  /**
   * Creates a group of a directory if `id` is undefined, or changes it; removes it if `decide` returns undefined. Resolves with its id.
   * No other change happens between the call of `decide`, which receives the id, and the write.
   */
  changeGroup(
    id: number | undefined,
    decide: (id: number) => ProvisionedGroup | undefined,
    actor: Actor,
  ): Promise<number> {
    return this.#changes
      .commit(
        () => {
          const before = id === undefined ? undefined : this.provisioned.group(id);
          const key = id ?? this.#changes.newId();
          const after = decide(key);
          const steps = [
            ...(after === undefined ? [] : [this.provisioned.puttingGroup(after)]),
            ...(after === undefined && before !== undefined ? [this.provisioned.removingGroup(before)] : []),
          ];
          return { steps, result: { key, before, after } };
        },
        ({ before, after }) =>
          auditEntry("group-changed", actor, {
            group: (after ?? before)?.displayName,
            memberCount: after?.memberIds.length,
            isDeleted: after === undefined,
          }),
      )
      .then(({ key }) => key);
  }

  /** Creates the first user, who becomes site admin. Rejects with `conflict` when there are users. */
  createFirstUser(given: Omit<NewUser, "isSiteAdmin">, actor: Actor): Promise<User> {
    return this.#createUser(
      { ...given, isSiteAdmin: true },
      () => {
        if (this.#users.count > 0) throw new TrawlError("conflict", "the site has users already");
      },
      actor,
    );
  }

  /** Changes what is given. Rejects with `conflict` if no site admin would be left. */
  updateUser(
    name: string,
    {
      isSuspended: suspends,
      ...changes
    }: Partial<Pick<User, "displayName" | "isSiteAdmin" | "isUnlisted">> & { readonly isSuspended?: boolean },
    actor: Actor,
  ): Promise<User> {
    if (changes.displayName !== undefined) checkDisplayName(changes.displayName);
    return this.#changes.commit(
      () => {
        const user = this.#requireUser(name);
        if (changes.isSiteAdmin === false || suspends === true) this.#requireOtherAdmin(user);
        // An operator lifts all suspensions.
        const suspension =
          suspends === undefined ? {} : { suspendedBy: suspends ? withSuspension(user, "operator", true) : [] };
        const result = { ...user, ...changes, ...suspension };
        const ended = suspends === true ? this.sessions.removing(user) : [];
        return { steps: [this.#users.put(result), ...ended], result };
      },
      (user) => auditEntry("user-changed", actor, { user: user.name, ...changes, isSuspended: suspends }),
    );
  }

  /**
   * Deletes a user with its tokens, sessions, password, addresses, identities, memberships, settings and saved searches. Rejects
   * with `conflict` if no site admin would be left.
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
        const steps = [...removeBelongingsOfUser(this, user), this.#users.remove(user)];
        return { steps, result: user };
      },
      () => undefined,
    );
  }

  /** Deletes an organization with its settings and saved searches. */
  async deleteOrganization(name: string, actor: Actor): Promise<Organization> {
    const known = this.organizations.require(name);
    return this.#audit.around(auditEntry("organization-deleted", actor, { organization: known.name }), async () => {
      await this.#onNameGone(name);
      return this.#changes.commit(
        () => {
          const organization = this.organizations.require(name);
          return { steps: removeOrganization(this, organization), result: organization };
        },
        () => undefined,
      );
    });
  }

  /**
   * Creates a site admin if there are no users and `wantsAdmin`, and deletes tokens and sessions that ended long ago, and
   * what was set for repositories that no longer exist.
   */
  async start(actor: Actor, wantsAdmin: boolean, hasRepository: (id: number) => boolean): Promise<void> {
    if (wantsAdmin && this.#users.count === 0) await this.createFirstUser({ name: "admin", displayName: "" }, actor);
    const longAgoMs = new Date().getTime() - expiredKeptMs;
    const steps = [
      ...this.accessTokens.removingExpired(longAgoMs),
      ...this.sessions.removingExpired(longAgoMs),
      ...this.ownerFiles.removingUnless(hasRepository),
    ];
    const change = { steps, result: undefined };
    if (steps.length > 0)
      await this.#changes.commit(
        () => change,
        () => undefined,
      );
  }

  /** Writes what is not written yet. Idempotent. */
  async close(): Promise<void> {
    this.leases.close();
    await this.lastUses.close();
    await this.#changes.settled();
  }

  #createUser(
    { email, passwordHash, identity, ...given }: NewUser,
    check: () => void,
    actor: Actor,
    more: (user: User) => readonly RecordWrite[] = () => [],
  ): Promise<User> {
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
          ...(identity === undefined ? [] : [this.identities.adding(user, identity, identity.provider)]),
          ...more(user),
        ];
        return { steps, result: user };
      },
      (user) =>
        auditEntry("user-created", actor, {
          user: user.name,
          isSiteAdmin: user.isSiteAdmin,
          provider: identity?.provider,
          subject: identity?.subject,
        }),
    );
  }

  /**
   * Unlinks an account at a provider, and ends the sessions that began with it. Rejects with `conflict` if the user has no password, and no other
   * account with which users can sign in.
   */
  async unlinkIdentity(
    id: string,
    { mayLockOut, isUsable }: { readonly mayLockOut: boolean; readonly isUsable: (provider: string) => boolean },
    actor: Actor,
  ): Promise<void> {
    await this.#changes.commit(
      () => {
        const identity = this.identities.get(id);
        if (identity === undefined) throw new TrawlError("not-found", "this account is not linked (any more)");
        const { userId } = identity;
        const others = this.identities.forUser(userId).filter((other) => other.id !== id);
        const mayEnter = this.passwords.has(userId) || others.some(({ provider }) => isUsable(provider));
        if (!mayEnter && !mayLockOut)
          throw new TrawlError(
            "conflict",
            "this is the only account with which you can sign in: link another one, or ask a site admin for a password first",
          );
        const steps = [this.identities.removingOne(identity), ...this.sessions.removingSignedInBy(userId, identity)];
        return { steps, result: identity };
      },
      ({ userId, provider, subject }) =>
        auditEntry("identity-unlinked", actor, { user: this.user(userId)?.name, provider, subject }),
    );
  }

  #requireUser(name: string): User {
    const user = this.userByName(name);
    if (user === undefined)
      throw new TrawlError(
        "not-found",
        `there is no user named ${JSON.stringify(name)}; \`trawl user list\` lists the existing ones`,
      );
    return user;
  }

  #endLeases(before: User, after: User | undefined): void {
    if (after === undefined) this.leases.end(`user/${before.id}`, "The account was deleted.");
    else if (!isSuspended(before) && isSuspended(after))
      this.leases.end(`user/${before.id}`, "The account was suspended.");
    else if (before.isSiteAdmin && !after.isSiteAdmin)
      this.leases.end(`user/${before.id}`, "The account no longer belongs to a site admin.");
  }

  #requireOtherAdmin(user: User): void {
    const hasOther = [...this.#users.values()].some(
      (other) => other.isSiteAdmin && !isSuspended(other) && other.id !== user.id,
    );
    if (user.isSiteAdmin && !hasOther)
      throw new TrawlError(
        "conflict",
        `${JSON.stringify(user.name)} is the only site admin; make another user a site admin first`,
      );
  }
}

function withSuspension({ suspendedBy = [] }: User, by: SuspendedBy, isBy: boolean): readonly SuspendedBy[] {
  const others = suspendedBy.filter((other) => other !== by);
  return isBy ? [...others, by] : others;
}

/** The writes that remove everything that belongs to a user. */
function removeBelongingsOfUser(of: Accounts, user: User): readonly RecordWrite[] {
  return [
    ...of.accessTokens.removingUser(user.id),
    ...of.lastUses.removing(user.id),
    ...of.organizations.removingUser(user.id),
    ...of.sessions.removing(user),
    ...of.passwords.removing(user),
    ...of.emails.removing(user),
    ...of.identities.removing(user),
    ...of.provisioned.removingUser(user.id),
    ...of.contexts.removing(user),
    ...of.teams.removingUser(user.id),
    ...of.settings.removing(user.id),
    ...of.savedSearches.removing(user.id),
    ...of.invitations.removing(user.id),
    ...of.temporarySettings.removing(user.id),
  ];
}

/** The writes that remove an organization and everything that belongs to it. */
function removeOrganization(of: Accounts, organization: Organization): readonly RecordWrite[] {
  return [
    ...of.contexts.removing(organization),
    ...of.settings.removing(organization.id),
    ...of.savedSearches.removing(organization.id),
    ...of.invitations.removing(organization.id),
    of.organizations.removing(organization),
  ];
}

/** What users may see and do, computed once for each user until names or memberships change. */
class Viewers {
  readonly #viewers = new Map<number, Viewer>();
  readonly #organizationsOfUser: (userId: number) => readonly Organization[];

  constructor(organizationsOfUser: (userId: number) => readonly Organization[]) {
    this.#organizationsOfUser = organizationsOfUser;
  }

  find(user: User): Viewer {
    const known = this.#viewers.get(user.id);
    if (known !== undefined) return known;
    const readerNames = [user, ...this.#organizationsOfUser(user.id)].map(({ name }) => name.toLowerCase()).sort();
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

  /** Must be called when a name or a membership changes. */
  clear(): void {
    this.#viewers.clear();
  }
}
