import { TrawlError } from "../../base/errors.js";
import type { ContextRepository } from "../../model/search-context.js";
import { QueryError } from "../../query/syntax/query-error.js";
import { checkContextQuery } from "../../query/plan/search-contexts.js";
import { auditEntry, type Actor } from "../records/audit-log.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import { GroupIndex, type RecordTable, type RecordTables, type RecordWrite } from "../records/record-table.js";

/** A search context created by a user, in addition to those of the configuration file. */
export interface OwnContext {
  readonly id: number;
  /** Id of a user or an organization; 0 for the instance. */
  readonly ownerId: number;
  /** Without its owner. */
  readonly name: string;
  readonly description: string;
  /** Whether users other than its owner may use it. */
  readonly public: boolean;
  readonly query: string;
  readonly repositories: readonly ContextRepository[];
  /** RFC 3339. */
  readonly updatedAt: string;
}

/** The properties that the author of a context chooses. */
export type ContextText = Pick<OwnContext, "name" | "description" | "public" | "query" | "repositories">;

/** The contexts that a user has marked, each identified by `contextMark`. `id` is the user's. */
interface ContextPreferences {
  readonly id: number;
  readonly starred: readonly string[];
  /** "" for the global one. */
  readonly preferred: string;
}

const contextCountMax = 10_000;
const ofOwnerMax = 1000;
const repositoryCountMax = 10_000;
const starCountMax = 1000;
const nameCharsMax = 32;
const descriptionCharsMax = 1024;
const queryCharsMax = 10_000;
const revisionCharsMax = 255;

/**
 * Identifies a context in a user's marks: a user-created one by its id, because its name may change; a configured one
 * by its name.
 */
export function contextMark(context: { readonly id?: number; readonly name: string }): string {
  return context.id === undefined ? context.name : `#${context.id}`;
}

/**
 * Search contexts created by users, and which ones they have marked; held in memory and persisted in the record store.
 */
export class OwnContexts {
  readonly #changes: TransactionQueue;
  readonly #contexts: RecordTable<OwnContext>;
  readonly #marks: RecordTable<ContextPreferences>;
  readonly #publicIdsOfOwner = new GroupIndex<OwnContext>((context) => (context.public ? [context.ownerId] : []));
  /** By owner and name. */
  readonly #idOf = new Map<string, number>();

  constructor(tables: RecordTables, changes: TransactionQueue) {
    this.#changes = changes;
    this.#contexts = tables.add<OwnContext>("context/", (before, after) => {
      this.#publicIdsOfOwner.change(before, after);
      if (before !== undefined) this.#idOf.delete(contextKey(before));
      if (after !== undefined) this.#idOf.set(contextKey(after), after.id);
    });
    this.#marks = tables.add<ContextPreferences>("context-marks/", () => undefined);
  }

  all(): Iterable<OwnContext> {
    return this.#contexts.values();
  }

  hasPublicForOwner(ownerId: number): boolean {
    return this.#publicIdsOfOwner.count(ownerId) > 0;
  }

  get count(): number {
    return this.#contexts.count;
  }

  /** The context to which a mark from `contextMark` refers. */
  marked(mark: string): OwnContext | undefined {
    return mark.startsWith("#") ? this.#contexts.get(Number(mark.slice(1))) : undefined;
  }

  find(ownerId: number, name: string): OwnContext | undefined {
    return this.#contexts.get(this.#idOf.get(contextKey({ ownerId, name })) ?? 0);
  }

  /** Rejects with `conflict` if the owner already has one of this name, with `bad-request` if it is invalid. */
  create(ownerId: number, text: ContextText, actor: Actor): Promise<OwnContext> {
    checkText(text);
    return this.#changes.commit(
      () => {
        this.#requireFree(ownerId, text.name, undefined);
        if (this.#contexts.count >= contextCountMax)
          throw new TrawlError("overloaded", `the limit of ${contextCountMax} search contexts has been reached`);
        const count = [...this.#contexts.values()].filter((other) => other.ownerId === ownerId).length;
        if (count >= ofOwnerMax)
          throw new TrawlError("overloaded", `this owner has reached the limit of ${ofOwnerMax} search contexts`);
        const context: OwnContext = {
          id: this.#changes.newId(),
          ownerId,
          ...text,
          updatedAt: new Date().toISOString(),
        };
        return { steps: [this.#contexts.put(context)], result: context };
      },
      ({ id, name }) => auditEntry("context-created", actor, { context: id, name, ownerId }),
    );
  }

  update(id: number, text: ContextText, actor: Actor): Promise<OwnContext> {
    checkText(text);
    return this.#changes.commit(
      () => {
        const context = this.#require(id);
        this.#requireFree(context.ownerId, text.name, id);
        const result = { ...context, ...text, updatedAt: new Date().toISOString() };
        return { steps: [this.#contexts.put(result)], result };
      },
      ({ name }) => auditEntry("context-changed", actor, { context: id, name }),
    );
  }

  delete(id: number, actor: Actor): Promise<OwnContext> {
    return this.#changes.commit(
      () => {
        const context = this.#require(id);
        return { steps: [this.#contexts.remove(context), ...this.#unmarking([context])], result: context };
      },
      ({ name }) => auditEntry("context-deleted", actor, { context: id, name }),
    );
  }

  isStarred(userId: number | undefined, mark: string): boolean {
    return this.#marks.get(userId ?? 0)?.starred.includes(mark) === true;
  }

  /** The user's default context; "" is the global context. */
  preferredContext(userId: number | undefined): string {
    return this.#marks.get(userId ?? 0)?.preferred ?? "";
  }

  setStar(userId: number, mark: string, isStarred: boolean): Promise<ContextPreferences> {
    return this.#mark(userId, (marks) => {
      const others = marks.starred.filter((other) => other !== mark);
      if (isStarred && others.length >= starCountMax)
        throw new TrawlError("bad-request", `at most ${starCountMax} search contexts can be starred`);
      return { ...marks, starred: isStarred ? [...others, mark] : others };
    });
  }

  setPreferred(userId: number, mark: string): Promise<ContextPreferences> {
    return this.#mark(userId, (marks) => ({ ...marks, preferred: mark }));
  }

  /** The writes that remove the contexts and marks of a deleted user or organization. */
  removing(owner: { readonly id: number }): RecordWrite[] {
    const owned = [...this.#contexts.values()].filter(({ ownerId }) => ownerId === owner.id);
    const marks = this.#marks.get(owner.id);
    return [
      ...owned.map((context) => this.#contexts.remove(context)),
      ...this.#unmarking(owned),
      ...(marks === undefined ? [] : [this.#marks.remove(marks)]),
    ];
  }

  #mark(userId: number, change: (marks: ContextPreferences) => ContextPreferences): Promise<ContextPreferences> {
    return this.#changes.commit(
      () => {
        const result = change(this.#marks.get(userId) ?? { id: userId, starred: [], preferred: "" });
        return { steps: [this.#marks.put(result)], result };
      },
      () => undefined,
    );
  }

  #unmarking(gone: readonly OwnContext[]): RecordWrite[] {
    const marks = new Set(gone.map(contextMark));
    return [...this.#marks.values()]
      .filter(({ starred, preferred }) => marks.has(preferred) || starred.some((mark) => marks.has(mark)))
      .map((of) =>
        this.#marks.put({
          ...of,
          starred: of.starred.filter((mark) => !marks.has(mark)),
          preferred: marks.has(of.preferred) ? "" : of.preferred,
        }),
      );
  }

  #require(id: number): OwnContext {
    const context = this.#contexts.get(id);
    if (context === undefined) throw new TrawlError("not-found", "search context not found");
    return context;
  }

  #requireFree(ownerId: number, name: string, ownId: number | undefined): void {
    const known = this.find(ownerId, name);
    if (known !== undefined && known.id !== ownId)
      throw new TrawlError("conflict", `search context ${JSON.stringify(name)} already exists`);
  }
}

function contextKey({ ownerId, name }: Pick<OwnContext, "ownerId" | "name">): string {
  return `${ownerId}/${name}`;
}

function checkText({ name, description, query, repositories }: ContextText): void {
  if (name.length > nameCharsMax || !/^[a-zA-Z0-9_\-/.]+$/.test(name)) {
    throw new TrawlError(
      "bad-request",
      `a search context name must have 1 to ${nameCharsMax} letters, digits and _ - / .`,
    );
  }
  if (description.length > descriptionCharsMax)
    throw new TrawlError(
      "bad-request",
      `search context description exceeds maximum allowed length (${descriptionCharsMax})`,
    );
  if (query !== "" && repositories.length > 0)
    throw new TrawlError("bad-request", "search context query and repositories are mutually exclusive");
  if (repositories.length > repositoryCountMax)
    throw new TrawlError(
      "bad-request",
      `a search context may list at most ${repositoryCountMax} repositories; use a query instead`,
    );
  const names = new Set(repositories.map((repository) => repository.name));
  if (names.size < repositories.length)
    throw new TrawlError("bad-request", "a repository is listed twice; list all its revisions in one entry");
  if (repositories.some(({ revisions }) => revisions.some((revision) => revision.length > revisionCharsMax))) {
    throw new TrawlError("bad-request", `a revision is longer than ${revisionCharsMax} characters`);
  }
  if (query !== "") checkQuery(query);
}

function checkQuery(query: string): void {
  if (query.length > queryCharsMax)
    throw new TrawlError("bad-request", `the query is longer than ${queryCharsMax} characters`);
  try {
    checkContextQuery(query, new Date().getTime());
  } catch (error) {
    if (error instanceof QueryError) throw new TrawlError("bad-request", `invalid query: ${error.message}`);
    throw error;
  }
}
