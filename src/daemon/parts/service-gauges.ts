import type { MetricRegistry } from "../../base/metrics.js";
import type { GitCache } from "../../browse/mirror-reads.js";
import type { Connections } from "../../codehost/connections.js";
import type { RevisionCache } from "../../search/revisions/revision-cache.js";
import type { DaemonParts } from "./parts.js";

/** Sources of the gauges for what works in the background, and for what is kept in memory. */
export interface GaugedServices
  extends Pick<DaemonParts, "jobs" | "notifications" | "resumable" | "accounts" | "audit" | "searcher"> {
  readonly connections: Pick<Connections, "statuses">;
  readonly gitCache: GitCache;
  readonly revisionCache: Pick<RevisionCache, "sizes">;
}

/** Updates the gauges only when the metrics are read. */
export function watchServices({ metrics, onText }: MetricRegistry, services: GaugedServices): void {
  services.audit.onRefusal = (refused) => {
    if (refused === "credential") metrics.credentialsRefused.inc();
    else metrics.signInFailures.inc({ reason: refused.replaceAll(" ", "_") });
  };
  onText(() => {
    const { counts, storedBytes } = services.jobs.usage();
    for (const [state, count] of Object.entries(counts)) metrics.jobs.set({ state }, count);
    metrics.jobStoredBytes.set(storedBytes);

    const notifications = services.notifications.usage();
    metrics.notifyingSearches.set(notifications.searchCount);
    metrics.notificationsWaiting.set(notifications.waitingCount);
    metrics.notificationsWaitingBytes.set(notifications.waitingBytes);

    const streams = services.resumable.usage();
    metrics.resumableStreams.set({ state: "used" }, streams.usedCount);
    metrics.resumableStreams.set({ state: "kept" }, streams.count - streams.usedCount);
    metrics.resumableStreamBytes.set(streams.bytes);

    for (const [map, size] of Object.entries(mapSizes(services))) metrics.mapEntries.set({ map }, size);
    setConnectionGauges(metrics, services.connections);
  });
}

/** A connection that is no longer configured has no gauges. */
function setConnectionGauges(metrics: MetricRegistry["metrics"], connections: GaugedServices["connections"]): void {
  const statuses = connections.statuses();
  const failingCount = statuses.filter(({ error }) => error !== "").length;
  metrics.connections.set({ state: "failing" }, failingCount);
  metrics.connections.set({ state: "good" }, statuses.length - failingCount);
  metrics.connectionRepositories.reset();
  metrics.connectionLastSuccess.reset();
  metrics.hostPermissions.reset();
  for (const { name: connection, repositoryCount, lastListed, permissions } of statuses) {
    if (permissions !== undefined) {
      const { closedCount, repositoryCount: count } = permissions;
      metrics.hostPermissions.set({ connection, state: "closed" }, closedCount);
      metrics.hostPermissions.set({ connection, state: "good" }, count - closedCount);
    }
    metrics.connectionRepositories.set({ connection }, repositoryCount);
    metrics.connectionLastSuccess.set({ connection }, lastListed === "" ? 0 : Date.parse(lastListed) / 1000);
  }
}

function mapSizes({ searcher, accounts, gitCache, revisionCache }: GaugedServices): Readonly<Record<string, number>> {
  return {
    ...searcher.mapSizes,
    ...accounts.mapSizes,
    revision_blocks: revisionCache.sizes.blocks,
    revision_batches: revisionCache.sizes.batches,
    git_commits: gitCache.commits.size,
    git_entries: gitCache.entries.size,
    git_histories: gitCache.histories.size,
    git_blames: gitCache.blames.size + gitCache.origins.size,
  };
}
