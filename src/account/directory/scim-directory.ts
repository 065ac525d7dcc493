import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { resultWhileYielding } from "../../base/yielding.js";
import type { Accounts, Provisioning } from "../identity/accounts.js";
import {
  type DirectoryEntry,
  groupMembersMax,
  type ProvisionedGroup,
  type ProvisionedUser,
} from "../identity/provisioned.js";
import type { User } from "../identity/user.js";
import type { Actor, Sender } from "../records/audit-log.js";
import type { ProviderAccounts } from "../sign-in/provider-accounts.js";
import type { ProviderConfig } from "../sign-in/provider-config.js";
import {
  type GroupFields,
  patchGroup,
  patchUser,
  primaryEmail,
  readEquality,
  readFilter,
  readGroup,
  readUser,
  type Resource,
  ScimError,
  showGroup,
  showUser,
  type UserFields,
} from "./scim-messages.js";

/** Resources of one page; a client that asks for more gets this many. */
export const pageMax = 200;

/** A page that a client asks for. `startIndex` is 1-based. */
export interface PageRequest {
  readonly filter: string;
  readonly startIndex: number;
  readonly count: number;
}

export interface Page {
  readonly resources: readonly Resource[];
  readonly total: number;
}

/**
 * The users and groups of the directory of an identity provider, as it sends them by SCIM 2.0. A user of the directory has an account, which
 * is suspended as long as the directory says that the user is not active; groups decide who is a member of the organizations that the
 * configuration names for them.
 *
 * A directory sees and changes only the accounts that it has sent itself.
 */
export class ScimDirectory {
  readonly #accounts: Accounts;
  readonly #users: ProviderAccounts;
  readonly #log: Log;
  #configs: readonly ProviderConfig[] = [];
  #memberships: Promise<void> = Promise.resolve();

  constructor(accounts: Accounts, users: ProviderAccounts, log: Log) {
    this.#accounts = accounts;
    this.#users = users;
    this.#log = log;
  }

  /** Takes the place of what was configured before. Caller guarantees: the accounts are loaded. */
  configure(configs: readonly ProviderConfig[]): void {
    this.#configs = configs.filter(({ scimToken }) => scimToken !== "");
    for (const config of this.#configs) void this.#setMemberships(config, { from: "configuration" });
  }

  /** The providers that have a directory. */
  get configs(): readonly ProviderConfig[] {
    return this.#configs;
  }

  /** Rejects with `ScimError`, here and below. */
  user(config: ProviderConfig, id: string, url: string): Resource {
    return this.#show(this.#requireUser(config, id), url);
  }

  async users(config: ProviderConfig, { filter, startIndex, count }: PageRequest, url: string): Promise<Page> {
    const { provisioned } = this.#accounts;
    const equality = filter === "" ? undefined : readEquality(filter);
    let found: readonly ProvisionedUser[];
    if (equality?.attribute === "username") found = [provisioned.userNamed(config.name, equality.value) ?? []].flat();
    else if (equality?.attribute === "externalid")
      found = [provisioned.userWithExternalId(config.name, equality.value) ?? []].flat();
    else {
      const matches = filter === "" ? undefined : readFilter(filter);
      found = await inOrder(
        provisioned.users(),
        (user) => user.provider === config.name && (matches === undefined || matches(this.#show(user, url))),
      );
    }
    return { resources: cutPage(found, startIndex, count).map((user) => this.#show(user, url)), total: found.length };
  }

  async createUser(config: ProviderConfig, body: unknown, url: string, sender: Sender): Promise<Resource> {
    const fields = readUser(body, true);
    const { provisioned } = this.#accounts;
    if (
      provisioned.userNamed(config.name, fields.userName) !== undefined ||
      (fields.externalId !== "" && provisioned.userWithExternalId(config.name, fields.externalId) !== undefined)
    )
      throw new ScimError(409, "there is a user with this userName or externalId", "uniqueness");
    const now = new Date().toISOString();
    const entry = toEntry(config, fields, { createdAt: now, changedAt: now });
    const { id } = await asScim(async () => this.#enter(config, entry, fields.active, actor(config, sender)));
    // Whoever was a member before is one now by groups only.
    if (this.#accounts.organizations.ofUser(id).length > 0) await this.#setMemberships(config, sender);
    return this.user(config, String(id), url);
  }

  replaceUser(config: ProviderConfig, id: string, body: unknown, url: string, sender: Sender): Promise<Resource> {
    return this.#changeUser(config, id, ({ active }) => readUser(body, active), url, sender);
  }

  patchUser(config: ProviderConfig, id: string, body: unknown, url: string, sender: Sender): Promise<Resource> {
    return this.#changeUser(config, id, (before) => patchUser(before, body), url, sender);
  }

  /** Deletes the account with everything that belongs to it. */
  async deleteUser(config: ProviderConfig, id: string, sender: Sender): Promise<void> {
    const user = this.#account(this.#requireUser(config, id));
    // Otherwise it could be made anew, and would be open.
    if (user.suspendedBy?.includes("operator") === true)
      throw new ScimError(409, "an operator has suspended this account: only an operator deletes it", "mutability");
    await asScim(async () => this.#accounts.deleteUser(user.name, actor(config, sender)));
  }

  group(config: ProviderConfig, id: string, url: string): Resource {
    return showGroup(this.#requireGroup(config, id), url);
  }

  async groups(config: ProviderConfig, { filter, startIndex, count }: PageRequest, url: string): Promise<Page> {
    const { provisioned } = this.#accounts;
    const equality = filter === "" ? undefined : readEquality(filter);
    let found: readonly ProvisionedGroup[];
    if (equality?.attribute === "displayname")
      found = [provisioned.groupNamed(config.name, equality.value) ?? []].flat();
    else {
      const matches = filter === "" ? undefined : readFilter(filter);
      found = await inOrder(
        provisioned.groups(),
        (group) => group.provider === config.name && (matches === undefined || matches(showGroup(group, url))),
        countMembers,
      );
    }
    return {
      resources: cutPage(found, startIndex, count, countMembers).map((group) => showGroup(group, url)),
      total: found.length,
    };
  }

  /** Users, and after them groups. */
  async all(config: ProviderConfig, wanted: PageRequest, url: string): Promise<Page> {
    const users = await this.users(config, wanted, url);
    const startIndex = Math.max(1, wanted.startIndex - users.total);
    const count = Math.min(wanted.count, pageMax) - users.resources.length;
    const groups = await this.groups(config, { ...wanted, startIndex, count }, url);
    return { resources: [...users.resources, ...groups.resources], total: users.total + groups.total };
  }

  async createGroup(config: ProviderConfig, body: unknown, url: string, sender: Sender): Promise<Resource> {
    const fields = readGroup(body);
    const now = new Date().toISOString();
    const id = await asScim(async () =>
      this.#accounts.changeGroup(
        undefined,
        (newId) => {
          this.#requireMembers(config, fields.memberIds);
          return { ...fields, id: newId, provider: config.name, createdAt: now, changedAt: now };
        },
        actor(config, sender),
      ),
    );
    await this.#setMemberships(config, sender);
    return this.group(config, String(id), url);
  }

  replaceGroup(config: ProviderConfig, id: string, body: unknown, url: string, sender: Sender): Promise<Resource> {
    return this.#changeGroup(config, id, () => readGroup(body), url, sender);
  }

  patchGroup(config: ProviderConfig, id: string, body: unknown, url: string, sender: Sender): Promise<Resource> {
    return this.#changeGroup(config, id, (before) => patchGroup(before, body), url, sender);
  }

  async deleteGroup(config: ProviderConfig, id: string, sender: Sender): Promise<void> {
    const group = this.#requireGroup(config, id);
    await asScim(async () => this.#accounts.changeGroup(group.id, () => undefined, actor(config, sender)));
    await this.#setMemberships(config, sender);
  }

  /** The account of a new user of the directory: the one that is linked already, or a new one. */
  async #enter(config: ProviderConfig, entry: DirectoryEntry, active: boolean, by: Actor): Promise<User> {
    const email = primaryEmail(entry);
    const identity = findIdentity(config, entry);
    const known = this.#users.findFor(config, identity, email);
    const provisioning = toProvisioning(config, entry, active);
    if (known === undefined) {
      return this.#users.createFor(config, entry, { subject: identity?.subject ?? "", email, isActive: active }, by);
    }
    return this.#accounts.provision(
      known.id,
      (_, before) => {
        // That of a provider which is not configured any more, as after it was renamed.
        if (before === undefined || !this.#configs.some(({ name }) => name === before.provider)) return provisioning;
        throw new ScimError(409, "the account of this user belongs to another user of a directory", "uniqueness");
      },
      by,
    );
  }

  async #changeUser(
    config: ProviderConfig,
    id: string,
    change: (before: UserFields) => UserFields,
    url: string,
    sender: Sender,
  ): Promise<Resource> {
    const { id: key } = this.#requireUser(config, id);
    await asScim(async () =>
      this.#accounts.provision(
        key,
        (user) => {
          // As it is now: several requests may change it at the same time.
          const before = this.#requireUser(config, id);
          const fields = change({ ...before, active: isActive(user) });
          const times = { createdAt: before.createdAt, changedAt: new Date().toISOString() };
          return toProvisioning(config, toEntry(config, fields, times), fields.active);
        },
        actor(config, sender),
      ),
    );
    return this.user(config, id, url);
  }

  async #changeGroup(
    config: ProviderConfig,
    id: string,
    change: (before: GroupFields) => GroupFields,
    url: string,
    sender: Sender,
  ): Promise<Resource> {
    const { id: key } = this.#requireGroup(config, id);
    await asScim(async () =>
      this.#accounts.changeGroup(
        key,
        () => {
          // As it is now: several requests may change it at the same time.
          const before = this.#requireGroup(config, id);
          const fields = change(before);
          this.#requireMembers(config, fields.memberIds, new Set(before.memberIds));
          return { ...before, ...fields, changedAt: new Date().toISOString() };
        },
        actor(config, sender),
      ),
    );
    await this.#setMemberships(config, sender);
    return this.group(config, id, url);
  }

  #requireMembers({ name }: ProviderConfig, ids: readonly number[], known: ReadonlySet<number> = new Set()): void {
    const unknown = ids.find((id) => !known.has(id) && this.#accounts.provisioned.user(id)?.provider !== name);
    if (unknown !== undefined)
      throw new ScimError(400, `there is no user ${unknown} in this directory`, "invalidValue");
  }

  #requireUser({ name }: ProviderConfig, id: string): ProvisionedUser {
    const user = this.#accounts.provisioned.user(toKey(id));
    if (user === undefined || user.provider !== name) throw new ScimError(404, `there is no user ${id.slice(0, 50)}`);
    return user;
  }

  #requireGroup({ name }: ProviderConfig, id: string): ProvisionedGroup {
    const group = this.#accounts.provisioned.group(toKey(id));
    if (group === undefined || group.provider !== name)
      throw new ScimError(404, `there is no group ${id.slice(0, 50)}`);
    return group;
  }

  #account({ id }: ProvisionedUser): User {
    const user = this.#accounts.user(id);
    if (user === undefined) throw new ScimError(404, `there is no user ${id}`);
    return user;
  }

  #show(user: ProvisionedUser, url: string): Resource {
    const account = this.#accounts.user(user.id);
    const active = account !== undefined && isActive(account);
    return showUser(user, { active, groups: this.#accounts.provisioned.groupsOf(user.id), url });
  }

  /**
   * Makes the members of the organizations of this provider those of its groups, after earlier changes. What cannot be set is logged: the
   * directory has been stored all the same, and it is tried again at the next change.
   */
  #setMemberships(config: ProviderConfig, sender: Sender): Promise<void> {
    this.#memberships = this.#memberships.then(async () => {
      const wanted = await resultWhileYielding(this.#findMembers(config));
      const { provisioned, organizations } = this.#accounts;
      const isDecided = (id: number): boolean => provisioned.user(id)?.provider === config.name;
      for (const [name, ids] of wanted)
        await organizations
          .setMembers(name, ids, isDecided, actor(config, sender))
          .catch((error: unknown) =>
            this.#log.error(
              { err: error, provider: config.name, organization: name },
              `the members of an organization could not be set: ${errorMessage(error)}`,
            ),
          );
    });
    // What has gone wrong must not end those that follow.
    this.#memberships = this.#memberships.catch((error: unknown) =>
      this.#log.error({ err: error, provider: config.name }, `members could not be set: ${errorMessage(error)}`),
    );
    return this.#memberships;
  }

  /** The members of each organization of this provider, by its groups. */
  *#findMembers({ name: provider, organizations }: ProviderConfig): Generator<void, ReadonlyMap<string, Set<number>>> {
    const wanted = new Map(Object.values(organizations).map((name) => [name, new Set<number>()]));
    for (const group of [...this.#accounts.provisioned.groups()]) {
      const name = Object.hasOwn(organizations, group.displayName) ? organizations[group.displayName] : undefined;
      if (group.provider !== provider || name === undefined) continue;
      for (const id of group.memberIds) wanted.get(name)?.add(id);
      yield;
    }
    return wanted;
  }
}

/** Items that are looked at in one step, where each member of a group is one. */
const itemsOfStep = 2_000;

/** Those that are meant, by id, which never changes, so that pages fit together. */
async function inOrder<T extends { readonly id: number }>(
  all: Iterable<T>,
  isMeant: (one: T) => boolean,
  countItems: (one: T) => number = () => 1,
): Promise<readonly T[]> {
  const found: T[] = [];
  function* look(): Generator<void, void> {
    let count = 0;
    for (const one of [...all]) {
      if (isMeant(one)) found.push(one);
      count += countItems(one);
      if (count < itemsOfStep) continue;
      count = 0;
      yield;
    }
  }
  await resultWhileYielding(look());
  return found.sort((a, b) => a.id - b.id);
}

/** Ends before what would make the answer too long, but has at least one. */
function cutPage<T>(
  all: readonly T[],
  startIndex: number,
  count: number,
  countItems: (one: T) => number = () => 1,
): readonly T[] {
  const page: T[] = [];
  let items = 0;
  for (const one of all.slice(startIndex - 1, startIndex - 1 + Math.min(count, pageMax))) {
    items += countItems(one);
    if (page.length > 0 && items > groupMembersMax) break;
    page.push(one);
  }
  return page;
}

function countMembers({ memberIds }: ProvisionedGroup): number {
  return 1 + memberIds.length;
}

/** Whether the directory has not suspended the user; an operator may have. */
function isActive({ suspendedBy = [] }: User): boolean {
  return !suspendedBy.includes("directory");
}

function toKey(id: string): number {
  return /^[1-9][0-9]{0,14}$/.test(id) ? Number(id) : 0;
}

function toEntry(
  { name }: ProviderConfig,
  { active: _, ...fields }: UserFields,
  times: Pick<DirectoryEntry, "createdAt" | "changedAt">,
): DirectoryEntry {
  const { userName, externalId, displayName, givenName, familyName, emails } = fields;
  return { provider: name, userName, externalId, displayName, givenName, familyName, emails, ...times };
}

/** Whom the provider means when this user signs in; undefined if the directory does not say it. */
function findIdentity(
  { issuer, scimSubject }: ProviderConfig,
  entry: DirectoryEntry,
): { readonly issuer: string; readonly subject: string } | undefined {
  const subject = scimSubject === "none" ? "" : entry[scimSubject];
  return subject === "" ? undefined : { issuer, subject };
}

function toProvisioning(config: ProviderConfig, entry: DirectoryEntry, isActive: boolean): Provisioning {
  const identity = findIdentity(config, entry);
  return { entry, isActive, identity: identity && { ...identity, provider: config.name } };
}

function actor({ name }: ProviderConfig, sender: Sender): Actor {
  return { who: `directory ${name}`, sudoBy: undefined, ...sender, via: `scim ${name}` };
}

/** A refusal is told to the client in its own format. */
async function asScim<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof TrawlError) || error.httpStatus >= 500) throw error;
    if (error.code === "conflict") throw new ScimError(409, error.message, "uniqueness");
    throw new ScimError(error.httpStatus, error.message, error.httpStatus === 400 ? "invalidValue" : undefined);
  }
}
