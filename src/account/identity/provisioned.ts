import { TrawlError } from "../../base/errors.js";
import { GroupIndex, reindex, type RecordTable, type RecordTables, type RecordWrite } from "../records/record-table.js";
import { requireRoom } from "../records/validation.js";

/** What a directory says of a user. Texts are "" where it says nothing. */
export interface DirectoryEntry {
  /** The name of the identity provider whose directory it is. */
  readonly provider: string;
  readonly userName: string;
  readonly externalId: string;
  readonly displayName: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly emails: readonly DirectoryEmail[];
  /** RFC 3339. */
  readonly createdAt: string;
  readonly changedAt: string;
}

export interface DirectoryEmail {
  readonly value: string;
  /** As "work"; "" if it is not said. */
  readonly type: string;
  readonly primary: boolean;
}

export interface ProvisionedUser extends DirectoryEntry {
  /** That of the user. */
  readonly id: number;
}

export interface ProvisionedGroup {
  readonly id: number;
  readonly provider: string;
  readonly displayName: string;
  readonly externalId: string;
  readonly memberIds: readonly number[];
  /** RFC 3339. */
  readonly createdAt: string;
  readonly changedAt: string;
}

/** Limits on the groups of all directories, on the members of all, and on those of one. */
const groupCountMax = 10_000;
const memberCountMax = 1_000_000;
export const groupMembersMax = 20_000;

/** The users and groups that the directories of identity providers have sent. Names, ignoring case, and external ids are unique in each directory. */
export class Provisioned {
  readonly #users: RecordTable<ProvisionedUser>;
  readonly #groups: RecordTable<ProvisionedGroup>;
  readonly #userByKey = new Map<string, number>();
  readonly #groupByKey = new Map<string, number>();
  #memberCount = 0;
  readonly #groupsOfUser = new GroupIndex<ProvisionedGroup>(({ memberIds }) => memberIds);

  constructor(tables: RecordTables) {
    this.#users = tables.add<ProvisionedUser>("directory-user/", (before, after) =>
      reindex(this.#userByKey, before, after, userKeys),
    );
    this.#groups = tables.add<ProvisionedGroup>("directory-group/", (before, after) => {
      reindex(this.#groupByKey, before, after, groupKeys);
      this.#groupsOfUser.change(before, after);
      this.#memberCount += (after?.memberIds.length ?? 0) - (before?.memberIds.length ?? 0);
    });
  }

  user(id: number): ProvisionedUser | undefined {
    return this.#users.get(id);
  }

  users(): Iterable<ProvisionedUser> {
    return this.#users.values();
  }

  group(id: number): ProvisionedGroup | undefined {
    return this.#groups.get(id);
  }

  groups(): Iterable<ProvisionedGroup> {
    return this.#groups.values();
  }

  groupsOf(userId: number): readonly ProvisionedGroup[] {
    return this.#groupsOfUser.of(userId).flatMap((id) => this.#groups.get(id) ?? []);
  }

  userNamed(provider: string, userName: string): ProvisionedUser | undefined {
    return this.#users.get(this.#userByKey.get(key(provider, "name", userName)) ?? 0);
  }

  userWithExternalId(provider: string, externalId: string): ProvisionedUser | undefined {
    return this.#users.get(this.#userByKey.get(key(provider, "id", externalId)) ?? 0);
  }

  groupNamed(provider: string, displayName: string): ProvisionedGroup | undefined {
    return this.#groups.get(this.#groupByKey.get(key(provider, "name", displayName)) ?? 0);
  }

  /** Throws `conflict` if another user of the directory has this name or id. */
  putting(id: number, entry: DirectoryEntry): RecordWrite {
    const user = { ...entry, id };
    requireUnused(userKeys(user), this.#userByKey, id, "user");
    return this.#users.put(user);
  }

  /** Throws `conflict` if another group of the directory has this name or id, and `overloaded` if there are too many. */
  puttingGroup(group: ProvisionedGroup): RecordWrite {
    requireUnused(groupKeys(group), this.#groupByKey, group.id, "group");
    const before = this.#groups.get(group.id);
    if (before === undefined) requireRoom(this.#groups.count, groupCountMax, "groups of directories");
    const more = group.memberIds.length - (before?.memberIds.length ?? 0);
    requireRoom(group.memberIds.length - 1, groupMembersMax, "members of this group");
    if (more > 0) requireRoom(this.#memberCount + more - 1, memberCountMax, "members of groups of directories");
    return this.#groups.put(group);
  }

  removingGroup(group: ProvisionedGroup): RecordWrite {
    return this.#groups.remove(group);
  }

  /** The writes that remove a user from the directory. */
  removingUser(userId: number): readonly RecordWrite[] {
    const user = this.#users.get(userId);
    const left = this.groupsOf(userId).map((group) =>
      this.#groups.put({ ...group, memberIds: group.memberIds.filter((id) => id !== userId) }),
    );
    return user === undefined ? left : [...left, this.#users.remove(user)];
  }
}

function key(provider: string, kind: "name" | "id", text: string): string {
  return `${provider} ${kind} ${kind === "name" ? text.toLowerCase() : text}`;
}

function userKeys({ provider, userName, externalId }: ProvisionedUser): readonly string[] {
  return [key(provider, "name", userName), ...(externalId === "" ? [] : [key(provider, "id", externalId)])];
}

function groupKeys({ provider, displayName, externalId }: ProvisionedGroup): readonly string[] {
  return [key(provider, "name", displayName), ...(externalId === "" ? [] : [key(provider, "id", externalId)])];
}

function requireUnused(keys: readonly string[], index: ReadonlyMap<string, number>, id: number, what: string): void {
  const isTaken = keys.some((one) => (index.get(one) ?? id) !== id);
  if (isTaken) throw new TrawlError("conflict", `another ${what} of this directory has this name or externalId`);
}
