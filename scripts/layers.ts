/** The folders of src/, bottom up: a file imports only from its own folder or from one with a smaller number. */
export interface Layer {
  readonly folder: string;
  readonly number: number;
  /** Which threads and processes load it. */
  readonly runsIn: string;
  readonly holds: string;
}

export const layers: readonly Layer[] = [
  {
    folder: "base",
    number: 0,
    runsIn: "all",
    holds: "asserts, the error table, bytes, time, log, metrics, yielding; imports no other folder",
  },
  {
    folder: "model",
    number: 1,
    runsIn: "all",
    holds: "shared plain data: repository, shard record, request, skip reasons, languages, the listener of a search",
  },
  {
    folder: "regexp",
    number: 1,
    runsIn: "all",
    holds: "regular expressions: parser, required literals, compiled matchers (`re2`)",
  },
  {
    folder: "native",
    number: 1,
    runsIn: "all",
    holds: "the C++ addon and its TypeScript equivalents: scan, postings, JSON; git packs; child processes; sockets",
  },
  {
    folder: "query",
    number: 2,
    runsIn: "main, search, cli, browser",
    holds: "query text → tree → plan, and the printed form of both",
  },
  { folder: "store", number: 2, runsIn: "all", holds: "the two LMDB environments (`lmdb`)" },
  {
    folder: "git",
    number: 2,
    runsIn: "ingest, read, main",
    holds: "mirrors, refs, trees, blobs, history (the addon's pack reader, and `git` child processes)",
  },
  {
    folder: "web",
    number: 3,
    runsIn: "browser",
    holds: "the web pages (`preact`); imported by no other folder",
  },
  {
    folder: "wire",
    number: 3,
    runsIn: "main",
    holds:
      "connections between the nodes of a fleet: messages over channels and TLS, certificates, liveness (`node:tls`)",
  },
  {
    folder: "database",
    number: 3,
    runsIn: "main",
    holds:
      "a PostgreSQL database that the nodes of a fleet share: connections with limits, migrations, leases, fences (`pg`); loaded by no single host",
  },
  {
    folder: "objects",
    number: 3,
    runsIn: "ingest, main",
    holds:
      "a place for shards that the nodes of a fleet share: a bucket or a folder, reading by SHA-256 (`aws4fetch`); loaded by no single host",
  },
  { folder: "shard", number: 3, runsIn: "threads, cli", holds: "the shard format: builder and reader" },
  {
    folder: "history",
    number: 4,
    runsIn: "threads, cli",
    holds: "the format of history shards: builder and reader",
  },
  {
    folder: "scip",
    number: 4,
    runsIn: "threads",
    holds:
      "uploaded indexes of definitions and references: reading SCIP (`@bufbuild/protobuf`), the file made of it, look-ups",
  },
  {
    folder: "backup",
    number: 4,
    runsIn: "ingest, main, cli",
    holds: "backup files: copying, manifest, restoring",
  },
  {
    folder: "protocol",
    number: 5,
    runsIn: "all",
    holds: "communication between threads: messages, the control block, tables in shared memory",
  },
  {
    folder: "catalog",
    number: 6,
    runsIn: "main, cli",
    holds: "repositories, live shards, tombstones, and the atomic step that changes them",
  },
  {
    folder: "account",
    number: 6,
    runsIn: "main",
    holds: "users, organizations, tokens, sessions, settings, contexts; authentication (`openid-client`, `jose`)",
  },
  {
    folder: "eval",
    number: 6,
    runsIn: "search, read",
    holds: "plan × shard → candidates → verified matches → JSON bytes",
  },
  {
    folder: "indexer",
    number: 6,
    runsIn: "ingest, read, cli",
    holds: "commit → documents → shards; what is skipped; merging",
  },
  {
    folder: "pool",
    number: 6,
    runsIn: "main",
    holds: "main-thread side of the three thread pools (`piscina`)",
  },
  {
    folder: "worker",
    number: 7,
    runsIn: "threads",
    holds: "worker-thread side: entry files and their tasks; imported by no other folder",
  },
  {
    folder: "search",
    number: 7,
    runsIn: "main",
    holds: "one search from its plan to its last event; admission, lanes, filters, progress, alerts",
  },
  { folder: "sync", number: 7, runsIn: "main", holds: "when to fetch, index, merge, check and repair" },
  {
    folder: "codehost",
    number: 7,
    runsIn: "main, cli",
    holds:
      "the lists of repositories of code hosts: GitHub, GitLab, Gitea, Bitbucket, Azure DevOps, Gerrit, lists of URLs, commands, folders; tokens of GitHub Apps (`jose`)",
  },
  {
    folder: "jobs",
    number: 8,
    runsIn: "main",
    holds: "search jobs: exhaustive searches in the background, with results in files that survive a crash",
  },
  {
    folder: "resume",
    number: 8,
    runsIn: "main",
    holds: "resumable streams: events in files, so that a client gets the rest after its connection broke",
  },
  {
    folder: "precise",
    number: 8,
    runsIn: "main",
    holds: "the uploads of such indexes: their records and files, which are kept, and which can answer",
  },
  {
    folder: "notify",
    number: 8,
    runsIn: "main",
    holds:
      "notifications of saved searches: a journal of changes, evaluation, a queue of deliveries to webhooks, chats and mail (`nodemailer`)",
  },
  {
    folder: "fleet",
    number: 8,
    runsIn: "main",
    holds:
      "the index that nodes share by a database: publishing, following, taking over, fences; loaded by no single host",
  },
  {
    folder: "browse",
    number: 9,
    runsIn: "main",
    holds: "git content for `graphql` and `http`: request scope, reads, also of mirrors of other nodes, URLs, blame",
  },
  {
    folder: "graphql",
    number: 10,
    runsIn: "main",
    holds: "GraphQL: schema, resolvers, operations, cost limits (`graphql`, `graphql-jit`)",
  },
  {
    folder: "mcp",
    number: 11,
    runsIn: "main",
    holds: "the Model Context Protocol: tools for assistants (`@modelcontextprotocol/server`)",
  },
  {
    folder: "http",
    number: 12,
    runsIn: "main",
    holds: "server, routes, event streams, control socket (`uWebSockets.js`)",
  },
  { folder: "daemon", number: 13, runsIn: "main", holds: "options; construction, start and stop of all components" },
  { folder: "cli", number: 14, runsIn: "own process", holds: "the `trawl` command" },
];

/**
 * The rooms of large folders, bottom up: a file imports only from its own room, or from one that stands before it. The
 * files of the folder itself stand above all rooms.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  search: [
    "limits",
    "source",
    // The half of a search that counts, reports and sends knows nothing of what follows it.
    "results",
    "report",
    "root",
    "slices",
    "repositories",
    "history",
    "revisions",
    "ranking",
    "snapshot",
    "preparation",
    "partition",
    "fleet",
    "changes",
    "warming",
  ],
  eval: ["people", "match", "ranking", "results", "history"],
  native: ["kernel", "memory", "process", "socket", "packs", "http"],
  query: ["syntax", "fields", "plan"],
  regexp: ["syntax", "analysis", "match"],
  git: ["run", "attributes", "objects", "mirror", "lfs", "history"],
  account: ["records", "settings", "ownership", "contexts", "identity", "sign-in", "directory"],
  sync: ["services", "queue", "housekeeping", "runner", "repositories"],
  graphql: ["sources", "resolvers", "execution"],
  mcp: ["calls", "tools"],
  daemon: ["config", "parts"],
  cli: ["terminal", "connection", "api", "search", "jobs", "monitor", "doctor", "check", "manual"],
  http: ["server", "access", "stream", "api", "routes"],
  worker: ["ingest", "read", "search"],
};

/** The rooms of native-bench, in the same order. */
export const benchRooms: readonly string[] = [
  "system",
  "report",
  "corpus",
  "load",
  "peers",
  "ranking",
  "suites",
  "run",
];

const begin = "<!-- layers: written by `make layers` -->";
const end = "<!-- end of layers -->";

/** Returns the text with the current table of layers between its two markers. Throws if a marker is missing. */
export function withLayerTable(text: string): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the text lacks ${begin} or ${end}`);
  const rows = layers.map(
    ({ folder, number, runsIn, holds }) => `| \`${folder}\` | ${number} | ${runsIn} | ${holds} |`,
  );
  const table = ["| folder | layer | runs in | holds |", "|---|---|---|---|", ...rows].join("\n");
  return `${text.slice(0, from)}${begin}\n${table}\n${text.slice(to)}`;
}
