import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

/** A row of the table of metrics. */
interface MetricRow {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

/** The metrics that describe the index. */
const indexMetrics = {
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
  indexSymbols: { kind: "gauge", name: "trawl_index_symbols", labels: [], help: "Symbols in live shards." },
  indexSymbolBytes: {
    kind: "gauge",
    name: "trawl_index_symbol_bytes",
    labels: [],
    help: "Stored size of the symbols of live shards.",
  },
  shardsWithoutSymbols: {
    kind: "gauge",
    name: "trawl_index_shards_without_symbols",
    labels: [],
    help: "Live shards whose symbols are not extracted yet.",
  },
  symbolFailures: {
    kind: "gauge",
    name: "trawl_index_symbol_failures",
    labels: [],
    help: "Texts in live shards for which ctags failed. They are not tried again until they change.",
  },
  indexShardBytes: {
    kind: "gauge",
    name: "trawl_index_shard_bytes",
    labels: [],
    help: "Bytes of live shards on disk.",
  },
  indexHistoryShards: {
    kind: "gauge",
    name: "trawl_index_history_shards",
    labels: [],
    help: "Live history shards.",
  },
  indexHistoryCommits: {
    kind: "gauge",
    name: "trawl_index_history_commits",
    labels: [],
    help: "Commits in live history shards.",
  },
  indexHistoryBytes: {
    kind: "gauge",
    name: "trawl_index_history_bytes",
    labels: [],
    help: "Bytes of live history shards on disk.",
  },
  indexCorruptShards: {
    kind: "gauge",
    name: "trawl_index_corrupt_shards",
    labels: [],
    help: "Shards excluded because they failed verification.",
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
    help: "Damaged or missing shards whose repositories have been rebuilt from their mirrors.",
  },
} as const satisfies Record<string, MetricRow>;

/** The metrics of requests and of who sends them. */
const requestMetrics = {
  httpRequests: {
    kind: "counter",
    name: "trawl_http_requests_total",
    labels: ["route", "method", "status"],
    help: "HTTP requests that ended, by pattern of the route (pages: repositories and their content; none: no route), method (other: an unusual one) and class of the status: 2xx to 5xx, or gone if the client disconnected before an answer.",
  },
  httpRequestSeconds: {
    kind: "histogram",
    name: "trawl_http_request_seconds",
    labels: ["route"],
    buckets: [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1, 2, 5, 10, 20, 60, 600],
    help: "Time from a request's head to the end of its answer, by pattern of the route. A stream ends with its last byte.",
  },
  httpRequestsOpen: {
    kind: "gauge",
    name: "trawl_http_requests_open",
    labels: [],
    help: "HTTP requests whose answer has not ended.",
  },
  signInFailures: {
    kind: "counter",
    name: "trawl_sign_in_failures_total",
    labels: ["reason"],
    help: "Sign-ins, sign-ups and changes of a password that were refused, by reason: no_such_user, wrong_password, wrong_old_password, and those that begin with too_many.",
  },
  credentialsRefused: {
    kind: "counter",
    name: "trawl_credentials_refused_total",
    labels: [],
    help: "Requests with an access token that was not accepted, and webhooks with a wrong secret.",
  },
  webhookDeliveries: {
    kind: "counter",
    name: "trawl_webhook_deliveries_total",
    labels: ["outcome"],
    help: "Deliveries of code hosts, by outcome: accepted, unneeded (accepted, but nothing is to be fetched), untold (nodes of the fleet that may fetch it do not answer), refused (no such webhook, or a wrong secret), limited, invalid.",
  },
  resumableStreams: {
    kind: "gauge",
    name: "trawl_resumable_streams",
    labels: ["state"],
    help: "Resumable streams, by state: used (they are being written or read), kept.",
  },
  resumableStreamBytes: {
    kind: "gauge",
    name: "trawl_resumable_stream_bytes",
    labels: [],
    help: "Bytes of the files of all resumable streams.",
  },
  resumableStreamStarts: {
    kind: "counter",
    name: "trawl_resumable_stream_starts_total",
    labels: ["outcome"],
    help: "Requests for resumable streams, by outcome: started, resumed, gone (it cannot be resumed any more), refused.",
  },
  spansExported: {
    kind: "counter",
    name: "trawl_spans_exported_total",
    labels: [],
    help: "Spans of searches that the collector of tracing.endpoint has accepted.",
  },
  spansDropped: {
    kind: "counter",
    name: "trawl_spans_dropped_total",
    labels: ["reason"],
    help: "Spans that were not exported, by reason: full (too many were waiting), failed (the collector did not accept them after several attempts), rejected (by the collector).",
  },
  mapEntries: {
    kind: "gauge",
    name: "trawl_map_entries",
    labels: ["map"],
    help: "Entries of the maps that the main thread holds in memory; all are bounded.",
  },
} as const satisfies Record<string, MetricRow>;

/** The metrics of work that no client waits for. */
const backgroundMetrics = {
  jobs: {
    kind: "gauge",
    name: "trawl_jobs",
    labels: ["state"],
    help: "Search jobs, by state: queued, processing, interrupted (tried again after a while), completed, failed, canceled.",
  },
  jobStoredBytes: {
    kind: "gauge",
    name: "trawl_job_stored_bytes",
    labels: [],
    help: "Bytes of the results and logs of all search jobs.",
  },
  jobsEnded: {
    kind: "counter",
    name: "trawl_jobs_ended_total",
    labels: ["state"],
    help: "Search jobs that ended, by state: completed, failed, canceled.",
  },
  jobInterruptions: {
    kind: "counter",
    name: "trawl_job_interruptions_total",
    labels: [],
    help: "Interruptions of search jobs by an error, for example of the disk.",
  },
  notifyingSearches: {
    kind: "gauge",
    name: "trawl_notifying_searches",
    labels: [],
    help: "Saved searches whose notifications are on.",
  },
  notificationsWaiting: {
    kind: "gauge",
    name: "trawl_notifications_waiting",
    labels: [],
    help: "Notifications that wait to be delivered, or to be tried again.",
  },
  notificationsWaitingBytes: {
    kind: "gauge",
    name: "trawl_notifications_waiting_bytes",
    labels: [],
    help: "Bytes of the notifications that wait.",
  },
  notificationAttempts: {
    kind: "counter",
    name: "trawl_notification_attempts_total",
    labels: ["outcome"],
    help: "Attempts to deliver a notification, by outcome: accepted, refused (by the receiver, or it was not reached).",
  },
  notificationsEnded: {
    kind: "counter",
    name: "trawl_notifications_ended_total",
    labels: ["outcome"],
    help: "Notifications that wait no more, by outcome: delivered, failed (given up), withheld (the owner may no longer see it).",
  },
  notificationEvaluations: {
    kind: "counter",
    name: "trawl_notification_evaluations_total",
    labels: ["outcome"],
    help: "Evaluations of saved searches after changes, by outcome: good, failed.",
  },
  connections: {
    kind: "gauge",
    name: "trawl_connections",
    labels: ["state"],
    help: "Configured connections to code hosts, by state: good, failing (the last list could not be read, or not as a whole).",
  },
  hostPermissions: {
    kind: "gauge",
    name: "trawl_host_permission_repositories",
    labels: ["connection", "state"],
    help: "Private repositories whose readers a code host decides, by state: good, closed (the host could not be asked for too long, and only site admins may read them).",
  },
  hostPermissionReads: {
    kind: "counter",
    name: "trawl_host_permission_reads_total",
    labels: ["outcome"],
    help: "Questions to code hosts about the readers of a repository, by outcome: good, failed.",
  },
  connectionRepositories: {
    kind: "gauge",
    name: "trawl_connection_repositories",
    labels: ["connection"],
    help: "Repositories that each connection lists.",
  },
  connectionLastSuccess: {
    kind: "gauge",
    name: "trawl_connection_last_success_timestamp_seconds",
    labels: ["connection"],
    help: "Unix time of the last list that was read of each connection; 0 before the first since the start.",
  },
  connectionListings: {
    kind: "counter",
    name: "trawl_connection_listings_total",
    labels: ["outcome"],
    help: "Lists of repositories that were read from code hosts, by outcome: completed, failed.",
  },
} as const satisfies Record<string, MetricRow>;

/**
 * The table of all metrics. Each row is a metric in the Prometheus text at `/metrics`; its unit is part of its name. To
 * add a metric, add a row and use `metrics.<key>`.
 */
export const metricTable = {
  buildInfo: {
    kind: "gauge",
    name: "trawl_build_info",
    labels: ["version", "node", "kernel"],
    help: "Always 1; the labels give the version of the daemon, of Node and of the kernel in use.",
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
    help: "Matches found by all searches, including those beyond a display limit.",
  },
  searchBytesScanned: {
    kind: "counter",
    name: "trawl_search_scanned_bytes_total",
    labels: [],
    help: "Bytes of document content that searches examined.",
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
    help: "Time from a client's disconnect, a search's timeout or another stop until no thread works for that search; includes a fixed wait of 0.5 s.",
  },
  searchesRunning: { kind: "gauge", name: "trawl_searches_running", labels: [], help: "Searches that are running." },
  fleetSearchesRunning: {
    kind: "gauge",
    name: "trawl_fleet_searches_running",
    labels: [],
    help: "Searches that are running for other nodes of the fleet.",
  },
  fleetNodeUp: {
    kind: "gauge",
    name: "trawl_fleet_node_up",
    labels: ["node"],
    help: "Other nodes of the fleet: 1 if there is a connection, 0 if the last one has ended. Nodes are connected when a search needs them.",
  },
  fleetOwner: {
    kind: "gauge",
    name: "trawl_fleet_owner",
    labels: [],
    help: "Partitions that this node fetches and indexes for its fleet: 0 or 1 where the index is not divided. Only with fleet.database.",
  },
  fleetVersion: {
    kind: "gauge",
    name: "trawl_fleet_version",
    labels: [],
    help: "Changes that the copies of this node have, of all its partitions together. Only with fleet.database.",
  },
  fleetVersionsBehind: {
    kind: "gauge",
    name: "trawl_fleet_versions_behind",
    labels: [],
    help: "Changes of the index that the database had and this node had not, when it last looked. Only with fleet.database.",
  },
  fleetReplicaDifferences: {
    kind: "gauge",
    name: "trawl_fleet_replica_differences",
    labels: ["node"],
    help: "Repositories that this node and another one of fleet.replicas do not both have at the same commits, as of the last minute.",
  },
  fleetFailovers: {
    kind: "counter",
    name: "trawl_fleet_failovers_total",
    labels: [],
    help: "Searches that went on at another node with the same repositories, because a node was lost.",
  },
  fleetQuestions: {
    kind: "counter",
    name: "trawl_fleet_questions_total",
    labels: ["kind", "outcome"],
    help: "Questions to other nodes of the fleet about repositories, by kind (find, list, read, output, wait, order, fetch) and outcome: answered, refused (by an error of the other node), lost (it does not answer), invalid (it has answered what cannot be), late (not in time), left (nobody waited any more).",
  },
  fleetQuestionSeconds: {
    kind: "histogram",
    name: "trawl_fleet_question_seconds",
    labels: ["kind"],
    buckets: [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1, 2, 5, 10, 20, 60, 600],
    help: "Time from a question to another node of the fleet to the end of its answer, whatever its outcome, by kind. An output ends when its reader has it.",
  },
  fleetQuestionBytes: {
    kind: "counter",
    name: "trawl_fleet_question_bytes_total",
    labels: ["kind"],
    help: "Bytes of the answers of other nodes of the fleet to such questions, by kind.",
  },
  searchesQueued: {
    kind: "gauge",
    name: "trawl_searches_queued",
    labels: [],
    help: "Searches waiting for a permit to run.",
  },
  mcpCalls: {
    kind: "counter",
    name: "trawl_mcp_calls_total",
    labels: ["tool", "outcome"],
    help: "Calls of tools by assistants that ended, by tool and by outcome: ok, error, cancelled (the client disconnected).",
  },
  mcpAnswersReused: {
    kind: "counter",
    name: "trawl_mcp_answers_reused_total",
    labels: [],
    help: "Calls of tools that were answered with a recent answer to the same call.",
  },
  mcpCallSeconds: {
    kind: "histogram",
    name: "trawl_mcp_call_seconds",
    labels: ["tool"],
    buckets: [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1, 2, 5, 10, 20, 60],
    help: "Time from the start of a tool's call to its answer, by tool.",
  },
  mcpCallsRunning: {
    kind: "gauge",
    name: "trawl_mcp_calls_running",
    labels: [],
    help: "Calls of tools that are running.",
  },
  queueLength: {
    kind: "gauge",
    name: "trawl_queue_length",
    labels: ["queue"],
    help: "Length of each queue: search (requests), slice_interactive and slice_exhaustive (parts of searches), sync (repositories), ingest and read (tasks of threads).",
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
    help: "Bytes of event streams accepted by sockets, after compression.",
  },
  streamsStalled: {
    kind: "counter",
    name: "trawl_streams_stalled_total",
    labels: [],
    help: "Event streams closed because the client stopped reading.",
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
    help: "Time from the request until the last byte of its response was produced.",
  },
  eventLoopDelayMaxSeconds: {
    kind: "gauge",
    name: "trawl_event_loop_delay_max_seconds",
    labels: [],
    help: "Longest delay of the main thread's event loop in the last minute. Delays below 100 ms are not always noticed.",
  },
  eventLoopDelaySeconds: {
    kind: "histogram",
    name: "trawl_event_loop_delay_seconds",
    labels: [],
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
    help: "Longest delay of the main thread's event loop in each second.",
  },
  workersLost: {
    kind: "counter",
    name: "trawl_workers_lost_total",
    labels: ["pool", "reason"],
    help: "Worker threads that were lost in a task and replaced, by pool (search, ingest, read) and reason: overrun, stalled (both were terminated), memory, died.",
  },
  quarantined: {
    kind: "gauge",
    name: "trawl_quarantined",
    labels: ["kind"],
    help: "Items that are not indexed because a thread hung or crashed on them, by kind: file, repository.",
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
    help: "Unix time of the oldest last successful sync of any repository; 0 if a repository has none.",
  },
  diskFreeBytes: {
    kind: "gauge",
    name: "trawl_disk_free_bytes",
    labels: [],
    help: "Free bytes on the disk of the data directory that are available to the daemon.",
  },
  diskSizeBytes: {
    kind: "gauge",
    name: "trawl_disk_size_bytes",
    labels: [],
    help: "Size of the disk of the data directory.",
  },
  diskReserveBytes: {
    kind: "gauge",
    name: "trawl_disk_reserve_bytes",
    labels: [],
    help: "Fetching stops when fewer bytes than this are free on the disk.",
  },
  syncs: {
    kind: "counter",
    name: "trawl_syncs_total",
    labels: ["outcome"],
    help: "Completed syncs of repositories, by outcome: unchanged, indexed, failed.",
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
  ...indexMetrics,
  ...requestMetrics,
  ...backgroundMetrics,
} as const satisfies Record<string, MetricRow>;

type Table = typeof metricTable;
type MetricOf<Row extends MetricRow> = Row["kind"] extends "counter"
  ? Counter<Row["labels"][number]>
  : Row["kind"] extends "gauge"
    ? Gauge<Row["labels"][number]>
    : Histogram<Row["labels"][number]>;

/** One metric object per row of the table. */
export type Metrics = { readonly [Key in keyof Table]: MetricOf<Table[Key]> };

/** The metrics of one daemon, and the registry that prints them. */
export interface MetricRegistry {
  readonly metrics: Metrics;
  /** The Prometheus text, including the process's standard metrics. */
  text(): Promise<string>;
  /** Registers a function that sets gauges which are computed on demand: it is called before each text is produced. */
  onText(look: () => Promise<void> | void): void;
  readonly contentType: string;
}

/** Interval of the timer of Node's standard gauges of the event loop. */
const lagPrecisionMs = 1_000;

export function createMetrics(): MetricRegistry {
  const registry = new Registry();
  // The timer of `nodejs_eventloop_lag` wakes the process up; `trawl_event_loop_delay` has one of its own.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagPrecisionMs });
  // These gauges have names that look like counters; the same values by type are also available.
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
