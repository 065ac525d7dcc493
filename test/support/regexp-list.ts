/** Lists the regular expressions of a TypeScript file from its syntax tree. */
// An import as a module would look for the names in its nine megabytes first, which takes as long as parsing 200 files.
import ts = require("typescript");

export interface ListedRegexp {
  readonly line: number;
  /** The source code: `/a+/g`, or `new RegExp(…)`. */
  readonly text: string;
  /** Undefined if it is known only at run time. */
  readonly pattern: { readonly source: string; readonly flags: string } | undefined;
}

export function regexpsOf(path: string, text: string): ListedRegexp[] {
  // Comments need not be parsed, which takes as long as the rest.
  const options = {
    languageVersion: ts.ScriptTarget.Latest,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  };
  const file = ts.createSourceFile(path, text, options, false);
  const found: ListedRegexp[] = [];
  const visit = (node: ts.Node) => {
    const pattern = ts.isRegularExpressionLiteral(node)
      ? literalPattern(node.text)
      : isMade(node)
        ? madePattern(file, node)
        : null;
    if (pattern !== null)
      found.push({
        line: file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1,
        text: node.getText(file).replace(/\s+/g, " "),
        pattern,
      });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function literalPattern(text: string): ListedRegexp["pattern"] {
  const end = text.lastIndexOf("/");
  return { source: text.slice(1, end), flags: text.slice(end + 1) };
}

function isMade(node: ts.Node): node is ts.NewExpression | ts.CallExpression {
  if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return false;
  return ts.isIdentifier(node.expression) && node.expression.text === "RegExp";
}

function madePattern(file: ts.SourceFile, node: ts.NewExpression | ts.CallExpression): ListedRegexp["pattern"] {
  const [source, flags = ""] = (node.arguments ?? []).map((argument) => textOf(file, argument));
  return source === undefined || flags === undefined ? undefined : { source, flags };
}

/** The value of an expression of constant strings of the same file; undefined for any other. */
function textOf(file: ts.SourceFile, node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isIdentifier(node)) {
    const value = constantOf(file, node.text);
    return value === undefined ? undefined : textOf(file, value);
  }
  if (ts.isTemplateExpression(node)) {
    const parts = node.templateSpans.map(
      ({ expression, literal }) => [textOf(file, expression), literal.text] as const,
    );
    return parts.some(([value]) => value === undefined)
      ? undefined
      : node.head.text + parts.map(([value, after]) => `${value}${after}`).join("");
  }
  return ts.isCallExpression(node) ? joinedTextOf(file, node) : undefined;
}

/** `words.join("|")`, where `words` is a constant array of strings. */
function joinedTextOf(
  file: ts.SourceFile,
  { expression, arguments: [separator] }: ts.CallExpression,
): string | undefined {
  if (
    !ts.isPropertyAccessExpression(expression) ||
    expression.name.text !== "join" ||
    !ts.isIdentifier(expression.expression)
  )
    return undefined;
  const list = constantOf(file, expression.expression.text);
  if (list === undefined || separator === undefined || !ts.isArrayLiteralExpression(list)) return undefined;
  const texts = list.elements.map((element) => textOf(file, element));
  return texts.includes(undefined) ? undefined : texts.join(textOf(file, separator));
}

/** The initial value of a constant at the top level of the file. */
function constantOf(file: ts.SourceFile, name: string): ts.Expression | undefined {
  for (const statement of file.statements) {
    if (!ts.isVariableStatement(statement) || (statement.declarationList.flags & ts.NodeFlags.Const) === 0) continue;
    const declaration = statement.declarationList.declarations.find((one) => one.name.getText(file) === name);
    if (declaration !== undefined) return declaration.initializer;
  }
  return undefined;
}
