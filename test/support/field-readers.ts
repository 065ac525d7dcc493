/** Requests a field as different viewers, and determines whether the response contains any information. */
import {
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  type GraphQLField,
  type GraphQLOutputType,
  type GraphQLSchema,
} from "graphql";

/** Everything that can be requested of a field without arguments, two levels deep. */
export function selectionOf(field: GraphQLField<unknown, unknown>): string {
  return field.name + nested(field.type, 2);
}

function nested(type: GraphQLOutputType, depth: number): string {
  if (isNonNullType(type) || isListType(type)) return nested(type.ofType as GraphQLOutputType, depth);
  if (isScalarType(type) || isEnumType(type)) return "";
  if (!isObjectType(type)) return " { __typename id }";
  const fields = Object.values(type.getFields()).filter((field) =>
    field.args.every(({ type: given }) => !isNonNullType(given)),
  );
  const inner = fields
    .filter((field) => depth > 0 || isLeaf(field.type))
    .map((field) => field.name + nested(field.type, depth - 1));
  return ` { __typename ${isPublicReference(type.name) ? "id" : inner.join(" ")} }`;
}

/** Of a field that leads to another guarded type, only the id is requested. */
function isPublicReference(name: string): boolean {
  return ["User", "Org", "Repository", "Team"].includes(name);
}

function isLeaf(type: GraphQLOutputType): boolean {
  if (isNonNullType(type) || isListType(type)) return isLeaf(type.ofType as GraphQLOutputType);
  return isScalarType(type) || isEnumType(type);
}

/** The fields of a type by name. */
export function fieldsOf(schema: GraphQLSchema, typeName: string): ReadonlyMap<string, GraphQLField<unknown, unknown>> {
  const type = schema.getType(typeName);
  return new Map(isObjectType(type) ? Object.entries(type.getFields()) : []);
}

/** Whether a response contains any string, number or boolean except type names. */
export function tellsSomething(value: unknown): boolean {
  if (typeof value !== "object" || value === null)
    return (
      value !== null &&
      value !== undefined &&
      value !== "" &&
      value !== 0 &&
      value !== false &&
      value !== "0" &&
      value !== "{}"
    );
  return Object.entries(value).some(
    ([key, inner]) => key !== "__typename" && key !== "pageInfo" && tellsSomething(inner),
  );
}
