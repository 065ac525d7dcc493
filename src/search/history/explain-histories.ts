import { errorMessage } from "../../base/errors.js";
import { operatorClient } from "../../model/client.js";
import type { ReadPool } from "../../pool/read-pool.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { Resolution } from "../repositories/repository-resolver.js";
import { headerPlans, needsFiles } from "./header-plans.js";
import { chooseHistories, searchesHistory, type HistoryGroup } from "./history-choice.js";

/** Repositories that are described one by one. */
const describedMax = 20;

/** Time limit for listing the commits of a repository. */
const listMsMax = 60_000;

/** A line for each history that a search would read; none if it searches no history. */
export async function explainHistories(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  control: ControlBlock,
  reads: Pick<ReadPool, "run">,
): Promise<string[]> {
  if (!searchesHistory(plan)) return [];
  const lines: string[] = [];
  let count = 0;
  for (const { repository, groups } of chooseHistories(plan, resolutions)) {
    if (++count > describedMax) continue;
    for (const group of groups) {
      const { from, fromHead, without } = group;
      const listed = await reads
        .run<"list-commits">(
          { kind: "list-commits", repositoryId: repository.id, from, fromHead, without },
          { stop: control.memory, timeoutMs: listMsMax, client: operatorClient },
        )
        .then(({ list }) => `${list.count} commits are read from the mirror, ${describeWork(group)}`)
        .catch((error: unknown) => errorMessage(error));
      lines.push(`history of ${repository.name}: ${listed}`);
    }
  }
  if (count > describedMax) lines.push(`history of ${count - describedMax} other repositories: not listed`);
  return lines;
}

function describeWork({ plans }: HistoryGroup): string {
  if (!needsFiles(plans)) return "without their changes";
  return headerPlans(plans) === undefined
    ? "with their changes"
    : "with the changes of those whose message and people satisfy the query";
}
