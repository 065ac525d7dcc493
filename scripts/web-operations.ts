/**
 * The GraphQL operations of the web pages, which stand as texts in `src/web`, and the types of their data and variables.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import {
  buildSchema,
  getNamedType,
  GraphQLError,
  GraphQLString,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  typeFromAST,
  validate,
  type FieldNode,
  type GraphQLCompositeType,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import ts from "typescript";
import { scalars } from "./graphql-types.js";

/** An operation with the file in which it stands. */
export interface WebOperation {
  readonly file: string;
  readonly line: number;
  /** The whole text; undefined where a part of it is only known when it is run. */
  readonly text: string | undefined;
}

const folder = "src/web";

/** All texts in `src/web` that begin like a named operation. */
export function findWebOperations(): readonly WebOperation[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => /\.tsx?$/.test(path));
  const files = new Map(paths.map((path) => [join(folder, path), new WebFile(join(folder, path))]));
  return [...files.values()].flatMap((file) => file.operations(files));
}

type Files = ReadonlyMap<string, WebFile>;

class WebFile {
  readonly #path: string;
  readonly #source: ts.SourceFile;
  /** The initializer of each `const`, wherever it stands. */
  readonly #constants = new Map<string, ts.Expression>();
  /** The file and the name of each import. */
  readonly #imports = new Map<string, readonly [path: string, name: string]>();

  constructor(path: string) {
    this.#path = path;
    this.#source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.ESNext, true);
    this.#read(this.#source);
  }

  #read(node: ts.Node): void {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined)
      this.#constants.set(node.name.text, node.initializer);
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const from = normalize(join(dirname(this.#path), node.moduleSpecifier.text));
      const named = node.importClause?.namedBindings;
      if (named !== undefined && ts.isNamedImports(named))
        for (const { name, propertyName } of named.elements)
          this.#imports.set(name.text, [from, (propertyName ?? name).text]);
    }
    ts.forEachChild(node, (child) => this.#read(child));
  }

  operations(files: Files): readonly WebOperation[] {
    const found: WebOperation[] = [];
    const visit = (node: ts.Node): void => {
      if (isText(node) && /^\s*(?:query|mutation) (?:\w+ ?[({]|$)/.test(beginning(node))) {
        const line = this.#source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
        found.push({ file: this.#path, line, text: this.#textIn(node, files) });
        return;
      }
      ts.forEachChild(node, visit);
    };
    visit(this.#source);
    return found;
  }

  /** The value of an expression; undefined if it is no constant. */
  #textIn(node: ts.Expression, files: Files): string | undefined {
    if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return node.text;
    if (ts.isAsExpression(node)) return this.#textIn(node.expression, files);
    if (ts.isIdentifier(node)) {
      const constant = this.#constants.get(node.text);
      if (constant !== undefined) return this.#textIn(constant, files);
      const [path = "", name = ""] = this.#imports.get(node.text) ?? [];
      const file = files.get(path.replace(/\.js$/, ".ts")) ?? files.get(path.replace(/\.js$/, ".tsx"));
      if (file === undefined) return undefined;
      const imported = file.#constants.get(name);
      return imported === undefined ? undefined : file.#textIn(imported, files);
    }
    if (!ts.isTemplateExpression(node)) return undefined;
    let text = node.head.text;
    for (const { expression, literal } of node.templateSpans) {
      const value = this.#textIn(expression, files);
      if (value === undefined) return undefined;
      text += value + literal.text;
    }
    return text;
  }
}

function isText(node: ts.Node): node is ts.StringLiteralLike | ts.TemplateExpression {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

function beginning(node: ts.StringLiteralLike | ts.TemplateExpression): string {
  return ts.isTemplateExpression(node) ? node.head.text : node.text;
}

/** What is wrong with the operations, as lines that name the place. */
export function operationProblems(schemaText: string, operations: readonly WebOperation[]): readonly string[] {
  const schema = buildSchema(schemaText);
  return operations.flatMap(({ file, line, text }) => {
    if (text === undefined) return [];
    try {
      return validate(schema, parse(text)).map(({ message }) => `${file}:${line}: ${message}`);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      return [`${file}:${line}: ${error.message}`];
    }
  });
}

/** Operations that a person may start from, and that no page runs. */
const examples = join(folder, "console/examples.ts");

/** The text of `operation-types.ts`: the data and the variables of each operation of the pages, by its name. */
export function operationTypesText(schemaText: string, operations: readonly WebOperation[]): string {
  const schema = buildSchema(schemaText);
  const rows = operations
    .filter(({ file, text }) => text !== undefined && file !== examples)
    .map(({ text = "" }) => parse(text).definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION))
    .filter((operation) => operation !== undefined)
    .map((operation) => [operation.name?.value ?? "", new OperationTypes(schema).text(operation)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const twice = rows.find(([name], at) => name === rows[at + 1]?.[0]);
  if (twice !== undefined) throw new Error(`two operations of the pages are named ${twice[0]}`);
  return [
    "/** Generated from schema.graphql and the operations in src/web by `make graphql`. */",
    "export interface Operations {",
    ...rows.map(([name, text]) => `  readonly ${name}: ${text};`),
    "}",
    "",
  ].join("\n");
}

interface Selected {
  readonly type: GraphQLOutputType;
  readonly selections: SelectionSetNode[];
  /** It is only there if a directive says so. */
  isOptional: boolean;
}

class OperationTypes {
  readonly #schema: GraphQLSchema;

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  text(operation: OperationDefinitionNode): string {
    const root = this.#schema.getRootType(operation.operation);
    const variables = (operation.variableDefinitions ?? []).map(({ variable, type, defaultValue }) => {
      const given = typeFromAST(this.#schema, type) as GraphQLInputType;
      const isOptional = !isNonNullType(given) || defaultValue !== undefined;
      return `readonly ${variable.name.value}${isOptional ? "?" : ""}: ${this.#input(given)}${isOptional ? " | undefined" : ""}`;
    });
    const shown = variables.length === 0 ? "Readonly<Record<never, never>>" : `{ ${variables.join("; ")} }`;
    return `{ readonly data: ${root == null ? "never" : this.#object(root, [operation.selectionSet])}; readonly variables: ${shown} }`;
  }

  #input(type: GraphQLInputType): string {
    if (!isNonNullType(type)) return `${this.#nonNullInput(type)} | null`;
    return this.#nonNullInput(type.ofType as GraphQLInputType);
  }

  #nonNullInput(type: GraphQLInputType): string {
    if (isListType(type)) return `readonly (${this.#input(type.ofType as GraphQLInputType)})[]`;
    const named = getNamedType(type);
    if (isEnumType(named)) return enumText(named.getValues());
    if (!isInputObjectType(named)) return scalars[String(named)] ?? "unknown";
    const fields = Object.values(named.getFields()).map(({ name, type: given, defaultValue }) => {
      const isOptional = !isNonNullType(given) || defaultValue !== undefined;
      return `readonly ${name}${isOptional ? "?" : ""}: ${this.#input(given)}${isOptional ? " | undefined" : ""}`;
    });
    return `{ ${fields.join("; ")} }`;
  }

  #output(type: GraphQLOutputType, selections: readonly SelectionSetNode[]): string {
    if (isNonNullType(type)) return this.#nonNullOutput(type.ofType as GraphQLOutputType, selections);
    return `${this.#nonNullOutput(type, selections)} | null`;
  }

  #nonNullOutput(type: GraphQLOutputType, selections: readonly SelectionSetNode[]): string {
    if (isListType(type)) return `readonly (${this.#output(type.ofType as GraphQLOutputType, selections)})[]`;
    const named = getNamedType(type);
    if (isEnumType(named)) return enumText(named.getValues());
    if (isObjectType(named)) return this.#object(named, selections);
    if (!isAbstractType(named)) return scalars[named.name] ?? "unknown";
    // Members of which the same is asked have one type together, and each names what is asked of others only.
    const members = this.#schema.getPossibleTypes(named).map((member) => this.#fields(member, selections));
    const keys = [...new Set(members.flatMap((fields) => [...fields.keys()]))];
    const texts = members.map((fields) =>
      objectText(keys.map((key) => fields.get(key) ?? `readonly ${key}?: undefined`)),
    );
    return `(${[...new Set(texts)].join(" | ")})`;
  }

  #object(type: GraphQLObjectType, selections: readonly SelectionSetNode[]): string {
    return objectText([...this.#fields(type, selections).values()]);
  }

  /** The fields that are asked of an object, by the names that they have in the answer. */
  #fields(type: GraphQLObjectType, selections: readonly SelectionSetNode[]): ReadonlyMap<string, string> {
    const fields = new Map<string, Selected>();
    for (const selection of selections) this.#collect(type, selection, fields);
    return new Map(
      [...fields].map(([key, { type: given, selections: below, isOptional }]) => {
        const text = key === "__typename" ? JSON.stringify(type.name) : this.#output(given, below);
        return [key, `readonly ${key}${isOptional ? "?" : ""}: ${text}`];
      }),
    );
  }

  #collect(type: GraphQLObjectType, { selections }: SelectionSetNode, fields: Map<string, Selected>): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) addField(type, selection, fields);
      else if (selection.kind === Kind.INLINE_FRAGMENT && this.#applies(type, selection.typeCondition?.name.value))
        this.#collect(type, selection.selectionSet, fields);
    }
  }

  #applies(type: GraphQLObjectType, condition: string | undefined): boolean {
    const given = condition === undefined ? type : (this.#schema.getType(condition) as GraphQLCompositeType);
    return given === type || (isAbstractType(given) && this.#schema.isSubType(given, type));
  }
}

function objectText(fields: readonly string[]): string {
  return fields.length === 0 ? "Readonly<Record<never, never>>" : `{ ${fields.join("; ")} }`;
}

function addField(type: GraphQLObjectType, field: FieldNode, fields: Map<string, Selected>): void {
  const key = (field.alias ?? field.name).value;
  const isOptional = (field.directives ?? []).length > 0;
  const selected = fields.get(key) ?? {
    type: type.getFields()[field.name.value]?.type ?? scalarOfName,
    selections: [],
    isOptional,
  };
  if (field.selectionSet !== undefined) selected.selections.push(field.selectionSet);
  selected.isOptional &&= isOptional;
  fields.set(key, selected);
}

/** Of `__typename`, which is no field of the schema. */
const scalarOfName: GraphQLOutputType = GraphQLString;

function enumText(values: readonly { readonly name: string }[]): string {
  return `(${values.map(({ name }) => JSON.stringify(name)).join(" | ")})`;
}
