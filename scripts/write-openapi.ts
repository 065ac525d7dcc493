/** Writes the OpenAPI document of the HTTP interface. */
import { writeFileSync } from "node:fs";
import { openApiText } from "../src/http/api/openapi.js";

writeFileSync("docs/openapi.json", openApiText());
