import { visibleError, type RepositoryStatus } from "../model/repository-status.js";
import type { Viewer } from "../model/viewer.js";

/**
 * Whether each repository is searchable or has failed, and how each of those stands that may be named. A repository without
 * progress is named with its state alone, so that the answer stays small with many. Errors are told to site admins only.
 */
export function readiness(statuses: readonly RepositoryStatus[], viewer: Pick<Viewer, "isSiteAdmin">, isNamed: (name: string) => boolean): { readonly ready: boolean; readonly body: unknown } {
  const ready = statuses.every((status) => status.state !== "pending");
  const repositories = statuses.filter(({ name, state }) => state !== "removed" && isNamed(name)).map(({ name, state, activity, error }) => ({
    name, state, ...(activity === "" ? {} : { activity }), ...(error === "" ? {} : { error: visibleError(error, viewer) }),
  }));
  return { ready, body: { ready, repositories } };
}
