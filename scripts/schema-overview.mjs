// Describes a GraphQL schema as plain data, for the documentation in the web pages.
import {
  astFromValue,
  buildSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isUnionType,
  print,
} from "graphql";

const kinds = [
  [isObjectType, "type"],
  [isInterfaceType, "interface"],
  [isUnionType, "union"],
  [isInputObjectType, "input"],
  [isEnumType, "enum"],
];
const kindOrder = ["type", "interface", "union", "input", "enum", "scalar"];
const roots = ["Query", "Mutation"];

/** The types of the schema in `text`: the roots first, then by kind and name. `src/web/console/schema-view.tsx` reads it. */
export function describeSchema(text) {
  const schema = buildSchema(text);
  const rank = ({ name, kind }) =>
    roots.includes(name) ? roots.indexOf(name) - roots.length : kindOrder.indexOf(kind);
  return Object.values(schema.getTypeMap())
    .filter(({ name, astNode }) => astNode !== undefined && !name.startsWith("__"))
    .map((type) => describeType(type, schema))
    .sort((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
}

function describeType(type, schema) {
  const kind = kinds.find(([is]) => is(type))?.[1] ?? "scalar";
  const implementers = isInterfaceType(type) || isUnionType(type) ? schema.getPossibleTypes(type) : [];
  return {
    name: type.name,
    kind,
    description: type.description ?? "",
    fields: "getFields" in type ? Object.values(type.getFields()).map(describeField) : [],
    values: isEnumType(type) ? type.getValues().map(describeItem) : [],
    interfaces: "getInterfaces" in type ? type.getInterfaces().map(({ name }) => name) : [],
    members: implementers.map(({ name }) => name).sort(),
  };
}

function describeItem({ name, description, deprecationReason }) {
  return { name, description: description ?? "", deprecated: deprecationReason ?? "" };
}

function describeField(field) {
  return { ...describeItem(field), ...describeResult(field), args: (field.args ?? []).map(describeArgument) };
}

function describeArgument(argument) {
  return { ...describeItem(argument), ...describeResult(argument) };
}

/** The type as written, the name in it, and for an input the default value as written, or "". */
function describeResult({ type, defaultValue }) {
  const node = defaultValue === undefined ? undefined : astFromValue(defaultValue, type);
  return { type: String(type), typeName: getNamedType(type).name, default: node === undefined ? "" : print(node) };
}
