import { compileRegexp, type MatchWork } from "../../regexp/match/matcher.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { RankingParts } from "../../protocol/rank-messages.js";
import { type ControlBlock, StopCheck } from "../../protocol/control-block.js";
import type { Leaf, TextPlan } from "../../query/plan/plan.js";
import type { SymbolView } from "../../shard/symbols/symbol-view.js";
import { StoppableWork } from "../match/content-scan.js";
import { Rows } from "../match/rows.js";
import { findScored, findWords, isLetter, lowerAscii, type QueryWords } from "./query-words.js";
import { kindFactor } from "./score.js";

/** Further symbols of a file do not count for its place among the files. */
const namesMax = 1024;

/** More than the points of any symbol. */
const scoreEnd = 8192;

/** So many names are scored between two checks whether the search is stopped. */
const namesBetweenChecks = 1024;

/** Points of a symbol. What its kind and path give together is less than a step between the first three. */
const points = { whole: 6000, start: 4000, wordStart: 2000, kindAndPath: 1000, cover: 500, sameCase: 300 } as const;

/**
 * Scores the names that a search for symbols finds, and each file by the best of its names: a name that matches as a whole
 * comes before one that matches from its start, and that before one in which a word does; among these, kind and path decide,
 * then how much of the name matches.
 */
export class NameScore {
  readonly #words: QueryWords;
  /** The patterns; undefined if all of them are texts, which are among the words. */
  readonly #patterns: readonly Leaf[] | undefined;
  readonly #work: MatchWork;
  /** The matches in one name. */
  readonly #rows = new Rows(16);

  constructor(words: QueryWords, scored: readonly Leaf[], work: MatchWork) {
    this.#words = words;
    this.#patterns = words.regexpBits === 0 ? undefined : scored;
    this.#work = work;
  }

  /** For results that a limit cuts: that it is reached does not end the work. */
  static forCuts(texts: readonly TextPlan[], control: ControlBlock): NameScore {
    const stop = new StopCheck(control);
    stop.finishesCounted = true;
    return new NameScore(findWords(texts), findScored(texts), new StoppableWork(stop));
  }

  /** `rows` are names of the part. */
  find(
    view: SymbolView,
    part: number,
    { words: rows, count }: Rows,
    fileFactor: number,
    kernel: Kernel,
  ): RankingParts & { readonly score: number } {
    const end = Math.min(count, namesMax);
    const kinds = view.symbols.kindsOf(part, rows, 0, end, kernel);
    let best = 0;
    for (let i = 0; i < end; i++) {
      const name = view.content.subarray(rows[2 * i], rows[2 * i + 1]);
      const weight = kindFactor(view.symbols.kinds[kinds[i]] ?? "") * fileFactor;
      best = Math.max(best, this.#scoreName(name) + points.kindAndPath * weight);
    }
    const symbol = Math.round(best);
    const others = { fileName: 0, folders: 0, line: 0, wholeWords: 0, phrase: 0, matches: 0 };
    return { symbol, ...others, fileFactor: 1, score: symbol };
  }

  /**
   * Keeps at most `countMax` of the rows from `rowFrom` on, which are names of the part: the best ones, of equal ones
   * the first, in their order.
   */
  keepBest(view: SymbolView, part: number, rows: Rows, rowFrom: number, countMax: number, kernel: Kernel): void {
    const { words } = rows;
    const count = rows.count - rowFrom;
    if (count <= countMax) return;
    const scores = this.#scoreNames(view, part, rows, rowFrom, kernel);
    const countByScore = new Uint32Array(scoreEnd);
    for (let i = 0; i < count; i++) countByScore[scores[i]]++;
    let lowest = scoreEnd;
    let better = 0;
    while (lowest > 0 && better + countByScore[lowest - 1] <= countMax) better += countByScore[--lowest];
    let equalLeft = countMax - better;
    let kept = rowFrom;
    for (let i = 0; i < count; i++) {
      if (scores[i] < lowest && (scores[i] !== lowest - 1 || equalLeft-- <= 0)) continue;
      words[2 * kept] = words[2 * (rowFrom + i)];
      words[2 * kept + 1] = words[2 * (rowFrom + i) + 1];
      kept++;
    }
    rows.count = kept;
  }

  /** Of the names that are the rows from `rowFrom` on. */
  #scoreNames(view: SymbolView, part: number, { words, count }: Rows, rowFrom: number, kernel: Kernel): Uint16Array {
    const scores = new Uint16Array(count - rowFrom);
    for (let from = rowFrom; from < count; from += namesBetweenChecks) {
      this.#work.spend(0);
      const end = Math.min(count, from + namesBetweenChecks);
      const kinds = view.symbols.kindsOf(part, words, from, end, kernel);
      for (let i = from; i < end; i++) {
        const name = view.content.subarray(words[2 * i], words[2 * i + 1]);
        const weight = kindFactor(view.symbols.kinds[kinds[i - from]] ?? "");
        scores[i - rowFrom] = Math.round(this.#scoreName(name) + points.kindAndPath * weight);
      }
    }
    return scores;
  }

  #scoreName(name: Buffer): number {
    const rows = this.#rows;
    rows.clear();
    const isTyped = this.#findMatches(name);
    const isCovered = new Uint8Array(name.length);
    let atStart = false;
    let atWordStart = false;
    for (let i = 0; i < rows.count; i++) {
      const [from, to] = rows.words.subarray(2 * i, 2 * i + 2);
      isCovered.fill(1, from, to);
      atStart ||= from === 0;
      atWordStart ||= startsWord(name, from);
    }
    let letters = 0;
    let covered = 0;
    for (let i = 0; i < name.length; i++) {
      const counts = Number(isLetter(name[i]));
      letters += counts;
      covered += counts * isCovered[i];
    }
    if (covered === 0) return 0;
    const cover = covered / letters;
    if (covered === letters) return points.whole + points.cover + (isTyped ? points.sameCase : 0);
    return (atStart ? points.start : atWordStart ? points.wordStart : 0) + points.cover * cover;
  }

  /** Finds the matches in a name; returns whether all are spelled like the query. */
  #findMatches(name: Buffer): boolean {
    const rows = this.#rows;
    if (this.#patterns !== undefined) {
      for (const { source, foldCase } of this.#patterns)
        compileRegexp(source, foldCase).findAll(name, 0, rows, this.#work);
      return true;
    }
    const text = name.toString("latin1");
    const lowered = lowerAscii(text);
    let isTyped = true;
    for (const word of this.#words.words) {
      if (word.text === "") continue;
      for (let at = lowered.indexOf(word.text); at >= 0; at = lowered.indexOf(word.text, at + word.text.length)) {
        rows.push(at, at + word.text.length);
        isTyped &&= text.startsWith(word.typed, at);
      }
    }
    return isTyped;
  }
}

/** Whether a word of the name begins there: after what is no letter or digit, or with a capital after another letter. */
function startsWord(name: Buffer, at: number): boolean {
  if (at === 0 || !isLetter(name[at - 1])) return true;
  return isCapital(name[at]) && !isCapital(name[at - 1]);
}

function isCapital(byte: number): boolean {
  return byte >= 65 && byte <= 90;
}
