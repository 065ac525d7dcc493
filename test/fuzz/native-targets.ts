/**
 * What the native code reads, made of real texts and then changed: posting lists, tables of a shard, records of symbols, rows
 * and results, tables of literals. Each array has a buffer of its own size, so that `make asan-test` notices each byte that is
 * read after it.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { resultAtOnce } from "../../src/base/yielding.js";
import { addonIfBuilt, type NativeMethods } from "../../src/native/kernel/addon.js";
import { resultWordCount, resultWords } from "../../src/native/kernel/kernel.js";
import { makePatternTable } from "../../src/native/kernel/pattern-table.js";
import { symbolCursorWords, symbolResultWordCount, symbolResultWords } from "../../src/native/kernel/symbol-kernel.js";
import { findAutomaton } from "../../src/regexp/match/automaton.js";
import { RecordWriter } from "../../src/shard/symbols/record-writer.js";
import { mutated, type Random } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";

const newlineStep = 64;
const automaton = findAutomaton("[a-z]+ [a-z]+\\(", false, true)?.table ?? new Uint16Array(0);
const textFolder = "src/query";
const literals = ["function", "import ", "readonly", "TrawlError"];

/** By name: bytes, or words as bytes. */
type Arrays = Readonly<Record<string, Buffer>>;

let known: Arrays | undefined;

/** The arrays of some real sources, with the symbols that ctags finds in them. */
function realArrays(kernel: NativeMethods): Arrays {
  known ??= makeArrays(kernel);
  return known;
}

function makeArrays(kernel: NativeMethods): Arrays {
  const files = readdirSync(textFolder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .slice(0, 12)
    .map((name) => join(textFolder, name));
  const texts = files.map((file) => readFileSync(file));
  const text = Buffer.concat(texts);
  const starts = texts.map((_, i) => Buffer.concat(texts.slice(0, i)).length);
  const unitCount = Math.ceil(text.length / 512);
  const units = Array.from({ length: unitCount }, (_, i) => [i * 512, Math.min(text.length, i * 512 + 576)]).flat();
  const { keys, offsets, bytes: postings } = kernel.buildPostings(text, Uint32Array.from(units), unitCount);
  const newlines = new Uint32Array(Math.floor(text.length / newlineStep) + 1);
  kernel.newlineTable(text, newlineStep, newlines);
  const rows = new Uint32Array(4000);
  const cursor = new Uint32Array(4);
  const whole = Uint32Array.of(0, text.length, text.length);
  kernel.scan(text, whole, 1, Buffer.from("function"), false, 1e9, rows, cursor);
  const paths = Buffer.from(files.join(""));
  const fragments = Buffer.from('0123456789abcdef,"repository":"r"}FUNCTION');
  const results: number[] = [];
  let row = 0;
  for (const [i, start] of starts.entries()) {
    const end = start + texts[i].length;
    const rowFrom = row;
    while (row < cursor[2] && rows[2 * row] < end) row++;
    const words = new Array<number>(resultWordCount).fill(0);
    words[resultWords.pathTo] = files[i].length;
    words[resultWords.headFrom] = 16;
    words[resultWords.headTo] = 33;
    words[resultWords.tailFrom] = 33;
    words[resultWords.tailTo] = 34;
    words[resultWords.contentFrom] = start;
    words[resultWords.contentTo] = end;
    words[resultWords.linesBefore] = kernel.countNewlines(text, 0, start);
    words[resultWords.rowFrom] = rowFrom;
    words[resultWords.rowTo] = row;
    results.push(...words);
  }
  const { record, names } = symbolsOf(files[0], texts[0]);
  const symbolResult = new Array<number>(symbolResultWordCount).fill(0);
  symbolResult[symbolResultWords.pathTo] = files[0].length;
  symbolResult[symbolResultWords.headFrom] = 16;
  symbolResult[symbolResultWords.headTo] = 33;
  symbolResult[symbolResultWords.tailFrom] = 33;
  symbolResult[symbolResultWords.tailTo] = 34;
  symbolResult[symbolResultWords.recordTo] = record.length;
  symbolResult[symbolResultWords.textTo] = texts[0].length;
  symbolResult[symbolResultWords.rowTo] = names.length;
  let nameAt = 0;
  const symbolRows = names.flatMap((name) => [nameAt, (nameAt += name.length + 1) - 1]);
  const chosen = [...literals].sort((a, b) => b.length - a.length);
  const literalStarts = Uint32Array.from([0, ...chosen.map((_, i) => chosen.slice(0, i + 1).join("").length)]);
  const table = resultAtOnce(makePatternTable(Buffer.from(chosen.join("")), literalStarts, false));
  const [group] = table.groups;
  return {
    text,
    postings: Buffer.from(postings),
    keys: bytesOf(keys),
    offsets: bytesOf(offsets),
    newlines: bytesOf(newlines),
    rows: bytesOf(rows.subarray(0, 2 * cursor[2])),
    paths,
    fragments,
    results: bytesOf(Uint32Array.from(results)),
    record: Buffer.from(record),
    symbolResult: bytesOf(Uint32Array.from(symbolResult)),
    symbolRows: bytesOf(Uint32Array.from(symbolRows)),
    kindStarts: bytesOf(Uint32Array.of(34, 42)),
    literals: Buffer.from(chosen.join("")),
    literalStarts: bytesOf(literalStarts),
    windowFilter: bytesOf(group.windowFilter),
    blockFilter: bytesOf(group.blockFilter),
    buckets: bytesOf(group.buckets),
    entries: bytesOf(group.entries),
    sizes: bytesOf(Uint32Array.of(group.windowBytes, group.stride, group.offsetMax)),
    contentStart: bytesOf(Uint32Array.from([...starts, text.length])),
    contentFirstDocument: bytesOf(
      Uint32Array.from({ length: starts.length + 2 }, (_, i) => Math.min(i, starts.length)),
    ),
    documentRepository: bytesOf(new Uint32Array(starts.length)),
    documentInfo: bytesOf(new Uint32Array(starts.length)),
    ranges: bytesOf(
      Uint32Array.from(starts.flatMap((start, i) => [start, start + texts[i].length, start + texts[i].length])),
    ),
  };
}

function symbolsOf(file: string, text: Buffer): { readonly record: Uint8Array; readonly names: readonly string[] } {
  const lines = text.toString("latin1").split("\n");
  const listed = listSymbols(file);
  const tags = listed
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { name: string; line: number; scope?: string })
    .sort((a, b) => a.line - b.line);
  let end = 0;
  const offsets = tags.map(({ name, line }) => {
    const from = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    const at = text.indexOf(name, Math.max(from, end), "latin1");
    if (at < 0 || at > from + lines[line - 1].length) return -1;
    end = at + name.length;
    return at;
  });
  const writer = new RecordWriter();
  writer.write({
    names: tags.map(({ name }) => name),
    lines: tags.map(({ line }) => line),
    offsets,
    kinds: tags.map(() => "function"),
    containers: tags.map(({ scope }) => scope ?? ""),
  });
  return { record: writer.bytes, names: tags.map(({ name }) => name) };
}

/** Nothing where there is no ctags. */
function listSymbols(file: string): string {
  try {
    return execFileSync("ctags", ["--output-format=json", "--fields=+n", "--sort=no", "-o", "-", file], {
      encoding: "utf8",
    });
  } catch {
    return "";
  }
}

function bytesOf(words: Uint32Array): Buffer {
  return Buffer.from(Buffer.from(words.buffer, words.byteOffset, words.byteLength));
}

/** In a buffer of exactly this size. */
function exact(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.slice().buffer.slice(0, bytes.length));
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(exact(bytes.subarray(0, bytes.length & ~3)).buffer);
}

/** The number of the array that is changed, and its bytes. */
function changedArray(random: Random): Buffer {
  const native = addonIfBuilt();
  if (native === undefined) return Buffer.alloc(0);
  const arrays = Object.values(realArrays(native.kernels.swar));
  const number = random(arrays.length);
  const bytes = arrays[number];
  return Buffer.concat([Buffer.from([number]), random(3) === 0 ? changedWord(random, bytes) : mutated(random, bytes)]);
}

/** Most of what can go wrong with words is at their borders. */
function changedWord(random: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length < 4) return copy;
  const at = random(copy.length >> 2) * 4;
  const word = copy.readUInt32LE(at);
  const values = [0, 1, word + 1, word - 1, 0xffffffff, 0x80000000, word ^ (1 << random(32)), copy.length];
  copy.writeUInt32LE(values[random(values.length)] >>> 0, at);
  return copy;
}

/** The calls of a search, with one array of the real ones changed: each ends, or says that its arguments are wrong. */
function callAll(input: Buffer): void {
  const native = addonIfBuilt();
  if (native === undefined || input.length === 0) return;
  for (const kernel of Object.values(native.kernels)) {
    const real = realArrays(kernel);
    const names = Object.keys(real);
    const changed = names[input[0] % names.length];
    const bytes = (name: string): Uint8Array => exact(name === changed ? input.subarray(1) : real[name]);
    const words = (name: string): Uint32Array => wordsOf(bytes(name));
    const out = new Uint8Array(5000);
    const text = bytes("text");
    const resultCount = Math.floor(words("results").length / resultWordCount);
    const rowCount = words("rows").length >> 1;
    const calls: readonly (() => unknown)[] = [
      () => {
        const offsets = words("offsets");
        for (let i = 0; i < Math.min(40, offsets.length - 1); i++) {
          const units = new Uint32Array(Math.max(0, Math.min(1 << 16, offsets[i + 1] - offsets[i])));
          const count = kernel.decodePostings(bytes("postings"), offsets[i], offsets[i + 1], units);
          for (let k = 1; k < count; k++) if (units[k] <= units[k - 1]) throw new Error("units do not ascend");
          kernel.intersectPostings(bytes("postings"), offsets[i], offsets[i + 1], units, count);
        }
      },
      () => {
        for (const literal of literals) {
          const lists = new Uint32Array(literal.length - 2);
          const count = kernel.findLists(words("keys"), words("offsets"), Buffer.from(literal), lists);
          kernel.unitsOfLists(bytes("postings"), words("offsets"), lists, count, new Uint32Array(1 << 12));
        }
      },
      () =>
        kernel.unitsOfPatterns(
          words("keys"),
          words("offsets"),
          bytes("postings"),
          bytes("literals"),
          words("literalStarts"),
          0,
          literals.length,
          1e6,
          new Uint32Array(100),
          new Uint32Array(2),
        ),
      () => {
        const [windowBytes, stride, offsetMax] = words("sizes");
        kernel.scanWindows(
          text,
          words("ranges"),
          Math.floor(words("ranges").length / 3),
          bytes("literals"),
          words("literalStarts"),
          false,
          windowBytes ?? 0,
          stride ?? 0,
          words("windowFilter"),
          words("blockFilter"),
          words("buckets"),
          words("entries"),
          offsetMax ?? 0,
          1e6,
          new Uint32Array(literals.length),
          new Uint32Array(3000),
          new Uint32Array(4),
        );
      },
      () =>
        kernel.scan(
          text,
          words("ranges"),
          Math.floor(words("ranges").length / 3),
          Buffer.from("return"),
          true,
          1e6,
          new Uint32Array(100),
          new Uint32Array(4),
        ),
      ...[false, true].map(
        (byLine) => () =>
          kernel.scanAutomaton(
            text,
            words("ranges"),
            Math.floor(words("ranges").length / 4),
            automaton,
            byLine,
            1 + (text.length >>> 1),
            new Uint32Array(20),
            new Uint32Array(4),
          ),
      ),
      ...[false, true].map((chunks) => (): unknown => {
        const cursor = new Uint32Array(3);
        for (let i = 0; i < 20; i++) {
          const isDone = kernel.encodeResults(
            text,
            bytes("paths"),
            words("newlines"),
            newlineStep,
            bytes("fragments"),
            words("results"),
            resultCount,
            words("rows"),
            chunks,
            2,
            60,
            out,
            out.length,
            cursor,
            new Uint32Array(0),
            0,
            chunks,
          );
          if (isDone) return true;
          cursor[2] = 0;
        }
        return false;
      }),
      () =>
        kernel.digestResults(
          bytes("paths"),
          bytes("fragments"),
          words("results"),
          resultCount,
          words("rows"),
          Uint32Array.of(0, 0, resultCount, 0),
          new Uint32Array(5),
        ),
      () => {
        const record = bytes("record");
        const rows = words("symbolRows");
        kernel.symbolsAtRows(
          record,
          0,
          record.length,
          0,
          text.length,
          words("rows"),
          0,
          rowCount,
          100,
          new Uint32Array(400),
        );
        kernel.symbolKinds(record, 0, record.length, 0, rows, 0, rows.length >> 1, new Uint32Array(rows.length));
      },
      () => kernel.copySymbolNames(bytes("record"), text, 0, text.length, out, 0, out.length),
      () =>
        kernel.encodeSymbols(
          text,
          bytes("record"),
          bytes("paths"),
          words("newlines"),
          newlineStep,
          bytes("fragments"),
          words("kindStarts"),
          words("symbolResult"),
          Math.floor(words("symbolResult").length / symbolResultWordCount),
          words("symbolRows"),
          out,
          out.length,
          new Uint32Array(symbolCursorWords),
        ),
      () => {
        const starts = words("contentStart");
        const documentCount = words("documentRepository").length;
        const table = [
          starts,
          new Uint32Array(Math.max(0, starts.length - 1)),
          words("contentFirstDocument"),
          new Uint32Array(documentCount + 1),
          words("documentRepository"),
          new Uint32Array(documentCount).fill(1),
          words("documentInfo"),
          new Uint32Array(0),
          Uint32Array.of(1, 0, 0),
          Uint32Array.of(0, 1),
        ];
        const contents = Uint32Array.from({ length: starts.length }, (_, i) => i);
        kernel.visibleContents(
          ...table,
          contents,
          contents.length,
          new Uint32Array(contents.length),
          new Uint32Array(1),
        );
        kernel.listResults(
          ...table,
          contents,
          contents.length,
          words("rows"),
          rowCount,
          new Uint32Array(50 * resultWordCount),
          new Uint32Array(50),
          new Uint32Array(10),
          new Uint32Array(3),
        );
      },
      () => kernel.writeJson(text, 0, text.length, out, 0),
      () => kernel.buildPostings(text, Uint32Array.of(0, text.length), 1),
    ];
    for (const call of calls)
      try {
        call();
      } catch (error) {
        if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
      }
  }
}

export const nativeTargets: readonly FuzzTarget[] = [
  { name: "native-real", cpuMsMax: 500, testCount: 30, make: changedArray, run: callAll },
];
