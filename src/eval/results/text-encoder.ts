import type { Kernel } from "../../native/kernel/kernel.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import { newlineStepBytes } from "../../shard/format.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { Labels } from "../match/labels.js";
import type { Rows } from "../match/rows.js";
import type { ResultList } from "./result-list.js";
import type { ResultTemplates } from "./result-templates.js";

/** Results whose rows are ranges of texts. */
interface TextResults {
  readonly results: ResultList;
  readonly rows: Rows;
  readonly labels: Labels;
  readonly templates: ResultTemplates;
  readonly cursor: Uint32Array;
}

/** Returns a function that calls `encodeResults` of the kernel for the results. */
export function textEncoder(
  reader: ShardReader,
  { results, rows, labels, templates, cursor }: TextResults,
  { chunkMatches, contextLines, lineBytesMax, cutsAround }: SearchOptions,
  kernel: Kernel,
  pauseAt: number,
): (out: Uint8Array) => boolean {
  const request = {
    text: reader.content,
    paths: reader.paths,
    newlines: reader.newlines,
    newlineStep: newlineStepBytes,
    fragments: templates.bytes,
    results: results.words,
    resultCount: results.count,
    rows: rows.words,
    chunks: chunkMatches,
    contextLines,
    lineBytesMax,
    out: new Uint8Array(0) as Uint8Array,
    pauseAt,
    cursor,
    labels: labels.words,
    labelCount: labels.count,
    cutsAround,
  };
  return (out) => {
    request.out = out;
    return kernel.encodeResults(request);
  };
}
