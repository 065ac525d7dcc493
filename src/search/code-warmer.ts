import { callAfter, monotonicMs, sleep } from "../base/deadline.js";
import type { CatalogView } from "../catalog/live-shards.js";
import { ControlBlock } from "../protocol/control-block.js";
import type { SearchTask } from "../protocol/messages.js";
import type { SearchOptions } from "../protocol/search-options.js";
import { planQuery } from "../query/plan/plan-query.js";
import type { SearchEnvironment } from "./search-environment.js";

/**
 * What each thread searches for, in this order: a word that no text contains, which opens each shard and looks up its
 * postings, a common word, and a regexp, which uses RE2. Then the same for symbols: each thread keeps those of its
 * shards. Words that are common in code are found in most text, too.
 */
const queries = [
  "zqxjkvbnmwq",
  "return",
  "/[a-z]+ *return/",
  "type:symbol zqxjkvbnmwq",
  "type:symbol get",
  "type:symbol /^g[a-z]+t$/",
] as const;

/** How often: after about this many searches, V8 has compiled what they use. */
const roundCount = 4;

/** Limits on the work of one search of one thread. */
const matchCountMax = 10_000;
const shardCountMax = 256;
const searchMs = 250;

/** How often, and how many times, it looks whether clients search: for half a minute. */
const idleWaitMs = 200;
const idleWaitsMax = 150;

/** With less text than this, the first search is short anyway. */
const contentBytesMin = 64 * 1024 * 1024;

/** Batches with the number of no search are dropped. */
const noSearch = 0;

const unlimitedCredit = 2 ** 30;

type WarmerEnvironment = Pick<SearchEnvironment, "pool" | "scheduler">;

/**
 * Lets each search thread search its shards before a client does, so that V8 has compiled the code. The first search of
 * a regexp in Linux took 180 ms of which 130 were that. Yields to slices that wait for a worker; results are dropped.
 */
export class CodeWarmer {
  readonly #environment: WarmerEnvironment;
  readonly #contentBytesMin: number;
  readonly #running = new Set<ControlBlock>();
  #isStopped = false;

  constructor(environment: WarmerEnvironment, bytesMin = contentBytesMin) {
    this.#environment = environment;
    this.#contentBytesMin = bytesMin;
  }

  /** Caller guarantees: the view is not released before the promise resolves. */
  async run(view: CatalogView): Promise<void> {
    const contentBytes = view.shards.reduce((sum, { record }) => sum + record.contentBytes, 0);
    if (contentBytes < this.#contentBytesMin) return;
    for (let round = 0; round < roundCount; round++) {
      for (const query of queries) {
        if (!(await this.#waitUntilIdle())) return;
        const { workerCount } = this.#environment.pool;
        const options = makeOptions(query);
        // All at once, so that each thread gets one.
        await Promise.all(Array.from({ length: workerCount }, (_, slice) => this.#search(view, options, slice)));
      }
    }
  }

  /**
   * A slice that waits makes those of clients yield to it, so none is scheduled while others run. Returns false when it
   * is stopped, or others have run all the time: then the code is compiled by them.
   */
  async #waitUntilIdle(): Promise<boolean> {
    for (let waits = 0; waits < idleWaitsMax && !this.#isStopped; waits++) {
      if (this.#environment.scheduler.isIdle) return true;
      await sleep(idleWaitMs);
    }
    return false;
  }

  /** Ends the searches that are running. */
  stop(): void {
    this.#isStopped = true;
    for (const control of this.#running) control.cancel();
  }

  async #search(view: CatalogView, options: SearchOptions, slice: number): Promise<void> {
    const { pool, scheduler } = this.#environment;
    const control = ControlBlock.allocate(1, unlimitedCredit, 0);
    const task: SearchTask = {
      searchId: noSearch,
      slice,
      options,
      table: view.table.memory,
      filter: view.filter.memory,
      rows: Uint32Array.from({ length: Math.min(shardCountMax, view.shards.length) }, (_, row) => row),
      cached: [],
      control: control.memory,
      slot: 0,
      isAlone: false,
      lane: "exhaustive",
      resume: undefined,
      explain: false,
      ranked: undefined,
    };
    this.#running.add(control);
    const timeout = callAfter(searchMs, () => control.cancel());
    try {
      await scheduler.run("exhaustive", "", async () => {
        if (!control.isStopped) await pool.run(task, monotonicMs() + searchMs);
      });
    } finally {
      timeout.cancel();
      this.#running.delete(control);
    }
  }
}

function makeOptions(query: string): SearchOptions {
  const plan = planQuery(query, "standard");
  return {
    plan,
    chunkMatches: false,
    contextLines: 0,
    lineBytesMax: 1000,
    matchCountMax,
    displayCountMax: matchCountMax,
    resultLimits: undefined,
    people: undefined,
    selections: plan.basicQueries.map(() => ({ repositoryIds: undefined, revisions: undefined })),
    useIndex: true,
    receipt: false,
    commitSets: undefined,
  };
}
