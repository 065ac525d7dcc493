import { refGlobProblem, revisionProblem } from "../../model/revision-syntax.js";
import { TrawlError } from "../../base/errors.js";

export type YesNoOnly = "yes" | "no" | "only";

/* Parsers of field values. Each throws a `TrawlError` with code `bad-query`; the validator adds the position. */

/** The largest number that `count:` takes, as in Sourcegraph; only `count:all` has more matches. */
export const countMax = 2_147_483_647;

export function readCount(value: string): number {
  if (!/^[+-]?[0-9]+$/.test(value)) throw bad(`field count has value ${value}, ${value} is not a number`);
  const count = Number(value);
  if (Math.abs(count) > countMax) {
    throw bad("field count has a value that is out of range, try making it smaller");
  }
  if (count <= 0) throw bad("field count requires a positive number");
  return count;
}

const trueWords = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const falseWords = new Set(["0", "f", "F", "FALSE", "false", "False"]);

export function readBoolean(value: string): boolean {
  const word = value.toLowerCase();
  if (trueWords.has(value) || word === "y" || word === "yes") return true;
  if (falseWords.has(value) || word === "n" || word === "no") return false;
  throw bad(`invalid boolean "${value}"`);
}

const yesWords = new Set([...trueWords, "y", "Y", "yes", "YES", "Yes"]);
const noWords = new Set([...falseWords, "n", "N", "no", "NO", "No"]);
const onlyWords = new Set(["o", "only", "ONLY", "Only"]);

export function readYesNoOnly(field: string, value: string): YesNoOnly {
  if (yesWords.has(value)) return "yes";
  if (noWords.has(value)) return "no";
  if (onlyWords.has(value)) return "only";
  throw bad(`invalid value "${value}" for field "${field}". Valid values are: yes, only, no`);
}

export function readVisibility(value: string): "any" | "public" | "private" {
  const word = value.toLowerCase();
  return word === "public" || word === "private" ? word : "any";
}

const millisecondsOf: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

const durationNumber = /[0-9]*(?:\.[0-9]*)?/y;
const durationUnit = /[nuµμ]s|ms?|[sh]/y;

/** Far more than 292 years in nanoseconds need. */
const durationLengthMax = 100;

/** The maximum of 64 bits of nanoseconds: 292 years. */
const durationMsMax = 2 ** 63 / 1e6;

const badTimeout = `invalid value for field 'timeout' (examples: "timeout:2s", "timeout:200ms")`;

/** Parses a duration in Go's format, such as `1m30s` or `1.5h`; "0" needs no unit. */
export function readTimeoutMs(value: string): number {
  const sign = value.startsWith("-") ? -1 : 1;
  const parts = value.replace(/^[+-]/, "");
  if (parts === "0") return 0;
  if (parts === "") throw bad(badTimeout);
  if (parts.length > durationLengthMax) throw bad(`${badTimeout}: it is longer than ${durationLengthMax} characters`);
  let milliseconds = 0;
  for (let at = 0; at < parts.length; ) {
    const amount = wordAt(durationNumber, parts, at);
    const unit = wordAt(durationUnit, parts, at + amount.length);
    // Also rejects NaN, the value of a single dot.
    if (amount === "" || unit === "" || !(Number(amount) >= 0)) throw bad(badTimeout);
    milliseconds += Number(amount) * (millisecondsOf.get(unit) ?? 0);
    if (milliseconds > durationMsMax) throw bad(badTimeout);
    at += amount.length + unit.length;
  }
  return Math.max(0, sign * milliseconds);
}

/** The match of the sticky pattern at this index; "" if there is none. */
function wordAt(pattern: RegExp, text: string, index: number): string {
  pattern.lastIndex = index;
  return pattern.exec(text)?.[0] ?? "";
}

/** The valid sequences of words in a `select:` path, and whether the results they request are implemented. */
const selectPaths: readonly string[] = [
  "repo",
  "content",
  "file",
  "file.path",
  "file.directory",
  "file.owners",
  "symbol",
  "commit",
  "commit.diff",
  "commit.diff.added",
  "commit.diff.removed",
  ...[
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enum-member",
    "struct",
    "event",
    "operator",
    "type-parameter",
  ].map((kind) => `symbol.${kind}`),
];

const selectPathSet = new Set(selectPaths);

/** The error names the first invalid word. */
export function readSelect(value: string): string {
  const words = value.split(".");
  for (let length = 1; length <= words.length; length++) {
    if (selectPathSet.has(words.slice(0, length).join("."))) continue;
    throw bad(`invalid field "${words[length - 1]}" on select path "${value}"`);
  }
  return value;
}

/** A `repo:` value: a regexp on the name, and the revisions after the first `@`. */
export function splitRepository(value: string): { readonly source: string; readonly revisions: readonly string[] } {
  const at = value.indexOf("@");
  if (at === -1) return { source: value, revisions: [] };
  return { source: value.slice(0, at), revisions: splitRevisions(value.slice(at + 1)) };
}

export function splitRevisions(value: string): readonly string[] {
  return value.split(":").filter((revision) => revision !== "");
}

/** True for `*glob` and `*!glob`, which stand for the refs that they match. */
export function isRevisionGlob(revision: string): boolean {
  return revision.startsWith("*");
}

/**
 * False for texts that are never passed to git, see `revisionProblem`. A `^` precedes a revision whose history is
 * excluded.
 */
export function isRevision(text: string): boolean {
  if (isRevisionGlob(text)) return refGlobProblem(text) === null && !text.includes("\\");
  return revisionProblem(text.startsWith("^") ? text.slice(1) : text) === null;
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-query", message);
}
