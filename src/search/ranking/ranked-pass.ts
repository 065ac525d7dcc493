import { callAfter } from "../../base/deadline.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { Lane, SearchTaskResult } from "../../protocol/messages.js";
import {
  type LeftWork,
  type RankBudget,
  type RankedDocument,
  type RankingParts,
  type RankTaskResult,
  findLeft,
  mergeBest,
  workOnDocuments,
  workOnShards,
  decodeShards,
  RankBoard,
} from "../../protocol/rank-messages.js";
import { addStats, type SearchOptions, type SearchStats } from "../../protocol/search-options.js";
import {
  helpRetryMs,
  mayBeSmall,
  mustStayAlone,
  type SearchSlices,
  type SlicedWork,
  type SliceServices,
} from "../slices/search-slices.js";
import { assert } from "../../base/assert.js";

/** The work of ranking one search, which its shards share equally; see docs/internals/ranking.md. */
const contentsMax = 512;
const cheapBytesMax = 16 * 1024 * 1024;
const expensiveBytesMax = 8 * 1024 * 1024;
const rankedMatchesMax = 2000;

/** The least work in a shard, if there are very many. */
const contentsMin = 16;
const bytesMin = 64 * 1024;
const rankedMatchesMin = 50;

/** Documents that are sent in the order of their scores. */
const rankedCountMax = 50;

/** The search whose results are ranked. */
export interface PassSearch {
  /** Of the search; messages of the pass have the negative number. */
  readonly id: number;
  readonly environment: SliceServices;
  readonly view: CatalogView;
  readonly control: ControlBlock;
  readonly lane: Lane;
  readonly client: string;
  /** Whether results say how they were scored. */
  readonly debug: boolean;
  /** The slices that send the results; undefined if no results are sent. */
  readonly slices: Pick<SearchSlices, "holdSlice" | "dropHeld"> | undefined;
  /**
   * Of a search with several sources: how many shards of all of them share the budget. Each document then has batches of its own,
   * and no other one is counted before they are sent.
   */
  readonly sharedShards?: number | undefined;
  /** Documents are kept for so many matches; absent for those that may be shown. */
  readonly keptMatches?: number | undefined;
}

/** The results to send first, and what is left to search. */
export interface Ranking {
  /** The best documents, in order; empty if a thread has written all of them. */
  readonly best: readonly RankedDocument[];
  /** The best results, in order; if they are written, all results. */
  readonly first: SlicedWork;
  /** The best results from this one on. */
  readonly firstFrom: (index: number) => SlicedWork;
  /** The result of the held slice if it has written them; otherwise undefined. */
  readonly written: SearchTaskResult | undefined;
  /**
   * The other results, when the best are written: without those that were counted. The statistics of shards that are not
   * searched again are added to `stats`.
   */
  readonly rest: (counted: SearchSlices["counted"], stats: SearchStats) => SlicedWork;
  /** Whether shards could not be ranked: their results are not among the first. */
  readonly hasFailed: boolean;
}

/**
 * Ranks the results of a search: search workers score the documents of each shard within a budget of work, and keep the
 * best of each; the best of all are those to send first.
 *
 * What is examined depends on the shards and the query only, never on time or on which thread was first, so the order
 * is the same in every run.
 */
export class RankedPass {
  readonly #search: PassSearch;
  readonly #work: SlicedWork;
  readonly #results: RankTaskResult[] = [];
  readonly #budget: RankBudget;
  #isAlone: boolean;
  #activeCount = 0;
  #hasFailed = false;
  /** The slice that one of the tasks may write; undefined if results are not sent, or say how they were scored. */
  #writtenSlice: number | undefined;
  /** Undefined before a thread needs it: many searches may wait for a thread. */
  #board: SharedArrayBuffer | undefined;
  #resolve: () => void = () => undefined;

  constructor(search: PassSearch, work: SlicedWork) {
    this.#search = search;
    this.#work = work;
    this.#isAlone = mayBeSmall(work) || mustStayAlone(search.environment.scheduler, search.lane);
    const budget = shareBudget(search.sharedShards ?? work.rows.length, work.options);
    this.#budget = { ...budget, keptMatches: search.keptMatches ?? budget.keptMatches };
  }

  /** Never rejects. */
  async run(): Promise<Ranking> {
    const { control, environment, id } = this.#search;
    environment.pool.receive(-id, { onBatch: (_, release) => release(), onHelpWanted: () => this.#addSlices() });
    control.beginRanking();
    const countMax = this.#isAlone ? 1 : environment.pool.workerCount;
    const sliceCount = control.isStopped ? 0 : Math.min(countMax, this.#work.rows.length);
    if (sliceCount > 0)
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
        // The thread that ends last may write what all have ranked: another task for that takes longer than many searches.
        this.#writtenSlice = this.#search.debug ? undefined : this.#search.slices?.holdSlice();
        for (let i = 0; i < sliceCount; i++) this.#schedule();
      });
    // A thread that was lost may not have ended yet.
    if (this.#board !== undefined && !this.#hasFailed && spareBoards.length < spareBoardsMax)
      spareBoards.push(this.#board);
    if (this.#written === undefined) this.#search.slices?.dropHeld();
    environment.pool.forget(-id);
    return this.#finish();
  }

  #addSlices(): void {
    const { control, environment, lane } = this.#search;
    if (!this.#isAlone || this.#activeCount === 0 || control.isStopped) return;
    if (mustStayAlone(environment.scheduler, lane)) return void callAfter(helpRetryMs, () => this.#addSlices());
    this.#isAlone = false;
    const left = Math.max(0, this.#work.rows.length - control.rankedShardCount);
    for (let slice = 1; slice < Math.min(environment.pool.workerCount, left + 1); slice++) this.#schedule();
  }

  #schedule(): void {
    const { environment, lane, client } = this.#search;
    this.#activeCount++;
    environment.scheduler.schedule(lane, client, () => this.#run());
  }

  async #run(): Promise<void> {
    const { id, environment, view, control, lane, debug } = this.#search;
    const { options, rows, cached } = this.#work;
    try {
      const result = await environment.pool.rank({
        searchId: -id,
        options,
        rows,
        cached,
        table: view.table.memory,
        filter: view.filter.memory,
        control: control.memory,
        isAlone: this.#isAlone,
        lane,
        budget: this.#budget,
        withParts: debug,
        writtenSlice: this.#writtenSlice,
        isApart: this.#isApart,
        board: (this.#board ??= takeBoard()),
      });
      this.#take(result);
    } catch (error) {
      this.#hasFailed = true;
      // The shards that the thread had taken are searched without ranking, which reports what is wrong with them.
      environment.log.error({ error }, "a thread was lost while it ranked results");
    }
    this.#activeCount--;
    if (this.#activeCount === 0) this.#resolve();
  }

  #take(result: RankTaskResult): void {
    if (result.failures.length > 0) this.#hasFailed = true;
    this.#results.push(result);
    if (!result.isDone && !this.#search.control.isStopped) this.#schedule();
  }

  /** One task at most has written. */
  get #written(): SearchTaskResult | undefined {
    return this.#results.find(({ written }) => written !== undefined)?.written;
  }

  /** Whether each document has batches of its own: then others must not be counted before they are sent. */
  get #isApart(): boolean {
    return this.#search.sharedShards !== undefined;
  }

  #finish(): Ranking {
    const work = this.#work;
    const left = this.#results.find((result) => result.left !== undefined)?.left;
    const [written, hasFailed] = [this.#written, this.#hasFailed];
    if (left !== undefined) {
      const rest = (_: SearchSlices["counted"], stats: SearchStats): SlicedWork => {
        addStats(stats, left.stats);
        return leaveOut(work, left);
      };
      return { best: [], first: work, firstFrom: () => work, rest, written, hasFailed };
    }
    const ranked = this.#results.flatMap((result) => result.ranked ?? []);
    const best = mergeBest(ranked, this.#budget, work).documents;
    const scores = this.#search.debug ? best.map(describeScore) : undefined;
    const examined = this.#isApart ? [] : this.#results.flatMap((result) => result.examined);
    const firstFrom = (index: number): SlicedWork =>
      workOnDocuments(work, best.slice(index), scores?.slice(index), examined, this.#isApart);
    return {
      best,
      first: firstFrom(0),
      firstFrom,
      rest: (counted, stats) => {
        const found = findLeft(work.rows.length, ranked.flatMap(decodeShards), best, counted, work.options.receipt);
        addStats(stats, found.stats);
        return leaveOut(work, found);
      },
      written,
      hasFailed,
    };
  }
}

/** The shards that are left, without the documents that are written or counted. */
function leaveOut(work: SlicedWork, { shards }: LeftWork): SlicedWork {
  const except = new Map(
    shards.flatMap(({ shard, except: documents }) =>
      documents.length === 0 ? [] : [[work.rows[shard], new Set(documents)] as const],
    ),
  );
  const left = Uint32Array.from(shards, ({ shard }) => shard).sort();
  return workOnShards(work, left, { only: undefined, scores: undefined, ranges: undefined, except, examined: [] });
}

/** The boards of passes that have ended: an allocation for each search would press on V8 to collect garbage. */
const spareBoards: SharedArrayBuffer[] = [];
const spareBoardsMax = 4;

function takeBoard(): SharedArrayBuffer {
  const board = spareBoards.pop() ?? RankBoard.allocate();
  new RankBoard(board).clear();
  return board;
}

/** What may be examined in each of so many shards. */
export function shareBudget(
  shardCount: number,
  { matchCountMax, displayCountMax }: Pick<SearchOptions, "matchCountMax" | "displayCountMax">,
): RankBudget {
  const share = (total: number, least: number): number => Math.max(least, Math.floor(total / Math.max(1, shardCount)));
  // The thread that writes them finds with one more match that the limit is reached. Otherwise it takes another task.
  const isLast = displayCountMax === matchCountMax;
  return {
    contents: share(contentsMax, contentsMin),
    cheapBytes: share(cheapBytesMax, bytesMin),
    expensiveBytes: share(expensiveBytesMax, bytesMin),
    keptDocuments: rankedCountMax,
    keptMatches: isLast ? displayCountMax + 1 : displayCountMax,
    rankedMatches: share(rankedMatchesMax, rankedMatchesMin),
    countedMatches: matchCountMax,
  };
}

/** The parts whose sum is multiplied, in the order of docs/internals/ranking.md. */
const partNames = [
  "symbol",
  "fileName",
  "folders",
  "line",
  "wholeWords",
  "phrase",
  "matches",
] as const satisfies readonly (keyof RankingParts)[];

/**
 * How a document was scored, and what decides between equal scores:
 *
 *     score 1113 = (symbol 1040 + fileName 0 + … + matches 8) × fileFactor 1; stars 3; committed 2024-05-01T12:00:00Z
 */
export function describeScore({ score, parts, stars, committedSeconds }: RankedDocument): string {
  assert(parts !== undefined, "parts are wanted");
  const sum = partNames.map((name) => `${name} ${rounded(parts[name])}`).join(" + ");
  const date = committedSeconds === 0 ? "" : `; committed ${describeDate(committedSeconds)}`;
  return `score ${score} = (${sum}) × fileFactor ${rounded(parts.fileFactor)}; stars ${stars}${date}`;
}

/** At most two decimals. */
function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function describeDate(unixSeconds: number): string {
  const date = new Date(unixSeconds * 1000);
  return Number.isNaN(date.getTime()) ? `${unixSeconds} seconds after 1970` : date.toISOString().replace(".000Z", "Z");
}
