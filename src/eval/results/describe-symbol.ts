import { decodeByteString } from "../../base/bytes.js";
import { shownSymbolKind } from "../../model/symbol-kind.js";
import type { ContentSymbols } from "../../shard/symbols/content-symbols.js";

const newline = 10;

/** Columns are counted in this many bytes of a line. */
const columnBytesMax = 10_000;

/** A symbol as results show it; `place` is the end of its URL, such as `L2:17-2:25`, or `L2` if its column is not known. */
export function describeSymbol(symbols: ContentSymbols, i: number, text: Buffer) {
  const name = decodeByteString(symbols.names[i]);
  const line = symbols.lines[i];
  const column = findColumn(text, symbols.offsets[i]);
  return {
    place: column === 0 ? `L${line}` : `L${line}:${column}-${line}:${column + countCharacters(name)}`,
    name,
    containerName: decodeByteString(symbols.containers[i]),
    kind: shownSymbolKind(symbols.kinds[i]),
    line,
  };
}

/** Code points; a surrogate pair is one. */
function countCharacters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xdc00) count--;
  return count;
}

/** Characters before the offset in its line, plus 1; 0 if the name is not in its line. */
function findColumn(text: Buffer, offset: number): number {
  if (offset < 0) return 0;
  const start = offset === 0 ? 0 : text.lastIndexOf(newline, offset - 1) + 1;
  if (offset - start > columnBytesMax) return 0;
  let column = 1;
  for (let at = start; at < offset; at++) if ((text[at] & 0xc0) !== 0x80) column++;
  return column;
}
