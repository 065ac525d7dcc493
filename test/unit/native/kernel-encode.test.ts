import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { ChunkMatch, LineMatch, StreamLocation } from "../../../src/model/stream-events.js";
import { resultWordCount, resultWords, type Kernel } from "../../../src/native/kernel/kernel.js";
import { amidOthers, bytes, forEachKernel, holds } from "../../support/kernel-support.js";
import { portableKernel } from "../../../src/native/kernel/portable.js";
import { fc } from "../../support/property.js";

const noLabels = { labels: new Uint32Array(0), labelCount: 0 };

type Pair = readonly [number, number];

/** Rows in the content `text[from, to)`, and their format. */
interface Encoding {
  readonly text: Uint8Array;
  readonly from: number;
  readonly to: number;
  readonly rows: readonly Pair[];
  /** Undefined for line matches. */
  readonly contextLines: number | undefined;
  readonly lineBytesMax: number;
  readonly cutsAround?: boolean;
}

/** Size of a match object of `encode` without its elements and the brackets around them. */
const objectBytes = 60;

const newlineStep = 8;

/** All elements from a kernel. Each call has a buffer of `room` bytes, or more if one element needs more. */
function encode(
  kernel: Kernel,
  { text, from, to, rows, contextLines, lineBytesMax, cutsAround = false }: Encoding,
  room: number,
): unknown {
  const elements: unknown[] = [];
  const cursor = new Uint32Array(3);
  const result = resultOf({
    pathTo: 1,
    headTo: 0,
    tailTo: 1,
    contentFrom: from,
    contentTo: to,
    linesBefore: newlinesIn(text, from),
    rowTo: rows.length,
  });
  const newlines = newlineTableOf(text);
  let isDone = rows.length === 0;
  for (let size = room + objectBytes; !isDone; ) {
    const out = new Uint8Array(size).fill(0x2a);
    const before = cursor[1];
    cursor[2] = 0;
    isDone = kernel.encodeResults({
      text,
      paths: bytes("p"),
      newlines,
      newlineStep,
      fragments: bytes("}"),
      results: result,
      resultCount: 1,
      rows: Uint32Array.from(rows.flat()),
      chunks: contextLines !== undefined,
      contextLines: contextLines ?? 0,
      lineBytesMax,
      cutsAround,
      out,
      pauseAt: size,
      cursor,
      ...noLabels,
    });
    assert.ok(cursor[2] <= size && (isDone || cursor[1] >= before), "positions only grow");
    if (cursor[2] > 0)
      elements.push(...elementsOf(new TextDecoder("utf-8", { fatal: true }).decode(out.subarray(0, cursor[2]))));
    size = cursor[2] === 0 ? size * 2 : room + objectBytes;
  }
  return elements;
}

function elementsOf(json: string): unknown[] {
  const { lineMatches, chunkMatches } = JSON.parse(json) as { lineMatches?: unknown[]; chunkMatches?: unknown[] };
  return lineMatches ?? chunkMatches ?? [];
}

/** The words of one result; omitted words are 0. */
function resultOf(given: Partial<Record<keyof typeof resultWords, number>>): Uint32Array {
  const words = new Uint32Array(resultWordCount);
  for (const [name, value] of Object.entries(given)) words[resultWords[name as keyof typeof resultWords]] = value;
  return words;
}

function newlinesIn(text: Uint8Array, to: number, from = 0): number {
  return text.subarray(from, to).filter((byte) => byte === 10).length;
}

function newlineTableOf(text: Uint8Array): Uint32Array {
  const table = new Uint32Array(Math.floor(text.length / newlineStep) + 1);
  for (let i = 1; i < table.length; i++)
    table[i] = table[i - 1] + newlinesIn(text, i * newlineStep, (i - 1) * newlineStep);
  return table;
}

/** A code point of the content, or one byte that is not part of one. */
interface Unit {
  readonly at: number;
  readonly text: string;
}

interface NaiveLine {
  readonly start: number;
  readonly end: number;
  readonly number: number;
  readonly units: readonly Unit[];
}

function unitAt(text: Uint8Array, at: number, to: number): Unit & { readonly length: number } {
  for (const length of [1, 2, 3, 4]) {
    if (at + length > to) break;
    try {
      const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
      return { at, text: decoder.decode(text.subarray(at, at + length)), length };
    } catch {
      // Not a code point of that length.
    }
  }
  return { at, text: "\ufffd", length: 1 };
}

/** Lines, including an empty one after a final newline. */
function naiveLines({ text, from, to }: Encoding): NaiveLine[] {
  const lines: NaiveLine[] = [];
  let start = from;
  let units: Unit[] = [];
  for (let at = from; at < to; ) {
    const unit = unitAt(text, at, to);
    if (unit.text === "\n") {
      lines.push({ start, end: at, number: lines.length, units });
      start = at + 1;
      units = [];
    } else {
      units.push(unit);
    }
    at += unit.length;
  }
  return [...lines, { start, end: to, number: lines.length, units }];
}

function columnOf(line: NaiveLine, position: number): number {
  return line.units.filter((unit) => unit.at < position).length;
}

function cutText({ units, start, end }: NaiveLine, lineBytesMax: number): string {
  const fits = units.filter((_, i) => (units[i + 1]?.at ?? end) - start <= lineBytesMax);
  return fits.map((unit) => unit.text).join("");
}

function naiveLineMatches(encoding: Encoding): unknown {
  return naiveLines(encoding).flatMap((line) => {
    const pieces = encoding.rows
      .map(([start, end]) => {
        // A row of newlines has an empty piece on its first line.
        const isBare = start === line.end && isNewlines(encoding.text, start, end);
        return { start: Math.max(start, line.start), end: Math.min(end, line.end), isBare };
      })
      .filter(({ start, end, isBare }) => start < end || isBare);
    if (pieces.length === 0) return [];
    const offsetAndLengths = pieces.map(({ start, end }) => {
      return [columnOf(line, start), columnOf(line, end) - columnOf(line, start)];
    });
    return [{ line: cutText(line, encoding.lineBytesMax), lineNumber: line.number, offsetAndLengths }];
  });
}

function isNewlines(text: Uint8Array, start: number, end: number): boolean {
  return end > start && text.subarray(start, end).every((byte) => byte === 10);
}

function naiveChunkMatches(encoding: Encoding): unknown {
  const { rows, from, to } = encoding;
  const contextLines = encoding.contextLines ?? 0;
  const lines = naiveLines(encoding);
  const lineOf = (position: number) => lines.findLast((line) => line.start <= position) ?? lines[0];
  const location = (position: number) => {
    const line = lineOf(position);
    return { offset: position - from, line: line.number, column: columnOf(line, position) };
  };
  const groups: Pair[][] = [];
  for (const row of rows) {
    const group = groups.at(-1);
    const distance = group === undefined ? Infinity : lineOf(row[0]).number - lineOf(group[group.length - 1][1]).number;
    if (distance === 0 || (distance <= 2 * contextLines + 1 && (group?.length ?? 0) < 1000)) group?.push(row);
    else groups.push([row]);
  }
  // The nothing after a final newline is a line that a row can end on, but no context.
  const lastContext = lines.length > 1 && lines[lines.length - 1].start === to ? lines.length - 2 : lines.length - 1;
  let taken = 0;
  return groups.map((group, i) => {
    const firstLine = lineOf(group[0][0]).number;
    const lastLine = lineOf(group[group.length - 1][1]).number;
    const nextLine = i + 1 < groups.length ? lineOf(groups[i + 1][0][0]).number : Infinity;
    const top = Math.min(firstLine, Math.max(firstLine - contextLines, taken));
    const bottom = Math.max(lastLine, Math.min(lastLine + contextLines, nextLine - 1, lastContext));
    taken = bottom + 1;
    const shown = lines.slice(top, bottom + 1);
    const isCut = shown.some((line) => line.end - line.start > encoding.lineBytesMax);
    return {
      content: shown.map((line) => cutText(line, encoding.lineBytesMax)).join("\n"),
      contentStart: { offset: lines[top].start - from, line: top, column: 0 },
      ranges: group.map(([start, end]) => ({ start: location(start), end: location(end) })),
      ...(isCut ? { contentTruncated: true } : {}),
    };
  });
}

function naive(encoding: Encoding): unknown {
  return encoding.contextLines === undefined ? naiveLineMatches(encoding) : naiveChunkMatches(encoding);
}

/** Content in which brackets mark the rows. */
function marked(text: string, lineBytesMax: number, contextLines: number | undefined): Encoding {
  const rows: Pair[] = [];
  let start = 0;
  let at = 0;
  for (const character of text) {
    if (character === "[") start = at;
    else if (character === "]") rows.push([start, at]);
    else at += bytes(character).length;
  }
  return { text: bytes(text.replace(/[[\]]/g, "")), from: 0, to: at, rows, contextLines, lineBytesMax };
}

const lineTable: readonly (readonly [string, string, number, string])[] = [
  // name, content with rows in brackets, longest line, number:line:pieces
  ["one row", "a\nb[foo]c\nd", 99, "1:bfooc:1+3"],
  ["two rows on a line", "[a]b[cd]\n", 99, "0:abcd:0+1,2+2"],
  ["no final newline", "x\n[x]", 99, "1:x:0+1"],
  ["carriage return stays", "[a]\r\nb", 99, "0:a\r:0+1"],
  ["a row over three lines", "a[b\ncd\ne]f", 99, "0:ab:1+1 1:cd:0+2 2:ef:0+1"],
  ["a row over an empty line", "a[b\n\nc]", 99, "0:ab:1+1 2:c:0+1"],
  ["a row that ends with its line", "[ab\n]c[d]", 99, "0:ab:0+2 1:cd:1+1"],
  ["a row after one that came from above", "a[b\nc]d[e]", 99, "0:ab:1+1 1:cde:0+1,2+1"],
  ["only a newline", "a[\n]b", 99, "0:a:1+0"],
  ["only newlines", "a\n[\n\n]b[c]", 99, "1::0+0 3:bc:1+1"],
  ["empty row", "a[]b[c]", 99, "0:abc:2+1"],
  ["columns count code points", "é漢[😀é]x[y]", 99, "0:é漢😀éxy:2+2,5+1"],
  ["cut line, rows past the cut stay", "ab[cd]ef[g]", 3, "0:abc:2+2,6+1"],
  ["cut before a code point that does not fit", "a漢[b]", 3, "0:a:2+1"],
  ["cut after one that just fits", "a漢[b]", 4, "0:a漢:2+1"],
];

forEachKernel("line matches", (t, kernel) => {
  for (const [name, text, lineBytesMax, expected] of lineTable) {
    const elements = encode(kernel, marked(text, lineBytesMax, undefined), 300) as LineMatch[];
    const shown = elements.map(({ line, lineNumber, offsetAndLengths }) => {
      return `${lineNumber}:${line}:${offsetAndLengths.map(([start, length]) => `${start}+${length}`).join(",")}`;
    });
    t.equal(shown.join(" "), expected, name);
  }
});

/** Texts of lines with rows, some longer than `lineBytesMax`, for `cutsAround`. */
const partTable: readonly (readonly [string, string, number, string, string])[] = [
  // name, content with rows in brackets, longest line; number:line:pieces@start of lines, of chunks
  ["short lines are whole", "a[b]c\n", 3, "0:abc:1+1", "0.0:abc:0.1-0.2"],
  ["around a row", "abcdefgh[ij]klmnop", 8, "0:ghijklmn:2+2@6", "0.6:ghijklmn:0.8-0.10"],
  ["at the start", "[a]bcdefghij", 8, "0:abcdefgh:0+1@0", "0.0:abcdefgh:0.0-0.1"],
  ["at the end", "abcdefghi[j]", 8, "0:hij:2+1@7", "0.7:hij:0.9-0.10"],
  [
    "rows in one part",
    "abcd[e]f[g]hijk[l]",
    8,
    "0:cdefghij:2+1,4+1@2 0:jkl:2+1@9",
    "0.2:cdefghij:0.4-0.5,0.6-0.7 0.9:jkl:0.11-0.12",
  ],
  ["a row longer than a part", "abc[defghijklm]n", 8, "0:bcdefghi:2+6@1", "0.1:bcdefghi:0.3-0.9"],
  ["code points", "éééééé[漢]éééé", 8, "0:é漢é:1+1@5", "0.5:é漢é:0.6-0.7"],
  ["past the line", "abcdefgh[ij\nk]l", 8, "0:ghij:2+2@6 1:kl:0+1", "0.6:ghij:0.8-0.10"],
  [
    "from a short line",
    "a[b\nc]defghiklm[j]",
    8,
    "0:ab:1+1 1:cdefghik:0+1@0 1:lmj:2+1@8",
    "0.0:ab\ncdefghik:0.1-1.1 1.8:lmj:1.10-1.11",
  ],
  ["a row of a newline", "abcdefghij[\n]k", 8, "0:ij:2+0@8", "0.8:ij:0.10-0.10"],
  [
    "between short lines",
    "[a]\nbcdefghij[k]\n[l]\n",
    8,
    "0:a:0+1 1:ijk:2+1@7 2:l:0+1",
    "0.0:a:0.0-0.1 1.7:ijk:1.9-1.10 2.0:l:2.0-2.1",
  ],
];

forEachKernel("parts of long lines", (t, kernel) => {
  for (const [name, text, lineBytesMax, lines, chunks] of partTable) {
    const given = { ...marked(text, lineBytesMax, undefined), cutsAround: true };
    const ofLines = (encode(kernel, given, 300) as LineMatch[]).map(
      ({ line, lineNumber, offsetAndLengths, lineStart }) =>
        `${lineNumber}:${line}:${offsetAndLengths.map(([start, length]) => `${start}+${length}`).join(",")}` +
        (lineStart === undefined ? "" : `@${lineStart.column}`),
    );
    t.equal(ofLines.join(" "), lines, name);
    const place = ({ line, column }: StreamLocation) => `${line}.${column}`;
    const ofChunks = (encode(kernel, { ...given, contextLines: 0 }, 300) as ChunkMatch[]).map(
      ({ content, contentStart, ranges }) =>
        `${place(contentStart)}:${content}:${ranges.map(({ start, end }) => `${place(start)}-${place(end)}`).join(",")}`,
    );
    t.equal(ofChunks.join(" "), chunks, name);
  }
});

const chunkTable: readonly (readonly [string, string, number, number, string])[] = [
  // name, content with rows in brackets, context lines, longest line, first line number:content:ranges
  ["no context", "a\n[b]\nc\n", 0, 99, "1:b:1.0-1.1"],
  ["context on both sides", "a\n[b]\nc\nd", 1, 99, "0:a\nb\nc:1.0-1.1"],
  ["at the edges", "[a]\nb\n", 5, 99, "0:a\nb:0.0-0.1"],
  ["lines that touch are one chunk", "[a]\n[b]\n\n[c]", 0, 99, "0:a\nb:0.0-0.1,1.0-1.1 3:c:3.0-3.1"],
  ["context that touches", "[a]\nb\nc\n[d]\n", 1, 99, "0:a\nb\nc\nd:0.0-0.1,3.0-3.1"],
  ["context that does not", "[a]\nb\nx\nc\n[d]\n", 1, 99, "0:a\nb:0.0-0.1 3:c\nd:4.0-4.1"],
  ["a row over two lines", "a[b\nc]d\ne", 0, 99, "0:ab\ncd:0.1-1.1"],
  ["a row that ends with its line", "[a\n]b\nc", 0, 99, "0:a\nb:0.0-1.0"],
  ["a row that ends with the content", "[a\n]", 1, 99, "0:a\n:0.0-1.0"],
  ["columns count code points", "漢[😀]x[é]", 0, 99, "0:漢😀xé:0.1-0.2,0.3-0.4"],
  ["each line is cut", "abcd\n[efgh]\nij", 1, 3, "0:abc\nefg\nij:1.0-1.4 cut"],
  ["a line as long as may be", "[abc]", 1, 3, "0:abc:0.0-0.3"],
];

forEachKernel("chunk matches", (t, kernel) => {
  for (const [name, text, contextLines, lineBytesMax, expected] of chunkTable) {
    const elements = encode(kernel, marked(text, lineBytesMax, contextLines), 300) as ChunkMatch[];
    const place = ({ line, column }: StreamLocation) => `${line}.${column}`;
    const shown = elements.map(({ content, contentStart, ranges, contentTruncated }) => {
      const shownRanges = ranges.map(({ start, end }) => `${place(start)}-${place(end)}`).join(",");
      return `${contentStart.line}:${content}:${shownRanges}${contentTruncated === true ? " cut" : ""}`;
    });
    t.equal(shown.join(" "), expected, name);
  }
});

/** Two results, one with rows and one without, and their encoding. */
const objects = (() => {
  const text = bytes('..a\n\tx"y\u0001\n');
  const paths = bytes('a"b\0c\0');
  const fragments = bytes(',"m":1}},"language":"C"}');
  const results = Uint32Array.from([
    ...resultOf({
      pathFrom: 0,
      pathTo: 3,
      headFrom: 0,
      headTo: 6,
      tailFrom: 8,
      tailTo: fragments.length,
      contentFrom: 2,
      contentTo: text.length,
      rowTo: 1,
    }),
    ...resultOf({ pathFrom: 4, pathTo: 5, headFrom: 0, headTo: 6, tailFrom: 6, tailTo: 7, rowFrom: 1, rowTo: 1 }),
  ]);
  const rows = Uint32Array.of(5, 6);
  const lineMatch =
    String.raw`{"type":"content","path":"a\"b","m":1,"hunks":null,"lineMatches":[` +
    String.raw`{"line":"\tx\"y\u0001","lineNumber":1,"offsetAndLengths":[[1,1]]}],"language":"C"}`;
  const chunkMatch =
    String.raw`{"type":"content","path":"a\"b","m":1,"hunks":null,"chunkMatches":[` +
    String.raw`{"content":"a\n\tx","contentStart":{"offset":0,"line":0,"column":0},"ranges":[` +
    `{"start":{"offset":3,"line":1,"column":1},"end":{"offset":4,"line":1,"column":2}}],"contentTruncated":true}],"language":"C"}`;
  const pathMatch = '{"type":"path","path":"c","m":1}';
  const encodeInto = (
    kernel: Kernel,
    chunks: boolean,
    out: Uint8Array,
    pauseAt: number,
    cursor: Uint32Array,
  ): boolean =>
    kernel.encodeResults({
      text,
      paths,
      newlines: newlineTableOf(text),
      newlineStep,
      fragments,
      results,
      resultCount: 2,
      rows,
      chunks,
      contextLines: 1,
      lineBytesMax: chunks ? 2 : 99,
      out,
      pauseAt,
      cursor,
      ...noLabels,
    });
  return { lineMatch, chunkMatch, pathMatch, encodeInto };
})();

forEachKernel("objects are written byte for byte as promised", (t, kernel) => {
  const out = new Uint8Array(600);
  for (const [chunks, expected] of [
    [false, objects.lineMatch],
    [true, objects.chunkMatch],
  ] as const) {
    const cursor = new Uint32Array(3);
    t.equal(objects.encodeInto(kernel, chunks, out, 999, cursor), true);
    t.equal(Buffer.from(out.subarray(0, cursor[2])).toString(), `${expected},${objects.pathMatch}`);
    t.same([...cursor.subarray(0, 2)], [2, 0]);
  }
});

forEachKernel("writing pauses after a whole object, and leaves what does not fit for the next buffer", (t, kernel) => {
  const out = new Uint8Array(600);
  const cursor = new Uint32Array(3);
  const written = () => Buffer.from(out.subarray(0, cursor[2])).toString();
  t.equal(objects.encodeInto(kernel, false, out, 1, cursor), false);
  t.equal(written(), objects.lineMatch, "at the size to pause at");
  t.same([...cursor.subarray(0, 2)], [1, 0]);
  t.equal(objects.encodeInto(kernel, false, out.subarray(0, cursor[2] + 5), 999, cursor), false);
  t.equal(written(), objects.lineMatch, "what does not fit leaves no trace");
  cursor[2] = 0;
  t.equal(objects.encodeInto(kernel, false, out.subarray(0, 5), 999, cursor), false);
  t.same([...cursor], [1, 0, 0], "not even one fits");
  t.equal(objects.encodeInto(kernel, false, out, 999, cursor), true);
  t.equal(written(), objects.pathMatch);
});

forEachKernel("a cut does not look at what lies before the content", (t, kernel) => {
  const text = Uint8Array.of(0xe6, 0x80, 0x80, 0x80);
  const elements = encode(
    kernel,
    { text, from: 1, to: 4, rows: [[3, 4]], contextLines: undefined, lineBytesMax: 1 },
    300,
  );
  t.same(elements, [{ line: "\ufffd", lineNumber: 0, offsetAndLengths: [[2, 1]] }]);
});

forEachKernel("a run of more than 1,000 rows goes on in a further chunk", (t, kernel) => {
  const line = "x\n";
  const count = 2500;
  const text = bytes(`y\n${line.repeat(count)}y\n`);
  const rows = Array.from({ length: count }, (_, i) => [2 + 2 * i, 3 + 2 * i] as const);
  const encoding = { text, from: 0, to: text.length, rows, contextLines: 2, lineBytesMax: 99 };
  const elements = encode(kernel, encoding, 150_000) as ChunkMatch[];
  t.same(
    elements.map((chunk) => chunk.ranges.length),
    [1000, 1000, 500],
  );
  t.equal(elements.map((chunk) => chunk.content).join("\n"), Buffer.from(text).toString().trimEnd(), "no line twice");
  t.same(elements, naive(encoding));
  const oneLine = { ...encoding, text: bytes("x".repeat(text.length)) };
  t.same(
    (encode(kernel, oneLine, 300_000) as ChunkMatch[]).map((chunk) => chunk.ranges.length),
    [count],
    "one line",
  );
});

/** Parts of contents: short lines, code points of all lengths, escapes, and bytes that are not UTF-8. */
const anyPiece = fc.oneof(
  fc
    .constantFrom("\n", "\n", "a", "bc", "\r\n", "\t", '"', "\\", "\u0001", "\u007f", "é", "漢", "😀", " ".repeat(40))
    .map((text) => [...bytes(text)]),
  fc.constantFrom(
    [0x80],
    [0xc3],
    [0xc0, 0x80],
    [0xe6, 0xbc],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x9f, 0x98],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf5],
    [0xff],
    [0xe0, 0x80, 0x80],
    [0xef, 0xbb, 0xbf],
  ),
);

const anyEncoding: fc.Arbitrary<Encoding> = fc
  .record({
    content: fc.array(anyPiece, { maxLength: 80 }).map((pieces) => Uint8Array.from(pieces.flat())),
    before: fc.nat(40),
    after: fc.nat(4),
    bounds: fc.array(fc.nat(2000), { minLength: 2, maxLength: 24 }),
    contextLines: fc.constantFrom(undefined, 0, 1, 3),
    lineBytesMax: fc.oneof(fc.nat(12), fc.constant(0xffff_ffff)),
  })
  .map(({ content, before, after, bounds, contextLines, lineBytesMax }) => {
    const to = before + Math.max(0, content.length - after);
    // The text before the content would be a line, or the start of a code point.
    const others = new Uint8Array(before).fill(before % 2 === 0 ? 10 : 0xe6);
    const text = amidOthers(Uint8Array.from([...others, ...content]), before);
    const sorted = bounds.map((bound) => before + (bound % (to - before + 1))).sort((a, b) => a - b);
    const rows: Pair[] = [];
    for (let i = 0; i + 1 < sorted.length; i += 2) rows.push([sorted[i], sorted[i + 1]]);
    return { text, from: before, to, rows, contextLines, lineBytesMax };
  });

const room = fc.oneof(fc.nat(400), fc.constant(100_000));

forEachKernel("matches equal the contract spelled out, in buffers of any size", (t, kernel) => {
  holds(
    t,
    1500,
    fc.property(anyEncoding, room, (encoding, size) => {
      assert.deepEqual(encode(kernel, encoding, size + 1), naive(encoding));
    }),
  );
});

forEachKernel("parts of any lines", (t, kernel) => {
  holds(
    t,
    1500,
    fc.property(anyEncoding, room, (given, size) => {
      const rows = given.rows.filter(([start, end]) => start < end);
      const encoding = { ...given, rows, cutsAround: true, lineBytesMax: Math.max(8, given.lineBytesMax) };
      const elements = encode(kernel, encoding, size + 1) as (LineMatch & ChunkMatch)[];
      assert.deepEqual(elements, encode(portableKernel, encoding, size + 1), "the kernels agree");
      for (const { line, offsetAndLengths, content, contentStart, ranges } of elements) {
        for (const [start, length] of offsetAndLengths ?? []) assert.ok(start + length <= Array.from(line).length);
        for (const { end } of ranges ?? []) {
          const at = end.line - contentStart.line;
          const before = at === 0 ? contentStart.column : 0;
          assert.ok(end.column - before <= Array.from(content.split("\n")[at]).length, "ranges lie in their text");
        }
      }
    }),
  );
});

forEachKernel("columns and lengths of any number of digits, in buffers of any size", (t, kernel) => {
  const text = bytes(`${"a".repeat(2_200)}\n`.repeat(2));
  const rows: Pair[] = [
    [0, 1],
    [9, 18],
    [19, 29],
    [99, 199],
    [200, 999],
    [999, 1_999],
    [2_000, 2_099],
    [2_300, 3_300],
  ];
  for (const lineBytesMax of [0, 3]) {
    const encoding = { text, from: 0, to: text.length, rows, contextLines: undefined, lineBytesMax };
    const expected = naive(encoding);
    for (let size = 0; size < 30; size++) {
      if (!isDeepStrictEqual(encode(kernel, encoding, size), expected)) t.fail(`room for ${size} bytes`);
    }
    t.same(encode(kernel, encoding, 1_000), expected);
  }
});

forEachKernel("paths", (t, kernel) => {
  const pieces = fc.oneof(
    fc.array(anyPiece, { maxLength: 60 }).map((list) => list.flat()),
    fc.array(fc.nat(255)),
  );
  holds(
    t,
    1000,
    fc.property(pieces, fc.nat(40), fc.nat(9), (list, before, from) => {
      const paths = amidOthers(Uint8Array.from(list), before);
      const start = Math.min(from, paths.length);
      const [line] = naiveLines({
        text: paths.map((byte) => (byte === 10 ? 9 : byte)),
        from: start,
        to: paths.length,
        rows: [],
        contextLines: 0,
        lineBytesMax: 0,
      });
      const expected = JSON.stringify(line.units.map((unit) => unit.text).join(""));
      const out = new Uint8Array(6 * paths.length + 60);
      const cursor = new Uint32Array(3);
      const result = resultOf({ pathFrom: start, pathTo: paths.length, tailTo: 1 });
      assert.ok(
        kernel.encodeResults({
          text: bytes(""),
          paths,
          newlines: Uint32Array.of(0),
          newlineStep,
          fragments: bytes("}"),
          results: result,
          resultCount: 1,
          rows: new Uint32Array(0),
          chunks: false,
          contextLines: 0,
          lineBytesMax: 9,
          out,
          pauseAt: 999,
          cursor,
          ...noLabels,
        }),
      );
      const json = Buffer.from(out.subarray(0, cursor[2])).toString().replaceAll("\\n", "\\t");
      assert.equal(json, `{"type":"path","path":${expected}}`);
    }),
  );
});

forEachKernel("the inside of a JSON string", (t, kernel) => {
  const separated = bytes("a\u2028b\u2029c\u2027\u202a");
  const escaped = bytes(String.raw`a\u2028b\u2029c` + "\u2027\u202a");
  const room = new Uint8Array(escaped.length);
  t.equal(kernel.writeJson(separated, 0, separated.length, room, 0), escaped.length, "line separators are escaped");
  t.same(room, escaped);
  const text = fc.array(fc.oneof(fc.nat(255), fc.constant(0x61), fc.constant(0x22)), { maxLength: 90 });
  const property = fc.property(text, fc.nat(9), fc.nat(9), (given, from, at) => {
    const whole = amidOthers(Uint8Array.from(given), 3);
    const start = Math.min(from, whole.length);
    const expected = JSON.stringify(decodeEach(whole.subarray(start))).slice(1, -1);
    const out = new Uint8Array(at + bytes(expected).length);
    const end = kernel.writeJson(whole, start, whole.length, out, at);
    assert.equal(end, out.length);
    assert.equal(new TextDecoder("utf-8", { ignoreBOM: true }).decode(out.subarray(at)), expected);
    if (end > at) {
      const room = out.length - 1;
      assert.ok(kernel.writeJson(whole, start, whole.length, out.subarray(0, room), at) > room, "too little room");
    }
  });
  holds(t, 300, property);
});

/** Decodes UTF-8 with U+FFFD for each byte that is not part of it. */
function decodeEach(text: Uint8Array): string {
  let decoded = "";
  for (let at = 0; at < text.length; ) {
    const unit = unitAt(text, at, text.length);
    decoded += unit.text;
    at += unit.length;
  }
  return decoded;
}
