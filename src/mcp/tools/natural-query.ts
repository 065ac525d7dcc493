import { stemmer } from "stemmer";
import { type PatternToken, scan, type Token } from "../../query/syntax/scan.js";

/** The queries of the pattern type `keyword` that a text in natural language stands for. */
export interface NaturalQuery {
  /** The search terms: the beginnings of the words. */
  readonly words: readonly string[];
  readonly all: string;
  /** Undefined if it would be the same, or if the text has operators of its own. */
  readonly any: string | undefined;
}

/** Words that say nothing about the code, without apostrophes. */
const stopWords: ReadonlySet<string> = new Set(
  `a about after all also am an and any are arent as at be because been before being both but by can cant cannot could did do
   does doesnt doing dont each either every for from get gets give given had has have having he hence her here hers him his how i if
   in into is isnt it its just let lets like made make makes many may me might more most much must my no nor not of off on once only
   onto or other our out over own please shall she should show shows so some such tell than that the their them then there these
   they this those through thus to too until upon us used uses using very want was we were what whats when where wheres whether
   which while who whom whose why will with without would you your`.split(/\s+/),
);

/** A longer word is no English. */
const wordLengthMax = 30;

/** A shorter beginning is in too many words. */
const stemLengthMin = 3;

const plainWord = /^[A-Za-z]?[a-z]+$/;
const punctuation = ".,;:!?…“”";

/**
 * Reads a question or a sentence: drops the words that say nothing about code, and replaces the others by what all of
 * their forms begin with. Filters, quoted text, expressions and names of code (`fooBar`, `a_b`, `main.c`) remain as they
 * are. A text with AND, OR or NOT in capitals, or with parentheses, keeps its structure and all of its words; in
 * others, "and", "or" and "not" are words, except for `not` before a filter.
 */
export function readNaturalQuery(text: string): NaturalQuery {
  const tokens = scan(text, "keyword", false);
  const typed = ({ span }: Token): string => text.slice(span.from, span.to);
  if (tokens.some(({ kind }) => kind === "broken")) return { words: [], all: text, any: undefined };
  if (tokens.some((token) => isStructure(token, typed(token)))) return readStructured(text, tokens);
  const filters: string[] = [];
  const patterns = new Set<string>();
  tokens.forEach((token, at) => {
    if (token.kind === "field") filters.push(tokens[at - 1]?.kind === "not" ? `NOT ${typed(token)}` : typed(token));
    if (token.kind !== "pattern") return;
    const pattern = readPattern(token, typed(token));
    if (pattern !== undefined) patterns.add(pattern);
  });
  // A question of which each word says nothing: they are searched for all the same.
  if (patterns.size === 0) return { words: [], all: text, any: undefined };
  const words = [...patterns];
  return {
    words,
    all: [...filters, ...words].join(" "),
    any: words.length > 1 ? [...filters, `(${words.join(" OR ")})`].join(" ") : undefined,
  };
}

function isStructure({ kind }: Token, typed: string): boolean {
  return kind === "open" || kind === "close" || (kind !== "pattern" && kind !== "field" && /^[A-Z]/.test(typed));
}

function readStructured(text: string, tokens: readonly Token[]): NaturalQuery {
  const words: string[] = [];
  let [all, end] = ["", 0];
  for (const token of tokens) {
    const { from, to } = token.span;
    const typed = text.slice(from, to);
    const pattern = token.kind === "pattern" && plainWord.test(typed) ? findBeginning(typed) : typed;
    if (token.kind === "pattern") words.push(pattern);
    all += text.slice(end, from) + pattern;
    end = to;
  }
  return { words, all: all + text.slice(end), any: undefined };
}

/** The search term for a pattern; undefined for a stop word. */
function readPattern({ form, value }: PatternToken, typed: string): string | undefined {
  if (form === "regexp" || value !== typed) return typed;
  const word = withoutPunctuation(typed);
  if (word === "") return undefined;
  if (stopWords.has(word.replaceAll(/['’]/g, "").toLowerCase())) return undefined;
  return plainWord.test(word) ? findBeginning(word) : word;
}

function withoutPunctuation(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && punctuation.includes(text[from])) from++;
  while (to > from && punctuation.includes(text[to - 1])) to--;
  return text.slice(from, to);
}

/**
 * What the forms of a word begin with, as a pattern. The stem itself is often not in the text: that of "caching" is
 * "cach", but that of "queries" is "queri", which "query" does not have.
 */
function findBeginning(word: string): string {
  const lower = word.toLowerCase();
  if (lower.length > wordLengthMax) return word;
  const stem = stemmer(lower);
  const start = stem.slice(0, -1);
  if (stem.endsWith("i") && start.length >= stemLengthMin) return `(${stem} OR ${start}y)`;
  let length = 0;
  while (length < stem.length && stem[length] === lower[length]) length++;
  return lower.slice(0, Math.max(length, stemLengthMin));
}
