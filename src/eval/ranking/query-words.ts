import { addToKey, emptyKey } from "../../shard/symbols/name-keys.js";
import type { Leaf, TextNode, TextPlan } from "../../query/plan/plan.js";

/** A text that a query looks for. Strings have one character per byte of UTF-8 (latin1). */
export interface QueryWord {
  /** ASCII letters in lower case. */
  readonly text: string;
  /** As typed. */
  readonly typed: string;
  /** The bits of the word and of those that occur in it. */
  readonly bits: number;
  /** Letters and digits of the text. */
  readonly letterCount: number;
}

/** What the positive patterns of a query look for: each has a bit, which the texts of an alternation share. */
export interface QueryWords {
  /** In the order of the query. */
  readonly typed: readonly string[];
  /** Longer texts first. */
  readonly words: readonly QueryWord[];
  /** Number of bits. */
  readonly count: number;
  /** The bits of patterns that are not texts. */
  readonly regexpBits: number;
}

/** Further patterns have no influence on the score. */
export const bitsMax = 30;

/** An alternation with more texts counts like a regexp. */
const alternativesMax = 16;

/** A run of more words is not looked up: no name consists of so many. */
const runWordsMax = 6;

/** The words of all basic queries: a document scores as if it had been searched for all of them. */
export function findWords(texts: readonly TextPlan[]): QueryWords {
  const leaves = new Map(findScored(texts).map((leaf) => [leaf.source, leaf]));
  const chosen = [...leaves.values()].slice(0, bitsMax);
  const found: { text: string; typed: string; bit: number }[] = [];
  let regexpBits = 0;
  chosen.forEach((leaf, bit) => {
    const typed = findTexts(leaf);
    if (typed === undefined) regexpBits |= 1 << bit;
    else for (const text of typed) found.push({ text: lowerAscii(latin1(text)), typed: latin1(text), bit });
  });
  const words = found.map(({ text, typed }) => ({
    text,
    typed,
    bits: found.reduce((bits, other) => (text.includes(other.text) ? bits | (1 << other.bit) : bits), 0),
    letterCount: countLetters(text),
  }));
  words.sort((a, b) => b.text.length - a.text.length);
  return { typed: found.map((word) => word.typed), words, count: chosen.length, regexpBits };
}

/** The patterns whose matches are scored. */
export function findScored(texts: readonly TextPlan[]): readonly Leaf[] {
  return texts.flatMap(({ pattern, leaves }) =>
    pattern === undefined ? [] : positiveLeaves(pattern).flatMap((i) => (leaves[i].highlighted ? [leaves[i]] : [])),
  );
}

function positiveLeaves(node: TextNode): readonly number[] {
  switch (node.kind) {
    case "leaf":
      return [node.leaf];
    case "not":
      return [];
    case "and":
    case "or":
      return node.children.flatMap(positiveLeaves);
  }
}

/** The texts that the leaf finds, as typed where that is known; undefined for a regexp. */
function findTexts({ analysis, either, source }: Leaf): readonly string[] | undefined {
  const texts = either.length > 0 ? either.map(unescapeRegexp) : (analysis.alternatives ?? []);
  if (texts.length > alternativesMax) return undefined;
  if (texts.length > 0) return texts;
  if (analysis.literal === undefined) return undefined;
  const typed = unescapeRegexp(source);
  return [typed.toLowerCase() === analysis.literal.toLowerCase() ? typed : analysis.literal];
}

/** A name that the words of a query, in their order, may have. */
export interface NameKey {
  /** See `SymbolReader.findNamed`. */
  readonly key: number;
  /** Of how many words it consists. */
  readonly wordCount: number;
}

/** The keys of all runs of words. */
export function findNameKeys({ typed }: QueryWords): readonly NameKey[] {
  const keys: NameKey[] = [];
  for (let first = 0; first < typed.length; first++) {
    let key: number = emptyKey;
    for (let last = first; last < typed.length && last - first < runWordsMax; last++) {
      for (const byte of Buffer.from(typed[last], "latin1")) key = addToKey(key, byte);
      if (key !== emptyKey) keys.push({ key, wordCount: last - first + 1 });
    }
  }
  return keys;
}

/** So many matches in one name may cover it; further ones do not count. */
export const coveringMatchesMax = 16;

/** The keys of all names that a word covers, which it may be in several times. */
export function findCoveringKeys({ text }: QueryWord): readonly number[] {
  const keys: number[] = [];
  let key: number = emptyKey;
  for (let count = 1; count <= coveringMatchesMax; count++) {
    for (const byte of Buffer.from(text, "latin1")) key = addToKey(key, byte);
    if (key !== emptyKey) keys.push(key);
  }
  return keys;
}

function unescapeRegexp(source: string): string {
  return source.replace(/\\([^a-zA-Z0-9])/g, "$1");
}

function latin1(text: string): string {
  return Buffer.from(text).toString("latin1");
}

export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The byte, in lower case if it is an ASCII letter. */
export function lowerByte(byte: number): number {
  return byte >= 65 && byte <= 90 ? byte + 32 : byte;
}

/** The bits of the words that occur in a text, which is in lower case. */
export function bitsOfWords({ words }: QueryWords, text: string): number {
  let bits = 0;
  for (const word of words) if (text.includes(word.text)) bits |= word.bits;
  return bits;
}

/** A letter or digit of ASCII, or a byte of a character beyond ASCII. */
export function isLetter(byte: number): boolean {
  return (byte >= 97 && byte <= 122) || (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || byte >= 128;
}

function countLetters(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) if (isLetter(text.charCodeAt(i))) count++;
  return count;
}

/** Number of bits that are 1. */
export function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}
