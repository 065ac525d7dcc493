import { languagePathRegexp } from "../../model/language.js";
import type { FieldNode } from "../syntax/ast.js";
import { isCaseSensitive, readLanguage } from "../fields/validate.js";
import type { Analyses } from "./analyses.js";
import type { BasicQuery } from "./basic.js";
import type { PathFilter } from "./plan.js";

/** The `file:` and `lang:` filters of a valid basic query, without predicates. */
export function planPathFilters(query: BasicQuery, analyses: Analyses): readonly PathFilter[] {
  const foldCase = !isCaseSensitive(query);
  const given = query.fields.filter(
    ({ name, predicate }) => (name === "file" || name === "lang") && predicate === undefined,
  );
  return distinctFields(given).map((field) => planFilter(field, foldCase, analyses));
}

/** Equal filters are evaluated once: each takes time for every path, and a language is a long regexp. */
function distinctFields(fields: readonly FieldNode[]): readonly FieldNode[] {
  return [...new Map(fields.map((field) => [`${field.negated}${field.name}:${field.value}`, field])).values()];
}

function planFilter(field: FieldNode, foldCase: boolean, analyses: Analyses): PathFilter {
  const { name, value, negated, span } = field;
  const minus = negated ? "-" : "";
  if (name === "lang") {
    const language = readLanguage(value);
    const source = languagePathRegexp(language);
    const analysis = analyses.regexp(source, true, span);
    return { negated, source, foldCase: true, highlighted: false, label: `${minus}lang:${language.name}`, analysis };
  }
  const label = `${minus}file:/${value}/${foldCase ? "i" : ""}`;
  return {
    negated,
    source: value,
    foldCase,
    highlighted: true,
    label,
    analysis: analyses.regexp(value, foldCase, span),
  };
}
