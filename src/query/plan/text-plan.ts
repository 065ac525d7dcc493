import { assert } from "../../base/assert.js";
import { languagePathRegexp } from "../../model/language.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";
import { escapeRegexp } from "../../base/escape-regexp.js";
import type { Analyses } from "./analyses.js";
import type { FieldNode, PatternNode, QueryNode } from "../syntax/ast.js";
import type { BasicQuery } from "./basic.js";
import type { Span } from "../syntax/characters.js";
import { requiredLiterals, trigramBytes } from "./leaf-literals.js";
import type { Leaf, PathFilter, PeopleFilter, TextNode, TextPlan } from "./plan.js";
import { readResultTypes, type ResultTypes } from "../fields/result-types.js";
import { isCaseSensitive, readLanguage } from "../fields/validate.js";

/** A longer text has its own leaf. */
const sharedTextBytesMax = 200;

/**
 * Limit on the UTF-16 code units of the texts that one leaf represents. RE2 compiles them as one regexp for paths, in
 * less than a megabyte.
 */
const sharedUnitsMax = 16 * 1024;

/**
 * What is needed for file and path results. Undefined if the query's types exclude them, and if there is neither a
 * pattern nor a filter on paths: `repo:x` lists repositories, not all their files.
 */
export function planText(query: BasicQuery, analyses: Analyses): TextPlan | undefined {
  const types = readResultTypes(query);
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
    pathFilters: distinctFields(filters.filter(({ predicate }) => predicate === undefined)).map((field) =>
      planFilter(field, foldCase, analyses),
    ),
    pattern: conditions.length === 0 ? undefined : all(conditions),
    leaves: leaves.all,
    people: filters.flatMap((field) => planPeople(field, foldCase)),
  };
}

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

/** *And* of the nodes, flattened. */
function all(nodes: readonly TextNode[]): TextNode {
  const children = distinct(nodes.flatMap((node) => (node.kind === "and" ? node.children : [node])));
  return children.length === 1 ? children[0] : { kind: "and", children };
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

/** Expects a joined tree without fields. */
function planNode(node: QueryNode, leaves: Leaves): TextNode {
  switch (node.kind) {
    case "pattern": {
      const leaf: TextNode = { kind: "leaf", leaf: leaves.add(node) };
      return node.negated ? { kind: "not", child: leaf } : leaf;
    }
    case "and":
    case "or": {
      const children = distinct(
        node.kind === "or" ? planAny(node.children, leaves) : node.children.map((child) => planNode(child, leaves)),
      );
      return children.length === 1 ? children[0] : { kind: node.kind, children };
    }
    default:
      assert(false, `a pattern tree holds no ${node.kind}`);
  }
}

/** Texts under `or` become one leaf, which processes the documents once for all of them. */
function planAny(nodes: readonly QueryNode[], leaves: Leaves): readonly TextNode[] {
  const texts = nodes.filter((node): node is PatternNode => node.kind === "pattern" && leaves.mayShare(node));
  const inContentOnly = texts.filter(({ contentOnly }) => contentOnly);
  const anywhere = texts.filter(({ contentOnly }) => !contentOnly);
  const shared = [inContentOnly, anywhere].filter((group) => group.length > 1);
  const inShared = new Set<QueryNode>(shared.flat());
  const rest = nodes.filter((node) => !inShared.has(node));
  const leafNumbers = shared.flatMap((group) => leaves.addEither(group));
  return [
    ...leafNumbers.map((leaf): TextNode => ({ kind: "leaf", leaf })),
    ...rest.map((node) => planNode(node, leaves)),
  ];
}

/** `x or x` is `x`: of equal adjacent leaves one is enough, and also of equal negated ones. */
function distinct(nodes: readonly TextNode[]): readonly TextNode[] {
  const seen = new Set<number>();
  return nodes.filter((node) => {
    const key = nodeKey(node);
    if (key === undefined) return true;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** A number for each leaf and for its negation; none for an operator. */
function nodeKey(node: TextNode): number | undefined {
  if (node.kind === "leaf") return node.leaf;
  return node.kind === "not" && node.child.kind === "leaf" ? -1 - node.child.leaf : undefined;
}

function splitTexts(texts: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let units = sharedUnitsMax;
  for (const text of texts) {
    units += text.length;
    const last = groups.at(-1);
    if (last !== undefined && units <= sharedUnitsMax) {
      last.push(text);
    } else {
      groups.push([text]);
      units = text.length;
    }
  }
  return groups;
}

/** The patterns of one basic query, without duplicates. */
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

  /** Adds a pattern and returns its number. */
  add(pattern: PatternNode): number {
    const analysis = this.#analyses.pattern(pattern, this.#foldCase);
    const source = pattern.form === "regexp" ? pattern.value : escapeRegexp(pattern.value);
    const inPath = this.#types.path && !pattern.contentOnly;
    return this.#once(`${pattern.contentOnly}${source}`, {
      source,
      either: [],
      foldCase: this.#foldCase,
      inContent: this.#types.file,
      inPath,
      highlighted: true,
      analysis,
    });
  }

  /**
   * Whether the pattern is a text that is found by the index and the kernel alone, so that a leaf can represent several
   * of them.
   */
  mayShare(pattern: PatternNode): boolean {
    if (pattern.negated) return false;
    const { exact } = requiredLiterals({
      analysis: this.#analyses.pattern(pattern, this.#foldCase),
      foldCase: this.#foldCase,
    });
    return exact?.length === 1 && exact[0].length >= trigramBytes && exact[0].length <= sharedTextBytesMax;
  }

  /**
   * The numbers of the leaves that represent any of the patterns, which may share: one leaf, or a few for very many.
   */
  addEither(patterns: readonly PatternNode[]): readonly number[] {
    const byText = new Map(
      patterns.map((pattern) => [this.#analyses.pattern(pattern, this.#foldCase).literal ?? "", pattern]),
    );
    return splitTexts([...byText.keys()]).map((texts) => this.#addTexts(texts, byText.get(texts[0]) ?? patterns[0]));
  }

  #addTexts(texts: readonly string[], first: PatternNode): number {
    if (texts.length === 1) return this.add(first);
    const either = texts.map(escapeRegexp);
    const source = either.join("|");
    const inPath = this.#types.path && !first.contentOnly;
    const analysis: RegexpAnalysis = {
      literal: undefined,
      alternatives: texts,
      clauses: [texts],
      crossesLines: texts.some((text) => text.includes("\n")),
      matchesEmpty: false,
    };
    return this.#once(`either${inPath}${source}`, {
      source,
      either,
      foldCase: this.#foldCase,
      inContent: this.#types.file,
      inPath,
      highlighted: true,
      analysis,
    });
  }

  /** A condition on contents, regardless of the requested types of results. */
  addFilter(source: string, span: Span): number {
    const analysis = this.#analyses.regexp(source, this.#foldCase, span);
    return this.#once(`filter${source}`, {
      source,
      either: [],
      foldCase: this.#foldCase,
      inContent: true,
      inPath: false,
      highlighted: false,
      analysis,
    });
  }

  #once(key: string, leaf: Leaf): number {
    const number = this.#numberOf.get(key) ?? this.all.push(leaf) - 1;
    this.#numberOf.set(key, number);
    return number;
  }
}
