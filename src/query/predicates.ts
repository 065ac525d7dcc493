import { TrawlError } from "../base/errors.js";
import { analyseRegexp } from "../regexp/analyse.js";
import { isOperator, type FieldNode, type QueryNode } from "./ast.js";
import { readDateMs } from "./dates.js";
import { parseRaw } from "./parse.js";
import { factNames, readFact } from "./repository-facts.js";

/**
 * Checks the argument of a predicate such as `repo:has.path(re)`, and that it may be negated where it is. What the
 * predicates mean is not built yet; a wrong one is told apart from one that is only too early.
 */
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

/** One entry per predicate of the field table; `test/query-validate.test.ts` compares the two. */
export const checks: Readonly<Record<string, Check>> = {
  "repo:has.path": needsRegexp("contains.path"),
  "repo:contains.path": needsRegexp("contains.path"),
  "repo:has.content": needsRegexp("contains.content"),
  "repo:contains.content": needsRegexp("contains.content"),
  "repo:has.file": checkFile,
  "repo:contains.file": checkFile,
  "repo:contains": checkFile,
  "repo:has.commit.after": needsText("date must be non-empty"),
  "repo:contains.commit.after": needsText("date must be non-empty"),
  ...Object.fromEntries(factNames.map((name) => [`repo:${name}`, (argument: string) => void readFact(name, argument)])),
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

function needsText(message: string): Check {
  return (argument) => {
    if (argument.trim() === "") throw bad(message);
  };
}

function checkContributor(argument: string): void {
  checkRegexp(argument, "the file:has.contributor() predicate has invalid argument: ");
}

/** `path:re content:re`, each once, in any order; text without a field is the path. */
function checkFile(argument: string): void {
  const root = parseRaw(argument, "regexp");
  const given = new Set<string>();
  if (root !== undefined) checkFileNode(root, given);
  if (given.size === 0) throw bad("one of path or content must be set");
}

function checkFileNode(node: QueryNode, given: Set<string>): void {
  if (isOperator(node)) {
    if (node.kind === "or") throw bad("predicates do not currently support 'or' queries");
    for (const child of node.children) checkFileNode(child, given);
    return;
  }
  if (node.negated) throw bad("predicates do not currently support negated values");
  const part = node.kind === "pattern" || node.name === "file" ? "path" : node.name;
  if (part !== "path" && part !== "content") throw bad(`unsupported option "${part}"`);
  if (given.has(part)) throw bad(`cannot specify ${part} multiple times`);
  checkRegexp(node.value, `contains.file ${part} argument: `);
  if (node.value !== "") given.add(part);
}

/** A date and, after a comma, the revision from which the history is read. */
function checkAtTime(argument: string, nowMs: number): void {
  const [date = "", , tooMuch] = argument.split(",", 3);
  if (tooMuch !== undefined) throw bad("at.time takes a date and at most one revision");
  readDateMs(date, nowMs);
}

function checkRegexp(source: string, before: string): void {
  try {
    analyseRegexp(source, false);
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
