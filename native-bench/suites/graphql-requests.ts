import { TrawlError } from "../../src/base/errors.js";
import type { SmallRequest } from "../load/small-requests.js";
import { graphqlWays } from "../peers/graphql-servers.js";
import type { HttpSearch } from "../peers/http.js";

/** The server that answers without looking at the request. */
export const nobody = "a server that does nothing";

/** The servers that are measured, our daemon first. */
export const serverNames = ["trawl", ...graphqlWays, nobody] as const;
export type ServerName = (typeof serverNames)[number];

export const repositoryFields = "id name description url stars isFork isArchived isPrivate";

/** The operations that all servers answer. */
export const operations = [
  { name: "a list of 200 fields", query: `query { repositories(first: 25) { nodes { ${repositoryFields} } } }` },
  {
    name: "a list of 200 items of 8 fields",
    query: `query { repositories(first: 200) { nodes { ${repositoryFields} } } }`,
  },
  { name: "currentUser { username }", query: "query { currentUser { username } }" },
] as const;

/** The smallest one: its latency is that of a request. */
export const userOperation = operations[2];

export const connections = 32;

/** The constant rate at which latency counts from when a request was due: what the slowest server can bear. */
export const ratePerSecond = 1000;

export function smallRequest(query: string, token: string): SmallRequest {
  return { method: "POST", path: "/.api/graphql", headers: makeHeaders(token), body: JSON.stringify({ query }) };
}

function makeHeaders(token: string): Readonly<Record<string, string>> {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  return token === "" ? headers : { ...headers, Authorization: `token ${token}` };
}

export function curlRequest(url: string, query: string): HttpSearch {
  return { url: `${url}/.api/graphql`, body: JSON.stringify({ query }) };
}

/** The data of a good answer. */
export async function fetchData(url: string, query: string, token: string): Promise<unknown> {
  const { method, path, headers, body } = smallRequest(query, token);
  const response = await fetch(url + path, { method, headers, body });
  const { data, errors } = (await response.json()) as { data?: unknown; errors?: unknown };
  if (errors !== undefined) throw new TrawlError("internal", `${query}: ${JSON.stringify(errors).slice(0, 300)}`);
  return data;
}
