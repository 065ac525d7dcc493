/** Shards with symbols whose documents are ranked, and what the native ranking is called with for them. */
import { rankWords, type WordRanker, findWordSearch } from "../../src/eval/ranking/word-ranking.js";
import { type RankedTarget, type ShardBest, ShardRanking } from "../../src/eval/ranking/shard-ranking.js";
import type { Kernel } from "../../src/native/kernel/kernel.js";
import type { NativeMethods } from "../../src/native/kernel/addon.js";
import {
  listShard,
  openArguments,
  rankArguments,
  type RankedSections,
  type RankedSymbols,
  type RankedView,
  rankOutcomes,
  type RankOutput,
  type RankRequest,
  rankTotals,
} from "../../src/native/kernel/ranking-kernel.js";
import { ControlBlock } from "../../src/protocol/control-block.js";
import type { RankBudget } from "../../src/protocol/rank-messages.js";
import type { SearchOptions } from "../../src/protocol/search-options.js";
import { planQuery } from "../../src/query/plan/plan-query.js";
import type { ContentSymbols } from "../../src/shard/symbols/content-symbols.js";
import { findParts } from "../../src/shard/symbols/parts.js";
import { SymbolBuilder } from "../../src/shard/symbols/symbol-builder.js";
import { SymbolReader } from "../../src/shard/symbols/symbol-reader.js";
import { neverStopped, testRepository, testShard, type TestShard } from "./engine.js";

/** Symbols are written as `def NAME` or `def CONTAINER.NAME`. */
function findSymbols(text: string): ContentSymbols {
  const found = [...text.matchAll(/def (?:(\w+)\.)?(\w+)/g)];
  return {
    names: found.map(([, , name]) => name),
    lines: found.map(({ index }) => text.slice(0, index).split("\n").length),
    offsets: found.map(({ index, 0: whole, 2: name }) => index + whole.length - name.length),
    kinds: found.map(() => "function"),
    containers: found.map(([, container]) => container ?? ""),
  };
}

function readSymbols(kernel: Kernel, { reader }: TestShard): SymbolReader {
  const builder = new SymbolBuilder(kernel);
  for (const content of findParts(reader).contents) {
    const text = reader.content.toString("latin1", reader.contentStart[content], reader.contentStart[content + 1]);
    builder.add("extracted", findSymbols(text));
  }
  return new SymbolReader(reader, builder.build(reader, "test 1").bytes);
}

export function rankedTarget(kernel: Kernel, shard: TestShard): RankedTarget {
  return {
    shard: 0,
    reader: shard.reader,
    symbols: readSymbols(kernel, shard),
    visibility: shard,
    checkContent: () => undefined,
  };
}

export function rankOptions(query: string, limits: Partial<SearchOptions>): SearchOptions {
  const plan = planQuery(query, "keyword");
  const selections = plan.basicQueries.map(() => ({ repositoryIds: undefined, revisions: undefined }));
  return { plan, useIndex: true, selections, ...limits } as unknown as SearchOptions;
}

export const largeBudget = {
  contents: 1000,
  cheapBytes: 1e9,
  expensiveBytes: 1e9,
  keptDocuments: 50,
  keptMatches: 1e9,
  rankedMatches: 0,
  countedMatches: 0,
};

/** Names, paths, tests and copies of files with a few words, several documents of one content, some without. */
export function manyFiles(kernel: Kernel): RankedTarget {
  const folders = ["", "src/", "test/", "dist/", "node_modules/flush/", "docs/writer/"];
  const words = ["flush", "def flush", "Flush", "def Buf.flushAll", "reflush", "def writer", "flush writer", "none"];
  const documents: Parameters<typeof testShard>[1][number][] = Array.from({ length: 60 }, (_, i) => {
    const number = i % 10 === 9 ? i - 5 : i;
    return {
      path: `${folders[(i * 5) % folders.length]}${i % 17 === 0 ? "flush" : "file"}${i}${i % 3 === 0 ? ".d.ts" : ".go"}`,
      content: `${words[(number * 7) % words.length]} ${"and flush ".repeat(number % 4)}of it ${number}\n`,
      oid: number.toString(16).padStart(40, "0"),
      repositoryId: 1 + (i % 2),
    };
  });
  documents.unshift(
    { path: "src/first.go", content: "writer, def flush", repositoryId: 1 },
    { path: "src/second.go", content: "to flush it", repositoryId: 1 },
  );
  documents.push(
    { path: "src/long.go", content: `${"x".repeat(5000)}\n${"flush the writer\n".repeat(520)}`, repositoryId: 1 },
    { path: "src/folded.go", content: "a writer flu\u017fxes, and to flush", repositoryId: 1 },
    { path: "src/last.go", content: "flush the writer", repositoryId: 2 },
    { path: "src/flush.png", content: "", skipReason: "binary", repositoryId: 2 },
  );
  const repositories = [testRepository(1, "a", { stars: 1 }), testRepository(2, "b", { stars: 9 })];
  return rankedTarget(kernel, testShard(kernel, documents, repositories));
}

export interface RankingCase {
  readonly query: string;
  readonly budget: RankBudget;
  readonly scoreMin: number;
  readonly othersBytes: number;
}

/** What the kernel opens and ranks of one shard. */
export interface ShardRequest extends Omit<RankRequest, "shards"> {
  readonly sections: RankedSections;
  readonly view: RankedView;
  readonly symbols: RankedSymbols;
}

/** Returns the outcome, which is also in the totals of the output. */
export function rankNatively(kernel: NativeMethods, { sections, view, symbols, ...request }: ShardRequest): number {
  const opened = kernel.openRanked(...openArguments(sections, symbols));
  kernel.rankShards(...rankArguments({ shards: listShard({ opened, ...view }), ...request }));
  return outcomeIn(request.output);
}

export function outcomeIn({ totals }: RankOutput): number {
  return totals[1 + rankTotals.outcome];
}

/** `rankWords` with this call for one shard; undefined if it leaves the query to the general way. */
export function rankWith(
  kernel: Kernel,
  target: RankedTarget,
  { query, budget, scoreMin, othersBytes }: RankingCase,
  rankOne: (request: ShardRequest) => void,
): ShardBest | undefined {
  const openRanked = (sections: RankedSections, symbols: RankedSymbols): object => ({ sections, symbols });
  const rankShards = ({ shards, ...request }: RankRequest): number => {
    const [opened, tombstones, repositories, verdicts] = shards as unknown as readonly [
      Pick<ShardRequest, "sections" | "symbols">,
      Uint32Array,
      Uint32Array,
      Uint8Array,
    ];
    rankOne({ ...opened, view: { tombstones, repositories, verdicts }, ...request });
    return 1;
  };
  const calling = Object.create(kernel, {
    openRanked: { value: openRanked },
    rankShards: { value: rankShards },
  }) as Kernel;
  const options = rankOptions(query, { displayCountMax: 1, matchCountMax: 9 });
  const search = findWordSearch(options, calling);
  if (search === undefined) return undefined;
  const control = ControlBlock.allocate(1, 0, 0);
  const ranker: WordRanker = { search, options, budget, kernel: calling, control, stop: neverStopped };
  return rankWords(target, ranker, { scoreMin }, othersBytes);
}

/** What the kernel is called with, in arrays of its own. */
export function rankRequest(kernel: Kernel, target: RankedTarget, one: RankingCase): ShardRequest | undefined {
  let found: ShardRequest | undefined;
  rankWith(kernel, target, one, (request) => {
    found = request;
    request.output.totals[1 + rankTotals.outcome] = rankOutcomes.refused;
  });
  return found && copyRequest(found, (_, array) => array);
}

type Arrays = ShardRequest["sections"] | ShardRequest["view"] | ShardRequest["symbols"] | ShardRequest["query"];

/** Each array is copied, to a buffer of exactly its size, and then as `change` makes it; the output is new. */
export function copyRequest(
  request: ShardRequest,
  change: <T extends Uint8Array | Uint32Array>(name: string, array: T) => T,
): ShardRequest {
  const copyAll = <T extends Arrays>(arrays: T, place: string): T =>
    Object.fromEntries(
      Object.entries<unknown>({ ...arrays }).map(([name, value]) => {
        if (value instanceof Uint32Array) return [name, change(place + name, Uint32Array.from(value))];
        return [name, value instanceof Uint8Array ? change(place + name, Uint8Array.from(value)) : value];
      }),
    ) as unknown as T;
  return {
    ...request,
    sections: copyAll(request.sections, ""),
    view: copyAll(request.view, ""),
    symbols: copyAll(request.symbols, "symbols."),
    query: copyAll(request.query, "query."),
    sharedMatches: Uint32Array.from(request.sharedMatches),
    next: Uint32Array.from(request.next),
    output: copyOutput(request.output),
  };
}

function copyOutput({ kept, found, totals }: RankOutput): RankOutput {
  return {
    kept: new Uint32Array(kept.length),
    found: new Uint32Array(found.length),
    totals: new Uint32Array(totals.length),
  };
}

/** The general way. */
export function rankGenerally(
  kernel: Kernel,
  target: RankedTarget,
  { query, budget, scoreMin }: RankingCase,
): ShardBest {
  const options = rankOptions(query, { displayCountMax: 1, matchCountMax: 9 });
  return new ShardRanking(target, options, budget, kernel, neverStopped, { scoreMin }).run(() => undefined);
}
