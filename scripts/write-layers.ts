/** `make layers`: writes the table of layers into ARCHITECTURE.md. */
import { readFileSync, writeFileSync } from "node:fs";
import { withLayerTable } from "./layers.js";

const page = "ARCHITECTURE.md";
writeFileSync(page, withLayerTable(readFileSync(page, "utf8")));
