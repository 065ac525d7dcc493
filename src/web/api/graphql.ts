import { ApiError, request } from "./api-error.js";

interface GraphqlAnswer<T> {
  readonly data?: T | null;
  readonly errors?: readonly { readonly message: string }[];
}

/**
 * Runs a GraphQL operation. `name` is the operation's name, for the daemon's metrics. The caller states the type of the
 * data, which the query determines. Throws an `ApiError` if there is any error.
 */
export async function graphql<T>(
  name: string,
  query: string,
  variables: Readonly<Record<string, unknown>> = {},
  signal: AbortSignal | null = null,
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
