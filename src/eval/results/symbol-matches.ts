import type { Kernel } from "../../native/kernel/kernel.js";
import { symbolResultWordCount, symbolResultWords } from "../../native/kernel/symbol-kernel.js";
import { increase, type Tally } from "../../protocol/tally.js";
import { newlineStepBytes } from "../../shard/format.js";
import type { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { Rows } from "../match/rows.js";
import type { ResultList } from "./result-list.js";
import type { ResultSource } from "./result-source.js";
import type { ResultTemplates } from "./result-templates.js";

/** Results with symbols, the rows of which are names; `sources[i]` is that of result i. */
export interface SymbolResults {
  readonly view: SymbolView;
  readonly sources: readonly ResultSource[];
  readonly results: ResultList;
  readonly rows: Rows;
}

/** Counts the symbols whose names are the rows `[rowFrom, rowTo)` of a part, by the kind that `select:symbol.` names. */
export function countKinds(
  tally: Tally,
  view: SymbolView,
  part: number,
  { words }: Rows,
  rowFrom: number,
  rowTo: number,
  kernel: Kernel,
): void {
  const kinds = view.symbols.kindsOf(part, words, rowFrom, rowTo, kernel);
  for (let i = 0; i < rowTo - rowFrom; i++) {
    const kind = view.selectedKinds[kinds[i]] ?? "";
    if (kind !== "") increase(tally.symbolKinds, kind, 1);
  }
}

/** Returns a function that calls `encodeSymbols` of the kernel for the results. Throws `corrupt-shard`. */
export function symbolEncoder(
  { view, sources, results, rows }: SymbolResults,
  templates: ResultTemplates,
  kernel: Kernel,
  pauseAt: number,
  cursor: Uint32Array,
): (out: Uint8Array) => boolean {
  const kindStarts = templates.kindStarts(view.symbols.kinds);
  const words = describeResults(view, sources, results, templates);
  const request = {
    text: view.text.content,
    records: view.symbols.records,
    paths: view.paths,
    newlines: view.text.newlines,
    newlineStep: newlineStepBytes,
    fragments: templates.bytes,
    kindStarts,
    results: words,
    resultCount: results.count,
    rows: rows.words,
    out: new Uint8Array(0) as Uint8Array,
    pauseAt,
    cursor,
  };
  return (out) => {
    request.out = out;
    return view.symbols.guarded(() => kernel.encodeSymbols(request));
  };
}

/** The words of `symbolResultWords` of each result. */
function describeResults(
  view: SymbolView,
  sources: readonly ResultSource[],
  results: ResultList,
  templates: ResultTemplates,
): Uint32Array {
  const words = new Uint32Array(results.count * symbolResultWordCount);
  sources.forEach(({ document, content: part, summary, revision }, i) => {
    const own = i * symbolResultWordCount;
    const template = templates.find(summary, revision);
    const link = templates.link(template);
    const { rowFrom, rowTo } = results.rowsOf(i);
    const tail = results.tailOf(i);
    const { text, symbols } = view;
    const hasPart = part < view.contentCount;
    const content = hasPart ? symbols.parts.contents[part] : 0;
    const [recordFrom, recordTo] = hasPart ? symbols.recordRange(part) : [0, 0];
    words[own + symbolResultWords.pathFrom] = view.pathStart[document];
    words[own + symbolResultWords.pathTo] = view.pathStart[document + 1] - 1;
    words[own + symbolResultWords.headFrom] = template.from;
    words[own + symbolResultWords.headTo] = template.to;
    words[own + symbolResultWords.tailFrom] = tail.from;
    words[own + symbolResultWords.tailTo] = tail.to;
    words[own + symbolResultWords.linkFrom] = link.from;
    words[own + symbolResultWords.linkTo] = link.to;
    words[own + symbolResultWords.recordFrom] = recordFrom;
    words[own + symbolResultWords.recordTo] = recordTo;
    words[own + symbolResultWords.textFrom] = hasPart ? text.contentStart[content] : 0;
    words[own + symbolResultWords.textTo] = hasPart ? text.contentStart[content + 1] : 0;
    words[own + symbolResultWords.linesBefore] = hasPart ? text.contentFirstLine[content] : 0;
    words[own + symbolResultWords.namesFrom] = hasPart ? view.contentStart[part] : 0;
    words[own + symbolResultWords.rowFrom] = rowFrom;
    words[own + symbolResultWords.rowTo] = rowTo;
  });
  return words;
}
