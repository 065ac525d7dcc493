import { readFileSync, statSync } from "node:fs";
import type { Command } from "commander";
import { TrawlError, errorMessage } from "../../base/errors.js";
import { addConnectionOptions } from "../command-options.js";
import { resolveConnection, type TypedConnection } from "../connection/connection.js";
import { exitCodes } from "../exit-codes.js";
import { readInput } from "../input.js";
import { Output } from "../output.js";
import { isVariable, readVariables } from "./variables.js";

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
