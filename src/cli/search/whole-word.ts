import { TrawlError } from "../../base/errors.js";
import { parseRegexp } from "../../regexp/syntax/parse.js";
import { printSource } from "../../regexp/syntax/print.js";
import type { ClassNode, Regexp } from "../../regexp/syntax/syntax.js";

/** What the first, or last, character of a match may be, as a sum; `nothing` if the match may be empty. */
const edge = { word: 1, other: 2, nothing: 4 } as const;

type Side = "first" | "last";

/**
 * A regexp for what the source matches where no word character is beside it.
 *
 * RE2 has no look-around. Beside a word character, `\b` says that there is no other one; beside any other character, `\B`
 * says so. Therefore each alternative must always begin, and end, with the same kind; throws if one does not.
 */
export function asWholeWord(source: string): string {
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
