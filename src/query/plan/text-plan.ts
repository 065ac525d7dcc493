import type { FieldNode } from "../syntax/ast.js";
import { readResultTypes, type ResultTypes } from "../fields/result-types.js";
import { findField, isCaseSensitive } from "../fields/validate.js";
import type { Analyses } from "./analyses.js";
import type { BasicQuery } from "./basic.js";
import { planFileFilters } from "./file-filters.js";
import type { PatternSet } from "./pattern-plan.js";
import { requireAll, Leaves, planNode } from "./pattern-leaves.js";
import type { PeopleFilter, TextNode, TextPlan } from "./plan.js";

/**
 * What is needed for symbol results: the patterns are for names, and filters as usual. Without a pattern, all symbols of
 * the files that pass the filters. Undefined if no symbols are requested, or if `select:` would drop all of them.
 */
export function planSymbols(query: BasicQuery, analyses: Analyses): TextPlan | undefined {
  if (!query.fields.some(({ name, value }) => name === "type" && value === "symbol")) return undefined;
  const select = findField(query, "select")?.value ?? "symbol";
  if (select === "content" || select.startsWith("commit")) return undefined;
  const foldCase = !isCaseSensitive(query);
  const leaves = new Leaves({ inContent: true, inPath: false }, foldCase, analyses);
  return {
    symbols: { kind: select.startsWith("symbol.") ? select.slice("symbol.".length) : undefined },
    content: true,
    path: false,
    fileFilters: planFileFilters(query, analyses),
    pattern: query.pattern === undefined ? undefined : planNode(query.pattern, leaves),
    leaves: leaves.all,
    people: query.fields.filter(({ name }) => name === "file").flatMap((field) => planPeople(field, foldCase)),
  };
}

/**
 * What is needed for file and path results. Undefined if the query's types exclude them, and if there is neither a
 * pattern nor a filter on paths: `repo:x` lists repositories, not all their files. With a set, only contents are searched.
 */
export function planText(query: BasicQuery, analyses: Analyses, set: PatternSet | undefined): TextPlan | undefined {
  const types = set === undefined ? readResultTypes(query) : contentsOnly;
  const filters = query.fields.filter(({ name }) => name === "file" || name === "lang");
  if (!types.file && !types.path) return undefined;
  if (findField(query, "select")?.value.startsWith("symbol") === true) return undefined;
  if (query.pattern === undefined && filters.length === 0 && set === undefined) return undefined;
  const foldCase = !isCaseSensitive(query);
  const leaves = new Leaves({ inContent: types.file, inPath: types.path }, foldCase, analyses);
  const conditions = [
    ...(query.pattern === undefined ? [] : [planNode(query.pattern, leaves)]),
    ...(set === undefined ? [] : [{ kind: "leaf", leaf: leaves.addSet(set) } as const]),
    ...filters.filter(isContentFilter).map((field) => planContentFilter(field, leaves)),
  ];
  return {
    symbols: undefined,
    content: types.file,
    path: types.path,
    fileFilters: planFileFilters(query, analyses),
    pattern: conditions.length === 0 ? undefined : requireAll(conditions),
    leaves: leaves.all,
    people: filters.flatMap((field) => planPeople(field, foldCase)),
  };
}

const contentsOnly: ResultTypes = { file: true, path: false, repository: false };

function planPeople({ predicate, negated }: FieldNode, foldCase: boolean): readonly PeopleFilter[] {
  switch (predicate?.name) {
    case "has.owner":
      return [{ kind: "owner", negated, owner: predicate.argument.trim() }];
    case "has.contributor":
      return [{ kind: "contributor", negated, source: predicate.argument, foldCase }];
    default:
      return [];
  }
}

function isContentFilter({ predicate }: FieldNode): boolean {
  return predicate?.name === "has.content" || predicate?.name === "contains.content";
}

/** Another condition beside the pattern, so that the cheaper of the two is evaluated first. */
function planContentFilter({ predicate, negated, span }: FieldNode, leaves: Leaves): TextNode {
  const leaf: TextNode = { kind: "leaf", leaf: leaves.addFilter(predicate?.argument ?? "", span) };
  return negated ? { kind: "not", child: leaf } : leaf;
}
