import type { Failure } from "../failure.js";
import type { AnswerCheck, Exchangeable } from "./adapter.js";

/** An operation at `/.api/graphql`. */
export interface GraphqlRequest {
  readonly kind: "graphql";
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

const answerBytesMax = 64 * 1024 * 1024;

export function graphqlExchange({ query, variables }: GraphqlRequest): Exchangeable {
  const values = Object.keys(variables).length === 0 ? "" : ` ${JSON.stringify(variables)}`;
  return {
    label: `${query.replace(/\s+/g, " ").trim()}${values}`,
    method: "POST",
    path: "/.api/graphql",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query, variables }),
    contentType: "application/json",
    newCheck: () => new GraphqlCheck(),
  };
}

/** Keeps the answer, which is one JSON text, and reads it at its end. */
class GraphqlCheck implements AnswerCheck {
  readonly hasMatches = false;
  readonly #parts: Buffer[] = [];
  #byteCount = 0;

  get hasBegun(): boolean {
    return this.#byteCount > 0;
  }

  push(bytes: Buffer): Failure | undefined {
    this.#byteCount += bytes.length;
    if (this.#byteCount > answerBytesMax)
      return { kind: "grammar", message: `a GraphQL answer of more than ${answerBytesMax} bytes` };
    this.#parts.push(Buffer.from(bytes));
    return undefined;
  }

  end(): Failure | undefined {
    const answer = parsed(Buffer.concat(this.#parts).toString());
    if (answer === undefined) return { kind: "grammar", message: "the answer is no JSON object" };
    const { data, errors } = answer;
    if (errors === undefined)
      return data === undefined ? { kind: "grammar", message: "neither data nor errors" } : undefined;
    return { kind: "error", message: JSON.stringify(errors).slice(0, 200) };
  }
}

function parsed(text: string): { readonly data?: unknown; readonly errors?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
