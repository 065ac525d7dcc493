import { type Features, kindFactor, type NameFeatures, scoreSymbol, type SymbolFeatures } from "./score.js";
import type { Naming } from "./content-choice.js";
import {
  bitsOfWords,
  countBits,
  coveringMatchesMax,
  isLetter,
  lowerAscii,
  lowerByte,
  type QueryWord,
  type QueryWords,
} from "./query-words.js";
import type { Rows } from "../match/rows.js";
import { placeWordCount, type SymbolKernel } from "../../native/kernel/symbol-kernel.js";
import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";

/** Further occurrences are only counted. */
const rowCountMax = 4096;

const bestSymbol: SymbolFeatures = { cover: 1, words: 1, wordsNear: 1, kindFactor: 1, isSameCase: true };
/** Of which the words do not cover all letters. */
const bestPartialSymbol: SymbolFeatures = { ...bestSymbol, cover: 1 - Number.EPSILON / 2 };

/** Finds the features of documents for one query. */
export class DocumentFeatures {
  readonly #words: QueryWords;
  /** The word that the latest row matched; undefined if it matched the regular expression. */
  #word: QueryWord | undefined;

  constructor(words: QueryWords) {
    this.#words = words;
  }

  /** Which words are in the folder and in the file name of a path, which is in lower case. */
  findInPath(path: string): PathFeatures {
    const slash = path.lastIndexOf("/");
    const fileBits = bitsOfWords(this.#words, path.slice(slash + 1));
    const folderBits = slash < 0 ? 0 : bitsOfWords(this.#words, path.slice(0, slash));
    const pathBits = fileBits | folderBits;
    return {
      pathBits,
      fileName: fileBits === 0 ? undefined : this.#fileName(path.slice(slash + 1), fileBits, pathBits),
      folders: this.#share(folderBits & ~fileBits),
    };
  }

  /**
   * The best features that a document with this path can have. Sound because a share is at most 1, a name of a symbol
   * consists at most of all words, and a phrase needs two.
   */
  bound(
    { fileName, folders }: Omit<PathFeatures, "pathBits">,
    matchCount: number,
    fileFactor: number,
    naming: Naming,
  ): Features {
    const symbol = naming === "none" ? undefined : naming === "partial" ? bestPartialSymbol : bestSymbol;
    const phrase = this.#words.count > 1 ? 1 : 0;
    return { symbol, fileName, folders, line: 1, wholeWords: 1, phrase, matchCount, fileFactor };
  }

  find(document: ScoredDocument): Features {
    const { fileFactor, inPath } = document;
    const inText = this.#findInText(document, inPath.pathBits);
    return {
      symbol: inText.symbol,
      fileName: inPath.fileName,
      folders: inPath.folders,
      line: this.#share(inText.lineBits),
      wholeWords: this.#share(inText.wholeBits),
      phrase: this.#words.count > 1 ? inText.phraseLength / this.#words.count : 0,
      matchCount: document.rowTo - document.rowFrom,
      fileFactor,
    };
  }

  #share(bits: number): number {
    return this.#words.count === 0 ? 0 : countBits(bits) / this.#words.count;
  }

  /** The last part of the path, with or without what follows its first dot. */
  #fileName(name: string, bits: number, pathBits: number): NameFeatures {
    const dot = name.indexOf(".", 1);
    const stem = dot < 0 ? name : name.slice(0, dot);
    const whole = this.#cover(name);
    const inStem = this.#cover(stem);
    return { cover: Math.max(whole, inStem), words: this.#share(bits), wordsNear: this.#share(pathBits) };
  }

  /** The share of the letters of a name that words cover, which do not overlap. */
  #cover(name: string): number {
    let letters = 0;
    for (let i = 0; i < name.length; i++) if (isLetter(name.charCodeAt(i))) letters++;
    let covered = 0;
    let rest = name;
    for (const { text, letterCount } of this.#words.words) {
      const at = rest.indexOf(text);
      if (at < 0) continue;
      covered += letterCount;
      rest = `${rest.slice(0, at)}/${rest.slice(at + text.length)}`;
    }
    return letters === 0 ? 0 : Math.min(1, covered / letters);
  }

  #findInText(document: ScoredDocument, pathBits: number): TextFeatures {
    const { text, rows, rowFrom, rowTo, textStart, textEnd } = document;
    const end = Math.min(rowTo, rowFrom + rowCountMax);
    const lines = new LineFeatures(text, textStart, textEnd);
    const symbols = new SymbolFinder(document, this.#words, pathBits);
    for (let row = rowFrom; row < end; row++) {
      const from = rows.words[2 * row];
      const to = rows.words[2 * row + 1];
      const bits = this.#bitsAt(text, from, to);
      lines.add(from, to, bits);
      symbols.add(from - textStart, to - textStart, bits, this.#word);
    }
    symbols.end();
    return {
      symbol: symbols.best,
      lineBits: lines.bestBits,
      wholeBits: lines.wholeBits,
      phraseLength: lines.phraseLength,
    };
  }

  /** The bits of the word that a row matched. */
  #bitsAt(text: Buffer, from: number, to: number): number {
    this.#word = undefined;
    for (const word of this.#words.words) {
      if (word.text.length !== to - from || !isTextAt(text, from, word.text)) continue;
      this.#word = word;
      return word.bits;
    }
    return this.#words.regexpBits;
  }
}

interface TextFeatures {
  readonly symbol: SymbolFeatures | undefined;
  readonly lineBits: number;
  readonly wholeBits: number;
  readonly phraseLength: number;
}

/** Whether the text, ignoring ASCII case, has `word` at `from`. */
function isTextAt(text: Buffer, from: number, word: string): boolean {
  for (let i = 0; i < word.length; i++) if (lowerByte(text[from + i]) !== lowerByte(word.charCodeAt(i))) return false;
  return true;
}

/** What the path of a document has of the words. */
interface PathFeatures {
  readonly pathBits: number;
  readonly fileName: NameFeatures | undefined;
  readonly folders: number;
}

/** A document that satisfies a query. */
interface ScoredDocument {
  /** All texts of the shard, and where that of the document begins and ends. */
  readonly text: Buffer;
  readonly textStart: number;
  readonly textEnd: number;
  readonly rows: Rows;
  readonly rowFrom: number;
  readonly rowTo: number;
  readonly inPath: PathFeatures;
  /** As `weighFile` returns it. */
  readonly fileFactor: number;
  /** Undefined if no symbols are known. */
  readonly places: SymbolPlaces | undefined;
  readonly kinds: readonly string[];
}

/** Occurrences further apart are not in the same line. */
const lineBytesMax = 400;

const newline = 10;
const underscore = 95;

/** What the lines of a document have of the words. Rows are added in order. */
class LineFeatures {
  bestBits = 0;
  wholeBits = 0;
  /** The largest number of different words that follow one another. */
  phraseLength = 0;
  readonly #text: Buffer;
  readonly #textStart: number;
  readonly #textEnd: number;
  #bits = 0;
  #bestCount = 0;
  #lastEnd = -1;
  #runBits = 0;

  constructor(text: Buffer, textStart: number, textEnd: number) {
    this.#text = text;
    this.#textStart = textStart;
    this.#textEnd = textEnd;
  }

  add(from: number, to: number, bits: number): void {
    const isNear = this.#lastEnd >= 0 && from - this.#lastEnd < lineBytesMax;
    const isSameLine = isNear && !this.#hasNewline(this.#lastEnd, from);
    this.#bits = isSameLine ? this.#bits | bits : bits;
    const follows = isSameLine && from - this.#lastEnd <= 2 && (this.#runBits & bits) === 0;
    this.#runBits = follows ? this.#runBits | bits : bits;
    this.#lastEnd = to;
    const count = countBits(this.#bits);
    if (count > this.#bestCount) {
      this.#bestCount = count;
      this.bestBits = this.#bits;
    }
    this.phraseLength = Math.max(this.phraseLength, follows ? countBits(this.#runBits) : 0);
    if (this.#isWhole(from, to)) this.wholeBits |= bits;
  }

  #hasNewline(from: number, to: number): boolean {
    for (let i = from; i < to; i++) if (this.#text[i] === newline) return true;
    return false;
  }

  #isWhole(from: number, to: number): boolean {
    const isStart = from === this.#textStart || !isWordByte(this.#text[from - 1]);
    return isStart && (to === this.#textEnd || !isWordByte(this.#text[to]));
  }
}

function isWordByte(byte: number): boolean {
  return byte === underscore || isLetter(byte);
}

/** Finds the symbol that has most of the words. Rows are added in order. */
class SymbolFinder {
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
  /** In the name, and the letters of it that they cover. */
  #matchCount = 0;
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
    if (++this.#matchCount <= coveringMatchesMax) this.#covered += this.#lettersIn(from, to);
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
    this.#matchCount = 0;
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

/** More symbols of a file are not looked at. */
const placesMax = 4096;

/** The symbols of one text whose names contain an occurrence of a word; positions are relative to the text. */
export class SymbolPlaces {
  count = 0;
  readonly starts = new Uint32Array(placesMax);
  readonly ends = new Uint32Array(placesMax);
  readonly kinds = new Uint16Array(placesMax);
  /** By symbol: the number of its container in `containers`, or -1. */
  readonly containerNumbers = new Int32Array(placesMax);
  readonly #words = new Uint32Array(placesMax * placeWordCount);
  #symbols: SymbolReader | undefined;
  #part = 0;
  #containers: readonly Uint8Array[] | undefined;

  /** Those of a part, which are ascending and disjoint. Of a damaged record, those before the damage. */
  read(symbols: SymbolReader, part: number, rows: Rows, kernel: Pick<SymbolKernel, "symbolsAtRows">): void {
    this.#symbols = symbols;
    this.#part = part;
    this.#containers = undefined;
    const { from: textFrom, to: textTo } = symbols.textRange(part);
    const [from, to] = symbols.recordRange(part);
    const { records } = symbols;
    const words = this.#words;
    const { words: found, count } = rows;
    this.count = kernel.symbolsAtRows(records, from, to, textFrom, textTo, found, 0, count, placesMax, words);
    for (let i = 0; i < this.count; i++) {
      this.starts[i] = words[placeWordCount * i] - textFrom;
      this.ends[i] = words[placeWordCount * i + 1] - textFrom;
      this.kinds[i] = words[placeWordCount * i + 2];
      this.containerNumbers[i] = words[placeWordCount * i + 3] - 2;
    }
  }

  /** The names of the containers of the text, read when they are first needed. */
  get containers(): readonly Uint8Array[] {
    return (this.#containers ??= this.#readContainers());
  }

  #readContainers(): readonly Uint8Array[] {
    const containers: Uint8Array[] = [];
    try {
      this.#symbols?.symbolsOf(this.#part, containers);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
    return containers;
  }
}
