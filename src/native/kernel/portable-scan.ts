/** Position of the first match in `text[from, to)`, or -1. */
type Find = (from: number, to: number) => number;

/** Writes the row of a match at `start` to `rows[at]`, `rows[at + 1]`; returns where the next match may start. */
type WriteRow = (start: number, range: number, at: number) => number;

/** For longer needles `linearFind` is used, because `indexOf` may compare most of the needle at each position. */
const indexOfBytesMax = 64;

export function scan(
  text: Uint8Array,
  ranges: Uint32Array,
  rangeCount: number,
  needle: Uint8Array,
  foldAscii: boolean,
  workMax: number,
  rows: Uint32Array,
  cursor: Uint32Array,
): boolean {
  const writeMatch: WriteRow = (start, _range, at) => {
    rows[at] = start;
    rows[at + 1] = start + needle.length;
    return rows[at + 1];
  };
  return scanRanges(text, ranges, rangeCount, 3, needle, foldAscii, workMax, rows, cursor, writeMatch);
}

export function scanLines(
  text: Uint8Array,
  ranges: Uint32Array,
  rangeCount: number,
  needle: Uint8Array,
  foldAscii: boolean,
  delimiter: number,
  workMax: number,
  rows: Uint32Array,
  cursor: Uint32Array,
): boolean {
  const writeLine: WriteRow = (start, range, at) => {
    const end = ranges[range + 2];
    const floor = ranges[range + 3];
    let lineStart = start;
    while (lineStart > floor && text[lineStart - 1] !== delimiter) lineStart--;
    let lineEnd = start;
    while (lineEnd < end && text[lineEnd] !== delimiter) lineEnd++;
    rows[at] = lineStart;
    rows[at + 1] = lineEnd;
    // Not past `end`: the next content may start there.
    return Math.min(lineEnd + 1, end);
  };
  return scanRanges(text, ranges, rangeCount, 4, needle, foldAscii, workMax, rows, cursor, writeLine);
}

export function scanAutomaton(
  text: Uint8Array,
  ranges: Uint32Array,
  rangeCount: number,
  table: Uint16Array,
  byLine: boolean,
  workMax: number,
  rows: Uint32Array,
  cursor: Uint32Array,
): boolean {
  const last = table.length / 256 - 1;
  let left = workMax;
  while (cursor[0] < rangeCount) {
    const [from, to, end, floor] = ranges.subarray(4 * cursor[0], 4 * cursor[0] + 4);
    let at = Math.max(from, cursor[1]);
    let state = cursor[3];
    while (at < to) {
      if (2 * cursor[2] === rows.length || left === 0) {
        cursor[1] = at;
        cursor[3] = state;
        return false;
      }
      state = table[256 * state + text[at++]];
      left--;
      if (state !== last) continue;
      const rowFrom = byLine ? Math.max(floor, text.lastIndexOf(newlineByte, at - 1) + 1) : floor;
      const newlineAt = byLine ? text.subarray(0, end).indexOf(newlineByte, at - 1) : -1;
      const rowTo = newlineAt < 0 ? end : newlineAt;
      rows.set([rowFrom, rowTo], 2 * cursor[2]++);
      at = Math.min(byLine ? rowTo + 1 : end, end);
      state = 0;
    }
    cursor[0]++;
    cursor[1] = at;
    cursor[3] = 0;
  }
  return 2 * cursor[2] < rows.length;
}

const newlineByte = 10;

function scanRanges(
  text: Uint8Array,
  ranges: Uint32Array,
  rangeCount: number,
  stride: 3 | 4,
  needle: Uint8Array,
  foldAscii: boolean,
  workMax: number,
  rows: Uint32Array,
  cursor: Uint32Array,
  writeRow: WriteRow,
): boolean {
  const find =
    foldAscii || needle.length > indexOfBytesMax ? linearFind(text, needle, foldAscii) : shortFind(text, needle);
  const capacity = rows.length >>> 1;
  let [index, next, written, work] = cursor;
  let contentEnd = ranges[index * stride + 2];
  for (let left = workMax; left > 0 && written < capacity && index < rangeCount; ) {
    const range = index * stride;
    if (ranges[range + 2] !== contentEnd) work = 0;
    contentEnd = ranges[range + 2];
    const from = Math.max(ranges[range], next);
    const limit = Math.min(ranges[range + 1], contentEnd - needle.length + 1);
    if (from >= limit) {
      index++;
      continue;
    }
    const stop = Math.min(limit, from + left);
    const start = find(from, stop + needle.length - 1);
    next = start === -1 ? stop : writeRow(start, range, 2 * written++);
    const spent =
      Math.min(next, limit) - from + (start === -1 || stride === 3 ? 0 : rows[2 * written - 1] - rows[2 * written - 2]);
    left -= spent;
    work += spent;
  }
  cursor.set([index, next, written, Math.min(work, 0xffffffff)]);
  return written < capacity && index >= rangeCount;
}

function shortFind(text: Uint8Array, needle: Uint8Array): Find {
  const buffer = Buffer.from(text.buffer, text.byteOffset, text.length);
  return (from, to) => {
    if (from + needle.length > to) return -1;
    const at = buffer.subarray(from, to).indexOf(needle);
    return at === -1 ? -1 : from + at;
  };
}

/** The algorithm of Knuth, Morris and Pratt: linear in the text, however many partial matches it contains. */
function linearFind(text: Uint8Array, needle: Uint8Array, foldAscii: boolean): Find {
  const borders = computeBorders(needle);
  return (from, to) => {
    let matched = 0;
    for (let i = from; i < to; i++) {
      let byte = text[i];
      if (foldAscii && byte >= 0x41 && byte <= 0x5a) byte |= 0x20;
      while (matched > 0 && needle[matched] !== byte) matched = borders[matched];
      if (needle[matched] === byte) matched++;
      if (matched === needle.length) return i + 1 - matched;
    }
    return -1;
  };
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

/**
 * The failure function of Knuth, Morris and Pratt: `borders[n]` is the length of the longest proper prefix of the
 * needle's first n bytes that is also a suffix of them.
 */
export function computeBorders(needle: Uint8Array): Uint32Array {
  const borders = new Uint32Array(needle.length + 1);
  let border = 0;
  for (let n = 1; n < needle.length; n++) {
    while (border > 0 && needle[border] !== needle[n]) border = borders[border];
    if (needle[border] === needle[n]) border++;
    borders[n + 1] = border;
  }
  return borders;
}
