import { TrawlError } from "../../base/errors.js";
import { escapeRegexp } from "../../base/text.js";
import { addFilters } from "../../query/plan/rewrite.js";
import { collectLeaves, isOperator, type PatternNode, type QueryNode, type QueryTree } from "../../query/syntax/ast.js";
import { choosePatternType, parseQuery } from "../../query/syntax/parse.js";
import { globFilters } from "./glob-filters.js";
import { quoteValue } from "../../query/syntax/quote.js";
import { parseRegexp } from "../../regexp/syntax/parse.js";
import { printSource } from "../../regexp/syntax/print.js";
import type { ClassNode, Regexp } from "../../regexp/syntax/syntax.js";

/** What was typed of the flags that are ripgrep's, and what they apply to. */
export interface RipgrepFlags {
  /** Patterns of -e; empty without one. */
  readonly regexp: readonly string[];
  readonly glob: readonly string[];
  readonly fixedStrings: boolean;
  readonly wordRegexp: boolean;
  readonly smartCase: boolean;
  readonly patternType: string | undefined;
  /** The words of the command: filters only if there is an -e. */
  readonly query: string;
  /** Those of -f. */
  readonly patterns: readonly string[] | undefined;
}

export interface FlaggedQuery {
  readonly query: string;
  readonly patternType: string | undefined;
  /** Whether -S found an upper-case letter. */
  readonly caseSensitive: boolean;
}

/** The query that does what the flags say. Throws if they contradict each other or the query, with what to do about it. */
export function applyRipgrepFlags(flags: RipgrepFlags): FlaggedQuery {
  refuseContradictions(flags);
  const { query, patternType } = withPatterns(flags);
  const filters = globFilters(flags.glob);
  return {
    query: filters === "" ? query : addFilters(query, parse(query, patternType ?? "").type, filters),
    patternType,
    caseSensitive: flags.smartCase && isCaseMeant(flags),
  };
}

function refuseContradictions({ fixedStrings, wordRegexp, regexp, patterns, patternType, query }: RipgrepFlags): void {
  if (fixedStrings && patternType !== undefined && patternType !== "literal")
    throw contradiction(`-F is -t literal, which contradicts -t ${patternType}: leave out one of them`);
  if (regexp.length > 0 && patternType !== undefined && patternType !== "regexp" && patternType !== "literal")
    throw contradiction(
      `-e takes regular expressions, or literals with -F: leave out -t ${patternType}, or write the pattern without -e`,
    );
  if (regexp.length > 0 && patterns !== undefined)
    throw contradiction("-e and -f cannot be combined: write the patterns of -e into the file");
  if (regexp.includes("")) throw contradiction("the pattern of -e is empty and would match everywhere: write one");
  if (wordRegexp && patterns !== undefined)
    throw contradiction("-w does not apply to -f: write \\b around each pattern in the file, and -t regexp");
  if ((fixedStrings || regexp.length > 0) && /(^|[\s(])patterntype:/i.test(query))
    throw contradiction("the query has a patternType: already: leave it out, or -F and -e");
}

function withPatterns(flags: RipgrepFlags): Pick<FlaggedQuery, "query" | "patternType"> {
  const { query, fixedStrings, wordRegexp, regexp } = flags;
  const isLiteral = fixedStrings || flags.patternType === "literal";
  const patternType = fixedStrings ? "literal" : flags.patternType;
  if (regexp.length > 0) {
    const sources = regexp.map((pattern) => (isLiteral ? escapeRegexp(pattern) : pattern));
    return { query: addPatterns(query, wordRegexp ? sources.map(asWholeWord) : sources), patternType: "regexp" };
  }
  if (!wordRegexp) return { query, patternType };
  const tree = parse(query, patternType ?? "");
  if (tree.root === undefined) return { query, patternType };
  return { query: printWords(tree, tree.root), patternType: "regexp" };
}

/** One regexp for all of them, as in ripgrep: where several match, the first one counts. */
function addPatterns(query: string, sources: readonly string[]): string {
  const { root } = parse(query, "regexp");
  const pattern = root === undefined ? undefined : collectLeaves(root).find(({ kind }) => kind === "pattern");
  if (pattern !== undefined)
    throw contradiction(
      `with -e, the words of the command are filters such as repo: and file:, and "${query.slice(pattern.span.from, pattern.span.to)}" is none: write it after an -e as well`,
    );
  const source = sources.length === 1 ? sources[0] : sources.map((one) => `(?:${one})`).join("|");
  return addFilters(query, "regexp", `content:${quoteValue(source)}`);
}

/** The tree as a query of the type `regexp`, with its patterns as whole words. */
function printWords({ text }: QueryTree, root: QueryNode): string {
  const print = (node: QueryNode, isInside: boolean): string => {
    if (node.kind === "pattern") return printWord(node);
    if (!isOperator(node)) return node.name === "patterntype" ? "" : text.slice(node.span.from, node.span.to);
    const fields = node.children.filter(({ kind }) => kind === "field");
    const others = node.children.filter(({ kind }) => kind !== "field");
    const joined =
      node.kind === "or"
        ? node.children.map((child) => print(child, true)).join(" or ")
        : [
            ...fields.map((child) => print(child, true)).filter((one) => one !== ""),
            others.map((child) => print(child, true)).join(" and "),
          ].join(" ");
    return isInside || (node.kind === "or" && fields.length > 0) ? `(${joined})` : joined;
  };
  return print(root, false).trim();
}

function printWord(pattern: PatternNode): string {
  const source = asWholeWord(pattern.form === "regexp" ? pattern.value : escapeRegexp(pattern.value));
  if (pattern.contentOnly) return `${pattern.negated ? "-content" : "content"}:${quoteValue(source)}`;
  // As a word, it may hold neither space nor a parenthesis that a query would take for a group.
  const word = source.replaceAll(/\s/g, (space) => `\\x{${space.charCodeAt(0).toString(16)}}`);
  return `${pattern.negated ? "not " : ""}${word}`;
}

/** Whether a pattern has an upper-case letter; classes such as \W have none. */
function isCaseMeant({ regexp, patterns, query, patternType, fixedStrings }: RipgrepFlags): boolean {
  const { root } = parse(query, fixedStrings ? "literal" : (patternType ?? ""));
  const leaves = root === undefined ? [] : collectLeaves(root);
  if (leaves.some((leaf) => leaf.kind === "field" && leaf.name === "case"))
    throw contradiction("the query has a case: already: leave out it or -S");
  const isLiteral = fixedStrings || patternType === "literal" || (regexp.length === 0 && patternType !== "regexp");
  const typed = [...regexp, ...(patterns ?? [])];
  return (
    typed.some((pattern) => hasUpperCase(pattern, !isLiteral)) ||
    leaves.some((leaf) => leaf.kind === "pattern" && hasUpperCase(leaf.value, leaf.form === "regexp"))
  );
}

function hasUpperCase(pattern: string, isRegexp: boolean): boolean {
  const letters = isRegexp
    ? pattern.replaceAll(/\\(?:[pPx]\{[^}\\]{0,40}\}|[pPx]?.)/gsu, "").replaceAll(/\(\?(?:P?<\w*>|[a-zA-Z-]*)/g, "")
    : pattern;
  return /\p{Uppercase}/u.test(letters);
}

/** An empty tree for an invalid query: the daemon reports what is wrong with it. */
function parse(query: string, patternType: string): QueryTree {
  try {
    return parseQuery(query, choosePatternType(query, "", patternType));
  } catch (error) {
    if (error instanceof TrawlError) return { text: query, type: "standard", root: undefined };
    throw error;
  }
}

function contradiction(message: string): TrawlError {
  return new TrawlError("bad-request", message);
}

/** What the first, or last, character of a match may be, as a sum; `nothing` if the match may be empty. */
const edge = { word: 1, other: 2, nothing: 4 } as const;

type Side = "first" | "last";

/**
 * A regexp for what the source matches where no word character is beside it.
 *
 * RE2 has no look-around. Beside a word character, `\b` says that there is no other one; beside any other character, `\B`
 * says so. Therefore each alternative must always begin, and end, with the same kind; throws if one does not.
 */
function asWholeWord(source: string): string {
  const tree = parseRegexp(source, false);
  const alternatives = tree.kind === "alternate" ? tree.children : [tree];
  const boundaries = alternatives.map(
    (one) => [boundary(one, "first", source), boundary(one, "last", source)] as const,
  );
  const [[before, after]] = boundaries;
  if (boundaries.every(([first, last]) => first === before && last === after)) return `${before}(?:${source})${after}`;
  const parts = alternatives.map((one, i) => {
    const [first, last] = boundaries[i];
    return `${first}(?:${printSource(one, false)})${last}`;
  });
  return `(?:${parts.join("|")})`;
}

function boundary(node: Regexp, side: Side, source: string): "\\b" | "\\B" {
  const found = edgeAt(node, side) & ~edge.nothing;
  if (found !== (edge.word | edge.other)) return found === edge.other ? "\\B" : "\\b";
  const what = side === "first" ? "begin" : "end";
  throw new TrawlError(
    "bad-request",
    `-w needs to know whether a match ${what}s with a letter, digit or underscore, and what /${source}/ matches may ${what} with any character; ` +
      "leave out -w, and write \\b or (^|\\W) and (\\W|$) into the regular expression",
  );
}

function edgeAt(node: Regexp, side: Side): number {
  switch (node.kind) {
    case "empty":
    case "anchor":
      return edge.nothing;
    case "literal":
      return isWordCode((side === "first" ? node.text : (Array.from(node.text).at(-1) ?? "")).codePointAt(0) ?? 0)
        ? edge.word
        : edge.other;
    case "any":
      return edge.word | edge.other;
    case "class":
      return edgeInClass(node);
    case "repeat":
      return edgeAt(node.child, side) | (node.min === 0 ? edge.nothing : 0);
    case "alternate":
      return node.children.reduce((sum, child) => sum | edgeAt(child, side), 0);
    case "concat":
      return edgeInSequence(side === "first" ? node.children : node.children.toReversed(), side);
  }
}

function edgeInSequence(children: readonly Regexp[], side: Side): number {
  let found = 0;
  for (const child of children) {
    const mask = edgeAt(child, side);
    found |= mask & ~edge.nothing;
    if ((mask & edge.nothing) === 0) return found;
  }
  return found | edge.nothing;
}

/** The ranges of word characters, which `\b` knows: those of ASCII. */
const wordRanges: readonly (readonly [from: number, to: number])[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];

function isWordCode(code: number): boolean {
  return wordRanges.some(([from, to]) => from <= code && code <= to);
}

/** Named sets are not looked into: they may have both kinds. */
function edgeInClass({ ranges, named, negated }: ClassNode): number {
  if (named.length > 0) return edge.word | edge.other;
  let wordCount = 0;
  let hasOther = false;
  for (let i = 0; i < ranges.length; i += 2) {
    let count = 0;
    for (const [from, to] of wordRanges)
      count += Math.max(0, Math.min(to, ranges[i + 1]) - Math.max(from, ranges[i]) + 1);
    wordCount += count;
    hasOther ||= count <= ranges[i + 1] - ranges[i];
  }
  const hasWord = negated ? wordCount < 63 : wordCount > 0;
  return (hasWord ? edge.word : 0) | (negated || hasOther ? edge.other : 0);
}
