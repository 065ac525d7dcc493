import { ApiError, ownHeaders, request } from "./api-error.js";
import type { Operations } from "./operation-types.js";

interface GraphqlAnswer<T> {
  readonly data?: T | null;
  readonly errors?: readonly { readonly message: string }[];
}

/** The name of an operation whose types are known: its text is a constant of a module. */
export type OperationName = keyof Operations;

/** The variables that an operation declares. */
export type Variables<Name extends OperationName> = Operations[Name]["variables"];

/**
 * Runs a GraphQL operation. `name` is the operation's name, for its types and for the daemon's metrics. Throws an `ApiError`
 * if there is any error.
 */
export function graphql<Name extends OperationName>(
  name: Name,
  query: string,
  variables: Variables<Name>,
  signal: AbortSignal | null = null,
): Promise<Operations[Name]["data"]> {
  return graphqlText(name, query, variables, signal);
}

/** The same for a text that is made when it is run, for which the caller states the type of the data. */
export async function graphqlText<T>(
  name: string,
  query: string,
  variables: Readonly<Record<string, unknown>>,
  signal: AbortSignal | null,
): Promise<T> {
  const { response, answer } = await ask<T>(name, query, variables, signal);
  const { data, errors } = answer;
  const [first] = errors ?? [];
  if (first !== undefined)
    throw new ApiError(first.message === "not authenticated" ? 401 : response.status, first.message);
  if (data === undefined || data === null) throw new ApiError(response.status, "The answer contains no data.");
  return data;
}

/** The same for data whose parts are worth having without the others: a part with an error is null. */
export async function graphqlParts<T>(
  name: string,
  query: string,
  variables: Readonly<Record<string, unknown>>,
  signal: AbortSignal | null,
): Promise<T> {
  const { response, answer } = await ask<T>(name, query, variables, signal);
  if (answer.data != null) return answer.data;
  throw new ApiError(response.status, answer.errors?.[0]?.message ?? "The answer contains no data.");
}

async function ask<T>(
  name: string,
  query: string,
  variables: Readonly<Record<string, unknown>>,
  signal: AbortSignal | null,
): Promise<{ readonly response: Response; readonly answer: GraphqlAnswer<T> }> {
  const response = await request(`/.api/graphql?${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query, variables }),
    signal,
  });
  return { response, answer: (await response.json()) as GraphqlAnswer<T> };
}

/** What a person sends by hand, and the answer as it is. */
export interface GraphqlCall {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | undefined;
  /** An access token; "" for the session of the browser. */
  readonly token: string;
}

export interface GraphqlReply {
  readonly status: number;
  readonly text: string;
  readonly durationMs: number;
  /** Whether the text ends before the answer does. */
  readonly isCut: boolean;
}

/** A longer answer is cut: it is to be read by a person. */
const replyLengthMax = 8 << 20;

/** Sends an operation. Every answer of the daemon is a reply, also a refusal; throws if none can be had. */
export async function callGraphql(call: GraphqlCall, signal: AbortSignal): Promise<GraphqlReply> {
  const { query, variables, operationName, token } = call;
  const startMs = performance.now();
  const response = await fetch(`/.api/graphql?${encodeURIComponent(operationName ?? "Console")}`, {
    method: "POST",
    // With a token, the session counts for nothing, so that a person sees what a program gets.
    credentials: token === "" ? "same-origin" : "omit",
    headers: {
      ...ownHeaders,
      "Content-Type": "application/json",
      ...(token === "" ? {} : { Authorization: `token ${token}` }),
    },
    body: JSON.stringify({ query, variables, ...(operationName === undefined ? {} : { operationName }) }),
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    if (error instanceof TypeError && /header|Latin|ISO-8859|ByteString/i.test(error.message))
      throw new ApiError(0, "The access token holds a character that no token has.");
    throw new ApiError(0, "The server cannot be reached. Check the connection; it may also be restarting.");
  });
  const { text, isCut } = await readText(response);
  return { status: response.status, text, durationMs: performance.now() - startMs, isCut };
}

async function readText({ body }: Response): Promise<{ readonly text: string; readonly isCut: boolean }> {
  if (body === null) return { text: "", isCut: false };
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text, isCut: false };
    text += value;
    if (text.length <= replyLengthMax) continue;
    await reader.cancel();
    return { text: text.slice(0, replyLengthMax), isCut: true };
  }
}
