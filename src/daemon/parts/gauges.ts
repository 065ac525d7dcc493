import type { MetricRegistry } from "../../base/metrics.js";
import type { Catalog } from "../../catalog/catalog.js";
import { diskRoom } from "../../git/run/disk-room.js";
import type { SliceScheduler } from "../../search/slices/search-slices.js";
import type { SyncManager } from "../../sync/sync-manager.js";

/** Sources of the gauges for queues, disk space and the age of the searchable data. */
export interface Gauged {
  readonly catalog: Catalog;
  readonly sync: SyncManager;
  readonly scheduler: SliceScheduler;
  readonly searches: { readonly waitingCount: number };
  readonly ingest: { readonly waitingCount: number };
  readonly read: { readonly waitingCount: number };
  readonly dataFolder: string;
  readonly reserveBytes: number;
  readonly version: string;
  readonly kernel: string;
}

/** Updates the gauges only when the metrics are read. */
export function watchGauges({ metrics, onText }: MetricRegistry, gauged: Gauged): void {
  metrics.buildInfo.set({ version: gauged.version, node: process.versions.node, kernel: gauged.kernel }, 1);
  onText(async () => {
    await gauged.sync.refreshGauges();
    const lengths = {
      search: gauged.searches.waitingCount,
      sync: gauged.sync.waitingCount,
      ingest: gauged.ingest.waitingCount,
      read: gauged.read.waitingCount,
      slice_interactive: gauged.scheduler.waitingIn("interactive"),
      slice_exhaustive: gauged.scheduler.waitingIn("exhaustive"),
    };
    for (const [queue, length] of Object.entries(lengths)) metrics.queueLength.set({ queue }, length);
    const { freeBytes, sizeBytes, reserve } = await diskRoom(gauged.dataFolder, gauged.reserveBytes);
    metrics.diskFreeBytes.set(freeBytes);
    metrics.diskSizeBytes.set(sizeBytes);
    metrics.diskReserveBytes.set(reserve);
  });
}
