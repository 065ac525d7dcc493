import type { AuditLog } from "../../account/records/audit-log.js";
import { auditEntry } from "../../account/records/audit-log.js";
import type { Accounts } from "../../account/identity/accounts.js";
import { errorMessage } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { PermissionState } from "../../codehost/permissions/host-permissions.js";
import type { Connections } from "../../codehost/connections.js";
import { splitSecret } from "../../git/mirror/url-secret.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";

/**
 * Makes readers that a code host has named those of the catalog, for the repositories that this connection has brought there.
 * They are in force when this resolves. The audit log is written afterwards, because what is taken away must not depend on it.
 */
export async function applyReaders(
  { catalog, audit, log }: { readonly catalog: Catalog; readonly audit: AuditLog; readonly log: Log },
  connection: string,
  wanted: readonly RepositoryConfig[],
): Promise<void> {
  const isSame = (a: readonly string[], b: readonly string[]): boolean =>
    a === b || (a.length === b.length && a.every((name, i) => name === b[i]));
  const differing = (): Repository[] =>
    wanted.flatMap(({ name, url, readers }) => {
      const known = catalog.repositoryByName(name);
      const isListed = known?.configured === true && known.private && known.source?.connection === connection;
      if (!isListed || known.url !== splitSecret(url).url || isSame(known.readers, readers)) return [];
      return [{ ...known, readers }];
    });
  if (differing().length === 0) return;
  const { repositories } = await catalog.commit(() => ({ repositories: differing() }));
  const actor = { who: "trawld", sudoBy: undefined, from: `connection ${connection}` };
  for (const { name, readers } of repositories) {
    try {
      await audit.record(auditEntry("readers-changed", actor, { repository: name, private: true, readers }));
    } catch (error) {
      log.error(
        { connection, repository: name },
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
