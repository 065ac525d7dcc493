import type { IncomingMessage } from "node:http";
import { TrawlError } from "../../base/errors.js";
import { printCaret } from "../../query/syntax/query-error.js";
import type { Connection } from "../connection/connection.js";
import { curlCall, send, urlAt } from "../connection/send.js";
import { exitCodes } from "../terminal/exit-codes.js";
import { visibleLines } from "../terminal/output.js";

export interface ApiRequest {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The response of the interface, as far as commands read it. */
interface ApiResponse {
  readonly data?: unknown;
  readonly errors?: readonly ApiError[];
}

interface ApiError {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
}

const path = ".api/graphql";
const accept = "application/json";
const responseBytesMax = 256 * 1024 * 1024;

/** Sends a request and prints the response as JSON, and its errors. Resolves with the exit code. */
export async function runApi(
  connection: Connection,
  request: ApiRequest,
  write: { readonly out: (text: string) => Promise<void>; readonly err: (text: string) => void },
): Promise<number> {
  const response = await ask(connection, request);
  await write.out(`${JSON.stringify(response, null, 2)}\n`);
  for (const error of response.errors ?? []) write.err(`trawl: ${errorText(error, request.query)}\n`);
  return response.errors === undefined ? exitCodes.matches : exitCodes.failed;
}

/** The data of a response. Throws its first error. */
export async function queryData<T>(connection: Connection, request: ApiRequest): Promise<T> {
  const { data, errors: [error] = [] } = await ask(connection, request);
  if (error === undefined) return data as T;
  // The document is not the user's, so a place in it says nothing.
  const { message } = error;
  throw message === "not authenticated"
    ? new TrawlError("forbidden", `${message}; run \`trawl login\`, or set an access token in TRAWL_TOKEN`)
    : new TrawlError("bad-request", message);
}

/** The same request as a call of curl. */
export function apiAsCurl(connection: Connection, request: ApiRequest): string {
  return curlCall(connection, urlAt(connection, path), accept, JSON.stringify(request));
}

async function ask(connection: Connection, request: ApiRequest): Promise<ApiResponse> {
  const url = urlAt(connection, path);
  // A request that costs too much is answered with 400, and with the errors in the body.
  const response = await send(connection, { url, accept, body: JSON.stringify(request), mayBeBad: true });
  const text = await readText(response);
  try {
    return JSON.parse(text) as ApiResponse;
  } catch {
    const told = visibleLines(text.slice(0, 200));
    throw new TrawlError("bad-request", `${connection.endpoint} answered ${response.statusCode} without JSON: ${told}`);
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    byteCount += part.length;
    if (byteCount > responseBytesMax)
      throw new TrawlError(
        "bad-request",
        `the response is longer than ${responseBytesMax} bytes; request less at once`,
      );
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function errorText({ message, locations: [place] = [], path = [] }: ApiError, query: string): string {
  const where = path.length === 0 ? "" : ` (at ${path.join(".")})`;
  if (place === undefined) return visibleLines(message) + where;
  const lines = query.split("\n");
  const from = lines.slice(0, place.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + place.column - 1;
  // The name at this place is what the message is about.
  const [word = ""] = /^\w{0,200}/.exec(query.slice(from, from + 200)) ?? [];
  return `${visibleLines(message)}${where}\n\n${printCaret(query, { from, to: from + Math.max(1, word.length) })}`;
}
