import { TrawlError } from "../../base/errors.js";
import { filterInSteps, mapInSteps } from "../../base/yielding.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";

/** A list that contains less than this share of the previously configured repositories is treated as a mistake. */
const remainingShareMin = 0.5;

const namedRepositoriesMax = 5;

/**
 * The records to write so that the catalog contains the configured repositories, computed in steps. Throws `conflict` if
 * most of the previously configured repositories are missing from the configuration, unless `mayRemoveMost`.
 *
 * A repository that is no longer configured is only marked as removed: searches do not find it, and its mirror and its
 * shards are kept until the grace period ends. If it is configured again within that time, it is restored completely. A
 * repository with a changed URL stays searchable in its old state until its new remote has been fetched.
 */
export function* configuredRecords(
  catalog: Catalog,
  configured: readonly RepositoryConfig[],
  removedAt: string,
  mayRemoveMost: boolean,
): Generator<void, Repository[]> {
  const before = yield* filterInSteps([...catalog.repositories()], isConfigured);
  const names = new Set(configured.map(({ name }) => name));
  const gone = yield* filterInSteps(before, ({ name }) => !names.has(name));
  if (!mayRemoveMost) requireFewRemovals(before.length, gone);
  const changed = yield* mapInSteps(configured, (config) => findRecord(catalog, config));
  return [
    ...gone.map((repository) => ({ ...repository, removedAt })),
    ...changed.filter((repository) => repository !== undefined),
  ];
}

function requireFewRemovals(beforeCount: number, gone: readonly Repository[]): void {
  if (beforeCount === 0 || beforeCount - gone.length >= beforeCount * remainingShareMin) return;
  const names = gone
    .slice(0, namedRepositoriesMax)
    .map(({ name }) => name)
    .join(", ");
  throw new TrawlError(
    "conflict",
    `this would remove ${gone.length} of ${beforeCount} configured repositories (${names}${gone.length > namedRepositoriesMax ? ", ..." : ""}). If that is intended, run \`trawl reload --yes\`, or for a connection \`trawl connection sync NAME --yes\`.`,
  );
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
    : { ...(known ?? catalog.newRepository(config, true)), ...wanted, quarantine: undefined, vanished: undefined };
}

/** Whether the record already has all wanted properties. */
function holds(record: Repository, wanted: Partial<Repository>): boolean {
  for (const field in wanted) {
    if (!isSame(record[field as keyof Repository], wanted[field as keyof Repository])) return false;
  }
  return true;
}

/** For values as the configuration has them: plain ones, and lists and objects of plain ones. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) && Array.isArray(b)) return areSame(a, b);
  return areSame(Object.keys(a), Object.keys(b)) && areSame(Object.values(a), Object.values(b));
}

function areSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
