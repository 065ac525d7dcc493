import { Kind, parse, print, TokenKind, type DocumentNode } from "graphql";
import { parse as parseJson, printParseErrorCode, type ParseError } from "jsonc-parser";

/** Deeper than any document that the daemon accepts. */
const tokensMax = 10_000;

function parseDocument(text: string): DocumentNode | undefined {
  try {
    return parse(text, { maxTokens: tokensMax });
  } catch {
    return undefined;
  }
}

/** The names of the operations of a document; empty for one that cannot be parsed. */
export function findOperations(text: string): readonly string[] {
  return (parseDocument(text)?.definitions ?? []).flatMap((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION ? (definition.name?.value ?? []) : [],
  );
}

/** The document with usual indentation, or why it stays as it is. */
export function formatDocument(
  text: string,
): { readonly kind: "text"; readonly text: string } | { readonly kind: "refused"; readonly reason: string } {
  const document = parseDocument(text);
  if (document === undefined) return { kind: "refused", reason: "The query has an error, which is underlined." };
  for (let token = document.loc?.startToken ?? null; token !== null; token = token.next)
    if (token.kind === TokenKind.COMMENT)
      return { kind: "refused", reason: "The query has comments, which formatting would remove." };
  return { kind: "text", text: print(document) };
}

/** The variables, or a sentence that tells what is wrong with them. */
export function readVariables(text: string): Readonly<Record<string, unknown>> | string {
  if (text.trim() === "") return {};
  const errors: ParseError[] = [];
  const value: unknown = parseJson(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split("\n").length;
    return `The variables are not JSON: ${printParseErrorCode(first.error)} in line ${line}.`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return 'The variables are one JSON object, such as {"name": "value"}.';
  return value as Readonly<Record<string, unknown>>;
}
