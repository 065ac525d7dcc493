import { collectLeaves } from "../syntax/ast.js";
import type { BasicQuery } from "../plan/basic.js";

/** The kinds of results that a basic query requests. */
export interface ResultTypes {
  readonly file: boolean;
  readonly path: boolean;
  readonly repository: boolean;
}

/**
 * Without `type:` all three, but only files if every pattern is from `content:`. With `type:` those that it names; an
 * unknown word selects nothing.
 */
export function readResultTypes(query: BasicQuery): ResultTypes {
  const words = new Set(query.fields.filter(({ name }) => name === "type").map(({ value }) => value));
  if (words.size > 0) return { file: words.has("file"), path: words.has("path"), repository: words.has("repo") };
  const leaves = query.pattern === undefined ? [] : collectLeaves(query.pattern);
  const isContentOnly = leaves.length > 0 && leaves.every((leaf) => leaf.kind === "pattern" && leaf.contentOnly);
  return { file: true, path: !isContentOnly, repository: !isContentOnly };
}
