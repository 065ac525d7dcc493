/** The reliability plan: each requirement, and the tests that verify it. Figures come from results.json. */

export interface Item {
  readonly number: number;
  readonly what: string;
  readonly bound: string;
  /**
   * Names of test files, without extension. `make test` runs all that are not in test/faults; `make faults` runs those
   * listed in `longTests`, with larger counts and with the assertions on wall time.
   */
  readonly tests: readonly string[];
  /** What no test verifies; "" if everything is verified. */
  readonly notShown: string;
}

/** Tests that `make faults` runs, in this order: the most informative first. */
export const longTests: readonly string[] = [
  "daemon-crash",
  "fault-power-loss",
  "shard-corruption",
  "fault-damage",
  "daemon-damage",
  "daemon-stores",
  "daemon-truncation",
  "fault-disk",
  "fault-clients",
  "fault-process",
  "fault-timing",
  "resumable-streams",
  "notifications",
  "fault-jobs",
  "attack-threads",
  "attack-main-thread",
  "attack-http",
  "attack-texts",
  "attack-revisions",
  "attack-packs",
  "attack-searches",
  "attack-accounts",
  "text-growth",
  "git-packs",
  "git-mirror-repair",
  "http-permissions",
  "history",
  "index-incremental",
  "daemon-hostile-histories",
  "web-figures",
  "bench-load",
  "fault-soak",
];

export const items: readonly Item[] = [
  {
    number: 1,
    what: "An hour of mixed load",
    bound: "0 wrong answers, 0 5xx, memory flat",
    tests: ["bench-load", "stream-answers"],
    notShown: "an hour at 1,000 requests per second, which needs a dedicated machine",
  },
  {
    number: 2,
    what: "A soak with one commit per second",
    bound: "memory, file descriptors, LMDB reader slots and file sizes flat",
    tests: ["fault-soak"],
    notShown:
      "flat memory over an hour of this version: in a run of an hour of the version before (3,170 commits, 9,510 searches, 0 wrong answers) the process grew from 238 to 365 MiB. It was uncollected garbage: after a full collection each worker thread had 10 MiB and the main thread 30 MiB, and the process 276 MiB instead of 451. Since then the young heap of a thread has a fixed size and its old heap is collected from 24 MiB on",
  },
  {
    number: 3,
    what: "Eight exhaustive searches running with interactive ones",
    bound: "interactive p99 ≤ 3x that of a quiet daemon",
    tests: ["fault-clients", "attack-searches"],
    notShown: "",
  },
  {
    number: 4,
    what: "10,000 and 20,000 idle streams",
    bound: "≤ 8 KB each; beyond the limit, requests are refused and the process keeps running",
    tests: ["fault-clients", "http-sse"],
    notShown: "",
  },
  {
    number: 5,
    what: "Twice the load the daemon can handle",
    bound: "excess shed within 10 ms, normal service again within 2 s",
    tests: ["fault-clients", "base-fair-semaphore"],
    notShown: "",
  },
  {
    number: 6,
    what: "kill -9 at any point",
    bound: "restart ≤ 2 s; either the old or the new state, 0 acknowledged commits lost",
    tests: ["daemon-crash"],
    notShown: "restart time with the Linux source was measured by hand, see operations.md",
  },
  {
    number: 7,
    what: "Power loss",
    bound: "same as kill -9",
    tests: ["fault-power-loss"],
    notShown: "a block device that loses writes (dm-flakey); torn writes within a 4 KiB page",
  },
  {
    number: 8,
    what: "The disk is full, or returns an error, at each write in turn",
    bound: "searches continue, the sync reports the error, recovery is automatic",
    tests: ["fault-disk", "daemon-lifecycle"],
    notShown:
      "why one of two further runs ended with exit code 13 instead of 0, when the daemon was stopped after 84 syncs on full disks",
  },
  {
    number: 9,
    what: "Damaged files",
    bound: "detected or harmless, 0 wrong answers, 0 process deaths",
    tests: ["fault-damage", "shard-corruption", "daemon-stores", "daemon-damage"],
    notShown:
      "damage to LMDB's internal pages that neither the full read nor the trial write at startup touches: LMDB has no checksums",
  },
  {
    number: 10,
    what: "A file is truncated while it is mapped",
    bound: "part of an answer is lost, not the process",
    tests: ["daemon-truncation"],
    notShown: "",
  },
  {
    number: 11,
    what: "Read-only file system, wrong owner, missing directory",
    bound: "one clear message and an exit code",
    tests: ["daemon-lifecycle"],
    notShown: "",
  },
  {
    number: 12,
    what: "Other format versions",
    bound: "read, or rejected with a message",
    tests: ["shard-corruption", "data-version", "daemon-lifecycle"],
    notShown: "",
  },
  {
    number: 13,
    what: "Readers killed",
    bound: "their LMDB reader slots are freed",
    tests: ["fault-process", "attack-threads"],
    notShown: "",
  },
  {
    number: 14,
    what: "A worker throws, hangs, exhausts its memory or aborts",
    bound: "one request fails, others are unaffected",
    tests: ["worker-pool", "attack-threads", "sync-loss"],
    notShown: "",
  },
  {
    number: 15,
    what: "Event loop never blocked; watchdog",
    bound: "≤ 100 ms under every attack",
    tests: ["attack-baseline", "attack-http", "attack-texts", "daemon-service-manager"],
    notShown: "",
  },
  {
    number: 16,
    what: "SIGTERM with 500 streams",
    bound: "each ends cleanly, exit code 0 within 10 s",
    tests: ["fault-clients", "daemon-lifecycle"],
    notShown: "",
  },
  {
    number: 17,
    what: "1,000 reloads of the configuration",
    bound: "an invalid file leaves the old configuration in effect",
    tests: ["fault-process", "daemon-lifecycle", "daemon-service-manager"],
    notShown: "",
  },
  {
    number: 18,
    what: "The clock jumps",
    bound: "no expired token becomes valid, no negative duration, no burst of timers",
    tests: ["fault-process", "accounts", "attempts"],
    notShown: "leap seconds, and code that calls clock_gettime",
  },
  {
    number: 19,
    what: "File descriptors or memory exhausted",
    bound: "accepting pauses, nothing is corrupted, searches continue",
    tests: ["fault-process", "kernel-process"],
    notShown:
      "that accepting pauses; the OOM kill of the daemon itself, after which it restarts as after kill -9 (item 6)",
  },
  {
    number: 20,
    what: "Slow readers, half-open connections, resets",
    bound: "≤ 256 KB each, disconnected in time, others not slowed",
    tests: ["http-slow-reader", "http-sse", "http-reading-pace"],
    notShown: "",
  },
  {
    number: 21,
    what: "10,000 clients that disconnect",
    bound: "workers idle within 50 ms, no task left over",
    tests: ["fault-clients", "http-server", "attack-searches"],
    notShown: "",
  },
  {
    number: 22,
    what: "Remotes that are slow, send false data or never finish",
    bound: "bounded time, bytes and disk",
    tests: ["git-remotes", "git-fetch-watch"],
    notShown: "",
  },
  {
    number: 23,
    what: "Random queries",
    bound: "a plan, or an error with a position; no crash",
    tests: ["query-fuzz", "fuzz"],
    notShown: "24 hours of CPU time: `make fuzz` runs each target for half a minute",
  },
  {
    number: 24,
    what: "Regular expressions",
    bound: "linear time, bounded memory",
    tests: ["regexp-fuzz", "regexp-compile", "text-growth", "tidy-regexps"],
    notShown: "",
  },
  {
    number: 25,
    what: "Hostile HTTP requests",
    bound: "rejected, no other effect",
    tests: ["attack-http", "http-server", "request-body"],
    notShown: "",
  },
  {
    number: 26,
    what: "Excessive GraphQL requests",
    bound: "rejected before execution",
    tests: ["graphql-limits", "graphql-bad-input", "attack-texts"],
    notShown: "",
  },
  {
    number: 27,
    what: "Hostile git objects",
    bound: "bounded memory, no file outside the data directory",
    tests: ["git-hostile-packs", "git-packs", "attack-texts"],
    notShown: "",
  },
  {
    number: 28,
    what: "Arbitrary names and text",
    bound: "offsets correct, framing never broken",
    tests: ["attack-texts", "http-raw", "cases"],
    notShown: "",
  },
  {
    number: 29,
    what: "Permissions: users × repositories × outputs",
    bound: "answers as if hidden repositories did not exist",
    tests: ["fault-timing", "permissions", "http-permissions"],
    notShown: "",
  },
  {
    number: 30,
    what: "Tokens",
    bound: "only hashes at rest, revocation effective within 1 s, audited before the action",
    tests: ["fault-timing", "accounts", "audit-log", "attack-accounts", "account-credential"],
    notShown: "a million wrong tokens",
  },
  {
    number: 31,
    what: "No shell, a fixed environment for git",
    bound: "no hooks run, repository configuration ignored",
    tests: ["git-run", "git-remotes", "git-remote-url"],
    notShown: "",
  },
  {
    number: 32,
    what: "Pages and raw files",
    bound: "no script runs, no path escapes the tree",
    tests: ["http-raw", "http-routes"],
    notShown: "",
  },
  {
    number: 33,
    what: "Supply chain",
    bound: "pinned versions, install scripts listed individually",
    tests: ["tidy"],
    notShown: "",
  },
  { number: 34, what: "Exposure of the systemd units", bound: "≤ 1.3", tests: ["systemd-units"], notShown: "" },
  {
    number: 35,
    what: "kill -9 while resumable streams are written and read",
    bound: "each result exactly once, in the state in which the search began",
    tests: ["resumable-streams"],
    notShown: "power loss, after which a stream is gone",
  },
  {
    number: 36,
    what: "kill -9 while a search job and a resumable stream run",
    bound: "each result exactly once in both",
    tests: ["search-jobs", "fault-jobs"],
    notShown: "power loss",
  },
];
