import type { FieldNode } from "../syntax/ast.js";
import type { BasicQuery } from "../plan/basic.js";
import { fields } from "./fields.js";
import { isPredicate } from "../plan/repository-predicates.js";
import { UnsupportedError } from "../syntax/query-error.js";

const unbuiltTypes: ReadonlySet<string> = new Set(["codeowners"]);
const builtSelects: ReadonlySet<string> = new Set([
  "repo",
  "content",
  "file",
  "file.path",
  "file.directory",
  "file.owners",
  "commit",
  "commit.diff",
  "commit.diff.added",
  "commit.diff.removed",
]);
const builtPredicates: ReadonlySet<string> = new Set([
  "file:has.content",
  "file:contains.content",
  "repo:has.path",
  "repo:contains.path",
  "repo:has.content",
  "repo:contains.content",
  "repo:has.file",
  "repo:contains.file",
  "repo:contains",
  "repo:has.commit.after",
  "repo:contains.commit.after",
  "file:has.owner",
  "file:has.contributor",
  "rev:at.time",
]);

/** Throws `UnsupportedError` if a valid query requests something that is not implemented yet. */
export function refuseUnbuilt(text: string, query: BasicQuery): void {
  const isOfHistory = query.fields.some(({ name, value }) => name === "type" && historyTypes.has(value));
  for (const field of query.fields) {
    const what = unbuiltPart(field) ?? (isOfHistory ? unbuiltForHistory(field) : undefined);
    if (what !== undefined) {
      throw new UnsupportedError(
        `The filter ${what} is recognized but not implemented yet. Remove it to search without it.`,
        text,
        field.span,
      );
    }
  }
}

const historyTypes: ReadonlySet<string> = new Set(["commit", "diff"]);

/** Predicates on the text, the owners and the authors of a file do not apply to the files of commits. */
function unbuiltForHistory({ name, predicate }: FieldNode): string | undefined {
  return name === "file" && predicate !== undefined
    ? `file:${predicate.name}(...) with type:commit or type:diff`
    : undefined;
}

/** The part of the field that is not implemented, approximately as the user typed it. */
function unbuiltPart(field: FieldNode): string | undefined {
  const { name, value, predicate } = field;
  if (isPredicate(field)) return undefined;
  if (predicate !== undefined)
    return builtPredicates.has(`${name}:${predicate.name}`) ? undefined : `${name}:${predicate.name}(...)`;
  if (!fields[name].built) return `${name}:`;
  if (name === "type" && unbuiltTypes.has(value)) return `type:${value}`;
  if (name === "select" && !builtSelects.has(value) && !/^symbol(\.|$)/.test(value)) return `select:${value}`;
  return undefined;
}
