import { unreachable } from "../../src/base/assert.js";
import { AnyCheck, GraphqlCheck, ZoektCheck, type AnswerCheck } from "./answer-check.js";
import { SseCheck } from "./sse-check.js";

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

/** The same search for every match. */
export function exhaustive(request: StreamRequest): StreamRequest {
  const query = /(^|[\s(])count:/.test(request.query) ? request.query : `count:all ${request.query}`;
  return { ...request, query, display: undefined };
}
