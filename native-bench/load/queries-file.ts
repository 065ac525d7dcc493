import { readFileSync } from "node:fs";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import type { LoadRequest } from "./request.js";

/**
 * Reads the requests of a load: one a line, except for empty lines and lines that begin with `#`.
 *
 *     TODO lang:go                                                      a search at the stream
 *     {"stream": "foo.*bar", "patternType": "regexp", "display": 50}    the same with its parameters; also "version"
 *     {"graphql": "query($q: String!) {…}", "variables": {"q": "x"}}
 *     {"zoekt": "foo", "options": {"MaxDocDisplayCount": 50}}           zoekt-webserver's JSON interface
 *     {"get": "/healthz"}
 */
export function readQueriesFile(path: string): LoadRequest[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new TrawlError("bad-config", `the file of queries cannot be read: ${errorMessage(cause)}`, { cause });
  }
  return parseQueries(text, path);
}

/** `name` is for messages. */
export function parseQueries(text: string, name: string): LoadRequest[] {
  const requests = text.split("\n").flatMap((line, i) => {
    const trimmed = line.trim();
    return trimmed === "" || trimmed.startsWith("#") ? [] : [parseLine(trimmed, `${name}:${i + 1}`)];
  });
  if (requests.length === 0) throw new TrawlError("bad-config", `${name}: no queries`);
  if (requests.length <= requestsMax) return requests;
  throw new TrawlError("bad-config", `${name}: ${requests.length} queries; at most ${requestsMax}`);
}

const requestsMax = 100_000;

function parseLine(line: string, position: string): LoadRequest {
  if (!line.startsWith("{")) return { kind: "stream", query: line, patternType: "", version: "", display: undefined };
  const fields = new Fields(parseJson(line, position), position);
  const request = parseRequest(fields);
  fields.requireAllRead();
  return request;
}

function parseRequest(fields: Fields): LoadRequest {
  if (fields.has("stream")) {
    const query = fields.text("stream");
    const [patternType, version] = [fields.text("patternType", ""), fields.text("version", "")];
    return { kind: "stream", query, patternType, version, display: fields.count("display") };
  }
  if (fields.has("graphql"))
    return { kind: "graphql", query: fields.text("graphql"), variables: fields.object("variables") };
  if (fields.has("zoekt")) return { kind: "zoekt", query: fields.text("zoekt"), options: fields.object("options") };
  if (!fields.has("get")) throw fields.wrong('needs one of "stream", "graphql", "zoekt" and "get"');
  const path = fields.text("get");
  if (/^\/[\x21-\x7e]*$/.test(path)) return { kind: "get", path };
  throw fields.wrong('"get" must begin with / and be percent-encoded');
}

type JsonObject = Readonly<Record<string, unknown>>;

function parseJson(line: string, position: string): JsonObject {
  try {
    return JSON.parse(line) as JsonObject;
  } catch (cause) {
    const message = `${position}: a line that begins with { is JSON: ${errorMessage(cause)}`;
    throw new TrawlError("bad-config", message, { cause });
  }
}

/** The members of one line, each of which must be read. */
class Fields {
  readonly #object: JsonObject;
  readonly #position: string;
  readonly #read = new Set<string>();

  constructor(object: JsonObject, position: string) {
    this.#object = object;
    this.#position = position;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name);
  }

  /** Required unless there is a value for its absence. */
  text(name: string, absent?: string): string {
    const value = this.#take(name) ?? absent;
    if (typeof value === "string" && (value !== "" || !this.has(name))) return value;
    throw this.wrong(`"${name}" must be a text`);
  }

  /** Undefined when it is absent. */
  count(name: string): number | undefined {
    const value = this.#take(name);
    if (value === undefined || (Number.isInteger(value) && Number(value) >= 0)) return value as number | undefined;
    throw this.wrong(`"${name}" must be a whole number`);
  }

  /** {} when it is absent. */
  object(name: string): JsonObject {
    const value = this.#take(name) ?? {};
    if (typeof value === "object" && !Array.isArray(value)) return value as JsonObject;
    throw this.wrong(`"${name}" must be an object`);
  }

  requireAllRead(): void {
    const unread = Object.keys(this.#object).find((name) => !this.#read.has(name));
    if (unread !== undefined) throw this.wrong(`"${unread}" means nothing here`);
  }

  wrong(what: string): TrawlError {
    return new TrawlError("bad-config", `${this.#position}: ${what}`);
  }

  #take(name: string): unknown {
    this.#read.add(name);
    return this.#object[name];
  }
}
