import { globalContextName, type ContextRepository, type SearchContext } from "../../model/search-context.js";
import { Analyses } from "../fields/analyses.js";
import { combine, isOperator, collectLeaves, type FieldNode, type QueryNode, type QueryTree } from "../syntax/ast.js";
import { basicQueries, type BasicQuery } from "../syntax/basic.js";
import type { Span } from "../syntax/characters.js";
import type { FieldName } from "../syntax/fields.js";
import { parseQuery } from "../syntax/parse.js";
import { QueryError } from "../syntax/query-error.js";
import { isPredicate } from "../fields/repository-predicates.js";
import { findField, readRevisions, Validator } from "../fields/validate.js";
import { isRevisionGlob } from "../fields/values.js";

/** The defined contexts by name, without the global one. */
export type SearchContexts = Pick<ReadonlyMap<string, SearchContext>, "get">;

const noContexts: SearchContexts = new Map();

/** Fields allowed in the query of a context. */
const contextFields: ReadonlySet<FieldName> = new Set([
  "repo",
  "rev",
  "fork",
  "archived",
  "visibility",
  "case",
  "file",
  "lang",
]);

/** Fields of a context that the same field of a query overrides, because they can occur only once. */
const yieldingFields: ReadonlySet<FieldName> = new Set(["rev", "fork", "archived", "visibility", "case"]);

/**
 * Throws a `QueryError` if this cannot be the query of a context: filters on repositories and files, combined with and
 * and or, parsed with the regexp type.
 */
export function checkContextQuery(text: string, nowMs: number): void {
  const tree = parseQuery(text, "regexp");
  const refuse = (message: string, span: Span): never => {
    throw new QueryError(message, text, span);
  };
  if (tree.root === undefined) return refuse("the query of a context needs a filter", { from: 0, to: 0 });
  for (const leaf of collectLeaves(tree.root)) {
    if (leaf.kind === "pattern") refuse("the query of a context may contain only filters, no pattern", leaf.span);
    else if (!contextFields.has(leaf.name))
      refuse(`the query of a context cannot contain ${leaf.name}:, only ${[...contextFields].join(", ")}`, leaf.span);
    else if (leaf.predicate !== undefined && !isPredicate(leaf))
      refuse(
        "the query of a context cannot contain predicates on files, contents or commits, only on attributes of repositories",
        leaf.span,
      );
    else if (readRevisions(leaf).some(isRevisionGlob))
      refuse("the query of a context cannot contain revision globs", leaf.span);
  }
  const validator = new Validator(text, new Analyses(text), nowMs);
  for (const query of basicQueries(tree)) validator.check(query);
}

/**
 * Adds the query of each named context next to its `context:` field. Its filters have the field's position, which is
 * shown in errors. Throws a `QueryError` for an undefined name.
 */
export function placeContexts(tree: QueryTree, contexts: SearchContexts | undefined): QueryTree {
  const span = (node: QueryNode): QueryNode => {
    if (isOperator(node)) return combine(node.kind, node.children.map(span));
    if (node.kind !== "field" || node.name !== "context" || node.negated || isGlobal(node.value)) return node;
    const context = (contexts ?? noContexts).get(node.value);
    if (context === undefined)
      throw new QueryError(`search context ${JSON.stringify(node.value)} not found`, tree.text, node.span);
    if (context.query === "") return node;
    const { root } = parseQuery(context.query, "regexp");
    return root === undefined ? node : combine("and", [node, moveTo(root, node.span)]);
  };
  return tree.root === undefined ? tree : { ...tree, root: span(tree.root) };
}

function moveTo(node: QueryNode, span: Span): QueryNode {
  if (isOperator(node)) return { ...node, children: node.children.map((child) => moveTo(child, span)) };
  return node.kind === "field" ? { ...node, span, fromContext: true } : { ...node, span };
}

/** Removes the fields of its context that the query has itself: `context:x fork:no` overrides a `fork:yes` of x. */
export function preferOwnFields(query: BasicQuery): BasicQuery {
  if (query.fields.every(({ fromContext }) => fromContext !== true)) return query;
  const own = new Set(query.fields.filter(({ fromContext }) => fromContext !== true).map(({ name }) => name));
  const yields = ({ name, fromContext }: FieldNode): boolean =>
    fromContext === true && yieldingFields.has(name) && own.has(name);
  return { ...query, fields: query.fields.filter((field) => !yields(field)) };
}

/** The name of the query's context; undefined for the global one. */
export function findContextName(query: BasicQuery): string | undefined {
  const name = findField(query, "context")?.value ?? globalContextName;
  return isGlobal(name) ? undefined : name;
}

/** Repositories in a context's list with the same revisions. */
export interface ContextGroup {
  readonly names: readonly string[];
  readonly revisions: readonly string[];
}

/** The list of a query's context, undefined if it has no list; a context without repositories has one empty group. */
export function expandContext(
  query: BasicQuery,
  contexts: SearchContexts | undefined,
): readonly ContextGroup[] | undefined {
  const name = findContextName(query);
  const context = name === undefined ? undefined : contexts?.get(name);
  if (context === undefined || context.query !== "") return undefined;
  const groups = new Map<string, ContextRepository[]>();
  for (const repository of context.repositories) {
    const key = repository.revisions.join(":");
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [repository]);
    else group.push(repository);
  }
  return [...groups.values()].map((group) => ({
    names: group.map((repository) => repository.name),
    revisions: group[0].revisions,
  }));
}

function isGlobal(name: string): boolean {
  return name === "" || name === globalContextName;
}
