import { findSymbolKind } from "../../model/symbol-kind.js";
import type { ScoredDocument } from "./scored-document.js";
import { bitsOfWords, countBits, isLetter, lowerAscii, type QueryWord, type QueryWords } from "./query-words.js";
import { scoreSymbol, type SymbolFeatures } from "./score.js";
import type { SymbolPlaces } from "./symbol-places.js";

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

/** Finds the symbol that has most of the words. Rows are added in order. */
export class SymbolFinder {
  best: SymbolFeatures | undefined;
  readonly #document: ScoredDocument;
  readonly #places: SymbolPlaces | undefined;
  readonly #words: QueryWords;
  readonly #pathBits: number;
  readonly #containerBits: (number | undefined)[] = [];
  #bestScore = 0;
  #at = 0;
  #current = -1;
  #bits = 0;
  #covered = 0;
  #isSameCase = true;

  constructor(document: ScoredDocument, words: QueryWords, pathBits: number) {
    this.#document = document;
    this.#places = document.places;
    this.#words = words;
    this.#pathBits = pathBits;
  }

  add(from: number, to: number, bits: number, word: QueryWord | undefined): void {
    const places = this.#places;
    if (places === undefined) return;
    while (this.#at < places.count && places.ends[this.#at] < to) this.#at++;
    if (this.#at === places.count || places.starts[this.#at] > from) return;
    if (this.#current !== this.#at) {
      this.end();
      this.#current = this.#at;
    }
    this.#bits |= bits;
    this.#covered += this.#lettersIn(from, to);
    this.#isSameCase &&= word === undefined || this.#isTyped(word, from, to);
  }

  /** Ends the current symbol. */
  end(): void {
    const places = this.#places;
    if (this.#current < 0 || places === undefined) return;
    const i = this.#current;
    const near = this.#bits | this.#pathBits | this.#bitsOfContainer(places.containerNumbers[i], places);
    const { count } = this.#words;
    const features: SymbolFeatures = {
      cover: this.#covered / Math.max(1, this.#lettersIn(places.starts[i], places.ends[i])),
      words: countBits(this.#bits) / count,
      wordsNear: countBits(near) / count,
      kindFactor: kindFactor(this.#document.kinds[places.kinds[i]] ?? ""),
      isSameCase: this.#isSameCase,
    };
    const score = scoreSymbol(features);
    if (score > this.#bestScore) {
      this.#bestScore = score;
      this.best = features;
    }
    this.#current = -1;
    this.#bits = 0;
    this.#covered = 0;
    this.#isSameCase = true;
  }

  #lettersIn(from: number, to: number): number {
    const { text, textStart } = this.#document;
    let count = 0;
    for (let i = from; i < to; i++) if (isLetter(text[textStart + i])) count++;
    return count;
  }

  #isTyped({ typed }: QueryWord, from: number, to: number): boolean {
    const { text, textStart } = this.#document;
    return text.toString("latin1", textStart + from, textStart + to) === typed;
  }

  #bitsOfContainer(number: number, { containers }: SymbolPlaces): number {
    if (number < 0 || number >= containers.length) return 0;
    const known = this.#containerBits[number];
    if (known !== undefined) return known;
    const text = lowerAscii(Buffer.from(containers[number]).toString("latin1"));
    const bits = bitsOfWords(this.#words, text);
    this.#containerBits[number] = bits;
    return bits;
  }
}
