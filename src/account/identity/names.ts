import { TrawlError } from "../../base/errors.js";
import type { RecordObserver } from "../records/record-table.js";

/** What a name may belong to. */
export type NameKind = "user" | "organisation" | "team";

const takenWords: Readonly<Record<NameKind, string>> = {
  user: "username",
  organisation: "organisation name",
  team: "team name",
};

/** The names in use: those of users, organisations and teams are one set, in which case does not count. */
export class Names {
  readonly #owners = new Map<string, { readonly kind: NameKind; readonly id: number }>();

  /** The id of the user, organisation or team with this name. */
  find(kind: NameKind, name: string): number | undefined {
    const owner = this.#owners.get(name.toLowerCase());
    return owner?.kind === kind ? owner.id : undefined;
  }

  isTaken(name: string): boolean {
    return this.#owners.has(name.toLowerCase());
  }

  /** Throws `conflict` when anything has this name. Clients know the words for a team by heart. */
  requireFree(kind: NameKind, name: string): void {
    if (!this.isTaken(name)) return;
    throw new TrawlError(
      "conflict",
      kind === "team"
        ? `${takenWords.team} is already taken`
        : `${takenWords[kind]} ${JSON.stringify(name)} is already taken`,
    );
  }

  /** Keeps the names of one kind of record. */
  observer(kind: NameKind): RecordObserver<{ readonly id: number; readonly name: string }> {
    return (before, after) => {
      if (before !== undefined) this.#owners.delete(before.name.toLowerCase());
      if (after !== undefined) this.#owners.set(after.name.toLowerCase(), { kind, id: after.id });
    };
  }
}
