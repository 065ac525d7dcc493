import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Actor } from "../records/audit-log.js";
import { GroupIndex } from "../records/group-index.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { Leases } from "../sign-in/leases.js";
import type { Names } from "./names.js";
import type { Organisation, UserFinder } from "./user.js";
import { checkDisplayName, checkName, requireRoom } from "./validation.js";

const organisationCountMax = 10_000;

/** Organisations and their members. */
export class Organisations {
  readonly #changes: TransactionQueue;
  readonly #names: Names;
  readonly #users: UserFinder;
  readonly #table: RecordTable<Organisation>;
  readonly #idsOfUser = new GroupIndex<Organisation>(({ memberIds }) => memberIds);

  /** `onChanged` is called when a name or the members of some organisation change. */
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
    const observeName = names.observer("organisation");
    this.#table = tables.add<Organisation>("organisation/", (before, after) => {
      observeName(before, after);
      this.#idsOfUser.change(before, after);
      for (const id of before?.memberIds ?? []) {
        if (after?.memberIds.includes(id) !== true)
          leases.end(`user/${id}`, "The account is no longer a member of an organisation.");
      }
      onChanged();
    });
  }

  get count(): number {
    return this.#table.count;
  }

  /** In the order in which they were created. */
  all(): readonly Organisation[] {
    return [...this.#table.values()].sort((a, b) => a.id - b.id);
  }

  get(id: number): Organisation | undefined {
    return this.#table.get(id);
  }

  byName(name: string): Organisation | undefined {
    return this.#table.get(this.#names.find("organisation", name) ?? 0);
  }

  /** The organisations that the user is a member of. */
  ofUser(userId: number): readonly Organisation[] {
    return this.#idsOfUser.of(userId).flatMap((id) => this.#table.get(id) ?? []);
  }

  /** Throws `not-found` when there is none with this name. */
  require(name: string): Organisation {
    const organisation = this.byName(name);
    if (organisation === undefined) {
      throw new TrawlError(
        "not-found",
        `there is no organisation named ${JSON.stringify(name)}; \`trawl org list\` lists the existing ones`,
      );
    }
    return organisation;
  }

  create(given: Pick<Organisation, "name" | "displayName" | "memberIds">, actor: Actor): Promise<Organisation> {
    checkName(given.name);
    checkDisplayName(given.displayName);
    return this.#changes.commit(
      () => {
        this.#names.requireFree("organisation", given.name);
        requireRoom(this.#table.count, organisationCountMax, "organisations");
        const organisation: Organisation = { id: this.#changes.newId(), ...given, createdAt: new Date().toISOString() };
        return { steps: [this.#table.put(organisation)], result: organisation };
      },
      ({ name }) => auditEntry("organisation-created", actor, { organisation: name }),
    );
  }

  update(name: string, changes: Pick<Organisation, "displayName">, actor: Actor): Promise<Organisation> {
    checkDisplayName(changes.displayName);
    return this.#changes.commit(
      () => {
        const result = { ...this.require(name), ...changes };
        return { steps: [this.#table.put(result)], result };
      },
      (organisation) => auditEntry("organisation-changed", actor, { organisation: organisation.name, ...changes }),
    );
  }

  /** Adds or removes a member; does nothing if the user already is, or is not, a member. */
  setMember(organisationName: string, userName: string, isMember: boolean, actor: Actor): Promise<Organisation> {
    return this.#changes.commit(
      () => {
        const organisation = this.require(organisationName);
        const user = this.#users.require(userName);
        const others = without(organisation, user.id);
        const result = isMember ? { ...others, memberIds: [...others.memberIds, user.id] } : others;
        return { steps: [this.#table.put(result)], result };
      },
      ({ name }) =>
        auditEntry(isMember ? "member-added" : "member-removed", actor, { organisation: name, user: userName }),
    );
  }

  /** Removes the record of an organisation. */
  removing(organisation: Organisation): RecordWrite {
    return this.#table.remove(organisation);
  }

  /** The write that makes a user a member. */
  adding(organisation: Organisation, userId: number): RecordWrite {
    const others = without(organisation, userId);
    return this.#table.put({ ...others, memberIds: [...others.memberIds, userId] });
  }

  /** What deleting a user changes: its memberships. */
  removingUser(userId: number): readonly RecordWrite[] {
    return this.ofUser(userId).map((organisation) => this.#table.put(without(organisation, userId)));
  }
}

function without(organisation: Organisation, userId: number): Organisation {
  return { ...organisation, memberIds: organisation.memberIds.filter((id) => id !== userId) };
}
