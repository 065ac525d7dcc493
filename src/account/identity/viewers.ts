import type { Viewer } from "../../model/viewer.js";
import type { Organization, User } from "./user.js";

/** What users may see and do, computed once for each user until names or memberships change. */
export class Viewers {
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
