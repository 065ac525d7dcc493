import type { CatalogView } from "../catalog/catalog.js";
import type { ShardTable } from "../catalog/shard-table.js";
import { defaultBranchBit, type Repository } from "../model/repository.js";
import type { RepositoryFilter } from "../query/plan.js";
import { controlWords, stopReasons, type FindCondition, type RepositorySelection, type RevisionChoice } from "../task/search-options.js";
import type { FindPlace, FindTaskResult, Lane } from "../worker/messages.js";
import type { SearchPool } from "../worker/pools.js";
import { bitsOf, type Resolution } from "./repository-resolver.js";
import { chooseShards } from "./shard-choice.js";
import type { SliceScheduler } from "./slice-scheduler.js";

/** What the look for repositories needs of its search. */
export interface FindContext {
  readonly view: CatalogView;
  readonly pool: Pick<SearchPool, "find" | "workerCount">;
  readonly scheduler: SliceScheduler;
  /** The search's control block: its stop word ends the look. */
  readonly control: Int32Array;
  readonly lane: Lane;
  /** Told of each slice, for its stats and its failures. */
  readonly onResult: (result: FindTaskResult) => void;
  /** Told of a worker that died: what it had left is not looked at. */
  readonly onLost: (error: unknown) => void;
}

/** Answers that are kept of one state of the index. Each has four bytes for every repository and condition. */
const keptAnswersMax = 64;

/** By state of the index, then by filter: what was found for each of its conditions. They go with the state. */
const keptAnswers = new WeakMap<ShardTable, Map<string, readonly Int32Array[]>>();

/**
 * What the filters chose, less the revisions for which one of their conditions fails, and the repositories that have no
 * other revision. All conditions are looked for in one pass over the shards, in the search's turn among others.
 *
 * When the search is stopped on the way the answer is not complete; then nobody wants it.
 */
export async function applyConditions(filters: readonly RepositoryFilter[], resolutions: readonly Resolution[], context: FindContext): Promise<Resolution[]> {
  const kept = keptOf(context.view.table);
  const asked = new Map<string, readonly FindCondition[]>();
  const keys = filters.map((filter) => JSON.stringify(filter));
  filters.forEach(({ conditions }, i) => {
    if (conditions.length > 0 && !kept.has(keys[i])) asked.set(keys[i], conditionsOf(filters[i], resolutions[i]));
  });
  let isComplete = true;
  const whole = { ...context, onLost: (error: unknown) => { isComplete = false; context.onLost(error); },
    onResult: (result: FindTaskResult) => { isComplete &&= result.failures.length === 0; context.onResult(result); } };
  await find([...asked.values()].flat(), whole);
  const answers = new Map(kept);
  for (const [key, conditions] of asked) answers.set(key, conditions.map(({ found }) => found));
  if (isComplete && !isStopped(context.control)) keep(kept, asked, answers);
  return filters.map((filter, i) => narrow(filter, resolutions[i], answers.get(keys[i]) ?? []));
}

function keptOf(table: ShardTable): Map<string, readonly Int32Array[]> {
  const kept = keptAnswers.get(table) ?? new Map<string, readonly Int32Array[]>();
  keptAnswers.set(table, kept);
  return kept;
}

function keep(kept: Map<string, readonly Int32Array[]>, asked: ReadonlyMap<string, unknown>, answers: ReadonlyMap<string, readonly Int32Array[]>): void {
  if (kept.size + asked.size > keptAnswersMax) kept.clear();
  for (const key of [...asked.keys()].slice(0, keptAnswersMax)) kept.set(key, answers.get(key) ?? []);
}

/** What workers are asked for the conditions of a filter. */
export function conditionsOf({ conditions }: RepositoryFilter, { repositories, selection }: Resolution): FindCondition[] {
  const idMax = repositories.reduce((max, { id }) => Math.max(max, id), 0);
  return conditions.map(({ file }) => ({ file, selection, found: new Int32Array(new SharedArrayBuffer((idMax + 1) * 4)) }));
}

async function find(conditions: readonly FindCondition[], context: FindContext): Promise<void> {
  const { places } = chooseShards(context.view, conditions.map(({ file, selection }) => ({ text: file, selection })));
  const next = new Int32Array(new SharedArrayBuffer(4));
  const runSlices = async (): Promise<void> => {
    let resume: FindPlace | undefined;
    do {
      const task = { conditions, table: context.view.table.memory, filter: context.view.filter.memory, places, next, control: context.control, lane: context.lane, resume };
      const result = await inTurn(context, () => context.pool.find(task));
      context.onResult(result);
      resume = result.resume;
    } while (resume !== undefined && !isStopped(context.control));
  };
  const sliceCount = Math.min(context.pool.workerCount, places.length);
  await Promise.all(Array.from({ length: sliceCount }, () => runSlices().catch(context.onLost)));
}

function inTurn<T>({ scheduler, lane }: FindContext, run: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => scheduler.schedule(lane, () => run().then(resolve, reject)));
}

function isStopped(control: Int32Array): boolean {
  return Atomics.load(control, controlWords.stop) !== stopReasons.none;
}

/** The resolution less what the conditions rule out; `found` is the answer to each. */
export function narrow({ conditions }: RepositoryFilter, resolution: Resolution, found: readonly Int32Array[]): Resolution {
  if (conditions.length === 0) return resolution;
  const { selection } = resolution;
  const holds = (id: number, bit: number): boolean =>
    conditions.every(({ negated }, i) => (bit >= 0 && ((found[i][id] >>> bit) & 1) === 1) !== negated);
  const revisions = new Map<number, readonly RevisionChoice[]>();
  const repositories = resolution.repositories.filter((repository) => {
    const chosen = selection.revisions?.get(repository.id);
    if (chosen === undefined) return holds(repository.id, defaultBranchBit(repository));
    const left = chosen.filter(({ bit }) => holds(repository.id, bit));
    if (left.length > 0) revisions.set(repository.id, left);
    return left.length > 0;
  });
  return { ...resolution, repositories, selection: selectionOf(repositories, revisions) };
}

function selectionOf(repositories: readonly Repository[], revisions: ReadonlyMap<number, readonly RevisionChoice[]>): RepositorySelection {
  return { repositoryIds: bitsOf(repositories), revisions: revisions.size === 0 ? undefined : revisions };
}
