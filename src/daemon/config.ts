import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import {
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from "jsonc-parser";
import { TrawlError, errorMessage } from "../base/errors.js";
import { lazy } from "../base/lazy.js";
import { redactUrl } from "../git/mirror/remote-url.js";
import { checkCredential } from "../git/mirror/url-secret.js";
import type { RepositoryConfig, RepositoryAttributes } from "../model/repository.js";
import type { SearchContext } from "../model/search-context.js";
import { QueryError } from "../query/syntax/query-error.js";
import { checkContextQuery } from "../query/plan/search-contexts.js";
import { nearestWord } from "./nearest-word.js";
import {
  allowedText,
  contextRepositoryTable,
  contextRevisionLengthMax,
  contextTable,
  optionTable,
  repositoryTable,
  type OptionRow,
  type OptionValues,
  type RepositoryOptions,
  type ResolvedOptions,
  type TypedOptions,
} from "./options.js";
import { absoluteUrl, nameOfUrl } from "./repository-url.js";
import { configSchema, factsSchema, repositorySchema, type JsonSchema } from "./schema.js";

/**
 * From what was typed to what holds: the file is read and checked, the command line laid over it, defaults filled in,
 * paths made absolute. Called at the start and again on SIGHUP with the same `typed`.
 *
 * Everything that is wrong is told at once, one line each, as in `trawl.jsonc:12: search.queue: must be …, not "x"`,
 * in one error of code `bad-config`.
 */
export function resolveOptions(typed: TypedOptions): ResolvedOptions {
  const problems: string[] = [];
  const file = typed.configFile === undefined ? undefined : readConfigFile(typed.configFile, problems);
  const values = new Map<string, unknown>(file ? flatten(file.content, file.directory) : []);
  for (const [key, text] of typed.overrides) applyOverride(values, key, text, problems);
  const repositories = [
    ...(file ? fileRepositories(file, problems) : []),
    ...typed.repositories.map((text) => typedRepository(text, problems)),
  ];
  checkRepositories(repositories, problems);
  const contexts = file === undefined ? [] : fileContexts(file, problems);
  const options = nest(values);
  const { listenHost, listenPort } = checkListen(options, values.has("auth.public"), problems);
  if (problems.length > 0) throw new TrawlError("bad-config", problems.join("\n"));
  return {
    ...options,
    data: resolve(options.data),
    typed,
    listenHost,
    listenPort,
    repositories: repositories.map(({ config }) => config),
    contexts,
  };
}

/** Names of the options whose values differ; the lists of repositories and contexts are not looked at. */
export function differingOptions(a: ResolvedOptions, b: ResolvedOptions): string[] {
  return Object.keys(optionTable).filter(
    (key) => JSON.stringify(optionAt(a, key)) !== JSON.stringify(optionAt(b, key)),
  );
}

function optionAt(options: ResolvedOptions, key: string): unknown {
  return key.split(".").reduce<unknown>((value, part) => (value as Readonly<Record<string, unknown>>)[part], options);
}

/** One repository as JSON, checked like an item of the file and with every field filled in. Throws `bad-config`. */
export function resolveRepository(value: unknown): RepositoryConfig {
  const validRepository = repositoryValidation();
  if (!validRepository(value)) {
    const problems = describe("repository", validRepository.errors, value, undefined, ["repositories", "0"]);
    throw new TrawlError("bad-config", problems.join("\n"));
  }
  const config = repositoryConfig(value as Partial<RepositoryOptions>, process.cwd());
  checkCredential(config.url, config.credential);
  return config;
}

/**
 * Facts of a repository as JSON, checked like those of the file; what is not there is not changed. Throws `bad-config`.
 */
export function resolveAttributes(value: unknown): Partial<RepositoryAttributes> {
  const validFacts = factsValidation();
  if (validFacts(value)) return value as Partial<RepositoryAttributes>;
  throw new TrawlError(
    "bad-config",
    describe("repository", validFacts.errors, value, undefined, ["repositories", "0"]).join("\n"),
  );
}

interface ConfigFile {
  /** As it was typed. */
  readonly path: string;
  readonly directory: string;
  readonly text: string;
  readonly tree: Node | undefined;
  readonly content: Readonly<Record<string, unknown>>;
}

/**
 * A repository and where it was named, which is only worked out for a message: finding a line reads the file up to it.
 */
interface LocatedRepository {
  readonly where: () => string;
  readonly config: RepositoryConfig;
}

/** Our schemas are not checked themselves, nor is their code improved: both are for a test, and took half of the time. */
const ajv = new Ajv2020({ allErrors: true, meta: false, validateSchema: false, code: { optimize: false } });
const validConfig = compile(configSchema());
// Compiled when they are first needed: each takes a tenth of a second of the start.
const repositoryValidation = lazy(() => compile(repositorySchema()));
const factsValidation = lazy(() => compile(factsSchema()));

function compile(schema: JsonSchema): ValidateFunction {
  return ajv.compile(schema);
}

function readConfigFile(path: string, problems: string[]): ConfigFile {
  const text = readText(path);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const content: unknown = tree ? getNodeValue(tree) : {};
  for (const { error, offset } of errors) problems.push(`${path}:${lineAt(text, offset)}: ${syntaxText(error)}`);
  const file = { path, directory: dirname(resolve(path)), text, tree, content: isObject(content) ? content : {} };
  if (errors.length > 0) return { ...file, content: {} };
  problems.push(...duplicateKeys(file));
  if (validConfig(content)) return file;
  problems.push(...describe(path, validConfig.errors, content, file, []));
  return { ...file, content: {} };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new TrawlError("bad-config", `cannot read the configuration file: ${errorMessage(cause)}`, { cause });
  }
}

/** `CommaExpected` as `comma expected`. */
function syntaxText(error: ParseError["error"]): string {
  return printParseErrorCode(error)
    .replace(/(?<!^)[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase();
}

function lineAt(text: string, utf16Offset: number): number {
  return text.slice(0, utf16Offset).split("\n").length;
}

/** Of two values for a key the parser keeps the last one in silence. */
function duplicateKeys(file: ConfigFile): string[] {
  const problems: string[] = [];
  const visit = (node: Node) => {
    const seen = new Set<unknown>();
    for (const child of node.children ?? []) {
      const key = child.type === "property" ? child.children?.[0] : undefined;
      if (key && seen.has(key.value))
        problems.push(`${file.path}:${lineAt(file.text, key.offset)}: key "${key.value}" stands here twice`);
      if (key) seen.add(key.value);
      visit(child);
    }
  };
  if (file.tree) visit(file.tree);
  return problems;
}

/** What the schema found wrong, each with its place, its key, what is allowed and what was found. */
function describe(
  source: string,
  errors: readonly ErrorObject[] | null | undefined,
  content: unknown,
  file: ConfigFile | undefined,
  root: readonly string[],
): string[] {
  const problems = (errors ?? []).map((error) => {
    const path = error.instancePath
      .split("/")
      .slice(1)
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const unknownKey: unknown = error.params["additionalProperty"];
    const keyPath = typeof unknownKey === "string" ? [...path, unknownKey] : path;
    const where = file ? `${source}:${findLine(file, keyPath)}` : source;
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

function unknownKeyText(path: readonly string[], key: string): string {
  const typed = keyText([...path, key]);
  const keys = listedKeys(path);
  const [nearest, ...others] =
    keys !== undefined
      ? suggestions(key, keys, "")
      : suggestions(typed, optionKeys, path.map((part) => `${part}.`).join(""));
  const hint = others.length === 0 ? `did you mean ${nearest}?` : `allowed here: ${[nearest, ...others].join(", ")}`;
  return `unknown key ${typed}; ${hint}`;
}

const optionKeys = [...Object.keys(optionTable), "repositories", "contexts"];

/** The keys of the item at this path, when it is one of a list. */
function listedKeys([list, , inner]: readonly string[]): readonly string[] | undefined {
  if (list === "repositories") return Object.keys(repositoryTable);
  if (list !== "contexts") return undefined;
  return Object.keys(inner === "repositories" ? contextRepositoryTable : { ...contextTable, repositories: undefined });
}

/** The one key that was probably meant, or all that are allowed under the prefix. */
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
  if (path[0] === "contexts" && path[2] === "repositories") return ownRow(contextRepositoryTable, path[4]);
  if (path[0] === "contexts") return ownRow(contextTable, path[2]);
  return ownRow(optionTable, path[0]) ?? ownRow(optionTable, path.slice(0, 2).join("."));
}

/** The file may name any key, those of Object.prototype too. */
function ownRow(rows: Readonly<Record<string, OptionRow>>, key = ""): OptionRow | undefined {
  return Object.hasOwn(rows, key) ? rows[key] : undefined;
}

function valueAt(content: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], content);
}

function findLine(file: ConfigFile, path: readonly string[]): number {
  const steps = path.map((part) => (/^[0-9]+$/.test(part) ? Number(part) : part));
  const node = file.tree && findNodeAtLocation(file.tree, steps);
  return lineAt(file.text, (node?.parent?.type === "property" ? node.parent : node)?.offset ?? 0);
}

/** The options of the file by key; a relative data directory starts where the file is. */
function flatten(content: Readonly<Record<string, unknown>>, directory: string): [string, unknown][] {
  const values: [string, unknown][] = [];
  for (const [key, value] of Object.entries(content)) {
    if (Object.hasOwn(optionTable, key)) values.push([key, key === "data" ? resolve(directory, String(value)) : value]);
    else if (isObject(value)) for (const [name, inner] of Object.entries(value)) values.push([`${key}.${name}`, inner]);
  }
  return values;
}

function applyOverride(values: Map<string, unknown>, key: string, text: string, problems: string[]): void {
  const row = ownRow(optionTable, key);
  const value = row ? readValue(row, text) : text;
  const [first = "", second] = key.split(".");
  const content = second === undefined ? { [first]: value } : { [first]: { [second]: value } };
  if (row && validConfig(content)) values.set(key, value);
  else if (row) problems.push(...describe("command line", validConfig.errors, content, undefined, []));
  else if (key === "repositories") problems.push("command line: repositories are named with --repository NAME=URL");
  else problems.push(`command line: ${unknownKeyText([], key)}`);
}

/** The value that a text on the command line stands for; a text that is none stays one, and fails the check. */
function readValue(row: OptionRow, text: string): unknown {
  if (row.kind === "string" || row.kind === "choice") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function fileRepositories(file: ConfigFile, problems: string[]): LocatedRepository[] {
  const items = file.content["repositories"];
  if (items === undefined || problems.length > 0 || !Array.isArray(items)) return [];
  return items.map((item: Partial<RepositoryOptions>, at) => ({
    where: () => `${file.path}:${findLine(file, ["repositories", String(at)])}`,
    config: repositoryConfig(item, file.directory),
  }));
}

/** The contexts of the file, with every field. What is wrong with one is told with its line. */
function fileContexts(file: ConfigFile, problems: string[]): SearchContext[] {
  const items = file.content["contexts"];
  if (items === undefined || problems.length > 0 || !Array.isArray(items)) return [];
  const seen = new Set<string>();
  return items.map((item: Partial<SearchContext> & { readonly name: string }, at) => {
    const { name, description = "", public: isPublic = true, query = "" } = item;
    const repositories = (item.repositories ?? []).map((repository) => ({
      ...repository,
      revisions: (repository.revisions as readonly string[] | undefined) ?? [],
    }));
    const where = `${file.path}:${findLine(file, ["contexts", String(at)])}`;
    const context = { name, description, public: isPublic, query, repositories };
    if (seen.has(name)) problems.push(`${where}: a context named ${JSON.stringify(name)} stands above already`);
    seen.add(name);
    for (const problem of contextProblems(context, item.repositories !== undefined))
      problems.push(`${where}: context ${name}: ${problem}`);
    return context;
  });
}

function contextProblems({ query, repositories }: SearchContext, hasList: boolean): string[] {
  if ((query !== "") === hasList) return [`it needs either "query" or "repositories"${hasList ? ", not both" : ""}`];
  const long = repositories
    .flatMap(({ revisions }) => revisions)
    .find((revision) => revision.length > contextRevisionLengthMax);
  if (long !== undefined)
    return [`the revision ${long.slice(0, 40)}… is longer than ${contextRevisionLengthMax} characters`];
  const names = repositories.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) return [`${JSON.stringify(twice)} stands in its list twice; give one entry all revisions`];
  if (query === "") return [];
  try {
    checkContextQuery(query, new Date().getTime());
    return [];
  } catch (error) {
    if (error instanceof QueryError)
      return error
        .printWithCaret()
        .split("\n")
        .filter((line) => line !== "");
    throw error;
  }
}

/** `NAME=URL`, or a URL alone, which gets a name of its own. */
function typedRepository(text: string, problems: string[]): LocatedRepository {
  const where = "command line";
  const [, name, url] = /^([^=:]+)=(.*)$/s.exec(text) ?? [text, nameOfUrl(absoluteUrl(text, process.cwd())), text];
  const item = { name: name ?? "", url: url ?? "" };
  const validRepository = repositoryValidation();
  if (!validRepository(item))
    problems.push(...describe(where, validRepository.errors, item, undefined, ["repositories", "0"]));
  return { where: () => where, config: repositoryConfig(item, process.cwd()) };
}

const repositoryDefaults = Object.fromEntries(
  Object.entries<OptionRow>(repositoryTable).map(([name, row]) => [name, row.default]),
);

function repositoryConfig(item: Partial<RepositoryOptions>, base: string): RepositoryConfig {
  const { interval, ...fields } = { ...repositoryDefaults, ...item } as RepositoryOptions;
  return { ...fields, url: absoluteUrl(fields.url, base), intervalSeconds: interval };
}

function checkRepositories(repositories: readonly LocatedRepository[], problems: string[]): void {
  if (problems.length > 0) return;
  const seen = new Set<string>();
  for (const {
    where,
    config: { name, url, credential },
  } of repositories) {
    if (seen.has(name)) problems.push(`${where()}: a repository named ${JSON.stringify(name)} stands above already`);
    seen.add(name);
    try {
      checkCredential(url, credential);
    } catch (error) {
      problems.push(`${where()}: ${errorMessage(error)}`);
    }
  }
}

/** Defaults filled in, keys with a dot made objects in objects. */
function nest(values: ReadonlyMap<string, unknown>): OptionValues {
  const nested: Record<string, unknown> = {};
  for (const [key, row] of Object.entries<OptionRow>(optionTable)) {
    const value = values.has(key) ? values.get(key) : row.default;
    const [first = "", second] = key.split(".");
    if (second === undefined) nested[first] = value;
    else nested[first] = { ...(nested[first] as object), [second]: value };
  }
  return nested as OptionValues;
}

function checkListen(
  options: OptionValues,
  isPublicGiven: boolean,
  problems: string[],
): { listenHost: string; listenPort: number } {
  const at = options.listen.lastIndexOf(":");
  const listenHost = options.listen.slice(0, at).replace(/^\[|\]$/g, "");
  const listenPort = Number(options.listen.slice(at + 1));
  if (listenPort > 65_535) problems.push(`listen: the port of ${options.listen} is above 65535`);
  if (!isLoopback(listenHost) && !isPublicGiven) {
    problems.push(
      `listen: ${options.listen} is not a loopback address: set "auth": {"public": false} to ask everyone for an ` +
        `access token, or "auth": {"public": true} to let everyone who can reach it read all code that is not private`,
    );
  }
  return { listenHost, listenPort };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.[0-9]{1,3}){3}$/.test(host);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
