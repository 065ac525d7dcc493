/** The cost of documents, and what is rejected before it is executed. */
import { execute, parse, print } from "graphql";
import t from "tap";
import {
  argumentCharacters,
  computeCost,
  findExcess,
  hasVariableCost,
  type Cost,
} from "../../../src/graphql/execution/cost.js";
import { noOrigin } from "../../../src/model/request-origin.js";
import { RequestContext, type RequestServices } from "../../../src/browse/request-context.js";
import { mergeFields } from "../../../src/graphql/execution/merge-fields.js";
import { createSchema } from "../../../src/graphql/execution/schema.js";
import { anonymous } from "../../../src/model/viewer.js";

const many = (count: number, text: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join(" ");

const rows: readonly (readonly [name: string, document: string, expected: Partial<Cost>])[] = [
  ["one field", "{ a }", { fields: 1, depth: 1, aliases: 0, uniqueFields: 1, duplicateFields: 0 }],
  ["aliases", "{ x: a y: b { z: c } }", { aliases: 3, fields: 3, depth: 2 }],
  ["a fragment's aliases count for each spread", "{ ...f ...f } fragment f on Q { x: a }", { aliases: 2, fields: 2 }],
  ["first multiplies what lies below", "{ a(first: 10) { b { c } } }", { fields: 21 }],
  ["and limits inside each other multiply", "{ a(first: 10) { b(last: 5) { c } } }", { fields: 1 + 10 + 50 }],
  ["nodes and __typename are free", "{ a(first: 10) { nodes { __typename b } } }", { fields: 11, uniqueFields: 4 }],
  ["a negative limit multiplies nothing", "{ a(first: -3) { b } }", { fields: 2 }],
  ["of inline fragments the dearest counts", "{ a { ... on X { b c } ... on Y { d } } }", { fields: 3, depth: 3 }],
  [
    "a fragment's fields are multiplied where it is spread",
    "{ a(first: 100) { ...f } } fragment f on Q { b c }",
    { fields: 201 },
  ],
  ["named fragments add no depth", "{ a { ...f } } fragment f on Q { b { c } }", { depth: 2, expandedDepth: 3 }],
  ["the same name twice", "{ a b { a } x: a }", { duplicateFields: 3, uniqueFields: 2 }],
  [
    "operations are summed, their depths are not",
    "query q { a } query r { b { c } }",
    { fields: 3, depth: 2, uniqueFields: 3 },
  ],
  [
    "a fragment bomb is counted in one pass",
    `{ ...f0 } ${many(60, (i) => `fragment f${i} on Q { ...f${i + 1} ...f${i + 1} }`)} fragment f60 on Q { a }`,
    { fields: 2 ** 60 },
  ],
];

t.test("cost", async (t) => {
  for (const [name, document, expected] of rows) t.match(computeCost(parse(document), {}), expected, name);
  const document = parse("query ($n: Int = 7, $m: Int) { a(first: $n) { b } c(last: $m) { d } }");
  t.equal(hasVariableCost(document), true);
  t.equal(computeCost(document, {})?.fields, 1 + 7 + 1 + 1, "a default counts, and without one it is 1");
  t.equal(computeCost(document, { n: 3, m: 4 })?.fields, 1 + 3 + 1 + 4);
  t.equal(
    computeCost(parse("{ ...f } fragment f on Q { ...g } fragment g on Q { ...f }"), {}),
    undefined,
    "a fragment that leads to itself",
  );
  t.equal(computeCost(parse("{ ...f }"), {}), undefined, "a fragment that is not there");
});

t.test("characters of arguments", async (t) => {
  const variables = { long: "x".repeat(1000), list: ["ab", "cd", { a: "efg" }], length: 10 };
  const rows: readonly (readonly [document: string, characters: number])[] = [
    ["{ a }", 0],
    ['{ a(x: "abc", y: 12, z: true) }', 3 + 2 + 1],
    ['{ a(x: ["abc", "d"], y: { z: "ef" }) }', 3 + 1 + 2],
    ["query ($long: String) { a(x: $long) b(x: $long) }", 2000],
    ["query ($list: [String]) { a(x: $list) }", 1 + 2 + 2 + 1 + 3],
    ['{ a(first: 10) { b(x: "abc") } }', 2 + 10 * 3],
    ["query ($length: Int, $long: String) { a(first: $length) { b(x: $long) } }", 1 + 10_000],
    [
      'query ($long: String) { a(first: 5) { ...f } b { ...f ...f } } fragment f on Q { c(x: $long) ...g } fragment g on Q { d(x: "abc") }',
      1 + 7 * 1000 + 7 * 3,
    ],
    ["query ($long: String) { a } fragment f on Q { c(x: $long) }", 0],
    [
      `query ($long: String) { ...f0 } ${many(60, (i) => `fragment f${i} on Q { ...f${i + 1} ...f${i + 1} }`)} fragment f60 on Q { __typename(x: $long) }`,
      1000 * 2 ** 60,
    ],
  ];
  for (const [text, characters] of rows) {
    const cost = computeCost(parse(text), variables);
    t.equal(cost === undefined ? undefined : argumentCharacters(cost, variables), characters, text.slice(0, 100));
  }
});

t.test("limits", async (t) => {
  const cost: Cost = {
    aliases: 11,
    fields: 101,
    depth: 6,
    duplicateFields: 3,
    uniqueFields: 4,
    expandedDepth: 6,
    writtenFields: 20,
    literalCharacters: 0,
    variableUses: new Map(),
  };
  t.strictSame(findExcess(cost, { aliases: 10, fields: 100, depth: 5, duplicateFields: 2, uniqueFields: 3 }), [
    { type: "alias count", limit: 10, actual: 11 },
    { type: "field count", limit: 100, actual: 101 },
    { type: "query depth", limit: 5, actual: 6 },
    { type: "duplicate field count", limit: 2, actual: 3 },
    { type: "unique field count", limit: 3, actual: 4 },
  ]);
  t.strictSame(
    findExcess(cost, { aliases: 0, fields: 0, depth: 0, duplicateFields: 0, uniqueFields: 0 }),
    [],
    "0 lets everything through",
  );
  t.strictSame(
    findExcess(cost, { aliases: 11, fields: 101, depth: 6, duplicateFields: 3, uniqueFields: 4 }),
    [],
    "a limit is allowed itself",
  );
});

t.test("equal fields of a selection are merged", async (t) => {
  const shape = (document: string): string =>
    print(mergeFields(parse(document)))
      .replace(/\s+/g, " ")
      .trim();
  t.equal(shape("{ a { b } a { c } }"), "{ a { b c } }");
  t.equal(shape("{ a a a }"), "{ a }");
  t.equal(shape("{ a(x: 1) a(x: 2) }"), "{ a(x: 1) a(x: 2) }", "what conflicts stays, so that it is refused");
  t.equal(shape("{ a a @skip(if: true) }"), "{ a a @skip(if: true) }");
  t.equal(shape("{ x: a x: b }"), "{ x: a x: b }");
  t.equal(shape("{ a { b } a }"), "{ a { b } a }");
  t.equal(shape("{ a(x: 1) a(x: 2) a(x: 3) b a(x: 1) }"), "{ a(x: 1) a(x: 2) b }", "two that conflict are enough");
  t.equal(shape("{ x: a x: b x: c }"), "{ x: a x: b }");
  t.equal(
    shape("{ a(x: 1, y: 2) a(y: 2, x: 1) a @skip(if: true) }"),
    "{ a(x: 1, y: 2) a(y: 2, x: 1) a @skip(if: true) }",
    "the order of arguments is no conflict",
  );
  t.equal(shape("{ a { b { c } b { d } } }"), "{ a { b { c d } } }");
  const schema = createSchema();
  const document = parse("{ __schema { queryType { name } queryType { kind name } } __schema { queryType { name } } }");
  t.same(await execute({ schema, document: mergeFields(document) }), await execute({ schema, document }));
});

t.test("lists without a length: a bound for all of one answer, and other work between them", async (t) => {
  const context = new RequestContext({} as RequestServices, anonymous, noOrigin, 60_000);
  let turns = 0;
  let isOver = false;
  const other = setImmediate(function again() {
    turns++;
    if (!isOver) setImmediate(again);
  });
  t.teardown(() => clearImmediate(other));
  await Promise.all(Array.from({ length: 200 }, () => context.takeItems(1000, "members")));
  isOver = true;
  t.ok(turns > 10, "they are not made at once");
  await t.rejects(context.takeItems(1, "members"), {
    code: "bad-request",
    message: /more than 200000 members; request fewer/,
  });
});
