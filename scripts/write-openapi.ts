/** Writes the OpenAPI document of the HTTP interface, and the types of the package trawl-client. */
import { writeFileSync } from "node:fs";
import { openApiText } from "../src/http/api/openapi.js";
import { clientTypesText } from "./client-types.js";

writeFileSync("docs/openapi.json", openApiText());
writeFileSync("clients/trawl-client/src/types.ts", clientTypesText());
