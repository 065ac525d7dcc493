import type { CatalogView } from "../../catalog/live-shards.js";
import type { FindCondition } from "../../protocol/search-options.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { FindPosition, FindTaskResult, Lane } from "../../protocol/messages.js";
import type { SearchPool } from "../../pool/search-pool.js";
import { chooseShards } from "../slices/shard-choice.js";
import type { SliceScheduler } from "../slices/slice-scheduler.js";

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
