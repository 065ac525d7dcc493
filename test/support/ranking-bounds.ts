/** What `openRanked` and `rankShards` of the addon must refuse: arrays of a real shard, with hostile values in their place. */
import type { RankedTarget, ShardBest } from "../../src/eval/ranking/shard-ranking.js";
import { loadAddon, type NativeMethods } from "../../src/native/kernel/addon.js";
import { loadKernel } from "../../src/native/kernel/load.js";
import {
  openArguments,
  type RankArgument,
  rankArguments,
  rankOutcomes,
  rankTotalCount,
  type ShardList,
} from "../../src/native/kernel/ranking-kernel.js";
import { testRepository, testShard } from "./engine.js";
import {
  copyRequest,
  largeBudget,
  manyFiles,
  rankedTarget,
  outcomeIn,
  rankGenerally,
  type RankingCase,
  rankNatively,
  rankRequest,
  rankWith,
  type ShardRequest,
} from "./ranking.js";

/** The arguments of `openRanked`, what a search sees of the shard, then those of `rankShards` without the list of shards. */
const names = [
  ...["content", "contentStart", "contentFirstUnit", "contentFirstDocument", "documentRepository", "documentBranches"],
  "documentInfo",
  ...[
    "pathStart",
    "paths",
    "keys",
    "postingStart",
    "postings",
    "pathTrigrams",
    "foldExceptions",
    "foldPlaces",
    "groups",
  ],
  ...["areKnown", "havePostings", "symbols.contents"],
  ...["symbols.firstDocuments", "symbols.firstUnits", "symbols.recordStarts", "symbols.keys", "symbols.postingStart"],
  ...["symbols.postings", "symbols.foldExceptions", "symbols.nameKeys", "symbols.nameParts", "symbols.records"],
  ...["symbols.kindFactors", "tombstones", "repositories", "verdicts"],
  ...["query.text", "query.words", "limits", "stop", "sharedMatches", "next", "kept", "found", "totals"],
] as const;

type Name = (typeof names)[number];
type Changes = Readonly<Record<number, unknown>>;
type Words = Uint32Array;
type Refused = readonly (readonly [why: string, changes: Changes])[];

const far = 0x1000_0000;

const budget = { ...largeBudget, keptDocuments: 5 };
const usual: RankingCase = { query: "flush", budget, scoreMin: 0, othersBytes: 1e9 };
const small: RankingCase = { ...usual, budget: { ...budget, contents: 3 } };
const counting: RankingCase = { ...small, budget: { ...small.budget, countedMatches: 1e9 } };
const portable = loadKernel("ts");

/** One file in which two words are found so often. */
function twoWords(count: number): RankedTarget {
  const document = { path: "a.txt", content: "abcd ".repeat(count) };
  return rankedTarget(portable, testShard(portable, [document], [testRepository(1, "a")]));
}

const targets = new Map<string, RankedTarget>();

function targetNamed(name: string, make: () => RankedTarget): RankedTarget {
  const target = targets.get(name) ?? make();
  targets.set(name, target);
  return target;
}

/** In the order of `names`. */
function argumentsFor({ sections, view, symbols, ...request }: ShardRequest): readonly RankArgument[] {
  const { tombstones, repositories, verdicts } = view;
  const [, ...others] = rankArguments({ shards: [], ...request });
  return [...openArguments(sections, symbols), tombstones, repositories, verdicts, ...others];
}

const openCount = names.indexOf("tombstones");
const viewEnd = names.indexOf("query.text");

/** The arguments of one call, of which some can be changed. */
class RankCall {
  readonly #request: ShardRequest;

  constructor(target: RankedTarget, one: RankingCase) {
    const request = rankRequest(portable, target, one);
    if (request === undefined) throw new Error(`the kernel does not rank ${one.query}`);
    const totals = new Uint32Array(1 + rankTotalCount);
    this.#request = { ...request, output: { ...request.output, found: new Uint32Array(200), totals } };
  }

  /** Copies. */
  get values(): readonly RankArgument[] {
    return argumentsFor(copyRequest(this.#request, (_, array) => array));
  }

  array<T extends Uint8Array | Words | Float64Array = Words>(name: Name): T {
    return (argumentsFor(this.#request)[names.indexOf(name)] as T).slice() as T;
  }

  /** Some words are others. */
  put(name: Name, values: Readonly<Record<number, number>>): Changes {
    const array = this.array(name);
    for (const [at, value] of Object.entries(values)) array[Number(at)] = value;
    return { [names.indexOf(name)]: array };
  }

  replace(name: Name, value: unknown): Changes {
    return { [names.indexOf(name)]: value };
  }

  /** An array without its last elements, which follow it in memory. */
  cut(name: Name, count = 1): Changes {
    const array = this.array(name);
    return this.replace(name, array.subarray(0, array.length - count));
  }

  /** An array of bytes that is this long, or a list of words. */
  grow(name: Name, length: number): Changes {
    const array = this.array<Uint8Array>(name);
    const grown = new Uint8Array(length);
    grown.set(array);
    return this.replace(name, grown);
  }
}

function ofLengths(call: RankCall): Refused {
  const partCount = call.array("symbols.contents").length;
  const cut: readonly Name[] = [
    ...([
      "contentFirstUnit",
      "contentFirstDocument",
      "documentBranches",
      "documentInfo",
      "pathStart",
      "postingStart",
    ] as const),
    ...(["foldPlaces", "groups", "symbols.firstUnits", "symbols.recordStarts"] as const),
    ...(["symbols.nameParts", "symbols.postingStart", "limits", "totals"] as const),
  ];
  const documentCount = call.array("documentRepository").length;
  return [
    ...cut.map((name) => [`${name} with one element less`, call.cut(name)] as const),
    ["fewer bits of the trigrams of paths", call.replace("pathTrigrams", new Uint32Array(2048).fill(-1).subarray(1))],
    ["verdicts of fewer documents", call.replace("verdicts", new Uint8Array(documentCount).subarray(1))],
    ["fewer first documents than parts", call.replace("symbols.firstDocuments", new Uint32Array(partCount - 1))],
    ["no kinds of symbols", call.replace("symbols.kindFactors", new Float64Array(0))],
    [
      "no end of the last content",
      {
        ...call.replace("contentStart", new Uint32Array(0)),
        ...call.replace("contentFirstUnit", new Uint32Array(0)),
        ...call.replace("contentFirstDocument", new Uint32Array(1)),
        ...call.replace("groups", new Uint8Array(0)),
      },
    ],
    ["no room for what is kept", call.replace("kept", new Uint32Array(99).subarray(0, 20))],
    ["no room for the totals", call.replace("totals", new Uint32Array(0))],
    ["no number of matches", call.replace("sharedMatches", new Uint32Array(0))],
    ["no number of the next shard", call.replace("next", new Uint32Array(0))],
    ["no contents", call.put("limits", { 0: 0 })],
  ];
}

/** Four numbers, one leaf, one word without other names. */
function ofQuery(call: RankCall): Refused {
  const text = call.array<Uint8Array>("query.text");
  const leaf = [0, 5, 0];
  const word = [0, 5, 0, 5, 1, 5];
  const given = (...numbers: readonly number[]): Changes =>
    call.replace("query.words", Uint32Array.from([...numbers, ...word, ...word]).subarray(0, numbers.length));
  return [
    ["no leaf", given(0, 1, 0, 1, ...word)],
    ["too many leaves", given(31, 1, 0, 1, ...new Array<number[]>(31).fill(leaf).flat(), ...word)],
    ["no bits", given(1, 1, 0, 0, ...leaf, ...word)],
    ["too many bits", given(1, 1, 0, 31, ...leaf, ...word)],
    ["a short literal", given(1, 1, 0, 1, 0, 2, 0, ...word)],
    ["a word that is typed shorter", given(1, 1, 0, 1, ...leaf, 0, 5, 0, 4, 1, 5)],
    ["a word that is empty", given(1, 1, 0, 1, ...leaf, 0, 0, 0, 0, 1, 0)],
    ["a literal past the text", given(1, 1, 0, 1, text.length - 4, 5, 0, ...word)],
    ["a literal far past the text", given(1, 1, 0, 1, text.length + 1, 3, 0, ...word)],
    ["fewer words than their number", given(1, 2, 0, 1, ...leaf, ...word)],
    ["fewer names than their number", given(1, 1, 1, 1, ...leaf, ...word)],
    ["no name", given(1, 1, 1, 1, ...leaf, ...word, 7)],
  ];
}

function ofFolded(call: RankCall): Refused {
  const contentCount = call.array("contentStart").length - 1;
  const folded = call.array("foldPlaces");
  const start = call.array("contentStart")[folded[0]];
  const bytes = call.array("content").length;
  return [
    ["a character before its content", call.put("foldPlaces", { 1: start - 1 })],
    ["a character after its content", call.put("foldPlaces", { 1: bytes + 9 })],
    [
      "a content past the text",
      {
        ...call.put("contentStart", { [contentCount]: bytes + 9 }),
        ...call.put("foldPlaces", { 0: contentCount - 1, 1: bytes - 1 }),
      },
    ],
  ];
}

function ofContents(call: RankCall): Refused {
  const contentCount = call.array("contentStart").length - 1;
  const documentCount = call.array("documentRepository").length;
  const first = call.array("contentFirstDocument");
  return [
    ["documents past the last one", call.put("contentFirstDocument", { [contentCount + 1]: 0x7fff_ffff })],
    ["documents that go backwards", call.put("contentFirstDocument", { 9: first[10] + 1 })],
    ["a content far past the last one", call.replace("foldExceptions", Uint32Array.of(far))],
    ["a repository that is none", call.put("documentRepository", { [documentCount - 1]: far })],
    ["a path without its end", call.put("pathStart", { 1: call.array("pathStart")[0] })],
    ["a path past the last one", { ...call.put("pathStart", { [documentCount]: call.array("paths").length + 1 }) }],
    ["a long path", { ...call.grow("paths", 80_000), ...call.put("pathStart", { [documentCount]: 80_000 }) }],
    ["a group that is none", call.replace("groups", new Uint8Array(contentCount + 1).fill(200))],
    [
      "paths without documents",
      {
        ...call.replace("documentRepository", new Uint32Array(0)),
        ...call.replace("documentBranches", new Uint32Array(0)),
        ...call.replace("pathStart", new Uint32Array(1)),
        ...call.replace("contentFirstDocument", new Uint32Array(contentCount + 2)),
      },
    ],
  ];
}

function ofNames(call: RankCall): Refused {
  return [
    ["a part of a content that is none", call.replace("symbols.contents", call.array("symbols.contents").fill(far))],
  ];
}

function ofSymbols(call: RankCall): Refused {
  const bytes = call.array<Uint8Array>("symbols.records").length;
  // The first record ends there, and those of other parts are empty.
  const endAt = (end: number): Changes =>
    call.replace("symbols.recordStarts", call.array("symbols.recordStarts").fill(end, 1));
  return [
    ...ofNames(call),
    ["a part that is none", call.replace("symbols.foldExceptions", Uint32Array.of(far))],
    [
      "no part",
      {
        ...call.replace("symbols.contents", new Uint32Array(0)),
        ...call.replace("symbols.firstUnits", new Uint32Array(1)),
        ...call.replace("symbols.recordStarts", new Uint32Array(2).subarray(0, 1)),
        ...call.replace("symbols.keys", new Uint32Array(0)),
        ...call.replace("symbols.postingStart", new Uint32Array(1)),
      },
    ],
    ["a record that goes backwards", call.put("symbols.recordStarts", { 0: 0xffff_ffff, 1: 10 })],
    ["a record past the last one", endAt(bytes + 99)],
    ["a long record", { ...call.grow("symbols.records", 2 << 20), ...endAt(bytes + (1 << 20)) }],
  ];
}

/** Of a literal with one posting list. */
function ofPostings(call: RankCall): Refused {
  const lists = new Uint32Array(1);
  portable.findLists(call.array("keys"), call.array("postingStart"), Buffer.from("flu"), lists);
  const [list] = lists;
  const starts = call.array("postingStart");
  const postings = call.array<Uint8Array>("postings");
  const unitCount = call.array("contentFirstUnit").at(-1) ?? 0;
  const replaced = (bytes: Uint8Array, from: number, to: number): Changes => ({
    ...call.replace("postings", bytes),
    ...call.put("postingStart", { [list]: from, [list + 1]: to }),
  });
  const own = postings.subarray(starts[list], starts[list + 1]);
  const long = Buffer.concat([own, Buffer.alloc(6 * unitCount)]);
  return [
    ["a list that is longer than units are", replaced(long, 0, long.length)],
    ["a list past the postings", replaced(postings, postings.length - 2, postings.length + 1)],
    ["a list that goes backwards", replaced(postings, 2, 1)],
    ["a unit that is none", replaced(Uint8Array.of(unitCount + 1), 0, 1)],
  ];
}

/** Contents and documents of which one begins before the end of another, with a third between them that is not found. */
function ofOverlaps(call: RankCall): Refused {
  const starts = call.array("contentStart");
  const content = Buffer.from(call.array<Uint8Array>("content"));
  const has = (i: number): boolean => content.subarray(starts[i], starts[i + 1]).includes("and flush");
  let at = 1;
  while (!(has(at - 1) && !has(at) && has(at + 1))) at++;
  return [
    ["contents that overlap", call.put("contentStart", { [at + 1]: starts[at] - 5 })],
    [
      "documents of two contents",
      call.put("contentFirstDocument", { [at + 1]: call.array("contentFirstDocument")[at] - 1 }),
    ],
  ];
}

/** Rows of test/support/native-bounds.ts. */
export function rankingRows(kernel: NativeMethods): readonly {
  readonly name: string;
  readonly call: (...values: never[]) => unknown;
  readonly good: () => readonly unknown[];
  readonly refused: Refused;
  readonly isVariant?: boolean;
}[] {
  const call = (...values: readonly RankArgument[]): void => {
    const opened = kernel.openRanked(...values.slice(0, openCount));
    const shards = [opened, ...values.slice(openCount, viewEnd)] as ShardList;
    kernel.rankShards(shards, ...values.slice(viewEnd));
    const [kept, found, totals] = values.slice(-3) as [Words, Words, Words];
    if (outcomeIn({ kept, found, totals }) !== rankOutcomes.done) throw new TypeError("refused");
  };
  const row = (name: string, one: RankCall, ...refused: readonly Refused[]) => ({
    name: `rankShards, ${name}`,
    call,
    good: () => one.values,
    refused: refused.flat(),
    isVariant: one !== whole,
  });
  const files = targetNamed("files", () => manyFiles(portable));
  const whole = new RankCall(files, usual);
  const few = new RankCall(files, small);
  const list = new RankCall(files, { ...usual, query: "flu" });
  const together = new RankCall(files, { ...usual, query: '"and flush" case:yes' });
  const words = { ...usual, query: "abc bcd" };
  const often = new RankCall(
    targetNamed("often", () => twoWords(40_000)),
    words,
  );
  const otherKind = loadAddon().openPacks(Buffer.from("/nowhere\0"), 0, 20, 1);
  const opened = kernel.openRanked(...whole.values.slice(0, openCount));
  const view = whole.values.slice(openCount, viewEnd);
  return [
    {
      name: "rankShards",
      call: kernel.rankShards as (...values: never[]) => unknown,
      good: () => [[opened, ...view], ...whole.values.slice(viewEnd)],
      refused: [
        ["a shard that is none", { 0: [{}, ...view] }],
        ["an object of another kind", { 0: [otherKind, ...view] }],
        ["a view that is none", { 0: [opened, 1, 2, 3] }],
        ["verdicts of fewer documents", { 0: [opened, ...view.slice(0, 2), new Uint8Array(1)] }],
      ],
      isVariant: true,
    },
    row("all", whole, ofLengths(whole), ofQuery(whole), ofContents(whole), ofFolded(whole), ofSymbols(whole)),
    row("a few", few, ofContents(few), ofNames(few)),
    row("one list", list, ofPostings(list)),
    row("not all contents", together, ofOverlaps(together)),
    row(
      "two words",
      new RankCall(
        targetNamed("seldom", () => twoWords(20)),
        words,
      ),
      [["many rows of both", { ...often.values }]],
    ),
  ];
}

/** Queries and limits with which the ways of ranking differ in what they examine first, and in what they leave out. */
const cases: readonly RankingCase[] = [
  ...["flush", "flush writer", "Flush case:yes", '"flush the"', "writer -file:test", "the writer flush"].flatMap(
    (query) => [
      { ...usual, query },
      { ...small, query },
      { ...usual, query, budget: { ...budget, keptMatches: 7 } },
      { ...usual, query, budget: { ...budget, contents: 10, cheapBytes: 300 } },
    ],
  ),
  { ...usual, scoreMin: 300 },
  ...[1, 20, 1e9].map((rankedMatches) => ({ ...small, budget: { ...small.budget, rankedMatches } })),
  counting,
  { ...counting, query: "flush writer" },
  { ...counting, query: "flush writer", budget: { ...counting.budget, rankedMatches: 10 } },
  { ...counting, query: "writer", othersBytes: 40, budget: { ...counting.budget, countedMatches: 1e6 } },
];

interface Found {
  readonly best: readonly unknown[];
  /** Pairs of a document and how often it matches. */
  readonly found: readonly string[];
}

function describe({ best, found }: ShardBest, isCounted: boolean): Found {
  const words = found ?? new Uint32Array(0);
  const pairs = Array.from({ length: words.length / 2 }, (_, i) => `${words[2 * i]}: ${words[2 * i + 1]}`).sort();
  return { best: best.map((document) => ({ ...document, parts: undefined })), found: isCounted ? pairs : [] };
}

/** By case: what the general way ranks, and what it finds without limits. */
const expected = new Map<RankingCase, Found>();

function expectedIn(target: RankedTarget, one: RankingCase): Found {
  let found = expected.get(one);
  if (found === undefined) {
    const { best } = describe(rankGenerally(portable, target, one), false);
    const isCounted = one.budget.countedMatches === 1e9;
    const whole = isCounted ? rankGenerally(portable, target, { ...one, budget: largeBudget }) : undefined;
    expected.set(one, (found = { best, found: whole === undefined ? [] : describe(whole, true).found }));
  }
  return found;
}

/** Whether the kernel ranks as the general way does. */
export function checkRankings(
  kernel: NativeMethods,
  expect: (found: unknown, wanted: unknown, what: string) => void,
): void {
  const target = targetNamed("ranked files", () => manyFiles(portable));
  for (const one of cases) {
    const ranked = rankWith(portable, target, one, ({ sections, ...request }) => {
      // What an earlier call has written there is not used.
      const groups = new Uint8Array(sections.groups.length);
      rankNatively(kernel, { sections: { ...sections, groups }, ...request });
    });
    const found = ranked && describe(ranked, one.budget.countedMatches === 1e9);
    expect(found, expectedIn(target, one), `${one.query} in ${JSON.stringify(one.budget)}`);
  }
}
