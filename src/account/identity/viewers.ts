import type { Viewer } from "../../model/viewer.js";
import type { Organisation, User } from "./user.js";

/** What users may see and do, computed once for each user until names or memberships change. */
export class Viewers {
  readonly #viewers = new Map<number, Viewer>();
  readonly #organisationsOfUser: (userId: number) => readonly Organisation[];

  constructor(organisationsOfUser: (userId: number) => readonly Organisation[]) {
    this.#organisationsOfUser = organisationsOfUser;
  }

  find(user: User): Viewer {
    const known = this.#viewers.get(user.id);
    if (known !== undefined) return known;
    const readerNames = [user, ...this.#organisationsOfUser(user.id)].map(({ name }) => name.toLowerCase()).sort();
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
