import { unreachable } from "../base/assert.js";
import type { FieldNode, PatternNode, QueryNode } from "./ast.js";
import type { BasicQuery } from "./basic.js";
import type {
  BasicPlan,
  Leaf,
  PathFilter,
  RepositoryFilter,
  RepositoryNamePlan,
  SearchPlan,
  TextNode,
  TextPlan,
} from "./plan.js";
import type { Token } from "./scan.js";

/*
 * The short printed form of every step: `and(repo:a or("x y" /z/))`. A literal stands in double quotes, a regexp
 * between slashes, a field as `name:value`, and a leading minus negates.
 */

export function printToken(token: Token): string {
  switch (token.kind) {
    case "open":
      return "(";
    case "close":
      return ")";
    case "and":
    case "or":
    case "not":
      return token.kind.toUpperCase();
    case "field":
      return printField(token);
    case "pattern":
      return printPattern(token);
    case "broken":
      return `<${token.message}>`;
    default:
      return unreachable(token);
  }
}

/** A tree as `parseQuery` or the grammar makes it; nothing for an empty query. */
export function printTree(node: QueryNode | undefined): string {
  if (node === undefined) return "nothing";
  switch (node.kind) {
    case "field":
      return printField(node);
    case "pattern":
      return printPattern(node);
    default:
      return `${node.kind}(${node.children.map(printTree).join(" ")})`;
  }
}

/** The fields, and the pattern after an arrow. */
export function printBasicQuery({ fields, pattern }: BasicQuery): string {
  const parts = fields.map(printField);
  if (pattern !== undefined) parts.push("=>", printTree(pattern));
  return parts.join(" ");
}

export function printField({ name, value, negated }: Pick<FieldNode, "name" | "value" | "negated">): string {
  const shown = value === "" || /[\s"'()]/.test(value) ? quote(value) : value;
  return `${minus(negated)}${name}:${shown}`;
}

function printPattern(pattern: Pick<PatternNode, "form" | "value"> & Partial<PatternNode>): string {
  const shown = pattern.form === "regexp" ? slashed(pattern.value) : quote(pattern.value);
  return `${minus(pattern.negated === true)}${pattern.contentOnly === true ? "content:" : ""}${shown}`;
}

/**
 * A whole plan: a line of what holds for all of it, then a line for each alternative.
 *
 *     keyword count:100
 *     repositories(repo:^a$@v1 -repo:b fork:yes) text(content path file:\.go$ => and("x" -/y/)) names(and x)
 */
export function printPlan(plan: SearchPlan): string {
  const head: string[] = [plan.patternType];
  if (plan.hasCount) head.push(`count:${plan.matchCountMax}`);
  if (plan.timeoutMs !== undefined) head.push(`timeout:${plan.timeoutMs}ms`);
  if (plan.select !== undefined) head.push(`select:${plan.select}`);
  return [head.join(" "), ...plan.alternatives.map(printBasicPlan)].join("\n");
}

export function printBasicPlan({ repositories, text, repositoryNames }: BasicPlan): string {
  const parts = [printRepositories(repositories)];
  if (text !== undefined) parts.push(printText(text));
  if (repositoryNames !== undefined) parts.push(`names(${printNames(repositoryNames)})`);
  return parts.join(" ");
}

function printRepositories(filter: RepositoryFilter): string {
  const parts = filter.include.map(({ source, revisions, exactName }) => {
    const at = revisions.length === 0 ? "" : `@${revisions.join(":")}`;
    return exactName === undefined ? `repo:${source}${at}` : `repo=${exactName}${at}`;
  });
  parts.push(...filter.exclude.map((source) => `-repo:${source}`));
  if (filter.forkGiven) parts.push(`fork:${filter.fork}`);
  if (filter.archivedGiven) parts.push(`archived:${filter.archived}`);
  if (filter.visibility !== "any") parts.push(`visibility:${filter.visibility}`);
  return `repositories(${parts.length === 0 ? "all" : parts.join(" ")})`;
}

/** A leaf that may match in fewer parts than the whole text plan says which; so does one that minds case. */
function printText(plan: TextPlan): string {
  const parts: string[] = [];
  if (plan.content) parts.push("content");
  if (plan.path) parts.push("path");
  parts.push(...plan.pathFilters.map(printPathFilter));
  if (plan.pattern !== undefined) parts.push("=>", printTextNode(plan.pattern, plan));
  return `text(${parts.join(" ")})`;
}

function printPathFilter({ label, foldCase }: PathFilter): string {
  return foldCase ? label : `case:${label}`;
}

function printTextNode(node: TextNode, plan: TextPlan): string {
  switch (node.kind) {
    case "leaf":
      return printLeaf(plan.leaves[node.leaf] as Leaf, plan);
    case "not":
      return `-${printTextNode(node.child, plan)}`;
    default:
      return `${node.kind}(${node.children.map((child) => printTextNode(child, plan)).join(" ")})`;
  }
}

function printLeaf(leaf: Leaf, plan: TextPlan): string {
  const where = plan.path && !leaf.inPath ? "content:" : "";
  const { literal } = leaf.analysis;
  return `${leaf.foldCase ? "" : "case:"}${where}${literal === undefined ? slashed(leaf.source) : quote(literal)}`;
}

function printNames({ combine, sources, exclude, groups, foldCase }: RepositoryNamePlan): string {
  const parts = sources.map(slashed);
  parts.push(...groups.map((group) => `${group.combine}(${printNames(group)})`));
  parts.push(...exclude.map((source) => `-${slashed(source)}`));
  if (parts.length === 0) return "all";
  const shown = parts.length === 1 ? parts.join("") : `${combine} ${parts.join(" ")}`;
  return foldCase ? shown : `case: ${shown}`;
}

function minus(negated: boolean): string {
  return negated ? "-" : "";
}

function quote(text: string): string {
  return `"${escapeControls(text).replace(/"/g, '\\"')}"`;
}

function slashed(source: string): string {
  return `/${escapeControls(source).replace(/\//g, "\\/")}/`;
}

function escapeControls(text: string): string {
  return text.replace(/[\n\r\t]/g, (control) => controlNames[control] ?? control);
}

const controlNames: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
