import { isCaseSensitive, findField } from "../fields/validate.js";
import { readDateMs } from "../fields/dates.js";
import type { FieldNode, PatternNode } from "../syntax/ast.js";
import type { Analyses } from "../fields/analyses.js";
import type { BasicQuery } from "../syntax/basic.js";
import type { HistoryKind, HistoryPlan, MessageFilter, PersonFilter } from "./plan.js";
import { planFileFilters, Leaves, planNode, requireAll } from "./text-plan.js";

/** One plan for each type of history that the query names, commits first; none for a query without such a type. */
export function planHistory(query: BasicQuery, analyses: Analyses, nowMs: number): readonly HistoryPlan[] {
  const types = new Set(query.fields.filter(({ name }) => name === "type").map(({ value }) => value));
  const select = findField(query, "select")?.value;
  return (["commit", "diff"] as const)
    .filter((kind) => types.has(kind) && isSelected(kind, select))
    .map((kind) => planKind(kind, query, analyses, nowMs));
}

function isSelected(kind: HistoryKind, select: string | undefined): boolean {
  if (select === undefined || select === "repo" || select === "commit") return true;
  return kind === "diff" && select.startsWith("commit.diff");
}

/** Whether `select:` drops all results but commits and diffs. */
export function selectsHistory(query: BasicQuery): boolean {
  return findField(query, "select")?.value.split(".", 1)[0] === "commit";
}

function planKind(kind: HistoryKind, query: BasicQuery, analyses: Analyses, nowMs: number): HistoryPlan {
  const foldCase = !isCaseSensitive(query);
  const leaves = new Leaves({ inContent: true, inPath: false }, foldCase, analyses);
  const messages = findFields(query, "message");
  const conditions = [
    ...(query.pattern === undefined ? [] : [planNode(query.pattern, leaves)]),
    ...(kind === "commit" ? messages.map((field) => planNode(messagePattern(field), leaves)) : []),
  ];
  return {
    kind,
    pattern: conditions.length === 0 ? undefined : requireAll(conditions),
    includesFilters: kind === "commit" && messages.length > 0,
    leaves: leaves.all,
    fileFilters: planFileFilters(query, analyses),
    messages: kind === "diff" ? messages.map((field) => planMessage(field, foldCase, analyses)) : [],
    persons: query.fields.flatMap((field) => planPerson(field, foldCase)),
    committedAfter: latest(findFields(query, "after"), nowMs),
    committedBefore: earliest(findFields(query, "before"), nowMs),
    onlySign: signs.get(findField(query, "select")?.value ?? ""),
  };
}

const signs: ReadonlyMap<string, "+" | "-"> = new Map([
  ["commit.diff.added", "+"],
  ["commit.diff.removed", "-"],
]);

function findFields(query: BasicQuery, wanted: FieldNode["name"]): readonly FieldNode[] {
  return query.fields.filter(({ name }) => name === wanted);
}

function messagePattern({ value, negated, span }: FieldNode): PatternNode {
  return { kind: "pattern", form: "regexp", value, negated, contentOnly: false, span };
}

function planMessage(field: FieldNode, foldCase: boolean, analyses: Analyses): MessageFilter {
  const leaves = new Leaves({ inContent: true, inPath: false }, foldCase, analyses);
  leaves.add(messagePattern(field));
  return { negated: field.negated, leaf: leaves.all[0] };
}

function planPerson({ name, negated, value }: FieldNode, foldCase: boolean): readonly PersonFilter[] {
  return name === "author" || name === "committer" ? [{ role: name, negated, source: value, foldCase }] : [];
}

/** The bound that implies the others; dates are whole seconds. */
function latest(fields: readonly FieldNode[], nowMs: number): number | undefined {
  return fields.length === 0 ? undefined : Math.max(...fields.map((field) => unixSeconds(field, nowMs)));
}

function earliest(fields: readonly FieldNode[], nowMs: number): number | undefined {
  return fields.length === 0 ? undefined : Math.min(...fields.map((field) => unixSeconds(field, nowMs)));
}

function unixSeconds({ value }: FieldNode, nowMs: number): number {
  return Math.floor(readDateMs(value, nowMs) / 1000);
}
