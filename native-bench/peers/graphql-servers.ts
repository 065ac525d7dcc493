import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkoutFolder, firstLine, start } from "../system/processes.js";

/**
 * The servers beside our daemon: the reference implementation as in its own documentation, the same with cached
 * documents, and a server library.
 */
export const graphqlWays = ["graphql-js", "graphql-js, documents kept", "graphql-yoga"] as const;

export type GraphqlWay = (typeof graphqlWays)[number];

/** What they answer with. */
export interface GraphqlData {
  readonly repositories: readonly Readonly<Record<string, unknown>>[];
  readonly currentUser: Readonly<Record<string, unknown>>;
}

/** As installed in this checkout. */
export function graphqlVersion(way: GraphqlWay): string {
  const name = way === "graphql-yoga" ? "graphql-yoga" : "graphql";
  const text = readFileSync(join(checkoutFolder, "node_modules", name, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Starts one and resolves with its address. It ends with this process. */
export async function startGraphqlServer(way: GraphqlWay, dataFile: string): Promise<string> {
  const program = fileURLToPath(new URL("graphql-server.js", import.meta.url));
  const env = { ...process.env, NODE_ENV: "production" };
  const args = [program, way, dataFile];
  return await firstLine(start(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env }));
}
