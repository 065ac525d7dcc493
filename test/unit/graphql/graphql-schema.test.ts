/** The schema and the types generated from it. */
import { readFileSync } from "node:fs";
import { isIntrospectionType, isObjectType } from "graphql";
import t from "tap";
import { createSchema } from "../../../src/graphql/execution/schema.js";
import { schemaText } from "../../../src/graphql/execution/schema-document.js";
import { schemaTypesText } from "../../../scripts/graphql-types.js";

t.test("the generated types match the schema", async (t) => {
  t.equal(
    readFileSync("src/graphql/resolvers/schema-types.ts", "utf8"),
    schemaTypesText(schemaText()),
    "make graphql writes them",
  );
});

t.test("what can be asked for is described", async (t) => {
  const schema = createSchema();
  for (const root of [schema.getQueryType(), schema.getMutationType()]) {
    for (const { name, description } of Object.values(root?.getFields() ?? {}))
      t.match(description, /\.$/, `${root?.name}.${name}`);
  }
  t.ok(
    Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) && !isIntrospectionType(type)).length > 90,
  );
});
