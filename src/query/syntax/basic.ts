import { collectLeaves, combine, type FieldNode, nodeSpan, type QueryNode, type QueryTree } from "./ast.js";
import { queryLimits } from "./limits.js";
import { QueryError } from "./query-error.js";

/** Fields that must all match, and at most one pattern tree without fields. */
export interface BasicQuery {
  readonly fields: readonly FieldNode[];
  readonly pattern: QueryNode | undefined;
  /** Number of fields, and of leaves of the pattern. */
  readonly termCount: number;
}

/**
 * Converts the query to a union of basic queries. `or` is distributed only where necessary: an operator without fields
 * remains a pattern, an `or` that contains fields results in one basic query per alternative, and `and` multiplies
 * them.
 */
export function basicQueries({ text, root }: QueryTree): readonly BasicQuery[] {
  if (root === undefined) return [];
  return new Distributor(text).distribute(root);
}

class Distributor {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  distribute(node: QueryNode): readonly BasicQuery[] {
    if (node.kind === "field") return [{ fields: [node], pattern: undefined, termCount: 1 }];
    if (node.kind === "pattern") return [{ fields: [], pattern: node, termCount: 1 }];
    const parts = node.children.map((child) => this.distribute(child));
    if (node.kind === "or") return this.#union(node, parts);
    return this.#product(node, parts);
  }

  #union(node: QueryNode, parts: readonly (readonly BasicQuery[])[]): readonly BasicQuery[] {
    const alternatives = parts.flat();
    const whole = alternatives.every(({ fields }) => fields.length === 0);
    if (whole) return [merge("or", alternatives)];
    this.#bound(node, alternatives.length);
    return alternatives;
  }

  #product(node: QueryNode, parts: readonly (readonly BasicQuery[])[]): readonly BasicQuery[] {
    const count = parts.reduce((product, part) => product * part.length, 1);
    this.#bound(node, count);
    const termCount = parts.reduce((sum, part) => sum + (count / part.length) * countTerms(part), 0);
    if (termCount > queryLimits.distributedTermCountMax) {
      throw this.#tooMany(node, `${queryLimits.distributedTermCountMax} terms in all`);
    }
    return mergeSingles(parts).reduce(multiply);
  }

  #bound(node: QueryNode, count: number): void {
    if (count > queryLimits.basicQueryCountMax) throw this.#tooMany(node, `${queryLimits.basicQueryCountMax} queries`);
  }

  #tooMany(node: QueryNode, limit: string): QueryError {
    const message = `the filters inside OR split this query into more than ${limit}; write fewer alternatives`;
    return new QueryError(message, this.#text, nodeSpan(node));
  }
}

function countTerms(queries: readonly BasicQuery[]): number {
  return queries.reduce((sum, query) => sum + query.termCount, 0);
}

/** Merges adjacent parts that are one basic query each, so that a long `and` is not multiplied term by term. */
function mergeSingles(parts: readonly (readonly BasicQuery[])[]): readonly (readonly BasicQuery[])[] {
  const merged: (readonly BasicQuery[])[] = [];
  let singles: BasicQuery[] = [];
  const endRun = (): void => {
    if (singles.length === 0) return;
    merged.push([merge("and", singles)]);
    singles = [];
  };
  for (const part of parts) {
    if (part.length === 1) {
      singles.push(...part);
      continue;
    }
    endRun();
    merged.push(part);
  }
  endRun();
  return merged;
}

/** All pairs, the left queries in the outer loop. */
function multiply(left: readonly BasicQuery[], right: readonly BasicQuery[]): readonly BasicQuery[] {
  return left.flatMap((a) => right.map((b) => merge("and", [a, b])));
}

/** One query with all fields, and the patterns under the operator. With "or" there must be no fields. */
function merge(kind: "and" | "or", queries: readonly BasicQuery[]): BasicQuery {
  const patterns = queries.map(({ pattern }) => pattern).filter((pattern) => pattern !== undefined);
  return {
    fields: queries.flatMap(({ fields }) => fields),
    pattern: patterns.length === 0 ? undefined : combine(kind, patterns),
    termCount: countTerms(queries),
  };
}

/** The kinds of results that a basic query requests. */
export interface ResultTypes {
  readonly file: boolean;
  readonly path: boolean;
  readonly repository: boolean;
}

/**
 * Without `type:` all three, but only files if every pattern is from `content:`. With `type:` those that it names; an
 * unknown word selects nothing.
 */
export function readResultTypes(query: BasicQuery): ResultTypes {
  const words = new Set(query.fields.filter(({ name }) => name === "type").map(({ value }) => value));
  if (words.size > 0) return { file: words.has("file"), path: words.has("path"), repository: words.has("repo") };
  const leaves = query.pattern === undefined ? [] : collectLeaves(query.pattern);
  const isContentOnly = leaves.length > 0 && leaves.every((leaf) => leaf.kind === "pattern" && leaf.contentOnly);
  return { file: true, path: !isContentOnly, repository: !isContentOnly };
}
