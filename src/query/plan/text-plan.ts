import type { FieldNode, PatternNode, QueryNode } from "../syntax/ast.js";
import { type BasicQuery, readResultTypes, type ResultTypes } from "../syntax/basic.js";
import { findField, isCaseSensitive, readLanguage } from "../fields/validate.js";
import type { Analyses } from "../fields/analyses.js";
import {
  type FileFilter,
  type Leaf,
  type PatternSet,
  type PeopleFilter,
  requiredLiterals,
  type TextNode,
  type TextPlan,
  trigramBytes,
} from "./plan.js";
import { assert } from "../../base/assert.js";
import { escapeRegexp } from "../../base/text.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";
import type { Span } from "../syntax/characters.js";

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

/** A longer text has its own leaf. */
const sharedTextBytesMax = 200;

/**
 * Limit on the UTF-16 code units of the texts that one leaf represents. RE2 compiles them as one regexp for paths, in
 * less than a megabyte.
 */
const sharedUnitsMax = 16 * 1024;

/** Where a pattern may match, unless it is from `content:`. */
export interface PatternPlaces {
  readonly inContent: boolean;
  readonly inPath: boolean;
}

/** *And* of the nodes, flattened. */
export function requireAll(nodes: readonly TextNode[]): TextNode {
  const children = distinct(nodes.flatMap((node) => (node.kind === "and" ? node.children : [node])));
  return children.length === 1 ? children[0] : { kind: "and", children };
}

/** Expects a joined tree without fields. */
export function planNode(node: QueryNode, leaves: Leaves): TextNode {
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
export class Leaves {
  readonly all: Leaf[] = [];
  readonly #places: PatternPlaces;
  readonly #foldCase: boolean;
  readonly #analyses: Analyses;
  readonly #numberOf = new Map<string, number>();

  constructor(places: PatternPlaces, foldCase: boolean, analyses: Analyses) {
    this.#places = places;
    this.#foldCase = foldCase;
    this.#analyses = analyses;
  }

  /** Adds a pattern and returns its number. */
  add(pattern: PatternNode): number {
    const analysis = this.#analyses.pattern(pattern, this.#foldCase);
    const source = pattern.form === "regexp" ? pattern.value : escapeRegexp(pattern.value);
    const inPath = this.#places.inPath && !pattern.contentOnly;
    return this.#once(`${pattern.contentOnly}${source}`, {
      source,
      either: [],
      foldCase: this.#foldCase,
      inContent: this.#places.inContent,
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
    const inPath = this.#places.inPath && !first.contentOnly;
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
      inContent: this.#places.inContent,
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

  /** Any pattern of a set, in contents. */
  addSet(set: PatternSet): number {
    return this.#once("set", {
      source: "",
      either: [],
      set,
      foldCase: this.#foldCase,
      inContent: true,
      inPath: false,
      highlighted: true,
      analysis: {
        literal: undefined,
        alternatives: undefined,
        clauses: [],
        crossesLines: true,
        matchesEmpty: false,
      },
    });
  }

  #once(key: string, leaf: Leaf): number {
    const number = this.#numberOf.get(key) ?? this.all.push(leaf) - 1;
    this.#numberOf.set(key, number);
    return number;
  }
}

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
