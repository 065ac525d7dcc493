import { visibleError, type RepositoryStatus } from "../model/repository-status.js";
import type { Viewer } from "../model/viewer.js";

/** What those are told of a damaged store who are not site admins: the sentence names a path of the machine. */
const damaged = "A store of the daemon was damaged while it was running. It is repaired at the next start.";

/**
 * Whether no store is damaged and each repository is searchable or has failed, and how each of those stands that may be
 * named. A repository without progress is named with its state alone, so that the answer stays small with many. Errors
 * are told to site admins only.
 */
export function readiness(
  damages: readonly string[],
  statuses: readonly RepositoryStatus[],
  viewer: Pick<Viewer, "isSiteAdmin">,
  isNamed: (name: string) => boolean,
): { readonly ready: boolean; readonly body: unknown } {
  const ready = damages.length === 0 && statuses.every((status) => status.state !== "pending");
  const repositories = statuses
    .filter(({ name, state }) => state !== "removed" && isNamed(name))
    .map(({ name, state, activity, error }) => ({
      name,
      state,
      ...(activity === "" ? {} : { activity }),
      ...(error === "" ? {} : { error: visibleError(error, viewer) }),
    }));
  const told = viewer.isSiteAdmin ? damages : damages.slice(0, 1).map(() => damaged);
  return { ready, body: { ready, ...(told.length === 0 ? {} : { damages: told }), repositories } };
}
