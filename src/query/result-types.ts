import { leavesOf } from "./ast.js";
import type { BasicQuery } from "./basic.js";

/** What kinds of result a basic query asks for. */
export interface ResultTypes {
  readonly file: boolean;
  readonly path: boolean;
  readonly repo: boolean;
}

/** Without `type:` all of them, or files only when each pattern is for content. An unknown type is no result. */
export function resultTypes({ fields, pattern }: BasicQuery): ResultTypes {
  const types = new Set(fields.filter(({ name }) => name === "type").map(({ value }) => value));
  if (types.size > 0) return { file: types.has("file"), path: types.has("path"), repo: types.has("repo") };
  const patterns = pattern === undefined ? [] : leavesOf(pattern);
  const contentOnly = patterns.length > 0 && patterns.every((leaf) => leaf.kind === "pattern" && leaf.contentOnly);
  return { file: true, path: !contentOnly, repo: !contentOnly };
}
