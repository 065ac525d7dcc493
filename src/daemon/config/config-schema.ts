import { connectionRequired, connectionTable } from "./connection-options.js";
import { providerRequired, providerTable } from "./provider-options.js";
import {
  allowedText,
  contextRepositoryTable,
  contextTable,
  attributeKeys,
  optionTable,
  repositoryRequired,
  repositoryTable,
  splitKey,
  type OptionKey,
  type OptionRow,
} from "./options.js";

/** A JSON Schema (2020-12), as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The schema of the configuration file: the daemon validates against it, and editors can use it. */
export function configSchema(): JsonSchema {
  const properties: Record<string, unknown> = { $schema: { type: "string" } };
  for (const { group, rows } of optionGroups()) {
    const members = Object.fromEntries(rows.map(({ name, row }) => [name, rowSchema(row)]));
    if (group === undefined) Object.assign(properties, members);
    else properties[group] = { type: "object", additionalProperties: false, properties: members };
  }
  properties["repositories"] = {
    type: "array",
    description: "Repositories to mirror and index, in addition to those added with `trawl repo add`.",
    items: repositorySchema(),
  };
  properties["connections"] = {
    type: "array",
    description: "Code hosts whose repositories are mirrored and indexed.",
    items: objectSchema(connectionTable, connectionRequired),
  };
  properties["identityProviders"] = {
    type: "array",
    description: "Providers with which users sign in by OpenID Connect.",
    items: objectSchema(providerTable, providerRequired),
  };
  properties["contexts"] = {
    type: "array",
    description:
      "Search contexts for context: in queries: named sets of repositories, each defined by a list or by a query.",
    items: contextSchema(),
  };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration of trawld",
    type: "object",
    additionalProperties: false,
    properties,
  };
}

/** The schema of a configuration file that sets only this option. */
export function optionSchema(key: OptionKey): JsonSchema {
  const { group, name } = splitKey(key);
  const member = { [name]: rowSchema(optionTable[key]) };
  return {
    type: "object",
    properties: group === undefined ? member : { [group]: { type: "object", properties: member } },
  };
}

/** The schema of one item of `contexts`. */
function contextSchema(): JsonSchema {
  const repositories = {
    type: "array",
    description: "The repositories that it contains; an alternative to query.",
    items: objectSchema(contextRepositoryTable, ["name"]),
  };
  const schema = objectSchema(contextTable, ["name"]);
  return { ...schema, properties: { ...(schema["properties"] as object), repositories } };
}

function objectSchema(rows: Readonly<Record<string, OptionRow>>, required: readonly string[]): JsonSchema {
  const properties = Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, rowSchema(row)]));
  return { type: "object", additionalProperties: false, required, properties };
}

/** The schema of one item of `repositories`. */
export function repositorySchema(): JsonSchema {
  return objectSchema(repositoryTable, repositoryRequired);
}

/** The schema of the properties that `trawl repo set` changes. */
export function attributesSchema(): JsonSchema {
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(attributeKeys.map((key) => [key, rowSchema(repositoryTable[key])])),
  };
}

/** The commented sample: every option with its default, commented out. */
export function configSample(): string {
  const lines = [
    "// Configuration of trawld, generated from the table in src/daemon/config/options.ts. Each option is shown with its default;",
    "// uncomment it to change it. Comments and trailing commas are allowed.",
    "{",
    '  "$schema": "./trawl.schema.json",',
  ];
  for (const { group, rows } of optionGroups()) {
    const indent = group === undefined ? "  //" : "    //";
    const samples = rows.map(({ name, row }) => sampleLines(indent, `${indent} `, name, row).join("\n")).join("\n\n");
    lines.push("", ...(group === undefined ? [samples] : [`  "${group}": {`, samples, "  },"]));
  }
  lines.push("", "  // In addition to those added with `trawl repo add`. All fields except name and url are optional.");
  lines.push(...itemSample("repositories", repositoryTable));
  lines.push("", "  // Code hosts: all their repositories that are selected are mirrored and indexed.");
  lines.push(...itemSample("connections", connectionTable));
  lines.push("", "  // Providers with which users sign in by OpenID Connect.");
  lines.push(...itemSample("identityProviders", providerTable));
  lines.push(
    "",
    "  // Named sets of repositories, for context: in queries. Each has a query or a list of repositories.",
    ...itemSample("contexts", contextTable, [
      "    //   // The repositories that it contains, each with the revisions to search; an alternative to query.",
      '    //   "repositories": [{"name": "github.com/owner/name", "revisions": []}],',
    ]),
  );
  lines.push("}", "");
  return lines.join("\n");
}

/** A list with one item that is commented out. */
function itemSample(name: string, rows: Readonly<Record<string, OptionRow>>, more: readonly string[] = []): string[] {
  const members = Object.entries(rows).flatMap(([key, row]) => sampleLines("    //   //", "    //   ", key, row));
  return [`  "${name}": [`, "    // {", ...members, ...more, "    // },", "  ],"];
}

interface OptionGroup {
  /** Undefined for options without a dot. */
  readonly group: string | undefined;
  readonly rows: readonly { readonly name: string; readonly row: OptionRow }[];
}

/** The table by group, in its order. */
function optionGroups(): OptionGroup[] {
  const groups = new Map<string | undefined, { name: string; row: OptionRow }[]>();
  for (const [key, row] of Object.entries<OptionRow>(optionTable)) {
    const { group, name } = splitKey(key);
    const rows = groups.get(group) ?? [];
    rows.push({ name, row });
    groups.set(group, rows);
  }
  return [...groups].map(([group, rows]) => ({ group, rows }));
}

function rowSchema(row: OptionRow): JsonSchema {
  const shared = { description: `${row.description} Allowed: ${allowedText(row)}.` };
  const withDefault = row.defaultText === undefined ? { ...shared, default: row.default } : shared;
  switch (row.kind) {
    case "string":
      return { type: "string", pattern: row.pattern, ...withDefault };
    case "integer":
      return { type: "integer", minimum: row.min, maximum: row.max, ...withDefault };
    case "boolean":
      return { type: "boolean", ...withDefault };
    case "choice":
      return { enum: row.choices, ...withDefault };
    case "strings":
      return { type: "array", items: { type: "string", minLength: 1 }, ...withDefault };
    case "map":
      return { type: "object", additionalProperties: { type: ["string", "null"] }, ...withDefault };
  }
}

/** The option as it would be written, below its description. */
function sampleLines(textIndent: string, valueIndent: string, name: string, row: OptionRow): string[] {
  const isRequired = row.sample !== undefined && row.defaultText === undefined;
  const standard = isRequired ? "Required" : `Default: ${row.defaultText ?? JSON.stringify(row.default)}`;
  return [
    ...wrapped(`${row.description} Allowed: ${allowedText(row)}. ${standard}.`, textIndent),
    `${valueIndent}${JSON.stringify(name)}: ${JSON.stringify(row.sample ?? row.default)},`,
  ];
}

/** Lines of at most 120 columns, each beginning with the indent and a space. */
function wrapped(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > 120) {
      lines.push(line);
      line = indent;
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
