import { RecordSymbols } from "./record-symbols.js";
import { placeWordCount } from "./symbol-kernel.js";

export function symbolsAtRows(
  records: Uint8Array,
  recordFrom: number,
  recordTo: number,
  textFrom: number,
  textTo: number,
  rows: Uint32Array,
  rowFrom: number,
  rowTo: number,
  symbolsMax: number,
  out: Uint32Array,
): number {
  if (rowFrom === rowTo) return 0;
  const found = { count: 0 };
  try {
    const symbols = new RecordSymbols(records.subarray(recordFrom, recordTo), { from: textFrom, to: textTo });
    findSymbols(symbols, rows, rowFrom, rowTo, symbolsMax, out, found);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return found.count;
}

function findSymbols(
  symbols: RecordSymbols,
  rows: Uint32Array,
  rowFrom: number,
  rowTo: number,
  symbolsMax: number,
  out: Uint32Array,
  found: { count: number },
): void {
  const end = rows[2 * rowTo - 1];
  const countMax = Math.floor(out.length / placeWordCount);
  let reference = 1;
  let row = rowFrom;
  let seen = 0;
  while (seen < symbolsMax && found.count < countMax && symbols.next()) {
    const { from, to, kind, isStored } = symbols;
    if (symbols.reference > 0) reference = symbols.reference;
    if (isStored) continue;
    if (from >= end) return;
    seen++;
    while (row < rowTo && rows[2 * row] < from) row++;
    if (row === rowTo) return;
    if (rows[2 * row + 1] <= to) out.set([from, to, kind, reference], placeWordCount * found.count++);
  }
}
