/** The TypeScript types of the package trawl-client, made from the JSON schemas of the HTTP interface. */
import { schemas, type Schema } from "../src/http/api/schemas.js";

/** The schemas that programs get from the package, with all that they refer to. */
const exported: readonly string[] = [
  "Match",
  "MatchChange",
  "Filter",
  "ResultGroups",
  "Progress",
  "Alert",
  "StreamError",
  "ResumeNotice",
  "ReceiptPage",
  "SearchJob",
  "SearchJobList",
  "Problem",
];

const all: Readonly<Record<string, Schema>> = schemas;

/** The text of `clients/trawl-client/src/types.ts`. */
export function clientTypesText(): string {
  const names = new Set<string>();
  const visit = (name: string): void => {
    if (names.has(name)) return;
    names.add(name);
    for (const [, next] of JSON.stringify(all[name]).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) visit(next);
  };
  for (const name of exported) visit(name);
  const types = [...names].sort().map((name) => declaration(name, all[name]));
  return [
    "// Written by `make openapi` from src/http/api/schemas.ts. Members that are undefined are absent; there may be others.",
    ...types,
    "",
  ].join("\n\n");
}

function declaration(name: string, schema: Schema): string {
  const comment = commentText(schema, "");
  return schema["type"] === "object" && schema["properties"] !== undefined
    ? `${comment}export interface ${name} ${typeText(schema, "")}`
    : `${comment}export type ${name} = ${typeText(schema, "")};`;
}

function commentText({ description }: Schema, indent: string): string {
  return typeof description === "string" ? `${indent}/** ${description} */\n` : "";
}

function typeText(schema: Schema, indent: string): string {
  const { $ref, type } = schema;
  if (typeof $ref === "string") return $ref.slice($ref.lastIndexOf("/") + 1);
  if ("const" in schema) return JSON.stringify(schema["const"]);
  const choices = schema["enum"] ?? schema["oneOf"] ?? schema["anyOf"];
  if (Array.isArray(choices))
    return choices
      .map((choice: unknown) =>
        typeof choice === "object" ? typeText(choice as Schema, indent) : JSON.stringify(choice),
      )
      .join(" | ");
  if (Array.isArray(type)) return type.map((one: unknown) => typeText({ type: one }, indent)).join(" | ");
  switch (type) {
    case "array":
      return arrayText(schema, indent);
    case "object":
      return objectText(schema, indent);
    case "integer":
      return "number";
    case "string":
    case "number":
    case "boolean":
    case "null":
      return type;
    default:
      return "unknown";
  }
}

function arrayText({ prefixItems, items }: Schema, indent: string): string {
  if (Array.isArray(prefixItems))
    return `readonly [${prefixItems.map((item: unknown) => typeText(item as Schema, indent)).join(", ")}]`;
  const item = typeText(items as Schema, indent);
  return `readonly ${/[ |]/.test(item) ? `(${item})` : item}[]`;
}

function objectText({ properties, required, additionalProperties }: Schema, indent: string): string {
  if (properties === undefined)
    return `Readonly<Record<string, ${additionalProperties === undefined ? "unknown" : typeText(additionalProperties as Schema, indent)}>>`;
  const needed = new Set((required ?? []) as readonly string[]);
  const inner = `${indent}  `;
  const members = Object.entries(properties as Readonly<Record<string, Schema>>).map(
    ([name, member]) =>
      `${commentText(member, inner)}${inner}readonly ${JSON.stringify(name).replace(/^"(\w+)"$/, "$1")}${needed.has(name) ? "" : "?"}: ${typeText(member, inner)};\n`,
  );
  return `{\n${members.join("")}${indent}}`;
}
