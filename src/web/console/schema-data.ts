/** What `scripts/schema-overview.mjs` tells about the GraphQL schema. */

export interface SchemaItem {
  readonly name: string;
  readonly description: string;
  /** Why and what to use, or "". */
  readonly deprecated: string;
}

/** An argument, or a field of an input. */
export interface SchemaArgument extends SchemaItem {
  /** As written, such as `[ID!]!`. */
  readonly type: string;
  readonly typeName: string;
  /** As written, or "". */
  readonly default: string;
}

export interface SchemaField extends SchemaArgument {
  readonly args: readonly SchemaArgument[];
}

export interface SchemaType {
  readonly name: string;
  readonly kind: "type" | "interface" | "union" | "input" | "enum" | "scalar";
  readonly description: string;
  readonly fields: readonly SchemaField[];
  readonly values: readonly SchemaItem[];
  readonly interfaces: readonly string[];
  /** The types of a union, or those that implement an interface. */
  readonly members: readonly string[];
}

/** The types that hold the text in their name or in that of a field or value, case ignored; all for "". */
export function findTypes(types: readonly SchemaType[], text: string): readonly SchemaType[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return types;
  const isNamed = ({ name }: { readonly name: string }): boolean => name.toLowerCase().includes(wanted);
  return types.filter((type) => isNamed(type) || type.fields.some(isNamed) || type.values.some(isNamed));
}
