import { unreachable } from "../base/assert.js";
import type { Regexp } from "./syntax.js";

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
      return itemCount(tree.child) * Math.max(1, tree.max === Infinity ? tree.min : tree.max);
    case "concat":
    case "alternate":
      return tree.children.reduce((sum, child) => sum + itemCount(child), 1);
    default:
      return unreachable(tree);
  }
}
