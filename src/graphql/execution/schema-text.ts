import { readFileSync } from "node:fs";

/** The schema in GraphQL's schema language. It is next to the sources, because the compiler does not copy it. */
export function schemaText(): string {
  return readFileSync(new URL("../../../../src/graphql/schema.graphql", import.meta.url), "utf8");
}
