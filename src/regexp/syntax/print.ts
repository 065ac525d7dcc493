import { unreachable } from "../../base/assert.js";
import type { Anchor, ClassNode, LiteralNode, Regexp, RepeatNode } from "./syntax.js";

/**
 * The source of a tree in a canonical form that means the same to RE2 and its JavaScript binding: groups do not
 * capture, no flag is set except case within a group, and each character that could have a special meaning is escaped.
 * `foldCase` is the flag with which the source will be compiled, in addition to the one for line anchors. Parsing the
 * result gives the same tree.
 */
export function printSource(regexp: Regexp, foldCase: boolean): string {
  return printNode(regexp, foldCase, precedence.alternate);
}

/** How tightly a form binds; a form that binds less tightly than its context requires is put into a group. */
const precedence = { alternate: 0, concat: 1, repeat: 2, atom: 3 } as const;
type Precedence = (typeof precedence)[keyof typeof precedence];

function printNode(regexp: Regexp, foldCase: boolean, context: Precedence): string {
  switch (regexp.kind) {
    case "empty":
      return "(?:)";
    case "literal":
      return literalSource(regexp, foldCase, context);
    case "class":
      return regexp.fold === foldCase ? classSource(regexp) : caseGroup(classSource(regexp), regexp.fold);
    case "any":
      return regexp.newline ? "(?s:.)" : ".";
    case "anchor":
      return anchorSources[regexp.at];
    case "repeat":
      return grouped(
        printNode(regexp.child, foldCase, precedence.atom) + repeatSource(regexp),
        precedence.repeat,
        context,
      );
    case "concat":
      return grouped(
        regexp.children.map((child) => printNode(child, foldCase, precedence.repeat)).join(""),
        precedence.concat,
        context,
      );
    case "alternate":
      return grouped(
        regexp.children.map((child) => printNode(child, foldCase, precedence.concat)).join("|"),
        precedence.alternate,
        context,
      );
    default:
      return unreachable(regexp);
  }
}

function grouped(source: string, form: Precedence, context: Precedence): string {
  return form < context ? `(?:${source})` : source;
}

function caseGroup(source: string, fold: boolean): string {
  return fold ? `(?i:${source})` : `(?-i:${source})`;
}

function literalSource({ text, fold }: LiteralNode, foldCase: boolean, context: Precedence): string {
  const characters = Array.from(text, characterSource);
  if (fold !== foldCase) return caseGroup(characters.join(""), fold);
  // A run of characters is part of the surrounding sequence, so it needs a group only under a repetition.
  return context === precedence.atom && characters.length > 1 ? `(?:${characters.join("")})` : characters.join("");
}

function characterSource(character: string): string {
  if (/[\\.+*?()|[\]{}^$-]/.test(character)) return `\\${character}`;
  if (/[ -~]/.test(character)) return character;
  return controlSources.get(character) ?? `\\x{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

const controlSources: ReadonlyMap<string, string> = new Map([
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\v", "\\v"],
  ["\f", "\\f"],
  ["\r", "\\r"],
]);

function classSource({ ranges, named, negated }: ClassNode): string {
  let source = negated ? "[^" : "[";
  for (let i = 0; i < ranges.length; i += 2) {
    source += characterSource(String.fromCodePoint(ranges[i]));
    if (ranges[i] !== ranges[i + 1]) source += `-${characterSource(String.fromCodePoint(ranges[i + 1]))}`;
  }
  return `${source}${named.join("")}]`;
}

const anchorSources: Readonly<Record<Anchor, string>> = {
  "line-start": "^",
  "line-end": "$",
  "text-start": "\\A",
  "text-end": "\\z",
  "word-boundary": "\\b",
  "no-word-boundary": "\\B",
};

function repeatSource({ min, max, lazy }: RepeatNode): string {
  return repeatOperator(min, max) + (lazy ? "?" : "");
}

function repeatOperator(min: number, max: number): string {
  if (max === Infinity) return min === 0 ? "*" : min === 1 ? "+" : `{${min},}`;
  if (min === max) return `{${min}}`;
  return min === 0 && max === 1 ? "?" : `{${min},${max}}`;
}

/**
 * The short form for logs and tests: `seq("copy" or("_to" "_from") [a-z]+)`. An `i` marks nodes that fold case, `()` is
 * the empty regexp, and `.n` is a dot that matches a newline.
 */
export function printTree(regexp: Regexp): string {
  switch (regexp.kind) {
    case "empty":
      return "()";
    case "literal":
      return JSON.stringify(regexp.text) + (regexp.fold ? "i" : "");
    case "class":
      return classSource(regexp) + (regexp.fold ? "i" : "");
    case "any":
      return regexp.newline ? ".n" : ".";
    case "anchor":
      return anchorSources[regexp.at];
    case "repeat":
      return printTree(regexp.child) + repeatSource(regexp);
    case "concat":
      return `seq(${regexp.children.map(printTree).join(" ")})`;
    case "alternate":
      return `or(${regexp.children.map(printTree).join(" ")})`;
    default:
      return unreachable(regexp);
  }
}
