import {
  buildSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  type GraphQLAbstractType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLType,
} from "graphql";

/** The types that do not depend on the schema. They are in the generated file so that no files import each other. */
const sourceTypes = `/** The source object of a GraphQL type. The source of an interface or union names its type in \`__typename\`. */
export type SourceOf<T extends keyof ObjectTypes | keyof AbstractTypes> = T extends keyof Sources
  ? Sources[T]
  : T extends keyof AbstractTypes
    ? MemberOf<AbstractTypes[T]>
    : T extends keyof ObjectTypes
      ? Plain<T>
      : never;

type MemberOf<T> = T extends keyof ObjectTypes ? SourceOf<T> & { readonly __typename: T } : never;

type Plain<T extends keyof ObjectTypes> = {
  readonly [F in keyof ObjectTypes[T]]: ObjectTypes[T][F] extends { readonly result: infer Result } ? Result : never;
};

export type NoArguments = Readonly<Record<never, never>>;
`;

/**
 * The text of `schema-types.ts`: the fields of each object type with their arguments and results, the members of each
 * interface and union, the enums and the inputs. The types of resolvers are derived from these, so a resolver that is
 * missing or returns the wrong type is a compile error.
 */
export function schemaTypesText(text: string): string {
  const schema = buildSchema(text);
  const types = Object.values(schema.getTypeMap()).filter((type) => !isIntrospectionType(type));
  const abstract = types.filter((type): type is GraphQLAbstractType => isInterfaceType(type) || isUnionType(type));
  return [
    "/** Generated from schema.graphql by `make graphql`. */",
    'import type { Sources } from "../sources/sources.js";',
    "",
    ...types.flatMap(declaration),
    "/** The fields of each object type. */",
    "export interface ObjectTypes {",
    ...types.filter(isObjectType).flatMap(objectType),
    "}",
    "",
    "/** The members of each interface and union. */",
    "export interface AbstractTypes {",
    ...abstract.map((type) => `  readonly ${type.name}: ${members(schema, type)};`),
    "}",
    "",
    sourceTypes,
  ].join("\n");
}

function declaration(type: GraphQLNamedType): string[] {
  if (isEnumType(type)) {
    const values = type.getValues().map(({ name }) => JSON.stringify(name));
    return [`export type ${type.name} = ${values.join(" | ")};`, ""];
  }
  if (!isInputObjectType(type)) return [];
  return [
    `export interface ${type.name} {`,
    ...Object.values(type.getFields()).map((field) => `  ${parameter(field)};`),
    "}",
    "",
  ];
}

function objectType(type: GraphQLObjectType): string[] {
  const fields = Object.values(type.getFields()).map(
    ({ name, args, type: result }) =>
      `    readonly ${name}: { readonly args: ${args.length === 0 ? "NoArguments" : `{ ${args.map(parameter).join("; ")} }`}; readonly result: ${typeScript(result)} };`,
  );
  return [`  readonly ${type.name}: {`, ...fields, "  };"];
}

/** A nullable argument or input field is optional, unless it has a default value. */
function parameter({ name, type, defaultValue }: GraphQLArgument | GraphQLInputField): string {
  const isOptional = !isNonNullType(type) && defaultValue === undefined;
  return `readonly ${name}${isOptional ? "?" : ""}: ${typeScript(type)}${isOptional ? " | undefined" : ""}`;
}

function typeScript(type: GraphQLType): string {
  if (isNonNullType(type)) return nonNull(type.ofType);
  return `${nonNull(type)} | null`;
}

function nonNull(type: GraphQLType): string {
  if (isListType(type)) return `readonly (${typeScript(type.ofType)})[]`;
  const name = String(type);
  if (isObjectType(type) || isInterfaceType(type) || isUnionType(type)) return `SourceOf<"${name}">`;
  return scalars[name] ?? name;
}

function members(schema: GraphQLSchema, type: GraphQLAbstractType): string {
  const names = schema.getPossibleTypes(type).map(({ name }) => JSON.stringify(name));
  return names.join(" | ") || "never";
}

export const scalars: Readonly<Record<string, string>> = {
  ID: "string",
  String: "string",
  Int: "number",
  Float: "number",
  Boolean: "boolean",
  DateTime: "string",
  BigInt: "string",
  JSONCString: "string",
  GitObjectID: "string",
  JSONValue: "unknown",
};
