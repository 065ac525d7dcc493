import { ApiError, request } from "./api-error.js";
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
  const response = await request(`/.api/graphql?${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query, variables }),
    signal,
  });
  const { data, errors } = (await response.json()) as GraphqlAnswer<T>;
  const [first] = errors ?? [];
  if (first !== undefined) throw new ApiError(response.status, first.message);
  if (data === undefined || data === null) throw new ApiError(response.status, "The answer contains no data.");
  return data;
}
