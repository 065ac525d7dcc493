import { deserializeError, TrawlError } from "../../base/errors.js";
import { oneLine } from "../../base/text.js";
import type { Repository } from "../../model/repository.js";
import type { SyncOutcome } from "../../protocol/ingest-messages.js";
import type { HistoryIndexing } from "../housekeeping/history-indexing.js";
import type { MirrorMaintenance } from "../housekeeping/mirror-maintenance.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import { reportStoreLoss, type SyncServices } from "../services/sync-settings.js";

/** Maximum length of a repository's error. */
const errorCharsMax = 1_000;

/** After a failed sync, the retry waits at least this long, and twice as long after each further failure. */
const retryMsMin = 10_000;

type DoneOutcome = Extract<SyncOutcome, { kind: "changed" | "unchanged" }>;
type ChangedOutcome = Extract<SyncOutcome, { kind: "changed" }>;

/** Handles the end of a sync: notifies waiting callers, records the result, and schedules the next sync. */
export class SyncOutcomes {
  readonly #services: SyncServices;
  readonly #queue: SyncQueue;
  readonly #maintenance: MirrorMaintenance;
  readonly #history: Pick<HistoryIndexing, "enqueue" | "forgetBroken">;
  /** Repositories whose running task fetches everything again. */
  readonly #recreating = new Set<number>();
  /**
   * Repositories that were fetched again because objects were missing from their mirrors: once in the lifetime of the
   * process.
   */
  readonly #refetched = new Set<number>();
  /** By repository, if objects were missing when it was indexed: the mirror that was indexed, and how many were missing. */
  readonly #indexedMirrors = new Map<number, { readonly mirror: string; readonly missing: number }>();
  /** The warnings of each repository that are in the log. */
  readonly #loggedWarnings = new Map<number, readonly string[]>();

  constructor(
    services: SyncServices,
    queue: SyncQueue,
    maintenance: MirrorMaintenance,
    history: Pick<HistoryIndexing, "enqueue" | "forgetBroken">,
  ) {
    this.#services = services;
    this.#queue = queue;
    this.#maintenance = maintenance;
    this.#history = history;
  }

  /** A task starts to fetch everything of the repository again. If it does not complete that, the next one does so. */
  recordRecreation(id: number): void {
    this.#recreating.add(id);
  }

  #recreateNext(id: number): void {
    if (this.#recreating.delete(id)) this.#queue.schedule(id).recreate = true;
  }

  settle(outcome: SyncOutcome, startedMs: number): void {
    const id = outcome.repositoryId;
    const repository = this.#services.catalog.repository(id);
    if (repository === undefined) return;
    if (outcome.kind === "failed") {
      if (outcome.limited !== undefined) this.#queue.waits.begin(outcome.limited);
      return this.recordFailure(id, deserializeError(outcome.error));
    }
    if (outcome.kind === "deferred") {
      this.#recreateNext(id);
      return this.#queue.defer(id);
    }
    if (outcome.kind === "lacking") {
      this.#refetch(repository, repository.skippedCounts["missing"]);
      return this.#queue.tryAgain(id, false);
    }
    this.#settleSuccess(repository, outcome, startedMs);
  }

  #settleSuccess(repository: Repository, outcome: DoneOutcome, startedMs: number): void {
    const { catalog, metrics } = this.#services;
    const { id } = repository;
    const schedule = this.#queue.schedule(id);
    this.#queue.recordSuccess(id);
    this.#queue.waits.recordAnswer(repository);
    const isRecreated = this.#recreating.delete(id);
    const result = outcome.kind === "changed" ? "indexed" : "unchanged";
    this.#logWarnings(repository, outcome.warnings);
    if (outcome.kind === "unchanged") catalog.recordFetched(id, outcome.fetched, outcome.warnings);
    if (outcome.kind === "changed" && outcome.replaces) schedule.rebuild = false;
    if (outcome.kind === "changed") this.#maintenance.recordGrowth(id);
    const hasMore = outcome.kind === "changed" && this.#recordMirror(outcome);
    if (isRecreated || hasMore) this.#history.forgetBroken(id);
    this.#history.enqueue(id);
    schedule.quietCount = outcome.kind === "changed" ? 0 : schedule.quietCount + 1;
    metrics.syncs.inc({ outcome: result });
    metrics.syncSeconds.observe((performance.now() - startedMs) / 1000);
    if (outcome.kind === "changed") this.#recordIndexed(repository, outcome, startedMs);
    schedule.resolveAttending(result);
    if (outcome.kind === "changed" && outcome.lacksObjects && this.mayRefetch(id)) {
      this.#refetch(repository, repository.skippedCounts["missing"]);
      return this.#queue.enqueue(id, true);
    }
    this.#queue.enqueueAfter(repository, this.#intervalMs(repository, schedule.quietCount));
  }

  /** Returns whether fewer objects are missing than before. */
  #recordMirror({ repositoryId: id, mirror, skippedCounts }: ChangedOutcome): boolean {
    const before = this.#indexedMirrors.get(id);
    const missing = skippedCounts["missing"] ?? 0;
    if (missing > 0) this.#indexedMirrors.set(id, { mirror, missing });
    else this.#indexedMirrors.delete(id);
    return before !== undefined && missing < before.missing;
  }

  /** See `SyncInput.indexedMirror`. */
  indexedMirror(id: number): string {
    return this.#indexedMirrors.get(id)?.mirror ?? "";
  }

  /** Logs those that the last sync of this process has not found. */
  #logWarnings({ id, name }: Repository, warnings: readonly string[]): void {
    const logged = this.#loggedWarnings.get(id) ?? [];
    for (const warning of warnings)
      if (!logged.includes(warning)) this.#services.log.warn({ repository: name }, oneLine(warning, errorCharsMax));
    if (warnings.length === 0) this.#loggedWarnings.delete(id);
    else this.#loggedWarnings.set(id, warnings);
  }

  #recordIndexed(repository: Repository, { reads, replaces }: ChangedOutcome, startedMs: number): void {
    const { log, metrics } = this.#services;
    metrics.syncReadBlobs.inc(reads.blobCount);
    metrics.syncReadBytes.inc(reads.byteCount);
    log.info(
      {
        repository: repository.name,
        documents: repository.documentCount,
        contentBytes: repository.contentBytes,
        whole: replaces,
        blobsRead: reads.blobCount,
        ms: Math.round(performance.now() - startedMs),
      },
      "indexed",
    );
  }

  /** Commits of its history could not be read completely: what is missing may come from the remote. */
  recordBrokenHistory(repository: Repository, brokenCount: number): void {
    if (!this.mayRefetch(repository.id)) return;
    this.#refetch(repository, brokenCount);
    this.#queue.enqueue(repository.id, true);
  }

  /** Whether everything of it may be fetched again because objects are missing from its mirror. */
  mayRefetch(id: number): boolean {
    return !this.#refetched.has(id);
  }

  /**
   * The searchable state is kept, together with what could be read of the mirror; the rest may come from the remote.
   */
  #refetch(repository: Repository, missing: number | undefined): void {
    this.#services.log.warn(
      { repository: repository.name, missing },
      "objects are missing from its mirror: everything is fetched again",
    );
    this.#refetched.add(repository.id);
    const schedule = this.#queue.schedule(repository.id);
    schedule.recreate = true;
    schedule.rebuild = true;
  }

  recordFailure(id: number, failure: TrawlError): void {
    const { catalog, settings, log, metrics } = this.#services;
    // git's messages have several lines, and may contain characters that must not be sent to a terminal.
    const error = new TrawlError(failure.code, oneLine(failure.message, errorCharsMax));
    const repository = catalog.repository(id);
    if (repository === undefined) return;
    const schedule = this.#queue.schedule(id);
    schedule.quietCount++;
    this.#recreateNext(id);
    metrics.syncs.inc({ outcome: "failed" });
    // That another node changes the index now is nothing that is wrong with the repository, and nobody here would take it back.
    const isOwn = error.code !== "cancelled" && error.code !== "conflict";
    if (isOwn) log.warn({ repository: repository.name, code: error.code }, error.message);
    if (isOwn) catalog.recordFailed(id, error.message);
    reportStoreLoss(settings, error);
    schedule.rejectAttending(error);
    const delayMs = Math.min(settings.intervalMsMax, retryMsMin * 2 ** Math.min(schedule.quietCount - 1, 20));
    this.#queue.enqueueAfter(repository, delayMs);
  }

  /** Doubles after each sync without changes, unless the interval is fixed. */
  #intervalMs(repository: Repository, quietCount: number): number {
    const { source } = repository;
    if (source?.workingCopySeconds !== undefined) return source.workingCopySeconds * 1000;
    if (repository.intervalSeconds > 0) return repository.intervalSeconds * 1000;
    const { intervalMsMin, intervalMsMax } = this.#services.settings;
    return Math.min(intervalMsMax, intervalMsMin * 2 ** Math.min(Math.max(0, quietCount - 1), 20));
  }
}
