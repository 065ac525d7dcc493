import { readFileSync } from "node:fs";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import { generatorBounds, getRequest, type HttpRequest, postJson } from "./generator.js";

/**
 * Reads the requests of a load: one a line, except for empty lines and lines that begin with `#`.
 *
 *     TODO lang:go                                                      a search at the stream
 *     {"stream": "foo.*bar", "patternType": "regexp", "display": 50}    the same with its parameters; also "version"
 *     {"graphql": "query($q: String!) {…}", "variables": {"q": "x"}}
 *     {"zoekt": "foo", "options": {"MaxDocDisplayCount": 50}}           zoekt-webserver's JSON interface
 *     {"get": "/healthz"}
 */
export function readQueriesFile(path: string): HttpRequest[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new TrawlError("bad-config", `the file of queries cannot be read: ${errorMessage(cause)}`, { cause });
  }
  return parseQueries(text, path);
}

/** `name` is for messages. */
export function parseQueries(text: string, name: string): HttpRequest[] {
  const requests = text.split("\n").flatMap((line, i) => {
    const trimmed = line.trim();
    return trimmed === "" || trimmed.startsWith("#") ? [] : [parseLine(trimmed, `${name}:${i + 1}`)];
  });
  if (requests.length === 0) throw new TrawlError("bad-config", `${name}: no queries`);
  if (requests.length <= generatorBounds.requests) return requests;
  throw new TrawlError("bad-config", `${name}: ${requests.length} queries; at most ${generatorBounds.requests}`);
}

type JsonObject = Readonly<Record<string, unknown>>;

/** The optional members of each kind of request; its first member is required, and a text. */
const members: Readonly<Record<string, Readonly<Record<string, keyof typeof memberTypes>>>> = {
  stream: { patternType: "text", version: "text", display: "count" },
  graphql: { variables: "object" },
  zoekt: { options: "object" },
  get: {},
};

const memberTypes = {
  text: { what: "a text", isGood: (value: unknown) => typeof value === "string" && value !== "" },
  count: { what: "a whole number", isGood: (value: unknown) => Number.isInteger(value) && Number(value) >= 0 },
  object: { what: "an object", isGood: (value: unknown) => typeof value === "object" && !Array.isArray(value) },
} as const;

/** The members of a stream's request by the names of their parameters. */
const streamParameters: Readonly<Record<string, string>> = { patternType: "t", version: "v", display: "display" };

function parseLine(line: string, position: string): HttpRequest {
  if (!line.startsWith("{")) return streamRequest({ stream: line });
  const wrong = (what: string): TrawlError => new TrawlError("bad-config", `${position}: ${what}`);
  let value: JsonObject;
  try {
    value = JSON.parse(line) as JsonObject;
  } catch (cause) {
    throw wrong(`a line that begins with { is JSON: ${errorMessage(cause)}`);
  }
  const kind = Object.keys(members).find((name) => Object.hasOwn(value, name));
  if (kind === undefined) throw wrong('needs one of "stream", "graphql", "zoekt" and "get"');
  const types: JsonObject = { [kind]: "text", ...members[kind] };
  for (const [name, member] of Object.entries(value)) {
    if (!Object.hasOwn(types, name)) throw wrong(`"${name}" means nothing here`);
    const { what, isGood } = memberTypes[types[name] as keyof typeof memberTypes];
    if (!isGood(member)) throw wrong(`"${name}" must be ${what}`);
  }
  const query = String(value[kind]);
  if (kind === "stream") return streamRequest(value);
  if (kind === "graphql") return postJson("/.api/graphql", { query, variables: value["variables"] ?? {} });
  if (kind === "zoekt") return postJson("/api/search", { Q: query, Opts: value["options"] ?? {} });
  if (/^\/[\x21-\x7e]*$/.test(query)) return getRequest(query);
  throw wrong('"get" must begin with / and be percent-encoded');
}

function streamRequest({ stream, ...more }: JsonObject): HttpRequest {
  const params = new URLSearchParams({ q: String(stream) });
  for (const [name, value] of Object.entries(more)) params.set(streamParameters[name] ?? name, String(value));
  return { ...getRequest(`/.api/search/stream?${params}`), headers: { Accept: "text/event-stream" } };
}
