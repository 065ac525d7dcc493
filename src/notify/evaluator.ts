import type { SavedSearch } from "../account/settings/saved-searches.js";
import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import type { BaseRevisions } from "../model/match-change.js";
import { ownRequest, type SearchRequest } from "../model/search-request.js";
import type { Viewer } from "../model/viewer.js";
import { ChangeSummary, CommitSummary, type Summary } from "./summaries.js";
import { type ChangeJournal, commitsBefore, type JournalEntry } from "./change-journal.js";
import type { SearchEnd } from "../search/report/search-report.js";
import type { NotifyEnvironment } from "./notify-environment.js";
import { changedRepositoriesMax, noChanges, type StoredPayload } from "./payload.js";
import type { PositionStore, SearchPosition } from "./position-store.js";

/** A search that cannot be evaluated is tried this many times before its owner is told. */
const attemptsMax = 3;

export interface EvaluatorServices {
  readonly environment: NotifyEnvironment;
  readonly journal: ChangeJournal;
  readonly positions: PositionStore;
  /** The search with its notification; undefined if that is off. */
  readonly find: (searchId: number) => SavedSearch | undefined;
  /** As whom a search is evaluated; undefined if whoever turned it on may not do so any more. */
  readonly viewerOf: (search: SavedSearch) => Viewer | undefined;
  /** Whether the queue has room for a delivery of the search. */
  readonly hasRoom: (searchId: number) => boolean;
  /** Stores the payload with the position. */
  readonly enqueue: (search: SavedSearch, payload: StoredPayload, position: SearchPosition) => Promise<unknown>;
}

/** The entries of the journal that one evaluation covers. */
interface Work {
  readonly base: BaseRevisions;
  readonly repositoryIds: ReadonlySet<number>;
  /** By repository id. */
  readonly commits: ReadonlyMap<number, ReadonlyMap<string, string>>;
  readonly to: number;
}

/** The revisions that were searched, and the commits at which they were; "" if a revision does not exist. */
type Compared = readonly { readonly id: number; readonly revision: string; readonly commit: string }[];

/** The request that finds the changes of a saved search, apart from what they are compared with. */
export function searchRequest(
  { query, ownerId }: Pick<SavedSearch, "query" | "ownerId">,
  viewer: Viewer,
): SearchRequest {
  return ownRequest(query, viewer, `notification:${ownerId}`);
}

/**
 * Evaluates saved searches in rounds, one search at a time, in the lane of exhaustive searches, so that interactive
 * ones go first. A round begins some time after the first change, and covers all changes until then; the cost of a
 * search is that of the files that changed. A search whose deliveries wait is left out, and covers more later.
 */
export class Evaluator {
  readonly #services: EvaluatorServices;
  /** Failed attempts in succession. */
  readonly #failures = new Map<number, number>();
  /** The last error that the owner was told, until the search can be evaluated again. */
  readonly #told = new Map<number, string>();
  readonly #stop = new AbortController();
  #pending: PendingCall | undefined;
  #round: Promise<void> | undefined;
  #isAgain = false;
  #isOpen = false;

  constructor(services: EvaluatorServices) {
    this.#services = services;
  }

  start(): void {
    this.#isOpen = true;
    this.schedule();
  }

  async stop(): Promise<void> {
    this.#isOpen = false;
    this.#pending?.cancel();
    this.#stop.abort();
    await this.#round;
  }

  /** Must be called when there is something to evaluate. */
  schedule(): void {
    if (!this.#isOpen || this.#pending !== undefined) return;
    if (this.#round !== undefined) {
      this.#isAgain = true;
      return;
    }
    this.#pending = callAfter(this.#services.environment.limits.intervalMs, () => {
      this.#pending = undefined;
      this.#round = this.#evaluateAll().finally(() => {
        this.#round = undefined;
        if (this.#isAgain) this.schedule();
        this.#isAgain = false;
      });
    });
  }

  /** Never rejects. */
  async #evaluateAll(): Promise<void> {
    const { environment, journal, positions, hasRoom, find } = this.#services;
    let failedCount = 0;
    for (const id of [...environment.accounts.savedSearches.notifying]) {
      if (!this.#isOpen) return;
      const search = find(id);
      if (search === undefined || !hasRoom(id)) continue;
      try {
        await this.#evaluate(search);
      } catch (error) {
        this.#isAgain = true;
        if (failedCount++ === 0)
          environment.log.warn({ search: id, error: errorMessage(error) }, "a saved search could not be evaluated");
      }
    }
    const ids = environment.accounts.savedSearches.notifying;
    await positions.store(ids, journal, find).catch((error: unknown) => {
      environment.log.warn({ error: errorMessage(error) }, "the positions of saved searches could not be stored");
    });
  }

  async #evaluate(search: SavedSearch): Promise<void> {
    const { environment, positions, journal, viewerOf, enqueue } = this.#services;
    const position = positions.of(search);
    if (journal.isIncompleteAfter(position.number)) {
      const error = "too many repositories changed before the search could be evaluated: search again";
      await enqueue(search, failure(error), { ...position, number: journal.position, ahead: [] });
      return;
    }
    const work = this.#workAfter(position);
    if (work.to === position.number) return;
    const viewer = viewerOf(search);
    // Nothing is missed by others: whoever turns it on again begins at that moment.
    if (viewer === undefined) return positions.set(search, { ...position, number: work.to, ahead: [] });
    const { summary, compared } = await this.#search(search, work, viewer, position);
    if (!this.#isOpen) return;
    environment.metrics.notificationEvaluations.inc({ outcome: compared === undefined ? "failed" : "good" });
    if (compared === undefined) return this.#fail(search, position, work, summary.failure);
    this.#failures.delete(search.id);
    this.#told.delete(search.id);
    const next: SearchPosition = {
      key: position.key,
      number: work.to,
      ahead: this.#ahead(work, compared),
      ...summary.kept,
    };
    const payload = toPayload(summary);
    if (payload === undefined) positions.set(search, next);
    else await enqueue(search, payload, next);
  }

  #workAfter(position: SearchPosition): Work {
    const { journal, environment } = this.#services;
    const to = journal.position;
    const ahead = new Map(position.ahead.map(([id, commits]) => [id, new Map(commits)]));
    const base = new Map<string, ReadonlyMap<string, string>>();
    const commits = new Map<number, ReadonlyMap<string, string>>();
    for (const entry of journal.after(position.number)) {
      const { repositoryId: id } = entry;
      const repository = commits.has(id) ? undefined : environment.repository(id);
      if (repository === undefined) continue;
      const before = ahead.get(id) ?? commitsBefore(entry);
      commits.set(id, before);
      base.set(repository.name, before);
    }
    return { base, repositoryIds: new Set(commits.keys()), commits, to };
  }

  /** `compared` is undefined if the search failed. */
  async #search(
    search: SavedSearch,
    work: Work,
    viewer: Viewer,
    position: SearchPosition,
  ): Promise<{ readonly summary: Summary; readonly compared: Compared | undefined }> {
    const request = searchRequest(search, viewer);
    const kind = await this.#services.environment.searcher.watchedKind(request).catch((error: unknown) => error);
    if (kind instanceof Error) {
      const summary = new ChangeSummary();
      summary.error(kind.message);
      return { summary, compared: undefined };
    }
    const summary = kind === "commits" ? new CommitSummary(position.told ?? []) : new ChangeSummary();
    const end = (): void => summary.end();
    this.#stop.signal.addEventListener("abort", end);
    try {
      const compared =
        summary instanceof CommitSummary
          ? await this.#searchCommits(request, work, summary)
          : await this.#searchFiles(request, work, summary);
      return { summary, compared };
    } finally {
      this.#stop.signal.removeEventListener("abort", end);
    }
  }

  async #searchFiles(
    request: SearchRequest,
    { base, repositoryIds }: Work,
    summary: ChangeSummary,
  ): Promise<Compared | undefined> {
    const { searcher, limits } = this.#services.environment;
    const scope = { repositoryIds, timeoutMs: limits.timeoutMs, onlyIndexedRevisions: true };
    const { changes: found } = await searcher.sendChanges({ ...request, scope, since: base }, summary, "changes");
    return found?.changes.map(({ repository, revision, commit = "" }) => ({ id: repository.id, revision, commit }));
  }

  /** Searches for the commits that the revisions reach now, and did not reach at the commits of the journal. */
  async #searchCommits(
    request: SearchRequest,
    { repositoryIds, commits }: Work,
    summary: CommitSummary,
  ): Promise<Compared | undefined> {
    const { searcher, limits, repository } = this.#services.environment;
    const scope = { repositoryIds, timeoutMs: limits.timeoutMs, onlyIndexedRevisions: true, historyBase: commits };
    let found: SearchEnd | undefined;
    const ended = new Promise<void>((resolve) => summary.onClosed(resolve));
    searcher.run({ ...request, scope }, summary, (end) => {
      found = end;
    });
    await ended;
    if (found === undefined) return undefined;
    summary.judge(found, commits);
    if (summary.isUnknown || found.receipt === undefined) return undefined;
    const revisions = found.receipt.revisions();
    return [...repositoryIds].flatMap((id) => {
      const searched = revisions.get(repository(id)?.name ?? "") ?? [];
      return [...searched].map(([revision, commit]) => ({ id, revision, commit }));
    });
  }

  /**
   * The commits that were compared, of repositories that have changed again meanwhile: the search may have seen that
   * change already, or not.
   */
  #ahead({ commits, to }: Work, revisions: Compared): SearchPosition["ahead"] {
    const later = new Set(this.#services.journal.after(to).map(({ repositoryId }: JournalEntry) => repositoryId));
    return [...commits].flatMap(([id, before]) => {
      if (!later.has(id)) return [];
      const compared = new Map(before);
      for (const { id: comparedId, revision, commit } of revisions) {
        if (comparedId !== id) continue;
        if (commit === "") compared.delete(revision);
        else compared.set(revision, commit);
      }
      return [[id, [...compared]] as const];
    });
  }

  async #fail(search: SavedSearch, position: SearchPosition, { to }: Work, error: string): Promise<void> {
    const count = (this.#failures.get(search.id) ?? 0) + 1;
    this.#failures.set(search.id, count);
    if (count < attemptsMax) {
      this.#isAgain = true;
      return;
    }
    this.#failures.delete(search.id);
    const next = { ...position, number: to, ahead: [] };
    const message = error || "the search ended early";
    if (this.#told.get(search.id) === message) return this.#services.positions.set(search, next);
    await this.#services.enqueue(search, failure(message), next);
    this.#told.set(search.id, message);
  }
}

function failure(error: string): StoredPayload {
  return { event: "search.failed", repositories: [], matches: [], error };
}

/** Undefined if nothing that matches has changed. */
function toPayload(summary: Summary): StoredPayload | undefined {
  const { counts, receipt, failure: error } = summary;
  if (error !== "" && counts.size === 0) return failure(error);
  if (counts.size === 0) return undefined;
  if (counts.size > changedRepositoriesMax)
    return failure(
      `the results changed in ${counts.size} repositories, which is more than can be listed: search again`,
    );
  const repositories = [...counts].map(([id, changes]) => ({ id, ...noChanges, ...changes }));
  const said = error === "" ? {} : { error };
  if (receipt === undefined) return { ...summary.found, repositories, ...said };
  const { generation, complete, documentsSearched } = receipt;
  return { ...summary.found, repositories, receipt: { generation, complete, documentsSearched }, ...said };
}
