/**
 * Every bound that the native code checks, a hostile value for each: the call must refuse it, or not read or write where it
 * must not. Values lie within larger arrays whose other elements are valid, so that a call which misses a check succeeds
 * instead of failing by accident.
 *
 * Returns what was accepted, and does not depend on tap, because `make mutate-native` calls it once for each check that it
 * switches off.
 */
import { randomBytes } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { deflateSync } from "node:zlib";
import type { Addon, NativeMethods, OpenPacks } from "../../src/native/kernel/addon.js";
import { resultWordCount, resultWords } from "../../src/native/kernel/kernel.js";
import { symbolCursorWords, symbolResultWordCount, symbolResultWords } from "../../src/native/kernel/symbol-kernel.js";
import { requestFilterTarget } from "../fuzz/request-filter-target.js";
import { filteredRequests } from "./filtered-requests.js";
import { checkRankings, rankingRows } from "./ranking-bounds.js";
import { copy, deltaOf, insert, treeOf, writePack, type PackedObject } from "./pack-writer.js";

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const unlimited = 0xffffffff;

type Values = readonly unknown[];
type Changes = Readonly<Record<number, unknown>>;

/** A function of the addon, arguments that it accepts, and changes of these that it must refuse. */
interface Row {
  readonly name: string;
  readonly call: (...values: never[]) => unknown;
  readonly good: () => Values;
  readonly refused: readonly (readonly [why: string, changes: Changes])[];
  /** What it throws for damaged data; a TypeError otherwise. */
  readonly thrown?: typeof RangeError;
  /** Whether another row has the same function: the types of arguments are not tried again. */
  readonly isVariant?: boolean;
}

/** Of an array in a larger one: the first `length` elements. */
function wordsWithin(all: readonly number[], length: number): Uint32Array {
  return Uint32Array.from(all).subarray(0, length);
}

function textWithin(text: string, length: number): Uint8Array {
  return bytes(text).subarray(0, length);
}

function words(length: number, value = 0): Uint32Array {
  return new Uint32Array(length).fill(value);
}

const wrongTypes: readonly unknown[] = [undefined, "text", -1, 0.5, 2 ** 32, NaN, {}, new Float64Array(9), [1]];

/** Values of which no argument like the good one can be made. */
function wrongValues(good: unknown): readonly unknown[] {
  if (good instanceof Float64Array) return wrongTypes.filter((value) => !(value instanceof Float64Array));
  switch (typeof good) {
    case "number":
      return [...wrongTypes, true, words(9)];
    case "boolean":
      return [...wrongTypes, 7, words(9)];
    default:
      return [...wrongTypes, true, 7, new Int32Array(99), good instanceof Uint32Array ? new Uint8Array(99) : words(99)];
  }
}

/** Whether the call throws what it should. */
function refuses(
  { call, good, thrown = TypeError }: Row,
  changes: Changes,
  type = thrown as typeof TypeError,
): boolean {
  const values = [...good()];
  for (const [index, value] of Object.entries(changes)) values[Number(index)] = value;
  try {
    call(...(values as never[]));
    return false;
  } catch (error) {
    return error instanceof type;
  }
}

class EnoughFaults extends Error {}

/** What was accepted, or came out otherwise than it must. */
class Faults {
  readonly list: string[] = [];
  /** What precedes each. */
  place = "";
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Throws if there are enough. */
  add(fault: string): void {
    this.list.push(this.place + fault);
    if (this.list.length >= this.#countMax) throw new EnoughFaults();
  }

  check(row: Row): void {
    // What is refused is most often missed.
    for (const [why, changes] of row.refused) if (!refuses(row, changes)) this.add(`${row.name}: ${why}`);
    const thrown = thrownBy(() => row.call(...(row.good() as never[])));
    if (thrown !== undefined) this.add(`${row.name}: sound arguments are refused: ${String(thrown)}`);
    if (row.isVariant === true) return;
    for (const [index, value] of row.good().entries())
      for (const wrong of wrongValues(value))
        if (!refuses(row, { [index]: wrong }, TypeError))
          this.add(`${row.name}: argument ${index} may be ${String(wrong)}`);
  }

  expect(found: unknown, wanted: unknown, what: string): void {
    if (!isDeepStrictEqual(found, wanted))
      this.add(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  }
}

/** Undefined if nothing is thrown. */
function thrownBy(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The words of a result, or of several. */
function result(values: Partial<Record<keyof typeof resultWords, number>>): number[] {
  const all = new Array<number>(resultWordCount).fill(0);
  for (const [key, value] of Object.entries(values)) all[resultWords[key as keyof typeof resultWords]] = value;
  return all;
}

function symbolResult(values: Partial<Record<keyof typeof symbolResultWords, number>>): number[] {
  const all = new Array<number>(symbolResultWordCount).fill(0);
  for (const [key, value] of Object.entries(values))
    all[symbolResultWords[key as keyof typeof symbolResultWords]] = value;
  return all;
}

function scanRows(kernel: NativeMethods): Row[] {
  const text = (): Uint8Array => textWithin("abcXabcXabcabcab", 8);
  const refusedOfBoth = (scan: boolean): Row["refused"] => {
    const range = (...all: number[]): Uint32Array => Uint32Array.from(scan ? all.slice(0, 3) : all);
    const cursorAt = scan ? 7 : 8;
    return [
      ["fewer ranges than their number", { 1: wordsWithin([0, 4, 8, 0, 4, 8, 8, 0], scan ? 3 : 4), 2: 2 }],
      ["no needle", { 3: bytes("") }],
      ["a needle that is not in lower case", { 3: bytes("aBc"), 4: true }],
      ["no work", { [cursorAt - 2]: 0 }],
      ["a short cursor", { [cursorAt]: wordsWithin([0, 0, 0, 0], 3) }],
      ["a range that goes backwards", { 1: range(4, 2, 8, 0) }],
      ["a range that ends after the text", { 1: range(0, 9, 8, 0) }],
      ["matches that end after the text", { 1: range(0, 8, 9, 0) }],
    ];
  };
  return [
    {
      name: "scan",
      call: kernel.scan,
      good: () => [text(), Uint32Array.of(0, 8, 8), 1, bytes("abc"), false, 1e6, words(8), words(4)],
      refused: refusedOfBoth(true),
    },
    {
      name: "scanLines",
      call: kernel.scanLines,
      good: () => [text(), Uint32Array.of(0, 8, 8, 0), 1, bytes("abc"), false, 10, 1e6, words(8), words(4)],
      refused: [
        ...refusedOfBoth(false),
        ["a delimiter that is no byte", { 5: 256 }],
        ["lines that begin after the range", { 1: Uint32Array.of(2, 8, 8, 3) }],
      ],
    },
    {
      name: "scanAutomaton",
      call: kernel.scanAutomaton,
      good: () => [
        textWithin("--ab-ab\n-ab", 8),
        Uint32Array.of(0, 8, 8, 0),
        1,
        automaton(),
        true,
        1e6,
        words(8),
        words(4),
      ],
      refused: [
        ["fewer ranges than their number", { 1: wordsWithin([0, 8, 8, 0, 8, 8, 8, 8], 4), 2: 2 }],
        ["a short cursor", { 7: wordsWithin([0, 0, 0, 0], 3) }],
        ["no work", { 5: 0 }],
        ["one state", { 3: new Uint16Array(256) }],
        ["no state", { 3: new Uint16Array(0) }],
        ["a part of a state", { 3: automaton().subarray(0, 3 * 256 - 1) }],
        ["a part of a state after the last one", { 3: Uint16Array.of(...automaton(), 2) }],
        ["a state after the last one", { 3: automaton().with(0, 3) }],
        ["a way out of the last state", { 3: automaton().with(3 * 256 - 1, 1) }],
        ["a search that has matched", { 7: Uint32Array.of(0, 0, 0, 2) }],
        ["a search in a state after the last one", { 7: Uint32Array.of(0, 0, 0, 3) }],
        ["a range that goes backwards", { 1: Uint32Array.of(4, 2, 8, 0) }],
        ["a range that ends after its content", { 1: Uint32Array.of(0, 8, 7, 0) }],
        ["a content past the text", { 1: Uint32Array.of(0, 8, 9, 0) }],
        ["lines that begin after the range", { 1: Uint32Array.of(2, 8, 8, 3) }],
        ["ranges that overlap", { 1: Uint32Array.of(0, 8, 8, 0, 7, 8, 8, 7), 2: 2 }],
      ],
    },
    {
      name: "countNewlines",
      call: kernel.countNewlines,
      good: () => [text(), 0, 8],
      refused: [
        ["backwards", { 1: 5, 2: 4 }],
        ["past the text", { 2: 9 }],
      ],
    },
    {
      name: "newlineTable",
      call: kernel.newlineTable,
      good: () => [text(), 4, words(3)],
      refused: [["steps past the text", { 1: 5 }]],
    },
    {
      name: "writeJson",
      call: kernel.writeJson,
      good: () => [text(), 0, 8, new Uint8Array(20), 0],
      refused: [
        ["backwards", { 1: 5, 2: 4 }],
        ["past the text", { 2: 9 }],
        ["after the output", { 3: textWithin("-".repeat(60), 20), 4: 21 }],
      ],
    },
  ];
}

function postingRows(kernel: NativeMethods): Row[] {
  const postings = (): Uint8Array => Uint8Array.of(1, 1, 1, 1, 1, 1).subarray(0, 3);
  return [
    {
      name: "buildPostings",
      call: kernel.buildPostings,
      good: () => [textWithin("abcdefghij", 6), Uint32Array.of(0, 3, 2, 6), 2],
      refused: [
        ["fewer units than their number", { 1: wordsWithin([0, 3, 0, 3], 2), 2: 2 }],
        ["a unit that goes backwards", { 1: Uint32Array.of(0, 3, 4, 3) }],
        ["a unit past the text", { 1: Uint32Array.of(0, 3, 0, 7) }],
        [
          "units that are longer together than the text and their overlaps",
          { 0: bytes("a".repeat(200)), 1: Uint32Array.of(0, 200, 1, 130), 2: 2 },
        ],
      ],
    },
    {
      name: "distinctTrigrams",
      call: kernel.distinctTrigrams,
      good: () => [textWithin("abcdefghij", 6), 0, 6, 9],
      refused: [
        ["backwards", { 1: 5, 2: 4 }],
        ["past the text", { 2: 7 }],
      ],
    },
    {
      name: "decodePostings",
      call: kernel.decodePostings,
      good: () => [postings(), 0, 3, words(3)],
      refused: [
        ["backwards", { 1: 2, 2: 1, 3: words(99) }],
        ["past the postings", { 2: 4, 3: words(9) }],
        ["no room", { 3: wordsWithin([0, 0, 0], 2) }],
      ],
    },
    {
      name: "intersectPostings",
      call: kernel.intersectPostings,
      good: () => [postings(), 0, 3, Uint32Array.of(0, 1), 2],
      refused: [
        ["backwards", { 1: 2, 2: 1 }],
        ["past the postings", { 2: 4 }],
        ["fewer units than their number", { 3: wordsWithin([0, 1, 2], 2), 4: 3 }],
      ],
    },
    {
      name: "findLists",
      call: kernel.findLists,
      good: () => [words(1), Uint32Array.of(0, 1), bytes("abc"), words(1)],
      refused: [
        ["no end of the last list", { 1: wordsWithin([0, 1], 1) }],
        ["no room", { 2: bytes("abcd"), 3: wordsWithin([0, 0], 1) }],
      ],
    },
    {
      name: "unitsOfLists",
      call: kernel.unitsOfLists,
      good: () => [postings(), Uint32Array.of(0, 3), words(1), 1, words(3)],
      refused: [
        ["fewer lists than their number", { 2: wordsWithin([0, 0], 1), 3: 2 }],
        ["no such list", { 1: wordsWithin([0, 3, 3], 2), 2: Uint32Array.of(1) }],
        ["a list that goes backwards", { 1: Uint32Array.of(3, 1), 4: words(99) }],
        ["a list past the postings", { 1: Uint32Array.of(0, 4), 4: words(9) }],
        ["no room", { 4: wordsWithin([0, 0, 0], 2) }],
        ["no room before a second list", { 2: words(2), 3: 2, 4: wordsWithin([0, 0, 0], 2) }],
      ],
    },
    {
      name: "contentsOfUnits",
      call: kernel.contentsOfUnits,
      good: () => [Uint32Array.of(0, 1), 2, Uint32Array.of(0, 1, 2), words(2)],
      refused: [
        ["fewer units than their number", { 0: wordsWithin([0, 1, 5], 2), 1: 3 }],
        ["not even the end of the last content", { 2: wordsWithin([0, 9], 0) }],
        ["no room", { 3: wordsWithin([0, 0], 1) }],
      ],
    },
  ];
}

/** A content of ten bytes with one document, and documents without content. */
function tableValues(): Uint32Array[] {
  return [
    Uint32Array.of(0, 10),
    Uint32Array.of(0),
    Uint32Array.of(0, 1, 2),
    Uint32Array.of(0, 5, 10),
    Uint32Array.of(0, 0),
    Uint32Array.of(1, 1),
    Uint32Array.of(0, 0),
    words(0),
    Uint32Array.of(1, 0, 9),
    Uint32Array.of(0, 3),
  ];
}

function documentRows(kernel: NativeMethods): Row[] {
  // Each array with one element less than the others require; what follows is valid.
  const shorter: readonly (readonly [why: string, changes: Changes])[] = [
    ["no end of the last content", { 0: wordsWithin([0, 10], 1) }],
    ["fewer first documents", { 2: wordsWithin([0, 1, 2], 2) }],
    ["fewer paths", { 3: wordsWithin([0, 5, 10], 2) }],
    ["fewer branches", { 5: wordsWithin([1, 1], 1) }],
    ["fewer infos", { 6: wordsWithin([0, 0], 1) }],
    ["no tails", { 9: wordsWithin([0, 3], 0) }],
    ["documents that go backwards", { 2: Uint32Array.of(1, 0, 2) }],
    ["documents that do not exist", { 2: Uint32Array.of(0, 3, 3), 4: wordsWithin([0, 0, 0], 2) }],
    ["a repository that does not exist", { 4: Uint32Array.of(1, 0), 8: wordsWithin([1, 0, 9, 1, 0, 9], 3) }],
  ];
  return [
    {
      name: "visibleContents",
      call: kernel.visibleContents,
      good: () => [...tableValues(), Uint32Array.of(0, 1), 2, words(2), words(1)],
      refused: [
        ...shorter,
        ["fewer contents than their number", { 10: wordsWithin([0, 1, 1], 2), 11: 3, 12: words(9) }],
        ["no room", { 12: wordsWithin([0, 0], 1) }],
        ["no place for the number", { 13: wordsWithin([0], 0) }],
        ["a content that does not exist", { 2: wordsWithin([0, 1, 2, 2], 3), 10: Uint32Array.of(2, 1) }],
      ],
    },
    {
      name: "listResults",
      call: kernel.listResults,
      good: () => [
        ...tableValues(),
        Uint32Array.of(0),
        1,
        Uint32Array.of(1, 2),
        1,
        words(resultWordCount),
        words(1),
        words(1 + 1 + 8),
        words(3),
      ],
      refused: [
        ...shorter,
        ["fewer contents than their number", { 10: wordsWithin([0, 1], 1), 11: 2 }],
        ["fewer rows than their number", { 12: wordsWithin([1, 2, 3, 4], 2), 13: 2 }],
        ["fewer results than documents", { 14: words(2 * resultWordCount).subarray(1), 15: words(2) }],
        ["no place for the totals", { 17: wordsWithin([0, 0, 0], 2) }],
        ["fewer counts", { 16: words(10).subarray(1) }],
        ["no room", { 14: words(0), 15: words(0) }],
        ["a language that does not exist", { 6: Uint32Array.of(1 << 16, 0), 9: wordsWithin([0, 3, 6], 2) }],
        ["rows after the contents", { 12: Uint32Array.of(11, 12) }],
        [
          "rows where there is no content",
          { 0: wordsWithin([0, 10, 99], 2), 10: Uint32Array.of(1), 12: Uint32Array.of(11, 12) },
        ],
      ],
    },
    {
      name: "countDocuments",
      call: kernel.countDocuments,
      good: () => [...tableValues(), Uint32Array.of(0, 1, 1, 0), Uint32Array.of(1), 5, words(1 + 1 + 8), words(3)],
      refused: [
        ...shorter.filter(([why]) => !why.startsWith("documents that")),
        ["half a pair", { 10: Uint32Array.of(0, 1, 1) }],
        ["fewer counts", { 13: words(10).subarray(1) }],
        ["no place for the totals", { 14: wordsWithin([0, 0, 0], 2) }],
        ["a document that does not exist", { 4: wordsWithin([0, 0, 0], 2), 10: Uint32Array.of(2, 1) }],
        ["a language that does not exist", { 6: Uint32Array.of(1 << 16, 0), 9: wordsWithin([0, 3, 6], 2) }],
      ],
    },
  ];
}

function resultRows(kernel: NativeMethods): Row[] {
  // Two rows of one result, in a content of 16 bytes.
  const sound = { pathTo: 1, tailTo: 1, contentTo: 16, rowTo: 2 };
  const withResult = (values: Partial<Record<keyof typeof resultWords, number>>, more: Changes = {}): Changes => ({
    5: Uint32Array.from(result({ ...sound, ...values })),
    ...more,
  });
  const rows = (...all: number[]): Changes => ({ 7: Uint32Array.from(all) });
  const far = 0xfffffff0;
  const good = (chunks: boolean, around: boolean): Values => [
    textWithin("some text of one line, which is long", 16),
    bytes("pq"),
    wordsWithin([0, 0, 0, 0, 0], 3),
    8,
    textWithin("}}}}}}}}}}}}}}}}}}}}}}}}", 20),
    Uint32Array.from(result(sound)),
    1,
    wordsWithin([1, 2, 4, 6, 8, 9], 4),
    chunks,
    1,
    around ? 4 : 100,
    new Uint8Array(2000),
    2000,
    words(3),
    Uint32Array.of(1, 2, 0),
    1,
    around,
  ];
  const refused: Row["refused"] = [
    ["steps of nothing", { 3: 0 }],
    [
      "fewer results than their number",
      { 5: wordsWithin([...result(sound), ...result(sound)], resultWordCount), 6: 2 },
    ],
    ["a short cursor", { 13: wordsWithin([0, 0, 0], 2) }],
    ["a position after the output", { 11: textWithin("-".repeat(2000), 1000), 13: Uint32Array.of(0, 0, 1001) }],
    ["fewer labels than their number", { 14: wordsWithin([1, 2, 0, 4, 5, 0], 3), 15: 2 }],
    ["a path that goes backwards", withResult({ pathFrom: 1, pathTo: 0 })],
    ["a path past the paths", withResult({ pathTo: 3 }, { 1: textWithin("pqr", 2) })],
    ["a head that goes backwards", withResult({ headFrom: 1, headTo: 0 })],
    ["a head past the fragments", withResult({ headTo: 21 })],
    ["a tail that goes backwards", withResult({ tailFrom: 1, tailTo: 0 })],
    ["a tail past the fragments", withResult({ tailTo: 21 })],
    ["rows that go backwards", withResult({ rowFrom: 1, rowTo: 0 })],
    ["rows past the rows", withResult({ rowTo: 3 })],
    ["a content past the text", withResult({ contentTo: 17 })],
    ["a content past the table of newlines", { 2: wordsWithin([0, 0, 0], 2) }],
    ["a content that begins far after its end", withResult({ contentFrom: far })],
    ["more rows done than there are", { 13: Uint32Array.of(0, 2, 0) }],
    ["rows done of a result without rows", withResult({ rowTo: 0 }, { 13: Uint32Array.of(0, 1, 0) })],
    ["a first row far after the content", rows(far, far + 1, far + 2, far + 3)],
    ["a first row before the content", withResult({ contentFrom: 3 })],
    ["a first row past the content", rows(1, 17, 18, 19)],
    ["a first row that goes backwards", rows(2, 1, 4, 6)],
    ["a second row past the content", rows(1, 2, 4, 17)],
    ["a second row that goes backwards", rows(1, 2, 6, 4)],
    ["a second row within the first", rows(1, 5, 4, 6)],
  ];
  return [
    ...[false, true].flatMap((chunks) =>
      [false, true].map((around) => ({
        name: `encodeResults ${chunks ? "chunks" : "lines"}${around ? ", cut" : ""}`,
        call: kernel.encodeResults,
        good: () => good(chunks, around),
        refused,
      })),
    ),
    {
      name: "digestResults",
      call: kernel.digestResults,
      good: () => [
        bytes("pq"),
        textWithin("0123456789abcdef-------------", 20),
        Uint32Array.from(result({ pathTo: 1, headFrom: 16, rowTo: 2 })),
        1,
        wordsWithin([1, 2, 4, 6, 8, 9], 4),
        Uint32Array.of(0, 0, 1, 0),
        words(5),
      ],
      refused: (
        [
          ["a path that goes backwards", { pathFrom: 1, pathTo: 0 }],
          ["a path past the paths", { pathTo: 3 }],
          ["no room for a key before the head", { headFrom: 15 }],
          ["a head past the fragments", { headFrom: 21 }],
          ["rows that go backwards", { rowFrom: 1, rowTo: 0 }],
          ["rows past the rows", { rowTo: 3 }],
        ] as const
      )
        .map(([why, values]): Row["refused"][number] => [
          why,
          { 0: textWithin("pqrs", 2), 2: Uint32Array.from(result({ pathTo: 1, headFrom: 16, rowTo: 2, ...values })) },
        ])
        .concat([
          [
            "fewer results than their number",
            {
              2: wordsWithin([...result({ headFrom: 16 }), ...result({ headFrom: 16 })], resultWordCount),
              3: 2,
              5: Uint32Array.of(0, 0, 2, 0),
            },
          ],
          ["a short range", { 5: wordsWithin([0, 0, 1, 0], 3) }],
          ["a short digest", { 6: wordsWithin([0, 0, 0, 0, 0], 4) }],
          ["a range that begins after the rows", { 5: Uint32Array.of(0, 3, 1, 0) }],
          [
            "a range that ends after the rows",
            {
              5: Uint32Array.of(0, 0, 0, 3),
              2: Uint32Array.from(result({ pathTo: 1, headFrom: 16, rowTo: 1 })),
              4: Uint32Array.of(1, 2, 4, 6, 8, 9),
            },
          ],
        ]),
    },
  ];
}

/** A table of one literal, in two groups of buckets. */
function scanWindowsValues(): Values {
  const literal = "abcdefgh";
  return [
    textWithin("--abcdefgh--abcdefgh", 12),
    Uint32Array.of(0, 12, 12),
    1,
    bytes(literal),
    Uint32Array.of(0, 8),
    false,
    4,
    1,
    words(2, unlimited),
    words(2, unlimited),
    Uint32Array.of(0, 1, 2),
    Uint32Array.of(0, 0, 0, 0),
    0,
    1e6,
    words(1),
    words(12),
    words(4),
  ];
}

function patternRows(kernel: NativeMethods): Row[] {
  const units = unitsValues(kernel);
  const { keys } = kernel.buildPostings(bytes("abcd"), Uint32Array.of(0, 4), 1);
  return [
    {
      name: "scanWindows",
      call: kernel.scanWindows,
      good: scanWindowsValues,
      refused: [
        ["fewer ranges than their number", { 1: wordsWithin([0, 12, 12, 12, 12, 12], 3), 2: 2 }],
        ["no work", { 13: 0 }],
        ["a short cursor", { 16: wordsWithin([0, 0, 0, 0], 3) }],
        ["no end of the last literal", { 4: wordsWithin([0, 8], 0), 10: words(3) }],
        ["fewer ends than literals", { 4: Uint32Array.of(0, 8, 8), 14: wordsWithin([0, 0], 1) }],
        ["a position after the hits", { 16: Uint32Array.of(0, 0, 5, 0) }],
        ["a range that goes backwards", { 1: Uint32Array.of(4, 2, 12) }],
        ["a range that ends after its content", { 1: Uint32Array.of(0, 12, 11) }],
        ["a content past the text", { 1: Uint32Array.of(0, 12, 13) }],
        ["a filter of three words", { 8: words(3, unlimited) }],
        ["a filter of one word", { 8: wordsWithin([unlimited, unlimited], 1) }],
        ["no filter", { 8: wordsWithin([unlimited, unlimited], 0) }],
        ["another filter of three words", { 9: words(3, unlimited) }],
        ["another filter of one word", { 9: wordsWithin([unlimited, unlimited], 1) }],
        ["one bucket", { 10: wordsWithin([0, 1, 2], 2) }],
        ["three buckets", { 10: Uint32Array.of(0, 1, 2, 2) }],
        ["windows of no byte", { 6: 0 }],
        ["windows of nine bytes", { 6: 9 }],
        ["no stride", { 7: 0 }],
        ["a stride of three", { 7: 3 }],
        ["a stride of sixteen", { 7: 16 }],
        ["a bucket that goes backwards", { 10: Uint32Array.of(2, 1, 0) }],
        ["a bucket past the entries", { 10: Uint32Array.of(0, 3, 3), 11: wordsWithin([0, 0, 0, 0, 0, 0], 4) }],
        ["another bucket past the entries", { 10: Uint32Array.of(3, 0, 3), 11: wordsWithin([0, 0, 0, 0, 0, 0], 4) }],
        [
          "a literal that does not exist",
          { 4: wordsWithin([0, 8, 8], 2), 11: Uint32Array.of(1, 0, 1, 0), 14: words(9) },
        ],
        ["a literal that goes backwards", { 4: Uint32Array.of(8, 0) }],
        ["a literal past the literals", { 3: textWithin("abcdefgh", 7) }],
      ],
    },
    {
      name: "unitsOfPatterns",
      call: kernel.unitsOfPatterns,
      good: () => units,
      refused: [
        ["no end of the last list", { 1: wordsWithin([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 10) }],
        ["no place for the totals", { 9: wordsWithin([0, 0], 1) }],
        ["literals that go backwards", { 5: 1, 6: 0 }],
        ["literals that do not exist", { 4: wordsWithin([0, 12, 12], 2), 6: 2 }],
        ["a literal that goes backwards", { 4: Uint32Array.of(8, 5) }],
        ["a literal past the literals", { 3: textWithin("abcdefghijkl", 11) }],
        [
          "a list past the postings",
          { 1: Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), 3: bytes("jkl"), 4: Uint32Array.of(0, 3) },
        ],
        [
          "a second list past the postings",
          {
            0: Uint32Array.from(keys.slice(0, 2)),
            1: Uint32Array.of(0, 1, 20),
            3: bytes("abcd"),
            4: Uint32Array.of(0, 4),
          },
        ],
        ["a unit that has no bit", { 2: new Uint8Array(10).fill(33), 8: wordsWithin([0, 0], 1) }],
      ],
    },
    {
      name: "sortLabels",
      call: kernel.sortLabels,
      good: () => [Uint32Array.of(4, 5, 0, 1, 2, 0), 2],
      refused: [["fewer labels than their number", { 0: wordsWithin([4, 5, 0, 1, 2, 0], 5) }]],
    },
  ];
}

/** Ten trigrams of one literal, each in the first unit: more than are looked at. */
function unitsValues(kernel: NativeMethods): Values {
  const { keys, offsets, bytes: postings } = kernel.buildPostings(bytes("abcdefghijkl"), Uint32Array.of(0, 12), 1);
  return [keys, offsets, postings, bytes("abcdefghijkl"), Uint32Array.of(0, 12), 0, 1, unlimited, words(1), words(2)];
}

/** A record of one symbol, whose name is in the text at 2, with a container "Out". */
const record = Uint8Array.of(1, 1, 3, 0x4f, 0x75, 0x74, 4, 3, 2, 0);
/** The same with the name in the record. */
const stored = Uint8Array.of(1, 0, 15, 3, 0x61, 0x62, 0x63, 0, 0);

/** Of two symbols, in the same container. */
const recordOfTwo = Uint8Array.of(2, 1, 3, 0x4f, 0x75, 0x74, 4, 3, 2, 0, 2, 3, 0, 0);

function lengthened(value: Uint8Array, length: number): Uint8Array {
  const whole = new Uint8Array(value.length + 40).fill(1);
  whole.set(value);
  return whole.subarray(0, length);
}

function symbolRows(kernel: NativeMethods): Row[] {
  const text = (): Uint8Array => textWithin("--abc and other text", 8);
  const sound = { pathTo: 1, tailTo: 1, recordTo: record.length, textTo: 8, rowTo: 1 };
  const withResult = (
    values: Partial<Record<keyof typeof symbolResultWords, number>>,
    more: Changes = {},
  ): Changes => ({
    7: Uint32Array.from(symbolResult({ ...sound, ...values })),
    ...more,
  });
  const cursor = (...values: number[]): Changes => ({
    12: Uint32Array.from({ length: symbolCursorWords }, (_, i) => values[i] ?? 0),
  });
  const encode = (refused: Row["refused"], thrown?: typeof RangeError): Row => ({
    name: "encodeSymbols",
    call: kernel.encodeSymbols,
    good: () => [
      text(),
      lengthened(record, record.length),
      bytes("p"),
      wordsWithin([0, 0, 0, 0], 2),
      8,
      textWithin("}FUNCTION}}}}}}", 9),
      Uint32Array.of(1, 9),
      Uint32Array.from(symbolResult(sound)),
      1,
      wordsWithin([0, 3, 4, 5], 2),
      new Uint8Array(500),
      500,
      words(symbolCursorWords),
    ],
    refused,
    thrown,
  });
  const encodeTwo = (values: Partial<Record<keyof typeof symbolResultWords, number>>, more: Changes = {}): Changes => {
    const soundOfTwo = { pathTo: 1, tailTo: 1, recordTo: recordOfTwo.length, textTo: 20, rowTo: 2 };
    return { 7: Uint32Array.from(symbolResult({ ...soundOfTwo, ...values })), ...more };
  };
  const forTwo: Changes = {
    0: bytes("--abc and other text"),
    1: recordOfTwo,
    3: words(3),
    9: Uint32Array.of(0, 3, 4, 7),
    ...encodeTwo({}),
  };
  const two = encode(
    [
      // A second symbol does not fit, so that a call which misses the check succeeds.
      [
        "rows that go backwards, before others",
        { ...encodeTwo({ rowFrom: 1, rowTo: 0 }), 9: wordsWithin([9, 9, 0, 3, 4, 7], 2), 10: new Uint8Array(180) },
      ],
      ["rows past the rows, before others", { 9: wordsWithin([0, 3, 4, 7], 2) }],
      [
        "a record that goes backwards, before another",
        {
          ...encodeTwo({ recordFrom: recordOfTwo.length, recordTo: 0 }),
          1: Uint8Array.of(...recordOfTwo, ...recordOfTwo),
        },
      ],
      ["more rows than symbols, before others", { 1: Uint8Array.of(1, ...recordOfTwo.subarray(1)) }],
      // Where the record is read on, its containers have not been read.
      [
        "a container before a damaged one",
        {
          ...encodeTwo({ rowTo: 1, recordTo: 11 }),
          1: Uint8Array.of(1, 2, 3, 0x4f, 0x75, 0x74, 200, 4, 3, 2, 0),
          ...cursor(0, 0, 0, 7, 1, 0, 1, 0),
        },
      ],
      [
        "more containers than bytes, before a symbol",
        {
          ...encodeTwo({ rowTo: 1, recordTo: 15 }),
          1: Uint8Array.of(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 3, 0x4f, 0x75, 0x74, 4, 3, 2, 0),
          ...cursor(0, 0, 0, 11, 1, 0, 1, 0),
        },
      ],
    ],
    RangeError,
  );
  const goodOfOne = two.good;
  const rowOfTwo: Row = {
    ...two,
    good: () => {
      const values = [...goodOfOne()];
      for (const [index, value] of Object.entries(forTwo)) values[Number(index)] = value;
      return values;
    },
  };
  const damagedRecord = (...all: number[]): Changes => ({ 0: lengthened(Uint8Array.from(all), all.length) });
  // What no walk over a record may read or believe; `call` reads the one symbol of the record.
  const damages: readonly (readonly [why: string, bytes: readonly number[]])[] = [
    ["more symbols than bytes", [40, 0]],
    ["a container past the record", [1, 1, 9, 1, 1]],
    ["a name in the record past its end", [1, 0, 15, 9, 1, 1]],
    ["a record that ends in a number", [1, 0, 4, 3, 0]],
    ["a number that does not end", [1, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 3, 0, 0]],
    ["a name past the text", [1, 0, 4, 7, 0, 0]],
    ["more containers than bytes", [1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 4, 3, 2, 0]],
  ];
  return [
    rowOfTwo,
    encode([
      ["steps of nothing", { 4: 0 }],
      [
        "fewer results than their number",
        { 7: wordsWithin([...symbolResult(sound), ...symbolResult(sound)], symbolResultWordCount), 8: 2 },
      ],
      ["a short cursor", { 12: words(symbolCursorWords).subarray(1) }],
      ["a position after the output", { ...cursor(0, 0, 401), 10: new Uint8Array(500).subarray(0, 400) }],
      ["a kind past the fragments", { 6: Uint32Array.of(1, 10) }],
      ["a kind that goes backwards", { 6: Uint32Array.of(9, 1, 9) }],
    ]),
    encode(
      [
        ["a path that goes backwards", withResult({ pathFrom: 1, pathTo: 0 })],
        ["a path past the paths", withResult({ pathTo: 2 }, { 2: textWithin("pq", 1) })],
        ["a head that goes backwards", withResult({ headFrom: 1, headTo: 0 })],
        ["a head past the fragments", withResult({ headTo: 10 })],
        ["a tail that goes backwards", withResult({ tailFrom: 1, tailTo: 0 })],
        ["a tail past the fragments", withResult({ tailTo: 10 })],
        ["a link that goes backwards", withResult({ linkFrom: 1, linkTo: 0 })],
        ["a link past the fragments", withResult({ linkTo: 10 })],
        ["a record that goes backwards", withResult({ recordFrom: 1, recordTo: 0 })],
        ["a record past the records", withResult({ recordTo: record.length + 1 })],
        ["a text that goes backwards", withResult({ textFrom: 8, textTo: 0 })],
        ["a text past the texts", withResult({ textTo: 9 }, { 3: words(9) })],
        ["a text past the table of newlines", { 3: wordsWithin([0, 0], 1) }],
        ["rows that go backwards", withResult({ rowFrom: 1, rowTo: 0 })],
        ["rows past the rows", withResult({ rowTo: 2 })],
        ["rows done of a result without rows", { ...withResult({ rowTo: 0 }), ...cursor(0, 1) }],
        ["more rows done than there are", cursor(0, 1)],
        ["a place past the record", cursor(0, 0, 0, record.length + 1, 1, 0, 1, 0)],
        ["a place past the text", cursor(0, 0, 0, 6, 1, 9, 1, 0)],
        ["a place before the text", { ...withResult({ textFrom: 2 }), ...cursor(0, 0, 0, 6, 1, 1, 1, 0) }],
        ["a row before the names", withResult({ namesFrom: 1 })],
        ["a row where no name begins", { 9: Uint32Array.of(1, 3) }],
        ["a kind that does not exist", { 6: Uint32Array.of(1) }],
        ["no kinds", { 6: wordsWithin([1, 9], 0) }],
        [
          "a container that does not exist",
          { 1: lengthened(Uint8Array.of(1, 1, 3, 0x4f, 0x75, 0x74, 4, 3, 3, 0), record.length) },
        ],
        ["no container", { 1: lengthened(Uint8Array.of(1, 0, 4, 3, 2, 0, 0, 0, 0, 0), record.length) }],
      ],
      RangeError,
    ),
    {
      name: "copySymbolNames",
      call: kernel.copySymbolNames,
      good: () => [record, text(), 0, 8, new Uint8Array(9), 0, 4],
      refused: [
        ["a text that goes backwards", { 2: 8, 3: 0, 0: Uint8Array.of(0, 0), 5: 4 }],
        ["a text past the texts", { 3: 9 }],
        ["an output that goes backwards", { 0: Uint8Array.of(0, 0), 5: 4, 6: 3 }],
        ["an output that is too long", { 4: new Uint8Array(9).subarray(0, 3) }],
      ],
    },
    {
      name: "copySymbolNames",
      call: kernel.copySymbolNames,
      good: () => [stored, text(), 0, 8, new Uint8Array(9), 0, 4],
      refused: [
        ...damages.map(([why, all]): Row["refused"][number] => [why, damagedRecord(...all)]),
        ["no room for the line feed", { 6: 3 }],
        ["more symbols than bytes, and nothing to write", { ...damagedRecord(40, 0), 5: 0, 6: 0 }],
        [
          "a second name far after the text",
          { ...damagedRecord(2, 0, 4, 3, 0, 0, ...varint(0xe0000000n), 3, 0, 0), 4: new Uint8Array(12), 6: 12 },
        ],
        ["more room than names", { 6: 5 }],
      ],
      thrown: RangeError,
    },
    {
      name: "symbolKinds",
      call: kernel.symbolKinds,
      good: () => [
        lengthened(record, record.length),
        0,
        record.length,
        0,
        wordsWithin([0, 3, 0, 3], 2),
        0,
        1,
        words(1),
      ],
      refused: [
        ["a record that goes backwards", { 1: 1, 2: 0, 5: 1 }],
        ["a record past the records", { 2: record.length + 1 }],
        ["rows that go backwards", { 5: 1, 6: 0 }],
        ["rows past the rows", { 4: wordsWithin([0, 3], 0) }],
        ["no room", { 7: wordsWithin([0], 0) }],
      ],
    },
    {
      name: "symbolKinds",
      call: kernel.symbolKinds,
      good: () => [
        lengthened(record, record.length),
        0,
        record.length,
        0,
        wordsWithin([0, 3, 0, 3], 2),
        0,
        1,
        words(1),
      ],
      refused: [
        ["a row before the names", { 3: 1 }],
        ["a row where no name begins", { 4: Uint32Array.of(1, 3) }],
        ["more symbols than bytes", { 0: lengthened(Uint8Array.of(40, 0, 4, 3, 0, 0), 6), 2: 6 }],
        ["more symbols than bytes, and no row", { 0: lengthened(Uint8Array.of(40, 0, 4, 3, 0, 0), 6), 2: 6, 6: 0 }],
        ["more than 32 bits of a line", { 0: Uint8Array.of(1, 0, 0x81, 0x80, 0x80, 0x80, 0x20, 0, 0, 0), 2: 10 }],
        ["more than 32 bits of a container", { 0: Uint8Array.of(1, 0, 4, 3, 0x80, 0x80, 0x80, 0x80, 0x10, 0), 2: 10 }],
        ["more than 32 bits of a kind", { 0: Uint8Array.of(1, 0, 4, 3, 0, 0x80, 0x80, 0x80, 0x80, 0x10), 2: 10 }],
        ["more than 32 bits of names", { 0: Uint8Array.of(1, 0, 4, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0), 2: 10 }],
      ],
      thrown: RangeError,
    },
    {
      name: "symbolsAtRows",
      call: kernel.symbolsAtRows,
      good: () => [
        lengthened(record, record.length),
        0,
        record.length,
        0,
        8,
        wordsWithin([2, 3, 3, 4], 2),
        0,
        1,
        9,
        words(4),
      ],
      refused: [
        ["a record that goes backwards", { 1: 1, 2: 0, 6: 1 }],
        ["a record past the records", { 2: record.length + 1 }],
        ["a text that goes backwards", { 3: 8, 4: 0 }],
        ["rows that go backwards", { 5: Uint32Array.of(2, 3), 6: 1, 7: 0 }],
        ["rows past the rows", { 7: 2 }],
      ],
    },
  ];
}

const strings = (...all: readonly string[]): Uint8Array => bytes(all.map((text) => `${text}\0`).join(""));

/** A port on which nothing listens: none has it. */
const noPort = 1;

function systemRows(native: Addon): Row[] {
  return [
    {
      name: "limitUnsentBytes",
      call: native.limitUnsentBytes,
      good: () => [noPort, 9],
      refused: [
        ["no port", { 0: 65536 }],
        ["too many bytes", { 1: 2 ** 31 }],
      ],
    },
    {
      name: "sendDatagram",
      call: native.sendDatagram,
      good: () => [bytes(""), bytes("text"), 0],
      refused: [["no descriptor", { 2: 2 ** 31 }]],
    },
    {
      name: "widenSendBuffers",
      call: native.widenSendBuffers,
      good: () => [noPort, 9],
      refused: [
        ["port 0, which is that of no connection", { 0: 0 }],
        ["no port", { 0: 65536 }],
        ["twice as many are too many", { 1: 2 ** 30 }],
      ],
    },
    { name: "listenerOf", call: native.listenerOf, good: () => [noPort], refused: [["no port", { 0: 65536 }]] },
    {
      name: "replaceListener",
      call: native.replaceListener,
      good: () => [noPort, 9],
      refused: [
        ["no port", { 0: 65536 }],
        ["no descriptor", { 1: 2 ** 31 }],
      ],
    },
    {
      name: "startProcess",
      call: native.startProcess,
      // A file that does not exist: nothing is started.
      good: () => [strings("/nonexistent", "/", "name", "A=1"), 1, 1, words(4, unlimited), words(4)],
      refused: [
        ["fewer limits", { 3: words(4, unlimited).subarray(1) }],
        ["more limits", { 3: words(5, unlimited) }],
        ["a short output", { 4: words(4).subarray(1) }],
        ["no directory", { 0: strings("/nonexistent"), 1: 0, 2: 0 }],
        ["fewer arguments than their number", { 1: 3, 2: 0 }],
        ["less environment than its number", { 2: 2 }],
        ["a text that is not terminated", { 0: strings("/nonexistent", "/", "name", "A=1").subarray(0, -1) }],
      ],
    },
    {
      name: "hasEnded",
      call: native.hasEnded,
      good: () => [0x7fffffff, words(2)],
      refused: [
        ["any child", { 0: 0 }],
        ["no process", { 0: 2 ** 31 }],
        ["a short output", { 1: words(2).subarray(1) }],
      ],
    },
    {
      name: "guardFile",
      call: native.guardFile,
      good: () => [strings("/nonexistent")],
      refused: [["a path that is not terminated", { 0: strings("/nonexistent").subarray(0, -1) }]],
    },
    {
      name: "stateOfFile",
      call: native.stateOfFile,
      good: () => [0x7fffffff, words(4)],
      refused: [
        ["file 0, which is none", { 0: 0 }],
        ["no file", { 0: 2 ** 31 }],
        ["a short output", { 1: words(4).subarray(1) }],
      ],
    },
    {
      name: "faultsOfFile",
      call: native.faultsOfFile,
      good: () => [0x7fffffff, true],
      refused: [
        ["file 0, which is none", { 0: 0 }],
        ["no file", { 0: 2 ** 31 }],
      ],
    },
    {
      name: "filterInput",
      call: native.filterInput,
      // A library that is not loaded.
      good: () => [strings("/nonexistent", "s".repeat(64))],
      refused: [
        ["a longer secret", { 0: strings("/nonexistent", "s".repeat(65)) }],
        ["no secret", { 0: strings("/nonexistent") }],
        ["a secret that is not terminated", { 0: strings("/nonexistent", "s").subarray(0, -1) }],
      ],
    },
    {
      name: "filterRequests",
      call: native.filterRequests,
      good: () => [bytes("GET /"), Uint32Array.of(2, 3), bytes("s".repeat(64)), new Uint8Array(5 + 1024)],
      refused: [
        ["pieces past the bytes", { 0: textWithin("GET / HTTP", 4) }],
        ["no room for what can be added", { 3: new Uint8Array(5 + 1023) }],
        ["a longer secret", { 2: bytes("s".repeat(65)) }],
      ],
    },
    { name: "crc32", call: native.crc32, good: () => [bytes("text")], refused: [] },
    { name: "populate", call: native.populate, good: () => [bytes("text")], refused: [] },
  ];
}

/** An array of one element, which throws what a wrong argument does. */
function unreadable(): unknown {
  return Object.defineProperty([], 0, {
    get: () => {
      throw new TypeError("unreadable");
    },
  });
}

/** Calls with packs that are open, of a repository without objects. */
function packRows(native: Addon): Row[] {
  const open = (): OpenPacks => native.openPacks(strings("/nonexistent"), 0, 20, 1 << 16);
  const closed = open();
  native.closePacks(closed);
  const stop = (): Int32Array[] => [new Int32Array(1)];
  const oids = (count: number): Uint8Array => new Uint8Array(20 * count).fill(1);
  const wrongPacks = ["closed packs", { 0: closed }] as const;
  // `index` is that of the stop flags.
  const wrongFlags = (index: number): Row["refused"] => [
    ["no array of flags", { [index]: new Int32Array(1) }],
    ["a flag that is no array", { [index]: [0] }],
    ["flags of another type", { [index]: [new Uint32Array(1)] }],
    ["a flag without a word", { [index]: [new Int32Array(0)] }],
    ["a flag that cannot be read", { [index]: unreadable() }],
    ["more flags than can be counted", { [index]: new Array(2 ** 32 - 1) }],
    ["more flags than four", { [index]: Array.from({ length: 5 }, () => new Int32Array(1)) }],
  ];
  return [
    {
      name: "openPacks",
      call: native.openPacks,
      good: () => [strings("/nonexistent", "index", "pack"), 1, 32, 1000],
      refused: [
        ["oids of another length", { 2: 21 }],
        ["fewer packs than their number", { 1: 2 }],
        ["no folder", { 0: bytes("/nonexistent"), 1: 0 }],
      ],
    },
    { name: "closePacks", call: native.closePacks, good: () => [open()], refused: [] },
    {
      name: "describeObjects",
      call: native.describeObjects,
      good: () => [open(), oids(2), words(4), stop()],
      refused: [
        wrongPacks,
        ["half an oid", { 1: oids(2).subarray(0, 30) }],
        ["a short output", { 2: words(4).subarray(1) }],
        ...wrongFlags(3),
      ],
    },
    {
      name: "readObject",
      call: native.readObject,
      good: () => [open(), oids(1), bytes("text"), stop()],
      refused: [
        wrongPacks,
        ["a short oid", { 1: oids(1).subarray(1) }],
        ["two oids", { 1: oids(2) }],
        ...wrongFlags(3),
      ],
    },
    {
      name: "readTexts",
      call: native.readTexts,
      good: () => [open(), oids(2), words(2), bytes("text"), 9, words(2), words(2), stop()],
      refused: [
        wrongPacks,
        ["fewer oids than sizes", { 1: oids(2).subarray(0, 20) }],
        ["fewer kinds than sizes", { 5: words(2).subarray(1) }],
        ["a short state", { 6: words(2).subarray(1) }],
        ...wrongFlags(7),
      ],
    },
    {
      name: "beginDiff",
      call: native.beginDiff,
      good: () => [open(), oids(2), stop()],
      refused: [wrongPacks, ["one tree", { 1: oids(2).subarray(20) }], ...wrongFlags(2)],
    },
    {
      name: "nextDiff",
      call: native.nextDiff,
      good: () => [open(), new Uint8Array(9), words(2), stop()],
      refused: [wrongPacks, ["a short state", { 2: words(2).subarray(1) }], ...wrongFlags(3)],
    },
    {
      name: "filterChanges",
      call: native.filterChanges,
      good: () => [open(), oids(2), strings("a", "b"), 2, false, new Uint8Array(2), stop()],
      refused: [
        wrongPacks,
        ["half an oid", { 1: oids(2).subarray(0, 30) }],
        ["fewer verdicts than commits", { 5: new Uint8Array(2).subarray(1) }],
        ["fewer literals than their number", { 3: 3 }],
        ["a literal that is not terminated", { 2: bytes("a\0b") }],
        ["a literal of nothing", { 2: strings("", "b") }],
        ...wrongFlags(6),
      ],
    },
  ];
}

function checkSystem(faults: Faults, addon: Addon): void {
  for (const row of [...systemRows(addon), ...packRows(addon)]) faults.check(row);
  // Whoever calls it with a word changes what happens to this process.
  for (const wrong of [words(0), new Int32Array(1), 1, undefined]) {
    const guard: Row = { name: "guardHeap", call: addon.guardHeap, good: () => [wrong], refused: [] };
    faults.expect(refuses(guard, {}), true, "guardHeap without a word");
  }
  const none = [addon.faultsOfFile(65, false), addon.faultsOfFile(0x7fffffff, true)];
  faults.expect(none, [0, 0], "faults of files that are not guarded");
  const state = words(5, 7);
  addon.stateOfFile(65, state);
  faults.expect([...state], [0, 0, 0, 0, 7], "the state of a file that is not guarded");
  for (const [address, code] of [
    ["", constants.errno.EAFNOSUPPORT],
    ["@", constants.errno.EAFNOSUPPORT],
    ["relative", constants.errno.EAFNOSUPPORT],
    [`/${"x".repeat(107)}`, constants.errno.ENAMETOOLONG],
    [`@${"x".repeat(100_000)}`, constants.errno.ENAMETOOLONG],
  ] as const)
    faults.expect(addon.sendDatagram(bytes(address), bytes("x"), 0), code, `a datagram to ${address.slice(0, 9)}`);
  checkGuards(faults, addon);
}

/** The files that stay guarded while the process lives, because a guard does not end. */
let guardedFolder: string | undefined;
let keptMapping: OpenPacks | undefined;

/** Reads of mapped files that have become shorter, and more files and mappings than can be guarded. */
function checkGuards(faults: Faults, addon: Addon): void {
  if (guardedFolder === undefined) {
    const made = mkdtempSync(join(tmpdir(), "trawl-guards-"));
    process.once("exit", () => rmSync(made, { recursive: true, force: true }));
    guardedFolder = made;
    const blobs = ["01", "fe"].map(
      (byte): PackedObject => ({ type: "blob", content: bytes("hello"), oid: byte.repeat(20) }),
    );
    writePack(made, [{ ...blobs[0], content: randomBytes(6000) }, blobs[1]], "guarded");
  }
  const folder = guardedFolder;
  const index = join(folder, "objects/pack/pack-guarded.idx");
  const pack = readFileSync(join(folder, "objects/pack/pack-guarded.pack"));
  const pathOf = (name: string): string => join(folder, name);
  const openFiles = (...files: readonly string[]): OpenPacks =>
    addon.openPacks(strings(pathOf("objects"), ...files), files.length / 2, 20, 1 << 20);
  const open = (name: string, more = 0): OpenPacks => {
    writeFileSync(pathOf(name), Buffer.concat([pack, Buffer.alloc(more)]));
    return openFiles(index, pathOf(name));
  };
  const kindOf = (packs: OpenPacks): number => {
    const out = words(2);
    addon.describeObjects(packs, Buffer.alloc(20, 0xfe), out, []);
    return out[0];
  };
  const guard = (path: string): number => addon.guardFile(strings(path));
  const stateOf = (file: number): number[] => {
    const out = words(4);
    addon.stateOfFile(file, out);
    return [...out];
  };
  // Ranges before that of the file: of a mapping above it, one that has ended, and one below it.
  const above = open("above");
  const ended = open("ended");
  const gap = open("gap");
  const place = open("place");
  const read = open("read");
  addon.closePacks(gap);
  const below = open("below", 1 << 20);
  addon.closePacks(place);
  const file = guard(pathOf("read"));
  addon.closePacks(ended);
  faults.expect(file > 0, true, "a file that is guarded");
  faults.expect(kindOf(read), blobKind, "an object of a guarded file");
  const before = [addon.faultsOfFile(file, false), addon.packFaults()];
  truncateSync(pathOf("read"), 4096);
  kindOf(read);
  const after = [addon.faultsOfFile(file, false), addon.packFaults()];
  faults.expect(after, [before[0] + 1, before[1]], "a fault of the guarded file");
  faults.expect(guard(pathOf("read")), file, "a file that is guarded again");
  for (let i = 0; i < 2; i++)
    faults.expect(stateOf(file), [after[0], after[0], 1, 0], "a file that has become shorter");
  truncateSync(pathOf("read"), 1 << 20);
  faults.expect(stateOf(file), [after[0], after[0], 0, 0], "a file that has become longer");
  truncateSync(pathOf("read"), 1 << 23);
  faults.expect(stateOf(file), [after[0], after[0], 0, 0], "a file that has become even longer");
  truncateSync(pathOf("read"), 1 << 22);
  faults.expect(stateOf(file), [after[0], after[0], 1, 0], "a file that has become shorter than that");
  const again = openFiles(index, pathOf("read"));
  faults.expect([guard(pathOf("read")), ...stateOf(file)], [file, 0, 0, 0, 0], "a file that is mapped again");

  // A file that is no longer mapped, and whose range is before that of the pack at its addresses: nowhere else is there
  // room for as much.
  const slots = open("gap");
  const openLong = (name: string, size: number): OpenPacks => {
    writeFileSync(pathOf(name), pack);
    truncateSync(pathOf(name), size);
    return openFiles(index, pathOf(name));
  };
  const large = openLong("large", 2 ** 30);
  addon.closePacks(slots);
  const closed = guard(pathOf("large"));
  addon.closePacks(large);
  const small = openLong("small", 2 ** 30 - 2 ** 20);
  const packFaults = addon.packFaults();
  truncateSync(pathOf("small"), 4096);
  kindOf(small);
  faults.expect(
    [addon.faultsOfFile(closed, false), addon.packFaults()],
    [0, packFaults + 1],
    "a fault of what is mapped at the addresses of a closed file",
  );
  addon.closePacks(small);

  writeFileSync(pathOf("unmapped"), "text");
  faults.expect(guard(pathOf("unmapped")), 0, "a file that is not mapped");
  const own = pathOf("own");
  writeFileSync(own, pack);
  const often = openFiles(...new Array<string[]>(10).fill([index, own]).flat());
  faults.expect(guard(own) > 0, true, "a file that is mapped ten times");
  addon.closePacks(often);
  const files = Array.from({ length: 66 }, (_, i) => pathOf(`file-${i}`));
  for (const path of files) writeFileSync(path, pack);
  const many = openFiles(...files.flatMap((path) => [index, path]));
  const numbers = [...files, process.execPath].map(guard);
  faults.expect([numbers[0] > 0, ...numbers.slice(-2)], [true, 0, 0], "more files than can be guarded");
  addon.closePacks(many);
  const next = openFiles(index, files[65]);
  const reused = guard(files[65]);
  faults.expect([reused > 0, ...stateOf(reused)], [true, 0, 0, 0, 0], "a file in the place of one that is closed");
  faults.expect(numbers.includes(reused), false, "its number is its own");
  const replaced = numbers.filter((number) => number > 0 && stateOf(number)[3] === 1);
  faults.expect([replaced.length, addon.faultsOfFile(replaced[0], false)], [1, 0], "one of them is gone");
  addon.closePacks(next);
  // It is still guarded.
  truncateSync(pathOf("above"), 4096);
  faults.expect([kindOf(above), addon.packFaults()], [0, packFaults + 2], "a fault of a pack");
  // Its ranges are forgotten, except one whose addresses nothing else gets.
  const kept = openFiles(index, pathOf("read"));
  for (const packs of [above, read, below, again, ...(keptMapping === undefined ? [] : [keptMapping])])
    addon.closePacks(packs);
  keptMapping = kept;
  guard(pathOf("read"));
  const all = openFiles(...new Array<string[]>(2049).fill([index, own]).flat());
  const more = openFiles(index, own);
  faults.expect(kindOf(more), 0, "an object of a pack that cannot be guarded");
  addon.closePacks(all);
  addon.closePacks(more);
}

/** Of an element that `encodeResults` writes. */
interface Element {
  readonly lineNumber?: number;
  readonly lineStart?: { readonly byte: number };
  readonly patterns?: unknown;
  readonly offsetAndLengths?: unknown;
  readonly ranges?: readonly { readonly end: { readonly offset: number } }[];
  readonly content?: string;
}

/** How results are encoded, and what is picked of each element. */
interface ElementsGiven {
  readonly chunks?: boolean;
  readonly context?: number;
  readonly lineBytesMax?: number;
  readonly labels?: readonly number[];
  readonly linesBefore?: number;
  /** Those that an earlier call wrote. */
  readonly rowsDone?: number;
  readonly pick?: (element: Element) => unknown;
}

/** The elements of a larger array at whose beginning there is room, after a call that was given this beginning. */
function overrun(room: number, call: (out: Uint32Array) => unknown): number[] {
  const whole = words(room + 12, 77);
  const outcome = call(whole.subarray(0, room));
  return [Number(outcome), ...whole.subarray(room)].filter((word) => word !== 77);
}

/** Finds `ab`. */
function automaton(): Uint16Array {
  const table = new Uint16Array(3 * 256).fill(2, 2 * 256);
  for (const state of [0, 1]) table[256 * state + 0x61] = 1;
  table[256 + 0x62] = 2;
  return table;
}

function checkReach(faults: Faults, kernel: NativeMethods): void {
  const text = textWithin("abc-abc-abc-abc-abc-abc-abc-abc-abc-abc-abc-abc-", 16);
  const range = Uint32Array.of(0, 16, 16);
  for (const room of [2, 4, 6]) {
    const scan = (out: Uint32Array): unknown => kernel.scan(text, range, 1, bytes("abc"), false, 1e6, out, words(4));
    faults.expect(overrun(room, scan), [0], `rows: ${room}`);
    const scanLines = (out: Uint32Array): unknown =>
      kernel.scanLines(text, Uint32Array.of(0, 16, 16, 0), 1, bytes("abc"), false, 45, 1e6, out, words(4));
    faults.expect(overrun(room, scanLines), [0], `lines: ${room}`);
    const found = (out: Uint32Array): unknown =>
      kernel.scanAutomaton(
        bytes("ab\nab\nab\nab\n"),
        Uint32Array.of(0, 12, 12, 0),
        1,
        automaton(),
        true,
        1e6,
        out,
        words(4),
      );
    faults.expect(overrun(room, found), [0], `lines of an automaton: ${room}`);
  }
  // Some vectors at once.
  const wide = bytes("abc-".repeat(64));
  for (let rowCount = 1; rowCount < 64; rowCount++) {
    const scan = (out: Uint32Array): unknown =>
      kernel.scan(wide, Uint32Array.of(0, 256, 256), 1, bytes("abc"), false, 1e6, out, words(4));
    faults.expect(overrun(2 * rowCount, scan), [0], `room for ${rowCount} of many rows`);
  }
  const lineRows = (text: Uint8Array, from: number, workMax: number): number[] => {
    const out = words(8);
    const cursor = words(4);
    const range = Uint32Array.of(from, text.length, text.length, 0);
    kernel.scanLines(text, range, 1, bytes("a"), false, 10, workMax, out, cursor);
    return [...out.subarray(0, 2 * cursor[2])];
  };
  faults.expect(lineRows(bytes("ab\nab"), 0, 1e6), [0, 2, 3, 5], "lines of a short text");
  const first = bytes(`-----------a\na\n${"-".repeat(99)}`);
  faults.expect(lineRows(first, 11, 4), [0, 12], "a line that takes all of the work");
  const filled = Uint32Array.of(0, 0, 2, 0);
  const ends = bytes("ab\nab");
  const again = kernel.scanAutomaton(ends, Uint32Array.of(0, 5, 5, 0), 1, automaton(), true, 1e6, words(4), filled);
  faults.expect([again, filled[2]], [false, 2], "rows of an automaton that are full");
  const longText = bytes(`${"-".repeat(20_000)}ab`);
  const longRows = words(8);
  const longRange = Uint32Array.of(0, longText.length, longText.length, 0);
  kernel.scanAutomaton(longText, longRange, 1, automaton(), true, 1e6, longRows, words(4));
  faults.expect(longRows[1], longText.length, "a line that is longer than a piece");
  const wholes = Uint32Array.of(0, 2, 2, 0, 2, 5, 5, 2);
  const outside = Uint32Array.of(0, 9, 0, 0);
  kernel.scanAutomaton(ends, wholes, 2, automaton(), false, 1e6, words(8), outside);
  faults.expect(outside[2], 0, "an automaton that begins after all texts");
  const full = Uint32Array.of(0, 0, 2, 0);
  faults.expect(kernel.scan(text, range, 1, bytes("abc"), false, 1e6, words(4), full), false, "rows that are full");
  faults.expect(full[2], 2, "rows that were full");
  for (const [from, to, end] of [
    [0, 1, 1],
    [0, 2, 2],
    [14, 16, 16],
    [12, 13, 14],
  ]) {
    const cursor = words(4);
    kernel.scan(text, Uint32Array.of(from, to, end), 1, bytes("abc"), false, 1e6, words(4), cursor);
    faults.expect(cursor[2], 0, `no match ends after ${end}`);
  }

  const long = (count: number): Uint8Array => bytes('\u00e9"\\\u20ac\u{1f600}abcdefghijklmnop'.repeat(count));
  for (let room = 0; room < 90; room++) {
    const source = long(2);
    const whole = new Uint8Array(160).fill(1);
    const end = kernel.writeJson(source, 0, source.length, whole.subarray(0, room), 0);
    if (whole.subarray(room).some((byte) => byte !== 1) || end > room !== room < 58)
      faults.add(`JSON of 58 bytes in a room of ${room} ends at ${end}`);
  }
  const cut = ["\xc3", "\xe2\x82", "\xf0\x9f\x98"].map((start) => Buffer.from(`${start}\xbf\xbf`, "latin1"));
  for (const [i, part] of cut.entries()) {
    const out = new Uint8Array(40);
    const end = kernel.writeJson(part, 0, i + 1, out, 0);
    faults.expect(
      Buffer.from(out.subarray(0, end)).toString(),
      "\ufffd".repeat(i + 1),
      `a code point of which ${i + 1} bytes are given`,
    );
  }
  const forms: readonly (readonly number[])[] = [
    [0x80, 0x80],
    [0xc1, 0xbf],
    [0xe0, 0x9f, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x8f, 0x80, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xe2, 0x82, 0x41],
    [0xe2, 0x41, 0x82],
    [0xf0, 0x9f, 0x98, 0x41],
    [0xc3, 0x41],
  ];
  for (const form of forms) {
    const out = new Uint8Array(40);
    const end = kernel.writeJson(Uint8Array.from(form), 0, form.length, out, 0);
    const expected = Buffer.from(form.map((byte) => (byte === 0x41 ? "A" : "\ufffd")).join(""));
    faults.expect([...out.subarray(0, end)], [...expected], `not UTF-8: ${form.join()}`);
  }

  const lists: readonly (readonly [bytes: readonly number[], to: number, units: readonly number[]])[] = [
    [[1, 1, 1, 1], 2, [0, 1]],
    [[1, 0, 1], 3, [0]],
    [[1, 0x81, 0x01], 2, [0]],
    [[1, 0x80, 0x80, 0x80, 0x80, 0x80, 1], 7, [0]],
    [[1, 0xff, 0xff, 0xff, 0xff, 0x1f], 6, [0]],
    [[1, 0x81, 0x80, 0x80, 0x80, 0x10], 6, [0]],
    [[0xff, 0xff, 0xff, 0xff, 0x0f, 1], 6, [0xfffffffe]],
    [[0xff, 0xff, 0xff, 0xff, 0x0f], 5, [0xfffffffe]],
  ];
  for (const [list, to, units] of lists) {
    const out = words(9);
    const count = kernel.decodePostings(Uint8Array.from(list), 0, to, out);
    faults.expect([...out.subarray(0, count)], units, `postings ${list.join()}`);
    const kept = Uint32Array.from([...units, 0xffffffff]);
    const left = kernel.intersectPostings(Uint8Array.from(list), 0, to, kept, units.length);
    faults.expect([...kept.subarray(0, left)], units, `intersected ${list.join()}`);
  }
  const [abc] = kernel.buildPostings(bytes("abc"), Uint32Array.of(0, 3), 1).keys;
  faults.expect(
    kernel.findLists(wordsWithin([abc], 0), wordsWithin([0, 3], 1), bytes("abc"), words(1)),
    0,
    "no keys before one",
  );
  faults.expect(kernel.findLists(Uint32Array.of(abc), Uint32Array.of(0, 3), bytes("xyz"), words(1)), 0, "no such list");
  const shortUnits = kernel.buildPostings(bytes("abc"), Uint32Array.of(3, 3, 2, 3, 1, 3, 0, 3), 4);
  faults.expect([...shortUnits.keys, ...shortUnits.bytes], [abc, 4], "units that are too short for a trigram");
  for (const distance of [1, 127, 128, 16_383, 16_384]) {
    const farUnits = [0, 3, ...new Array<number>(2 * (distance - 1)).fill(3), 0, 3];
    const far = kernel.buildPostings(bytes("abc"), Uint32Array.from(farUnits), distance + 1);
    faults.expect([...far.bytes], [1, ...varint(BigInt(distance))], `a unit ${distance} after another`);
  }
  const oneOfTwo = Uint8Array.of(1, 2, ...new Array<number>(64).fill(1));
  const unitsIn = (starts: readonly number[], ...lists: number[]): number =>
    kernel.unitsOfLists(oneOfTwo, Uint32Array.from(starts), Uint32Array.from(lists), lists.length, words(99));
  faults.expect(unitsIn([0, 1, 2], 0, 1), 0, "a unit that is not in the second list");
  faults.expect(unitsIn([0, 1, 2], 0, 0, 0, 0, 0, 0, 1), 1, "a list after those that are looked at");
  faults.expect(unitsIn([0, 1, 65], 0, 1), 0, "a second list that is short enough");
  faults.expect(unitsIn([0, 1, 66], 0, 1), 1, "a second list that is too long");
  const within = wordsWithin([0, 10, 20, 30, 40, 0, 0, 0], 5);
  const one = words(1);
  faults.expect(
    [kernel.contentsOfUnits(Uint32Array.of(35), 1, within, one), one[0]],
    [1, 3],
    "a unit of a late content",
  );
  for (const [units, firsts, contents] of [
    [[0], [1, 2], []],
    [[0, 1], [0, 2], [0]],
    [[5], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [5]],
    [
      [1, 8],
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      [1, 8],
    ],
    [[9], [0, 9], []],
  ] as const) {
    const out = words(units.length);
    const count = kernel.contentsOfUnits(Uint32Array.from(units), units.length, Uint32Array.from(firsts), out);
    faults.expect([...out.subarray(0, count)], contents, `contents of ${units.join()} in ${firsts.join()}`);
  }
  for (const [list, units, left] of [
    [new Array(40).fill(1), [3], [3]],
    [new Array(40).fill(1), [3, 20], [3, 20]],
    [[0x81, 1, ...new Array<number>(10).fill(1)], [5], []],
    [[0x81, 1, ...new Array<number>(10).fill(1)], [130], [130]],
    [[1, 1, 1, 1, 1, 1, 1], [3], [3]],
    [new Array(12).fill(1), [11], [11]],
    [[10], [3], []],
    [[10], [3, 5], []],
  ] as const) {
    const kept = Uint32Array.from(units);
    const count = kernel.intersectPostings(Uint8Array.from(list), 0, list.length, kept, units.length);
    faults.expect([...kept.subarray(0, count)], left, `units ${units.join()} of ${list.join()}`);
  }
  const labels = Uint32Array.of(4, 5, 0, 1, 2, 0, 1, 3, 7, 1, 3, 6, 9, 9, 1);
  kernel.sortLabels(labels, 5);
  faults.expect([...labels], [1, 3, 6, 1, 3, 7, 1, 2, 0, 4, 5, 0, 9, 9, 1], "sorted labels");
  const [starts, firstLines, firstDocuments, paths, repositories, , ...otherValues] = tableValues();
  for (const [what, branches, tombstones, contents, rowCount] of [
    ["all documents", [1, 1], [0], [0, 1], 1],
    ["a document of a branch that is not searched", [2, 1], [0], [1], 0],
    ["a document that is gone", [1, 1], [1], [1], 0],
  ] as const) {
    const [infos, , ...others] = otherValues;
    const branchMasks = Uint32Array.from(branches);
    const table = [starts, firstLines, firstDocuments, paths, repositories, branchMasks, infos];
    const all = [...table, Uint32Array.from(tombstones), ...others];
    const out = words(2);
    const count = kernel.visibleContents(...all, Uint32Array.of(0, 1), 2, out, words(1));
    faults.expect([...out.subarray(0, count)], contents, `contents of ${what}`);
    const totals = words(3);
    const results = words(resultWordCount);
    kernel.listResults(...all, Uint32Array.of(0), 1, Uint32Array.of(1, 2), 1, results, words(1), words(10), totals);
    faults.expect(totals[0], rowCount, `results of ${what}`);
  }
  const found = words(3, 9);
  faults.expect(kernel.findLists(words(0), words(1), bytes("abc"), found), 0, "no keys");
  const places = words(9, 77);
  const rows = Uint32Array.of(2, 3);
  faults.expect(
    kernel.symbolsAtRows(record, 0, record.length, 0, 8, rows, 0, 1, 9, places.subarray(0, 3)),
    0,
    "no room",
  );
  faults.expect(kernel.symbolsAtRows(record, 0, record.length, 0, 8, rows, 0, 1, 0, places), 0, "no symbol wanted");
  faults.expect(kernel.symbolsAtRows(record, 0, record.length, 0, 4, rows, 0, 1, 9, places), 0, "a name past the text");
  faults.expect(kernel.symbolsAtRows(record, 0, record.length, 0, 8, rows, 0, 0, 9, places), 0, "no row");
  faults.expect(kernel.symbolsAtRows(Uint8Array.of(40, 0), 0, 2, 0, 8, rows, 0, 1, 9, places), 0, "a damaged record");
  for (const [what, given, count] of [
    ["a symbol", [2, 3], 1],
    ["a row before the symbol", [0, 1], 0],
    ["rows around the symbol", [0, 1, 9, 10], 0],
    ["a row that begins before the symbol and ends after it", [0, 9], 0],
    ["a row after one that is before the symbol", [0, 1, 2, 5], 1],
    ["a row that goes on after the name", [2, 6], 0],
    ["a row of nothing, where the symbol begins", [2, 2], 0],
  ] as const)
    faults.expect(
      kernel.symbolsAtRows(record, 0, record.length, 0, 8, Uint32Array.from(given), 0, given.length / 2, 9, words(40)),
      count,
      what,
    );
  for (const [before, place] of [
    [9999, "?L1:10000-1:10003"],
    [10_000, "?L1:10001-1:10004"],
    [10_001, "?L1"],
  ] as const) {
    const text = bytes(`${"-".repeat(before)}abc`);
    const own = Uint8Array.of(1, 0, ...varint(2n * BigInt(before)), 3, 0, 0);
    const out = new Uint8Array(500);
    const cursor = words(symbolCursorWords);
    const result = symbolResult({ pathTo: 1, tailTo: 1, recordTo: own.length, textTo: text.length, rowTo: 1 });
    kernel.encodeSymbols(
      text,
      own,
      bytes("p"),
      words(2),
      10_240,
      bytes("}FUNCTION"),
      Uint32Array.of(1, 9),
      Uint32Array.from(result),
      1,
      Uint32Array.of(0, 3),
      out,
      500,
      cursor,
    );
    const [, url] = /"url":"p([^"]*)"/.exec(Buffer.from(out.subarray(0, cursor[2])).toString()) ?? [];
    faults.expect(url, place, `the place of a name after ${before} bytes`);
  }
  faults.expect(
    kernel.symbolsAtRows(stored, 0, stored.length, 0, 8, Uint32Array.of(0, 1), 0, 1, 9, words(40)),
    0,
    "a symbol whose name is in the record",
  );
  const namesIn = (count: number, room: number): unknown => {
    // Of one byte each, in the record.
    const own = Uint8Array.from([...varint(BigInt(count)), 0, ...new Array(count).fill([1, 1, 0x61, 0, 0]).flat()]);
    const out = Buffer.alloc(room);
    const cursor = words(symbolCursorWords);
    const result = symbolResult({ pathTo: 1, tailTo: 1, recordTo: own.length, rowTo: count });
    const rows = Uint32Array.from({ length: 2 * count }, (_, i) => i);
    kernel.encodeSymbols(
      bytes(""),
      own,
      bytes("p"),
      words(1),
      64,
      bytes("}FUNCTION"),
      Uint32Array.of(1, 9),
      Uint32Array.from(result),
      1,
      rows,
      out,
      room,
      cursor,
    );
    const json = JSON.parse(`[${out.toString("latin1", 0, cursor[2])}]`) as { symbols: unknown[] }[];
    return json.map(({ symbols }) => symbols.length);
  };
  faults.expect(namesIn(1001, 1 << 20), [1000, 1], "more symbols than an object may have");
  faults.expect([namesIn(2, 180), namesIn(2, 300)], [[1], [2]], "as many symbols as fit");
  const name = new Uint8Array(9).fill(0x2d);
  const copyName = (...more: [number, number]): boolean =>
    refuses(
      {
        name: "",
        call: kernel.copySymbolNames,
        good: () => [record, bytes("--abc---"), 0, 8, name, ...more],
        refused: [],
        thrown: RangeError,
      },
      {},
    );
  faults.expect([copyName(0, 3), name[3]], [true, 0x2d], "the line feed of a name that does not fit");
  faults.expect(kernel.distinctTrigrams(textWithin("abcdefghijkl", 6), 0, 6, 9), 4, "distinct trigrams");
  const many = bytes("a".repeat(200));
  const { keys, offsets } = kernel.buildPostings(many, Uint32Array.of(0, 200), 1);
  faults.expect(kernel.findLists(keys, offsets, many, words(198)), 1, "one list of many trigrams");
  faults.expect(kernel.findLists(keys, offsets, textWithin("aaab", 3), words(1)), 1, "the trigram of a literal");
  const alphabet = bytes("abcdefghijkl");
  const ten = kernel.buildPostings(alphabet, Uint32Array.of(0, 12), 1);
  faults.expect(kernel.findLists(ten.keys, ten.offsets, alphabet, words(10)), 10, "the lists of ten trigrams");
  const ofThree = kernel.buildPostings(bytes("bcdabcdabcabc"), Uint32Array.of(0, 6, 7, 10, 10, 13), 3);
  for (const [literal, lengths] of [
    ["bcdabc", [1, 1, 1, 3]],
    ["abcd", [1, 3]],
  ] as const) {
    const found = words(4);
    const count = kernel.findLists(ofThree.keys, ofThree.offsets, bytes(literal), found);
    const sizes = [...found.subarray(0, count)].map((list) => ofThree.offsets[list + 1] - ofThree.offsets[list]);
    faults.expect(sizes, lengths, `the lengths of the lists of ${literal}`);
  }
  const two = words(9);
  const startsOfTwo = Uint32Array.of(0, 3, 3);
  faults.expect(
    kernel.unitsOfLists(Uint8Array.of(1, 1, 1), startsOfTwo, Uint32Array.of(0, 1), 1, two),
    3,
    "one list of two",
  );
  const sparse = Uint32Array.of(12);
  faults.expect(kernel.intersectPostings(new Uint8Array(40).fill(1), 0, 9, sparse, 1), 0, "a unit after the list");
  const none = kernel.contentsOfUnits(Uint32Array.of(7), 1, wordsWithin([0, 2, 4, 6, 8, 9], 3), words(9));
  faults.expect(none, 0, "a unit after the contents");
  const scanned = (values: Changes): number => {
    const all = [...scanWindowsValues()];
    for (const [index, value] of Object.entries(values)) all[Number(index)] = value;
    kernel.scanWindows(...(all as (Uint8Array | Uint32Array | number | boolean)[]));
    return (all[16] as Uint32Array)[2];
  };
  faults.expect(scanned({}) > 0, true, "an occurrence");
  faults.expect(scanned({ 1: Uint32Array.of(0, 9, 9) }), 0, "an occurrence that ends after its content");
  faults.expect(scanned({ 1: Uint32Array.of(0, 2, 12), 12: 9 }), 0, "an occurrence that begins after the range");
  // Behind the first eight bytes, which are compared together.
  const digit = { 1: Uint32Array.of(0, 13, 13), 3: bytes("abcdefgh0"), 4: Uint32Array.of(0, 9), 5: true };
  faults.expect(scanned({ ...digit, 0: bytes("--ABCDEFGH0--") }), 1, "letters in another case");
  faults.expect(
    scanned({ ...digit, 0: bytes("--abcdefgh\x10--") }),
    0,
    "a byte that differs from a digit like cases do",
  );
  faults.expect(scanned({ 14: Uint32Array.of(5) }), 0, "an occurrence that overlaps the one before");
  const nine = { 3: bytes("abcdefghi"), 4: Uint32Array.of(0, 9) };
  const always = "abcdefgh".repeat(25_000);
  faults.expect(scanned({ 0: bytes(always), 1: Uint32Array.of(0, 16, always.length) }), 2, "windows after the range");
  faults.expect(
    scanned({ 0: bytes("abcdefgh"), 1: Uint32Array.of(0, 1, 8), 7: 4, 8: words(2) }),
    0,
    "a block without a window",
  );
  for (const [windowBytes, stride] of [
    [4, 1],
    [4, 2],
    [4, 4],
    [1, 8],
  ])
    for (let length = 8; length < 72; length++)
      faults.expect(
        scanned({
          0: bytes(always.slice(0, length)),
          1: Uint32Array.of(0, length, length),
          6: windowBytes,
          7: stride,
          15: words(48),
        }),
        Math.floor(length / 8),
        `occurrences in ${length} bytes`,
      );
  const cursorAfter = (values: Changes): number[] => {
    const cursor = words(4);
    scanned({ 16: cursor, ...values });
    return [...((values[16] as Uint32Array | undefined) ?? cursor)];
  };
  faults.expect(cursorAfter({})[3] < 100, true, "the work on a short content");
  faults.expect(
    cursorAfter({ 16: Uint32Array.of(0, 2, 0, unlimited) })[3],
    unlimited,
    "more work on literals than can be counted",
  );
  faults.expect(scanned({ 16: Uint32Array.of(0, 5, 0, 0) }), 0, "an occurrence before the position");
  const unread = { 0: bytes("-".repeat(9000)) };
  faults.expect(
    cursorAfter({ ...unread, 1: Uint32Array.of(8980, 9000, 9000) })[3],
    2 * 17,
    "the work on a short range",
  );
  faults.expect(
    cursorAfter({ ...unread, 1: Uint32Array.of(0, 10, 9000) })[3],
    2 * 10,
    "the work before a long content",
  );
  for (const stride of [1, 2, 4, 8])
    faults.expect(
      cursorAfter({ ...unread, 1: Uint32Array.of(0, 9000, 9000), 7: stride })[3],
      2 * (9000 - (4 + stride - 1) + 1),
      `the work on several steps with a stride of ${stride}`,
    );
  const often = { 0: bytes("abcdefgh".repeat(2)), 1: Uint32Array.of(0, 16, 16), 13: 1 };
  faults.expect(cursorAfter(often).slice(0, 3), [0, 1, 1], "one block of a call without work");
  faults.expect(
    scanned({ 0: bytes("--ABCDEFGHI-"), 3: bytes("abcdefghi"), 4: Uint32Array.of(0, 9), 5: true }),
    1,
    "letters in another case behind the first eight",
  );
  faults.expect(scanned(nine), 0, "an occurrence whose last byte is another");
  faults.expect(scanned({ ...nine, 0: bytes("--abcdefghi-") }), 1, "an occurrence of nine bytes");
  const early = bytes("abcdefgh----").subarray(3);
  faults.expect(
    scanned({ 0: early, 1: Uint32Array.of(0, 9, 9), 11: Uint32Array.of(0, 5, 0, 5), 12: 9 }),
    0,
    "an occurrence that begins before the text",
  );
  const wanted = (literal: string): unknown => {
    const all = [...unitsValues(kernel)];
    all[3] = bytes(literal);
    all[4] = Uint32Array.of(0, literal.length);
    const isKnown = kernel.unitsOfPatterns(...(all as (Uint8Array | Uint32Array | number)[]));
    return [isKnown, ...(all[9] as Uint32Array)];
  };
  faults.expect(wanted("ab"), [false, 0, 0], "units of a literal without a trigram");
  faults.expect(wanted("zzzz"), [true, 0, 0], "units of a literal that is nowhere");
  faults.expect(wanted("abcdefghijkl"), [true, 1, 1], "units of a literal of many trigrams");
  const markedUnits = (texts: readonly string[], literals: readonly string[], costMax = unlimited): unknown => {
    const ends = (all: readonly string[]): number[] => all.map((_, i) => all.slice(0, i + 1).join("").length);
    const textEnds = [0, ...ends(texts)];
    const lists = kernel.buildPostings(
      bytes(texts.join("")),
      Uint32Array.from(texts.flatMap((_, i) => textEnds.slice(i, i + 2))),
      texts.length,
    );
    const marks = words(1);
    const totals = words(2);
    const isKnown = kernel.unitsOfPatterns(
      lists.keys,
      lists.offsets,
      lists.bytes,
      bytes(literals.join("")),
      Uint32Array.of(0, ...ends(literals)),
      0,
      literals.length,
      costMax,
      marks,
      totals,
    );
    return [isKnown, marks[0], ...totals];
  };
  faults.expect(
    markedUnits(["aaaaaaaa", "aabc"], ["aaaaaaaaaabc"]),
    [true, 0, 1, 1],
    "units of a trigram that repeats",
  );
  faults.expect(markedUnits(["abcd", "bcd", "bcd"], ["abcd"]), [true, 1, 1, 1], "the shortest list of a literal");
  const digits = Array.from({ length: 40 }, (_, i) => 10 + i).join("");
  faults.expect(
    markedUnits([digits.slice(0, 64), digits.slice(64)], [digits]),
    [true, 1, 1, 1],
    "units of a literal that goes on after what they have of the next one",
  );
  // Each trigram is in fewer units than the one before.
  const prefixes = Array.from({ length: 12 }, (_, i) => "abcdefghijklmn".slice(0, 14 - i));
  faults.expect(markedUnits(prefixes, [prefixes[0]]), [true, 1, 1, 1], "units of ever shorter lists");
  faults.expect(markedUnits(["aaa", "aaa", "aaabcd"], ["aaa", "bcd"]), [true, 7, 2, 4], "units of a shorter list");
  faults.expect(markedUnits(["abc"], ["abc"], 64), [false, 0, 0, 0], "units that cost too much");
  faults.expect(markedUnits(["abc"], ["abc"], 65), [true, 1, 1, 1], "units that do not cost too much");
  faults.expect(
    markedUnits(["abc"], new Array<string>(128).fill("abc")),
    [false, 0, 0, 0],
    "literals that are in most of the units",
  );
  const elements = (text: Uint8Array, rows: readonly number[], given: ElementsGiven = {}): unknown => {
    const out = Buffer.alloc(4000);
    const cursor = Uint32Array.of(0, given.rowsDone ?? 0, 0);
    const table = words(Math.floor(text.length / 8) + 1);
    kernel.newlineTable(text, 8, table);
    const { chunks = false, context = 0, lineBytesMax = 1000, labels = [], linesBefore = 0 } = given;
    kernel.encodeResults(
      text,
      bytes("p"),
      table,
      8,
      bytes("}"),
      Uint32Array.from(result({ pathTo: 1, tailTo: 1, contentTo: text.length, rowTo: rows.length / 2, linesBefore })),
      1,
      Uint32Array.from(rows),
      chunks,
      context,
      lineBytesMax,
      out,
      out.length,
      cursor,
      Uint32Array.from(labels),
      labels.length / 3,
      lineBytesMax < 1000,
    );
    const { lineMatches, chunkMatches } = JSON.parse(out.toString("utf8", 0, cursor[2])) as Record<string, Element[]>;
    return (chunks ? chunkMatches : lineMatches).map((element) => given.pick?.(element) ?? element.lineNumber);
  };
  const pick = ({ patterns }: Element): unknown => patterns;
  const labelled = { labels: [0, 1, 0, 3, 4, 1], pick };
  faults.expect(
    elements(bytes("ab\ncd\n"), [0, 1, 3, 4], labelled),
    [[[0, 0, 1]], [[1, 3, 4]]],
    "the labels of two lines",
  );
  const longLine = bytes("a".repeat(64));
  faults.expect(
    elements(longLine, [2, 3, 50, 51], { lineBytesMax: 16, labels: [2, 3, 0, 50, 51, 1], pick }),
    [[[0, 2, 3]], [[1, 50, 51]]],
    "the labels of two parts of a line",
  );
  faults.expect(elements(bytes("abcde"), [0, 1], labelled), [[[0, 0, 1]]], "a label after the last row");
  const columns = ({ offsetAndLengths }: Element): unknown => offsetAndLengths;
  const accented = bytes(`ab\u00e9cd${"-".repeat(100)}`);
  faults.expect(elements(accented, [5, 6], { pick: columns }), [[[4, 1]]], "the column behind an accent");
  const rowsOfPart = [
    [2, 3],
    [2, 40],
  ];
  faults.expect(
    rowsOfPart.map((row) => elements(longLine, row, { lineBytesMax: 16, pick: columns })),
    [[[[2, 1]]], [[[2, 14]]]],
    "a row within a part of a line, and one that goes on",
  );
  const rangeEnd = { chunks: true, lineBytesMax: 16, pick: ({ ranges }: Element): unknown => ranges?.[0].end.offset };
  faults.expect(
    rowsOfPart.map((row) => elements(longLine, row, rangeEnd)),
    [[3], [16]],
    "a range within a part of a line, and one that goes on",
  );
  faults.expect(
    elements(bytes(`a\n${"b".repeat(64)}`), [0, 40], rangeEnd),
    [18],
    "a range that ends within a long line",
  );
  faults.expect(elements(bytes("abc"), [1, 1]), [], "a row of nothing");
  const continued = { chunks: true, context: 2, rowsDone: 1, pick: ({ content }: Element): unknown => content };
  faults.expect(
    [
      [0, 1, 8, 9],
      [8, 9, 9, 10],
    ].map((rows) => elements(bytes("a\nb\nc\nd\nef\n"), rows, continued)),
    [["d\nef"], ["ef"]],
    "context that an earlier call wrote",
  );
  faults.expect(
    elements(accented, [1, 2, 5, 6], { pick: columns }),
    [
      [
        [1, 1],
        [4, 1],
      ],
    ],
    "columns of a long line",
  );
  const start = ({ lineStart }: Element): unknown => lineStart?.byte;
  const split = { lineBytesMax: 16, pick: start };
  const parts = Buffer.from(`aa${"\x80".repeat(12)}${"a".repeat(20)}`, "latin1");
  faults.expect(elements(parts, [10, 11], split), [9], "a part that begins among many bytes of no code point");
  faults.expect(elements(parts.subarray(2), [3, 4], split), [0], "a part that begins with its line");
  faults.expect(
    elements(bytes(`${"a".repeat(34)}\nb\nc`), [10, 11, 37, 38], {
      lineBytesMax: 16,
      labels: [35, 36, 0, 37, 38, 1],
      pick,
    }),
    [
      [],
      [
        [0, 35, 36],
        [1, 37, 38],
      ],
    ],
    "a label between a part and the next row",
  );
  faults.expect(elements(bytes("a\nb\n\n\nc"), [1, 1, 3, 5], {}), [1], "a row of newlines on a later line");
  faults.expect(elements(bytes("a\nb\n\n\nc"), [3, 7], {}), [4], "a row of newlines and then a letter");
  faults.expect(
    thrownBy(() => elements(bytes("a\n"), [1, 1, 1, 0xfffffff0])) instanceof TypeError,
    true,
    "a row of newlines that goes on after the text",
  );
  faults.expect(
    elements(bytes("abc"), [0, 1], { chunks: true, context: 2, linesBefore: unlimited, pick: (all) => all.content }),
    ["abc"],
    "context before the first line, which has a wrong number",
  );
  const digested = (count: number): unknown => {
    const all = [...result({ headFrom: 16, rowTo: 2 }), ...result({ headFrom: 16, rowTo: 2 })];
    const sum = words(5);
    const key = bytes("0123456789abcdef");
    const rows = Uint32Array.of(1, 2, 4, 6);
    kernel.digestResults(bytes("p"), key, Uint32Array.from(all), count, rows, Uint32Array.of(0, 0, 2, 0), sum);
    return sum[4];
  };
  faults.expect([digested(1), digested(2)], [2, 4], "the rows of a range that ends after the results");
  faults.expect([...places], new Array(9).fill(77), "places that were not written");
}

/** Rows, and where the call ended. */
interface Scanned {
  readonly rows: readonly number[];
  /** Range, position, number of rows, and the fourth word. */
  readonly cursor: readonly number[];
  readonly isDone: boolean;
}

/** Where calls end: at the end of their work, of a line, of a content, or of the room for rows. */
function checkEnds(faults: Faults, kernel: NativeMethods): void {
  type Call = (rows: Uint32Array, cursor: Uint32Array) => boolean;
  const scanned = (call: Call, begin: readonly number[] = [], room = 20): Scanned => {
    const rows = words(2 * room);
    const cursor = Uint32Array.from({ length: 4 }, (_, i) => begin[i] ?? 0);
    const isDone = call(rows, cursor);
    return { rows: [...rows.subarray(0, 2 * cursor[2])], cursor: [...cursor], isDone };
  };
  // Ranges are given as words, or else the whole text is one.
  const lines = (text: string, ranges?: readonly number[], workMax = 1e6, begin?: readonly number[]): Scanned => {
    const given = Uint32Array.from(ranges ?? [0, text.length, text.length, 0]);
    const count = given.length / 4;
    return scanned(
      (rows, cursor) => kernel.scanLines(bytes(text), given, count, bytes("ab"), false, 10, workMax, rows, cursor),
      begin,
    );
  };
  const filler = "-".repeat(100);
  faults.expect(lines(`ab--\n${filler}`, [0, 3, 3, 0]).rows, [0, 3], "a line that ends with its content");
  faults.expect(lines(`ab-${filler}`, [0, 3, 3, 0]).rows, [0, 3], "a line of a text without newlines");
  faults.expect(
    lines(`${"-".repeat(38)}\n--ab${filler}`, [40, 44, 44, 40]).rows,
    [40, 44],
    "a line that begins with its content",
  );
  faults.expect(lines(`${filler}ab--`, [90, 104, 104, 90]).rows, [90, 104], "a last line of a text without newlines");
  faults.expect(lines("abab", [0, 2, 2, 0, 2, 4, 4, 2]).rows, [0, 2, 2, 4], "lines of contents without newlines");
  faults.expect(lines(filler, undefined, 4).cursor, [0, 4, 0, 4], "a call that ends with its work");
  const far = lines(`ab${filler}ab`, [0, 10, 102, 0, 102, 104, 104, 102], 8);
  faults.expect([far.cursor[0], far.rows], [0, [0, 102]], "a line that is longer than the work and the range");
  const late = lines(`${filler}ab`, [100, 101, 102, 0, 0, 9, 9, 0], 50);
  faults.expect(
    [late.isDone, late.rows],
    [false, [0, 102]],
    "a line at the end of the text that is longer than the work",
  );

  const scan = (
    text: string,
    needle: string,
    ranges?: readonly number[],
    fold = false,
    begin?: readonly number[],
    workMax = 1e6,
  ): Scanned => {
    const given = Uint32Array.from(ranges ?? [0, text.length, text.length]);
    const count = given.length / 3;
    return scanned(
      (rows, cursor) => kernel.scan(bytes(text), given, count, bytes(needle), fold, workMax, rows, cursor),
      begin,
    );
  };
  faults.expect(scan("ab-ab-ab-ab", "ab", [0, 4, 11]).rows, [0, 2, 3, 5], "matches that begin in the range");
  faults.expect(scan("-ab", "ab", [0, 2, 3]).cursor[3], 2, "the work on a range after which a match ends");
  faults.expect(
    scan("-ab---", "ab", undefined, false, undefined, 2).cursor,
    [0, 3, 1, 3],
    "the work of a call after which a match ends",
  );
  faults.expect(scan(filler, "ab", [0, 9, 9, 9, 30, 30]).isDone, true, "two ranges in one call");
  faults.expect(scan(filler, "ab", undefined, false, [0xffffffff]).rows, [], "a range after all");
  faults.expect(scan(filler, "ab", undefined, false, [0, 90, 0, 5]).cursor, [1, 99, 0, 14], "the work on a content");
  faults.expect(
    scan(filler, "ab", undefined, false, [0, 90, 0, unlimited]).cursor[3],
    unlimited,
    "more work than can be counted",
  );
  for (const needle of ["ab", "ba", "zq", "qz", "q ", " q", "aa", "q"])
    for (const text of [needle, `${needle[0]}-`, `-${needle.at(-1)}`])
      faults.expect(
        scan(`${text}${filler}`, needle).rows.length > 0,
        `${text}-`.includes(needle),
        `${JSON.stringify(needle)} in ${JSON.stringify(text)}`,
      );
  faults.expect(
    ["AB", "aB", "Zz", "@[", "`{"].map((text) => scan(text + filler, text.toLowerCase(), undefined, true).rows.length),
    [2, 2, 2, 2, 2],
    "letters in another case",
  );
  for (const [text, needle] of [
    ["@@", "``"],
    ["[[", "{{"],
    ["[", "{"],
  ])
    faults.expect(scan(text + filler, needle, undefined, true).rows, [], `${needle} is no other case of ${text}`);
  const long = Array.from({ length: 47 }, (_, i) => 100 + i).join("");
  for (let at = 0; at <= long.length; at++)
    faults.expect(
      scan(`--${long.slice(0, at)}${at < long.length ? "x" : ""}${long.slice(at + 1)}${filler}`, long).rows.length > 0,
      at === long.length,
      `a long needle whose byte ${at} is another`,
    );

  const find = (
    text: string | Uint8Array,
    ranges: readonly number[] | undefined,
    given: { readonly byLine?: boolean; readonly workMax?: number; readonly room?: number } = {},
  ): Scanned => {
    const all = typeof text === "string" ? bytes(text) : text;
    const own = Uint32Array.from(ranges ?? [0, all.length, all.length, 0]);
    const { byLine = true, workMax = 1e9, room } = given;
    const call: Call = (rows, cursor) =>
      kernel.scanAutomaton(all, own, own.length / 4, automaton(), byLine, workMax, rows, cursor);
    return scanned(call, [], room);
  };
  const whole = find(new Uint8Array(3 << 20), undefined, { byLine: false });
  faults.expect(whole.cursor[1], 1 << 20, "a range that is not divided, at once");
  for (const byLine of [false, true])
    faults.expect(
      find(filler, undefined, { byLine, workMax: 4 }).cursor,
      [0, 4, 0, 0],
      "an automaton that ends with its work",
    );
  faults.expect(find("ab\n--ab\n", [3, 8, 8, 3]).rows, [3, 7], "a range that does not begin with the text");
  for (const [what, text, workMax, position] of [
    ["that ends with its content", "ab---", 3, 5],
    ["that ends with the work", "ab\n-----", 2, 3],
    ["that ends before the work", `ab\n${filler}`, 8, 8],
    ["that ends after the work", "ab------\nab", 3, 9],
  ] as const)
    faults.expect(
      find(text, undefined, { workMax }).cursor.slice(0, 3),
      [0, position, 1],
      `where a call continues after a line ${what}`,
    );
  for (const [text, ranges, position] of [
    ["abab", [0, 2, 2, 0, 2, 4, 4, 2], 2],
    ["ab\nab", [0, 5, 5, 0], 3],
  ] as const)
    faults.expect(find(text, ranges, { room: 1 }).cursor, [0, position, 1, 0], "where a call without room continues");
  // More contents than chains, each of another length, whose last line has a match.
  const lengths = [16, 160, 48, 320, 16, 96, 64, 176, 32, 16];
  const ends = lengths.map((_, i) => lengths.slice(0, i + 1).reduce((sum, length) => sum + length));
  const contents = lengths.map((length) => `${"-".repeat(length - 4)}\nab\n`).join("");
  const each = find(
    contents,
    ends.flatMap((end, i) => [end - lengths[i], end, end, end - lengths[i]]),
  );
  faults.expect(
    each.rows,
    ends.flatMap((end) => [end - 3, end - 1]),
    "contents of different lengths",
  );
  // The call ends in the line of the last match, which another one follows.
  const before = [0, 1, 2, 3, 4, 5, 6].flatMap((i) => [320 * i, 320 * (i + 1), 320 * (i + 1), 320 * i]);
  const start = 7 * 320;
  const last = `ab${filler}\n${"ab\n".repeat(99)}`;
  const cut = find("-".repeat(start) + last, [...before, start, start + last.length, start + last.length, start], {
    workMax: start + 32,
  });
  faults.expect([cut.rows, cut.cursor[1]], [[start, start + 102], start + 103], "a line after which the work ends");

  const trigrams = Uint8Array.from(
    { length: 30_000 },
    (_, i) => 32 + (i % 3 === 0 ? i / 3 / 90 : i % 3 === 1 ? (i / 3) % 90 : 0),
  );
  faults.expect(kernel.distinctTrigrams(trigrams, 0, trigrams.length, 1e6) > 10_000, true, "many distinct trigrams");
  faults.expect(kernel.distinctTrigrams(bytes("abcdefghijkl"), 0, 12, 5), 6, "more distinct trigrams than the limit");
}

/** Kind and size of an object that is not found. */
const notFound = [0, 0];
const blobKind = 3;
const failed = 2;

/** The distance to a base as packs have it; a larger one than 64 bits wraps round in a reader that does not count. */
function baseDistance(distance: bigint): number[] {
  const all = [Number(distance & 127n)];
  for (let rest = (distance >> 7n) - 1n; rest >= 0n; rest = (rest >> 7n) - 1n) all.unshift(Number(rest & 127n) | 128);
  return all;
}

function varint(value: bigint): number[] {
  return value < 128n ? [Number(value)] : [Number(value & 127n) | 128, ...varint(value >> 7n)];
}

const sumOf = (number: number): string => number.toString(16).padStart(40, "0");
const oidAt = (number: number): Buffer => Buffer.from(sumOf(number), "hex");

const commitText = `tree ${sumOf(0x71)}\nauthor A <a@example.org> 1 +0000\ncommitter A <a@example.org> 1 +0000\n\ntext\n`;

/** Objects of one pack, and what a reader must say of them. */
function checkObjects(faults: Faults, addon: Addon, folder: string): void {
  const head = (type: number, size: number): number => (type << 4) | size;
  const deflated = (text: string): Buffer => deflateSync(text);
  const raw = (...parts: readonly (number | Uint8Array | readonly number[])[]): Uint8Array =>
    Buffer.concat(parts.map((part) => Buffer.from(typeof part === "number" ? [part] : part)));
  const delta = (base: number, content: Uint8Array): Omit<PackedObject, "oid"> => ({
    type: "oid-delta",
    base: sumOf(base),
    content,
  });
  const entry = (mode: string, name: string, oid = 1): Buffer => treeOf([[mode, name, sumOf(oid)]]);
  const large = 1 << 20;
  const longBytes = (2 << 20) + 1;
  const blob = raw(head(3, 5), deflated("hello"));
  const wholeDelta = deltaOf(5, 5, copy(0, 5));
  // An entry that begins so, and is said to be a delta of the blob before it.
  const offsetEntries = [
    [head(6, wholeDelta.length), ...baseDistance(BigInt(blob.length))],
    [head(0, wholeDelta.length), ...baseDistance(BigInt(blob.length))],
    [head(5, wholeDelta.length), ...baseDistance(BigInt(blob.length))],
    [head(6, wholeDelta.length), ...baseDistance((1n << 64n) + BigInt(blob.length))],
    [head(6, wholeDelta.length), 0],
    [head(6, wholeDelta.length), ...baseDistance(1n << 20n)],
  ];
  const endless = [0x85, ...new Array<number>(8).fill(0x80)];
  const objects = new Map<number | string, Omit<PackedObject, "oid">>([
    [1, { type: "blob", content: bytes("hello") }],
    [2, { type: "blob", content: bytes("") }],
    [3, { type: "blob", content: new Uint8Array(large) }],
    [4, delta(1, deltaOf(5, 5, copy(0, 5)))],
    // Deltas that do not say what they are: each must be refused.
    [0x10, delta(2, Buffer.alloc(0))],
    [0x11, delta(2, Buffer.from([0]))],
    [0x12, delta(1, deltaOf(4, 5, copy(0, 5)))],
    [0x13, delta(1, deltaOf(5, 6, copy(0, 5)))],
    [0x14, delta(1, deltaOf(5, 5, copy(6, 5)))],
    [0x15, delta(1, deltaOf(5, 5, copy(1, 5)))],
    [0x16, delta(1, deltaOf(5, 5, copy(0xfffffff0, 5)))],
    [0x17, delta(3, deltaOf(large, 5, copy(0, large)))],
    [0x18, delta(1, deltaOf(5, 5, copy(0, 5), Buffer.from([0])))],
    [0x19, delta(1, deltaOf(5, 5, Buffer.from([5, 104, 101])))],
    [0x1a, delta(1, deltaOf(5, 5, copy(0, 4)))],
    [0x1b, delta(1, deltaOf(5, 5, insert(Buffer.alloc(127, 104)), insert(Buffer.alloc(127, 104))))],
    [0x1c, delta(1, deltaOf(5, 5, Buffer.from([0xff])))],
    [0x1d, delta(0x99, deltaOf(5, 5, copy(0, 5)))],
    [0x1e, delta(1, Buffer.from([...endless, 5, ...copy(0, 5)]))],
    [0x1f, delta(1, Buffer.from([5, ...endless, ...copy(0, 5)]))],
    ...offsetEntries.flatMap((start, i): [number, PackedObject][] => [
      [0x200 + 2 * i, { type: "blob", content: bytes(""), raw: blob }],
      [0x201 + 2 * i, { type: "blob", content: bytes(""), raw: raw(start, deflateSync(wholeDelta)) }],
    ]),
    [0x29, { type: "blob", content: bytes(""), raw: raw(head(3, 5) | 128, endless, deflated("hello")) }],
    // More than is unpacked at once, and than the head says.
    [
      0x2a,
      {
        type: "blob",
        content: bytes(""),
        raw: raw(
          head(3, longBytes & 15) | 128,
          varint(BigInt(longBytes) >> 4n),
          deflateSync(Buffer.alloc(longBytes + 64)),
        ),
      },
    ],
    // The same of bytes that are not compressed: each is read by itself.
    [
      0x2b,
      {
        type: "blob",
        content: bytes(""),
        raw: raw(
          head(3, longBytes & 15) | 128,
          varint(BigInt(longBytes) >> 4n),
          deflateSync(Buffer.alloc(longBytes + 64), { level: 0 }),
        ),
      },
    ],
    // Commands that have only some of the numbers.
    [0x30, delta(1, deltaOf(5, 5, Buffer.from([0x90, 5])))],
    [0x31, delta(1, deltaOf(5, 4, Buffer.from([0x91, 1, 4])))],
    [0x32, delta(3, deltaOf(large, 65_536, Buffer.from([0x80])))],
    // Entries whose heads are wrong.
    [0x20, { type: "blob", content: bytes(""), raw: raw(head(0, 5), deflated("hello")) }],
    [0x21, { type: "blob", content: bytes(""), raw: raw(head(5, 5), deflated("hello")) }],
    [0x22, { type: "blob", content: bytes(""), raw: raw(head(3, 0) | 128, varint(1n << 60n), deflated("")) }],
    [0x23, { type: "blob", content: bytes(""), raw: raw(head(3, 1) | 128, varint(1n << 26n), deflated("hello")) }],
    [0x24, { type: "blob", content: bytes(""), raw: raw(head(6, 5), [0], deflated("hello")) }],
    [0x25, { type: "blob", content: bytes(""), raw: raw(head(6, 5), baseDistance(1n << 40n), deflated("hello")) }],
    [0x26, { type: "blob", content: bytes(""), raw: raw(head(6, 5), Buffer.alloc(30, 0xff)) }],
    [0x27, { type: "blob", content: bytes(""), raw: raw(head(3, 5) | 128, Buffer.alloc(30, 0xff)) }],
    // So large that a size of a gigabyte is not more than the rest of the pack may unpack to.
    [
      0x28,
      { type: "blob", content: bytes(""), raw: raw(head(3, 0) | 128, varint((1n << 26n) + 1n), Buffer.alloc(1 << 20)) },
    ],
    // A size of more than 32 bits, deltas of each other, and one of a damaged head.
    [0x33, delta(1, Buffer.from([5, ...varint((1n << 32n) + 5n), ...copy(0, 5)]))],
    [0x34, delta(0x35, wholeDelta)],
    [0x35, delta(0x34, wholeDelta)],
    [0x36, delta(0x27, wholeDelta)],
    // A base, a larger object, and one that is made of it.
    [0x37, { type: "blob", content: new Uint8Array(60_000) }],
    [0x38, delta(0x37, deltaOf(60_000, 120_000, copy(0, 60_000), copy(0, 60_000)))],
    [0x39, delta(0x38, deltaOf(120_000, 5, copy(0, 5)))],
    // Trees that are none.
    [0x40, { type: "tree", content: entry("100644", "a") }],
    [0x41, { type: "tree", content: bytes("100644") }],
    [0x42, { type: "tree", content: bytes("100644 a") }],
    [0x43, { type: "tree", content: entry("100844", "a") }],
    [0x44, { type: "tree", content: entry("10064-", "a") }],
    [0x45, { type: "tree", content: entry("00100644", "a") }],
    [0x46, { type: "tree", content: entry("100644", "") }],
    [0x47, { type: "tree", content: entry("100644", "a").subarray(0, 25) }],
    [0x48, { type: "tree", content: entry("40000", "d".repeat(64 << 10), 0x40) }],
    [0x49, { type: "tree", content: entry("40000", "d", 0x4a) }],
    [0x4a, { type: "blob", content: entry("100644", "a") }],
    [0x4b, { type: "tree", content: entry("100755", "a") }],
    [0x4c, { type: "tree", content: entry("100644", "a", 2) }],
    // Texts that are not UTF-8, or end within a code point.
    ...[
      "\xc3",
      "\xe2\x82",
      "\xf0\x9f\x98",
      "\x80",
      "\xc1\x80",
      "\xf5\x80\x80\x80",
      "\xe0\x9f\x80",
      "\xed\xa0\x80",
      "\xf0\x8f\x80\x80",
      "\xf4\x90\x80\x80",
      "\xe2\x82A",
      "\xf0\x9f\x98A",
    ].map((text, i): [number, PackedObject] => [
      0x50 + i,
      { type: "blob", content: Buffer.from(`abcdefgh${text}`, "latin1") },
    ]),
    // A byte that is not UTF-8 among the first eight.
    [0x5c, { type: "blob", content: Buffer.from("a\x80bcdefghijkl", "latin1") }],
    [0x5d, { type: "blob", content: Buffer.from("\u00e9abcd") }],
    // A zero byte among the first 8,000, and one after them.
    [0x5e, { type: "blob", content: bytes(`${"a".repeat(7999)}\0`) }],
    [0x5f, { type: "blob", content: bytes(`${"a".repeat(8000)}\0`) }],
    // Commits.
    [0x70, { type: "commit", content: bytes(commitText) }],
    [0x71, { type: "tree", content: bytes("") }],
    // Where reading digits that are none leads to.
    ...["0", "f"].flatMap((low): [string, Omit<PackedObject, "oid">][] => [
      [`f${low}${sumOf(0x71).slice(2)}`, { type: "tree", content: bytes("") }],
      [`f${low}${sumOf(0x70).slice(2)}`, { type: "commit", content: bytes(commitText) }],
    ]),
    ...[
      commitText.replace("tree ", "trie "),
      commitText.slice(0, 45),
      commitText.slice(0, 30),
      commitText.replace(`${sumOf(0x71)}`, `${"x".repeat(38)}71`),
      commitText.replace(`${sumOf(0x71)}`, `${sumOf(0x71).slice(0, 39)}x`),
      commitText.replace("\n", " "),
      commitText.replace("\n", `\nparent ${sumOf(0x70)} `),
      commitText.replace("\n", `\nparent ${sumOf(0x70).replace("0", "x")}\n`),
      `${commitText.slice(0, 46)}parent ${sumOf(0x70)}`,
      `${commitText.slice(0, 46)}parent ${sumOf(0x70).slice(0, 20)}`,
      commitText.replace("\n", `\nparent ${sumOf(0x99)}\n`),
      commitText.replace("tree ", ""),
      "tre",
      commitText.replace(sumOf(0x71), `x${sumOf(0x71).slice(1)}`),
      commitText.replace(sumOf(0x71), `0x${sumOf(0x71).slice(2)}`),
      commitText.replace("\n", `\nparent x${sumOf(0x70).slice(1)}\n`),
      commitText.replace("\n", `\nparent 0x${sumOf(0x70).slice(2)}\n`),
      commitText.replace("\n", `\nparent ${sumOf(0x70)}\nparent 123\n`),
      commitText.replace("\n", `\nparent ${sumOf(0x70)}\nparent ${sumOf(0x70).slice(1)}x\n`),
    ].map((text, i): [number, PackedObject] => [0x78 + i, { type: "commit", content: bytes(text) }]),
  ]);
  let nextNumber = 0x300;
  const add = (object: Omit<PackedObject, "oid">): number => {
    objects.set(nextNumber, object);
    return nextNumber++;
  };
  const addBlob = (content: string): number => add({ type: "blob", content: bytes(content) });
  type Entries = readonly (readonly [mode: string, name: string, number: number])[];
  const addTree = (entries: Entries): number => {
    const content = treeOf(entries.map(([mode, name, number]) => [mode, name, sumOf(number)]));
    return add({ type: "tree", content });
  };
  const textOfCommit = (tree: number, ...parents: readonly number[]): string =>
    commitText
      .replace(sumOf(0x71), sumOf(tree))
      .replace("\n", `\n${parents.map((parent) => `parent ${sumOf(parent)}\n`).join("")}`);
  const addCommit = (...numbers: readonly [number, ...number[]]): number =>
    add({ type: "commit", content: bytes(textOfCommit(...numbers)) });
  const addChange = (before: Entries, after: Entries): number => addCommit(addTree(after), addCommit(addTree(before)));
  const entriesOf = (text: string | undefined): Entries => (text === undefined ? [] : [["100644", "a", addBlob(text)]]);
  const addFile = (before: string | undefined, after: string | undefined): number =>
    addChange(entriesOf(before), entriesOf(after));
  const hello = addBlob("hello");
  const others = "y\n".repeat(200);
  // Of ten bytes each.
  const lines = Array.from({ length: 30 }, (_, i) => `line ${1000 + i}\n`).join("");
  const added = addFile("x\n", "x\nhello\n");
  const manyLines = addBlob("y\n".repeat(21_000));
  const many = Array.from({ length: 123 }, (_, i) => ["100644", String(1000 + i), manyLines] as const);
  const longName = "d".repeat(60_000);
  const modes = (mode: string): Entries =>
    Array.from({ length: 200 }, (_, i) => [mode, String(1000 + i), hello] as const);
  const long = `${commitText}${"a".repeat(200_000)}`;
  const longCommit = add({ type: "commit", content: bytes(long) });
  const longDelta = deltaOf(long.length, 300_000 + 1, copy(0, 200_001), copy(300, 100_000));
  // What the filter says of commits: 1 if git must look at them.
  const judged: readonly (readonly [what: string, commit: number, literal: string, fold: boolean, verdict: number])[] =
    [
      ["an added line", added, "hello", false, 1],
      ["other lines", added, "absent", false, 0],
      ["a removed line", addFile("x\nhello\n", "x\n"), "hello", false, 1],
      ["a line at the beginning of both", addFile(`hello\n${others}z\n`, `hello\n${others}w\n`), "hello", false, 0],
      ["a line at the end of both", addFile(`z\n${others}hello\n`, `w\n${others}hello\n`), "hello", false, 0],
      ["a line among others", addFile(`${others}${others}`, `${others}hello\n${others}`), "hello", false, 1],
      ["a first line", addFile("r\nq\n", "hello\n"), "hello", false, 1],
      ["a first line without an end", addFile("r", "hello"), "hello", false, 1],
      ["an early line", addFile("r\n".repeat(60), `t\nhello\n${"u\n".repeat(60)}`), "hello", false, 1],
      ["a last line", addFile("a\nq\nrrrrrr\n", "a\ns\nhello\n"), "hello", false, 1],
      ["a late line", addFile(`a\nq\n${"r\n".repeat(60)}`, `a\ns\n${"t\n".repeat(40)}hello\n`), "hello", false, 1],
      ["bytes after all those of the other", addFile("r\n", "r\n\0hello"), "hello", false, 1],
      ["lines before all those of the other", addFile("q\n", "hello\nq\n"), "hello", false, 1],
      ["a file that is added", addFile(undefined, "hello\n"), "absent", false, 0],
      ["a file that is deleted", addFile("hello\n", undefined), "absent", false, 0],
      ["a file with a large patch", addFile(undefined, "y\n".repeat(50_000)), "absent", false, 1],
      ["many files", addChange([], many), "absent", false, 1],
      [
        "many long paths",
        addChange([["40000", longName, addTree(modes("100644"))]], [["40000", longName, addTree(modes("100755"))]]),
        "absent",
        false,
        1,
      ],
      ["fewer files", addChange([], many.slice(0, 100)), "absent", false, 0],
      ["a file whose end is removed", addFile(lines, lines.slice(0, 100)), "absent", false, 0],
      ["a file whose end is added", addFile(lines.slice(0, 100), lines), "absent", false, 0],
      ["a file whose beginning is removed", addFile(lines, lines.slice(-100)), "absent", false, 0],
      ["a file whose beginning is added", addFile(lines.slice(-100), lines), "absent", false, 0],
      ["a submodule that is added", addChange([], [["160000", "m", hello]]), "absent", false, 1],
      ["a submodule that is deleted", addChange([["160000", "m", hello]], []), "absent", false, 1],
      ["another mode", addChange([["100644", "a", hello]], [["100755", "a", hello]]), "hello", false, 0],
      ["a link to its text", addChange([["100644", "a", hello]], [["120000", "a", hello]]), "hello", false, 1],
      ["a long s that may be folded", addFile(undefined, "\u017ftra\n"), "stra", true, 1],
      ["a long s that may not be folded", addFile(undefined, "\u017ftra\n"), "stra", false, 0],
      ["no letter of other case", addFile(undefined, "plain\n"), "stra", true, 0],
      ["a commit of many bytes", longCommit, "absent", false, 0],
      ["a commit of too many bytes", add({ type: "commit", content: bytes(`${long}${long}`) }), "absent", false, 1],
      [
        "a commit that is a delta of few bytes",
        add({ type: "oid-delta", base: sumOf(longCommit), content: deltaOf(long.length, 200_000, copy(0, 200_000)) }),
        "absent",
        false,
        0,
      ],
      [
        "a commit that is a delta of too many bytes",
        add({ type: "oid-delta", base: sumOf(longCommit), content: longDelta }),
        "absent",
        false,
        1,
      ],
    ];
  // What a comparison of trees of these entries says.
  const blobAt = (name: string) => ["100644", name, hello] as const;
  const treeAt = (name: string) => ["40000", name, 0x40] as const;
  const treeCases: readonly (readonly [what: string, before: Entries, after: Entries, records: string[]])[] = [
    ["a file before a directory", [blobAt("a-b"), treeAt("a")], [treeAt("a")], ["D a-b"]],
    ["a file before a directory, added", [treeAt("a")], [blobAt("a-b"), treeAt("a")], ["A a-b"]],
    ["a name and a longer one", [blobAt("a"), blobAt("ab")], [blobAt("ab")], ["D a"]],
    ["a name and a longer one, added", [blobAt("ab")], [blobAt("a"), blobAt("ab")], ["A a"]],
    ["a directory instead of a file", [blobAt("a")], [treeAt("a")], ["D a", "A a/a"]],
    ["a file instead of a directory", [treeAt("a")], [blobAt("a")], ["A a", "D a/a"]],
    ["equal directories", [treeAt("a"), blobAt("b")], [treeAt("a")], ["D b"]],
  ];
  const trees = treeCases.map(([what, before, after, records]) => ({
    what,
    oids: [addTree(before), addTree(after)].map(oidAt),
    records,
  }));
  // Less than the rest of the pack could be unpacked to.
  const small = raw(head(3, 0) | 128, varint(60_000n >> 4n), deflated("hello"));
  objects.set(0xa0, { type: "blob", content: bytes(""), raw: small });
  const all = [...objects].map(([number, object]) => ({
    ...object,
    oid: typeof number === "string" ? number : sumOf(number),
  }));
  writePack(folder, all, "hostile");
  const file = join(folder, "objects/pack/pack-hostile");
  const packs = addon.openPacks(strings(join(folder, "objects"), `${file}.idx`, `${file}.pack`), 1, 20, 32 << 20);
  const read = (number: number, size: number): string | undefined => {
    const whole = new Uint8Array(size + 64).fill(0x2d);
    const outcome = addon.readObject(packs, oidAt(number), whole.subarray(0, size), []);
    faults.expect(
      whole.subarray(size).every((byte) => byte === 0x2d),
      true,
      `bytes after object ${number}`,
    );
    return outcome === 0 ? Buffer.from(whole.subarray(0, size)).toString() : undefined;
  };
  const describe = (number: number): number[] => {
    const out = words(2);
    addon.describeObjects(packs, oidAt(number), out, []);
    return [...out];
  };
  faults.expect([read(1, 5), read(4, 5), read(2, 0)], ["hello", "hello", ""], "sound objects");
  faults.expect(
    [read(1, 4), read(1, 6), read(4, 4)],
    [undefined, undefined, undefined],
    "other sizes than an object has",
  );
  for (const number of [0x2a, 0x2b])
    faults.expect(
      read(number, longBytes),
      undefined,
      `a stream that is longer than its object: ${number.toString(16)}`,
    );
  for (const number of [0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f])
    faults.expect(read(number, 5), undefined, `delta ${number.toString(16)}`);
  for (const number of [0x10, 0x11]) faults.expect(read(number, 0), undefined, `delta ${number.toString(16)}`);
  for (const number of [0x10, 0x11, 0x1e, 0x1f, 0x33, 0x34, 0x36])
    faults.expect(describe(number), notFound, `the size of delta ${number.toString(16)}`);
  for (const number of [0x34, 0x36]) faults.expect(read(number, 5), undefined, `delta ${number.toString(16)}`);
  for (const number of [0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0xa0])
    faults.expect(describe(number), notFound, `entry ${number.toString(16)}`);
  offsetEntries.forEach((_, i) => {
    const wanted = i === 0 ? [blobKind, 5] : notFound;
    faults.expect(
      [describe(0x201 + 2 * i), read(0x201 + 2 * i, 5)],
      [wanted, i === 0 ? "hello" : undefined],
      `base ${i}`,
    );
  });
  faults.expect([read(0x30, 5), read(0x31, 4)], ["hello", "ello"], "numbers that are left out");
  faults.expect(read(0x32, 65_536), "\0".repeat(65_536), "a length that is left out");
  const diff = (number: number, room = 4096): unknown => {
    const begun = addon.beginDiff(packs, Buffer.concat([Buffer.alloc(20), oidAt(number)]), []);
    const state = words(2);
    const whole = new Uint8Array(room + 200).fill(0x2d);
    if (begun === 0) addon.nextDiff(packs, whole.subarray(0, room), state, []);
    faults.expect(
      whole.subarray(room).every((byte) => byte === 0x2d),
      true,
      `bytes after tree ${number}`,
    );
    return begun === 0 ? state[1] : "none";
  };
  faults.expect(diff(0x40), 1, "a sound tree");
  const compare = (before: number, after: number): unknown => {
    const state = words(2);
    const begun = addon.beginDiff(packs, Buffer.concat([oidAt(before), oidAt(after)]), []);
    addon.nextDiff(packs, new Uint8Array(4096), state, []);
    return [begun, state[0] > 0, state[1]];
  };
  for (const [what, before, after, outcome] of [
    ["equal trees", 0x40, 0x40, [0, false, 1]],
    ["another mode", 0x40, 0x4b, [0, true, 1]],
    ["another object", 0x40, 0x4c, [0, true, 1]],
    ["a damaged tree before", 0x43, 0x40, [0, false, failed]],
  ] as const)
    faults.expect(compare(before, after), outcome, what);
  for (const { what, oids, records } of trees) {
    const out = Buffer.alloc(4096);
    const state = words(2);
    addon.beginDiff(packs, Buffer.concat(oids), []);
    addon.nextDiff(packs, out, state, []);
    const fields = out.toString("latin1", 0, state[0]).split("\0");
    const found = records.map((_, i) => `${fields[2 * i]?.at(-1)} ${fields[2 * i + 1]}`);
    faults.expect([found, fields.length], [records, 2 * records.length + 1], what);
  }
  faults.expect(diff(0x4a), "none", "a blob as a tree");
  for (let number = 0x41; number <= 0x49; number++)
    faults.expect(diff(number, number === 0x48 ? 200_000 : 4096), failed, `tree ${number.toString(16)}`);
  faults.expect(diff(0x40, 50), failed, "a record that does not fit");
  // What follows a text in the array would complete it.
  for (let number = 0x50; number <= 0x5c; number++) {
    const [, size] = describe(number);
    const [kinds, state] = [words(1), words(2)];
    const whole = new Uint8Array(40).fill(0xbf);
    addon.readTexts(packs, oidAt(number), Uint32Array.of(size), whole.subarray(0, size), 99, kinds, state, []);
    faults.expect([...kinds], [3], `text ${number.toString(16)}`);
  }
  const exact = words(1);
  addon.readTexts(packs, oidAt(0x5d), Uint32Array.of(6), new Uint8Array(6), 99, exact, words(2), []);
  faults.expect([...exact], [1], "a text of which the last bytes are ASCII");
  const zeros = words(2);
  addon.readTexts(
    packs,
    Buffer.concat([oidAt(0x5e), oidAt(0x5f)]),
    Uint32Array.of(8000, 8001),
    new Uint8Array(16_001),
    1e6,
    zeros,
    words(2),
    [],
  );
  faults.expect([...zeros], [2, 0], "texts with a zero byte");
  const [kinds, state] = [words(3, 9), words(2)];
  const room = new Uint8Array(20).fill(0x2d);
  addon.readTexts(
    packs,
    Buffer.concat([oidAt(1), oidAt(4)]),
    Uint32Array.of(5, 5),
    room.subarray(0, 9),
    99,
    kinds,
    state,
    [],
  );
  faults.expect(
    [...state, ...kinds, ...room.subarray(9)],
    [1, 5, 0, 9, 9, ...new Array(11).fill(0x2d)],
    "a text without room",
  );
  for (const [numbers, sizes, pauseBytes, outcome] of [
    [[3, 3, 3, 3, 3, 3], new Array(6).fill(large), 99, [4, 0]],
    [[1, 4], [5, 5], 4, [1, 5]],
    [[1, 4], [5, 5], 5, [2, 10]],
  ] as const) {
    const state = words(2);
    const oids = Buffer.concat(numbers.map(oidAt));
    const kinds = words(sizes.length);
    addon.readTexts(packs, oids, Uint32Array.from(sizes), new Uint8Array(large), pauseBytes, kinds, state, []);
    faults.expect([...state], outcome, `texts ${numbers.join()}`);
  }
  const verdicts = new Uint8Array(1);
  const judge = (number: number, literal = "absent", fold = false): number => {
    addon.filterChanges(packs, oidAt(number), strings(literal), 1, fold, verdicts, []);
    return verdicts[0];
  };
  for (const [what, commit, literal, fold, verdict] of judged)
    faults.expect(judge(commit, literal, fold), verdict, what);
  faults.expect(judge(0x70), 0, "a sound commit");
  for (let number = 0x78; number < 0x78 + 19; number++)
    faults.expect(judge(number), 1, `commit ${number.toString(16)}`);
  addon.closePacks(packs);
  for (const [budget, number, outcome] of [
    [200, 4, 2],
    [2000, 4, 0],
    [100_000, 0x39, 2],
    [1 << 20, 0x39, 0],
  ]) {
    const own = addon.openPacks(strings(join(folder, "objects"), `${file}.idx`, `${file}.pack`), 1, 20, budget);
    const found = addon.readObject(own, oidAt(number), new Uint8Array(5), []);
    faults.expect(found, outcome, `object ${number.toString(16)} in a budget of ${budget}`);
    addon.closePacks(own);
  }
  writePack(folder, [{ type: "blob", content: bytes("other"), oid: sumOf(0xb0) }], "another");
  const another = join(folder, "objects/pack/pack-another");
  const both = addon.openPacks(
    strings(join(folder, "objects"), `${file}.idx`, `${file}.pack`, `${another}.idx`, `${another}.pack`),
    2,
    20,
    1 << 20,
  );
  for (const number of [1, 0xb0, 1]) {
    const out = words(2);
    addon.describeObjects(both, oidAt(number), out, []);
    faults.expect([...out], [blobKind, 5], `object ${number.toString(16)} of two packs`);
  }
  addon.closePacks(both);
}

/** Indexes and packs of which nothing may be believed. */
function checkPackFiles(faults: Faults, addon: Addon, folder: string): void {
  writePack(folder, [{ type: "blob", content: bytes("hello"), oid: "fe".repeat(20) }], "sound");
  const file = join(folder, "objects/pack/pack-sound");
  const [index, pack] = [readFileSync(`${file}.idx`), readFileSync(`${file}.pack`)];
  const describe = (changedIndex: Uint8Array, changedPack: Uint8Array): number[] => {
    const [indexFile, packFile] = [join(folder, "index"), join(folder, "pack")];
    writeFileSync(indexFile, changedIndex);
    writeFileSync(packFile, changedPack);
    const packs = addon.openPacks(strings(join(folder, "objects"), indexFile, packFile), 1, 20, 1 << 20);
    const out = words(2);
    addon.describeObjects(packs, Buffer.alloc(20, 0xfe), out, []);
    addon.closePacks(packs);
    return [...out];
  };
  const withWord = (bytes: Buffer, at: number, word: number): Buffer => {
    const copy = Buffer.from(bytes);
    copy.writeUInt32BE(word, at);
    return copy;
  };
  const offsetAt = 8 + 1024 + 20 + 4;
  faults.expect(describe(index, pack), [blobKind, 5], "a sound pack");
  // The checksum of this one could be an entry.
  const ended = Buffer.concat([pack.subarray(0, 12), Buffer.from([0x30]), Buffer.alloc(20, 0x30)]);
  const rows: readonly (readonly [string, Uint8Array, Uint8Array])[] = [
    ["no index", Buffer.alloc(0), pack],
    ["a short index", index.subarray(0, 1000), pack],
    ["another version", withWord(index, 4, 3), pack],
    ["no pack", index, Buffer.alloc(0)],
    ["a short pack", index, pack.subarray(0, 31)],
    ["something else than a pack", index, withWord(pack, 0, 0)],
    [
      "more objects than the index has",
      withWord(withWord(index, 8 + 4 * 254, 0x7fffffff), 8 + 4 * 255, 0x7fffffff),
      pack,
    ],
    ["a table that goes backwards", withWord(index, 8 + 4 * 254, 0x7fffffff), pack],
    ["an offset in the head", withWord(index, offsetAt, 1), pack],
    ["an offset far after the pack", withWord(index, offsetAt, 0x7ffffff0), pack],
    ["a large offset that the index does not have", withWord(index, offsetAt, 0xffffffff), pack],
    ["an entry that ends with its head", withWord(index, offsetAt, 12), ended],
  ];
  for (const [why, changedIndex, changedPack] of rows)
    faults.expect(describe(changedIndex, changedPack), notFound, why);
  // The end of its stream is where the checksum of the pack should be.
  const content = new Uint8Array((2 << 20) + 1);
  const [oid] = writePack(folder, [{ type: "blob", content }], "long");
  const long = join(folder, "objects/pack/pack-long");
  const readLong = (): number => {
    const packs = addon.openPacks(strings(join(folder, "objects"), `${long}.idx`, `${long}.pack`), 1, 20, 1 << 20);
    const outcome = addon.readObject(packs, Buffer.from(oid, "hex"), content, []);
    addon.closePacks(packs);
    return outcome;
  };
  faults.expect(readLong(), 0, "a long object");
  truncateSync(`${long}.pack`, statSync(`${long}.pack`).size - 20);
  faults.expect(readLong(), 1, "a long object that goes on after its pack");
}

/** Files of loose objects of which nothing may be believed. */
function checkLooseFiles(faults: Faults, addon: Addon, folder: string): void {
  const objects = join(folder, "objects");
  const deflated = (text: string): Buffer => deflateSync(Buffer.from(text, "latin1"));
  const fileOf = (number: number): string => join(objects, sumOf(number).slice(0, 2), sumOf(number).slice(2));
  mkdirSync(join(objects, "00"), { recursive: true });
  // More than is unpacked at once.
  const largeBytes = (2 << 20) + 1;
  const sound = deflated("blob 5\0hello");
  const large = deflated(`blob ${largeBytes}\0${"a".repeat(largeBytes)}`);
  // Each with the size that is said to be that of the object.
  const rows: readonly (readonly [what: string, content: Uint8Array | undefined, size: number])[] = [
    ["no file", undefined, 5],
    ["an empty file", Buffer.alloc(0), 5],
    ["no stream", Buffer.from("hello"), 5],
    ["a head that does not end", deflated("blob 5"), 5],
    ["a longer head that does not end", deflated(`blob ${"5".repeat(100)}`), 5],
    ["a head without a size", deflated("blob \0"), 0],
    ["a head of a kind", deflated("blob\0hello"), 5],
    ["a kind that does not exist", deflated("blog 5\0hello"), 5],
    ["a size of nineteen digits", deflated(`blob ${"5".padStart(19, "0")}\0hello`), 5],
    ["a size that is no number", deflated("blob 5x\0hello"), 5],
    ["a size with a sign", deflated("blob -5\0hello"), 5],
    ["a size with a colon", deflated("blob :\0helloworld"), 10],
    ["a size that the file cannot have", deflated("blob 999999\0hello"), 999_999],
  ];
  const packs = addon.openPacks(strings(objects), 0, 20, 32 << 20);
  const describe = (number: number): number[] => {
    const out = words(2);
    addon.describeObjects(packs, oidAt(number), out, []);
    return [...out];
  };
  const read = (number: number, size: number, others = packs): number => {
    const whole = new Uint8Array(size + 64).fill(0x2d);
    const outcome = addon.readObject(others, oidAt(number), whole.subarray(0, size), []);
    faults.expect(
      whole.subarray(size).every((byte) => byte === 0x2d),
      true,
      `bytes after loose object ${number}`,
    );
    return outcome;
  };
  writeFileSync(fileOf(1), sound);
  writeFileSync(fileOf(2), large);
  faults.expect([describe(1), read(1, 5), read(1, 4), read(1, 6)], [[blobKind, 5], 0, 2, 1], "a loose object");
  faults.expect([describe(2), read(2, largeBytes)], [[blobKind, largeBytes], 0], "a large loose object");
  for (const [i, [what, content, size]] of rows.entries()) {
    const number = 16 + i;
    if (content !== undefined) writeFileSync(fileOf(number), content);
    faults.expect([describe(number), read(number, size)], [notFound, 1], what);
  }
  // Their heads are sound.
  for (const [i, content] of [
    sound.subarray(0, -4),
    Buffer.concat([sound.subarray(0, -1), Buffer.of(0)]),
    deflated("blob 5\0hell"),
    deflated("blob 5\0hello!"),
    large.subarray(0, -5),
    Buffer.concat([large.subarray(0, -1), Buffer.of(1)]),
    deflated(`blob ${largeBytes}\0${"a".repeat(largeBytes - 1)}`),
    deflated(`blob ${largeBytes}\0${"a".repeat(largeBytes + 5000)}`),
  ].entries()) {
    writeFileSync(fileOf(64 + i), content);
    faults.expect(read(64 + i, i < 4 ? 5 : largeBytes), 1, `a stream that is wrong: ${i}`);
  }
  // Of so large a file, so large an object would be possible.
  const huge = fileOf(80);
  writeFileSync(huge, deflated("blob 4294967301\0hello"));
  truncateSync(huge, 5_000_000);
  faults.expect(describe(80), notFound, "a size of more than 32 bits");
  const folderOf = fileOf(81);
  mkdirSync(folderOf);
  symlinkSync(fileOf(1), fileOf(82));
  faults.expect([81, 82].map(describe), [notFound, notFound], "a folder, and a link to an object");
  faults.expect(
    [81, 82].map((number) => read(number, 5)),
    [1, 1],
    "reading a folder, and a link to an object",
  );
  addon.closePacks(packs);
  const small = addon.openPacks(strings(objects), 0, 20, 3000);
  faults.expect(read(1, 5, small), 0, "a loose object in a small budget");
  faults.expect(read(2, largeBytes, small), 2, "a loose object that does not fit into the budget");
  addon.closePacks(small);
  const tiny = addon.openPacks(strings(objects), 0, 20, 300);
  faults.expect(read(1, 5, tiny), 2, "a loose object of which only the file fits into the budget");
  addon.closePacks(tiny);
  const none = addon.openPacks(strings(objects), 0, 20, 200);
  faults.expect(read(1, 5, none), 2, "a loose object of which not even the file fits into the budget");
  addon.closePacks(none);
  const commit = `${commitText}${"a".repeat(1800)}`;
  writeFileSync(fileOf(90), deflated(`commit ${commit.length}\0${commit}`));
  writeFileSync(fileOf(0x71), deflated("tree 0\0"));
  for (const [budget, verdict] of [
    [3500, 1],
    [8000, 0],
  ]) {
    const own = addon.openPacks(strings(objects), 0, 20, budget);
    const verdicts = new Uint8Array(1);
    addon.filterChanges(own, oidAt(90), strings("absent"), 1, false, verdicts, []);
    faults.expect(verdicts[0], verdict, `a loose commit in a budget of ${budget}`);
    addon.closePacks(own);
  }
}

function checkRequests(faults: Faults, addon: Addon): void {
  const filtered = (input: string, step: number, rest?: string): string =>
    filteredRequests(addon, Buffer.from(input, "latin1"), step, "s", rest);
  const line = "GET / HTTP/1.1\r\n";
  const chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const next = "GET /next HTTP/1.1\r\nHost: y\r\n\r\n";
  const withTarget = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const withHeaders = (...headers: readonly string[]): string => `POST / HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`;
  const whole = [
    ...[0, 1, 4, 15, 16, 17].flatMap((count) => [`${"\n".repeat(count)}${next}`, `${"\r".repeat(count)}\0${next}`]),
    `${next}\r\n\r\n\0${next}`,
    `OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n${next}`,
    "\r\n\r\n\0",
    ...["", " ", "\t", "@", "(", "a".repeat(32), "a".repeat(33)].map(
      (method) => `${method} / HTTP/1.1\r\nHost: x\r\n\r\n`,
    ),
    "a".repeat(32),
    "a".repeat(33),
    `GET\t/ HTTP/1.1\r\n\r\n`,
    "\n",
    "GET / HTTP/1.1\n\r\n",
    `${line}\n`,
    `${line}A: b\n\r\n`,
    `${line}A: b\r\r\n\r\n`,
    ...["", "0.9", "1.", "1.2", "1.10", "2.0", "1x1", "2.1"].map(
      (version) => `GET / HTTP/${version}\r\nHost: x\r\n\r\n`,
    ),
    "GET HTTP/1.1\r\n\r\n",
    "GET / http/1.1\r\n\r\n",
    "GET /HTTP/1.1\r\n\r\n",
    "G HTTP/1.0\r\n\r\n",
    ...["", "*", "x", "/a b", "/\x7f", "/\x01", "/\xff", "ftp://h/", "http:/h/", "https:", "http://"].map(withTarget),
    ...[
      "h",
      "H.example:80",
      "h:",
      "h:x",
      "h:80x",
      "a@b",
      "@",
      "[::1]:80",
      "[::1.2]",
      "[Ff]",
      "[]",
      "[",
      "[::1",
      "[g]",
      "[`]",
      "[1g]",
      "[1g",
      "[1",
      "[::1]x",
      ":80",
    ]
      .flatMap((authority) => ["http://", "HTTPS://"].map((scheme) => scheme + authority))
      .flatMap((start) => [start, `${start}/p?q`, `${start}?q`])
      .flatMap((target) => [withTarget(target), `GET ${target} HTTP/1.0\r\n\r\n`]),
    ...[260, 261, 262].map((length) => withTarget(`http://${"h".repeat(length)}/`)),
    ...["", ": x", "A", "A b", "A : b", "A\x01: b", "A: \x01b", "A: \x7f", "A: \xff", "A:", " A: b", "\xe9: b"].map(
      (header) => withHeaders("Host: x", header, "B: c"),
    ),
    ...["", " ", " y", "\ty\t ", "y z"].flatMap((host) =>
      [`GET http://h/ HTTP/1.1`, "GET / HTTP/1.0", "GET http://h/ HTTP/1.0"].map(
        (first) => `${first}\r\nHost:${host}\r\nHost: second\r\n\r\n`,
      ),
    ),
    ...[
      "5",
      "0",
      "",
      "5x",
      "x5",
      "+5",
      "5 5",
      ":",
      "/",
      "0".repeat(17) + "5",
      "0".repeat(18) + "5",
      "9".repeat(18),
      "9".repeat(19),
    ].map((length) => `${withHeaders(`Content-Length: ${length}`)}hello${next}`),
    `${withHeaders("Content-Length: 5", "content-length: 5")}hello${next}`,
    `${withHeaders("Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n`,
    `${withHeaders("Transfer-Encoding: chunked", "Content-Length: 5")}0\r\n\r\n`,
    `${chunked.replace("1.1", "1.0")}0\r\n\r\n`,
    `POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello${next}`,
    `GET / HTTP/1.0\r\n\r\n${next}`,
    ...["Chunked", "chunked ", "chunke", "chunkedx", "gzip", "", "chunked, chunked"].map(
      (coding) => `${withHeaders(`Transfer-Encoding: ${coding}`)}0\r\n\r\n${next}`,
    ),
    `${withHeaders("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")}0\r\n\r\n`,
    ...[
      "5\r\nhello\r\n",
      "0000000a\r\n0123456789\r\n",
      "00000000a\r\n0123456789\r\n",
      "A;x=y\r\n0123456789\r\n",
      "fF\r\n" + "x".repeat(255) + "\r\n",
      "g\r\n",
      "`\r\n",
      "@\r\n",
      "/\r\n",
      ":\r\n",
      "\r\n",
      ";x\r\n",
      "5;\x01\r\nhello\r\n",
      "5;\xff\r\nhello\r\n",
      "5\nhello\r\n",
      "5\rxhello\r\n",
      "5 \r\nhello\r\n",
      "5\r\nhellox\r\n",
      "5\r\nhello\rx",
      "5\r\nhello\n",
    ].map((chunk) => `${chunked}${chunk}0\r\n\r\n${next}`),
    ...[
      "",
      "A: b\r\n",
      "A:\r\nB: c\r\n",
      ": b\r\n",
      "A\r\n",
      "A b: c\r\n",
      "A: \x01\r\n",
      "A: b\rx\r\n",
      "\x01",
      "\rx",
      "A: b\n",
    ].map((trailers) => `${chunked}0\r\n${trailers}\r\n${next}`),
  ];
  for (const input of whole) {
    const thrown = thrownBy(() => requestFilterTarget.run(Buffer.from(input, "latin1")));
    if (thrown !== undefined) faults.add(`request ${JSON.stringify(input)}: ${String(thrown)}`);
  }
  const headBytesMax = 128 << 10;
  const extensionBytesMax = 16 << 10;
  const start = `${line}A: `;
  const long = (length: number): string => start + "a".repeat(length - start.length);
  const extension = (length: number): string => `${chunked}5;${"a".repeat(length - 1)}\r\nhello\r\n0\r\n\r\n`;
  const trailer = (length: number): string => `${chunked}0\r\nA:${"a".repeat(length - 4)}\r\n\r\n`;
  const passed = chunked + "5\r\nhello\r\n0\r\n\r\n";
  const limits: readonly (readonly [what: string, input: string, seen: string])[] = [
    ["the longest head", long(headBytesMax), ""],
    ["a longer head", long(headBytesMax + 1), long(headBytesMax + 1)],
    ["a longer head behind blank lines", `\r\n${long(headBytesMax + 1)}`, long(headBytesMax + 1)],
    ["the longest head behind blank lines", `\r\n${long(headBytesMax)}`, ""],
    ["the longest extension", extension(extensionBytesMax), passed],
    ["a longer extension", extension(extensionBytesMax + 1), `${chunked}5`],
    ["the longest trailers", trailer(extensionBytesMax), `${chunked}0\r\n\r\n`],
    ["longer trailers", trailer(extensionBytesMax + 1), `${chunked}0\r\n`],
  ];
  for (const [what, input, seen] of limits)
    for (const step of [input.length, 65536, 500, 1])
      faults.expect(filtered(input, step) === seen, true, `${what}, in pieces of ${step}`);
  for (const [input, rest] of [
    ["GE", "a"],
    ["\r\n", "\n"],
    ["GET /", "\n"],
  ])
    faults.expect(filtered(input, input.length, rest), "", `what follows ${JSON.stringify(input)} was not received`);
}

export const boundParts = ["kernel", "system", "packs", "http"] as const;

/** What the native code does with hostile values and should not, at most `countMax`; nothing if all is well. */
export function findBoundFaults(
  addon: Addon,
  parts: readonly (typeof boundParts)[number][] = boundParts,
  countMax = Number.POSITIVE_INFINITY,
): readonly string[] {
  const faults = new Faults(countMax);
  try {
    if (parts.includes("http")) checkRequests(faults, addon);
    for (const [unit, kernel] of parts.includes("kernel")
      ? (Object.entries(addon.kernels) as [string, NativeMethods][])
      : []) {
      faults.place = `${unit}: `;
      for (const rows of [scanRows, postingRows, documentRows, resultRows, patternRows, symbolRows, rankingRows])
        for (const row of rows(kernel)) faults.check(row);
      checkRankings(kernel, (found, wanted, what) => faults.expect(found, wanted, what));
      checkReach(faults, kernel);
      checkEnds(faults, kernel);
    }
    faults.place = "";
    if (parts.includes("packs")) checkPacks(faults, addon);
    if (parts.includes("system")) checkSystem(faults, addon);
  } catch (error) {
    if (!(error instanceof EnoughFaults)) throw error;
  }
  return faults.list;
}

function checkPacks(faults: Faults, addon: Addon): void {
  const folder = mkdtempSync(join(tmpdir(), "trawl-bounds-"));
  try {
    mkdirSync(join(folder, "objects"));
    checkObjects(faults, addon, folder);
    checkPackFiles(faults, addon, folder);
    checkLooseFiles(faults, addon, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
