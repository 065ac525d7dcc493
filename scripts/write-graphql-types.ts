/** Writes the TypeScript types of the GraphQL schema: the arguments and the result of each field. */
import { writeFileSync } from "node:fs";
import { schemaTypesText } from "./graphql-types.js";
import { schemaText } from "../src/graphql/execution/schema-text.js";

writeFileSync("src/graphql/schema-types.ts", schemaTypesText(schemaText()));
