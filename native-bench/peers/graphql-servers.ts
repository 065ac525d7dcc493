import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkoutFolder } from "../system/folders.js";
import { firstLine, start } from "../system/processes.js";

/**
 * What serves GraphQL beside our daemon: the reference program as its own documentation has it, the same with the
 * texts' documents kept, and a server library.
 */
export const graphqlWays = ["graphql-js", "graphql-js, documents kept", "graphql-yoga"] as const;
export type GraphqlWay = (typeof graphqlWays)[number];

/** What they answer with. */
export interface GraphqlData {
  readonly repositories: readonly Readonly<Record<string, unknown>>[];
  readonly currentUser: Readonly<Record<string, unknown>>;
}

const packages = {
  "graphql-js": "graphql",
  "graphql-js, documents kept": "graphql",
  "graphql-yoga": "graphql-yoga",
} as const;

/** As installed in this checkout. */
export function graphqlVersion(way: GraphqlWay): string {
  return (
    JSON.parse(readFileSync(join(checkoutFolder, "node_modules", packages[way], "package.json"), "utf8")) as {
      version: string;
    }
  ).version;
}

/** Starts one and resolves with its address. It ends with this process. */
export async function startGraphqlServer(way: GraphqlWay, dataFile: string): Promise<string> {
  const program = fileURLToPath(new URL("graphql-server.js", import.meta.url));
  return await firstLine(
    start(process.execPath, [program, way, dataFile], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_ENV: "production" },
    }),
  );
}
