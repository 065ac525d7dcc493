import { unreachable } from "../../base/assert.js";
import type { Regexp, RepeatNode } from "../syntax/syntax.js";

/** Characters and sets of a regexp, with repetitions spelt out: what a compiled program grows with. */
export function itemCount(tree: Regexp): number {
  switch (tree.kind) {
    case "empty":
    case "anchor":
    case "class":
    case "any":
      return 1;
    case "literal":
      return tree.text.length;
    case "repeat":
      return itemCount(tree.child) * repeatCount(tree);
    case "concat":
    case "alternate":
      return tree.children.reduce((sum, child) => sum + itemCount(child), 1);
    default:
      return unreachable(tree);
  }
}

/**
 * How many of the items are independent of each other: an automaton has up to two to the power of this many states, and
 * as many more as it has characters in a fixed order, of which the last ones that were read say all.
 */
export function choiceCount(tree: Regexp): number {
  switch (tree.kind) {
    case "empty":
    case "anchor":
    case "literal":
      return 0;
    case "class":
    case "any":
      return 1;
    case "repeat":
      return (choiceCount(tree.child) + (isChoice(tree) ? 1 : 0)) * repeatCount(tree);
    case "concat":
    case "alternate":
      return tree.children.reduce((sum, child) => sum + choiceCount(child), 0);
    default:
      return unreachable(tree);
  }
}

/** Of one character, in UTF-8. */
export const characterBytesMax = 4;

/**
 * Bytes that a match has at most; Infinity without a bound. Case folding may lengthen a character, so each counts as
 * the longest.
 */
export function matchBytesMax(tree: Regexp): number {
  switch (tree.kind) {
    case "empty":
    case "anchor":
      return 0;
    case "class":
    case "any":
      return characterBytesMax;
    case "literal":
      return tree.text.length * characterBytesMax;
    case "repeat": {
      const bytes = matchBytesMax(tree.child);
      return bytes === 0 || tree.max === 0 ? 0 : bytes * tree.max;
    }
    case "concat":
      return tree.children.reduce((sum, child) => sum + matchBytesMax(child), 0);
    case "alternate":
      return tree.children.reduce((most, child) => Math.max(most, matchBytesMax(child)), 0);
    default:
      return unreachable(tree);
  }
}

/** RE2's bound on one automaton; a search has one in each direction. */
const automatonBytesMax = 2.7 * 1024 * 1024;

/** What a regexp takes before it has searched, and a state of its automaton beside its items. */
const compiledBytes = 16 * 1024;
const stateBytes = 512;

/** An estimate of the memory that a regexp comes to take, which is right in its order of magnitude. */
export function memoryBytes(tree: Regexp): number {
  const items = itemCount(tree);
  const states = 2 ** Math.min(choiceCount(tree), 30) + items;
  return compiledBytes + 2 * Math.min(automatonBytesMax, states * (stateBytes + 4 * items));
}

function repeatCount({ min, max }: RepeatNode): number {
  return Math.max(1, max === Infinity ? min : max);
}

/**
 * Whether the repetition itself adds a choice: a single set has one already, and a text that is repeated so often has
 * none.
 */
function isChoice({ child, min, max }: RepeatNode): boolean {
  if (child.kind === "class" || child.kind === "any") return false;
  return child.kind !== "literal" || min !== max;
}
