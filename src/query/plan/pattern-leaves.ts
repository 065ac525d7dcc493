import { assert } from "../../base/assert.js";
import { escapeRegexp } from "../../base/text.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";
import type { PatternNode, QueryNode } from "../syntax/ast.js";
import type { Span } from "../syntax/characters.js";
import type { Analyses } from "./analyses.js";
import { requiredLiterals, trigramBytes } from "./leaf-literals.js";
import type { PatternSet } from "./pattern-plan.js";
import type { Leaf, TextNode } from "./plan.js";

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
