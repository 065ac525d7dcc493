/** The answer to a GraphQL request, as JSON. */
export async function ask(url: string, query: string, variables: Readonly<Record<string, unknown>> | null = null): Promise<unknown> {
  const response = await fetch(`${url}/.api/graphql`, { method: "POST", body: JSON.stringify({ query, variables }) });
  return JSON.parse(await response.text());
}
