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

function parseLine(line: string, position: string): LoadRequest {
  if (!line.startsWith("{")) return { kind: "stream", query: line, patternType: "", version: "", display: undefined };
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
  return toRequest(kind, value, wrong);
}

/** Of checked members. */
function toRequest(kind: string, value: JsonObject, wrong: (what: string) => TrawlError): LoadRequest {
  const query = String(value[kind]);
  const { patternType = "", version = "", display } = value;
  if (kind === "graphql") return { kind, query, variables: (value["variables"] ?? {}) as JsonObject };
  if (kind === "zoekt") return { kind, query, options: (value["options"] ?? {}) as JsonObject };
  if (kind !== "get")
    return {
      kind: "stream",
      query,
      patternType: String(patternType),
      version: String(version),
      display: display as number | undefined,
    };
  if (/^\/[\x21-\x7e]*$/.test(query)) return { kind, path: query };
  throw wrong('"get" must begin with / and be percent-encoded');
}
