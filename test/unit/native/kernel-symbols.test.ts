/** Names, kinds and match objects of symbols: the same bytes from each kernel, and what the symbols say. */
import { deepStrictEqual } from "node:assert/strict";
import { describeSymbol } from "../../../src/eval/results/describe-symbol.js";
import type { Kernel } from "../../../src/native/kernel/kernel.js";
import { portableKernel } from "../../../src/native/kernel/portable.js";
import {
  symbolCursorWords,
  symbolResultWordCount,
  symbolResultWords,
  type SymbolsRequest,
} from "../../../src/native/kernel/symbol-kernel.js";
import type { ContentSymbols } from "../../../src/shard/symbols/content-symbols.js";
import { RecordWriter } from "../../../src/shard/symbols/record-writer.js";
import { forEachKernel, holds } from "../../support/kernel-support.js";
import { fc } from "../../support/property.js";

const newlineStep = 64;
const kinds = ["FUNCTION", "CLASS", "UNKNOWN"];
const tails = ["}", ',"language":"C"}'];

/** A word of a text: what is before it, its name, whether the name is in the text, kind and container. */
type Word = readonly [gap: string, name: string, isStored: boolean, kind: number, container: string];

interface File {
  readonly path: string;
  readonly words: readonly Word[];
  /** By word: whether it is a row. */
  readonly chosen: readonly boolean[];
  /** Of the tails. */
  readonly tail: number;
}

const name = fc.oneof(
  fc.constantFrom("a", "_b1", 'operator"\\', "gr\u00fc\u00dfe", "\u{1f600}", "tab\there"),
  fc.string({ minLength: 1, maxLength: 40 }).map((text) => text.replaceAll("\n", "x")),
);
const word: fc.Arbitrary<Word> = fc.tuple(
  fc.constantFrom(" ", "\n", "", " \u00e4 ", "\n\n   ", "x".repeat(90), "\n".repeat(150)),
  name,
  fc.boolean(),
  fc.nat({ max: kinds.length - 1 }),
  fc.constantFrom("", "", "Outer", 'In"ner', "\u00fc"),
);
const file: fc.Arbitrary<File> = fc.record({
  path: fc.constantFrom("a.c", "dir/b c.h", '\u00e4/"x".py', "it's!~*().c", "a#b?c%d"),
  words: fc.array(word, { maxLength: 12 }),
  chosen: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
  tail: fc.nat({ max: tails.length - 1 }),
});

const latin1 = (text: string): string => Buffer.from(text).toString("latin1");

/** The text of a file, and its symbols as the shard's builder gets them. */
function extract({ words }: File): { readonly text: string; readonly symbols: ContentSymbols } {
  let text = "";
  const symbols = { names: [], lines: [], offsets: [], kinds: [], containers: [] } as {
    [key in keyof ContentSymbols]: ContentSymbols[key][number][];
  };
  for (const [gap, symbol, isStored, kind, container] of words) {
    text += latin1(gap);
    symbols.names.push(latin1(symbol));
    symbols.lines.push(text.split("\n").length);
    symbols.offsets.push(isStored ? -1 : text.length);
    symbols.kinds.push(kinds[kind]);
    symbols.containers.push(latin1(container));
    if (!isStored) text += latin1(symbol);
  }
  return { text: `${text}\n`, symbols: symbols as ContentSymbols };
}

interface Site {
  readonly request: Omit<SymbolsRequest, "out" | "pauseAt" | "cursor">;
  readonly names: Buffer;
  readonly records: readonly (readonly [from: number, to: number])[];
  readonly files: readonly { readonly file: File; readonly text: string; readonly symbols: ContentSymbols }[];
}

function siteOf(files: readonly File[]): Site {
  const extracted = files.map((one) => ({ file: one, ...extract(one) }));
  const text = Buffer.from(extracted.map((one) => one.text).join(""), "latin1");
  const paths = Buffer.from(files.map(({ path }) => path).join(""));
  const writer = new RecordWriter();
  const records = extracted.map(({ symbols }): [number, number] => {
    const from = writer.length;
    if (symbols.names.length > 0) writer.write(symbols);
    return [from, writer.length];
  });
  const head = ',"repository":"r"';
  const link = "/r/-/blob/";
  const shown = writer.kinds;
  const fragments = Buffer.from([head, link, ...tails, ...shown].join(""));
  const startOf = (i: number): number => [head, link, ...tails, ...shown].slice(0, i).join("").length;
  const kindStarts = Uint32Array.from({ length: shown.length + 1 }, (_, i) => startOf(2 + tails.length + i));
  const rows: number[] = [];
  let [textAt, pathAt, nameAt] = [0, 0, 0];
  const results = extracted.flatMap(({ file: { path, chosen, tail }, text: own, symbols }, i) => {
    const words = new Uint32Array(symbolResultWordCount);
    const set = (key: keyof typeof symbolResultWords, value: number): number => (words[symbolResultWords[key]] = value);
    set("pathFrom", pathAt);
    set("pathTo", (pathAt += Buffer.byteLength(path)));
    set("headTo", head.length);
    set("linkFrom", head.length);
    set("linkTo", head.length + link.length);
    set("tailFrom", startOf(2 + tail));
    set("tailTo", startOf(3 + tail));
    set("recordFrom", records[i][0]);
    set("recordTo", records[i][1]);
    set("linesBefore", text.toString("latin1", 0, textAt).split("\n").length - 1);
    set("textFrom", textAt);
    set("textTo", (textAt += own.length));
    set("namesFrom", nameAt);
    set("rowFrom", rows.length / 2);
    symbols.names.forEach((symbol, k) => {
      if (chosen[k]) rows.push(nameAt, nameAt + symbol.length);
      nameAt += symbol.length + 1;
    });
    set("rowTo", rows.length / 2);
    return [...words];
  });
  const newlines = Uint32Array.from(
    { length: Math.floor(text.length / newlineStep) + 1 },
    (_, i) => text.toString("latin1", 0, i * newlineStep).split("\n").length - 1,
  );
  const names = Buffer.from(
    extracted.flatMap(({ symbols }) => symbols.names.map((symbol) => `${symbol}\n`)).join(""),
    "latin1",
  );
  const request = {
    text,
    records: writer.bytes,
    paths,
    newlines,
    newlineStep,
    fragments,
    kindStarts,
    results: Uint32Array.from(results),
    resultCount: files.length,
    rows: Uint32Array.from(rows),
  };
  return { request, names, records, files: extracted };
}

/** Writes all into buffers of `capacity` bytes, which grow if nothing fits. Returns each buffer's text. */
function encodeAll(kernel: Kernel, { request }: Site, capacity: number, pauseAt: number): string[] {
  const cursor = new Uint32Array(symbolCursorWords);
  const written: string[] = [];
  let out = new Uint8Array(capacity);
  for (;;) {
    const [result, row] = cursor;
    cursor[2] = 0;
    const isDone = kernel.encodeSymbols({ ...request, out, pauseAt, cursor });
    written.push(Buffer.from(out.subarray(0, cursor[2])).toString());
    if (isDone) return written;
    if (cursor[0] === result && cursor[1] === row && cursor[2] === 0) out = new Uint8Array(2 * out.length);
  }
}

interface Found {
  readonly type: string;
  readonly path: string;
  readonly symbols?: readonly unknown[];
}

/** The match objects that the symbols describe, each file in one. */
function expectedOf({ files }: Site): Found[] {
  return files.map(({ file: { path, chosen, tail }, text, symbols }) => {
    const encoded = path.split("/").map(encodeURIComponent).join("/");
    const listed = symbols.names.flatMap((_, i) => {
      if (!chosen[i]) return [];
      const { place, name: shown, containerName, kind, line } = describeSymbol(symbols, i, Buffer.from(text, "latin1"));
      return [{ url: `/r/-/blob/${encoded}?${place}`, name: shown, containerName, kind, line }];
    });
    const language = tail === 0 ? {} : { language: "C" };
    if (listed.length === 0) return { type: "path", path, repository: "r", ...language };
    return { type: "symbol", path, repository: "r", symbols: listed, ...language };
  });
}

/** Joins the objects of a file. */
function joined(buffers: readonly string[]): Found[] {
  const all: Found[] = [];
  for (const found of JSON.parse(`[${buffers.filter((one) => one !== "").join()}]`) as Found[]) {
    const last = all.at(-1);
    if (last?.symbols !== undefined && found.symbols !== undefined && isSame(last, found))
      all[all.length - 1] = { ...last, symbols: [...last.symbols, ...found.symbols] };
    else all.push(found);
  }
  return all;
}

/** Whether an object may continue another. */
function isSame(a: Found, b: Found): boolean {
  return JSON.stringify({ ...a, symbols: 0 }) === JSON.stringify({ ...b, symbols: 0 });
}

/** Files whose paths differ, so that an object that continues a file is known. */
const files = fc.uniqueArray(file, { selector: ({ path }) => path, maxLength: 4 });

forEachKernel("match objects are what the symbols say, in buffers of any size", (t, kernel) => {
  holds(
    t,
    300,
    fc.property(
      files,
      fc.integer({ min: 16, max: 3000 }),
      fc.integer({ min: 1, max: 3000 }),
      (given, size, pauseAt) => {
        const site = siteOf(given);
        const buffers = encodeAll(kernel, site, size, pauseAt);
        deepStrictEqual(joined(buffers), expectedOf(site));
        deepStrictEqual(buffers, encodeAll(portableKernel, site, size, pauseAt));
      },
    ),
  );
  t.end();
});

function placesAt(
  kernel: Kernel,
  bytes: Uint8Array,
  [recordFrom, recordTo]: readonly [number, number],
  textAt: number,
  textBytes: number,
  rows: Uint32Array,
): readonly number[] {
  const out = new Uint32Array(4 * 1000);
  const textTo = textAt + textBytes;
  const rowCount = rows.length / 2;
  const count = kernel.symbolsAtRows(bytes, recordFrom, recordTo, textAt, textTo, rows, 0, rowCount, 1000, out);
  return [...out.subarray(0, 4 * count)];
}

/** Whether a range has a byte whose offset is a multiple of `step`: there are rows of one byte at these. */
function hasMultiple(from: number, length: number, step: number): boolean {
  return Math.ceil(from / step) * step < from + length;
}

forEachKernel("names and kinds", (t, kernel) => {
  holds(
    t,
    200,
    fc.property(files, (given) => {
      const { request, names, records, files: extracted } = siteOf(given);
      const out = Buffer.alloc(names.length);
      let [textAt, nameAt] = [0, 0];
      extracted.forEach(({ text, symbols }, i) => {
        const record = request.records.subarray(...records[i]);
        const end = nameAt + symbols.names.reduce((sum, symbol) => sum + symbol.length + 1, 0);
        kernel.copySymbolNames(record, request.text, textAt, textAt + text.length, out, nameAt, end);
        const words = request.results.subarray(i * symbolResultWordCount);
        const [rowFrom, rowTo] = [words[symbolResultWords.rowFrom], words[symbolResultWords.rowTo]];
        const numbers = new Uint32Array(rowTo - rowFrom);
        kernel.symbolKinds(request.records, ...records[i], nameAt, request.rows, rowFrom, rowTo, numbers);
        const { fragments, kindStarts } = request;
        deepStrictEqual(
          [...numbers].map((kind) =>
            Buffer.from(fragments.subarray(kindStarts[kind], kindStarts[kind + 1])).toString(),
          ),
          symbols.kinds.filter((_, k) => extracted[i].file.chosen[k]),
        );
        for (const step of [1, 2, 7]) {
          const rows = Uint32Array.from({ length: 2 * Math.ceil(text.length / step) }, (_, k) =>
            Math.min(textAt + text.length, textAt + step * (k >>> 1) + (k & 1)),
          );
          deepStrictEqual(placesAt(kernel, request.records, records[i], textAt, text.length, rows), [
            ...placesAt(portableKernel, request.records, records[i], textAt, text.length, rows),
          ]);
          deepStrictEqual(
            placesAt(kernel, request.records, records[i], textAt, text.length, rows).filter((_, k) => k % 4 === 0),
            symbols.offsets
              .filter((offset, k) => offset >= 0 && hasMultiple(offset, symbols.names[k].length, step))
              .map((offset) => textAt + offset),
          );
        }
        textAt += text.length;
        nameAt = end;
      });
      deepStrictEqual(out, names);
    }),
  );
  t.end();
});

forEachKernel(
  "more than a thousand symbols of a file are in several objects, as are those that do not fit",
  (t, kernel) => {
    const words = Array.from({ length: 2500 }, (_, i): Word => [" ", `s${i}`, false, 0, ""]);
    const site = siteOf([{ path: "many.c", words, chosen: words.map(() => true), tail: 1 }]);
    const [all] = encodeAll(kernel, site, 1 << 20, 1 << 20);
    t.same(
      (JSON.parse(`[${all}]`) as Found[]).map(({ symbols }) => symbols?.length),
      [1000, 1000, 500],
    );
    const small = encodeAll(kernel, site, 10_000, 10_000);
    t.ok(small.length > 20);
    t.same(joined(small), expectedOf(site));
    t.end();
  },
);

forEachKernel("damage is refused, and never read beyond", (t, kernel) => {
  let refused = 0;
  holds(
    t,
    2000,
    fc.property(
      fc.uniqueArray(file, { selector: ({ path }) => path, minLength: 1, maxLength: 2 }),
      fc.nat(),
      fc.nat(255),
      (given, place, byte) => {
        const site = siteOf(given);
        const records = Buffer.from(site.request.records);
        if (records.length === 0) return;
        records[place % records.length] = byte;
        try {
          encodeAll(kernel, { ...site, request: { ...site.request, records } }, 1 << 16, 1 << 16);
        } catch (error) {
          if (!(error instanceof RangeError)) throw error;
          refused++;
        }
      },
    ),
  );
  t.ok(refused > 20, `${refused} refused`);
  t.throws(() => encodeAll(kernel, { ...siteOf([]), request: { ...siteOf([]).request, resultCount: 1 } }, 10, 10));
  t.end();
});
