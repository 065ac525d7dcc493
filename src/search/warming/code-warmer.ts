import { callAfter, monotonicMs, sleep } from "../../base/deadline.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import { ControlBlock } from "../../protocol/control-block.js";
import type { SearchTask } from "../../protocol/messages.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import { planQuery } from "../../query/plan/plan-query.js";
import type { SliceServices } from "../slices/search-slices.js";

/**
 * What each thread searches for, in this order: a word that no text contains, which opens each shard and looks up its
 * postings, a common word, and a regexp, which uses RE2. Words that are common in code are found in most text, too.
 */
const textQueries = ["zqxjkvbnmwq", "return", "/[a-z]+ *return/"] as const;

/** The same for symbols: the first one opens those of each shard, and each thread keeps them. */
const openingQuery = "type:symbol zqxjkvbnmwq";
const symbolQueries = [openingQuery, "type:symbol get", "type:symbol /^g[a-z]+t$/"] as const;

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

type WarmerEnvironment = Pick<SliceServices, "pool" | "scheduler">;

/**
 * Lets each search thread search its shards before a client does, so that V8 has compiled the code. The first search of
 * a regexp in Linux took 180 ms of which 130 were that. Yields to slices that wait for a worker; results are dropped.
 *
 * The work does not grow with the number of passes: texts and symbols are searched in rounds once in the life of the
 * process, and from then on only symbols that no thread has opened yet are opened. Symbols wait until none are being
 * extracted, because each shard that is extracted begins a pass.
 */
export class CodeWarmer {
  readonly #environment: WarmerEnvironment;
  readonly #hasPendingSymbols: () => boolean;
  readonly #running = new Set<ControlBlock>();
  #hasSearchedTexts = false;
  #hasSearchedSymbols = false;
  /** The checksums of the symbols that the threads have opened. */
  #opened: ReadonlySet<number> = new Set();
  #isStopped = false;

  /** `hasPendingSymbols` returns whether the symbols of live shards are being extracted, or will be soon. */
  constructor(environment: WarmerEnvironment, hasPendingSymbols: () => boolean) {
    this.#environment = environment;
    this.#hasPendingSymbols = hasPendingSymbols;
  }

  /** Caller guarantees: the view is not released before the promise resolves. */
  async run(view: CatalogView): Promise<void> {
    const contentBytes = view.shards.reduce((sum, { record }) => sum + record.contentBytes, 0);
    if (contentBytes < contentBytesMin) return;
    if (!this.#hasSearchedTexts) {
      const rows = view.shards.slice(0, shardCountMax).map((_, row) => row);
      this.#hasSearchedTexts = await this.#searchAll(view, textQueries, rows, roundCount);
    }
    if (this.#hasPendingSymbols()) return;
    const opened = new Set<number>();
    const rows: number[] = [];
    view.shards.forEach(({ record: { symbols } }, row) => {
      if (symbols === undefined || opened.size >= shardCountMax) return;
      opened.add(symbols.checksum);
      if (!this.#opened.has(symbols.checksum)) rows.push(row);
    });
    if (rows.length === 0) return;
    if (this.#hasSearchedSymbols) await this.#searchAll(view, [openingQuery], rows, 1);
    else this.#hasSearchedSymbols = await this.#searchAll(view, symbolQueries, rows, roundCount);
    this.#opened = opened;
  }

  /** Every thread searches the shards of these rows for each of the queries, in rounds. Returns false if it was stopped. */
  async #searchAll(
    view: CatalogView,
    queries: readonly string[],
    rows: readonly number[],
    rounds: number,
  ): Promise<boolean> {
    const plans = queries.map(makeOptions);
    for (let round = 0; round < rounds; round++) {
      for (const options of plans) {
        if (!(await this.#waitUntilIdle())) return !this.#isStopped;
        const { workerCount } = this.#environment.pool;
        // All at once, so that each thread gets one.
        await Promise.all(Array.from({ length: workerCount }, (_, slice) => this.#search(view, options, rows, slice)));
      }
    }
    return true;
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

  async #search(view: CatalogView, options: SearchOptions, rows: readonly number[], slice: number): Promise<void> {
    const { pool, scheduler } = this.#environment;
    const control = ControlBlock.allocate(1, unlimitedCredit, 0);
    const task: SearchTask = {
      searchId: noSearch,
      slice,
      options,
      table: view.table.memory,
      filter: view.filter.memory,
      rows: Uint32Array.from(rows),
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
    cutsAround: false,
    matchCountMax,
    displayCountMax: matchCountMax,
    resultLimits: undefined,
    people: undefined,
    selections: plan.basicQueries.map(() => ({ repositoryIds: undefined, revisions: undefined })),
    useIndex: true,
    receipt: false,
    claims: undefined,
    commitSets: undefined,
  };
}
