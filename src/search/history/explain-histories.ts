import { errorMessage } from "../../base/errors.js";
import { operatorClient } from "../../model/client.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { CommitList } from "../../git/history/commit-list.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { CoverResult } from "../../protocol/history-messages.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { Resolution } from "../repositories/repository-resolver.js";
import { headerPlans, needsFiles } from "./header-plans.js";
import type { HistoryServices } from "./environment-context.js";
import { chooseHistories, searchesHistory, type HistoryGroup } from "./history-choice.js";
import { toStoredHistories } from "./stored-histories.js";

/** Repositories that are described one by one. */
const describedMax = 20;

/** Time limit for listing the commits of a repository. */
const listMsMax = 60_000;

type HistoryEnvironment = Pick<HistoryServices, "pool" | "scheduler" | "revisions"> & {
  readonly catalog: Pick<Catalog, "historyOf">;
};

/** A line for each history that a search would read; none if it searches no history. */
export async function explainHistories(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  control: ControlBlock,
  { catalog, pool, scheduler, revisions: { reads } }: HistoryEnvironment,
): Promise<string[]> {
  if (!searchesHistory(plan)) return [];
  const lines: string[] = [];
  let count = 0;
  for (const { repository, groups } of chooseHistories(plan, resolutions)) {
    if (++count > describedMax) continue;
    for (const group of groups) {
      const { from, fromHead, without, index } = group;
      const shards = index === "no" ? [] : toStoredHistories(catalog.historyOf(repository.id));
      const cover = (list: CommitList): Promise<CoverResult> =>
        scheduler.run("exhaustive", operatorClient, () => pool.coverHistory({ list, shards, control: control.memory }));
      const listed = await reads
        .run<"list-commits">(
          { kind: "list-commits", repositoryId: repository.id, from, fromHead, without },
          { stop: control.memory, timeoutMs: listMsMax, client: operatorClient },
        )
        .then(async ({ list }) => describeList(list, shards.length === 0 ? undefined : await cover(list), group))
        .catch((error: unknown) => errorMessage(error));
      lines.push(`history of ${repository.name}: ${listed}`);
    }
  }
  if (count > describedMax) lines.push(`history of ${count - describedMax} other repositories: not listed`);
  return lines;
}

function describeList({ count }: CommitList, cover: CoverResult | undefined, group: HistoryGroup): string {
  const unindexedCount = cover?.missing.length ?? count;
  const indexed =
    cover === undefined ? "" : `${count - unindexedCount} commits are in ${cover.shards.length} history shards`;
  const unread = group.index === "only" ? "are not searched" : `are read from the mirror, ${describeWork(group)}`;
  const unindexed = unindexedCount === 0 && cover !== undefined ? "" : `${unindexedCount} commits ${unread}`;
  return [indexed, unindexed].filter((part) => part !== "").join("; ");
}

function describeWork({ plans }: HistoryGroup): string {
  if (!needsFiles(plans)) return "without their changes";
  return headerPlans(plans) === undefined
    ? "with their changes"
    : "with the changes of those whose message and people satisfy the query";
}
