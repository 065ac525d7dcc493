import { unreachable } from "../../src/base/assert.js";
import { type AnswerCheck, AnyCheck, GraphqlCheck, SseCheck, ZoektCheck } from "./answer-check.js";
import { readFileSync } from "node:fs";
import { errorMessage, TrawlError } from "../../src/base/errors.js";

/** What the generator can ask a server. */
export type LoadRequest = StreamRequest | GraphqlRequest | ZoektRequest | GetRequest;

/** A search at `/.api/search/stream`. */
export interface StreamRequest {
  readonly kind: "stream";
  readonly query: string;
  /** "" leaves it to the server, as with `version`. */
  readonly patternType: string;
  readonly version: string;
  /** Undefined for no limit. */
  readonly display: number | undefined;
}

/** An operation at `/.api/graphql`. */
export interface GraphqlRequest {
  readonly kind: "graphql";
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** A search of zoekt-webserver's JSON interface, `/api/search` (it must be started with `-rpc`). */
export interface ZoektRequest {
  readonly kind: "zoekt";
  readonly query: string;
  /** Its `SearchOptions` by their Go names; {} for its defaults. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Any page of the server; only the status of its answer counts. */
export interface GetRequest {
  readonly kind: "get";
  /** Below the base URL, with a leading slash. */
  readonly path: string;
}

/** A request in the form in which it is sent over and over. */
export interface Exchangeable {
  /** Shown to the user. */
  readonly label: string;
  readonly method: "GET" | "POST";
  /** Below the server's base URL, with a leading slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** What the answer's Content-Type must begin with; "" accepts any. */
  readonly contentType: string;
  readonly newCheck: () => AnswerCheck;
}

export function toExchangeable(request: LoadRequest): Exchangeable {
  switch (request.kind) {
    case "stream":
      return get(request.query, streamPath(request), "text/event-stream", () => new SseCheck());
    case "get":
      return get(request.path, request.path, "", () => new AnyCheck());
    case "graphql": {
      const { query, variables } = request;
      const values = Object.keys(variables).length === 0 ? "" : ` ${JSON.stringify(variables)}`;
      const label = `${query.replace(/\s+/g, " ").trim()}${values}`;
      return post(label, "/.api/graphql", { query, variables }, () => new GraphqlCheck());
    }
    case "zoekt": {
      const { query, options } = request;
      return post(query, "/api/search", { Q: query, Opts: options }, () => new ZoektCheck());
    }
    default:
      return unreachable(request);
  }
}

function get(label: string, path: string, contentType: string, newCheck: () => AnswerCheck): Exchangeable {
  const headers: Record<string, string> = contentType === "" ? {} : { accept: contentType };
  return { label, method: "GET", path, headers, body: null, contentType, newCheck };
}

function post(label: string, path: string, body: object, newCheck: () => AnswerCheck): Exchangeable {
  const contentType = "application/json";
  const headers = { "content-type": contentType, accept: contentType };
  return { label, method: "POST", path, headers, body: JSON.stringify(body), contentType, newCheck };
}

function streamPath({ query, patternType, version, display }: StreamRequest): string {
  const params = new URLSearchParams({ q: query });
  if (patternType !== "") params.set("t", patternType);
  if (version !== "") params.set("v", version);
  if (display !== undefined) params.set("display", String(display));
  return `/.api/search/stream?${params}`;
}

/** A search with the server's usual parameters. */
export function streamRequest(query: string, patternType: string, version = ""): StreamRequest {
  return { kind: "stream", query, patternType, version, display: undefined };
}

/** The same search for every match. */
export function exhaustive(request: StreamRequest): StreamRequest {
  const query = /(^|[\s(])count:/.test(request.query) ? request.query : `count:all ${request.query}`;
  return { ...request, query, display: undefined };
}

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
  if (!line.startsWith("{")) return streamRequest(line, "");
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
