import type { HistoryStatus } from "../model/history-record.js";
import { visibleError, type RepositoryStatus } from "../model/repository-status.js";
import type { Viewer } from "../model/viewer.js";

/**
 * The error shown for a damaged store to viewers who are not site admins, because the original message contains a path
 * of the machine.
 */
const damaged = "A store of the daemon was damaged while it was running. It is repaired at the next start.";

/**
 * Whether no store is damaged and each repository is searchable or has failed, and the status of each repository that
 * may be named. A repository without progress is listed with its state only, so that the response stays small; its
 * history is mentioned unless all of its commits are indexed. Errors and warnings are shown to site admins only.
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
    .map(({ name, state, activity, error, warnings, historyIndex }) => ({
      name,
      state,
      ...(activity === "" ? {} : { activity }),
      ...(error === "" ? {} : { error: visibleError(error, viewer) }),
      ...(warnings.length === 0 || !viewer.isSiteAdmin ? {} : { warnings }),
      ...describeHistory(historyIndex, viewer),
    }));
  const told = viewer.isSiteAdmin ? damages : damages.slice(0, 1).map(() => damaged);
  return { ready, body: { ready, ...(told.length === 0 ? {} : { damages: told }), repositories } };
}

function describeHistory(history: HistoryStatus, viewer: Pick<Viewer, "isSiteAdmin">): { readonly history?: unknown } {
  const { isUpToDate, reachableCount, indexedCount, storedBytes, error } = history;
  if (reachableCount === null && error === "") return {};
  if (isUpToDate && reachableCount === indexedCount) return {};
  const failure = error === "" ? {} : { error: visibleError(error, viewer) };
  return { history: { commits: reachableCount, indexed: indexedCount, bytes: storedBytes, ...failure } };
}
