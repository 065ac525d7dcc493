import type { AuditEntry, AuditLog } from "../../account/records/audit-log.js";
import { auditEntry } from "../../account/records/audit-log.js";
import type { Accounts } from "../../account/identity/accounts.js";
import { errorMessage } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Manifest } from "../../catalog/manifest.js";
import type { PermissionState } from "../../codehost/readers/host-permissions.js";
import type { Connections } from "../../codehost/connections.js";
import { isSame } from "../../codehost/readers/reader-lists.js";
import { splitSecret } from "../../git/mirror/url-secret.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";
import type { OwnShare } from "../../sync/services/sync-settings.js";

/** Readers are added only while fewer lines than this wait for the audit log; they are removed at any time. */
const waitingLinesMax = 1_000;
/** Lines that are given to the audit log at once. */
const linesAtOnce = 100;

/**
 * Makes readers that code hosts have named those of the catalog. A change is in force when its call resolves. Its line of the audit
 * log is written afterwards: a right that is taken away must not wait for it, and there is nobody here who asked for the change
 * and could be told that it failed. Rights that are given wait while many lines do.
 */
export class HostReaders {
  readonly #catalog: Catalog;
  readonly #manifest: Manifest;
  readonly #share: OwnShare;
  readonly #audit: Pick<AuditLog, "record">;
  readonly #log: Log;
  #lines: AuditEntry[] = [];
  #writing: Promise<void> | undefined;

  constructor({
    catalog,
    manifest,
    share,
    audit,
    log,
  }: {
    readonly catalog: Catalog;
    readonly manifest: Manifest;
    /** What this node changes: of the rest others do this. */
    readonly share: OwnShare;
    readonly audit: AuditLog;
    readonly log: Log;
  }) {
    this.#catalog = catalog;
    this.#manifest = manifest;
    this.#share = share;
    this.#audit = audit;
    this.#log = log;
  }

  /**
   * For the repositories that this connection has brought into the catalog. Resolves with the names of those whose new readers have to
   * wait; the others among their readers have been removed.
   */
  async apply(connection: string, wanted: readonly RepositoryConfig[]): Promise<readonly string[]> {
    const late = new Set<string>();
    await this.#commit(`connection ${connection}`, () =>
      wanted.flatMap(({ name, url, readers }) => {
        const known = this.#catalog.repositoryByName(name);
        const isListed = known?.configured === true && known.private && known.source?.connection === connection;
        if (!isListed || known.url !== splitSecret(url).url || isSame(known.readers, readers)) return [];
        if (this.#lines.length < waitingLinesMax) return [{ ...known, readers }];
        const before = new Set(known.readers);
        const kept = readers.filter((reader) => before.has(reader));
        if (kept.length < readers.length) late.add(name);
        return kept.length === before.size ? [] : [{ ...known, readers: kept }];
      }),
    );
    return [...late];
  }

  /**
   * Removes the readers that a host has named if no host decides any more: its connection has another name, is gone, or does not list
   * the repository, which is kept until somebody confirms the removal.
   */
  async closeUndecided(connections: Pick<Connections, "permissionState">): Promise<void> {
    await this.#commit("configuration", () =>
      [...this.#catalog.repositories()].flatMap((known) => {
        const { readers, source, private: isPrivate } = known;
        if (source?.readersFromHost !== true || !isPrivate || readers.length === 0) return [];
        return connections.permissionState(source.connection, known) === undefined ? [{ ...known, readers: [] }] : [];
      }),
    );
  }

  /** Resolves when the lines of all changes so far have been written or lost. */
  async written(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #commit(from: string, differing: () => Repository[]): Promise<void> {
    if (differing().length === 0) return;
    const actor = { who: "trawld", sudoBy: undefined, from };
    for (const partition of this.#share.partitions()) {
      const isThere = ({ id }: Repository): boolean => this.#catalog.partitions.find(id) === partition;
      const { repositories } = await this.#manifest.publish(() => ({ repositories: differing().filter(isThere) }));
      for (const { name, readers } of repositories)
        this.#lines.push(auditEntry("readers-changed", actor, { repository: name, private: true, readers }));
    }
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    while (this.#lines.length > 0) {
      const some = this.#lines.slice(0, linesAtOnce);
      await Promise.all(some.map((line) => this.#record(line)));
      this.#lines = this.#lines.slice(some.length);
    }
    this.#writing = undefined;
  }

  async #record(line: AuditEntry): Promise<void> {
    try {
      await this.#audit.record(line);
    } catch (error) {
      this.#log.error(
        { ...line.what, from: line.actor.from },
        `readers of the code host are not in the audit log: ${errorMessage(error)}`,
      );
    }
  }
}

/** The user whom an identity provider of the configuration knows by a number of its own; undefined if there is none. */
export function findLinked(
  accounts: Pick<Accounts, "identities">,
  providers: readonly { readonly name: string; readonly issuer: string }[],
  provider: string,
  subject: string,
): string | undefined {
  const issuer = providers.find(({ name }) => name === provider)?.issuer;
  return issuer === undefined ? undefined : accounts.identities.find({ issuer, subject })?.name;
}

/** What `trawl repo list` says about the readers of a repository that a code host decides about. */
export function describeReaders(
  { name, url, configured, source }: Repository,
  connections: Pick<Connections, "permissionState">,
): { readonly readersFrom: string; readonly warnings: readonly string[] } {
  const connection = configured ? source?.connection : undefined;
  const state = connection === undefined ? undefined : connections.permissionState(connection, { name, url });
  if (connection === undefined || state === undefined) return { readersFrom: "", warnings: [] };
  const asked = state.askedAt === "" ? "not asked yet" : `asked ${state.askedAt}`;
  return { readersFrom: `connection ${connection}, ${asked}`, warnings: closedWarning(connection, state) };
}

function closedWarning(connection: string, { askedAt, isClosed, error }: PermissionState): readonly string[] {
  if (!isClosed) return [];
  const since = askedAt === "" ? "has not said yet" : `has not said since ${askedAt}`;
  const why = error === "" ? "" : `: ${error}`;
  return [`only site admins may read it, because the host of connection ${connection} ${since} who else may${why}`];
}
