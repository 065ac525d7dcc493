/** The reliability plan: what must hold, and the tests that show it. Figures come from the runs beside this file. */

export interface Item {
  readonly number: number;
  readonly what: string;
  readonly bound: string;
  /**
   * Test files of `make test`, without their endings. Those of `longTests` are run by `make faults` with larger counts,
   * too.
   */
  readonly tests: readonly string[];
  /** What no test shows; "" when all of it is shown. */
  readonly notShown: string;
}

/** Tests that `make faults` runs, in this order: the more they tell, the earlier. */
export const longTests: readonly string[] = [
  "daemon-crash",
  "fault-power-loss",
  "shard-corruption",
  "fault-damage",
  "fault-disk",
  "fault-clients",
  "fault-process",
  "fault-timing",
  "attack-threads",
  "fault-soak",
];

export const items: readonly Item[] = [
  {
    number: 1,
    what: "An hour of mixed load",
    bound: "0 wrong answers, 0 5xx, memory flat",
    tests: ["bench-load", "stream-answers"],
    notShown: "an hour at 1,000 requests a second, which needs a machine of its own",
  },
  {
    number: 2,
    what: "A soak with a commit each second",
    bound: "memory, descriptors, readers and file size flat",
    tests: ["fault-soak"],
    notShown:
      "an hour and 24 hours of this version; in 7.5 minutes the memory of the process still grew, by 4 % from the second third to the last, while the main thread's heap did not, and whether that ends is not known",
  },
  {
    number: 3,
    what: "Eight exhaustive searches beside interactive ones",
    bound: "interactive p99 ≤ 3x that of a quiet daemon",
    tests: ["fault-clients", "attack-searches"],
    notShown: "",
  },
  {
    number: 4,
    what: "10,000 and 20,000 idle streams",
    bound: "≤ 8 KB each; beyond the limit a refusal, no end of the process",
    tests: ["fault-clients", "http-sse"],
    notShown: "",
  },
  {
    number: 5,
    what: "Twice the load that it can take",
    bound: "shed within 10 ms, normal again within 2 s",
    tests: ["fault-clients", "base-fair-semaphore"],
    notShown: "",
  },
  {
    number: 6,
    what: "kill -9 at any point",
    bound: "restart ≤ 2 s; the older or the newer state, 0 acknowledged commits lost",
    tests: ["daemon-crash"],
    notShown: "1,000 points in one run; a restart with the Linux source was timed by hand, see operations.md",
  },
  {
    number: 7,
    what: "Power loss",
    bound: "as kill -9",
    tests: ["fault-power-loss"],
    notShown: "a block device that loses writes (dm-flakey); writes that tear within a page of 4 KiB",
  },
  {
    number: 8,
    what: "The disk is full, or fails, at each write in turn",
    bound: "searches go on, the sync tells it, recovery unaided",
    tests: ["fault-disk", "daemon-lifecycle"],
    notShown: "",
  },
  {
    number: 9,
    what: "Damaged files",
    bound: "detected or harmless, 0 wrong answers, 0 process deaths",
    tests: ["fault-damage", "shard-corruption", "daemon-stores", "daemon-damage"],
    notShown:
      "damage to LMDB's own pages that neither reading all values nor a trial of writing at the start meets: LMDB has no checksums",
  },
  {
    number: 10,
    what: "A file is truncated while it is mapped",
    bound: "a part of an answer, not the process",
    tests: ["daemon-truncation"],
    notShown: "",
  },
  {
    number: 11,
    what: "Read-only file system, wrong owner, missing directory",
    bound: "one clear line and an exit code",
    tests: ["daemon-lifecycle"],
    notShown: "",
  },
  {
    number: 12,
    what: "Formats of other versions",
    bound: "read, or refused with a message",
    tests: ["shard-corruption", "data-version", "daemon-lifecycle"],
    notShown: "",
  },
  {
    number: 13,
    what: "Hard stops of readers",
    bound: "slots of readers are free again",
    tests: ["fault-process", "attack-threads"],
    notShown: "200 stops: `make test` has 10",
  },
  {
    number: 14,
    what: "A worker throws, hangs, exhausts its memory or aborts",
    bound: "one request fails, others are unharmed",
    tests: ["worker-pool", "attack-threads", "sync-loss"],
    notShown: "",
  },
  {
    number: 15,
    what: "The main loop is not blocked; a watchdog",
    bound: "≤ 100 ms under each attack",
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
    bound: "a bad one keeps the old",
    tests: ["fault-process", "daemon-lifecycle", "daemon-service-manager"],
    notShown: "1,000 reloads: `make test` has 12",
  },
  {
    number: 18,
    what: "The clock jumps",
    bound: "no token lives again, no negative duration, no storm of timers",
    tests: ["fault-process", "accounts", "attempts"],
    notShown: "a leap second, and clocks that are read by clock_gettime",
  },
  {
    number: 19,
    what: "Descriptors and memory exhausted",
    bound: "accepting pauses, nothing is corrupt, searches go on",
    tests: ["fault-process", "kernel-process"],
    notShown:
      "that accepting pauses; the memory of the daemon itself, which the kernel ends: it is started again as after kill -9 (item 6)",
  },
  {
    number: 20,
    what: "Slow readers, half-open connections, resets",
    bound: "≤ 256 KB each, cut in time, others are not slowed",
    tests: ["http-slow-reader", "http-sse", "http-reading-pace"],
    notShown: "",
  },
  {
    number: 21,
    what: "10,000 clients that leave",
    bound: "workers idle within 50 ms, no task stays",
    tests: ["fault-clients", "http-server", "attack-searches"],
    notShown: "",
  },
  {
    number: 22,
    what: "Remotes that are slow, lie or never end",
    bound: "bounded time, bytes and disk",
    tests: ["git-remotes", "git-fetch-watch"],
    notShown: "",
  },
  {
    number: 23,
    what: "Queries at random",
    bound: "a plan or an error with a place; no crash",
    tests: ["query-fuzz", "fuzz"],
    notShown: "24 hours of processor time; `make fuzz` is half a minute each",
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
    what: "HTTP that means harm",
    bound: "refused, nothing else",
    tests: ["attack-http", "http-server", "request-body"],
    notShown: "",
  },
  {
    number: 26,
    what: "GraphQL that asks for too much",
    bound: "refused before it is executed",
    tests: ["graphql-limits", "graphql-bad-input", "attack-texts"],
    notShown: "",
  },
  {
    number: 27,
    what: "Git objects that mean harm",
    bound: "bounded memory, no file outside of the data",
    tests: ["git-hostile-packs", "git-packs", "attack-texts"],
    notShown: "",
  },
  {
    number: 28,
    what: "Names and texts of any kind",
    bound: "offsets right, framing never broken",
    tests: ["attack-texts", "http-raw", "cases"],
    notShown: "",
  },
  {
    number: 29,
    what: "Permissions: users × repositories × outputs",
    bound: "answers as if what is hidden were not there",
    tests: ["fault-timing", "permissions", "http-permissions"],
    notShown:
      "10,000 requests for each side of a comparison of times: `make test` has 150, which show only large differences",
  },
  {
    number: 30,
    what: "Tokens",
    bound: "only hashes at rest, ended within 1 s, audited before the act",
    tests: ["fault-timing", "accounts", "audit-log", "attack-accounts", "account-credential"],
    notShown: "a million wrong tokens; 10,000 requests for each side of a comparison of times",
  },
  {
    number: 31,
    what: "No shell, a fixed environment for git",
    bound: "no hook, no configuration of the repository",
    tests: ["git-run", "git-remotes", "git-remote-url"],
    notShown: "",
  },
  {
    number: 32,
    what: "Pages and raw files",
    bound: "no script runs, no path leaves the tree",
    tests: ["http-raw", "http-routes"],
    notShown: "",
  },
  {
    number: 33,
    what: "Supply",
    bound: "pinned versions, install scripts named one by one",
    tests: ["tidy"],
    notShown: "",
  },
  { number: 34, what: "Exposure of the systemd units", bound: "≤ 1.3", tests: ["systemd-units"], notShown: "" },
];
