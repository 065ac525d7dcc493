import { randomUUID } from "node:crypto";
import {
  applyEdits,
  createScanner,
  modify,
  parse,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from "jsonc-parser";
import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";

/** Parsed settings. */
export type SettingsValues = Readonly<Record<string, unknown>>;

/** The path of a value: object keys and list indexes. */
export type JsonPath = (string | number)[];

/** The replacement for one value of settings: nothing, a value, or a text with comments. */
export type SettingsEdit =
  | { readonly kind: "remove" }
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "text"; readonly text: string };

const settingsBytesMax = 64 * 1024;
const depthMax = 100;
const format = { tabSize: 2, insertSpaces: true, eol: "\n" };

/**
 * Throws `bad-request` for invalid settings; they must be an object in JSON, optionally with comments and trailing
 * commas.
 */
export function checkSettings(text: string): void {
  if (Buffer.byteLength(text) > settingsBytesMax)
    throw new TrawlError("bad-request", `settings are limited to ${settingsBytesMax} bytes`);
  checkDepth(text);
  const value = readJsonc(text, "settings");
  if (isObject(value)) return;
  throw new TrawlError("bad-request", 'settings must be a JSON object, as in { "search.contextLines": 3 }');
}

/** The values in a text that `checkSettings` has accepted. */
export function settingsValues(text: string): SettingsValues {
  return jsonValue(parseTree(text, [], { allowTrailingComma: true })) as SettingsValues;
}

/** `parse` assigns object keys, and so loses a `__proto__`. */
function jsonValue(node: Node | undefined): unknown {
  const children = node?.children ?? [];
  switch (node?.type) {
    case "object":
      return Object.fromEntries(children.map(({ children: [key, value] = [] }) => [key?.value, jsonValue(value)]));
    case "array":
      return children.map(jsonValue);
    default:
      return node?.value;
  }
}

/** The text with one value changed; an empty path means the whole text. The surrounding text is preserved. */
export function editedSettings(text: string, path: JsonPath, edit: SettingsEdit): string {
  if (path.length === 0) return wholeText(edit);
  // jsonc-parser writes only values, so the text is substituted for a placeholder value that occurs nowhere else.
  const placeholder = randomUUID();
  const value = edit.kind === "text" ? placeholder : edit.kind === "value" ? edit.value : undefined;
  if (edit.kind === "text") checkSettingsValue(edit.text);
  const edited = changed(text, path, value);
  return edit.kind === "text" ? edited.replace(JSON.stringify(placeholder), () => edit.text.trim()) : edited;
}

function wholeText(edit: SettingsEdit): string {
  switch (edit.kind) {
    case "remove":
      return "{}";
    case "value":
      return JSON.stringify(edit.value, null, 2);
    case "text":
      return edit.text;
  }
}

function changed(text: string, path: JsonPath, value: unknown): string {
  try {
    return applyEdits(text, modify(text, path, value, { formattingOptions: format }));
  } catch {
    // It throws if the path leads through something other than an object or list.
    throw new TrawlError("bad-request", `there is no path ${JSON.stringify(path)} in these settings`);
  }
}

function checkSettingsValue(text: string): void {
  checkDepth(text);
  readJsonc(text, "the value");
}

/** The parser is recursive, and so is any code that writes the values. */
function checkDepth(text: string): void {
  const scanner = createScanner(text, true);
  let depth = 0;
  while (scanner.getPosition() < text.length) {
    scanner.scan();
    const start = text[scanner.getTokenOffset()];
    if (start === "{" || start === "[") depth++;
    if (start === "}" || start === "]") depth--;
    if (depth > depthMax)
      throw new TrawlError("bad-request", `settings must not be nested more than ${depthMax} levels deep`);
  }
}

function readJsonc(text: string, what: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  if (errors.length === 0) return value;
  const before = text.slice(0, errors[0].offset).split("\n");
  const position = `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
  throw new TrawlError(
    "bad-request",
    `${what} must be JSON with comments: ${printParseErrorCode(errors[0].error)} at ${position}`,
  );
}

/**
 * Lists to which every subject adds items, and objects to which every subject adds keys; of all other values the last
 * one applies.
 */
const addedLists: ReadonlySet<string> = new Set([
  "search.scopes",
  "search.savedQueries",
  "quicklinks",
  "notices",
  "motd",
]);
const addedObjects: ReadonlySet<string> = new Set(["experimentalFeatures", "extensions", "search.repositoryGroups"]);

/** The effective settings of several subjects, given in increasing precedence. */
export function mergedSettings(all: readonly SettingsValues[]): SettingsValues {
  const merged = new Map<string, unknown>();
  for (const values of all) {
    for (const [key, value] of Object.entries(values)) merged.set(key, mergedValue(key, merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

function mergedValue(key: string, before: unknown, value: unknown): unknown {
  if (addedLists.has(key) && Array.isArray(before) && Array.isArray(value))
    return [...(before as unknown[]), ...(value as unknown[])];
  if (addedObjects.has(key) && isObject(before) && isObject(value)) return { ...before, ...value };
  return value;
}
