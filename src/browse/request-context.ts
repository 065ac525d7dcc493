import type { Accounts } from "../account/identity/accounts.js";
import type { AuditLog, Author, Actor } from "../account/records/audit-log.js";
import type { ContextDirectory } from "../account/contexts/context-directory.js";
import type { AccessTokenPolicy } from "../account/sign-in/authenticator.js";
import type { TokenLifetimes } from "../account/identity/token-lifetimes.js";
import { callAfter, monotonicMs } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Catalog } from "../catalog/catalog.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import { clientKey } from "../model/client.js";
import type { MetadataChange } from "../model/metadata-change.js";
import type { RepositoryAttributes } from "../model/repository.js";
import type { Viewer } from "../model/viewer.js";
import type { Searcher } from "../search/searcher.js";
import type { ReadLimits, ReadPool } from "../pool/read-pool.js";
import { GitReads, type GitCache } from "./git-reads.js";
import { RequestSearches } from "./request-searches.js";
import { RequestWork } from "./request-work.js";

/** Items that one answer may have in lists without a length. */
const itemsMax = 200_000;

/**
 * Fields of lists that are made in one iteration of the event loop: 10 ms, or twice that where operations are not
 * compiled.
 */
const fieldsOfTurn = 10_000;

const notAuthenticated = "not authenticated";

/** What can be ordered done to repositories, by name or by id. Changes are durable when they are resolved. */
export interface RepositoryCommands {
  setAttributes(name: string, attributes: Partial<RepositoryAttributes>): Promise<void>;
  changeMetadata(name: string, change: MetadataChange): Promise<void>;
  remove(name: string): Promise<void>;
  /** Fetches, and resolves when that is searchable. */
  sync(name: string): Promise<unknown>;
  /** These three do not wait for what is asked. */
  request(repositoryId: number): void;
  requestIndexing(repositoryId: number): void;
  requestCloning(repositoryId: number): void;
}

/** What the resolvers of all requests share. */
export interface GraphqlServices {
  readonly repositoryCommands: RepositoryCommands;
  readonly catalog: Catalog;
  readonly searcher: Searcher;
  readonly accounts: Accounts;
  readonly audit: AuditLog;
  readonly contexts: ContextDirectory;
  /** Who may make access tokens, and how long they live. */
  readonly accessTokens: AccessTokenPolicy;
  readonly tokenLifetimes: TokenLifetimes;
  readonly reads: ReadPool;
  readonly gitCache: GitCache;
  readonly log: Log;
  /** What the sync of a repository does, as in "fetching 45 %"; "" when there is none. */
  readonly activityOf: (repositoryId: number) => string;
  /** Begins absolute URLs; without a slash at the end. */
  readonly externalUrl: () => string;
  /** The configuration in force, as JSON with comments. */
  readonly configuration: () => string;
  /** Tells instances apart. */
  readonly siteId: string;
}

/** One request: who asks, for how long, and what it has read already. */
export class RequestContext {
  readonly services: GraphqlServices;
  readonly viewer: Viewer;
  /** Address of the client. */
  readonly #from: string;
  readonly #deadlineMs: number;
  readonly #onCancel = new Set<() => void>();
  /**
   * These are made when they are first needed: many requests read no mirror, and shared memory is expensive to make.
   */
  #stop: Int32Array | undefined;
  #git: GitReads | undefined;
  #work: RequestWork | undefined;
  #searches: RequestSearches | undefined;
  #isCancelled = false;
  #mayNotAct = false;
  #itemCount = 0;
  #fieldCount = 0;
  /** What is taken in this and earlier turns of the event loop may be made when the promise resolves. */
  #turn = 0;
  #turns: Promise<void> = Promise.resolve();

  /** Fields that the document asks of an item of a list, at most. */
  fieldsOfItem = 1;

  constructor(services: GraphqlServices, viewer: Viewer, from: string, timeoutMs: number) {
    this.services = services;
    this.viewer = viewer;
    this.#from = from;
    this.#deadlineMs = monotonicMs() + timeoutMs;
  }

  /** All the repositories that there are for this viewer. */
  get repositories(): RepositoryTable {
    return this.services.catalog.repositoryTable(this.viewer);
  }

  /** Milliseconds that this request may still take; at least one. */
  get leftMs(): number {
    return Math.max(1, this.#deadlineMs - monotonicMs());
  }

  /** What the work resolves with, or `cancelled` when this request is over before; the work goes on. */
  async beforeEnd<T>(work: Promise<T>, what: string): Promise<T> {
    return await new Promise((resolve, reject) => {
      const timer = callAfter(this.leftMs, () =>
        reject(new TrawlError("cancelled", `${what} takes longer than this request may; it goes on`)),
      );
      work.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  /** Word 0 becomes 1 when nobody waits for the answer. Workers look at it. */
  get stop(): Int32Array {
    this.#stop ??= new Int32Array(new SharedArrayBuffer(4)).fill(this.#isCancelled ? 1 : 0);
    return this.#stop;
  }

  /** What a read of a mirror may take that begins in this moment. */
  get readLimits(): ReadLimits {
    return { timeoutMs: this.leftMs, stop: this.stop, client: this.client };
  }

  /** Whose share of the machine the request takes. */
  get client(): string {
    return clientKey(this.viewer, this.#from);
  }

  get git(): GitReads {
    this.#git ??= new GitReads(this.services.reads, this.services.gitCache, () => this.readLimits);
    return this.#git;
  }

  get searches(): RequestSearches {
    this.#searches ??= new RequestSearches();
    return this.#searches;
  }

  /** The work of this request on the main thread that takes long, for all of its fields. */
  get work(): RequestWork {
    this.#work ??= new RequestWork(() => !this.#isCancelled && monotonicMs() < this.#deadlineMs);
    return this.#work;
  }

  /**
   * Resolves when the answer may have so many items more in lists that nobody gave a length, which the cost of a
   * document does not tell. Throws `bad-request` when there are too many.
   */
  async takeItems(count: number, what: string): Promise<void> {
    this.#itemCount += count;
    if (this.#itemCount > itemsMax)
      throw new TrawlError(
        "bad-request",
        `the answer would have more than ${itemsMax} ${what}; ask for fewer at a time, with first and after`,
      );
    return this.yieldAfter(count);
  }

  /** Resolves when a list of so many items may be put into the answer: other work comes between many of them. */
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

  /**
   * The client has left, or the request is answered and what still runs for it, because another field failed, has
   * nobody to answer: it ends, and nothing new begins. Idempotent.
   */
  cancel(): void {
    this.#isCancelled = true;
    if (this.#stop !== undefined) Atomics.store(this.#stop, 0, 1);
    for (const callback of this.#onCancel) callback();
    this.#onCancel.clear();
  }

  /** The credential has ended: no further change begins. Idempotent. */
  endActing(): void {
    this.#mayNotAct = true;
  }

  /** Calls back when the client leaves, unless the returned function was called before. */
  onCancel(callback: () => void): () => void {
    if (this.isCancelled) callback();
    else this.#onCancel.add(callback);
    return () => this.#onCancel.delete(callback);
  }

  /** Who answers for a change. Throws `forbidden` for somebody without an account. */
  get actor(): Actor {
    const { userId, name, sudoBy, credential } = this.viewer;
    if (userId === undefined) throw new TrawlError("forbidden", notAuthenticated);
    if (this.#mayNotAct) throw new TrawlError("forbidden", "the credential of this request has ended");
    return {
      who: name,
      sudoBy,
      from: this.#from,
      ...(credential === undefined ? {} : { via: credential.kind === "token" ? `token ${credential.id}` : "session" }),
    };
  }

  /** Who writes something that bears its name. Throws `forbidden` for somebody without an account. */
  get author(): Author {
    return { actor: this.actor, id: this.viewer.userId ?? 0 };
  }

  /** Throws `forbidden` for those without an account. */
  requireUser(): void {
    if (!this.isUser) throw new TrawlError("forbidden", notAuthenticated);
  }

  /** Throws `forbidden` for everybody else, and so returns who answers for what only an admin may do. */
  requireSiteAdmin(): Actor {
    const { actor } = this;
    if (!this.viewer.isSiteAdmin) throw new TrawlError("forbidden", "must be site admin");
    return actor;
  }

  /** Whether the viewer has an account, or is the operator. */
  get isUser(): boolean {
    return this.viewer.userId !== undefined || this.viewer.isSiteAdmin;
  }

  /** Whether the viewer is the user or organisation with this id, a member of it, or site admin. */
  mayActFor(ownerId: number): boolean {
    const { userId, isSiteAdmin } = this.viewer;
    if (isSiteAdmin || userId === ownerId) return true;
    return userId !== undefined && this.services.accounts.organisation(ownerId)?.memberIds.includes(userId) === true;
  }

  /** Throws `forbidden` unless the viewer may act for the user or organisation. */
  requireActingFor(ownerId: number): Actor {
    const { actor } = this;
    if (!this.mayActFor(ownerId))
      throw new TrawlError("forbidden", "must be authenticated as the authorized user or site admin");
    return actor;
  }
}
