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
  addUnsearched(
    evaluators.filter(({ searchesText }) => searchesText),
    reader,
    stop,
    coverage,
  );
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

/** Documents without a text come after all others; among the symbols of a shard, so do those without symbols. */
function addUnsearched(
  evaluators: readonly BasicQueryEvaluator[],
  reader: ShardReader,
  stop: StopCheck,
  { unsearched }: Coverage,
): void {
  const last = reader.contentFirstDocument[reader.contentCount + 1];
  for (let document = reader.contentFirstDocument[reader.contentCount]; document < last; document++) {
    stop.check();
    const reason = skipReasonFromCode(unpackSkipCode(reader.documentInfo[document]));
    const evaluator = reason === "none" ? undefined : evaluators.find((one) => one.covers(document));
    if (evaluator === undefined) continue;
    const { name } = evaluator.repositorySummary(document);
    unsearched.push({ repository: name, path: reader.path(document).toString(), reason });
  }
}
