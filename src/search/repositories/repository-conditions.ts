import { BoundedMap } from "../../base/bounded-map.js";
import type { ShardTable } from "../../protocol/shard-table.js";
import type { RepositoryFilter } from "../../query/plan/plan.js";
import type { FindCondition } from "../../protocol/search-options.js";
import type { FindPosition, FindTaskResult, Lane } from "../../protocol/messages.js";
import { keepRevisions, type Resolution } from "./repository-resolver.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { SearchPool } from "../../pool/search-pool.js";
import { chooseShards } from "../slices/shard-choice.js";
import type { SliceScheduler } from "../slices/search-slices.js";

/** Limit on cached results per state of the index. Each has four bytes per repository and condition. */
const keptAnswersMax = 64;

/** By state of the index, then by filter: the results for each of its conditions. Entries live as long as the state. */
const keptAnswers = new WeakMap<ShardTable, BoundedMap<string, readonly Int32Array[]>>();

/**
 * What the filters chose, without the revisions for which one of their conditions fails, and without repositories that
 * have no other revision. All conditions are evaluated in one pass over the shards, scheduled like other slices.
 *
 * If the search is stopped, the result is incomplete and must not be used.
 */
export async function applyConditions(
  filters: readonly RepositoryFilter[],
  resolutions: readonly Resolution[],
  context: FindContext,
): Promise<Resolution[]> {
  const kept = tableCache(context.view.table);
  const asked = new Map<string, readonly FindCondition[]>();
  const keys = filters.map((filter, i) => cacheKey(filter, resolutions[i]));
  const answers = new Map<string, readonly Int32Array[]>();
  filters.forEach((filter, i) => {
    const known = kept.get(keys[i]);
    if (known !== undefined) answers.set(keys[i], known);
    else if (filter.conditions.length > 0) asked.set(keys[i], findConditions(filter, resolutions[i]));
  });
  let isComplete = true;
  const whole = {
    ...context,
    onLost: (error: unknown) => {
      isComplete = false;
      context.onLost(error);
    },
    onResult: (result: FindTaskResult) => {
      isComplete &&= result.failures.length + result.excluded.length === 0;
      context.onResult(result);
    },
  };
  await find([...asked.values()].flat(), whole);
  const isKept = isComplete && !context.control.isStopped;
  for (const [key, conditions] of asked) {
    const found = conditions.map((condition) => condition.found);
    answers.set(key, found);
    if (isKept) kept.set(key, found);
  }
  return filters.map((filter, i) => narrow(filter, resolutions[i], answers.get(keys[i]) ?? []));
}

/**
 * Equal if the conditions, revisions and repositories are the same. Dates are not part of these conditions, so relative
 * dates such as "a month ago" do not matter.
 */
function cacheKey(filter: RepositoryFilter, { tableId, selection }: Resolution): string {
  return JSON.stringify([tableId, { ...filter, committedAfter: [] }, [...(selection.revisions ?? [])]]);
}

function tableCache(table: ShardTable): BoundedMap<string, readonly Int32Array[]> {
  const kept = keptAnswers.get(table) ?? new BoundedMap<string, readonly Int32Array[]>(keptAnswersMax, () => 1);
  keptAnswers.set(table, kept);
  return kept;
}

/** The conditions of a filter, as sent to workers. */
export function findConditions({ conditions }: RepositoryFilter, resolution: Resolution): FindCondition[] {
  const results = emptyResults(resolution, conditions.length);
  return conditions.map(({ file }, i) => ({ file, selection: resolution.selection, found: results[i] }));
}

/**
 * Allocates so many results for these repositories, in one piece of shared memory: a query may have hundreds of
 * conditions, and one piece for each took most of the time.
 */
export function emptyResults({ repositories }: Resolution, count: number): Int32Array[] {
  const wordCount = repositories.reduce((max, { id }) => Math.max(max, id), 0) + 1;
  const memory = new SharedArrayBuffer(count * wordCount * 4);
  return Array.from({ length: count }, (_, i) => new Int32Array(memory, i * wordCount * 4, wordCount));
}

/**
 * The resolution without the indexed branches that the conditions rule out; `found` is the result of each condition.
 */
export function narrow(
  { conditions }: RepositoryFilter,
  resolution: Resolution,
  found: readonly Int32Array[],
): Resolution {
  if (conditions.length === 0) return resolution;
  return keepRevisions(
    resolution,
    ({ id }, { bit, unindexed }) =>
      unindexed !== undefined ||
      conditions.every(({ negated }, i) => (bit >= 0 && ((found[i][id] >>> bit) & 1) === 1) !== negated),
  );
}

/** What the look-up of repositories needs from its search. */
export interface FindContext {
  readonly view: CatalogView;
  readonly pool: Pick<SearchPool, "find" | "workerCount">;
  readonly scheduler: SliceScheduler;
  /** The search's control block: its stop word ends the look-up. */
  readonly control: ControlBlock;
  readonly lane: Lane;
  readonly client: string;
  /** Called with each slice's result, for its statistics and failures. */
  readonly onResult: (result: FindTaskResult) => void;
  /** Called when a worker has crashed: its remaining shards are not examined. */
  readonly onLost: (error: unknown) => void;
}

/**
 * Evaluates the conditions on the shards, scheduled like other slices. If the search is stopped, the results are
 * incomplete and must not be used.
 */
export async function find(conditions: readonly FindCondition[], context: FindContext): Promise<void> {
  const { rows } = chooseShards(
    context.view,
    conditions.map(({ file, selection }) => ({ text: file, selection })),
    false,
  );
  const next = new Int32Array(new SharedArrayBuffer(4));
  const runSlices = async (): Promise<void> => {
    let resume: FindPosition | undefined;
    do {
      const task = {
        conditions,
        table: context.view.table.memory,
        filter: context.view.filter.memory,
        rows,
        next,
        control: context.control.memory,
        lane: context.lane,
        resume,
      };
      const result = await context.scheduler.run(context.lane, context.client, () => context.pool.find(task));
      context.onResult(result);
      resume = result.resume;
    } while (resume !== undefined && !context.control.isStopped);
  };
  const sliceCount = Math.min(context.pool.workerCount, rows.length);
  await Promise.all(Array.from({ length: sliceCount }, () => runSlices().catch(context.onLost)));
}
