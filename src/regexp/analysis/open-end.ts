import { unreachable } from "../../base/assert.js";
import type { Regexp } from "../syntax/syntax.js";

const textEnd: Regexp = { kind: "anchor", at: "text-end" };

/**
 * The regexp that matches what `tree` matches, and at the end of the text every beginning of a match of `tree`, with
 * the same preferences: of `ab` that is `(?:a|\z)(?:b|\z)`.
 *
 * So it tells in a window of a text which matches depend on what follows the window. RE2 follows all ways to match at
 * once, the preferred one first. A match of this regexp that ends before the end of the window is found by a way to
 * which no preferred one was left at the end; the same way then wins in the whole text. And where this regexp has no
 * match, no way that begins there reaches the end. Anchors are taken to hold at the end of the window, where the next
 * character is not in view.
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
