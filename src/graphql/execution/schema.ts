import { buildASTSchema, isObjectType, type GraphQLFieldResolver, type GraphQLSchema } from "graphql";
import { assert } from "../../base/assert.js";
import type { RequestContext } from "../../browse/request-context.js";
import { guardFields } from "./field-access.js";
import { allResolvers } from "../resolvers/all-resolvers.js";
import { schemaDocument } from "./schema-document.js";

/**
 * The schema with its resolvers. The type of a value of an interface or union is in its `__typename`; a field without a
 * resolver is the source's property of that name, which must not be a promise or a function, because graphql-jit uses
 * properties as they are.
 */
export function createSchema(): GraphQLSchema {
  // `make check` validates it, with the types that are generated from it; that takes a quarter of the time.
  const schema = buildASTSchema(schemaDocument(), { assumeValidSDL: true });
  for (const [typeName, resolvers] of Object.entries(allResolvers)) {
    const type = schema.getType(typeName);
    assert(isObjectType(type), `${typeName} is an object type of the schema`);
    const fields = type.getFields();
    for (const [name, resolver] of Object.entries(resolvers)) {
      const field = fields[name];
      assert(field !== undefined, `${typeName}.${name} is a field of the schema`);
      field.resolve = resolver as GraphQLFieldResolver<unknown, RequestContext>;
    }
  }
  guardFields(schema);
  return schema;
}
