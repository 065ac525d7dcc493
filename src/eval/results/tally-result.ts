import { fileKinds } from "../../model/file-kind.js";
import type { Tally } from "../../protocol/tally.js";
import { fileKindMaskOfInfo } from "../../shard/format.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";

/** Counts the matches of a document by the kinds of its file, and by the kind of result. */
export function tallyResult(
  tally: Tally,
  reader: ShardReader,
  document: number,
  isContent: boolean,
  count: number,
  hasPathRows: boolean,
): void {
  const kinds = fileKindMaskOfInfo(reader.documentInfo[document]);
  if (kinds !== 0) for (let i = 0; i < fileKinds.length; i++) if ((kinds >>> i) & 1) tally.fileKinds[i] += count;
  if (isContent && reader instanceof SymbolView) tally.symbolMatches += count;
  else if (isContent) tally.contentMatches += count;
  if (hasPathRows || !isContent) tally.pathMatches++;
}
