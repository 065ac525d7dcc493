import { callAfter, callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { RateLimitError } from "../../base/rate-limit.js";
import { eachInSteps, sortInSteps } from "../../base/yielding.js";
import type { RepositoryConfig } from "../../model/repository.js";
import { apiKinds } from "../api-kinds.js";
import type { ApiConnection } from "../connection.js";
import { HostError } from "../host-request.js";
import { type HostToken, PageReader } from "../page-reader.js";
import { DueQueue } from "./due-queue.js";
import { isSame, type ReaderList, ReaderLists } from "./reader-lists.js";
import { type HostUser, readerSources } from "./reader-sources.js";
import { StoredReaders } from "./stored-readers.js";

/** What is known about the readers of a repository, for people. */
export interface PermissionState {
  /** RFC 3339: when the host was last asked; "" if it never was. */
  readonly askedAt: string;
  /** Whether only site admins may read it, because the host could not be asked for too long. */
  readonly isClosed: boolean;
  /** Why the host could not be asked the last time; "" if it could. */
  readonly error: string;
}

/** The state of the permissions of a connection, for people. */
export interface PermissionSummary {
  /** Private repositories. */
  readonly repositoryCount: number;
  /** Those which only site admins may read, because the host could not be asked for too long. */
  readonly closedCount: number;
  /** Why one of the others, or of these, could not be asked; "" if all could. */
  readonly error: string;
}

export interface PermissionServices {
  /** Where they are stored. */
  readonly folder: string;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "hostPermissionReads">;
  /** With which the host is asked about a repository, by its name there. */
  readonly tokenFor: (repository: string) => Promise<HostToken>;
  /** The name here of the user whom an identity provider knows by a number of its own; undefined if there is none. */
  readonly findLinked: (provider: string, subject: string) => string | undefined;
  /**
   * Makes these the readers in the catalog, where it has others. Resolves with the names of the repositories to which not
   * all of them were added yet; those that are not among the readers have been removed.
   */
  readonly applyReaders: (connection: string, repositories: readonly RepositoryConfig[]) => Promise<readonly string[]>;
}

/** A host is asked for so many repositories at once. */
const parallelMax = 4;
/** The readers of one repository are read within this time. */
const readMsMax = 300_000;
/** More people than any host lists for one repository. */
const hostUsersMax = 50_000;
/** As in the GraphQL interface. */
const readerCountMax = 10_000;
/** After so many failures one after another, the host is left alone for some time. */
const failuresMax = 5;
const tickMsMax = 5_000;
const saveMs = 60_000;
/** Between two times that all names are looked up again, however many accounts are linked meanwhile. */
const lookUpPauseMs = 2_000;
const retryMsMax = 300_000;
/** A date further in the future is from a clock that was wrong. */
const clockMsMax = 60_000;

const nobody: readonly string[] = [];

/** The last answer about a repository. */
interface Known {
  readonly list: ReaderList;
  readonly askedAtMs: number;
}

interface Asking {
  isAsking: boolean;
  /** Whether it is to be asked again, because it was requested while it was being asked: that answer may be older. */
  isRequested: boolean;
  /** How often one after another the host has said that there is no such repository, or that its readers are not told. */
  refusalCount: number;
  error: string;
}

/**
 * Asks a code host who may read the private repositories of a connection, and makes those of its answer who have an account here
 * their readers.
 *
 * Each repository is asked for after a third of `permissionsSeconds`. An answer counts for `permissionsSeconds`: then nobody but site
 * admins reads the repository until the host answers again. That holds whatever the reason is, also across a restart, and for a
 * repository that was never asked for. An answer that could be read only in part is none.
 *
 * The repository that has been due for the longest time is the first, so that none waits for others for ever. After several failures
 * one after another, the host is left alone for some time. A repository that it refuses is no such failure: it is asked for again
 * after longer and longer times.
 */
export class HostPermissions {
  readonly #config: ApiConnection;
  readonly #services: PermissionServices;
  readonly #store: StoredReaders;
  readonly #ageMsMax: number;
  readonly #stop = new AbortController();
  /** The private repositories of the connection, by key. */
  #repositories: ReadonlyMap<string, RepositoryConfig> = new Map();
  readonly #known = new Map<string, Known>();
  readonly #asking = new Map<string, Asking>();
  /** Those that are not being asked for, by the time on the monotonic clock when they are to be. */
  readonly #waiting = new DueQueue();
  /** The readers that were last applied. */
  readonly #applied = new Map<string, readonly string[]>();
  /** The repositories whose readers may differ from those. */
  readonly #toApply = new Set<string>();
  readonly #lists = new ReaderLists((users) => this.#findNames(users));
  /** The users here by the names on the host in lower case. */
  readonly #userNames: ReadonlyMap<string, string | null>;
  #timer: PendingCall | undefined;
  #pausedUntilMs = 0;
  #pauseReason = "";
  #failureCount = 0;
  #runningCount = 0;
  #savedMs = monotonicMs();
  #isChanged = false;
  /** Settles when the last changes have been applied. */
  #applying: Promise<unknown> | undefined;
  /** Settles when all names have been looked up again. */
  #lookingUp: Promise<void> | undefined;
  #lookUpCall: PendingCall | undefined;
  #lookedUpMs = Number.NEGATIVE_INFINITY;

  constructor(config: ApiConnection, services: PermissionServices) {
    this.#config = config;
    this.#services = services;
    this.#ageMsMax = config.permissionsSeconds * 1000;
    this.#userNames = new Map(Object.entries(config.userNames).map(([name, here]) => [name.toLowerCase(), here]));
    this.#store = new StoredReaders(services.folder, config.name, config.url);
  }

  /** Reads what was stored. */
  async load(): Promise<void> {
    for (const [key, { users, askedAtMs }] of await this.#store.read())
      this.#known.set(key, { list: await this.#lists.take(users), askedAtMs });
  }

  /** The repositories of the connection, with the readers that count now. */
  withReaders(repositories: readonly RepositoryConfig[]): readonly RepositoryConfig[] {
    return repositories.map((one) => (one.private ? { ...one, readers: this.#readers(keyFor(one)) } : one));
  }

  /** Replaces the repositories that are asked for. */
  setRepositories(repositories: readonly RepositoryConfig[]): void {
    this.#repositories = new Map(repositories.filter((one) => one.private).map((one) => [keyFor(one), one]));
    for (const [key, { list }] of this.#known) if (!this.#repositories.has(key)) this.#lists.release(list);
    for (const map of [this.#known, this.#asking, this.#applied])
      for (const key of map.keys()) if (!this.#repositories.has(key)) map.delete(key);
    for (const key of this.#waiting.keys()) if (!this.#repositories.has(key)) this.#waiting.delete(key);
    for (const key of this.#repositories.keys()) {
      if (this.#asking.has(key)) continue;
      this.#asking.set(key, { isAsking: false, isRequested: false, refusalCount: 0, error: "" });
      this.#waiting.set(key, this.#firstMs(key));
      this.#toApply.add(key);
    }
    if (this.#timer !== undefined) this.#tick();
  }

  start(): void {
    if (this.#timer !== undefined || this.#stop.signal.aborted) return;
    this.#timer = callEvery(Math.min(tickMsMax, this.#ageMsMax / 10), () => {
      this.#findExpired();
      this.#tick();
    });
    this.#tick();
  }

  /** Asks for all repositories soon. */
  request(): void {
    this.#pausedUntilMs = 0;
    for (const [key, asking] of this.#asking) {
      asking.isRequested = asking.isAsking;
      if (!asking.isAsking) this.#waiting.set(key, this.#atOnceMs(key));
    }
    if (this.#timer !== undefined) this.#tick();
  }

  /** Looks again who has an account here: somebody has linked or unlinked one. It is in force within a few seconds. */
  remap(): void {
    this.#lists.expire();
    this.#lookUpSoon();
  }

  /** Makes these readers those of the catalog, whatever it has. */
  async applyAll(): Promise<void> {
    while (this.#applying !== undefined) await this.#applying;
    this.#applied.clear();
    for (const key of this.#repositories.keys()) this.#toApply.add(key);
    this.#apply();
    while (this.#applying !== undefined) await this.#applying;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    this.#lookUpCall?.cancel();
    await this.#lookingUp;
    while (this.#applying !== undefined) await this.#applying;
    await this.#save();
  }

  state({ name, url }: Pick<RepositoryConfig, "name" | "url">): PermissionState | undefined {
    const key = keyFor({ name, url });
    if (!this.#repositories.has(key)) return undefined;
    const known = this.#known.get(key);
    return {
      askedAt: known === undefined ? "" : new Date(known.askedAtMs).toISOString(),
      isClosed: !this.#counts(known),
      error: this.#asking.get(key)?.error ?? "",
    };
  }

  summary(): PermissionSummary {
    let closedCount = 0;
    let error = monotonicMs() < this.#pausedUntilMs ? this.#pauseReason : "";
    for (const key of this.#repositories.keys()) {
      if (!this.#counts(this.#known.get(key))) closedCount++;
      error ||= this.#asking.get(key)?.error ?? "";
    }
    return { repositoryCount: this.#repositories.size, closedCount, error };
  }

  #counts(known: Known | undefined, nowMs = new Date().getTime()): known is Known {
    if (known === undefined) return false;
    const ageMs = nowMs - known.askedAtMs;
    return ageMs >= -clockMsMax && ageMs <= this.#ageMsMax;
  }

  #readers(key: string): readonly string[] {
    const known = this.#known.get(key);
    return this.#counts(known) ? known.list.names : nobody;
  }

  /** The configured names come first: an account of a provider cannot stand for somebody else's. */
  *#findNames(users: readonly HostUser[]): Generator<void, readonly string[]> {
    const { permissionsProvider } = this.#config;
    const names = new Set<string>();
    yield* eachInSteps(users, ({ id, name }) => {
      const configured = this.#userNames.get(name.toLowerCase());
      const isLinked = configured === undefined && permissionsProvider !== "";
      const here = isLinked ? this.#services.findLinked(permissionsProvider, id) : configured;
      if (here !== undefined && here !== null) names.add(here);
    });
    const sorted = yield* sortInSteps([...names], (a, b) => (a < b ? -1 : 1));
    return sorted.slice(0, readerCountMax);
  }

  #lookUpSoon(): void {
    if (this.#lookingUp !== undefined || this.#stop.signal.aborted) return;
    this.#lookUpCall?.cancel();
    const waitMs = this.#lookedUpMs + lookUpPauseMs - monotonicMs();
    if (waitMs > 0) this.#lookUpCall = callAfter(waitMs, () => this.#lookUpSoon());
    else this.#lookingUp = this.#lookUpAgain();
  }

  async #lookUpAgain(): Promise<void> {
    const version = this.#lists.version;
    const changed = await this.#lists.lookUpAgain(this.#stop.signal);
    for (const [key, { list }] of this.#known) if (changed.has(list)) this.#toApply.add(key);
    if (this.#timer !== undefined) this.#apply();
    this.#lookedUpMs = monotonicMs();
    this.#lookingUp = undefined;
    if (version !== this.#lists.version) this.#lookUpSoon();
  }

  /** An answer has become too old, or the clock was set so that it counts again. */
  #findExpired(): void {
    const nowMs = new Date().getTime();
    for (const [key, known] of this.#known)
      if (this.#counts(known, nowMs) === (this.#applied.get(key) === nobody)) this.#toApply.add(key);
  }

  #tick(): void {
    this.#apply();
    const nowMs = monotonicMs();
    if (nowMs - this.#savedMs > saveMs) void this.#save();
    if (nowMs < this.#pausedUntilMs) return;
    while (this.#runningCount < parallelMax) {
      const key = this.#waiting.take(nowMs);
      if (key === undefined) return;
      const [repository, asking] = [this.#repositories.get(key), this.#asking.get(key)];
      if (repository !== undefined && asking !== undefined) void this.#ask(key, repository, asking);
    }
  }

  /** When it is asked for after a start. */
  #firstMs(key: string): number {
    const known = this.#known.get(key);
    if (!this.#counts(known)) return this.#atOnceMs(key);
    return monotonicMs() + this.#ageMsMax / 3 - (new Date().getTime() - known.askedAtMs);
  }

  /** A time that has passed: the longer ago, the older the last answer is. */
  #atOnceMs(key: string): number {
    const known = this.#known.get(key);
    return known === undefined ? Number.NEGATIVE_INFINITY : Math.min(known.askedAtMs - new Date().getTime(), 0);
  }

  async #ask(key: string, repository: RepositoryConfig, asking: Asking): Promise<void> {
    asking.isAsking = true;
    this.#runningCount++;
    // The answer is as old as the question.
    const askedAtMs = new Date().getTime();
    let nextMs = 0;
    try {
      const list = await this.#lists.take(await this.#read(repository));
      if (this.#stop.signal.aborted) return;
      this.#setKnown(key, { list, askedAtMs });
      asking.error = "";
      asking.refusalCount = 0;
      nextMs = monotonicMs() + this.#ageMsMax / 3;
      this.#failureCount = 0;
      this.#services.metrics.hostPermissionReads.inc({ outcome: "good" });
    } catch (error) {
      if (!this.#stop.signal.aborted) nextMs = monotonicMs() + this.#failed(asking, repository, error);
    } finally {
      if (this.#asking.get(key) === asking) this.#waiting.set(key, asking.isRequested ? this.#atOnceMs(key) : nextMs);
      asking.isAsking = false;
      asking.isRequested = false;
      this.#runningCount--;
    }
    if (!this.#stop.signal.aborted) this.#tick();
  }

  /** Returns in how many milliseconds it is asked for again. */
  #failed(asking: Asking, { name }: RepositoryConfig, error: unknown): number {
    const retryMs = Math.min(Math.max(this.#ageMsMax / 20, 1_000), retryMsMax);
    asking.error = errorMessage(error);
    this.#services.metrics.hostPermissionReads.inc({ outcome: "failed" });
    if (isRefusal(error)) return Math.min(retryMs * 2 ** asking.refusalCount++, Math.max(this.#ageMsMax / 3, retryMs));
    asking.refusalCount = 0;
    const isLimited = error instanceof RateLimitError;
    if (!isLimited && ++this.#failureCount < failuresMax) return retryMs;
    this.#failureCount = 0;
    this.#pausedUntilMs = monotonicMs() + (isLimited ? error.waitMs : retryMs);
    this.#pauseReason = asking.error;
    this.#services.log.warn(
      { connection: this.#config.name, repository: name },
      `the host cannot be asked who may read its repositories: ${asking.error}`,
    );
    return retryMs;
  }

  async #read({ name }: RepositoryConfig): Promise<readonly HostUser[]> {
    const { kind, url, prefix } = this.#config;
    const nameThere = name.slice(prefix.length);
    const source = readerSources[kind];
    if (source === undefined) throw new TrawlError("bad-config", `${kind} is not asked for readers`);
    const reader = new PageReader({
      kind: apiKinds[kind],
      url,
      token: await this.#services.tokenFor(nameThere),
      signal: AbortSignal.any([this.#stop.signal, AbortSignal.timeout(readMsMax)]),
      noun: "users",
      countMax: hostUsersMax,
      remedy: ` for ${name}`,
    });
    return await source(nameThere, reader);
  }

  #setKnown(key: string, known: Known): void {
    const before = this.#repositories.has(key) ? this.#known.get(key) : known;
    if (before !== known) this.#known.set(key, known);
    if (before !== undefined) this.#lists.release(before.list);
    this.#toApply.add(key);
    this.#isChanged = true;
  }

  /** Applies what has changed since the last time, and then what has changed meanwhile. What fails is tried again at the next tick. */
  #apply(): void {
    if (this.#applying !== undefined) return;
    const changed: RepositoryConfig[] = [];
    for (const key of this.#toApply) {
      const repository = this.#repositories.get(key);
      if (repository === undefined) continue;
      const [readers, applied] = [this.#readers(key), this.#applied.get(key)];
      if (applied === undefined || !isSame(applied, readers)) changed.push({ ...repository, readers });
      else this.#applied.set(key, readers);
    }
    this.#toApply.clear();
    if (changed.length === 0) return;
    this.#applying = this.#applyChanged(changed).then((late) => {
      this.#applying = undefined;
      this.#apply();
      for (const one of late) this.#toApply.add(keyFor(one));
    });
  }

  /** Resolves with those for which it has to be tried again. */
  async #applyChanged(changed: readonly RepositoryConfig[]): Promise<readonly RepositoryConfig[]> {
    try {
      const late = new Set(await this.#services.applyReaders(this.#config.name, changed));
      for (const one of changed) if (!late.has(one.name)) this.#applied.set(keyFor(one), one.readers);
      return changed.filter(({ name }) => late.has(name));
    } catch (error) {
      this.#services.log.error(
        { connection: this.#config.name },
        `readers could not be changed: ${errorMessage(error)}`,
      );
      return changed;
    }
  }

  async #save(): Promise<void> {
    this.#savedMs = monotonicMs();
    if (!this.#isChanged) return;
    this.#isChanged = false;
    try {
      const readers = [...this.#known].map(
        ([key, { list, askedAtMs }]) => [key, { users: list.users, askedAtMs }] as const,
      );
      await this.#store.write(new Map(readers));
    } catch (error) {
      this.#isChanged = true;
      this.#services.log.warn({ connection: this.#config.name }, `readers could not be stored: ${errorMessage(error)}`);
    }
  }
}

function keyFor({ name, url }: Pick<RepositoryConfig, "name" | "url">): string {
  return `${name} ${url}`;
}

/** Whether it is about the one repository, and says nothing about others: not 401, which is about the token. */
function isRefusal(error: unknown): boolean {
  return error instanceof HostError && (error.status === 404 || error.status === 403);
}
