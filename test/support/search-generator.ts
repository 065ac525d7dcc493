import { planQuery } from "../../src/query/plan/plan-query.js";
import type { SearchPlan } from "../../src/query/plan/plan.js";
import type { QueryType } from "../../src/query/syntax/scan.js";
import { testRepository } from "./engine.js";
import { fc } from "./property.js";

/*
 * Documents and queries that are likely to match: a small alphabet creates matches, overlaps and folding collisions.
 */

export const repositories = [testRepository(1, "one"), testRepository(2, "two")];

/** The two special letters fold to k and s. */
const word = fc.stringMatching(/^[abkKsS_\u017f\u212a\u00e9]{1,5}$/);
const gap = fc.constantFrom(" ", "\n", "\r\n", "\n\n", "    ", "\0", "");
const filler = fc.constantFrom("", "", "", "x".repeat(4090), "y ".repeat(2040), "abk\n".repeat(1030), "z".repeat(4096));
const content = fc.array(fc.oneof(word, gap, filler), { maxLength: 12 }).map((parts) => parts.join(""));
const document = fc.record({
  path: fc.stringMatching(/^[abks]{1,3}(\/[abks_]{1,4})?\.(c|go)$/),
  content,
  repositoryId: fc.constantFrom(1, 2),
});

/** Documents of the two repositories; each path occurs once per repository. */
export const corpus = fc.uniqueArray(document, { maxLength: 12, selector: (one) => `${one.repositoryId} ${one.path}` });

const literal = fc.oneof(word, fc.constantFrom("abk", "ask_", "abk abk", "ks", "x", "aaa"));
const regexp = fc.constantFrom(
  "a+b?k",
  "(abk|ask)_?",
  "^ab",
  "k$",
  "[ab]{2,3}",
  "a.*k",
  "s\\s+a",
  "[^a]k",
  "abk|ask|kas",
  "kask|akk|sak",
  "aka|aaka|kak",
  "abs|ask_|sbk|bka",
  "(a|b)(k|s)_",
  "abk|",
  "_+",
  "x{3,}",
  "\\bab",
  "^$",
  "x*",
  "\\b",
  "^[^k]*$",
  "\\s+$",
  "\\W$",
  "\\n+",
  "k?\\x00a?",
  "^\\s*",
  "é",
);

const overlapping = fc.uniqueArray(
  fc.constantFrom("aka", "aaka", "kak", "abk", "abka", "kask", "aba", "akak", "sak", "kka", "ask_", "ABK"),
  { minLength: 2, maxLength: 6 },
);

/** An `or` of texts, which becomes one leaf. */
const texts = overlapping.map((all) => `(${all.join(" or ")})`);

/** The same `or` as literals, and as regular expressions without special characters. */
export const textsAndRegexps = overlapping.map(
  (all) => [all.join(" or "), all.map((text) => `/(${text}|${text}x{0})/`).join(" or ")] as const,
);

/** One pattern. */
export const atom = fc.oneof(
  literal.filter((text) => !/[\s]/.test(text)),
  regexp.map((source) => `/${source}/`),
  literal.map((text) => `content:"${text}"`),
);

/** A pattern, or a group in parentheses, without a negation if `leaf` has none. */
export function expressionOf(leaf: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      atom,
      fc.tuple(tie("tree"), fc.constantFrom("and", "or"), tie("tree")).map(([a, op, b]) => `(${a} ${op} ${b})`),
      texts,
      leaf,
    ),
  })).tree;
}

export const expression = expressionOf(atom.map((text) => `not ${text}`));

export const filters = fc.array(
  fc.constantFrom(
    "case:yes",
    "file:a",
    "-file:k",
    "file:\\.go$",
    "type:file",
    "type:path",
    "type:file type:path",
    "file:has.content(ab)",
    "-file:has.content(k$)",
    "file:has.content([ab]k|)",
    "file:has.content(^$)",
    "-file:has.content(^$)",
    "file:has.content(^k*$)",
  ),
  { maxLength: 2 },
);

/** The plan; undefined for a query that is rejected, as some generated queries are. */
export function planOrSkip(text: string, type: QueryType): SearchPlan | undefined {
  try {
    return planQuery(text, type);
  } catch {
    return undefined;
  }
}
