import { assert } from "../../base/assert.js";
import { callAfter, type PendingCall } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import type { Catalog } from "../../catalog/catalog.js";
import { type Repository, viewersKey } from "../../model/repository.js";
import { type OwnShare, wholeShare } from "../services/sync-settings.js";
import type { IndexTasks } from "./index-tasks.js";
import type { RepositoryLocks } from "./repository-locks.js";
import { Schedule, type SyncResult } from "./schedule.js";
import { rateWaitMsMax } from "../../base/rate-limit.js";
import { hostAndPort } from "../../git/run/remote-url.js";
import type { HostLimit, SyncInput } from "../../protocol/ingest-messages.js";

/** Maximum number of repositories synced by one task. */
const batchCountMax = 64;

/** Repositories that are waiting for a sync, now or later, and their order. */
export class SyncQueue {
  readonly #catalog: Catalog;
  readonly #tasks: IndexTasks;
  readonly #locks: RepositoryLocks;
  readonly #share: OwnShare;
  readonly #schedules = new Map<number, Schedule>();
  /** Repositories that are waiting for a task: those that a caller waits for, and the rest. */
  readonly #urgent = new Set<number>();
  readonly #queued = new Set<number>();
  /** Repositories that get a task of their own until one succeeds, because a thread was lost in their last one. */
  readonly #alone = new Set<number>();
  /** Repositories with slow remotes: they use reserved threads, so that no other repository waits for them. */
  readonly #slow = new Set<number>();

  /** Hosts whose repositories stay in the queue for some time. */
  readonly waits = new HostWaits(() => this.pump());

  constructor(catalog: Catalog, tasks: IndexTasks, locks: RepositoryLocks, share: OwnShare = wholeShare) {
    this.#share = share;
    this.#catalog = catalog;
    this.#tasks = tasks;
    this.#locks = locks;
  }

  /** Number of repositories that are waiting for their sync. */
  get waitingCount(): number {
    return this.#urgent.size + this.#queued.size;
  }

  schedule(id: number): Schedule {
    let schedule = this.#schedules.get(id);
    if (schedule === undefined) {
      schedule = new Schedule();
      this.#schedules.set(id, schedule);
    }
    return schedule;
  }

  /** Fetches and indexes now; resolves when the fetched state is searchable. */
  sync(id: number): Promise<SyncResult> {
    const { refusal } = this.#tasks;
    if (refusal !== undefined) return Promise.reject(refusal);
    const repository = this.#catalog.repository(id);
    if (repository !== undefined && !this.#share.has(id)) return Promise.reject(this.#share.refusal(id));
    if (repository?.removedAt !== "") return Promise.reject(wasRemoved());
    const reason = this.waits.reason(repository);
    if (reason !== undefined) {
      this.#addUrgent(id);
      return Promise.reject(new TrawlError("too-many-requests", `${reason}: the repository is synced then`));
    }
    const done = this.schedule(id).wait();
    this.#addUrgent(id);
    return done;
  }

  /**
   * Like `sync`, but returns immediately. Several requests before it starts result in one sync; a request while one is
   * running results in another, because the change may have come too late for the first.
   */
  request(id: number): void {
    if (this.#catalog.repository(id)?.removedAt !== "" || this.#tasks.isStopping) return;
    this.#addUrgent(id);
  }

  #addUrgent(id: number): void {
    this.schedule(id).isRequested = true;
    this.#urgent.add(id);
    this.#tasks.pump();
  }

  /** Caller guarantees: calls `pump` afterwards. */
  enqueue(id: number, rebuild: boolean): void {
    const schedule = this.schedule(id);
    schedule.timer?.cancel();
    schedule.rebuild ||= rebuild;
    this.#queued.add(id);
  }

  /** Like `enqueue`, unless a task of this process has taken the repository: then its next sync is scheduled already. */
  enqueueFirst(id: number, rebuild: boolean): void {
    if (rebuild || !this.schedule(id).wasTaken) this.enqueue(id, rebuild);
  }

  /** Starts what is queued, as far as there are free threads. */
  pump(): void {
    this.#tasks.pump();
  }

  enqueueAfter(repository: Repository, delayMs: number): void {
    if (repository.removedAt !== "" || this.#tasks.suspended !== undefined) return;
    const schedule = this.schedule(repository.id);
    schedule.timer?.cancel();
    schedule.timer = callAfter(delayMs, () => {
      this.enqueue(repository.id, false);
      this.#tasks.pump();
    });
  }

  /**
   * Waiting callers continue to wait. The repository is not released yet, so no task takes it before the current one
   * has ended.
   */
  tryAgain(id: number, isAlone: boolean): void {
    if (this.#catalog.repository(id)?.removedAt !== "") return;
    const schedule = this.schedule(id);
    const isOwn = this.#share.has(id);
    const refusal = this.#tasks.refusal ?? (isOwn ? undefined : this.#share.refusal(id));
    if (refusal !== undefined) {
      schedule.rejectAttending(refusal);
      if (this.#tasks.isPaused || !isOwn) this.#queued.add(id);
      return;
    }
    schedule.waitAgain();
    if (isAlone) this.#alone.add(id);
    if (schedule.hasWaiters) this.#urgent.add(id);
    else this.#queued.add(id);
  }

  /** A task was not completed: what was asked of it is asked of the next one. */
  askAgain({ repository: { id }, isRequested, acceptsLoss }: SyncInput): void {
    if (this.#catalog.repository(id)?.removedAt !== "") return;
    const schedule = this.schedule(id);
    schedule.isRequested ||= isRequested;
    schedule.acceptsLoss ||= acceptsLoss === "asked";
  }

  /** Its remote is slow: its sync continues on a thread reserved for slow remotes. */
  defer(id: number): void {
    this.#slow.add(id);
    this.tryAgain(id, true);
  }

  /** A task of the repository succeeded. */
  recordSuccess(id: number): void {
    this.#alone.delete(id);
    this.#slow.delete(id);
  }

  /** No more tasks of this repository are started. */
  remove(id: number): void {
    const schedule = this.schedule(id);
    schedule.timer?.cancel();
    rejectAll(schedule, wasRemoved());
    this.#schedules.delete(id);
    this.#alone.delete(id);
    this.#slow.delete(id);
    this.#urgent.delete(id);
    this.#queued.delete(id);
  }

  /**
   * The next repositories to sync: a repository that a caller waits for is alone; of the rest, those of one partition with the same
   * viewers are together, and the batch size leaves several batches for each worker.
   */
  takeBatch(workerCount: number): Repository[] {
    const urgent = this.#nextUrgent();
    if (urgent !== undefined) return this.#take([urgent]);
    const first = findFirst(this.#queued, (id) => this.#isFree(id));
    if (first === undefined) return [];
    if (this.#alone.has(first)) return this.#take([first]);
    // A task writes the texts of its repositories into the same shards.
    const group = this.#groupKey(first);
    const batchesMin = workerCount * 4;
    // More would not make the batch larger, and there may be thousands.
    const togetherMax = batchCountMax * batchesMin;
    const together: number[] = [];
    for (const id of this.#queued) {
      if (together.length === togetherMax) break;
      if (this.#isFree(id) && !this.#alone.has(id) && this.#groupKey(id) === group) together.push(id);
    }
    return this.#take(together.slice(0, Math.ceil(together.length / batchesMin)));
  }

  #isFree(id: number): boolean {
    return !this.#isKept(id) && !this.#slow.has(id);
  }

  #groupKey(id: number): string | undefined {
    const repository = this.#catalog.repository(id);
    return repository && `${this.#catalog.partitions.find(id)} ${viewersKey(repository)}`;
  }

  /** A waiting repository with a slow remote; undefined if there is none. */
  takeSlow(): Repository[] | undefined {
    const isWaiting = (id: number): boolean => this.#urgent.has(id) || this.#queued.has(id);
    const id = findFirst(this.#slow, (slow) => !this.#isKept(slow) && isWaiting(slow));
    return id === undefined ? undefined : this.#take([id]);
  }

  /** A repository that a caller waits for; undefined if there is none. */
  takeUrgent(): Repository[] | undefined {
    const id = this.#nextUrgent();
    return id === undefined ? undefined : this.#take([id]);
  }

  #nextUrgent(): number | undefined {
    return findFirst(this.#urgent, (id) => this.#isFree(id));
  }

  /** Whether it cannot be taken now: it is in a task, another node indexes it, or its host allows no requests. */
  #isKept(id: number): boolean {
    const repository = this.#catalog.repository(id);
    if (!this.#share.has(id)) return true;
    return this.#locks.isBusy(id) || (repository !== undefined && this.waits.reason(repository) !== undefined);
  }

  #take(ids: readonly number[]): Repository[] {
    for (const id of ids) {
      this.#urgent.delete(id);
      this.#queued.delete(id);
    }
    for (const id of ids) this.schedule(id).wasTaken = true;
    assert(new Set(ids).size === ids.length, "a task has each of its repositories once");
    const repositories = ids.flatMap((id) => this.#catalog.repository(id) ?? []);
    this.#locks.lock(repositories.map(({ id }) => id));
    return repositories;
  }

  /** No more tasks are started; callers that wait for one get the reason. */
  suspend(error: TrawlError): void {
    this.#endWaiting((schedule) => schedule.rejectWaiters(error));
  }

  /** Another node does it: callers that wait for a task get the reason. */
  rejectOthers(): void {
    for (const [id, schedule] of this.#schedules)
      if (!this.#share.has(id)) schedule.rejectWaiters(this.#share.refusal(id));
  }

  /** Rejects all waiting callers, including those of running tasks, because the daemon is stopping. */
  close(): void {
    // One for all: an error of its own for each of thousands of repositories, with a stack, takes longer than the rest of the stop.
    const error = new TrawlError("shutting-down", "the daemon is stopping");
    this.#endWaiting((schedule) => rejectAll(schedule, error));
  }

  #endWaiting(end: (schedule: Schedule) => void): void {
    this.waits.close();
    this.#urgent.clear();
    this.#queued.clear();
    for (const schedule of this.#schedules.values()) {
      schedule.timer?.cancel();
      end(schedule);
    }
  }
}

/** Iterates lazily, because there may be thousands of values, and usually one of the first is suitable. */
export function findFirst(values: Iterable<number>, isGood: (value: number) => boolean): number | undefined {
  for (const value of values) if (isGood(value)) return value;
  return undefined;
}

function rejectAll(schedule: Schedule, error: TrawlError): void {
  schedule.rejectWaiters(error);
  schedule.rejectAttending(error);
}

function wasRemoved(): TrawlError {
  return new TrawlError("not-found", "the repository was removed");
}

interface Wait {
  readonly untilMs: number;
  readonly timer: PendingCall;
}

/** A wait becomes longer by up to this share, so that hosts are not asked by everybody at once. */
const jitterShare = 0.1;

/** Hosts that allow no more requests for some time: none of their repositories is synced until then. */
class HostWaits {
  readonly #onEnd: () => void;
  readonly #waits = new Map<string, Wait>();
  /** How often each host has refused since it last answered. */
  readonly #refusals = new Map<string, number>();
  /** The hosts of repositories, because URLs are parsed slowly. */
  readonly #hosts = new Map<string, string | undefined>();

  /** `onEnd` is called at the end of each wait. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  /** The wait doubles with each refusal if the host has not said how long it is to be. */
  begin({ host, waitMs, isAsked }: HostLimit): void {
    assert(waitMs >= 0 && waitMs < Infinity, "a host is waited for as long as a number says");
    const nowMs = new Date().getTime();
    const known = this.#waits.get(host);
    // Requests that were sent before the host refused are refused, too.
    const count = (this.#refusals.get(host) ?? 0) + (known === undefined ? 1 : 0);
    this.#refusals.set(host, count);
    const wantedMs = isAsked ? waitMs : Math.min(rateWaitMsMax, waitMs * 2 ** Math.min(count - 1, 20));
    const delayMs = wantedMs * (1 + Math.random() * jitterShare);
    if (known !== undefined && known.untilMs >= nowMs + wantedMs) return;
    known?.timer.cancel();
    const timer = callAfter(delayMs, () => {
      this.#waits.delete(host);
      this.#onEnd();
    });
    this.#waits.set(host, { untilMs: nowMs + delayMs, timer });
  }

  /** The host of the repository has answered. */
  recordAnswer({ url }: Repository): void {
    if (this.#refusals.size > 0) this.#refusals.delete(this.#host(url) ?? "");
  }

  /** Why the repository waits; undefined if it does not. */
  reason({ url }: Repository): string | undefined {
    if (this.#waits.size === 0) {
      if (this.#hosts.size > 0) this.#hosts.clear();
      return undefined;
    }
    const host = this.#host(url);
    const wait = host === undefined ? undefined : this.#waits.get(host);
    return wait === undefined
      ? undefined
      : `${host} allows no more requests until ${new Date(wait.untilMs).toISOString().slice(0, 19)}Z`;
  }

  #host(url: string): string | undefined {
    if (!this.#hosts.has(url)) this.#hosts.set(url, hostAndPort(url));
    return this.#hosts.get(url);
  }

  close(): void {
    for (const { timer } of this.#waits.values()) timer.cancel();
    this.#waits.clear();
  }
}
