import { revisionProblem } from "../../model/revision-syntax.js";
import { TrawlError } from "../../base/errors.js";
import { parseRegexp } from "../../regexp/syntax/parse.js";
import { isOperator, type FieldNode, type QueryNode } from "../syntax/ast.js";
import { readDateMs } from "./dates.js";
import { parseRaw } from "../syntax/parse.js";
import { factNames, readPredicate } from "./repository-predicates.js";

/** Validates the argument of a predicate such as `repo:has.path(re)`, and its negation. */
export function checkPredicate(field: FieldNode, nowMs: number): void {
  if (field.predicate === undefined) return;
  const { name, argument } = field.predicate;
  const full = `${field.name}:${name}`;
  if (field.negated && neverNegated.has(full)) {
    throw wrong(`search predicate "${full}" does not support negation`);
  }
  try {
    checks[full]?.(argument, nowMs);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "bad-query") throw error;
    throw wrong(error.message);
  }
}

const neverNegated = new Set(["repo:has.description"]);

type Check = (argument: string, nowMs: number) => void;

/** One entry per predicate of the field table; `test/unit/query/query-validate.test.ts` compares the two. */
export const checks: Readonly<Record<string, Check>> = {
  "repo:has.path": needsRegexp("contains.path"),
  "repo:contains.path": needsRegexp("contains.path"),
  "repo:has.content": needsRegexp("contains.content"),
  "repo:contains.content": needsRegexp("contains.content"),
  "repo:has.file": checkFile,
  "repo:contains.file": checkFile,
  "repo:contains": checkFile,
  "repo:has.commit.after": needsDate,
  "repo:contains.commit.after": needsDate,
  ...Object.fromEntries(
    factNames.map((name) => [`repo:${name}`, (argument: string) => void readPredicate(name, argument)]),
  ),
  "file:has.content": needsRegexp("contains.content"),
  "file:contains.content": needsRegexp("contains.content"),
  "file:has.owner": () => undefined,
  "file:has.contributor": checkContributor,
  "rev:at.time": checkAtTime,
};

function needsRegexp(name: string): Check {
  return (argument) => {
    if (argument === "") throw bad(`${name} argument should not be empty`);
    checkRegexp(argument, `${name} argument: `);
  };
}

function needsDate(argument: string, nowMs: number): void {
  if (argument.trim() === "") throw bad("date must be non-empty");
  readDateMs(argument, nowMs);
}

function checkContributor(argument: string): void {
  checkRegexp(argument, "the file:has.contributor() predicate has invalid argument: ");
}

/** The conditions of `repo:has.file(...)` on one file; "" for no condition. */
export interface FileArgument {
  path: string;
  content: string;
}

/** Parses `path:re content:re`, each at most once, in any order; text without a field is the path. */
export function readFileArgument(argument: string): FileArgument {
  const root = parseRaw(argument, "regexp");
  const given: FileArgument = { path: "", content: "" };
  if (root !== undefined) addFileNode(root, given);
  if (given.path === "" && given.content === "") throw bad("one of path or content must be set");
  return given;
}

function checkFile(argument: string): void {
  const given = readFileArgument(argument);
  for (const part of ["path", "content"] as const) checkRegexp(given[part], `contains.file ${part} argument: `);
}

function addFileNode(node: QueryNode, given: FileArgument): void {
  if (isOperator(node)) {
    if (node.kind === "or") throw bad("predicates do not currently support 'or' queries");
    for (const child of node.children) addFileNode(child, given);
    return;
  }
  if (node.negated) throw bad("predicates do not currently support negated values");
  const part = node.kind === "pattern" || node.name === "file" ? "path" : node.name;
  if (part !== "path" && part !== "content") throw bad(`unsupported option "${part}"`);
  if (given[part] !== "") throw bad(`cannot specify ${part} multiple times`);
  given[part] = node.value;
}

/** A date and, after a comma, the revision whose history is used. */
function checkAtTime(argument: string, nowMs: number): void {
  const [date = "", base = "", tooMuch] = argument.split(",", 3);
  if (tooMuch !== undefined) throw bad("at.time takes a date and at most one revision");
  const problem = base.trim() === "" ? null : revisionProblem(base.trim());
  if (problem !== null) throw bad(`the revision of at.time ${problem}`);
  readDateMs(date, nowMs);
}

function checkRegexp(source: string, before: string): void {
  try {
    parseRegexp(source, false);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "bad-query") throw error;
    throw bad(before + error.message);
  }
}

function wrong(message: string): TrawlError {
  return bad(`invalid predicate value: ${message}`);
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-query", message);
}
