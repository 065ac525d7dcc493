import { Operations } from "../../src/graphql/execution/operations.js";
import { createSchema } from "../../src/graphql/execution/schema.js";
import { makeText, type Vocabulary } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";

/** The limits that the daemon has by default. */
const limits = { aliases: 500, fields: 500_000, depth: 30, duplicateFields: 500, uniqueFields: 500 };

const samples = [
  "query q($n: Int = 3, $q: String!) { search(query: $q, version: V3) { results { matchCount results { __typename ... on FileMatch { file { path } } } } } repositories(first: $n) { nodes { name } } }",
  "{ site { productVersion } currentUser { username } }",
  '{ ...f } fragment f on Query { repository(name: "a") { commit(rev: "HEAD") { oid tree(path: "") { entries(first: 10) { name } } } } }',
  "{ __schema { types { name fields { name type { name ofType { name } } } } } }",
  'mutation { setRepositoryDescription(repository: "x", description: "y") { alwaysNil } }',
];

const document: Vocabulary = {
  pieces: [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ":",
    "!",
    "$",
    "@",
    "...",
    "|",
    "&",
    "=",
    ",",
    "#",
    "\n",
    " ",
    '"',
    '"""',
    "\\u",
    "\\",
    "query",
    "mutation",
    "subscription",
    "fragment",
    "on",
    "f",
    "...f",
    "a",
    "x: site",
    "site",
    "{ site { productVersion } }",
    "repositories",
    "(first: 100)",
    "(first: $n)",
    "$n: Int",
    "nodes",
    "name",
    "__typename",
    "__schema",
    "types",
    "search",
    "results",
    "@include(if: true)",
    "@skip(if: $n)",
    "1",
    "-1",
    "1e99",
    "null",
    "true",
    "{a: {a: 1}}",
    "[[",
    "fragment f on Query { ...f ...f }",
    "\ufeff",
    "é",
  ],
  samples,
  lengthMax: 65_536,
};

const schema = createSchema();

export const graphqlTargets: readonly FuzzTarget[] = [
  {
    name: "graphql",
    cpuMsMax: 250,
    testCount: 300,
    make: (random) => makeText(random, document),
    run: (input) => {
      const operations = new Operations(schema, limits, () => "https://example.org/");
      const text = input.toString();
      for (const variables of [{}, { n: 3, q: "a" }]) {
        const prepared = operations.prepare(text, undefined, variables);
        if (prepared.kind === "refused" && prepared.errors.length === 0)
          throw new RangeError("refused without an error");
      }
    },
  },
];
