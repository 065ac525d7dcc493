import { unreachable } from "../../base/assert.js";
import type { Regexp, RepeatNode } from "../syntax/syntax.js";

/**
 * Number of characters and sets in a regexp, with repetitions expanded: determines the size of the compiled program.
 */
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
 * How many of the items are independent of each other: an automaton has up to two to the power of this many states,
 * plus as many as it has characters in a fixed order, for which the most recently read characters determine the state.
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

/** Maximum length of one character in UTF-8. */
export const characterBytesMax = 4;

/**
 * Maximum length of a match in bytes; Infinity if unbounded. Case folding may lengthen a character, so each counts as
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

/** RE2's limit on one automaton; a search uses one per direction. */
const automatonBytesMax = 2.7 * 1024 * 1024;

/** Memory of a regexp before it has searched, and of a state of its automaton in addition to its items. */
const compiledBytes = 16 * 1024;
const stateBytes = 512;

/** An estimate of the memory that a regexp will use, correct in its order of magnitude. */
export function memoryBytes(tree: Regexp): number {
  const items = itemCount(tree);
  const states = 2 ** Math.min(choiceCount(tree), 30) + items;
  return compiledBytes + 2 * Math.min(automatonBytesMax, states * (stateBytes + 4 * items));
}

function repeatCount({ min, max }: RepeatNode): number {
  return Math.max(1, max === Infinity ? min : max);
}

/**
 * Whether the repetition itself adds a choice: a single set already has one, and a fixed repetition of a text has none.
 */
function isChoice({ child, min, max }: RepeatNode): boolean {
  if (child.kind === "class" || child.kind === "any") return false;
  return child.kind !== "literal" || min !== max;
}
