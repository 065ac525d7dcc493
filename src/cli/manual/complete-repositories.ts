import { escapeRegexp } from "../../base/text.js";
import type { Connection } from "../connection/connection.js";
import { send, urlAt } from "../connection/send.js";

/** Who presses the tab key does not wait longer. */
const timeoutMs = 700;
const countMax = 50;
const bytesMax = 64 * 1024;

/**
 * Names of repositories that begin with this, for a completion script: some if there are many, none if the daemon does not
 * answer in time. Only those without a character that a shell or a regexp takes for something else.
 */
export async function completeRepositories(connection: Connection, start: string): Promise<readonly string[]> {
  try {
    const query =
      "query ($query: String!, $first: Int!) { repositories(query: $query, first: $first) { nodes { name } } }";
    const variables = { query: `^${escapeRegexp(start)}`, first: countMax };
    const body = JSON.stringify({ query, variables });
    const url = urlAt(connection, ".api/graphql");
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await send(connection, { url, accept: "application/json", body, signal });
    const parts: Buffer[] = [];
    let byteCount = 0;
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part);
      byteCount += part.length;
      if (byteCount > bytesMax) return [];
    }
    const { data } = JSON.parse(Buffer.concat(parts).toString()) as Answer;
    return data.repositories.nodes
      .map(({ name }) => name)
      .filter((name) => name.toLowerCase().startsWith(start.toLowerCase()) && /^\w[\w./-]*$/.test(name))
      .slice(0, countMax);
  } catch {
    // An error would be printed into the command line.
    return [];
  }
}

interface Answer {
  readonly data: { readonly repositories: { readonly nodes: readonly { readonly name: string }[] } };
}
