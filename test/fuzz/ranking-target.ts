/**
 * The native ranking of a shard whose sections are changed, as damage or another process may change what is mapped: it ends, and
 * what it finds is some document. Without changes, it is what the general way finds.
 */
import { isDeepStrictEqual } from "node:util";
import type { RankedTarget } from "../../src/eval/ranking/shard-ranking.js";
import { addonIfBuilt } from "../../src/native/kernel/addon.js";
import { loadKernel } from "../../src/native/kernel/load.js";
import {
  copyRequest,
  largeBudget,
  manyFiles,
  rankGenerally,
  type RankingCase,
  rankNatively,
  rankWith,
  type ShardRequest,
} from "../support/ranking.js";
import type { Random } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";

const kernel = loadKernel("ts");
const queries = [
  ...["flush", "flush writer", "Flush case:yes", "flush writer reflush", '"flush writer"', "flush lang:go"],
  ...["writer", "writer -file:test", "the writer and"],
];
const caseBytes = 9;
const changeBytes = 8;

let shard: RankedTarget | undefined;

/** The case, then changes: of an array, at a place, by a kind, with a number. */
function makeChanges(random: Random): Buffer {
  const length = caseBytes + changeBytes * (random(4) === 0 ? 0 : 1 + random(5));
  return Buffer.from(Array.from({ length }, () => random(256)));
}

function choose<T>(values: readonly T[], number: number): T {
  return values[number % values.length];
}

function readCase(input: Buffer): RankingCase {
  const [query, contents, bytes, documents, matches, score, counted, ranked, others] = input;
  const rankedMatches = choose([0, 0, 5, 40, 1e9], ranked);
  return {
    query: choose(queries, query),
    budget: {
      ...largeBudget,
      contents: choose([1, 3, 10, 1000], contents),
      cheapBytes: choose([1, 300, 1e9], bytes),
      keptDocuments: choose([1, 5, 50], documents),
      keptMatches: choose([1, 7, 100, 1e9], matches),
      rankedMatches,
      countedMatches: choose([0, 100, 1e9], counted),
    },
    scoreMin: choose([0, 0, 0, 100, 300], score),
    // The general way has no limit on what it ranks.
    othersBytes: rankedMatches > 0 ? 1e9 : choose([0, 100, 1e9], others),
  };
}

/** The changes of each array, by its number. */
function readChanges(input: Buffer): ReadonlyMap<number, readonly Buffer[]> {
  const changes = new Map<number, Buffer[]>();
  for (let at = caseBytes; at + changeBytes <= input.length; at += changeBytes) {
    const change = input.subarray(at, at + changeBytes);
    // The first eight tell where contents, documents and paths are.
    const number = change[0] % (change[0] < 128 ? arrayCountMax : 8);
    changes.set(number, [...(changes.get(number) ?? []), change]);
  }
  return changes;
}

/** Of a request. */
const arrayCountMax = 32;

/** Most of what can go wrong with words is at their borders. */
function changeArray<T extends Uint8Array | Uint32Array>(array: T, change: Buffer): T {
  const kind = change[1];
  const number = change.readUInt16LE(6);
  if (kind % 64 === 63) return array.slice(0, Math.max(0, array.length - 1 - (number % 3))) as T;
  if (array.length === 0) return array;
  const at = change.readUInt32LE(2) % array.length;
  const value = array[at];
  const values = [
    ...[0, 1, value + 1, value - 1, 0xffff_ffff, 0x8000_0000, value ^ (1 << (number % 32)), array.length, number],
    ...[array[number % array.length], array[array.length - 1]],
  ];
  const to = kind % 4 === 0 ? Math.min(array.length, at + 1 + (number % 16)) : at + 1;
  array.fill(choose(values, kind >> 2), at, to);
  return array;
}

function rank(input: Buffer): void {
  const native = addonIfBuilt();
  if (native === undefined || input.length < caseBytes) return;
  const target = (shard ??= manyFiles(kernel));
  const one = readCase(input);
  const changes = readChanges(input);
  const call = (request: ShardRequest): void => {
    const found = Object.values(native.kernels).map((methods) => {
      let number = 0;
      const changed = copyRequest(request, (_, array) =>
        (changes.get(number++) ?? []).reduce((array, change) => changeArray(array, change), array),
      );
      const outcome = rankNatively(methods, changed);
      return { outcome, ...changed.output };
    });
    const [{ outcome, kept, found: list, totals }] = found;
    for (const other of found)
      if (other.outcome !== outcome || (outcome === 0 && !isDeepStrictEqual(other.totals, totals)))
        throw new RangeError(`two kernels differ: ${totals.join()} and ${other.totals.join()}`);
    request.output.kept.set(kept);
    request.output.found.set(list);
    request.output.totals.set(totals);
  };
  try {
    const ranked = rankWith(kernel, target, one, call);
    if (changes.size > 0 || ranked === undefined) return;
    const best = rankGenerally(kernel, target, one).best.map((document) => ({ ...document, parts: undefined }));
    if (!isDeepStrictEqual(ranked.best, best)) throw new RangeError(`${one.query}: the general way ranks otherwise`);
  } catch (error) {
    if (changes.size === 0 || !(error instanceof TypeError)) throw error;
  }
}

export const rankingTarget: FuzzTarget = {
  name: "ranking",
  cpuMsMax: 500,
  testCount: 60,
  make: makeChanges,
  run: rank,
};
