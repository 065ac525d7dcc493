/**
 * The kinds of symbols that `select:symbol.KIND` and results name, with the kinds of ctags that they stand for, in lower
 * case and without spaces.
 */
const ctagsKinds: Readonly<Record<string, readonly string[]>> = {
  file: ["file"],
  module: ["module"],
  namespace: ["namespace"],
  package: ["package", "packagename", "subprogspec"],
  class: ["class", "type", "service", "typedef", "union", "section", "subtype", "component", "classdef"],
  method: ["method", "methodspec"],
  property: ["property"],
  field: ["member", "anonmember", "field", "recordfield"],
  constructor: ["constructor"],
  interface: ["interface"],
  function: [
    "function",
    "func",
    "subroutine",
    "macro",
    "subprogram",
    "procedure",
    "command",
    "singletonmethod",
    "prototype",
  ],
  variable: ["variable", "var", "functionvar", "define", "alias", "val", "local"],
  constant: ["constant", "const"],
  string: ["message", "heredoc"],
  number: ["number"],
  boolean: ["boolean"],
  array: ["array"],
  object: ["object", "literal", "map"],
  key: ["label", "target", "selector", "id", "tag"],
  null: ["null"],
  "enum-member": ["enumconstant", "enummember", "enumerator"],
  enum: ["enum"],
  struct: ["struct"],
  event: ["event"],
  operator: ["operator"],
  "type-parameter": ["annotation"],
};

/** A kind as results have it. */
export type ShownSymbolKind =
  | "UNKNOWN"
  | "FILE"
  | "MODULE"
  | "NAMESPACE"
  | "PACKAGE"
  | "CLASS"
  | "METHOD"
  | "PROPERTY"
  | "FIELD"
  | "CONSTRUCTOR"
  | "ENUM"
  | "INTERFACE"
  | "FUNCTION"
  | "VARIABLE"
  | "CONSTANT"
  | "STRING"
  | "NUMBER"
  | "BOOLEAN"
  | "ARRAY"
  | "OBJECT"
  | "KEY"
  | "NULL"
  | "ENUMMEMBER"
  | "STRUCT"
  | "EVENT"
  | "OPERATOR"
  | "TYPEPARAMETER";

/** All of them. */
export const shownSymbolKinds: readonly ShownSymbolKind[] = ["unknown", ...Object.keys(ctagsKinds)].map(toShown);

function toShown(kind: string): ShownSymbolKind {
  return kind.replaceAll("-", "").toUpperCase() as ShownSymbolKind;
}

const kindOfCtags = new Map(Object.entries(ctagsKinds).flatMap(([kind, names]) => names.map((name) => [name, kind])));

/** The kind of a symbol that ctags calls `name`, such as `enum-member`; "" if it has none. */
export function findSymbolKind(name: string): string {
  return kindOfCtags.get(name.toLowerCase().replaceAll(" ", "")) ?? "";
}

/** The kind as results have it: `ENUM_MEMBER` is `ENUMMEMBER`, and without a kind `UNKNOWN`. */
export function shownSymbolKind(name: string): ShownSymbolKind {
  const kind = findSymbolKind(name);
  return kind === "" ? "UNKNOWN" : toShown(kind);
}
