import { readFileSync, statSync } from "node:fs";
import type { Command } from "commander";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { addConnectionOptions } from "../terminal/command-options.js";
import { resolveConnection, type TypedConnection } from "../connection/connection.js";
import { exitCodes } from "../terminal/exit-codes.js";
import { readInput } from "../terminal/input.js";
import { Output } from "../terminal/output.js";

interface TypedApi extends TypedConnection {
  readonly query?: string;
  readonly file?: string;
  readonly vars?: string;
  readonly getCurl: boolean;
}

const queryBytesMax = 8 * 1024 * 1024;

/** Adds `trawl api`. */
export function addApi(program: Command, exit: (code: number) => void): void {
  const command = program
    .command("api")
    .description(
      "Send a GraphQL request, and print the response as JSON. The query is a word, a file, or standard input.",
    )
    .argument("[words...]", "the query, and variables as NAME=VALUE; - reads the query from standard input");
  addConnectionOptions(command)
    .option("--query <text>", "the query")
    .option("--file <file>", "read the query from this file")
    .option("--vars <json>", "variables as a JSON object")
    .option("--get-curl", "print the equivalent call of curl, and send nothing", false)
    .action(async (words: string[], typed: TypedApi) => exit(await api(words, typed)));
}

async function api(words: readonly string[], typed: TypedApi): Promise<number> {
  const query = await readQuery(words, typed);
  const variables = readVariables(query, typed.vars, words.slice(isQueryWord(words, typed) ? 1 : 0));
  const connection = resolveConnection(typed);
  const { apiAsCurl, runApi } = await import("./run-api.js");
  const output = new Output(process.stdout);
  if (typed.getCurl) {
    await output.write(`${apiAsCurl(connection, { query, variables })}\n`);
    return exitCodes.matches;
  }
  return await runApi(
    connection,
    { query, variables },
    { out: (text) => output.show(text), err: (text) => void process.stderr.write(text) },
  );
}

/** Whether the first word is the query, and not a variable. */
function isQueryWord([first]: readonly string[], { query, file }: TypedApi): boolean {
  return first !== undefined && query === undefined && file === undefined && !isVariable(first);
}

async function readQuery(words: readonly string[], typed: TypedApi): Promise<string> {
  if (typed.query !== undefined) return typed.query;
  if (typed.file !== undefined) return readFile(typed.file);
  const [first = "-"] = words;
  if (isQueryWord(words, typed) && first !== "-") return first;
  if (process.stdin.isTTY && words[0] !== "-")
    throw new TrawlError(
      "bad-request",
      "there is no query; write one, as in `trawl api '{ currentUser { username } }'`",
    );
  return await readInput(process.stdin, queryBytesMax);
}

function readFile(path: string): string {
  try {
    if (statSync(path).size > queryBytesMax)
      throw new TrawlError("bad-request", `${path} is larger than ${queryBytesMax} bytes`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("bad-request", `the query cannot be read: ${errorMessage(error)}`);
  }
}

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
function isVariable(word: string): boolean {
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
