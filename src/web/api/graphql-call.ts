import { ApiError, ownHeaders } from "./api-error.js";

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
