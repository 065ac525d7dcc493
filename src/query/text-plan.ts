import { assert } from "../base/assert.js";
import { languagePathRegexp } from "../model/language.js";
import { escapeRegexp } from "../regexp/escape.js";
import type { Analyses } from "./analyses.js";
import type { FieldNode, PatternNode, QueryNode } from "./ast.js";
import type { BasicQuery } from "./basic.js";
import type { Place } from "./characters.js";
import type { Leaf, PathFilter, PeopleFilter, TextNode, TextPlan } from "./plan.js";
import { resultTypesOf, type ResultTypes } from "./result-types.js";
import { isCaseSensitive, readLanguage } from "./validate.js";

/**
 * What file and path results need. Undefined when the query's types leave them out, and when there is neither a pattern
 * nor a filter on paths: `repo:x` lists repositories, not all their files.
 */
export function planText(query: BasicQuery, analyses: Analyses): TextPlan | undefined {
  const types = resultTypesOf(query);
  const filters = query.fields.filter(({ name }) => name === "file" || name === "lang");
  if (!types.file && !types.path) return undefined;
  if (query.pattern === undefined && filters.length === 0) return undefined;
  const foldCase = !isCaseSensitive(query);
  const leaves = new Leaves(types, foldCase, analyses);
  const conditions = [
    ...(query.pattern === undefined ? [] : [planNode(query.pattern, leaves)]),
    ...filters.filter(isContentFilter).map((field) => planContentFilter(field, leaves)),
  ];
  return {
    content: types.file,
    path: types.path,
    pathFilters: filters.filter(({ predicate }) => predicate === undefined).map((field) => planFilter(field, foldCase, analyses)),
    pattern: conditions.length === 0 ? undefined : all(conditions),
    leaves: leaves.all,
    people: filters.flatMap((field) => planPeople(field, foldCase)),
  };
}

function planPeople({ predicate, negated }: FieldNode, foldCase: boolean): readonly PeopleFilter[] {
  switch (predicate?.name) {
    case "has.owner": return [{ kind: "owner", negated, owner: predicate.argument.trim() }];
    case "has.contributor": return [{ kind: "contributor", negated, source: predicate.argument, foldCase }];
    default: return [];
  }
}

function isContentFilter({ predicate }: FieldNode): boolean {
  return predicate?.name === "has.content" || predicate?.name === "contains.content";
}

/** One more condition beside the pattern, so that the cheaper of the two is tried first. */
function planContentFilter({ predicate, negated, place }: FieldNode, leaves: Leaves): TextNode {
  const leaf: TextNode = { kind: "leaf", leaf: leaves.addFilter(predicate?.argument ?? "", place) };
  return negated ? { kind: "not", child: leaf } : leaf;
}

/** *And* of the nodes, flattened. */
function all(nodes: readonly TextNode[]): TextNode {
  const children = distinct(nodes.flatMap((node) => (node.kind === "and" ? node.children : [node])));
  return children.length === 1 ? children[0] : { kind: "and", children };
}

function planFilter(field: FieldNode, foldCase: boolean, analyses: Analyses): PathFilter {
  const { name, value, negated, place } = field;
  const minus = negated ? "-" : "";
  if (name === "lang") {
    const language = readLanguage(value);
    const source = languagePathRegexp(language);
    const analysis = analyses.regexp(source, true, place);
    return { negated, source, foldCase: true, highlighted: false, label: `${minus}lang:${language.name}`, analysis };
  }
  const label = `${minus}file:/${value}/${foldCase ? "i" : ""}`;
  return { negated, source: value, foldCase, highlighted: true, label, analysis: analyses.regexp(value, foldCase, place) };
}

/** Expects a joined tree without fields. */
function planNode(node: QueryNode, leaves: Leaves): TextNode {
  switch (node.kind) {
    case "pattern": {
      const leaf: TextNode = { kind: "leaf", leaf: leaves.add(node) };
      return node.negated ? { kind: "not", child: leaf } : leaf;
    }
    case "and":
    case "or": {
      const children = distinct(node.children.map((child) => planNode(child, leaves)));
      return children.length === 1 ? children[0] : { kind: node.kind, children };
    }
    default:
      assert(false, `a pattern tree holds no ${node.kind}`);
  }
}

/** `x or x` is `x`: of equal leaves side by side one is enough, and so of equal negated ones. */
function distinct(nodes: readonly TextNode[]): readonly TextNode[] {
  const seen = new Set<number>();
  return nodes.filter((node) => {
    const key = keyOf(node);
    if (key === undefined) return true;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** A number for each leaf and for its negation; none for an operator. */
function keyOf(node: TextNode): number | undefined {
  if (node.kind === "leaf") return node.leaf;
  return node.kind === "not" && node.child.kind === "leaf" ? -1 - node.child.leaf : undefined;
}

/** The patterns of one basic query, equal ones once. */
class Leaves {
  readonly all: Leaf[] = [];
  readonly #types: ResultTypes;
  readonly #foldCase: boolean;
  readonly #analyses: Analyses;
  readonly #numberOf = new Map<string, number>();

  constructor(types: ResultTypes, foldCase: boolean, analyses: Analyses) {
    this.#types = types;
    this.#foldCase = foldCase;
    this.#analyses = analyses;
  }

  /** The pattern's number. */
  add(pattern: PatternNode): number {
    const analysis = this.#analyses.pattern(pattern, this.#foldCase);
    const source = pattern.form === "regexp" ? pattern.value : escapeRegexp(pattern.value);
    const inPath = this.#types.path && !pattern.contentOnly;
    return this.#once(`${pattern.contentOnly}${source}`, { source, foldCase: this.#foldCase, inContent: this.#types.file, inPath, highlighted: true, analysis });
  }

  /** A condition on contents, whatever types of results are asked for. */
  addFilter(source: string, place: Place): number {
    const analysis = this.#analyses.regexp(source, this.#foldCase, place);
    return this.#once(`filter${source}`, { source, foldCase: this.#foldCase, inContent: true, inPath: false, highlighted: false, analysis });
  }

  #once(key: string, leaf: Leaf): number {
    const number = this.#numberOf.get(key) ?? this.all.push(leaf) - 1;
    this.#numberOf.set(key, number);
    return number;
  }
}
