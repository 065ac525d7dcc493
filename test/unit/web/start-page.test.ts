/** The texts of the start page: help for each filter of the query language, and examples. */
import t from "tap";
import { readFileSync } from "node:fs";
import { describeFilters } from "../../../scripts/query-help.mjs";
import { fieldNames, fields } from "../../../src/query/syntax/fields.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";
import { generalExamples, languageExamples } from "../../../src/web/search/home/language-examples.js";

const help = describeFilters(readFileSync("docs/query-syntax.md", "utf8"));

/** Refused, or other names of a predicate that are no fields of their own in the table. */
const withoutHelp = new Set(["g", "rule"]);

t.test("each filter is described, with its other names and an example", async (t) => {
  const names = new Set(help.flatMap((one) => one.names));
  for (const name of fieldNames) {
    if (withoutHelp.has(name)) continue;
    const typed = name === "patterntype" ? "patternType" : name;
    t.ok(names.has(`${typed}:`), name);
    for (const alias of fields[name].aliases) t.ok(names.has(`${alias}:`), `${name}, as ${alias}:`);
  }
  for (const { names: own, finds, takes } of help) {
    t.not(finds.trim(), "", own.join());
    t.notMatch(finds + takes, /[`|]|\]\(/, own.join());
  }
  const after = help.find((one) => one.names.includes("after:"));
  t.same(after?.names, ["after:", "since:"]);
  t.equal(after?.isNegatable, false);
});

t.test("examples are valid queries", async (t) => {
  for (const { examples } of help)
    for (const example of examples) t.doesNotThrow(() => parseQuery(example, "standard"), example);
  const languages = ["Go", "C++", "TypeScript", "Brainfuck"];
  const offered = languageExamples(languages);
  t.equal(offered.length, 3, "a language without an example of its own has none");
  for (const [example] of [...offered, ...generalExamples("a b"), ...generalExamples(undefined)])
    t.doesNotThrow(() => parseQuery(example, "keyword"), example);
});
