import { TrawlError } from "../../base/errors.js";
import { nearestWord } from "../../base/nearest-word.js";
import { fieldNames, fields } from "../../query/fields/fields.js";
import { choosePatternType } from "../../query/fields/pattern-type.js";
import { collectLeaves, type FieldNode, type PatternNode } from "../../query/syntax/ast.js";
import { parseQuery } from "../../query/syntax/parse.js";

const resultTypes = ["file", "path", "repo", "symbol", "commit", "diff"];

/** Those of one and two letters are not what a longer word was meant to be. */
const longNames = fieldNames
  .filter((name) => fields[name].built && fields[name].value !== "refused")
  .flatMap((name) => [name, ...fields[name].aliases])
  .filter((name) => name.length > 2);

/**
 * Misspelt names in a valid query that has found nothing. A word with a colon whose name is no field is searched as text,
 * and an unknown type selects no results, so neither is an error.
 */
export function findMisspellings(query: string, patternType: string): readonly string[] {
  try {
    const { root } = parseQuery(query, choosePatternType(query, "", patternType));
    return root === undefined ? [] : collectLeaves(root).flatMap((leaf) => misspellings(leaf));
  } catch (error) {
    if (error instanceof TrawlError) return [];
    throw error;
  }
}

function misspellings(leaf: FieldNode | PatternNode): readonly string[] {
  if (leaf.kind === "pattern") return leaf.value.split(/\s/).flatMap(misspeltField);
  if (leaf.name !== "type" || resultTypes.includes(leaf.value.toLowerCase())) return [];
  const nearest = nearestWord(leaf.value, resultTypes);
  const meant = nearest === undefined ? `the types are ${resultTypes.join(", ")}` : `did you mean type:${nearest}?`;
  return [`there is no type "${leaf.value}", so type:${leaf.value} selects nothing; ${meant}`];
}

function misspeltField(word: string): readonly string[] {
  const [, name] = /^-?([A-Za-z.]{2,30}):./.exec(word) ?? [];
  const nearest = name === undefined ? undefined : nearestWord(name, longNames);
  if (name === undefined || nearest === undefined) return [];
  return [`there is no field "${name}", so ${word} was searched for as text; did you mean ${nearest}:?`];
}
