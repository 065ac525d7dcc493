/** A row of the table of metrics. */
export interface MetricRow {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

/** The metrics that describe the index. */
export const indexMetrics = {
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
