import { readFileSync } from "node:fs";

/** The contract, in GraphQL's own language. It lies beside the sources, as the compiler copies nothing. */
export function schemaText(): string {
  return readFileSync(new URL("../../../../src/graphql/schema.graphql", import.meta.url), "utf8");
}
