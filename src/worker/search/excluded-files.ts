import type { BasicQueryEvaluator } from "../../eval/match/basic-query-evaluator.js";
import type { ExcludedFile } from "../../protocol/messages.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";

/** Most files that one slice reports as excluded: a client is shown the first ten. */
const excludedCountMax = 1000;

/** Adds a file to the list of those that a slice excluded from its results. */
export function recordExcluded(
  excluded: ExcludedFile[],
  reader: ShardReader,
  file: Pick<ExcludedFile, "document" | "repository" | "reason">,
): void {
  if (excluded.length < excludedCountMax)
    excluded.push({ ...file, shardId: reader.id, path: reader.path(file.document).toString() });
}

/** Adds the files for which ctags has failed, if `reader` is that of symbols: they cannot be searched for symbols. */
export function recordFailedSymbols(
  excluded: ExcludedFile[],
  reader: ShardReader,
  evaluators: readonly BasicQueryEvaluator[],
): void {
  if (!(reader instanceof SymbolView) || reader.symbols.failedCount === 0) return;
  for (const [document, reason] of reader.symbols.failedDocuments()) {
    const evaluator = evaluators.find((one) => one.covers(document));
    if (evaluator === undefined) continue;
    recordExcluded(excluded, reader, { document, repository: evaluator.repositorySummary(document).name, reason });
  }
}
