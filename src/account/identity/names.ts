import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import type { RecordObserver } from "../records/record-table.js";

/** The kinds of objects that have names. */
export type NameKind = "user" | "organization" | "team";

const takenWords: Readonly<Record<NameKind, string>> = {
  user: "username",
  organization: "organization name",
  team: "team name",
};

/** The names in use: users, organizations and teams share one namespace, which ignores case. */
export class Names {
  readonly #owners = new Map<string, { readonly kind: NameKind; readonly id: number }>();

  /** The id of the user, organization or team with this name. */
  find(kind: NameKind, name: string): number | undefined {
    const owner = this.#owners.get(name.toLowerCase());
    return owner?.kind === kind ? owner.id : undefined;
  }

  isTaken(name: string): boolean {
    return this.#owners.has(name.toLowerCase());
  }

  /** Throws `conflict` if the name is in use. Clients match the message for a team literally. */
  requireFree(kind: NameKind, name: string): void {
    if (!this.isTaken(name)) return;
    throw new TrawlError(
      "conflict",
      kind === "team"
        ? `${takenWords.team} is already taken`
        : `${takenWords[kind]} ${JSON.stringify(name)} is already taken`,
    );
  }

  /** Maintains the names of one kind of record. */
  observer(kind: NameKind): RecordObserver<{ readonly id: number; readonly name: string }> {
    return (before, after) => {
      if (before !== undefined) {
        assert(this.find(kind, before.name) === before.id, "a name leads to the record that has it");
        this.#owners.delete(before.name.toLowerCase());
      }
      if (after === undefined) return;
      assert(!this.isTaken(after.name), "a name belongs to one user, organization or team");
      this.#owners.set(after.name.toLowerCase(), { kind, id: after.id });
    };
  }
}
