import { resultAtOnce } from "../../base/yielding.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { ResultBatch, SelectedResult } from "../../protocol/result-batch.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { takeMatches } from "../../protocol/result-limits.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { FoundCommit } from "../../protocol/history-messages.js";
import { addTally, emptyHistoryTally, emptyTally, increase } from "../../protocol/tally.js";
import { cutCommitMatch } from "../../protocol/cut-commit-match.js";
import { countCommit } from "../history/commit-results.js";
import type { EventStream } from "./event-stream.js";
import { NameHighlighter, repositoryMatch } from "../repositories/name-highlighter.js";
import type { SearchLimits } from "../search-limits.js";

/** The results of one search, from workers and from the main thread, which are counted against its limits and sent. */
export class SearchResults {
  readonly tally = emptyTally();
  /** Ids of the repositories that have a result. */
  readonly repositoryIds = new Set<number>();
  readonly history = emptyHistoryTally();
  /** Number of results that are repositories. */
  repositoryCount = 0;

  readonly #plan: SearchPlan;
  readonly #limits: SearchLimits;
  readonly #control: ControlBlock;
  readonly #repositories: () => RepositoryTable;
  readonly #stream: EventStream;
  /** Keys of the results that the main thread has counted, for the search and by result options. */
  readonly #seen = new Set<string>();
  readonly #seenByOptions = new Map<number, Set<string>>();
  /** Created for the first repository result. */
  #highlighter: NameHighlighter | undefined;

  /** `repositories` returns all repositories that exist for this search. */
  constructor(
    plan: SearchPlan,
    limits: SearchLimits,
    control: ControlBlock,
    repositories: () => RepositoryTable,
    stream: EventStream,
  ) {
    this.#plan = plan;
    this.#limits = limits;
    this.#control = control;
    this.#repositories = repositories;
    this.#stream = stream;
  }

  get matchCount(): number {
    return Math.min(this.#control.matchCount, this.#limits.matchCountMax);
  }

  /** True if a match was omitted because of the limit. */
  get isLimitHit(): boolean {
    return this.#control.isLimitHit;
  }

  /** Adds results found by a worker, which has counted them, except those that several workers may find. */
  addBatch(batch: ResultBatch, release: () => void): void {
    addTally(this.tally, batch.tally);
    for (const key of batch.tally.repositories.keys()) this.repositoryIds.add(Number(key.slice(0, key.indexOf("@"))));
    if (batch.bytes.length > 0) this.#stream.addMatches({ bytes: batch.bytes, release: release });
    for (const result of batch.selected) {
      if (result.kind === "repository") this.addRepository(result.repositoryId, result.revision, result.optionsIndex);
      else if (this.#countNew(result.key, result.optionsIndex)) this.#addSelected(result);
    }
  }

  #addSelected({ repositoryId, revision, kind, json }: SelectedResult): void {
    this.repositoryIds.add(repositoryId);
    if (kind === "directory") {
      this.tally.pathMatches++;
      increase(this.tally.repositories, `${repositoryId}@${revision}`, 1);
    }
    if (this.#showOne()) this.#stream.addMatches(Buffer.from(json));
  }

  /** Prepares, in steps, what the first repository result needs. */
  *prepareRepositories(): Generator<undefined, void> {
    this.#highlighter ??= yield* NameHighlighter.make(this.#plan);
  }

  /**
   * Adds a commit or a diff, unless it is one already. Returns false if no further result of the same options is
   * wanted.
   */
  addCommit(found: FoundCommit, repositoryId: number, nowMs: number): void {
    const key = `${repositoryId} ${found.kind} ${found.oid}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const wanted = this.#takeMatches(found);
    if (wanted === 0) return;
    const counted = this.#count(wanted);
    if (counted === 0) return;
    this.repositoryIds.add(repositoryId);
    increase(this.tally.repositories, `${repositoryId}@`, counted);
    countCommit(this.history, found, counted, nowMs);
    const shown = this.#show(counted);
    if (shown > 0) this.#stream.addMatches(cutCommitMatch(found, shown));
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

  /** Adds a repository as a result, unless it is one already. */
  addRepository(repositoryId: number, revision: string | undefined, optionsIndex: number): void {
    const repository = this.#repositories().byId(repositoryId);
    if (repository === undefined || !this.#countNew(`${repositoryId}@${revision ?? ""}`, optionsIndex)) return;
    this.repositoryCount++;
    this.repositoryIds.add(repositoryId);
    if (!this.#showOne()) return;
    this.#highlighter ??= resultAtOnce(NameHighlighter.make(this.#plan));
    this.#stream.addMatches(Buffer.from(repositoryMatch(repository, revision, this.#highlighter)));
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
