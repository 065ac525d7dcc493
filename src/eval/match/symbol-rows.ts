import type { SymbolKernel } from "../../native/kernel/symbol-kernel.js";
import type { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { Rows } from "./rows.js";

const newline = 10;

/** Replaces the rows from `rowFrom` on, which are sorted and within names of the part, by those of the whole names. */
export function widenToNames(view: SymbolView, part: number, rows: Rows, rowFrom: number): void {
  const { words, count } = rows;
  const partStart = view.contentStart[part];
  let kept = rowFrom;
  for (let i = rowFrom; i < count; i++) {
    const start = words[2 * i];
    if (kept > rowFrom && start <= words[2 * kept - 1]) continue;
    words[2 * kept] = start === partStart ? start : view.content.lastIndexOf(newline, start - 1) + 1;
    if (words[2 * kept] < partStart) words[2 * kept] = partStart;
    words[2 * kept + 1] = view.content.indexOf(newline, start);
    kept++;
  }
  rows.count = kept;
}

/** Adds the names of all symbols of a part. */
export function addAllNames(view: SymbolView, part: number, rows: Rows): void {
  const end = view.contentStart[part + 1];
  for (let from = view.contentStart[part]; from < end; ) {
    const to = view.content.indexOf(newline, from);
    rows.push(from, to);
    from = to + 1;
  }
}

/** Removes the rows from `rowFrom` on of symbols of other kinds. The rows are whole names. */
export function keepKind(
  view: SymbolView,
  part: number,
  kind: string,
  rows: Rows,
  rowFrom: number,
  kernel: SymbolKernel,
): void {
  const { words, count } = rows;
  const kinds = view.symbols.kindsOf(part, words, rowFrom, count, kernel);
  let kept = rowFrom;
  for (let i = rowFrom; i < count; i++) {
    if (view.selectedKinds[kinds[i - rowFrom]] !== kind) continue;
    words[2 * kept] = words[2 * i];
    words[2 * kept + 1] = words[2 * i + 1];
    kept++;
  }
  rows.count = kept;
}
