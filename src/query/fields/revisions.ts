import type { RevisionSpec } from "../../model/revision.js";
import type { FieldNode } from "../syntax/ast.js";
import { readDateMs } from "./dates.js";
import { readRevisions } from "./validate.js";

/** The revisions in a validated `repo:` or `rev:` field; none for the default branch. */
export function planRevisions(field: FieldNode, nowMs: number): readonly RevisionSpec[] {
  if (field.name === "rev" && field.predicate?.name === "at.time") return [atTime(field.predicate.argument, nowMs)];
  return readRevisions(field)
    .filter((typed) => !isExclusion(typed))
    .map(parseRevisionSpec);
}

/** The revisions whose history a search of history excludes, in a validated `repo:` or `rev:` field; without the `^`. */
export function planExclusions(field: FieldNode): readonly string[] {
  return readRevisions(field)
    .filter(isExclusion)
    .map((typed) => typed.slice(1));
}

function isExclusion(typed: string): boolean {
  return typed.startsWith("^");
}

/** A revision as typed: a name or a glob. */
export function parseRevisionSpec(typed: string): RevisionSpec {
  if (typed.startsWith("*!")) return { kind: "glob", typed, negated: true, pattern: typed.slice(2) };
  if (typed.startsWith("*")) return { kind: "glob", typed, negated: false, pattern: typed.slice(1) };
  return { kind: "name", typed };
}

/** A date and, after a comma, the revision whose history is used. */
function atTime(argument: string, nowMs: number): RevisionSpec {
  const [date, base = ""] = argument.split(",", 2);
  const unixSeconds = Math.floor(readDateMs(date, nowMs) / 1000);
  return {
    kind: "at-time",
    typed: `at.time(${argument})`,
    unixSeconds,
    base: base.trim() === "" ? "HEAD" : base.trim(),
  };
}
