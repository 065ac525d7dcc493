/** Writes the TypeScript types of the GraphQL schema: what each field takes and gives. */
import { writeFileSync } from "node:fs";
import { schemaTypesText } from "./graphql-types.js";
import { schemaText } from "../src/graphql/execution/schema-text.js";

writeFileSync("src/graphql/schema-types.ts", schemaTypesText(schemaText()));
