import { nearestWord } from "../../base/text.js";
import { collectLeaves, type FieldNode, type PatternNode, type QueryTree } from "../syntax/ast.js";
import { fieldNames, fields } from "../syntax/fields.js";

const resultTypes = ["file", "path", "repo", "symbol", "commit", "diff"];

/** Those of one and two letters are not what a longer word was meant to be. */
const longNames = fieldNames
  .filter((name) => fields[name].built && fields[name].value !== "refused")
  .flatMap((name) => [name, ...fields[name].aliases])
  .filter((name) => name.length > 2);

/** A name that was probably misspelt. */
export interface Misspelling {
  /** Says what it was taken for, and what it may have been meant to be. */
  readonly sentence: string;
  /** What was typed, with its colon, and what may have been meant; undefined if nothing is near. */
  readonly typed: string;
  readonly meant: string | undefined;
}

/**
 * Misspelt names in a valid query that has found nothing. A word with a colon whose name is no field is searched as text,
 * and an unknown type selects no results, so neither is an error.
 */
export function findMisspellings({ root }: QueryTree): readonly Misspelling[] {
  return root === undefined ? [] : collectLeaves(root).flatMap((leaf) => misspellings(leaf));
}

function misspellings(leaf: FieldNode | PatternNode): readonly Misspelling[] {
  if (leaf.kind === "pattern") return leaf.value.split(/\s/).flatMap(misspeltField);
  if (leaf.name !== "type" || resultTypes.includes(leaf.value.toLowerCase())) return [];
  const nearest = nearestWord(leaf.value, resultTypes);
  const meant = nearest === undefined ? `the types are ${resultTypes.join(", ")}` : `did you mean type:${nearest}?`;
  const sentence = `there is no type "${leaf.value}", so type:${leaf.value} selects nothing; ${meant}`;
  return [{ sentence, typed: `type:${leaf.value}`, meant: nearest && `type:${nearest}` }];
}

function misspeltField(word: string): readonly Misspelling[] {
  const [, name] = /^-?([A-Za-z.]{2,30}):./.exec(word) ?? [];
  const nearest = name === undefined ? undefined : nearestWord(name, longNames);
  if (name === undefined || nearest === undefined) return [];
  const sentence = `there is no field "${name}", so ${word} was searched for as text; did you mean ${nearest}:?`;
  return [{ sentence, typed: `${name}:`, meant: `${nearest}:` }];
}
