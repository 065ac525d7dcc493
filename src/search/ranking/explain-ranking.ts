import { callAfter } from "../../base/deadline.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import { operatorClient } from "../../model/client.js";
import { ControlBlock } from "../../protocol/control-block.js";
import { noStats, type SearchOptions } from "../../protocol/search-options.js";
import { type LimitDefaults, searchLimits, isRanked } from "../limits/search-limits.js";
import type { SliceServices } from "../slices/search-slices.js";
import { chooseShards, textChoices } from "../slices/shard-choice.js";
import { describeScore } from "./describe-score.js";
import { RankedPass } from "./ranked-pass.js";

/** Ranking sends no results. */
const unlimitedCredit = 2 ** 30;

/** Describes the documents that a search of the indexed branches sends first, and how they were scored. */
export async function explainRanking(
  id: number,
  options: SearchOptions,
  view: CatalogView,
  environment: SliceServices & LimitDefaults,
): Promise<string[]> {
  const { plan, selections } = options;
  const limits = searchLimits(plan, { defaultCount: undefined, display: undefined }, environment);
  if (!isRanked(plan, limits)) return ["not ranked: results are sent in the order in which they are found"];
  const control = ControlBlock.allocate(1, unlimitedCredit, 0);
  const timeout = callAfter(environment.maxTimeoutMs, () => control.cancel());
  const search = {
    id,
    environment,
    view,
    control,
    lane: "exhaustive",
    client: operatorClient,
    debug: true,
    slices: undefined,
  } as const;
  const { rows } = chooseShards(view, textChoices(plan, selections), false);
  const { best } = await new RankedPass(search, { options, rows, cached: [], ranked: undefined }).run(noStats());
  timeout.cancel();
  return [
    `ranked: ${best.length} documents`,
    ...best.map((document, i) => {
      const path = Buffer.from(document.path, "latin1").toString();
      return `${i + 1}. ${document.repository}:${path}: ${describeScore(document)}`;
    }),
  ];
}
