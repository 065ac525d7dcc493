import { callAfter } from "../../base/deadline.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { ExaminedShard, Lane, SearchTaskResult } from "../../protocol/messages.js";
import {
  type RankBudget,
  type RankedDocument,
  type RankedShard,
  type RankingParts,
  type RankTaskResult,
  checkRanked,
  workOnDocuments,
  workOnShards,
  decodeDocuments,
  decodeShards,
  BestDocuments,
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
}

/** The results to send first, and what is left to search. */
export interface Ranking {
  /** The best documents, in order. */
  readonly best: readonly RankedDocument[];
  /** The best results, in order. */
  readonly first: SlicedWork;
  /** The result of the held slice if it has written them; otherwise undefined. */
  readonly written: SearchTaskResult | undefined;
  /**
   * The other results, when the best are written: without those that were counted. The statistics of shards that are not
   * searched again are added to those of the search.
   */
  readonly rest: (counted: SearchSlices["counted"]) => SlicedWork;
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
  readonly #shards: RankedShard[] = [];
  readonly #examined: ExaminedShard[] = [];
  readonly #best: BestDocuments;
  readonly #budget: RankBudget;
  #isAlone: boolean;
  #activeCount = 0;
  #hasFailed = false;
  #written: SearchTaskResult | undefined;
  /** The slice that one of the tasks may write; undefined if results are not sent, or say how they were scored. */
  #writtenSlice: number | undefined;
  readonly #board: SharedArrayBuffer;
  #resolve: () => void = () => undefined;

  constructor(search: PassSearch, work: SlicedWork) {
    this.#search = search;
    this.#work = work;
    this.#isAlone = mayBeSmall(work) || mustStayAlone(search.environment.scheduler, search.lane);
    this.#budget = shareBudget(work.rows.length, work.options);
    this.#best = new BestDocuments(this.#budget.keptDocuments, this.#budget.keptMatches);
    this.#board = takeBoard();
  }

  /** Adds the statistics of shards that need no further search to `stats`. Never rejects. */
  async run(stats: SearchStats): Promise<Ranking> {
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
    if (!this.#hasFailed && spareBoards.length < spareBoardsMax) spareBoards.push(this.#board);
    if (this.#written === undefined) this.#search.slices?.dropHeld();
    environment.pool.forget(-id);
    return this.#finish(stats);
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
        board: this.#board,
      });
      this.#written ??= result.written;
      this.#take(result);
    } catch (error) {
      this.#hasFailed = true;
      // The shards that the thread had taken are searched without ranking, which reports what is wrong with them.
      environment.log.error({ error }, "a thread was lost while it ranked results");
    }
    this.#activeCount--;
    if (this.#activeCount === 0) this.#resolve();
  }

  #take({ ranked, examined, failures, isDone }: RankTaskResult): void {
    if (failures.length > 0) this.#hasFailed = true;
    this.#examined.push(...examined);
    this.#shards.push(...decodeShards(ranked));
    for (const document of decodeDocuments(ranked)) {
      checkRanked(document, this.#work);
      this.#best.offer(document);
    }
    if (!isDone && !this.#search.control.isStopped) this.#schedule();
  }

  #finish(stats: SearchStats): Ranking {
    const first = this.#best.documents;
    const scores = this.#search.debug ? first.map(describeScore) : undefined;
    return {
      best: first,
      first: workOnDocuments(this.#work, first, scores, this.#examined),
      written: this.#written,
      rest: (counted) => this.#otherWork(first, counted, this.#doneShards(first, new Set(counted.shards), stats)),
      hasFailed: this.#hasFailed,
    };
  }

  /** The shards of which all results are written or counted. Adds their statistics to `stats`. */
  #doneShards(first: readonly RankedDocument[], counted: ReadonlySet<number>, stats: SearchStats): ReadonlySet<number> {
    const sentCounts = new Map<number, number>();
    for (const { shard } of first) sentCounts.set(shard, (sentCounts.get(shard) ?? 0) + 1);
    const done = new Set<number>();
    for (const { shard, isComplete, keptCount, stats: own } of this.#shards) {
      // A search with a receipt examines all shards for what they cover.
      const isSent = !this.#work.options.receipt && isComplete && keptCount === (sentCounts.get(shard) ?? 0);
      if (!isSent && !counted.has(shard)) continue;
      done.add(shard);
      addStats(stats, own);
    }
    return done;
  }

  /** The shards that are not done, without the ranked documents. */
  #otherWork(
    first: readonly RankedDocument[],
    counted: SearchSlices["counted"],
    done: ReadonlySet<number>,
  ): SlicedWork {
    const { rows } = this.#work;
    const except = new Map<number, Set<number>>();
    for (const { shard, documents } of counted.documents)
      if (!done.has(shard)) except.set(rows[shard], new Set(documents));
    for (const { shard, document } of first) {
      const documents = except.get(rows[shard]) ?? new Set();
      except.set(rows[shard], documents.add(document));
    }
    const left = Uint32Array.from([...rows.keys()].filter((shard) => !done.has(shard)));
    return workOnShards(this.#work, left, {
      only: undefined,
      scores: undefined,
      ranges: undefined,
      except,
      examined: [],
    });
  }
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
  return {
    contents: share(contentsMax, contentsMin),
    cheapBytes: share(cheapBytesMax, bytesMin),
    expensiveBytes: share(expensiveBytesMax, bytesMin),
    keptDocuments: rankedCountMax,
    keptMatches: displayCountMax,
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
