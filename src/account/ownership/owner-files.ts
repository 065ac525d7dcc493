import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Actor } from "../records/audit-log.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import type { TransactionQueue } from "../records/transaction-queue.js";

/** Code owners that a site admin has set for the repository with this id, in the format of a CODEOWNERS file. */
export interface OwnerFile {
  /** The id of the repository. */
  readonly id: number;
  readonly contents: string;
  /** Another one after each change; at least 1. */
  readonly version: number;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A repository, by id, and by name for messages and the audit log. */
export interface OwnedRepository {
  readonly id: number;
  readonly name: string;
}

/** In UTF-16 code units. The first is also the limit on files of repositories, in bytes. */
const contentsLengthMax = 3 << 20;
const totalLengthMax = 128 << 20;

/**
 * Code owners of repositories that have no CODEOWNERS file of their own. They apply to all commits of a repository. They
 * are kept while the repository is kept, and are removed at the next start after it.
 */
export class OwnerFiles {
  readonly #changes: TransactionQueue;
  readonly #table: RecordTable<OwnerFile>;
  /** Created when a search first needs them. */
  readonly #bytes = new WeakMap<OwnerFile, Uint8Array>();
  #totalLength = 0;

  constructor(tables: RecordTables, changes: TransactionQueue) {
    this.#changes = changes;
    this.#table = tables.add<OwnerFile>("owners/", (before, after) => {
      this.#totalLength += (after?.contents.length ?? 0) - (before?.contents.length ?? 0);
    });
  }

  /** Undefined if none were set for the repository. */
  get(repositoryId: number): OwnerFile | undefined {
    return this.#table.get(repositoryId);
  }

  all(): IterableIterator<OwnerFile> {
    return this.#table.values();
  }

  /** The text as bytes, and its version; undefined if there is none. */
  bytesOf(repositoryId: number): { readonly bytes: Uint8Array; readonly version: number } | undefined {
    const file = this.#table.get(repositoryId);
    if (file === undefined) return undefined;
    let bytes = this.#bytes.get(file);
    if (bytes === undefined) {
      bytes = Buffer.from(file.contents);
      this.#bytes.set(file, bytes);
    }
    return { bytes, version: file.version };
  }

  /** Rejects with `conflict` if the repository has such a file already. */
  add(repository: OwnedRepository, contents: string, actor: Actor): Promise<OwnerFile> {
    return this.#put(repository, contents, actor, (before) => {
      if (before !== undefined)
        throw new TrawlError("conflict", "codeowners file has already been ingested for this repository");
    });
  }

  /** Rejects with `not-found` if the repository has no such file. */
  replace(repository: OwnedRepository, contents: string, actor: Actor): Promise<OwnerFile> {
    return this.#put(repository, contents, actor, (before) => {
      if (before === undefined)
        throw new TrawlError("not-found", `could not update codeowners file: ${notFound(repository)}`);
    });
  }

  /** Removes the files of all these repositories. Rejects with `not-found` if one of them has none. */
  async remove(repositories: readonly OwnedRepository[], actor: Actor): Promise<void> {
    await this.#changes.commit(
      () => {
        const steps = repositories.map((repository) => {
          const file = this.#table.get(repository.id);
          if (file === undefined) throw new TrawlError("not-found", notFound(repository));
          return this.#table.remove(file);
        });
        return { steps, result: undefined };
      },
      () => auditEntry("owners-changed", actor, { repositories: repositories.map(({ name }) => name), removed: true }),
    );
  }

  /** The writes that remove the files of repositories that no longer exist. */
  removingUnless(exists: (repositoryId: number) => boolean): readonly RecordWrite[] {
    const gone = [...this.#table.values()].filter(({ id }) => !exists(id));
    return gone.map((file) => this.#table.remove(file));
  }

  #put(
    { id, name }: OwnedRepository,
    contents: string,
    actor: Actor,
    check: (before: OwnerFile | undefined) => void,
  ): Promise<OwnerFile> {
    if (contents.length > contentsLengthMax)
      throw new TrawlError("bad-request", `the file has more than ${contentsLengthMax} characters`);
    return this.#changes.commit(
      () => {
        const before = this.#table.get(id);
        check(before);
        const total = this.#totalLength + contents.length - (before?.contents.length ?? 0);
        if (total > totalLengthMax)
          throw new TrawlError(
            "overloaded",
            `the code owners of all repositories would have more than ${totalLengthMax} characters; delete some first`,
          );
        const updatedAt = new Date().toISOString();
        const createdAt = before?.createdAt ?? updatedAt;
        const result: OwnerFile = { id, contents, version: this.#changes.newId(), createdAt, updatedAt };
        return { steps: [this.#table.put(result)], result };
      },
      () => auditEntry("owners-changed", actor, { repository: name, characters: contents.length }),
    );
  }
}

function notFound({ name }: OwnedRepository): string {
  return `codeowners file not found: ${name}`;
}
