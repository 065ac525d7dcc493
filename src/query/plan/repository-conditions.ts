import type { Analyses } from "./analyses.js";
import type { FieldNode } from "../syntax/ast.js";
import type { BasicQuery } from "./basic.js";
import type { Span } from "../syntax/characters.js";
import { readDateMs } from "../fields/dates.js";
import type { CommittedAfter, Leaf, PathFilter, RepositoryCondition } from "./plan.js";
import { readFileArgument, type FileArgument } from "../fields/predicates.js";

/** The conditions of a valid basic query on the contents of repositories. */
export function planRepositoryConditions(query: BasicQuery, analyses: Analyses): readonly RepositoryCondition[] {
  return query.fields.flatMap((field) => {
    const argument = fileArgument(field);
    return argument === undefined ? [] : [{ negated: field.negated, file: planFile(argument, field.span, analyses) }];
  });
}

/** The conditions of a valid basic query on the histories of repositories. */
export function planCommittedAfter(query: BasicQuery, nowMs: number): readonly CommittedAfter[] {
  return query.fields.flatMap((field) => {
    const date = readCommitDate(field);
    return date === undefined
      ? []
      : [{ negated: field.negated, unixSeconds: Math.floor(readDateMs(date, nowMs) / 1000) }];
  });
}

/** The date in the field; undefined if it has none. */
function readCommitDate({ name, value, predicate }: FieldNode): string | undefined {
  if (name === "repohascommitafter") return value;
  const isPredicate =
    name === "repo" && (predicate?.name === "has.commit.after" || predicate?.name === "contains.commit.after");
  return isPredicate ? predicate.argument : undefined;
}

/** The condition of the field on one file of a repository; undefined if it has none. */
function fileArgument({ name, value, predicate }: FieldNode): FileArgument | undefined {
  if (name === "repohasfile") return { path: value, content: "" };
  if (name !== "repo" || predicate === undefined) return undefined;
  switch (predicate.name) {
    case "has.path":
    case "contains.path":
      return { path: predicate.argument, content: "" };
    case "has.content":
    case "contains.content":
      return { path: "", content: predicate.argument };
    case "has.file":
    case "contains.file":
    case "contains":
      return readFileArgument(predicate.argument);
    default:
      return undefined;
  }
}

/** Case is ignored, as by every filter on repositories. */
function planFile({ path, content }: FileArgument, span: Span, analyses: Analyses): RepositoryCondition["file"] {
  const fileFilters: PathFilter[] =
    path === ""
      ? []
      : [
          {
            kind: "path",
            negated: false,
            source: path,
            foldCase: true,
            highlighted: false,
            label: `file:/${path}/i`,
            analysis: analyses.regexp(path, true, span),
          },
        ];
  const leaves: Leaf[] =
    content === ""
      ? []
      : [
          {
            source: content,
            either: [],
            foldCase: true,
            inContent: true,
            inPath: false,
            highlighted: false,
            analysis: analyses.regexp(content, true, span),
          },
        ];
  return {
    symbols: undefined,
    content: true,
    path: true,
    fileFilters,
    pattern: content === "" ? undefined : { kind: "leaf", leaf: 0 },
    leaves,
    people: [],
  };
}
