import { unreachable } from "../../base/assert.js";
import type { Regexp } from "../syntax/syntax.js";

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
