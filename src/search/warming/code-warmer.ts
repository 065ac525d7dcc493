import { callAfter, monotonicMs, sleep } from "../../base/deadline.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import { ControlBlock } from "../../protocol/control-block.js";
import { RankBoard } from "../../protocol/rank-messages.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import { planQuery } from "../../query/plan/plan-query.js";
import { shareBudget } from "../ranking/ranked-pass.js";
import type { SliceServices } from "../slices/search-slices.js";

/**
 * What each thread searches for, in this order: a word that no text contains, which opens each shard and looks up its
 * postings, a common word, and a regexp, which uses RE2. Words that are common in code are found in most text, too.
 */
const textQueries = ["zqxjkvbnmwq", "return", "/[a-z]+ *return/"] as const;

/** The same for symbols: the first one opens those of each shard, and each thread keeps them. */
const openingQuery = "type:symbol zqxjkvbnmwq";
const symbolQueries = [openingQuery, "type:symbol get", "type:symbol /^g[a-z]+t$/"] as const;

/**
 * Searches as people type them, whose results are ranked: of common words, so that each shard has more candidates than
 * are examined, and what ranking derives from the paths of a shard is there.
 */
const rankedQueries = ["return", "name", "get file", "new"] as const;

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
  readonly #searchAsPage: (query: string, stop: AbortSignal) => Promise<void>;
  readonly #readCommit: (view: CatalogView, stop: AbortSignal) => Promise<void>;
  readonly #running = new Set<ControlBlock>();
  #hasSearchedTexts = false;
  #hasSearchedSymbols = false;
  #hasRanked = false;
  #hasReadCommit = false;
  /** The checksums of the symbols that the threads have opened. */
  #opened: ReadonlySet<number> = new Set();
  readonly #stopping = new AbortController();

  /**
   * `hasPendingSymbols` returns whether the symbols of live shards are being extracted, or will be soon. `searchAsPage` runs a
   * whole search, whose results are dropped, for the code of the main thread. `readCommit` reads texts of a commit in each
   * read thread, as a search of a commit that is not indexed does.
   */
  constructor(
    environment: WarmerEnvironment,
    hasPendingSymbols: () => boolean,
    searchAsPage: (query: string, stop: AbortSignal) => Promise<void>,
    readCommit: (view: CatalogView, stop: AbortSignal) => Promise<void>,
  ) {
    this.#environment = environment;
    this.#hasPendingSymbols = hasPendingSymbols;
    this.#searchAsPage = searchAsPage;
    this.#readCommit = readCommit;
  }

  /** Caller guarantees: the view is not released before the promise resolves. */
  async run(view: CatalogView): Promise<void> {
    const contentBytes = view.shards.reduce((sum, { record }) => sum + record.contentBytes, 0);
    if (contentBytes < contentBytesMin) return;
    if (!this.#hasSearchedTexts) {
      const rows = view.shards.slice(0, shardCountMax).map((_, row) => row);
      this.#hasSearchedTexts = await this.#searchAll(view, textQueries, rows, roundCount);
    }
    if (!this.#hasReadCommit) this.#hasReadCommit = await this.#readCommits(view);
    if (this.#hasPendingSymbols()) return;
    await this.#openSymbols(view);
    if (this.#hasRanked) return;
    const rows = view.shards.slice(0, shardCountMax).map((_, row) => row);
    this.#hasRanked = (await this.#rankAll(view, rows)) && (await this.#searchWhole());
  }

  #readCommits(view: CatalogView): Promise<boolean> {
    return this.#repeat([view], roundCount, (one) => this.#readCommit(one, this.#stopping.signal));
  }

  #searchWhole(): Promise<boolean> {
    return this.#repeat(rankedQueries, roundCount, (query) => this.#searchAsPage(query, this.#stopping.signal));
  }

  async #openSymbols(view: CatalogView): Promise<void> {
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
    const plans = queries.map((query) => makeOptions(query, false));
    return this.#runAll(plans, rounds, (options, slice) => this.#search(view, options, rows, slice));
  }

  /** Every thread ranks results of the shards of these rows. Returns false if it was stopped. */
  #rankAll(view: CatalogView, rows: readonly number[]): Promise<boolean> {
    const plans = rankedQueries.map((query) => makeOptions(query, true));
    return this.#runAll(plans, roundCount, (options, slice) => this.#rank(view, options, rows, slice));
  }

  /** Every thread does this work for each of the plans, in rounds. Returns false if it was stopped. */
  #runAll(
    plans: readonly SearchOptions[],
    rounds: number,
    work: (options: SearchOptions, slice: number) => Promise<void>,
  ): Promise<boolean> {
    const { workerCount } = this.#environment.pool;
    // All at once, so that each thread gets one.
    return this.#repeat(plans, rounds, (options) =>
      Promise.all(Array.from({ length: workerCount }, (_, slice) => work(options, slice))),
    );
  }

  /** Does the work for each item, in rounds, while no client searches. Returns false if it was stopped. */
  async #repeat<Item>(
    items: readonly Item[],
    rounds: number,
    work: (item: Item) => Promise<unknown>,
  ): Promise<boolean> {
    for (let round = 0; round < rounds; round++) {
      for (const item of items) {
        if (!(await this.#waitUntilIdle())) return !this.#stopping.signal.aborted;
        await work(item);
      }
    }
    return true;
  }

  /**
   * A slice that waits makes those of clients yield to it, so none is scheduled while others run. Returns false when it
   * is stopped, or others have run all the time: then the code is compiled by them.
   */
  async #waitUntilIdle(): Promise<boolean> {
    for (let waits = 0; waits < idleWaitsMax && !this.#stopping.signal.aborted; waits++) {
      if (this.#environment.scheduler.isIdle) return true;
      await sleep(idleWaitMs);
    }
    return false;
  }

  /** Ends the searches that are running. */
  stop(): void {
    this.#stopping.abort();
    for (const control of this.#running) control.cancel();
  }

  #search(view: CatalogView, options: SearchOptions, rows: readonly number[], slice: number): Promise<void> {
    return this.#run((control) => {
      const task = { ...shared(view, options, rows, control), slice, slot: 0, isAlone: false };
      return this.#environment.pool.run(
        { ...task, resume: undefined, explain: false, ranked: undefined },
        monotonicMs() + searchMs,
      );
    });
  }

  #rank(view: CatalogView, options: SearchOptions, rows: readonly number[], slice: number): Promise<void> {
    return this.#run((control) => {
      // Alone, so that the thread writes the best results, too.
      const board = RankBoard.allocate();
      const task = { ...shared(view, options, rows, control), isAlone: true, writtenSlice: slice, board };
      const budget = shareBudget(rows.length, options);
      return this.#environment.pool.rank({ ...task, budget, withParts: false }, monotonicMs() + searchMs);
    });
  }

  async #run(work: (control: ControlBlock) => Promise<unknown>): Promise<void> {
    const control = ControlBlock.allocate(1, unlimitedCredit, 0);
    this.#running.add(control);
    const timeout = callAfter(searchMs, () => control.cancel());
    try {
      await this.#environment.scheduler.run("exhaustive", "", async () => {
        if (!control.isStopped) await work(control);
      });
    } finally {
      timeout.cancel();
      this.#running.delete(control);
    }
  }
}

/** What tasks that search and tasks that rank have in common. */
function shared(view: CatalogView, options: SearchOptions, rows: readonly number[], control: ControlBlock) {
  return {
    searchId: noSearch,
    options,
    table: view.table.memory,
    filter: view.filter.memory,
    rows: Uint32Array.from(rows),
    cached: [],
    control: control.memory,
    lane: "exhaustive",
  } as const;
}

/** Ranked results are those that the page shows. */
function makeOptions(query: string, isRanked: boolean): SearchOptions {
  const plan = planQuery(query, isRanked ? "keyword" : "standard");
  return {
    plan,
    chunkMatches: isRanked,
    contextLines: isRanked ? 1 : 0,
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
    group: undefined,
    commitSets: undefined,
    idBase: 0,
  };
}
