/** Writes the TypeScript types of the GraphQL schema: of each field, and of each operation of the web pages. */
import { writeFileSync } from "node:fs";
import { schemaTypesText } from "./graphql-types.js";
import { findWebOperations, operationTypesText } from "./web-operations.js";
import { schemaText } from "../src/graphql/execution/schema-document.js";

writeFileSync("src/graphql/resolvers/schema-types.ts", schemaTypesText(schemaText()));
writeFileSync("src/web/api/operation-types.ts", operationTypesText(schemaText(), findWebOperations()));
