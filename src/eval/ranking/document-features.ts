import { LineFeatures } from "./line-features.js";
import type { Features, NameFeatures, SymbolFeatures } from "./score.js";
import { SymbolFinder } from "./symbol-finder.js";
import { bitsOfWords, countBits, isLetter, lowerByte, type QueryWord, type QueryWords } from "./query-words.js";
import type { PathFeatures, ScoredDocument } from "./scored-document.js";

/** Further occurrences are only counted. */
const rowCountMax = 4096;

const bestSymbol: SymbolFeatures = { cover: 1, words: 1, wordsNear: 1, kindFactor: 1, isSameCase: true };

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
    maySymbol: boolean,
  ): Features {
    const symbol = maySymbol ? bestSymbol : undefined;
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
