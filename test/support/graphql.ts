/** The answer to a GraphQL request, as JSON; with an `Authorization` header when one is given. */
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
