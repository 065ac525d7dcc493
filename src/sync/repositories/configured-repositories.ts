import { TrawlError } from "../../base/errors.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";

/** A list that contains less than this share of the previously configured repositories is treated as a mistake. */
const remainingShareMin = 0.5;

const namedRepositoriesMax = 5;

/**
 * The records to write so that the catalog contains the configured repositories.
 *
 * A repository that is no longer configured is only marked as removed: searches do not find it, and its mirror and its
 * shards are kept until the grace period ends. If it is configured again within that time, it is restored completely. A
 * repository with a changed URL stays searchable in its old state until its new remote has been fetched.
 */
export function configuredRecords(
  catalog: Catalog,
  configured: readonly RepositoryConfig[],
  removedAt: string,
): Repository[] {
  return [
    ...vanished(catalog, configured).map((repository) => ({ ...repository, removedAt })),
    ...configured.flatMap((config) => findRecord(catalog, config) ?? []),
  ];
}

/** Throws `conflict` if most of the previously configured repositories are missing from the configuration. */
export function requireFewRemovals(catalog: Catalog, configured: readonly RepositoryConfig[]): void {
  const gone = vanished(catalog, configured);
  const before = [...catalog.repositories()].filter(isConfigured).length;
  if (before === 0 || before - gone.length >= before * remainingShareMin) return;
  const names = gone
    .slice(0, namedRepositoriesMax)
    .map(({ name }) => name)
    .join(", ");
  throw new TrawlError(
    "conflict",
    `this would remove ${gone.length} of ${before} configured repositories (${names}${gone.length > namedRepositoriesMax ? ", ..." : ""}). If that is intended, run \`trawl reload --yes\`.`,
  );
}

export function vanished(catalog: Catalog, configured: readonly RepositoryConfig[]): Repository[] {
  const names = new Set(configured.map(({ name }) => name));
  return [...catalog.repositories()].filter((repository) => isConfigured(repository) && !names.has(repository.name));
}

function isConfigured({ configured, removedAt }: Repository): boolean {
  return configured && removedAt === "";
}

/** Undefined if the catalog already has it. */
function findRecord(catalog: Catalog, config: RepositoryConfig): Repository | undefined {
  const known = catalog.repositoryByName(config.name);
  const metadata = { ...known?.addedMetadata, ...config.metadata };
  const wanted = { ...config, metadata, configured: true, removedAt: "" };
  return known !== undefined && holds(known, wanted)
    ? undefined
    : { ...(known ?? catalog.newRepository(config, true)), ...wanted, quarantine: undefined };
}

/** Whether the record already has all wanted properties. */
function holds(record: Repository, wanted: Partial<Repository>): boolean {
  return Object.entries(wanted).every(([field, value]) => {
    const known: unknown = record[field as keyof Repository];
    return known === value || (typeof value === "object" && JSON.stringify(known) === JSON.stringify(value));
  });
}
