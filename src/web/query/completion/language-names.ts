import table from "../../../model/languages.tsv?raw";

/** The names of all languages, which is the first column of the table. A file of its own, loaded at the first use. */
export const languageNames: readonly string[] = table
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => line.split("\t", 1)[0] ?? "");
