/**
 * The GraphQL operations of the web pages, which stand as texts in `src/web`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { buildSchema, GraphQLError, parse, validate } from "graphql";
import ts from "typescript";

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
