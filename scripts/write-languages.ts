/** Writes the table of languages from the package linguist-languages. */
import { writeFileSync } from "node:fs";
import { languagesText } from "./languages-text.js";

writeFileSync("src/model/languages.tsv", languagesText());
