import { parse, type DocumentNode } from "graphql";
import { schemaText } from "./schema-text.js";

/**
 * The schema as GraphQL's parser returns it, without positions. The bundle has it as JSON, which is read in a tenth of the time
 * (scripts/bundle.mjs).
 */
export function schemaDocument(): DocumentNode {
  return parse(schemaText(), { noLocation: true });
}
