import { skipReasonFromCode } from "../model/skip-reason.js";
import type { Coverage } from "../protocol/coverage.js";
import type { StopCheck } from "../protocol/stop-check.js";
import { unpackSkipCode } from "../shard/format.js";
import type { ShardReader } from "../shard/shard-reader.js";
import type { BasicQueryEvaluator } from "./basic-query-evaluator.js";

/** Adds what basic queries cover in a shard. */
export function addCoverage(
  evaluators: readonly BasicQueryEvaluator[],
  reader: ShardReader,
  stop: StopCheck,
  coverage: Coverage,
): void {
  coverage.documentCount += countCovered(evaluators, reader, stop);
  const last = reader.contentFirstDocument[reader.contentCount + 1];
  const searching = evaluators.filter(({ searchesText }) => searchesText);
  if (searching.length === 0) return;
  for (let document = 0; document < last; document++) {
    stop.check();
    const reason = skipReasonFromCode(unpackSkipCode(reader.documentInfo[document]));
    const evaluator = reason === "none" ? undefined : searching.find((one) => one.covers(document));
    if (evaluator === undefined) continue;
    const { name } = evaluator.repositorySummary(document);
    coverage.unsearched.push({ repository: name, path: reader.path(document).toString(), reason });
  }
}

/** Documents that the index rules out are covered as well. */
function countCovered(evaluators: readonly BasicQueryEvaluator[], reader: ShardReader, stop: StopCheck): number {
  let count = 0;
  for (let document = 0; document < reader.documentCount; document++) {
    stop.check();
    for (const evaluator of evaluators) {
      if (!evaluator.covers(document)) continue;
      count++;
      break;
    }
  }
  return count;
}
