import { unreachable } from "../base/assert.js";
import { rangesHold } from "./char-ranges.js";
import { namedClassHasNewline } from "./class-names.js";
import type { ClassNode, Regexp } from "./syntax.js";

/**
 * Whether some match can hold a newline, or depends on where the text begins or ends. Conservative: a newline that the rest of the
 * regexp rules out still counts.
 */
export function crossesLines(tree: Regexp): boolean {
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
