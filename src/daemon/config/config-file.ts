import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from "jsonc-parser";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { withoutByteOrderMark } from "../../base/text.js";
import { describe } from "./problems.js";
import { configValidation } from "./validators.js";

/** A configuration file that was read and checked. */
export interface ConfigFile {
  /** As it was typed. */
  readonly path: string;
  readonly directory: string;
  readonly text: string;
  readonly tree: Node | undefined;
  readonly content: Readonly<Record<string, unknown>>;
}

/** Reads and checks a configuration file. Adds what is wrong to `problems`; the content is then empty. */
export function readConfigFile(path: string, problems: string[]): ConfigFile {
  return parseConfigFile(path, readText(path), problems);
}

/** The same for a text that may become the file at `path`. */
export function parseConfigFile(path: string, given: string, problems: string[]): ConfigFile {
  const text = withoutByteOrderMark(given);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const content: unknown = tree ? getNodeValue(tree) : {};
  for (const { error, offset } of errors) problems.push(`${path}:${lineAt(text, offset)}: ${syntaxText(error)}`);
  const file = { path, directory: dirname(resolve(path)), text, tree, content: isObject(content) ? content : {} };
  if (errors.length > 0) return { ...file, content: {} };
  problems.push(...duplicateKeys(file));
  const validConfig = configValidation();
  if (validConfig(content)) return file;
  problems.push(...describe(path, validConfig.errors, content, (path) => findLine(file, path), []));
  return { ...file, content: {} };
}

function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (!isUtf8(bytes)) throw new TrawlError("bad-config", `${path} is not in UTF-8: save it in that encoding`);
    return bytes.toString();
  } catch (cause) {
    if (cause instanceof TrawlError) throw cause;
    throw new TrawlError("bad-config", `cannot read the configuration file: ${errorMessage(cause)}`, { cause });
  }
}

/** Turns `CommaExpected` into `comma expected`. */
function syntaxText(error: ParseError["error"]): string {
  return printParseErrorCode(error)
    .replace(/(?<!^)[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase();
}

function lineAt(text: string, utf16Offset: number): number {
  return text.slice(0, utf16Offset).split("\n").length;
}

/** The parser keeps the last of two values for a key without an error. */
function duplicateKeys(file: ConfigFile): string[] {
  const problems: string[] = [];
  const visit = (node: Node) => {
    const seen = new Set<unknown>();
    for (const child of node.children ?? []) {
      const key = child.type === "property" ? child.children?.[0] : undefined;
      if (key && seen.has(key.value))
        problems.push(`${file.path}:${lineAt(file.text, key.offset)}: key "${key.value}" occurs twice`);
      if (key) seen.add(key.value);
      visit(child);
    }
  };
  if (file.tree) visit(file.tree);
  return problems;
}

/** The line of the value at this path, counted from 1. */
export function findLine(file: ConfigFile, path: readonly string[]): number {
  const steps = path.map((part) => (/^[0-9]+$/.test(part) ? Number(part) : part));
  const node = file.tree && findNodeAtLocation(file.tree, steps);
  return lineAt(file.text, (node?.parent?.type === "property" ? node.parent : node)?.offset ?? 0);
}

/** Whether the file has a value at this path. */
export function hasValue(file: ConfigFile, path: readonly string[]): boolean {
  return file.tree !== undefined && findNodeAtLocation(file.tree, [...path]) !== undefined;
}
