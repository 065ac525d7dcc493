import { TrawlError, errorMessage } from "../../base/errors.js";

/**
 * The variables of a request: those of a JSON object, and `NAME=VALUE` words, which take precedence. A value is text,
 * unless the query declares its variable with another type of GraphQL: then it is JSON, as in `first=10`.
 */
export function readVariables(
  query: string,
  json: string | undefined,
  words: readonly string[],
): Readonly<Record<string, unknown>> {
  const variables: Record<string, unknown> = { ...parseObject(json) };
  for (const word of words) {
    const [name, value] = splitVariable(word);
    variables[name] = isText(query, name) ? value : parseValue(name, value);
  }
  return variables;
}

/** Whether a word is `NAME=VALUE` and not a query, which begins with a brace or has a space before any `=`. */
export function isVariable(word: string): boolean {
  return /^[_A-Za-z][_0-9A-Za-z]*=/.test(word);
}

function splitVariable(word: string): readonly [name: string, value: string] {
  const at = word.indexOf("=");
  if (!isVariable(word))
    throw new TrawlError("bad-request", `"${word}" is not a variable; write NAME=VALUE, and the query as one word`);
  return [word.slice(0, at), word.slice(at + 1)];
}

function parseObject(json: string | undefined): object {
  if (json === undefined) return {};
  const value = parseJson(json, "--vars");
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TrawlError("bad-request", `--vars must be a JSON object, such as '{"first": 10}'`);
  return value;
}

function parseValue(name: string, value: string): unknown {
  return parseJson(value, `the value of $${name}, which the query does not declare as text,`);
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TrawlError("bad-request", `${what} is not JSON: ${errorMessage(error)}`);
  }
}

/** The types whose values are written as JSON; those of lists begin with a bracket. Other names are text or enums. */
const jsonTypes: ReadonlySet<string> = new Set(["Int", "Float", "Boolean", "JSONValue"]);

/** Whether the type that the query declares for `$name` has text as its values, as those of unknown names have. */
function isText(query: string, name: string): boolean {
  for (let at = query.indexOf("$"); at !== -1; at = query.indexOf("$", at + 1)) {
    const [, found, type = ""] = /^\$(\w{1,200})\s{0,50}:\s{0,50}(\[|\w{1,200})/.exec(query.slice(at, at + 600)) ?? [];
    if (found === name) return !jsonTypes.has(type) && type !== "[" && !type.endsWith("Input");
  }
  return true;
}
