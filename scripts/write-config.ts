/** Writes the JSON schema and the commented sample of the configuration from the options table. */
import { writeFileSync } from "node:fs";
import { configSample, configSchema } from "../src/daemon/config/config-schema.js";

writeFileSync("config/trawl.schema.json", `${JSON.stringify(configSchema(), null, 2)}\n`);
writeFileSync("config/trawl.jsonc", configSample());
