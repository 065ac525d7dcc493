import { errorMessage } from "../../base/errors.js";
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
  readFilter,
  readGroup,
  readId,
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

/** A directory asks for something. */
export interface DirectoryRequest {
  readonly config: ProviderConfig;
  /** The URL of this interface, for the locations of resources. */
  readonly url: string;
  readonly sender: Sender;
}

/** The resources of one type. All reject with `ScimError` or, as changes of accounts do, `TrawlError`. */
export interface Collection {
  get(from: DirectoryRequest, id: string): Resource;
  list(from: DirectoryRequest, wanted: PageRequest): Promise<Page>;
  create(from: DirectoryRequest, body: unknown): Promise<Resource>;
  replace(from: DirectoryRequest, id: string, body: unknown): Promise<Resource>;
  patch(from: DirectoryRequest, id: string, body: unknown): Promise<Resource>;
  remove(from: DirectoryRequest, id: string): Promise<void>;
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
    for (const config of this.#configs) void this.#setMemberships({ config, sender: { from: "configuration" } });
  }

  /** The providers that have a directory. */
  get configs(): readonly ProviderConfig[] {
    return this.#configs;
  }

  readonly users: Collection = {
    get: (from, id) => this.#showUser(this.#requireUser(from, id), from),
    list: ({ config, url }, wanted) => {
      const { provisioned } = this.#accounts;
      return listPage(config, wanted, {
        all: provisioned.users(),
        byAttribute: new Map([
          ["username", (text: string) => provisioned.userNamed(config.name, text)],
          ["externalid", (text: string) => provisioned.userWithExternalId(config.name, text)],
        ]),
        show: (user) => this.#showUser(user, { url }),
        countItems: () => 1,
      });
    },
    create: (from, body) => this.#createUser(from, readUser(body, true)),
    replace: (from, id, body) => this.#changeUser(from, id, ({ active }) => readUser(body, active)),
    patch: (from, id, body) => this.#changeUser(from, id, (before) => patchUser(before, body)),
    remove: (from, id) => this.#removeUser(from, id),
  };

  readonly groups: Collection = {
    get: (from, id) => showGroup(this.#requireGroup(from, id), from.url),
    list: ({ config, url }, wanted) => {
      const { provisioned } = this.#accounts;
      return listPage(config, wanted, {
        all: provisioned.groups(),
        byAttribute: new Map([["displayname", (text: string) => provisioned.groupNamed(config.name, text)]]),
        show: (group) => showGroup(group, url),
        countItems: ({ memberIds }) => 1 + memberIds.length,
      });
    },
    create: (from, body) => this.#createGroup(from, readGroup(body)),
    replace: (from, id, body) => this.#changeGroup(from, id, () => readGroup(body)),
    patch: (from, id, body) => this.#changeGroup(from, id, (before) => patchGroup(before, body)),
    remove: (from, id) => this.#removeGroup(from, id),
  };

  /** Users, and after them groups. */
  async listAll(from: DirectoryRequest, wanted: PageRequest): Promise<Page> {
    const users = await this.users.list(from, wanted);
    const startIndex = Math.max(1, wanted.startIndex - users.total);
    const count = Math.min(wanted.count, pageMax) - users.resources.length;
    const groups = await this.groups.list(from, { ...wanted, startIndex, count });
    return { resources: [...users.resources, ...groups.resources], total: users.total + groups.total };
  }

  async #createUser(from: DirectoryRequest, fields: UserFields): Promise<Resource> {
    const { config } = from;
    const { provisioned } = this.#accounts;
    if (
      provisioned.userNamed(config.name, fields.userName) !== undefined ||
      (fields.externalId !== "" && provisioned.userWithExternalId(config.name, fields.externalId) !== undefined)
    )
      throw new ScimError(409, "there is a user with this userName or externalId", "uniqueness");
    const now = new Date().toISOString();
    const entry = toEntry(config, fields, { createdAt: now, changedAt: now });
    const { id } = await this.#enter(config, entry, fields.active, toActor(from));
    // Whoever was a member before is one now by groups only.
    if (this.#accounts.organizations.ofUser(id).length > 0) await this.#setMemberships(from);
    return this.users.get(from, String(id));
  }

  /** Deletes the account with everything that belongs to it. */
  async #removeUser(from: DirectoryRequest, id: string): Promise<void> {
    const user = this.#accounts.user(this.#requireUser(from, id).id);
    if (user === undefined) throw new ScimError(404, `there is no user ${id.slice(0, 50)}`);
    // Otherwise it could be made anew, and would be open.
    if (user.suspendedBy?.includes("operator") === true)
      throw new ScimError(409, "an operator has suspended this account: only an operator deletes it", "mutability");
    await this.#accounts.deleteUser(user.name, toActor(from));
  }

  async #createGroup(from: DirectoryRequest, fields: GroupFields): Promise<Resource> {
    const { config } = from;
    const now = new Date().toISOString();
    const id = await this.#accounts.changeGroup(
      undefined,
      (newId) => {
        this.#requireMembers(config, fields.memberIds);
        return { ...fields, id: newId, provider: config.name, createdAt: now, changedAt: now };
      },
      toActor(from),
    );
    await this.#setMemberships(from);
    return this.groups.get(from, String(id));
  }

  async #removeGroup(from: DirectoryRequest, id: string): Promise<void> {
    const group = this.#requireGroup(from, id);
    await this.#accounts.changeGroup(group.id, () => undefined, toActor(from));
    await this.#setMemberships(from);
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

  async #changeUser(from: DirectoryRequest, id: string, change: (before: UserFields) => UserFields): Promise<Resource> {
    const { config } = from;
    const { id: key } = this.#requireUser(from, id);
    await this.#accounts.provision(
      key,
      (user) => {
        // As it is now: several requests may change it at the same time.
        const before = this.#requireUser(from, id);
        const fields = change({ ...before, active: isActive(user) });
        const times = { createdAt: before.createdAt, changedAt: new Date().toISOString() };
        return toProvisioning(config, toEntry(config, fields, times), fields.active);
      },
      toActor(from),
    );
    return this.users.get(from, id);
  }

  async #changeGroup(
    from: DirectoryRequest,
    id: string,
    change: (before: GroupFields) => GroupFields,
  ): Promise<Resource> {
    const { id: key } = this.#requireGroup(from, id);
    await this.#accounts.changeGroup(
      key,
      () => {
        // As it is now: several requests may change it at the same time.
        const before = this.#requireGroup(from, id);
        const fields = change(before);
        this.#requireMembers(from.config, fields.memberIds, new Set(before.memberIds));
        return { ...before, ...fields, changedAt: new Date().toISOString() };
      },
      toActor(from),
    );
    await this.#setMemberships(from);
    return this.groups.get(from, id);
  }

  #requireMembers({ name }: ProviderConfig, ids: readonly number[], known: ReadonlySet<number> = new Set()): void {
    const unknown = ids.find((id) => !known.has(id) && this.#accounts.provisioned.user(id)?.provider !== name);
    if (unknown !== undefined)
      throw new ScimError(400, `there is no user ${unknown} in this directory`, "invalidValue");
  }

  #requireUser({ config }: DirectoryRequest, id: string): ProvisionedUser {
    const user = this.#accounts.provisioned.user(readId(id));
    if (user === undefined || user.provider !== config.name)
      throw new ScimError(404, `there is no user ${id.slice(0, 50)}`);
    return user;
  }

  #requireGroup({ config }: DirectoryRequest, id: string): ProvisionedGroup {
    const group = this.#accounts.provisioned.group(readId(id));
    if (group === undefined || group.provider !== config.name)
      throw new ScimError(404, `there is no group ${id.slice(0, 50)}`);
    return group;
  }

  #showUser(user: ProvisionedUser, { url }: Pick<DirectoryRequest, "url">): Resource {
    const account = this.#accounts.user(user.id);
    const active = account !== undefined && isActive(account);
    return showUser(user, { active, groups: this.#accounts.provisioned.groupsOf(user.id), url });
  }

  /**
   * Makes the members of the organizations of this provider those of its groups, after earlier changes. What cannot be set is logged: the
   * directory has been stored all the same, and it is tried again at the next change.
   */
  #setMemberships({ config, sender }: Pick<DirectoryRequest, "config" | "sender">): Promise<void> {
    this.#memberships = this.#memberships.then(async () => {
      const wanted = await resultWhileYielding(this.#findMembers(config));
      const { provisioned, organizations } = this.#accounts;
      const isDecided = (id: number): boolean => provisioned.user(id)?.provider === config.name;
      for (const [name, ids] of wanted)
        await organizations
          .setMembers(name, ids, isDecided, toActor({ config, sender }))
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

interface ListedIn<T> {
  readonly all: Iterable<T>;
  /** How one is found by the text of an attribute, without looking at all. */
  readonly byAttribute: ReadonlyMap<string, (text: string) => T | undefined>;
  readonly show: (one: T) => Resource;
  readonly countItems: (one: T) => number;
}

async function listPage<T extends { readonly id: number; readonly provider: string }>(
  { name }: ProviderConfig,
  { filter: text, startIndex, count }: PageRequest,
  { all, byAttribute, show, countItems }: ListedIn<T>,
): Promise<Page> {
  const filter = text === "" ? undefined : readFilter(text);
  const equality = filter?.equality;
  const find = equality === undefined ? undefined : byAttribute.get(equality.attribute);
  let found: readonly T[];
  if (equality !== undefined && find !== undefined) {
    const one = find(equality.value);
    found = one === undefined ? [] : [one];
  } else {
    const isMeant = (one: T): boolean => one.provider === name && (filter === undefined || filter.holds(show(one)));
    found = await inOrder(all, isMeant, countItems);
  }
  return { resources: cutPage(found, startIndex, count, countItems).map(show), total: found.length };
}

/** Items that are looked at in one step, where each member of a group is one. */
const itemsOfStep = 2_000;

/** Those that are meant, by id, which never changes, so that pages fit together. */
async function inOrder<T extends { readonly id: number }>(
  all: Iterable<T>,
  isMeant: (one: T) => boolean,
  countItems: (one: T) => number,
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
  countItems: (one: T) => number,
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

/** Whether the directory has not suspended the user; an operator may have. */
function isActive({ suspendedBy = [] }: User): boolean {
  return !suspendedBy.includes("directory");
}

function toEntry(
  { name: provider }: ProviderConfig,
  { userName, externalId, displayName, givenName, familyName, emails }: UserFields,
  times: Pick<DirectoryEntry, "createdAt" | "changedAt">,
): DirectoryEntry {
  return { provider, userName, externalId, displayName, givenName, familyName, emails, ...times };
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

function toActor({ config: { name }, sender }: Pick<DirectoryRequest, "config" | "sender">): Actor {
  return { who: `directory ${name}`, sudoBy: undefined, ...sender, via: `scim ${name}` };
}
