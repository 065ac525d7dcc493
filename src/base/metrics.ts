import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

/**
 * The one table of what the daemon counts. A row is a metric of the Prometheus text at `/metrics`; the unit is in its
 * name. To count something else, add a row and use `metrics.<key>`.
 */
export const metricTable = {
  buildInfo: {
    kind: "gauge",
    name: "trawl_build_info",
    labels: ["version", "node", "kernel"],
    help: "Always 1; the labels say which version of the daemon, of Node and of the inner loops runs.",
  },
  searches: {
    kind: "counter",
    name: "trawl_searches_total",
    labels: ["outcome"],
    help: "Searches that ended, by outcome: complete, limit, timeout, cancelled, failed, refused.",
  },
  searchMatches: {
    kind: "counter",
    name: "trawl_search_matches_total",
    labels: [],
    help: "Matches found by all searches, also those past a display limit.",
  },
  searchBytesScanned: {
    kind: "counter",
    name: "trawl_search_scanned_bytes_total",
    labels: [],
    help: "Bytes of document content that searches looked at.",
  },
  searchShardScans: {
    kind: "counter",
    name: "trawl_search_shard_scans_total",
    labels: [],
    help: "Shards that searches evaluated; a shard that two searches evaluate counts twice.",
  },
  searchFirstMatchesSeconds: {
    kind: "histogram",
    name: "trawl_search_first_matches_seconds",
    labels: ["lane"],
    buckets: [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1, 2, 5, 10],
    help: "Time from the request to the first matches event, by lane: interactive, exhaustive (for more than 100,000 matches).",
  },
  searchSeconds: {
    kind: "histogram",
    name: "trawl_search_seconds",
    labels: ["lane"],
    buckets: [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1, 2, 5, 10, 20, 60],
    help: "Time from the request to the done event, by lane: interactive, exhaustive.",
  },
  searchStopSeconds: {
    kind: "histogram",
    name: "trawl_search_stop_seconds",
    labels: [],
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1],
    help: "Time from the departure of a client, the end of a search's time or another stop to the moment when no thread works for that search, of which 0.5 s are waited for.",
  },
  searchesRunning: { kind: "gauge", name: "trawl_searches_running", labels: [], help: "Searches that have workers." },
  searchesQueued: {
    kind: "gauge",
    name: "trawl_searches_queued",
    labels: [],
    help: "Searches that wait for a permit to run.",
  },
  queueLength: {
    kind: "gauge",
    name: "trawl_queue_length",
    labels: ["queue"],
    help: "What waits for its turn, by queue: search (requests), slice_interactive and slice_exhaustive (parts of searches), sync (repositories), ingest and read (tasks of threads).",
  },
  streamsOpen: {
    kind: "gauge",
    name: "trawl_streams_open",
    labels: [],
    help: "Event streams whose response has not ended.",
  },
  streamBytesSent: {
    kind: "counter",
    name: "trawl_stream_sent_bytes_total",
    labels: [],
    help: "Bytes of event streams that sockets took, after compression.",
  },
  streamsStalled: {
    kind: "counter",
    name: "trawl_streams_stalled_total",
    labels: [],
    help: "Event streams closed because the client stopped reading.",
  },
  httpRequests: {
    kind: "counter",
    name: "trawl_http_requests_total",
    labels: ["method", "status"],
    help: "HTTP requests answered, by method and status.",
  },
  graphqlRequests: {
    kind: "counter",
    name: "trawl_graphql_requests_total",
    labels: ["outcome"],
    help: "GraphQL requests answered, by outcome: good, errors (of fields), refused (not executed).",
  },
  graphqlSeconds: {
    kind: "histogram",
    name: "trawl_graphql_seconds",
    labels: [],
    buckets: [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1, 2, 5, 10, 20, 60],
    help: "Time from the request to its answer's last byte being made.",
  },
  eventLoopDelayMaxSeconds: {
    kind: "gauge",
    name: "trawl_event_loop_delay_max_seconds",
    labels: [],
    help: "Longest time in the last minute that the main thread's event loop was late by, to 10 ms.",
  },
  eventLoopDelaySeconds: {
    kind: "histogram",
    name: "trawl_event_loop_delay_seconds",
    labels: [],
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
    help: "Longest time in each second that the main thread's event loop was late by.",
  },
  workersLost: {
    kind: "counter",
    name: "trawl_workers_lost_total",
    labels: ["pool", "reason"],
    help: "Worker threads that were lost in a task and replaced, by pool (search, ingest, read) and reason: overrun, stalled (both were ended), memory, died.",
  },
  quarantined: {
    kind: "gauge",
    name: "trawl_quarantined",
    labels: ["kind"],
    help: "What is not indexed because a thread did not get past it, by kind: file, repository.",
  },
  repositories: {
    kind: "gauge",
    name: "trawl_repositories",
    labels: ["state"],
    help: "Configured repositories, by state: searchable, pending, failed, removed.",
  },
  repositoriesFailing: {
    kind: "gauge",
    name: "trawl_repositories_failing",
    labels: ["state"],
    help: "Repositories whose last sync failed, by state: searchable (as of an earlier fetch), failed (never searchable).",
  },
  syncLastSuccess: {
    kind: "gauge",
    name: "trawl_sync_last_success_timestamp_seconds",
    labels: [],
    help: "Unix time of the last sync that succeeded, of any repository; 0 before the first.",
  },
  syncOldestSuccess: {
    kind: "gauge",
    name: "trawl_sync_oldest_success_timestamp_seconds",
    labels: [],
    help: "Unix time of the last successful sync of the repository for which that is longest ago; 0 while one has none.",
  },
  diskFreeBytes: {
    kind: "gauge",
    name: "trawl_disk_free_bytes",
    labels: [],
    help: "Bytes that the daemon may still write to the disk of its data.",
  },
  diskSizeBytes: { kind: "gauge", name: "trawl_disk_size_bytes", labels: [], help: "Bytes of the disk of its data." },
  diskReserveBytes: {
    kind: "gauge",
    name: "trawl_disk_reserve_bytes",
    labels: [],
    help: "Fetching stops when fewer bytes of the disk are free.",
  },
  syncs: {
    kind: "counter",
    name: "trawl_syncs_total",
    labels: ["outcome"],
    help: "Ends of a repository's sync, by outcome: unchanged, indexed, failed.",
  },
  syncSeconds: {
    kind: "histogram",
    name: "trawl_sync_seconds",
    labels: [],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
    help: "Time of one sync, from the fetch to the moment a search can see the commit.",
  },
  syncReadBlobs: {
    kind: "counter",
    name: "trawl_sync_read_blobs_total",
    labels: [],
    help: "Blobs that syncs read from mirrors to index them.",
  },
  syncReadBytes: {
    kind: "counter",
    name: "trawl_sync_read_bytes_total",
    labels: [],
    help: "Bytes of the blobs that syncs read from mirrors.",
  },
  indexShards: { kind: "gauge", name: "trawl_index_shards", labels: [], help: "Live shards." },
  indexDocuments: {
    kind: "gauge",
    name: "trawl_index_documents",
    labels: [],
    help: "Documents in live shards that no tombstone hides.",
  },
  indexContentBytes: {
    kind: "gauge",
    name: "trawl_index_content_bytes",
    labels: [],
    help: "Bytes of document content in live shards.",
  },
  indexShardBytes: {
    kind: "gauge",
    name: "trawl_index_shard_bytes",
    labels: [],
    help: "Bytes of live shards on disk.",
  },
  indexCorruptShards: {
    kind: "gauge",
    name: "trawl_index_corrupt_shards",
    labels: [],
    help: "Shards taken out because their bytes fail their checks.",
  },
  shardsDamaged: {
    kind: "counter",
    name: "trawl_shards_damaged_total",
    labels: [],
    help: "Shards that were found damaged or missing.",
  },
  shardsRepaired: {
    kind: "counter",
    name: "trawl_shards_repaired_total",
    labels: [],
    help: "Of those, the ones whose repositories have been built again from their mirrors.",
  },
} as const satisfies Record<string, MetricRow>;

interface MetricRow {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

type Table = typeof metricTable;
type MetricOf<Row extends MetricRow> = Row["kind"] extends "counter"
  ? Counter<Row["labels"][number]>
  : Row["kind"] extends "gauge"
    ? Gauge<Row["labels"][number]>
    : Histogram<Row["labels"][number]>;

/** One object of counters for each row of the table. */
export type Metrics = { readonly [Key in keyof Table]: MetricOf<Table[Key]> };

/** The metrics of one daemon and the registry that prints them. */
export interface MetricRegistry {
  readonly metrics: Metrics;
  /** The Prometheus text, with the process's own metrics. */
  text(): Promise<string>;
  /** Sets the gauges that are only worth a look when somebody asks for them: called before each text. */
  onText(look: () => Promise<void> | void): void;
  readonly contentType: string;
}

export function createMetrics(): MetricRegistry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Gauges whose names are those of counters; the same by type are there, too.
  for (const kind of ["handles", "requests", "resources"]) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  const looks: (() => Promise<void> | void)[] = [];
  const metrics: Record<string, unknown> = {};
  for (const [key, row] of Object.entries<MetricRow>(metricTable)) metrics[key] = createMetric(row, registry);
  const text = async (): Promise<string> => {
    await Promise.all(looks.map((look) => look()));
    return await registry.metrics();
  };
  return {
    metrics: metrics as Metrics,
    text,
    onText: (look) => void looks.push(look),
    contentType: registry.contentType,
  };
}

function createMetric(row: MetricRow, registry: Registry): Counter | Gauge | Histogram {
  const shared = { name: row.name, help: row.help, labelNames: row.labels, registers: [registry] };
  switch (row.kind) {
    case "counter":
      return new Counter(shared);
    case "gauge":
      return new Gauge(shared);
    case "histogram":
      return new Histogram({ ...shared, buckets: [...(row.buckets ?? [])] });
  }
}
