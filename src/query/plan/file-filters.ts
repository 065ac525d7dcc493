import type { FieldNode } from "../syntax/ast.js";
import { isCaseSensitive, readLanguage } from "../fields/validate.js";
import type { Analyses } from "./analyses.js";
import type { BasicQuery } from "./basic.js";
import type { FileFilter } from "./plan.js";

/** The `file:` and `lang:` filters of a valid basic query, without predicates. */
export function planFileFilters(query: BasicQuery, analyses: Analyses): readonly FileFilter[] {
  const foldCase = !isCaseSensitive(query);
  const given = query.fields.filter(
    ({ name, predicate }) => (name === "file" || name === "lang") && predicate === undefined,
  );
  return distinctFields(given).map((field) => planFilter(field, foldCase, analyses));
}

/** Equal filters are evaluated once: each takes time for every path. */
function distinctFields(fields: readonly FieldNode[]): readonly FieldNode[] {
  return [...new Map(fields.map((field) => [`${field.negated}${field.name}:${field.value}`, field])).values()];
}

function planFilter(field: FieldNode, foldCase: boolean, analyses: Analyses): FileFilter {
  const { name, value, negated, span } = field;
  const minus = negated ? "-" : "";
  if (name === "lang") {
    const language = readLanguage(value).name;
    return { kind: "language", negated, language, label: `${minus}lang:${language}` };
  }
  return {
    kind: "path",
    negated,
    source: value,
    foldCase,
    highlighted: true,
    label: `${minus}file:/${value}/${foldCase ? "i" : ""}`,
    analysis: analyses.regexp(value, foldCase, span),
  };
}
