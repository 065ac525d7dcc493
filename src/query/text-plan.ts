import { assert } from "../base/assert.js";
import { languagePathRegexp } from "../model/language.js";
import type { Analyses } from "./analyses.js";
import type { FieldNode, OperatorNode, PatternNode, QueryNode } from "./ast.js";
import type { BasicQuery } from "./basic.js";
import type { Leaf, PathFilter, TextNode, TextPlan } from "./plan.js";
import { printField } from "./print.js";
import { resultTypes, type ResultTypes } from "./result-types.js";
import { isCaseSensitive, readLanguage } from "./validate.js";

/**
 * What file and path results need; undefined when a valid basic query can have none: it asks for other types, it has
 * neither a pattern nor a filter on files, or its pattern holds for no document.
 */
export function planText(query: BasicQuery, analyses: Analyses): TextPlan | undefined {
  const types = resultTypes(query);
  const filters = query.fields.filter(({ name }) => name === "file" || name === "lang");
  if (!types.file && !types.path) return undefined;
  if (query.pattern === undefined && filters.length === 0) return undefined;

  const foldCase = !isCaseSensitive(query);
  const builder = new PatternBuilder(types, foldCase, analyses);
  const pattern = query.pattern === undefined ? true : builder.build(query.pattern);
  if (pattern === false) return undefined;
  return {
    content: types.file,
    path: types.path,
    pathFilters: filters.map((field) => planFilter(field, foldCase, analyses)),
    pattern: pattern === true ? undefined : pattern,
    leaves: builder.leaves,
  };
}

function planFilter(field: FieldNode, foldCase: boolean, analyses: Analyses): PathFilter {
  const { name, value, negated, place } = field;
  const label = printField(field);
  if (name === "lang") {
    const source = languagePathRegexp(readLanguage(value));
    const analysis = analyses.regexp(source, true, place);
    return { negated, source, foldCase: true, highlighted: false, label, analysis };
  }
  const analysis = analyses.regexp(value, foldCase, place);
  return { negated, source: value, foldCase, highlighted: !negated, label, analysis };
}

/** A pattern tree, or the constant that it always is. */
type Condition = TextNode | boolean;

/** Turns patterns into a tree over numbered leaves; equal patterns share one leaf, and equal branches become one. */
class PatternBuilder {
  readonly leaves: Leaf[] = [];
  readonly #types: ResultTypes;
  readonly #foldCase: boolean;
  readonly #analyses: Analyses;
  readonly #leafByKey = new Map<string, number>();

  constructor(types: ResultTypes, foldCase: boolean, analyses: Analyses) {
    this.#types = types;
    this.#foldCase = foldCase;
    this.#analyses = analyses;
  }

  build(node: QueryNode): Condition {
    assert(node.kind !== "field" && node.kind !== "concat", "a pattern tree has no fields, and joined patterns");
    return node.kind === "pattern" ? this.#pattern(node) : this.#operator(node);
  }

  #pattern(pattern: PatternNode): Condition {
    const inContent = this.#types.file;
    const inPath = this.#types.path && !pattern.contentOnly;
    if (!inContent && !inPath) return pattern.negated;
    const leaf: TextNode = { kind: "leaf", leaf: this.#leaf(pattern, inContent, inPath) };
    return pattern.negated ? { kind: "not", child: leaf } : leaf;
  }

  #leaf(pattern: PatternNode, inContent: boolean, inPath: boolean): number {
    const key = `${pattern.form} ${inContent} ${inPath} ${pattern.value}`;
    const found = this.#leafByKey.get(key);
    if (found !== undefined) return found;
    const analysis = this.#analyses.pattern(pattern, this.#foldCase);
    const source = pattern.form === "regexp" ? pattern.value : analysis.re2Source;
    this.leaves.push({ source, foldCase: this.#foldCase, inContent, inPath, analysis });
    this.#leafByKey.set(key, this.leaves.length - 1);
    return this.leaves.length - 1;
  }

  #operator({ kind, children }: OperatorNode): Condition {
    assert(kind !== "concat", "patterns are joined before they are planned");
    const decisive = kind === "or";
    const distinct = new Map<string, TextNode>();
    for (const child of children) {
      const condition = this.build(child);
      if (condition === decisive) return decisive;
      if (typeof condition === "boolean") continue;
      for (const part of condition.kind === kind ? condition.children : [condition]) distinct.set(keyOf(part), part);
    }
    const [only, another] = distinct.values();
    if (only === undefined) return !decisive;
    return another === undefined ? only : { kind, children: [...distinct.values()] };
  }
}

/** Equal for equal trees; leaves are numbers, so this is short. */
function keyOf(node: TextNode): string {
  switch (node.kind) {
    case "leaf":
      return String(node.leaf);
    case "not":
      return `-${keyOf(node.child)}`;
    default:
      return `${node.kind}(${node.children.map(keyOf).join(" ")})`;
  }
}
