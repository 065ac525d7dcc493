import { TrawlError } from "../../base/errors.js";
import { parseRegexp } from "../../regexp/syntax/parse.js";
import type { FieldNode } from "../syntax/ast.js";
import { queryLimits } from "../syntax/limits.js";

/*
 * Predicates on attributes of a repository, such as `repo:has.topic(go)`. Parsers of their arguments throw a
 * `TrawlError` with code `bad-query`; the validator adds the position.
 */

/** A predicate on attributes of a repository, which do not depend on its content. */
export interface RepositoryPredicate {
  readonly negated: boolean;
  /** As typed, for example `has.topic(go)`. */
  readonly label: string;
  readonly test: DescriptionTest | TopicTest | MetadataTest;
}

export interface DescriptionTest {
  readonly kind: "description";
  /** RE2 source; case is ignored. */
  readonly source: string;
}

export interface TopicTest {
  readonly kind: "topic";
  readonly topic: string;
}

/** A text that must be equal; or an RE2 source that must match somewhere, case-sensitively. */
export interface TextPredicate {
  readonly text: string;
  readonly isRegexp: boolean;
}

/** Some key of the repository's metadata must match together with its value. */
export interface MetadataTest {
  readonly kind: "metadata";
  readonly key: TextPredicate;
  /** "any" matches every value, and a key without one; "none" only a key without a value. */
  readonly value: TextPredicate | "any" | "none";
}

type Reader = (argument: string) => PredicateTest;

type PredicateTest = RepositoryPredicate["test"];

const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["has.description", (argument) => ({ kind: "description", source: readDescription(argument) })],
  ["has.topic", (argument) => ({ kind: "topic", topic: readText(argument, "topic must be non-empty") })],
  ["has.meta", readMetadata],
  ["has", readPair],
  ["has.key", (argument) => metadata(plain(readText(argument, "key must be non-empty")), "any")],
  ["has.tag", (argument) => metadata(plain(readText(argument, "tag must be non-empty")), "none")],
]);

/** Names of the predicates on attributes, as they occur after `repo:`. */
export const factNames: readonly string[] = [...readers.keys()];

export function isPredicate({ name, predicate }: FieldNode): boolean {
  return name === "repo" && predicate !== undefined && readers.has(predicate.name);
}

/** The condition for a predicate's argument. */
export function readPredicate(name: string, argument: string): PredicateTest {
  const read = readers.get(name);
  if (read === undefined) throw new TrawlError("internal", `${name} is no predicate on attributes`);
  return read(argument);
}

/** The conditions of a valid query's fields. */
export function readPredicates(fields: readonly FieldNode[]): readonly RepositoryPredicate[] {
  return fields.flatMap((field) => {
    const { predicate, negated } = field;
    if (predicate === undefined || !isPredicate(field)) return [];
    return [
      {
        negated,
        label: `${predicate.name}(${predicate.argument})`,
        test: readPredicate(predicate.name, predicate.argument),
      },
    ];
  });
}

function readText(argument: string, message: string): string {
  const text = argument.trim();
  if (text === "") throw bad(message);
  return text;
}

/** A space matches any text between two words; a dot also matches newlines. */
function readDescription(argument: string): string {
  if (argument === "") throw bad("has.description argument should not be empty");
  checkRegexp(argument, "has.description argument: ");
  return `(?s:(?:${replaceBlanks(argument)}))`;
}

/**
 * Spaces in classes and after a backslash are kept. Elsewhere each run closes a group and opens another, which
 * preserves the nesting.
 */
function replaceBlanks(source: string): string {
  let replaced = "";
  // An unclosed class is text; a class that begins later is not closed either.
  let classesClose = true;
  for (let at = 0; at < source.length; ) {
    const classEnd: number | undefined = classesClose && source[at] === "[" ? endOfClass(source, at) : undefined;
    if (source[at] === "[" && classEnd === undefined) classesClose = false;
    const end: number = classEnd ?? endOfPiece(source, at);
    replaced += source[at] === " " ? ").*?(?:" : source.slice(at, end);
    at = end;
  }
  return replaced;
}

/** The index after the `]` of the class that begins here; undefined if there is none. */
function endOfClass(source: string, from: number): number | undefined {
  for (let at = from + 1; at < source.length; at += source[at] === "\\" ? 2 : 1) if (source[at] === "]") return at + 1;
  return undefined;
}

/** The index after a run of spaces, an escape, or one character. */
function endOfPiece(source: string, from: number): number {
  if (source[from] === "\\") return Math.min(source.length, from + 2);
  let end = from + 1;
  while (source[from] === " " && source[end] === " ") end++;
  return end;
}

/** `key:value`, each unquoted or quoted. */
function readPair(argument: string): PredicateTest {
  const [keyPart, valuePart] = splitMetadata(argument);
  if (valuePart === undefined) throw bad("expected params of the form key:value");
  return metadata(readQuoted(keyPart), readQuoted(valuePart));
}

/** `key`, `key:` or `key:value`; each part is unquoted, quoted or a regexp between slashes. */
function readMetadata(argument: string): PredicateTest {
  const [keyPart, valuePart] = splitMetadata(argument);
  const key = readPart(keyPart, "key");
  if (valuePart === undefined) return metadata(key, "any");
  return metadata(key, valuePart === "" ? "none" : readPart(valuePart, "value"));
}

/** The key and, after a colon, the value, each as typed. */
function splitMetadata(argument: string): readonly [key: string, value: string | undefined] {
  const text = argument.trim();
  const key = leadingPart(text);
  if (key === "" || key === '""' || key === "''" || key === "//") throw bad("key cannot be empty");
  const rest = text.slice(key.length);
  if (rest === "") return [key, undefined];
  const value = leadingPart(rest.slice(1));
  if (!rest.startsWith(":") || value.length + 1 < rest.length) throw bad("unexpected extra content");
  return [key, value];
}

const part = /^(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\/(?:\\.|[^/\\])*\/|[^:"'\s]*)/s;

function leadingPart(text: string): string {
  return part.exec(text)?.[0] ?? "";
}

function readPart(text: string, what: string): TextPredicate {
  if (text.length < 2 || !text.startsWith("/") || !text.endsWith("/")) return readQuoted(text);
  const source = text.slice(1, -1).replaceAll("\\/", "/");
  checkRegexp(source, `has.meta ${what} argument: `);
  return { text: source, isRegexp: true };
}

function readQuoted(text: string): TextPredicate {
  const isQuoted = text.length > 1 && (text.startsWith('"') || text.startsWith("'")) && text.endsWith(text.slice(0, 1));
  return plain(isQuoted ? text.slice(1, -1).replace(/\\(["'\\])/g, "$1") : text);
}

function plain(text: string): TextPredicate {
  return { text, isRegexp: false };
}

function metadata(key: TextPredicate, value: MetadataTest["value"]): MetadataTest {
  return { kind: "metadata", key, value };
}

function checkRegexp(source: string, before: string): void {
  if (source.length > queryLimits.namePatternLengthMax)
    throw bad(`${before}a regexp longer than ${queryLimits.namePatternLengthMax} characters`);
  try {
    parseRegexp(source, false);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "bad-query") throw error;
    throw bad(before + error.message);
  }
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-query", message);
}
