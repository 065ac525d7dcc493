import { type GivenKinds, largestFactor, weighFile } from "../../model/file-weight.js";
import { findSymbolKind } from "../../model/symbol-kind.js";
import type { RankingParts } from "../../protocol/rank-messages.js";
import { documentFlags, unpackFlags } from "../../shard/format.js";
import type { ShardReader } from "../../shard/shard-reader.js";

/** What a document shows of the words of a query, each from 0 to 1 unless it is a count. */
export interface Features {
  /** Undefined if no word is in the name of a symbol. */
  readonly symbol: SymbolFeatures | undefined;
  /** Undefined if no word is in the last part of the path. */
  readonly fileName: NameFeatures | undefined;
  /** Words in the folders of the path. */
  readonly folders: number;
  /** Words in the line that has most of them. */
  readonly line: number;
  /** Words that occur as whole words. */
  readonly wholeWords: number;
  /** Words that follow one another, in their order, in one line. */
  readonly phrase: number;
  /** Occurrences, at most 255 of which are counted. */
  readonly matchCount: number;
  /** Of the kind of file. */
  readonly fileFactor: number;
}

export interface NameFeatures {
  /** The share of its letters that words cover. */
  readonly cover: number;
  /** Words in the name. */
  readonly words: number;
  /** Words in the name or near it: its container or path. */
  readonly wordsNear: number;
}

export interface SymbolFeatures extends NameFeatures {
  /** How likely a person looks for symbols of this kind. */
  readonly kindFactor: number;
  /** Whether a word that covers the name is written like it. */
  readonly isSameCase: boolean;
}

/** The largest number of points of each part; see docs/internals/ranking.md. src/native/kernel/score.cc has the same. */
const points = {
  exactSymbol: 1000,
  sameCase: 40,
  partialSymbol: 600,
  exactFileName: 450,
  partialFileName: 250,
  folders: 60,
  line: 120,
  wholeWords: 100,
  phrase: 80,
  matches: 8,
} as const;

/** Words in the container or the path of a name count this much of a word in the name. */
const nearShare = 0.6;

/**
 * The score of a document, in whole points:
 *
 *     (symbol + fileName + folders + line + wholeWords + phrase + matches) × fileFactor
 *
 * Everything is computed from whole numbers by the four operations, so it is the same on every machine, and in the kernel
 * (`scoreOf` in src/native/kernel/score.cc), which scores most documents; ranking.test.ts compares the two.
 */
export function scoreDocument(features: Features): RankingParts & { readonly score: number } {
  const { symbol: ofSymbol, fileName: ofName, fileFactor } = features;
  const symbol = ofSymbol === undefined ? 0 : scoreSymbol(ofSymbol);
  const fileName = ofName === undefined ? 0 : scoreName(ofName, points.exactFileName, points.partialFileName);
  const folders = points.folders * features.folders;
  const line = points.line * features.line;
  const wholeWords = points.wholeWords * features.wholeWords;
  const phrase = points.phrase * features.phrase;
  const matches = points.matches * (32 - Math.clz32(Math.min(255, features.matchCount)));
  const score = Math.round((symbol + fileName + folders + line + wholeWords + phrase + matches) * fileFactor);
  return { symbol, fileName, folders, line, wholeWords, phrase, matches, fileFactor, score };
}

/** Also decides which symbol of a document counts. */
export function scoreSymbol(symbol: SymbolFeatures): number {
  const base = scoreName(symbol, points.exactSymbol, points.partialSymbol);
  return (base + (symbol.isSameCase ? points.sameCase : 0)) * symbol.kindFactor;
}

function scoreName({ cover, words, wordsNear }: NameFeatures, exact: number, partial: number): number {
  const share = words + nearShare * Math.max(0, wordsNear - words);
  return cover >= 1 ? exact * share : partial * share * (0.3 + 0.7 * cover);
}

/** How likely a person who types a name looks for a symbol of this kind; other kinds count `otherKind`. */
const kindFactors: Readonly<Record<string, number>> = {
  class: 1,
  interface: 1,
  struct: 1,
  function: 1,
  method: 0.95,
  enum: 0.95,
  constructor: 0.9,
  namespace: 0.6,
  module: 0.6,
  constant: 0.8,
  variable: 0.7,
  property: 0.55,
  field: 0.5,
  "enum-member": 0.6,
  package: 0.3,
};
const otherKind = 0.3;

/** Kinds of ctags that stand for less than the kind that clients are shown. */
const ctagsFactors: Readonly<Record<string, number>> = { prototype: 0.5, externvar: 0.4, local: 0.2, alias: 0.4 };

export function kindFactor(ctagsKind: string): number {
  return ctagsFactors[ctagsKind.toLowerCase()] ?? kindFactors[findSymbolKind(ctagsKind)] ?? otherKind;
}

/** Files are grouped by weight: the largest weight of each group. */
export const largestWeights: readonly number[] = [1, largestFactor, 0.5];

/** 0 for a file that is not weighted down, 1 for 0.5 or more, otherwise 2. */
export function weightGroup(factor: number): number {
  return factor === 1 ? 0 : factor >= 0.5 ? 1 : 2;
}

const weightsOfReader = new WeakMap<ShardReader, Float64Array>();

/** How much a document of a shard counts. Computed once for each; `lowered` is its path in lower case. */
export function weighDocument(reader: ShardReader, document: number, lowered: string): number {
  let weights = weightsOfReader.get(reader);
  if (weights === undefined) weightsOfReader.set(reader, (weights = new Float64Array(reader.documentCount)));
  // No file counts nothing.
  if (weights[document] === 0) weights[document] = weighFile(lowered, givenKinds(reader.documentInfo[document]));
  return weights[document];
}

/** What the attributes of a document say of its kind; undefined if nothing. */
function givenKinds(info: number): GivenKinds | undefined {
  const flags = unpackFlags(info);
  return (flags & documentFlags.kinds) === 0
    ? undefined
    : {
        isGenerated: (flags & documentFlags.generated) !== 0,
        isVendored: (flags & documentFlags.vendored) !== 0,
      };
}
