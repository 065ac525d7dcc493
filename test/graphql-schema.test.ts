/** The schema and what is made from it. */
import { readFileSync } from "node:fs";
import { isIntrospectionType, isObjectType } from "graphql";
import t from "tap";
import { BoundedMap } from "../src/base/bounded-map.js";
import { createSchema } from "../src/graphql/schema.js";
import { schemaText } from "../src/graphql/schema-text.js";
import { schemaTypesText } from "../scripts/graphql-types.js";

t.test("the types are those of the schema", async (t) => {
  t.equal(readFileSync("src/graphql/schema-types.ts", "utf8"), schemaTypesText(schemaText()), "make graphql writes them");
});

t.test("what can be asked for is described", async (t) => {
  const schema = createSchema();
  for (const root of [schema.getQueryType(), schema.getMutationType()]) {
    for (const { name, description } of Object.values(root?.getFields() ?? {})) t.match(description, /\.$/, `${root?.name}.${name}`);
  }
  t.ok(Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) && !isIntrospectionType(type)).length > 90);
});

t.test("a bounded map", async (t) => {
  const map = new BoundedMap<string, string>(10, (value) => value.length);
  map.set("a", "1234");
  map.set("b", "1234");
  t.equal(map.get("a"), "1234");
  map.set("c", "1234");
  t.strictSame([map.get("a"), map.get("b"), map.get("c")], ["1234", undefined, "1234"], "what was longest not asked for goes");
  map.set("d", "x".repeat(11));
  t.equal(map.get("d"), undefined, "what is too heavy is not kept");
  t.equal(map.size, 2);
  map.set("a", "12345678");
  t.strictSame([map.get("a"), map.get("c")], ["12345678", undefined], "a heavier value drives others out");
});
