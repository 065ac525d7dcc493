import { isOperator, type QueryNode, type QueryTree } from "./ast.js";
import type { BasicPlan, PathFilter, RepositoryFilter, RepositoryNamePlan, SearchPlan, TextNode, TextPlan } from "./plan.js";

/** The short form of a parsed query, as in `and(repo:"^a$" "foo" not(/b+/))`. */
export function printTree(tree: QueryTree): string {
  return tree.root === undefined ? "nothing" : printNode(tree.root);
}

export function printNode(node: QueryNode): string {
  if (isOperator(node)) return `${node.kind}(${node.children.map(printNode).join(" ")})`;
  if (node.kind === "field") return `${node.negated ? "-" : ""}${node.name}:${JSON.stringify(node.value)}`;
  const text = node.form === "regexp" ? `/${node.value}/` : JSON.stringify(node.value);
  const pattern = node.contentOnly ? `content:${text}` : text;
  return node.negated ? `not(${pattern})` : pattern;
}

/** The short form of a plan: its alternatives, then what holds for all of them. */
export function printPlan(plan: SearchPlan): string {
  const parts = [plan.alternatives.map(printBasic).join(" or ")];
  if (plan.hasCount) parts.push(`count:${plan.matchCountMax}`);
  if (plan.timeoutMs !== undefined) parts.push(`timeout:${plan.timeoutMs}ms`);
  if (plan.select !== undefined) parts.push(`select:${plan.select}`);
  return parts.join(" ");
}

function printBasic(basic: BasicPlan): string {
  const parts = [printRepositories(basic.repositories)];
  if (basic.text !== undefined) parts.push(printText(basic.text));
  if (basic.repositoryNames !== undefined) parts.push(`names(${printNames(basic.repositoryNames)})`);
  return `{${parts.join(" ")}}`;
}

function printRepositories(filter: RepositoryFilter): string {
  const parts = [
    ...filter.include.map(({ source, revisions }) => `/${source}/${revisions.length > 0 ? `@${revisions.join(":")}` : ""}`),
    ...filter.exclude.map((source) => `not(/${source}/)`),
    ...(filter.fork === "yes" ? [] : [`fork:${filter.fork}`]),
    ...(filter.archived === "yes" ? [] : [`archived:${filter.archived}`]),
    ...(filter.visibility === "any" ? [] : [`visibility:${filter.visibility}`]),
  ];
  return `repositories(${parts.join(" ")})`;
}

function printText(text: TextPlan): string {
  const kinds = [...(text.content ? ["content"] : []), ...(text.path ? ["path"] : [])];
  const parts = [kinds.join("+"), ...text.pathFilters.map(printFilter)];
  if (text.pattern !== undefined) parts.push(printTextNode(text.pattern, text));
  return `text(${parts.join(" ")})`;
}

function printFilter(filter: PathFilter): string {
  return filter.label;
}

function printTextNode(node: TextNode, text: TextPlan): string {
  switch (node.kind) {
    case "not": return `not(${printTextNode(node.child, text)})`;
    case "and":
    case "or": return `${node.kind}(${node.children.map((child) => printTextNode(child, text)).join(" ")})`;
    case "leaf": {
      const { analysis, source, inPath, foldCase } = text.leaves[node.leaf];
      const pattern = analysis.literal === undefined ? `/${source}/` : JSON.stringify(analysis.literal);
      const requires = analysis.clauses.map((clause) => `{${clause.join(",")}}`).join("");
      const where = inPath ? "" : "content:";
      return `${where}${pattern}${foldCase ? "i" : ""}${analysis.literal === undefined && requires !== "" ? ` requires ${requires}` : ""}`;
    }
  }
}

function printNames(plan: RepositoryNamePlan): string {
  const parts = [...plan.sources.map((source) => `/${source}/`), ...plan.exclude.map((source) => `not(/${source}/)`), ...plan.groups.map(printNames)];
  if (parts.length === 0) return "all";
  return parts.length === 1 ? parts[0] : `${plan.combine}(${parts.join(" ")})`;
}
