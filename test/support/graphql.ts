/** The response to a GraphQL request, as JSON. Sends an `Authorization` header if one is passed. */
export async function ask(
  url: string,
  query: string,
  variables: Readonly<Record<string, unknown>> | null = null,
  authorization?: string,
): Promise<unknown> {
  const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
  const response = await fetch(`${url}/.api/graphql`, {
    method: "POST",
    headers,
    body: JSON.stringify({ query, variables }),
  });
  return JSON.parse(await response.text());
}
