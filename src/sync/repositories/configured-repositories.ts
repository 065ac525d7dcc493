import { TrawlError } from "../../base/errors.js";
import { filterInSteps, mapInSteps } from "../../base/yielding.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";
import { isSameRepository } from "./shared-names.js";

/** A list that contains less than this share of the repositories that were configured by it is treated as a mistake. */
const remainingShareMin = 0.5;

const namedRepositoriesMax = 5;

/**
 * What to do with a list that lacks most of what it had: refuse all lists, keep what it lacks (but not what a connection that
 * is exempt lacks, which has confirmed it), or remove it.
 */
export type RemovalGuard =
  | { readonly kind: "refuse" }
  | { readonly kind: "keep"; readonly exempt: string | undefined }
  | { readonly kind: "remove" };

/**
 * The records to write, the repositories that are kept although their list lacks them, and those that are deleted because
 * another repository has taken over their name.
 */
export interface ConfiguredRecords {
  readonly records: readonly Repository[];
  readonly kept: readonly Repository[];
  readonly replaced: readonly Repository[];
}

/**
 * The records to write so that the catalog contains the configured repositories of one partition, computed in steps. Each list is guarded for
 * itself: that of each of the `connections`, and the configuration file, which also decides which connections there are.
 * Throws `conflict` if most of one list is missing, and the guard refuses that.
 *
 * A repository that is no longer configured is only marked as removed: searches do not find it, and its mirror and its
 * shards are kept until the grace period ends. If it is configured again within that time, it is restored completely. A
 * repository with a changed URL stays searchable in its old state until its new remote has been fetched. If another
 * repository takes over a name, what is indexed under that name is deleted, and the record is a new one.
 */
export function* configuredRecords(
  catalog: Catalog,
  configured: readonly RepositoryConfig[],
  connections: ReadonlySet<string>,
  leftOutBefore: ReadonlySet<string>,
  removedAt: string,
  guard: RemovalGuard,
  partition: number,
): Generator<void, ConfiguredRecords> {
  const { partitions } = catalog;
  const isHere = ({ id }: Repository): boolean => partitions.find(id) === partition;
  // A name never changes, so a repository is where one with its name is placed.
  const here = yield* filterInSteps(configured, ({ name }) => partitions.place(name) === partition);
  const before = yield* filterInSteps([...catalog.repositories()], isConfigured);
  const names = new Set(configured.map(({ name }) => name));
  const gone = yield* filterInSteps(before, ({ name }) => !names.has(name));
  const listOf = ({ source }: Repository): string =>
    source !== undefined && connections.has(source.connection) ? source.connection : "";
  const lost = guard.kind === "remove" ? [] : lostLists(before, gone, listOf);
  if (guard.kind === "refuse" && lost[0] !== undefined) throw refusal(lost[0]);
  const keptLists = new Set(
    lost.map(({ list }) => list).filter((list) => guard.kind === "keep" && list !== guard.exempt),
  );
  const replaced: Repository[] = [];
  const changed = yield* mapInSteps(here, (config) => findRecord(catalog, config, leftOutBefore, replaced));
  const goneHere = gone.filter(isHere);
  return {
    replaced,
    records: [
      ...goneHere.filter((one) => !keptLists.has(listOf(one))).map((repository) => ({ ...repository, removedAt })),
      ...changed.filter((repository) => repository !== undefined),
    ],
    kept: goneHere.filter((one) => keptLists.has(listOf(one))),
  };
}

interface LostList {
  readonly list: string;
  readonly gone: readonly Repository[];
  readonly count: number;
}

/** The lists that lack most of what they had. */
function lostLists(
  before: readonly Repository[],
  gone: readonly Repository[],
  listOf: (repository: Repository) => string,
): readonly LostList[] {
  const counts = new Map<string, number>();
  for (const one of before) counts.set(listOf(one), (counts.get(listOf(one)) ?? 0) + 1);
  const lists = [...counts].map(([list, count]) => ({ list, count, gone: gone.filter((one) => listOf(one) === list) }));
  return lists.filter(({ count, gone }) => count - gone.length < count * remainingShareMin);
}

function refusal({ list, gone, count }: LostList): TrawlError {
  const names = gone
    .slice(0, namedRepositoriesMax)
    .map(({ name }) => name)
    .join(", ");
  const shown = `${names}${gone.length > namedRepositoriesMax ? ", ..." : ""}`;
  const what = list === "" ? "configured repositories" : `repositories of connection ${list}`;
  return new TrawlError(
    "conflict",
    `this would remove ${gone.length} of ${count} ${what} (${shown}). If that is intended, run \`trawl reload --yes\`, or for a connection \`trawl connection sync NAME --yes\`.`,
  );
}

function isConfigured({ configured, removedAt }: Repository): boolean {
  return configured && removedAt === "";
}

/** Undefined if the catalog already has it. Adds the record of another repository that has had the name to `replaced`. */
function findRecord(
  catalog: Catalog,
  config: RepositoryConfig,
  leftOutBefore: ReadonlySet<string>,
  replaced: Repository[],
): Repository | undefined {
  const found = catalog.repositoryByName(config.name);
  const known = found !== undefined && isSameRepository(found, config, leftOutBefore) ? found : undefined;
  // It was added by hand after the repositories had been chosen.
  if (found !== undefined && known === undefined && !found.configured && config.source !== undefined) return undefined;
  const metadata = { ...known?.addedMetadata, ...config.metadata };
  const wanted = {
    ...config,
    metadata,
    lfs: config.lfs,
    source: config.source,
    submodules: config.submodules,
    configured: true,
    removedAt: "",
  };
  if (known !== undefined && holds(known, wanted)) return undefined;
  if (found !== undefined && known === undefined) replaced.push(found);
  return {
    ...(known ?? catalog.newRepository(config, true, found)),
    ...wanted,
    quarantine: undefined,
    vanished: undefined,
  };
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
  return a.length === b.length && a.every((value, i) => isSame(value, b[i]));
}
