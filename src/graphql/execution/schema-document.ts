import { readFileSync } from "node:fs";
import { parse, type DocumentNode } from "graphql";

/** The schema in GraphQL's schema language. It is next to the sources, because the compiler does not copy it. */
export function schemaText(): string {
  return readFileSync(new URL("../../../../src/graphql/schema.graphql", import.meta.url), "utf8");
}

/**
 * The schema as GraphQL's parser returns it, without positions. The bundle has it as JSON, which is read in a tenth of the time
 * (scripts/bundle.mjs).
 */
export function schemaDocument(): DocumentNode {
  return parse(schemaText(), { noLocation: true });
}
