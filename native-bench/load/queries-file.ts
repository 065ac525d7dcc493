import { readFileSync } from "node:fs";
import { TrawlError, errorMessage } from "../../src/base/errors.js";
import type { LoadRequest } from "./request.js";

/**
 * Reads the requests of a load: one a line, empty lines and lines that begin with `#` aside.
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
  if (requests.length > requestsMax)
    throw new TrawlError("bad-config", `${name}: ${requests.length} queries; at most ${requestsMax}`);
  return requests;
}

const requestsMax = 100_000;

function parseLine(line: string, place: string): LoadRequest {
  if (!line.startsWith("{")) return { kind: "stream", query: line, patternType: "", version: "", display: undefined };
  const fields = new Fields(parseObject(line, place), place);
  const request = readRequest(fields);
  fields.requireAllRead();
  return request;
}

function readRequest(fields: Fields): LoadRequest {
  if (fields.has("stream")) {
    const [query, patternType, version] = [
      fields.text("stream"),
      fields.textOr("patternType", ""),
      fields.textOr("version", ""),
    ];
    return { kind: "stream", query, patternType, version, display: fields.count("display") };
  }
  if (fields.has("graphql"))
    return { kind: "graphql", query: fields.text("graphql"), variables: fields.objectOr("variables", {}) };
  if (fields.has("zoekt"))
    return { kind: "zoekt", query: fields.text("zoekt"), options: fields.objectOr("options", {}) };
  if (fields.has("get")) return { kind: "get", path: fields.path("get") };
  throw fields.wrong('needs one of "stream", "graphql", "zoekt" and "get"');
}

type JsonObject = Readonly<Record<string, unknown>>;

function parseObject(line: string, place: string): JsonObject {
  try {
    return JSON.parse(line) as JsonObject;
  } catch (cause) {
    throw new TrawlError("bad-config", `${place}: a line that begins with { is JSON: ${errorMessage(cause)}`, {
      cause,
    });
  }
}

/** The members of one line, each of which must be read. */
class Fields {
  readonly #object: JsonObject;
  readonly #place: string;
  readonly #read = new Set<string>();

  constructor(object: JsonObject, place: string) {
    this.#object = object;
    this.#place = place;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name);
  }

  text(name: string): string {
    const value = this.#take(name);
    if (typeof value === "string" && value !== "") return value;
    throw this.wrong(`"${name}" must be a text`);
  }

  textOr(name: string, absent: string): string {
    return this.has(name) ? this.text(name) : absent;
  }

  path(name: string): string {
    const path = this.text(name);
    if (/^\/[\x21-\x7e]*$/.test(path)) return path;
    throw this.wrong(`"${name}" must begin with / and be percent-encoded`);
  }

  /** Undefined when it is absent. */
  count(name: string): number | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#take(name);
    if (Number.isInteger(value) && Number(value) >= 0) return Number(value);
    throw this.wrong(`"${name}" must be a whole number`);
  }

  objectOr(name: string, absent: JsonObject): JsonObject {
    if (!this.has(name)) return absent;
    const value = this.#take(name);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
    throw this.wrong(`"${name}" must be an object`);
  }

  requireAllRead(): void {
    const unread = Object.keys(this.#object).find((name) => !this.#read.has(name));
    if (unread !== undefined) throw this.wrong(`"${unread}" means nothing here`);
  }

  wrong(what: string): TrawlError {
    return new TrawlError("bad-config", `${this.#place}: ${what}`);
  }

  #take(name: string): unknown {
    this.#read.add(name);
    return this.#object[name];
  }
}
