import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Actor } from "../records/audit-log.js";
import { GroupIndex, type RecordTable, type RecordTables, type RecordWrite } from "../records/record-table.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { Leases } from "./leases.js";
import type { Names } from "./names.js";
import type { Organization, UserFinder } from "./user.js";
import { checkDisplayName, checkName, requireRoom } from "../records/validation.js";

const organizationCountMax = 10_000;

/** Names in a line of the audit log about many members. */
const namesInLine = 100;

/** Organizations and their members. */
export class Organizations {
  readonly #changes: TransactionQueue;
  readonly #names: Names;
  readonly #users: UserFinder;
  readonly #table: RecordTable<Organization>;
  readonly #idsOfUser = new GroupIndex<Organization>(({ memberIds }) => memberIds);

  /** `onChanged` is called when a name or the members of some organization change. */
  constructor(
    tables: RecordTables,
    changes: TransactionQueue,
    names: Names,
    users: UserFinder,
    leases: Leases,
    onChanged: () => void,
  ) {
    this.#changes = changes;
    this.#names = names;
    this.#users = users;
    const observeName = names.observer("organization");
    // Stored records have this spelling.
    this.#table = tables.add<Organization>("organisation/", (before, after) => {
      observeName(before, after);
      this.#idsOfUser.change(before, after);
      for (const id of before?.memberIds ?? []) {
        if (after?.memberIds.includes(id) !== true)
          leases.end(`user/${id}`, "The account is no longer a member of an organization.");
      }
      onChanged();
    });
  }

  get count(): number {
    return this.#table.count;
  }

  /** In the order in which they were created. */
  all(): readonly Organization[] {
    return [...this.#table.values()].sort((a, b) => a.id - b.id);
  }

  get(id: number): Organization | undefined {
    return this.#table.get(id);
  }

  byName(name: string): Organization | undefined {
    return this.#table.get(this.#names.find("organization", name) ?? 0);
  }

  /** The organizations that the user is a member of. */
  ofUser(userId: number): readonly Organization[] {
    return this.#idsOfUser.of(userId).flatMap((id) => this.#table.get(id) ?? []);
  }

  /** Throws `not-found` when there is none with this name. */
  require(name: string): Organization {
    const organization = this.byName(name);
    if (organization === undefined) {
      throw new TrawlError(
        "not-found",
        `there is no organization named ${JSON.stringify(name)}; \`trawl org list\` lists the existing ones`,
      );
    }
    return organization;
  }

  create(given: Pick<Organization, "name" | "displayName" | "memberIds">, actor: Actor): Promise<Organization> {
    checkName(given.name);
    checkDisplayName(given.displayName);
    return this.#changes.commit(
      () => {
        this.#names.requireFree("organization", given.name);
        requireRoom(this.#table.count, organizationCountMax, "organizations");
        const organization: Organization = { id: this.#changes.newId(), ...given, createdAt: new Date().toISOString() };
        return { steps: [this.#table.put(organization)], result: organization };
      },
      ({ name }) => auditEntry("organization-created", actor, { organization: name }),
    );
  }

  update(name: string, changes: Pick<Organization, "displayName">, actor: Actor): Promise<Organization> {
    checkDisplayName(changes.displayName);
    return this.#changes.commit(
      () => {
        const result = { ...this.require(name), ...changes };
        return { steps: [this.#table.put(result)], result };
      },
      (organization) => auditEntry("organization-changed", actor, { organization: organization.name, ...changes }),
    );
  }

  /** Adds or removes a member; does nothing if the user already is, or is not, a member. */
  setMember(organizationName: string, userName: string, isMember: boolean, actor: Actor): Promise<Organization> {
    return this.#changes.commit(
      () => {
        const organization = this.require(organizationName);
        const user = this.#users.require(userName);
        const others = without(organization, user.id);
        const result = isMember ? { ...others, memberIds: [...others.memberIds, user.id] } : others;
        return { steps: [this.#table.put(result)], result };
      },
      ({ name }) =>
        auditEntry(isMember ? "member-added" : "member-removed", actor, { organization: name, user: userName }),
    );
  }

  /**
   * Makes these users members, and nobody else of those whom `isDecided` names; the others stay what they are. Creates the
   * organization if there is someone to be a member of it.
   */
  async setMembers(
    name: string,
    wanted: ReadonlySet<number>,
    isDecided: (userId: number) => boolean,
    actor: Actor,
  ): Promise<void> {
    const current = new Set(this.byName(name)?.memberIds ?? []);
    const isSame =
      [...current].every((id) => wanted.has(id) || !isDecided(id)) && [...wanted].every((id) => current.has(id));
    if (isSame) return;
    if (this.byName(name) === undefined)
      await this.create({ name, displayName: "", memberIds: [] }, actor).catch((error: unknown) => {
        if (this.byName(name) === undefined) throw error;
      });
    await this.#changes.commit(
      () => {
        const organization = this.require(name);
        const before = new Set(organization.memberIds);
        const added = [...wanted].filter((id) => !before.has(id) && this.#users.get(id) !== undefined);
        const removed = organization.memberIds.filter((id) => !wanted.has(id) && isDecided(id));
        const gone = new Set(removed);
        const memberIds = [...organization.memberIds.filter((id) => !gone.has(id)), ...added];
        return { steps: [this.#table.put({ ...organization, memberIds })], result: { added, removed } };
      },
      ({ added, removed }) =>
        added.length + removed.length === 0
          ? undefined
          : auditEntry("members-set", actor, { organization: name, ...this.#named({ added, removed }) }),
    );
  }

  #named({
    added,
    removed,
  }: Readonly<Record<"added" | "removed", readonly number[]>>): Readonly<Record<string, unknown>> {
    const names = (ids: readonly number[]) =>
      ids.slice(0, namesInLine).flatMap((id) => this.#users.get(id)?.name ?? []);
    return { added: names(added), addedCount: added.length, removed: names(removed), removedCount: removed.length };
  }

  /** Removes the record of an organization. */
  removing(organization: Organization): RecordWrite {
    return this.#table.remove(organization);
  }

  /** The write that makes a user a member. */
  adding(organization: Organization, userId: number): RecordWrite {
    const others = without(organization, userId);
    return this.#table.put({ ...others, memberIds: [...others.memberIds, userId] });
  }

  /** What deleting a user changes: its memberships. */
  removingUser(userId: number): readonly RecordWrite[] {
    return this.ofUser(userId).map((organization) => this.#table.put(without(organization, userId)));
  }
}

function without(organization: Organization, userId: number): Organization {
  return { ...organization, memberIds: organization.memberIds.filter((id) => id !== userId) };
}
