import type { ErrorObject } from "ajv/dist/2020.js";
import { redactUrl } from "../../git/run/remote-url.js";
import { nearestWord } from "../../base/text.js";
import { providerTable } from "./provider-options.js";
import { connectionTable } from "./connection-options.js";
import {
  allowedText,
  contextRepositoryTable,
  contextTable,
  optionTable,
  repositoryTable,
  type OptionRow,
} from "./options.js";

/**
 * One line for each error of the schema: its source, its key, what is allowed and what was found. `findLine` returns
 * the line of a path when the source is a file; `root` is put before the paths.
 */
export function describe(
  source: string,
  errors: readonly ErrorObject[] | null | undefined,
  content: unknown,
  findLine: ((path: readonly string[]) => number) | undefined,
  root: readonly string[],
): string[] {
  const problems = (errors ?? []).map((error) => {
    const path = error.instancePath
      .split("/")
      .slice(1)
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const unknownKey: unknown = error.params["additionalProperty"];
    const keyPath = typeof unknownKey === "string" ? [...path, unknownKey] : path;
    const where = findLine === undefined ? source : `${source}:${findLine(keyPath)}`;
    return `${where}: ${problemText(error, [...root, ...path], valueAt(content, path))}`;
  });
  return [...new Set(problems)];
}

function problemText(error: ErrorObject, path: readonly string[], found: unknown): string {
  const key = path.length === 0 ? "the file" : keyText(path);
  switch (error.keyword) {
    case "additionalProperties":
      return unknownKeyText(path, String(error.params["additionalProperty"]));
    case "required":
      return `${key}: "${String(error.params["missingProperty"])}" is missing`;
    default: {
      const row = rowAt(path);
      const allowed = row
        ? allowedText(row)
        : error.keyword === "type" && error.params["type"] === "array"
          ? "a list"
          : "an object";
      return `${key}: must be ${allowed}, not ${redactUrl(JSON.stringify(found) ?? "")}`;
    }
  }
}

export function unknownKeyText(path: readonly string[], key: string): string {
  const typed = keyText([...path, key]);
  const keys = listedKeys(path);
  const [nearest, ...others] =
    keys !== undefined
      ? suggestions(key, keys, "")
      : suggestions(typed, optionKeys, path.map((part) => `${part}.`).join(""));
  const hint = others.length === 0 ? `did you mean ${nearest}?` : `allowed here: ${[nearest, ...others].join(", ")}`;
  return `unknown key ${typed}; ${hint}`;
}

const optionKeys = [...Object.keys(optionTable), "repositories", "connections", "contexts", "identityProviders"];

/** The keys that are allowed at this path, if it is inside a list. */
function listedKeys([list, , inner]: readonly string[]): readonly string[] | undefined {
  if (list === "repositories") return Object.keys(repositoryTable);
  if (list === "connections") return Object.keys(connectionTable);
  if (list === "identityProviders" && inner === undefined) return Object.keys(providerTable);
  if (list !== "contexts") return undefined;
  return Object.keys(inner === "repositories" ? contextRepositoryTable : { ...contextTable, repositories: undefined });
}

/** The one key that was probably meant, or all keys that are allowed under the prefix. */
function suggestions(typed: string, keys: readonly string[], prefix: string): readonly string[] {
  const groups = keys.map((key) => key.split(".")[0] ?? "");
  const nearest = nearestWord(typed, [...keys, ...groups]) ?? keys.find((key) => key.endsWith(`.${typed}`));
  if (nearest !== undefined) return [nearest];
  return prefix === "" ? [...new Set(groups)] : keys.filter((key) => key.startsWith(prefix));
}

/** `repositories[2].name`, `search.queue`. */
function keyText(path: readonly string[]): string {
  return path.map((part, at) => (/^[0-9]+$/.test(part) ? `[${part}]` : at === 0 ? part : `.${part}`)).join("");
}

/** The row that describes the value at this path, or at an item of it. */
function rowAt(path: readonly string[]): OptionRow | undefined {
  if (path[0] === "repositories") return ownRow(repositoryTable, path[2]);
  if (path[0] === "connections") return ownRow(connectionTable, path[2]);
  if (path[0] === "identityProviders") return ownRow(providerTable, path[2]);
  if (path[0] === "contexts" && path[2] === "repositories") return ownRow(contextRepositoryTable, path[4]);
  if (path[0] === "contexts") return ownRow(contextTable, path[2]);
  return ownRow(optionTable, path[0]) ?? ownRow(optionTable, path.slice(0, 2).join("."));
}

/** The row of a key. The file may contain any key, including those of Object.prototype. */
export function ownRow(rows: Readonly<Record<string, OptionRow>>, key = ""): OptionRow | undefined {
  return Object.hasOwn(rows, key) ? rows[key] : undefined;
}

function valueAt(content: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], content);
}
