import { unreachable } from "../../base/assert.js";
import { namedClassHasNewline, normalizeRanges, rangesHold } from "../syntax/class-names.js";
import type { ClassNode, LiteralNode, Regexp } from "../syntax/syntax.js";

/*
 * Lines that end with CRLF. As with `rg --crlf`, `$` also matches before the "\r" of a line end, and nothing else in a
 * regexp with `$` matches that "\r": `.$` is the last character before it, and `\s+$` is white space before it.
 */

const returnText: LiteralNode = { kind: "literal", text: "\r", fold: false };
const optionalReturn: Regexp = { kind: "repeat", child: returnText, min: 0, max: 1, lazy: false };
const crlf: LiteralNode = { kind: "literal", text: "\r\n", fold: false };
const newline = 10;
const carriageReturn = 13;

/**
 * The regexp whose `$` also matches a "\r" before the end of a line, which is not part of the match that is shown.
 * Undefined for a regexp without `$`, and for one that asks for "\r" itself: these are taken as they are.
 */
export function withCrlfEnds(tree: Regexp): Regexp | undefined {
  return someNode(tree, isLineEnd) && !someNode(tree, namesReturn) ? rewritten(tree) : undefined;
}

function someNode(tree: Regexp, test: (node: Regexp) => boolean): boolean {
  if (tree.kind === "repeat") return someNode(tree.child, test);
  if (tree.kind === "concat" || tree.kind === "alternate") return tree.children.some((child) => someNode(child, test));
  return test(tree);
}

function isLineEnd(node: Regexp): boolean {
  return node.kind === "anchor" && node.at === "line-end";
}

/** A range such as that of `\s` has "\r" only as one of many. */
function namesReturn(node: Regexp): boolean {
  if (node.kind === "literal") return node.text.includes("\r");
  if (node.kind !== "class" || node.negated) return false;
  return node.ranges.some((point, i) => i % 2 === 0 && point === carriageReturn && node.ranges[i + 1] === point);
}

function rewritten(tree: Regexp): Regexp {
  switch (tree.kind) {
    case "anchor":
      return isLineEnd(tree) ? { kind: "concat", children: [optionalReturn, tree] } : tree;
    case "any":
      return withoutReturn({
        kind: "class",
        ranges: tree.newline ? [] : [newline, newline],
        named: [],
        negated: true,
        fold: false,
      });
    case "class":
      return withoutReturn(tree);
    case "repeat":
      return { ...tree, child: rewritten(tree.child) };
    case "concat":
    case "alternate":
      return { ...tree, children: tree.children.map(rewritten) };
    case "empty":
    case "literal":
      return tree;
    default:
      return unreachable(tree);
  }
}

/** The class without "\r"; one that has both characters of CRLF matches these together. */
function withoutReturn(node: ClassNode): Regexp {
  if (!hasCharacter(node, carriageReturn)) return node;
  const parts = node.negated
    ? [{ ...node, ranges: normalizeRanges([...node.ranges, carriageReturn, carriageReturn]) }]
    : positiveParts(node);
  if (hasCharacter(node, newline)) return { kind: "alternate", children: [crlf, ...parts] };
  return parts.length === 1 ? parts[0] : { kind: "alternate", children: parts };
}

function positiveParts(node: ClassNode): ClassNode[] {
  const ranges: number[] = [];
  for (let i = 0; i < node.ranges.length; i += 2) {
    const [first, last] = [node.ranges[i], node.ranges[i + 1]];
    if (first > carriageReturn || last < carriageReturn) ranges.push(first, last);
    else {
      if (first < carriageReturn) ranges.push(first, carriageReturn - 1);
      if (last > carriageReturn) ranges.push(carriageReturn + 1, last);
    }
  }
  const named = node.named.filter((name) => !namedClassHasNewline(name));
  const parts = ranges.length + named.length > 0 ? [{ ...node, ranges, named }] : [];
  // A named set cannot lose a character, but its complement can have one more.
  for (const name of node.named)
    if (namedClassHasNewline(name))
      parts.push({ ...node, ranges: [carriageReturn, carriageReturn], named: [complement(name)], negated: true });
  return parts;
}

/** Named sets have either both "\r" and "\n" or none of them. */
function hasCharacter({ ranges, named, negated }: ClassNode, codePoint: number): boolean {
  return (rangesHold(ranges, codePoint) || named.some(namedClassHasNewline)) !== negated;
}

function complement(name: string): string {
  if (name.startsWith("[:^")) return `[:${name.slice(3)}`;
  if (name.startsWith("[:")) return `[:^${name.slice(2)}`;
  const letter = name[1];
  return `\\${letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()}${name.slice(2)}`;
}

const textEnd: Regexp = { kind: "anchor", at: "text-end" };

/**
 * The regexp that matches what `tree` matches and, at the end of the text, every prefix of a match of `tree`, with the
 * same preferences: for `ab` that is `(?:a|\z)(?:b|\z)`.
 *
 * In a window of a text, it determines which matches depend on the text after the window. RE2 follows all ways to match
 * at the same time, in order of preference. If a match of this regexp ends before the end of the window, no preferred
 * way was left at the end; the same way then wins in the whole text. And if this regexp has no match, no way that
 * begins there reaches the end. Anchors are assumed to hold at the end of the window, where the next character is
 * unknown.
 */
export function withOpenEnd(tree: Regexp): Regexp {
  switch (tree.kind) {
    case "empty":
      return tree;
    case "anchor":
    case "class":
    case "any":
      return orTextEnd(tree);
    case "literal":
      return sequence(Array.from(tree.text, (text) => orTextEnd({ ...tree, text })));
    case "repeat":
      return { ...tree, child: withOpenEnd(tree.child) };
    case "concat":
    case "alternate":
      return { ...tree, children: tree.children.map(withOpenEnd) };
    default:
      return unreachable(tree);
  }
}

function orTextEnd(tree: Regexp): Regexp {
  return { kind: "alternate", children: [tree, textEnd] };
}

function sequence(children: readonly Regexp[]): Regexp {
  return children.length === 1 ? children[0] : { kind: "concat", children };
}
