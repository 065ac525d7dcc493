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

/** The id of a repository in GraphQL, and the number in it. */
export async function repositoryIds(
  url: string,
  name: string,
): Promise<{ readonly id: string; readonly number: number }> {
  const query = "query ($name: String!) { repository(name: $name) { id } }";
  const { data } = (await ask(url, query, { name })) as {
    readonly data: { readonly repository: { readonly id: string } };
  };
  const { id } = data.repository;
  return { id, number: Number(Buffer.from(id, "base64").toString().split(":")[1]) };
}
