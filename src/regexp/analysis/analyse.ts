import { assert, unreachable } from "../../base/assert.js";
import type { RegexpAnalysis } from "./analysis.js";
import { expandRanges, rangesHold } from "../syntax/class-names.js";
import { namedClassHasNewline } from "../syntax/class-names.js";
import { foldedVariants, isCaseless, isCaselessOutsideAscii, lowerAscii } from "../syntax/class-names.js";
import { parseRegexp } from "../syntax/parse.js";
import {
  anything,
  collectClauses,
  anyOf,
  inSequence,
  nothingKnown,
  requireOneOf,
  repeated,
  type Requirement,
} from "./requirement.js";
import type { ClassNode, LiteralNode, Regexp } from "../syntax/syntax.js";

/** A class with more characters than this is not expanded. */
const spelledClassMax = 5;

/** An alternation of more texts, or with a text of more UTF-16 code units, is searched by RE2. */
const alternativeCountMax = 1000;
const alternativeUnitsMax = 200;

/** Analyses a regexp in RE2 syntax; throws a `RegexpSyntaxError` if it is invalid. */
export function analyseRegexp(source: string, foldCase: boolean): RegexpAnalysis {
  return analyseTree(parseRegexp(source, foldCase), foldCase);
}

/** Analyses the regexp that matches exactly `text`, which may contain any characters. */
export function analyseLiteral(text: string, foldCase: boolean): RegexpAnalysis {
  const wellFormed = text.replace(/\p{Surrogate}/gu, "\uFFFD");
  return analyseTree(
    wellFormed === "" ? { kind: "empty" } : { kind: "literal", text: wellFormed, fold: foldCase },
    foldCase,
  );
}

function analyseTree(tree: Regexp, foldCase: boolean): RegexpAnalysis {
  const clauses = collectClauses(computeRequirement(tree, foldCase));
  assert(
    clauses.every((clause) => clause.length > 0 && !clause.includes("")),
    "a clause asks for nothing",
  );
  return {
    literal: soleLiteral(tree, foldCase),
    alternatives: literalAlternatives(tree, foldCase),
    clauses,
    crossesLines: crossesLines(tree),
    matchesEmpty: matchesEmpty(tree),
  };
}

/** The text for which a plain search would give the same matches; with `foldCase`, a search that ignores ASCII case. */
function soleLiteral(tree: Regexp, foldCase: boolean): string | undefined {
  if (tree.kind !== "literal") return undefined;
  if (tree.fold !== foldCase && !isCaseless(tree.text)) return undefined;
  if (!foldCase) return tree.text;
  return isCaselessOutsideAscii(tree.text) ? lowerAscii(tree.text) : undefined;
}

/**
 * A text that begins with an earlier one is dropped: it is never matched, because the earlier one matches at the same
 * position.
 */
function literalAlternatives(tree: Regexp, foldCase: boolean): readonly string[] | undefined {
  if (tree.kind !== "alternate" || tree.children.length > alternativeCountMax) return undefined;
  const texts = new Set<string>();
  for (const child of tree.children) {
    const text = soleLiteral(child, foldCase);
    if (text === undefined || text.length > alternativeUnitsMax) return undefined;
    if (!beginnings(text).some((beginning) => texts.has(beginning))) texts.add(text);
  }
  return texts.size > 1 ? [...texts] : undefined;
}

function beginnings(text: string): string[] {
  return Array.from({ length: text.length }, (_, index) => text.slice(0, index + 1));
}

/** For what matches the empty text only. */
const emptyMatch = requireOneOf(anything);

/**
 * With `foldCase`, literals are lower-cased in ASCII and everything outside ASCII is unknown, because the index and the
 * kernel ignore case only for ASCII letters.
 */
function computeRequirement(tree: Regexp, foldCase: boolean): Requirement {
  switch (tree.kind) {
    case "empty":
      return emptyMatch;
    case "anchor":
      // "$" may match a "\r", so that `a$\nb` has no match with "a\nb" where lines end with CRLF.
      return tree.at === "line-end" ? nothingKnown : emptyMatch;
    case "literal":
      return literalRequirement(tree, foldCase);
    case "class":
      return classRequirement(tree, foldCase);
    case "any":
      return nothingKnown;
    case "repeat":
      return repeated(computeRequirement(tree.child, foldCase), tree.min, tree.max);
    case "concat":
      return combined(
        tree.children.map((child) => computeRequirement(child, foldCase)).filter((part) => part !== emptyMatch),
        inSequence,
      );
    case "alternate":
      return combined([...new Set(tree.children.map((child) => computeRequirement(child, foldCase)))], anyOf);
    default:
      return unreachable(tree);
  }
}

function literalRequirement({ text, fold }: LiteralNode, foldCase: boolean): Requirement {
  if (foldCase) return asciiRuns(lowerAscii(text));
  if (!fold || isCaseless(text)) return requireOneOf([text]);
  const characters = Array.from(text, (character) => {
    const variants = foldedVariants(character);
    return variants === undefined ? nothingKnown : requireOneOf(variants);
  });
  return combined(characters, inSequence);
}

/** The literal split at each character outside ASCII. */
function asciiRuns(text: string): Requirement {
  const runs = text.split(/([^\0-\x7f]+)/).map((run, index) => (index % 2 === 0 ? requireOneOf([run]) : nothingKnown));
  return combined(runs, inSequence);
}

/**
 * Combines the parts by halving. Sets are small at the lower levels, so that only few steps operate on sets of the
 * maximum size: 6,000 alternatives take 55 ms, and 560 ms if each is added to the set of all previous ones.
 */
function combined(
  parts: readonly Requirement[],
  combine: (a: Requirement, b: Requirement) => Requirement,
): Requirement {
  if (parts.length < 2) return parts[0] ?? emptyMatch;
  const middle = parts.length >> 1;
  return combine(combined(parts.slice(0, middle), combine), combined(parts.slice(middle), combine));
}

function classRequirement({ ranges, named, negated, fold }: ClassNode, foldCase: boolean): Requirement {
  if (negated || named.length > 0) return nothingKnown;
  const characters = expandRanges(ranges, 2 * spelledClassMax);
  if (characters === undefined) return nothingKnown;
  const spelled = new Set<string>();
  for (const character of characters) {
    const variants = spellings(character, fold, foldCase);
    if (variants === undefined) return nothingKnown;
    for (const variant of variants) spelled.add(variant);
  }
  return spelled.size > spelledClassMax ? nothingKnown : requireOneOf([...spelled]);
}

function spellings(character: string, fold: boolean, foldCase: boolean): readonly string[] | undefined {
  if (foldCase) return character > "\x7f" ? undefined : [character.toLowerCase()];
  return fold ? foldedVariants(character) : [character];
}

/** Conservative: a newline counts even if the rest of the regexp rules it out. */
function crossesLines(tree: Regexp): boolean {
  switch (tree.kind) {
    case "empty":
      return false;
    case "anchor":
      return tree.at === "text-start" || tree.at === "text-end";
    case "literal":
      return tree.text.includes("\n");
    case "class":
      return classHasNewline(tree);
    case "any":
      return tree.newline;
    case "repeat":
      return crossesLines(tree.child);
    case "concat":
    case "alternate":
      return tree.children.some(crossesLines);
    default:
      return unreachable(tree);
  }
}

function classHasNewline({ ranges, named, negated }: ClassNode): boolean {
  return (rangesHold(ranges, 10) || named.some(namedClassHasNewline)) !== negated;
}

/** Whether a match may be empty at some position of some text: `^`, `$` and `\b` count as empty. */
function matchesEmpty(tree: Regexp): boolean {
  switch (tree.kind) {
    case "empty":
    case "anchor":
      return true;
    case "literal":
    case "class":
    case "any":
      return false;
    case "repeat":
      return tree.min === 0 || matchesEmpty(tree.child);
    case "concat":
      return tree.children.every(matchesEmpty);
    case "alternate":
      return tree.children.some(matchesEmpty);
    default:
      return unreachable(tree);
  }
}
