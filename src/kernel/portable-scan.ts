/** Position of the first match in `text[from, to)`, or -1. */
type Find = (from: number, to: number) => number;

/** Writes the row of a match at `start` to `rows[at]`, `rows[at + 1]`; returns where the next match may start. */
type WriteRow = (start: number, range: number, at: number) => number;

export function scan(text: Uint8Array, ranges: Uint32Array, rangeCount: number, needle: Uint8Array, foldAscii: boolean,
  rows: Uint32Array, cursor: Uint32Array): boolean {
  const writeMatch: WriteRow = (start, _range, at) => {
    rows[at] = start;
    rows[at + 1] = start + needle.length;
    return rows[at + 1];
  };
  return scanRanges(text, ranges, rangeCount, 3, needle, foldAscii, rows, cursor, writeMatch);
}

export function scanLines(text: Uint8Array, ranges: Uint32Array, rangeCount: number, needle: Uint8Array,
  foldAscii: boolean, delimiter: number, rows: Uint32Array, cursor: Uint32Array): boolean {
  const writeLine: WriteRow = (start, range, at) => {
    const end = ranges[range + 2];
    const floor = ranges[range + 3];
    let lineStart = start;
    while (lineStart > floor && text[lineStart - 1] !== delimiter) lineStart--;
    let lineEnd = start;
    while (lineEnd < end && text[lineEnd] !== delimiter) lineEnd++;
    rows[at] = lineStart;
    rows[at + 1] = lineEnd;
    // Not past `end`: the next content may begin right there.
    return Math.min(lineEnd + 1, end);
  };
  return scanRanges(text, ranges, rangeCount, 4, needle, foldAscii, rows, cursor, writeLine);
}

function scanRanges(text: Uint8Array, ranges: Uint32Array, rangeCount: number, stride: 3 | 4, needle: Uint8Array,
  foldAscii: boolean, rows: Uint32Array, cursor: Uint32Array, writeRow: WriteRow): boolean {
  const find = foldAscii ? foldedFind(text, needle) : exactFind(text, needle);
  const capacity = rows.length >>> 1;
  let [index, next, written] = cursor;
  while (written < capacity && index < rangeCount) {
    const range = index * stride;
    const end = Math.min(ranges[range + 1] + needle.length - 1, ranges[range + 2]);
    const start = find(Math.max(ranges[range], next), end);
    if (start === -1) index++;
    else next = writeRow(start, range, 2 * written++);
  }
  cursor[0] = index;
  cursor[1] = next;
  cursor[2] = written;
  return written < capacity;
}

function exactFind(text: Uint8Array, needle: Uint8Array): Find {
  const buffer = Buffer.from(text.buffer, text.byteOffset, text.length);
  return (from, to) => {
    if (from + needle.length > to) return -1;
    const at = buffer.subarray(from, to).indexOf(needle);
    return at === -1 ? -1 : from + at;
  };
}

/** The algorithm of Knuth, Morris and Pratt: no byte of the text is looked at again, however dense the near misses. */
function foldedFind(text: Uint8Array, needle: Uint8Array): Find {
  const borders = bordersOf(needle);
  return (from, to) => {
    let matched = 0;
    for (let i = from; i < to; i++) {
      let byte = text[i];
      if (byte >= 0x41 && byte <= 0x5a) byte |= 0x20;
      while (matched > 0 && needle[matched] !== byte) matched = borders[matched];
      if (needle[matched] === byte) matched++;
      if (matched === needle.length) return i + 1 - matched;
    }
    return -1;
  };
}

/** `borders[n]`: the longest proper prefix of the needle's first n bytes that is also a suffix of them. */
function bordersOf(needle: Uint8Array): Uint32Array {
  const borders = new Uint32Array(needle.length + 1);
  let border = 0;
  for (let n = 1; n < needle.length; n++) {
    while (border > 0 && needle[border] !== needle[n]) border = borders[border];
    if (needle[border] === needle[n]) border++;
    borders[n + 1] = border;
  }
  return borders;
}

export function countNewlines(text: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let i = from; i < to; i++) if (text[i] === 10) count++;
  return count;
}

export function newlineTable(text: Uint8Array, step: number, out: Uint32Array): void {
  let newlines = 0;
  for (let i = 0; i < out.length; i++) {
    out[i] = newlines;
    if (i + 1 < out.length) newlines += countNewlines(text, i * step, (i + 1) * step);
  }
}
