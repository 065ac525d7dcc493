import { addTally, emptyHistoryTally, emptyTally, type HistoryTally, increase } from "../../protocol/result-batch.js";
import type { GroupKind, ResultGroups } from "../../model/result-groups.js";
import { GroupCounts } from "./group-counts.js";
import { takeMatches, type ControlBlock } from "../../protocol/control-block.js";
import { ContentClaims } from "../../protocol/content-claims.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import type { Alert, DuplicateCounts, Filter, Progress } from "../../model/stream-events.js";
import { type FoundCommit, cutCommitMatch } from "../../protocol/commit-page.js";
import { creditBytes, type SearchLimits } from "../limits/search-limits.js";
import {
  addDigest,
  addToDigest,
  digestKinds,
  emptyDigest,
  noPosition,
  repositoryKey,
  type ResultDigest,
} from "../../native/kernel/result-digest.js";
import { isDeepStrictEqual } from "node:util";
import { callEvery, type PendingCall } from "../../base/deadline.js";
import { countBytes, type JsonElements, type SearchListener } from "../../model/search-listener.js";
import type { ClientPace, FoundResult, SourcedBatch } from "../source/search-source.js";

/** A run of match objects is sent when it has this many bytes. */
const runBytesMax = 32 * 1024;

/** What a search has found so far: plain state, which its report is made from. */
export class ResultCounts {
  readonly tally = emptyTally();
  /** Ids of the repositories that have a result. */
  readonly repositoryIds = new Set<number>();
  readonly history = emptyHistoryTally();
  /** Undefined unless matches are only counted, by what they have in common. */
  readonly groups: GroupCounts | undefined;
  /** Of the match objects that are sent, if the search has a receipt. */
  readonly digest: SearchDigest;
  /** Number of results that are repositories. */
  repositoryCount = 0;
  /** Differs whenever something else was counted. */
  version = 0;
  readonly #limits: SearchLimits;
  readonly #control: ControlBlock;
  readonly #claims: ContentClaims | undefined;

  constructor(
    limits: SearchLimits,
    control: ControlBlock,
    { receipt, claims }: Pick<SearchOptions, "receipt" | "claims">,
    groupedBy: GroupKind | undefined,
  ) {
    this.#limits = limits;
    this.#control = control;
    this.digest = new SearchDigest(receipt);
    this.groups = groupedBy && new GroupCounts(groupedBy);
    this.#claims = claims && new ContentClaims(claims);
  }

  /** Matches, those of a content that is reported once counted once. */
  get matchCount(): number {
    return Math.max(0, this.countedMatches - this.#control.duplicateCount);
  }

  /** What counts towards the limits: matches, and results that refer to another one. */
  get countedMatches(): number {
    return Math.min(this.#control.matchCount, this.#limits.matchCountMax);
  }

  /** Undefined unless contents are reported once. */
  get duplicates(): DuplicateCounts | undefined {
    if (this.#claims === undefined) return undefined;
    return {
      places: this.#control.duplicateCount,
      matchesInAllPlaces: this.matchCount + this.#control.duplicateMatches,
      complete: !this.#claims.isFull,
    };
  }

  /** True if a match was omitted because of the limit. */
  get isLimitHit(): boolean {
    return this.#control.isLimitHit;
  }
}

/** Counts the results of one search, as far as its sources have not, against its limits, and passes them on. */
export class SearchResults {
  readonly counts: ResultCounts;
  readonly #limits: SearchLimits;
  readonly #control: ControlBlock;
  readonly #nameOf: (repositoryId: number) => string;
  readonly #stream: Pick<EventStream, "addMatches">;
  /** Keys of the results that the main thread has counted, for the search and by result options. */
  readonly #seen = new Set<string>();
  readonly #seenByOptions = new Map<number, Set<string>>();
  /** Match objects of commits and diffs that are sent next. */
  #run: Pick<FoundCommit, "json" | "from" | "to"> | undefined;

  /** `nameOf` returns the name of a repository that has a result; "" if it does not exist any more. */
  constructor(
    limits: SearchLimits,
    control: ControlBlock,
    counts: ResultCounts,
    nameOf: (repositoryId: number) => string,
    stream: Pick<EventStream, "addMatches">,
  ) {
    this.#limits = limits;
    this.#control = control;
    this.counts = counts;
    this.#nameOf = nameOf;
    this.#stream = stream;
  }

  /** Adds results found by a worker, which has counted them, except those that several workers may find. */
  addBatch(batch: SourcedBatch, release: () => void): void {
    this.counts.version++;
    addTally(this.counts.tally, batch.tally);
    this.counts.groups?.addBatch(batch.tally, this.#nameOf);
    this.counts.digest.addBatch(batch.digest);
    for (const key of batch.tally.repositories.keys())
      this.counts.repositoryIds.add(Number(key.slice(0, key.indexOf("@"))));
    if (batch.bytes.length > 0) this.#stream.addMatches({ bytes: batch.bytes, release });
    for (const found of batch.selected) this.addFound(found);
  }

  /** Adds a result, unless there is one with its key already. */
  addFound(found: FoundResult): void {
    const { key, optionsIndex, repositoryId, repository, revision, kind } = found;
    if (!this.#countNew(key, optionsIndex)) return;
    this.counts.version++;
    this.counts.repositoryIds.add(repositoryId);
    if (kind === "repository") {
      this.counts.repositoryCount++;
      this.counts.groups?.addRepository(repository);
    } else if (kind === "directory") {
      this.counts.tally.pathMatches++;
      increase(this.counts.tally.repositories, `${repositoryId}@${revision}`, 1);
    }
    if (!this.#showOne()) return;
    const json = found.json();
    this.counts.digest.addFound(found, json);
    this.#stream.addMatches(Buffer.from(json));
  }

  /** Adds a commit or a diff, unless it is one already; it is sent by `sendCommits` at the latest. */
  addCommit(found: FoundCommit, repositoryId: number, nowMs: number): void {
    const key = `${repositoryId} ${found.kind} ${found.oid}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const wanted = this.#takeMatches(found);
    if (wanted === 0) return;
    const counted = this.#count(wanted);
    if (counted === 0) return;
    this.counts.version++;
    this.counts.repositoryIds.add(repositoryId);
    increase(this.counts.tally.repositories, `${repositoryId}@`, counted);
    countCommit(this.counts.history, found, counted, nowMs);
    this.counts.groups?.addCommit(found, this.#nameOf(repositoryId), counted);
    const shown = this.#show(counted);
    if (shown === 0) return;
    this.counts.digest.addCommit(this.#nameOf(repositoryId), found.kind, found.oid, shown);
    this.#addRun(found, shown);
  }

  /** Sends the commits and diffs that were added. */
  sendCommits(): void {
    const run = this.#run;
    this.#run = undefined;
    if (run !== undefined) this.#stream.addMatches(run.json.subarray(run.from, run.to));
  }

  /** Adjacent match objects of a page are sent as one part, which takes a tenth of the time. */
  #addRun(found: FoundCommit, shown: number): void {
    const run = this.#run;
    if (found.rangeCount > shown) {
      this.sendCommits();
      this.#stream.addMatches(cutCommitMatch(found, shown));
    } else if (run?.json === found.json && run.to + 1 === found.from && run.to - run.from < runBytesMax) {
      this.#run = { ...run, to: found.to };
    } else {
      this.sendCommits();
      this.#run = { json: found.json, from: found.from, to: found.to };
    }
  }

  /** What the limits of the result options leave of a result's matches. */
  #takeMatches({ matchCount, matches }: FoundCommit): number {
    const { resultLimits } = this.#limits;
    if (resultLimits === undefined) return matchCount;
    const taken = matches.map(({ optionsIndex, count }) =>
      takeMatches(resultLimits, optionsIndex, count, this.#control),
    );
    return taken.every((count, i) => count === matches[i].count) ? matchCount : Math.max(...taken);
  }

  /**
   * Counts a result of the main thread, first for its result options and then for the search; false if the search has
   * it already, or if it exceeds a limit.
   */
  #countNew(key: string, optionsIndex: number): boolean {
    const { resultLimits } = this.#limits;
    if (resultLimits !== undefined) {
      const seen = this.#seenByOptions.get(optionsIndex) ?? new Set();
      this.#seenByOptions.set(optionsIndex, seen);
      if (seen.has(key)) return false;
      seen.add(key);
      if (takeMatches(resultLimits, optionsIndex, 1, this.#control) === 0) return false;
    }
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return this.#countOne();
  }

  /** Counts one match found by the main thread; false if the limit had been reached. */
  #countOne(): boolean {
    return this.#count(1) === 1;
  }

  /** Counts matches found by the main thread, as far as the limit allows, and returns how many. */
  #count(wanted: number): number {
    const left = Math.max(0, this.#limits.matchCountMax - this.#control.addMatches(wanted));
    if (left < wanted) this.#control.stopAtLimit();
    return Math.min(wanted, left);
  }

  #showOne(): boolean {
    return this.#show(1) === 1;
  }

  #show(wanted: number): number {
    const left = Math.max(0, this.#limits.displayCountMax - this.#control.addDisplayed(wanted));
    return Math.min(wanted, left);
  }
}

/** The digest of a search's results: that of the batches of workers, and of the results that the main thread sends. */
class SearchDigest {
  /** Undefined before the first digest is added. */
  #sum: ResultDigest | undefined;
  /** Matches in the sum, whose own count has 32 bits. */
  matchCount = 0;
  readonly #isWanted: boolean;

  constructor(isWanted: boolean) {
    this.#isWanted = isWanted;
  }

  get sum(): ResultDigest {
    return (this.#sum ??= emptyDigest());
  }

  addBatch(digest: ResultDigest | undefined): void {
    if (digest === undefined) return;
    addDigest(this.sum, digest);
    this.matchCount += digest[4];
  }

  /** Adds a commit or a diff, with the number of its matches that are sent. */
  addCommit(repository: string, kind: "commit" | "diff", oid: string, matchCount: number): void {
    this.#addOne(repositoryKey(repository, oid), digestKinds[kind], matchCount, 0);
  }

  addFound({ kind, key, repository }: FoundResult, json: string): void {
    if (kind === "owner") this.#add("", `${digestKinds.owner}${json}`);
    // Without the id of the repository, with which the key begins.
    else this.#add(repository, `${digestKinds[kind]}${key.slice(key.indexOf("@") + 1)}`);
  }

  #add(repository: string, text: string): void {
    this.#addOne(repositoryKey(repository, ""), text, noPosition, noPosition);
  }

  #addOne(key: Buffer, text: string, a: number, b: number): void {
    if (!this.#isWanted) return;
    addToDigest(this.sum, key, Buffer.from(text), a, b);
    this.matchCount++;
  }
}

/** Interval between two flushes of accumulated matches. */
const flushMs = 200;

/** A progress event is sent at least this often, which also shows proxies that the stream is alive. */
const keepaliveMs = 5_000;

/** Matches are sent immediately when this many bytes have accumulated. */
const gatheredBytesMax = 32 * 1024;

/** State that changes while a search runs. */
export interface StreamState {
  filters(final: boolean): readonly Filter[];
  progress(done: boolean): Progress;
}

/**
 * Passes a search's results to its listener in the order and at the pace that clients expect: the first results
 * immediately, preceded by filters; then every 200 ms what has accumulated; the progress when something has changed, and
 * every 5 s in any case. `finish` passes the rest in its fixed order.
 */
export class EventStream implements ClientPace {
  readonly creditBytes = creditBytes;
  readonly #listener: SearchListener;
  readonly #state: StreamState;
  readonly #timers: PendingCall[];
  #gathered: JsonElements[] = [];
  #gatheredBytes = 0;
  #sentFilters: readonly Filter[] | undefined;
  #sentProgress: Progress | undefined;
  /** When the first matches were passed on, on the clock of `performance.now()`; undefined if none were. */
  firstMatchesMs: number | undefined;

  constructor(listener: SearchListener, state: StreamState) {
    this.#listener = listener;
    this.#state = state;
    this.#timers = [callEvery(flushMs, () => this.#tick()), callEvery(keepaliveMs, () => this.#sendProgress(true))];
    listener.onClosed(() => this.#stopTimers());
  }

  get unreadBytes(): number {
    return this.#gatheredBytes + this.#listener.pendingBytes;
  }

  get pendingBytes(): number {
    return this.#listener.pendingBytes;
  }

  addMatches(elements: JsonElements): void {
    this.#gathered.push(elements);
    this.#gatheredBytes += countBytes([elements]);
    if (this.firstMatchesMs === undefined) this.#sendFilters(false);
    if (this.firstMatchesMs === undefined || this.#gatheredBytes >= gatheredBytesMax) this.#sendMatches();
  }

  finish(groups: ResultGroups | undefined, alert: Alert | undefined, error: string | undefined): void {
    this.#stopTimers();
    this.#sendFilters(true);
    this.#sendMatches();
    if (groups !== undefined) this.#listener.groups(groups);
    this.#listener.progress(this.#state.progress(true));
    if (alert !== undefined) this.#listener.alert(alert);
    if (error !== undefined) this.#listener.error(error);
    this.#listener.done();
  }

  #tick(): void {
    // A client that does not read gets no further statistics: they would only accumulate in memory.
    if (this.#listener.pendingBytes > 0) return;
    if (this.firstMatchesMs !== undefined) this.#sendFilters(false);
    this.#sendMatches();
    this.#sendProgress(false);
  }

  #sendMatches(): void {
    if (this.#gathered.length === 0) return;
    const parts = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#listener.matches(parts);
    this.firstMatchesMs ??= performance.now();
  }

  #sendFilters(final: boolean): void {
    const wanted = this.#listener.filterEvents;
    if (wanted === "none" || (wanted === "last" && !final)) return;
    const filters = this.#state.filters(final);
    if (filters.length === 0) return;
    if (!final && isDeepStrictEqual(filters, this.#sentFilters)) return;
    this.#sentFilters = filters;
    this.#listener.filters(filters);
  }

  #sendProgress(always: boolean): void {
    if (this.#listener.pendingBytes > 0) return;
    const progress = this.#state.progress(false);
    const { durationMs } = progress;
    const isKnown = this.#sentProgress && isDeepStrictEqual(progress, { ...this.#sentProgress, durationMs });
    if (!always && isKnown === true) return;
    this.#sentProgress = progress;
    this.#listener.progress(progress);
  }

  #stopTimers(): void {
    for (const timer of this.#timers) timer.cancel();
  }
}

const dayMs = 86_400_000;

/** Limits of the first ages in a `HistoryTally`. */
const agesMs = [dayMs, 7 * dayMs, 30 * dayMs];

/** Counts a result for the filters. */
function countCommit(tally: HistoryTally, found: FoundCommit, matchCount: number, nowMs: number): void {
  if (found.kind === "commit") tally.commitMatches += matchCount;
  else tally.diffMatches += matchCount;
  const author = tally.authors.get(found.authorEmail);
  if (author === undefined) tally.authors.set(found.authorEmail, { name: found.authorName, count: 1 });
  else author.count++;
  const age = agesMs.findIndex((limit) => nowMs - found.committed * 1000 < limit);
  tally.ages[age < 0 ? agesMs.length : age]++;
}
