import { unreachable } from "../../base/assert.js";
import { isOperator, type QueryNode, type QueryTree } from "../syntax/ast.js";
import type {
  HistoryPlan,
  BasicQueryPlan,
  Leaf,
  PeopleFilter,
  RepositoryFilter,
  RepositoryInclude,
  RepositoryNamePlan,
  ResultOptions,
  SearchPlan,
  TextNode,
  TextPlan,
} from "./plan.js";

/** The short form of a parsed query, for example `and(repo:"^a$" "foo" not(/b+/))`. */
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

/**
 * The short form of a plan: its basic queries, then the result options of all of them; the options of one basic query
 * follow it. Absent filters are not printed; `i` after a pattern means that case is ignored.
 *
 *     {repositories("host/r"@v1 not(/x/)) text(content+path file:/\.c$/i "kmalloc"i)} count:100
 */
export function printPlan({ basicQueries, resultOptions }: SearchPlan): string {
  const [common] = resultOptions;
  const isOne = resultOptions.length === 1;
  // Basic queries that differ only in what is not printed are printed once.
  const printed = new Set(
    basicQueries.map((basic) => printBasic(basic, isOne ? [] : printResultOptions(resultOptions[basic.optionsIndex]))),
  );
  return [[...printed].join(" or "), ...(isOne ? printResultOptions(common) : [])].join(" ");
}

/**
 * The same for a viewer who does not see all repositories: of a context with a list it has only the name, since the list
 * names repositories, their revisions and by its groups their number.
 */
export function printPlanWithoutLists(plan: SearchPlan): string {
  return printPlan({
    ...plan,
    basicQueries: plan.basicQueries.map((basic) => {
      const { repositories } = basic;
      if (repositories.among === undefined) return basic;
      // What the list adds names no repository.
      const include = repositories.include.filter(({ source }) => source !== "");
      return { ...basic, repositories: { ...repositories, among: undefined, include } };
    }),
  });
}

function printResultOptions({ select, count, timeoutMs }: ResultOptions): readonly string[] {
  return [
    ...(count === undefined ? [] : [`count:${count}`]),
    ...(timeoutMs === undefined ? [] : [`timeout:${timeoutMs}ms`]),
    ...(select === undefined ? [] : [`select:${select}`]),
  ];
}

function printBasic(
  { repositories, text, history, repositoryNames }: BasicQueryPlan,
  options: readonly string[],
): string {
  const parts = [
    ...printRepositories(repositories),
    ...(text === undefined ? [] : [printText(text)]),
    ...history.map(printHistory),
    ...(repositoryNames === undefined ? [] : [`names(${printNames(repositoryNames)})`]),
    ...options,
  ];
  return `{${parts.join(" ")}}`;
}

function printRepositories(filter: RepositoryFilter): readonly string[] {
  const parts = [
    ...(filter.context === undefined ? [] : [`context:${filter.context}`]),
    ...(filter.among === undefined ? [] : [`among(${filter.among.map((name) => JSON.stringify(name)).join(" ")})`]),
    ...filter.include.map(printInclude),
    ...filter.exclude.map((source) => `not(/${source}/)`),
    ...filter.predicates.map(({ negated, label }) => (negated ? `not(${label})` : label)),
    ...(filter.forkGiven ? [`fork:${filter.fork}`] : []),
    ...(filter.archivedGiven ? [`archived:${filter.archived}`] : []),
    ...(filter.visibility === "any" ? [] : [`visibility:${filter.visibility}`]),
    ...(filter.index === "yes" ? [] : [`index:${filter.index}`]),
    ...filter.conditions.map(({ negated, file }) => (negated ? `not(${printCondition(file)})` : printCondition(file))),
    ...filter.committedAfter.map(({ negated, unixSeconds }) => `${negated ? "-" : ""}commit.after:${unixSeconds}`),
  ];
  return parts.length === 0 ? [] : [`repositories(${parts.join(" ")})`];
}

function printCondition(file: TextPlan): string {
  const parts = [...file.fileFilters.map(({ label }) => label), ...file.leaves.map((leaf) => printLeaf(leaf, false))];
  return `has(${parts.join(" ")})`;
}

function printInclude({ source, revisions, withoutHistoryOf, exactName }: RepositoryInclude): string {
  const name = exactName === undefined ? `/${source}/` : JSON.stringify(exactName);
  const typed = [...revisions.map((revision) => revision.typed), ...withoutHistoryOf.map((revision) => `^${revision}`)];
  return typed.length === 0 ? name : `${name}@${typed.join(":")}`;
}

function printText(text: TextPlan): string {
  const kinds = [...(text.content ? ["content"] : []), ...(text.path ? ["path"] : [])];
  const parts = [kinds.join("+"), ...text.fileFilters.map(({ label }) => label)];
  if (text.pattern !== undefined) parts.push(printTextNode(text.pattern, text.leaves, text.path));
  parts.push(...text.people.map(printPeople));
  if (text.symbols === undefined) return `text(${parts.join(" ")})`;
  const kind = text.symbols.kind === undefined ? [] : [`kind:${text.symbols.kind}`];
  return `symbols(${[...kind, ...parts.slice(1)].join(" ")})`;
}

function printPeople(filter: PeopleFilter): string {
  const what =
    filter.kind === "owner" ? JSON.stringify(filter.owner) : `/${filter.source}/${filter.foldCase ? "i" : ""}`;
  return `${filter.negated ? "-" : ""}has.${filter.kind}:${what}`;
}

/** A date is in Unix seconds. */
export function printHistory(plan: HistoryPlan): string {
  const { kind, fileFilters, pattern, leaves, messages, persons, committedAfter, committedBefore, onlySign } = plan;
  const parts = [
    ...fileFilters.map(({ label }) => label),
    ...(pattern === undefined ? [] : [printTextNode(pattern, leaves, false)]),
    ...messages.map(({ negated, leaf }) => `${negated ? "-" : ""}message:${printLeaf(leaf, false)}`),
    ...persons.map(
      ({ role, negated, source, foldCase }) => `${negated ? "-" : ""}${role}:/${source}/${foldCase ? "i" : ""}`,
    ),
    ...(committedAfter === undefined ? [] : [`after:${committedAfter}`]),
    ...(committedBefore === undefined ? [] : [`before:${committedBefore}`]),
    ...(onlySign === undefined ? [] : [`only:${onlySign}`]),
  ];
  return `${kind}(${parts.join(" ")})`;
}

/** `othersInPath` tells whether patterns that are not from `content:` may also match in paths. */
function printTextNode(node: TextNode, leaves: readonly Leaf[], othersInPath: boolean): string {
  switch (node.kind) {
    case "not":
      return `not(${printTextNode(node.child, leaves, othersInPath)})`;
    case "and":
    case "or":
      return `${node.kind}(${node.children.map((child) => printTextNode(child, leaves, othersInPath)).join(" ")})`;
    case "leaf":
      return printLeaf(leaves[node.leaf], othersInPath);
    default:
      return unreachable(node);
  }
}

/**
 * A literal in quotes, several that form one leaf in `either`; a regexp between slashes, with the literals that are
 * looked up in the index.
 */
function printLeaf(leaf: Leaf, othersInPath: boolean): string {
  if (leaf.set !== undefined) return `set(${leaf.set.count} patterns)${leaf.foldCase ? "i" : ""}`;
  const { analysis, source, either, inPath, foldCase, highlighted } = leaf;
  const where = !highlighted ? "has.content:" : othersInPath && !inPath ? "content:" : "";
  const fold = foldCase ? "i" : "";
  if (analysis.literal !== undefined) return `${where}${JSON.stringify(analysis.literal)}${fold}`;
  if (either.length > 0)
    return `${where}either(${(analysis.alternatives ?? []).map((text) => JSON.stringify(text)).join(" ")})${fold}`;
  const clauses = analysis.alternatives === undefined ? analysis.clauses : [analysis.alternatives];
  const requires = clauses.map((clause) => `{${clause.join(",")}}`).join("");
  return `${where}/${source}/${fold}${requires === "" ? "" : ` requires ${requires}`}`;
}

function printNames(plan: RepositoryNamePlan): string {
  const fold = plan.foldCase ? "i" : "";
  const parts = [
    ...plan.sources.map((source) => `/${source}/${fold}`),
    ...plan.exclude.map((source) => `not(/${source}/${fold})`),
    ...plan.groups.map(printNames),
  ];
  if (parts.length === 0) return "all";
  return parts.length === 1 ? parts[0] : `${plan.combine}(${parts.join(" ")})`;
}
