import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Actor } from "../records/audit-log.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import { GroupIndex, type RecordTable, type RecordTables, type RecordWrite } from "../records/record-table.js";
import type { Names } from "./names.js";
import { checkDisplayName, checkName, requireRoom } from "../records/validation.js";

/** Users who own code together. Teams give no access rights; organizations do. */
export interface Team {
  readonly id: number;
  readonly name: string;
  readonly displayName: string;
  /** The parent team; 0 for none. */
  readonly parentId: number;
  /** If true, only site admins may change it. */
  readonly isReadonly: boolean;
  readonly creatorId: number;
  readonly createdAt: string;
  readonly memberIds: readonly number[];
}

const teamCountMax = 10_000;

/** Teams, in memory and in the record store. */
export class Teams {
  readonly #changes: TransactionQueue;
  readonly #names: Names;
  readonly #table: RecordTable<Team>;
  readonly #idsOfUser = new GroupIndex<Team>(({ memberIds }) => memberIds);
  readonly #idsOfParent = new GroupIndex<Team>(({ parentId }) => [parentId]);

  constructor(tables: RecordTables, changes: TransactionQueue, names: Names) {
    this.#changes = changes;
    this.#names = names;
    const observeName = names.observer("team");
    this.#table = tables.add<Team>("team/", (before, after) => {
      observeName(before, after);
      this.#idsOfUser.change(before, after);
      this.#idsOfParent.change(before, after);
    });
  }

  get count(): number {
    return this.#table.count;
  }

  all(): readonly Team[] {
    return [...this.#table.values()];
  }

  /** The direct children of the team with this id; of id 0, the root teams. */
  childTeams(id: number): readonly Team[] {
    return this.#idsOfParent.of(id).flatMap((part) => this.#table.get(part) ?? []);
  }

  /** Those that the user is a member of. */
  ofUser(userId: number): readonly Team[] {
    return this.#idsOfUser.of(userId).flatMap((id) => this.#table.get(id) ?? []);
  }

  get(id: number): Team | undefined {
    return this.#table.get(id);
  }

  byName(name: string): Team | undefined {
    return this.#table.get(this.#names.find("team", name) ?? 0);
  }

  create(
    given: Pick<Team, "name" | "displayName" | "parentId" | "isReadonly" | "creatorId">,
    actor: Actor,
  ): Promise<Team> {
    checkName(given.name);
    checkDisplayName(given.displayName);
    return this.#changes.commit(
      () => {
        this.#names.requireFree("team", given.name);
        requireRoom(this.#table.count, teamCountMax, "teams");
        if (given.parentId !== 0) this.#require(given.parentId);
        const team: Team = { id: this.#changes.newId(), ...given, createdAt: new Date().toISOString(), memberIds: [] };
        return { steps: [this.#table.put(team)], result: team };
      },
      ({ name }) => auditEntry("team-created", actor, { team: name }),
    );
  }

  /** Changes the given properties. Rejects with `conflict` if the team would become its own ancestor. */
  update(id: number, changes: Partial<Pick<Team, "name" | "displayName" | "parentId">>, actor: Actor): Promise<Team> {
    if (changes.name !== undefined) checkName(changes.name);
    if (changes.displayName !== undefined) checkDisplayName(changes.displayName);
    return this.#changes.commit(
      () => {
        const team = this.#require(id);
        if (changes.name !== undefined && this.#names.find("team", changes.name) !== id)
          this.#names.requireFree("team", changes.name);
        if (changes.parentId !== undefined && changes.parentId !== 0) this.#requireOutside(team, changes.parentId);
        const result = { ...team, ...changes };
        return { steps: [this.#table.put(result)], result };
      },
      ({ name }) => auditEntry("team-changed", actor, { team: name, ...changes }),
    );
  }

  /** Rejects with `conflict` if the team has children. */
  delete(id: number, actor: Actor): Promise<Team> {
    return this.#changes.commit(
      () => {
        const team = this.#require(id);
        const part = this.childTeams(id).at(0);
        if (part !== undefined)
          throw new TrawlError(
            "conflict",
            `team ${JSON.stringify(part.name)} is a child of this team; delete or move it first`,
          );
        return { steps: [this.#table.remove(team)], result: team };
      },
      ({ name }) => auditEntry("team-deleted", actor, { team: name }),
    );
  }

  /** `choose` receives the members and returns the new ones. */
  setMembers(id: number, choose: (memberIds: readonly number[]) => readonly number[], actor: Actor): Promise<Team> {
    return this.#changes.commit(
      () => {
        const team = this.#require(id);
        const result = { ...team, memberIds: [...new Set(choose(team.memberIds))] };
        return { steps: [this.#table.put(result)], result };
      },
      ({ name, memberIds }) => auditEntry("team-changed", actor, { team: name, memberIds }),
    );
  }

  /** The writes that remove a user from all teams. */
  removingUser(userId: number): readonly RecordWrite[] {
    return this.ofUser(userId).map((team) =>
      this.#table.put({ ...team, memberIds: team.memberIds.filter((id) => id !== userId) }),
    );
  }

  #require(id: number): Team {
    const team = this.#table.get(id);
    if (team === undefined) throw new TrawlError("not-found", "there is no such team (any more)");
    return team;
  }

  /** Following the parents always ends, because no change creates a cycle. */
  #requireOutside(team: Team, parentId: number): void {
    for (
      let above: Team | undefined = this.#require(parentId);
      above !== undefined;
      above = this.#table.get(above.parentId)
    ) {
      if (above.id === team.id)
        throw new TrawlError("conflict", `team ${JSON.stringify(team.name)} cannot be its own ancestor`);
    }
  }
}
