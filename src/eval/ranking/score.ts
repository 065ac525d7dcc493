import type { RankingParts } from "../../protocol/rank-messages.js";

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

/** The largest number of points of each part; see docs/internals/ranking.md. */
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
 * Everything is computed from whole numbers by the four operations, so it is the same on every machine.
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
