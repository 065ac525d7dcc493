import type { Accounts } from "../account/identity/accounts.js";
import { type Actor, type AuditLog, type Author, toSender } from "../account/records/audit-log.js";
import type { ContextDirectory } from "../account/context-directory.js";
import type { AccessTokenPolicy } from "../account/sign-in/authenticator.js";
import type { TokenLifetimes } from "../account/identity/access-tokens.js";
import { callAfter, monotonicMs } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Catalog } from "../catalog/catalog.js";
import type { Connections } from "../codehost/connections.js";
import { RepositoryTable } from "../catalog/repository-table.js";
import type { SearchFleet } from "../search/source/search-fleet.js";
import { clientKey } from "../model/client.js";
import type { ConfigurationProblem } from "../model/configuration-problem.js";
import type { HistoryStatus } from "../model/history-record.js";
import { type RequestOrigin, toOrigin } from "../model/request-origin.js";
import type { Repository, RepositoryAttributes, MetadataChange } from "../model/repository.js";
import type { StreamMatch } from "../model/stream-events.js";
import type { Viewer } from "../model/viewer.js";
import type { Notifications } from "../notify/notifications.js";
import type { PreciseIndexes } from "../precise/precise-indexes.js";
import type { SearchJobs } from "../jobs/search-jobs.js";
import type { Searcher } from "../search/searcher.js";
import type { ReadPool } from "../pool/read-pool.js";
import type { CommitFetches } from "./commit-fetches.js";
import { type GitCache, GitReads } from "./mirror-reads.js";
import type { MirrorLimits } from "./mirror-messages.js";
import type { Mirrors } from "./mirrors.js";
import { remoteRecord } from "./repository-source.js";
import { resultWhileYielding } from "../base/yielding.js";

/** Limit on the items of one response in lists without an explicit length. */
const itemsMax = 200_000;

/** List fields produced in one iteration of the event loop: 10 ms, or twice that if operations are not compiled. */
const fieldsOfTurn = 10_000;

const notAuthenticated = "not authenticated";

/** A repository of another host, as a client adds it. */
export interface RemoteRepository {
  readonly name: string;
  readonly url: string;
  readonly private: boolean;
}

/** Commands for repositories, by name or by id. Changes are durable when their promise resolves. */
export interface RepositoryCommands {
  setAttributes(name: string, attributes: Partial<RepositoryAttributes>): Promise<void>;
  /** Adds or removes one of the readers. */
  setReader(name: string, reader: string, isReader: boolean): Promise<void>;
  changeMetadata(name: string, change: MetadataChange): Promise<void>;
  remove(name: string): Promise<void>;
  /** Fetches the repository, and resolves when the result is searchable. With `acceptsLoss`, that may be nothing. */
  sync(name: string, acceptsLoss?: boolean): Promise<unknown>;
  /** These three return without waiting for the result. */
  request(repositoryId: number): void;
  requestIndexing(repositoryId: number): void;
  requestCloning(repositoryId: number): void;
}

/** Services that the requests of `graphql`, `http` and `mcp` share. */
export interface RequestServices {
  readonly repositoryCommands: RepositoryCommands;
  /**
   * Adds a repository of another host, without waiting for its first sync. Rejects with `bad-config`, with `forbidden`
   * for one of this host, and with `conflict` if its name stands for another.
   */
  readonly addRemote: (given: RemoteRepository) => Promise<void>;
  /** The fetches of clients that wait for a commit. */
  readonly commitFetches: CommitFetches;
  readonly connections: Connections;
  readonly catalog: Catalog;
  readonly searcher: Searcher;
  readonly jobs: SearchJobs;
  readonly precise: PreciseIndexes;
  readonly notifications: Notifications;
  readonly accounts: Accounts;
  readonly audit: AuditLog;
  readonly contexts: ContextDirectory;
  /** Whether only a site admin may give the name to an account: it is a reader of a repository, or stands for a group of a provider. */
  readonly isReservedName: (name: string) => boolean;
  /** Whether users can sign in with the identity provider of this name. */
  readonly hasProvider: (name: string) => boolean;
  /** Who may create access tokens, and how long they are valid. */
  readonly accessTokens: AccessTokenPolicy;
  readonly tokenLifetimes: TokenLifetimes;
  readonly reads: ReadPool;
  readonly mirrors: Mirrors;
  readonly gitCache: GitCache;
  readonly log: Log;
  /** The current sync activity of a repository, as in "fetching 45 %"; "" if there is none. */
  readonly activityOf: (repositoryId: number) => string;
  readonly historyStatusOf: (repository: Repository) => HistoryStatus;
  /** Base of absolute URLs; without a trailing slash. */
  readonly externalUrl: () => string;
  /** The effective configuration, as JSON with comments. */
  readonly configuration: () => string;
  /** What is wrong with a text as the configuration file. Nothing is saved. */
  readonly checkConfiguration: (text: string) => Promise<readonly ConfigurationProblem[]>;
  /** Identifies the instance. */
  readonly siteId: string;
}

/** Repositories of all nodes. */
export interface ListedTable {
  readonly table: RepositoryTable;
  readonly lacks: readonly string[];
}

/** One request: its viewer, its deadline, and what it has read already. */
export class RequestContext {
  readonly services: RequestServices;
  readonly viewer: Viewer;
  readonly origin: RequestOrigin;
  readonly #deadlineMs: number;
  readonly #client: string | undefined;
  readonly #onCancel = new Set<() => void>();
  /** Created when first needed: many requests read no mirror, and shared memory is expensive to allocate. */
  #stop: Int32Array | undefined;
  #git: GitReads | undefined;
  #work: RequestWork | undefined;
  #searches: RequestSearches | undefined;
  /** Repositories that other nodes were asked for. */
  readonly #found = new Map<string | number, Promise<Repository | undefined>>();
  #listed: Promise<ListedTable> | undefined;
  #isCancelled = false;
  #mayNotAct = false;
  #itemCount = 0;
  #fieldCount = 0;
  /** Resolves when the items requested in this and earlier iterations of the event loop may be produced. */
  #turn = 0;
  #turns: Promise<void> = Promise.resolve();

  /** Maximum number of fields that the document requests per list item. */
  fieldsOfItem = 1;

  /** `client` is whose share of the machine the request uses, if it is not that of the viewer and the origin. */
  constructor(services: RequestServices, viewer: Viewer, origin: RequestOrigin, timeoutMs: number, client?: string) {
    this.services = services;
    this.viewer = viewer;
    this.origin = toOrigin(origin);
    this.#client = client;
    this.#deadlineMs = monotonicMs() + timeoutMs;
  }

  /** All repositories that exist for this viewer. */
  get repositories(): RepositoryTable {
    return this.services.catalog.repositoryTable(this.viewer);
  }

  /** The repository of a result; undefined if it does not exist any more. */
  repositoryOf(match: StreamMatch): Repository | undefined {
    const { repositoryID: id } = match;
    if (id === undefined) return undefined;
    const { fleet } = this.services.searcher;
    if (fleet === undefined) return this.repositories.byId(id);
    const { id: ownId } = fleet.locate(id);
    return ownId === undefined ? remoteRecord(match, fleet.otherIdsFrom) : this.repositories.byId(ownId);
  }

  /**
   * The repository with this name or id, also if it is another node that has it. Undefined if the viewer sees none. Rejects with
   * `overloaded` if the nodes that may have it do not answer.
   */
  findRepository(repository: string | number): Repository | undefined | Promise<Repository | undefined> {
    const known =
      typeof repository === "string" ? this.repositories.byName(repository) : this.repositories.byId(repository);
    const { searcher, mirrors } = this.services;
    const holders = searcher.fleet?.findHolders(repository, known !== undefined) ?? [];
    if (holders.length === 0) return known;
    const asked = this.#found.get(repository);
    if (asked !== undefined) return asked;
    const found = mirrors.find(holders, repository, this.readLimits);
    this.#found.set(repository, found);
    // Whoever asks again later may get an answer.
    found.catch(() => this.#found.delete(repository));
    return found;
  }

  /**
   * All repositories that exist for this viewer, those of other nodes among them; with `names`, those of other nodes only by these
   * names. `lacks` are sentences about what is not listed, because the nodes that have it do not answer, or have too many.
   */
  listRepositories(names: readonly string[] | undefined): ListedTable | Promise<ListedTable> {
    const { fleet } = this.services.searcher;
    if (fleet === undefined || fleet.hasAll) return { table: this.repositories, lacks: [] };
    if (names !== undefined) return this.#listElsewhere(fleet, names);
    return (this.#listed ??= this.#listElsewhere(fleet, undefined));
  }

  async #listElsewhere(fleet: SearchFleet, names: readonly string[] | undefined): Promise<ListedTable> {
    const { repositories } = this;
    const { lists, lack } = fleet.findLists();
    const { records, lacks } = await this.services.mirrors.list(lists, names, this.readLimits);
    // One of which this node has an older copy is as the other one says.
    const told = new Set(records.map(({ id }) => id));
    const own = repositories.values().filter(({ id }) => !told.has(id));
    const table = await resultWhileYielding(RepositoryTable.inSteps([...own, ...records], false, repositories));
    return { table, lacks: lack === undefined ? lacks : [lack, ...lacks] };
  }

  /** Remaining time of this request in milliseconds; at least one. */
  get leftMs(): number {
    return Math.max(1, this.#deadlineMs - monotonicMs());
  }

  /**
   * Resolves with the result of the work, or rejects with `cancelled` if this request ends first; the work continues.
   */
  async beforeEnd<T>(work: Promise<T>, what: string): Promise<T> {
    return await new Promise((resolve, reject) => {
      const timer = callAfter(this.leftMs, () =>
        reject(new TrawlError("cancelled", `${what} takes longer than this request may; the work continues`)),
      );
      work.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  /** Word 0 becomes 1 when the response is no longer wanted. Workers check it. */
  get stop(): Int32Array {
    this.#stop ??= new Int32Array(new SharedArrayBuffer(4)).fill(this.#isCancelled ? 1 : 0);
    return this.#stop;
  }

  /** Limits for a mirror read that starts now. */
  get readLimits(): MirrorLimits {
    const { leftMs, stop, client, viewer } = this;
    return { timeoutMs: leftMs, stop, client, viewer, onCancel: (callback) => this.onCancel(callback) };
  }

  /** The client whose share of the machine the request uses. */
  get client(): string {
    return this.#client ?? clientKey(this.viewer, this.origin.remoteAddress);
  }

  get git(): GitReads {
    const { reads, mirrors, gitCache } = this.services;
    this.#git ??= new GitReads(reads, mirrors, gitCache, () => this.readLimits);
    return this.#git;
  }

  get searches(): RequestSearches {
    this.#searches ??= new RequestSearches();
    return this.#searches;
  }

  /** The long-running main-thread work of this request, shared by all of its fields. */
  get work(): RequestWork {
    this.#work ??= new RequestWork(() => !this.isOver);
    return this.#work;
  }

  /**
   * Resolves when the response may contain this many more items in lists without an explicit length, which the cost of
   * a document does not include. Throws `bad-request` if there are too many.
   */
  async takeItems(count: number, what: string): Promise<void> {
    this.#itemCount += count;
    if (this.#itemCount > itemsMax)
      throw new TrawlError(
        "bad-request",
        `the response would have more than ${itemsMax} ${what}; request fewer at a time, with first and after`,
      );
    return this.yieldAfter(count);
  }

  /**
   * Resolves when a list of this many items may be added to the response: long lists are interleaved with other work.
   */
  yieldAfter(count: number): Promise<void> {
    this.#fieldCount += count * this.fieldsOfItem;
    const turn = Math.floor(this.#fieldCount / fieldsOfTurn);
    for (; this.#turn < turn; this.#turn++)
      this.#turns = this.#turns.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#turns;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Whether nobody waits for the response any more, or its time is over. */
  get isOver(): boolean {
    return this.#isCancelled || monotonicMs() >= this.#deadlineMs;
  }

  /**
   * Called when the client has disconnected or the response has been sent: work that is still running for the request,
   * because another field failed, ends, and no new work starts. Idempotent.
   */
  cancel(): void {
    this.#isCancelled = true;
    if (this.#stop !== undefined) Atomics.store(this.#stop, 0, 1);
    for (const callback of this.#onCancel) callback();
    this.#onCancel.clear();
  }

  /** The credential is no longer valid: no further change is started. Idempotent. */
  endActing(): void {
    this.#mayNotAct = true;
  }

  /** Registers a callback for a disconnect of the client; the returned function unregisters it. */
  onCancel(callback: () => void): () => void {
    if (this.isCancelled) callback();
    else this.#onCancel.add(callback);
    return () => this.#onCancel.delete(callback);
  }

  /** The actor responsible for a change. Throws `forbidden` without an account. */
  get actor(): Actor {
    const { userId, name, sudoBy, credential, narrowed } = this.viewer;
    if (narrowed !== undefined) throw new TrawlError("forbidden", onlyReads);
    if (userId === undefined) throw new TrawlError("forbidden", notAuthenticated);
    if (this.#mayNotAct) throw new TrawlError("forbidden", "the credential of this request is no longer valid");
    return {
      who: name,
      sudoBy,
      ...toSender(this.origin),
      ...(credential === undefined ? {} : { via: credential.kind === "token" ? `token ${credential.id}` : "session" }),
    };
  }

  /** The author of something that records its creator. Throws `forbidden` without an account. */
  get author(): Author {
    return { actor: this.actor, id: this.viewer.userId ?? 0 };
  }

  /** Throws `forbidden` without an account. */
  requireUser(): void {
    if (!this.isUser) throw new TrawlError("forbidden", notAuthenticated);
  }

  /**
   * Throws `forbidden` unless the viewer is a site admin; returns the actor responsible for an administrative change.
   */
  requireSiteAdmin(): Actor {
    const { actor } = this;
    if (!this.viewer.isSiteAdmin) throw new TrawlError("forbidden", "must be site admin");
    return actor;
  }

  /** Throws `forbidden` if the viewer has a narrow token, which only searches and reads. */
  requireAllRights(): void {
    if (this.viewer.narrowed !== undefined) throw new TrawlError("forbidden", onlyReads);
  }

  /** Whether the viewer has the rights of an account, or is the operator. */
  get isUser(): boolean {
    if (this.viewer.narrowed !== undefined) return false;
    return this.viewer.userId !== undefined || this.viewer.isSiteAdmin;
  }

  /** Whether the viewer is the user or organization with this id, a member of it, or a site admin. */
  mayActFor(ownerId: number): boolean {
    const { userId, isSiteAdmin, narrowed } = this.viewer;
    if (narrowed !== undefined) return false;
    if (isSiteAdmin || userId === ownerId) return true;
    return (
      userId !== undefined && this.services.accounts.organizations.get(ownerId)?.memberIds.includes(userId) === true
    );
  }

  /** Throws `forbidden` unless the viewer may act for the user or organization. */
  requireActingFor(ownerId: number): Actor {
    const { actor } = this;
    if (!this.mayActFor(ownerId))
      throw new TrawlError("forbidden", "must be authenticated as the authorized user or site admin");
    return actor;
  }
}

const onlyReads =
  "this access token is narrow: it only searches and reads repositories; send a token with the scope user:all";

/**
 * Number of searches of one request that run concurrently; the others wait, so that one request does not use up all
 * permits.
 */
const concurrentMax = 4;

/** Limit on the match JSON of all searches of one request: as objects in memory it takes about five times as much. */
const matchBytesMax = 16 << 20;

/** The searches of one request. */
class RequestSearches {
  readonly #waiting: (() => void)[] = [];
  #runningCount = 0;
  #leftBytes = matchBytesMax;

  /** Does the work once fewer than `concurrentMax` are running. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#runningCount >= concurrentMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#runningCount++;
    try {
      return await work();
    } finally {
      this.#runningCount--;
      this.#waiting.shift()?.();
    }
  }

  /** Whether this many more bytes of matches may be added. */
  takeBytes(count: number): boolean {
    this.#leftBytes -= count;
    return this.#leftBytes >= 0;
  }
}

/**
 * Limit on the records that one request may examine in all: one second of the main thread, if each is matched against a
 * regular expression.
 */
const recordsMax = 1_500_000;

/**
 * Iteration of the fields of one request over repositories, users or contexts. It is done in steps, interleaved with
 * other work; fields with the same work share its result; and all of them together examine at most `recordsMax`
 * records.
 */
class RequestWork {
  readonly #isWanted: () => boolean;
  readonly #results = new Map<string, Promise<unknown>>();
  readonly #numberOfList = new Map<object, number>();
  #recordCount = 0;

  /** Work ends with `cancelled` if it is no longer wanted. */
  constructor(isWanted: () => boolean) {
    this.#isWanted = isWanted;
  }

  /**
   * Does work that examines this many records, and resolves with its result. Each `yield` ends a step. Rejects with
   * `bad-request` if there are too many records.
   */
  run<T>(recordCount: number, work: Iterator<unknown, T>): Promise<T> {
    this.#recordCount += recordCount;
    if (this.#recordCount <= recordsMax) return resultWhileYielding(this.#whileWanted(work));
    return Promise.reject(
      new TrawlError(
        "bad-request",
        `this request examines more than ${recordsMax} repositories, users or similar records; split its fields into several requests`,
      ),
    );
  }

  /** Like `run`, but done once for all fields with this key. */
  once<T>(key: string, recordCount: number, work: () => Iterator<unknown, T>): Promise<T> {
    const known = this.#results.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const result = this.run(recordCount, work());
    this.#results.set(key, result);
    return result;
  }

  /**
   * A key for the arguments of a field. Lists are considered equal only if they come from the same variable, so that
   * they need not be compared.
   */
  cacheKey(kind: string, args: object): string {
    return JSON.stringify([
      kind,
      ...Object.entries(args).map(([name, value]) => [
        name,
        Array.isArray(value) ? this.#keyOfList(value) : (value as unknown),
      ]),
    ]);
  }

  #keyOfList(list: object): { readonly list: number } {
    const number = this.#numberOfList.get(list) ?? this.#numberOfList.size;
    this.#numberOfList.set(list, number);
    return { list: number };
  }

  *#whileWanted<T>(work: Iterator<unknown, T>): Generator<void, T> {
    for (;;) {
      if (!this.#isWanted()) throw new TrawlError("cancelled", "the request timed out, or its client disconnected");
      const step = work.next();
      if (step.done === true) return step.value;
      yield;
    }
  }
}
