import { assert } from "../../base/assert.js";
import { statusText } from "../server/headers.js";
import { type Answer, type Content, type Operation, operations, type Parameter } from "./operations.js";
import { refTo, schemas, type Schema, text } from "./schemas.js";
import type { ViewerHandler } from "../access/guard.js";
import type { Handler } from "../server/handler.js";
import type { HttpServer } from "../server/uws.js";

/** Grows when an operation, a member or a code is added; its first number, when one is changed or removed. */
const apiVersion = "1.0.0";

/** The JSON of an OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly paths: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/**
 * Describes the routes for which `isServed` is true, at this base of addresses: a daemon without access tokens has no
 * OAuth, for example.
 */
export function openApiDocument(
  serverUrl: string,
  isServed: (method: string, pattern: string) => boolean = () => true,
): OpenApiDocument {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const operation of operations) {
    if (operation.pattern !== undefined && !isServed(operation.method, operation.pattern)) continue;
    const path = openApiPath(operation);
    paths[path] ??= {};
    paths[path][operation.method.toLowerCase()] = describe(operation, path);
  }
  const document = {
    openapi: "3.1.0",
    info: {
      title: "Trawl",
      version: apiVersion,
      description:
        "Everything that a daemon answers over HTTP, except GraphQL, which describes itself by introspection at `/.api/graphql`, " +
        "and web pages. Names of repositories and paths of files may contain slashes, escaped or not. Members may be added to " +
        "objects, and events to streams: ignore what you do not know. docs/api-stability.md says what is stable.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: serverUrl }],
    paths,
    components: {
      schemas,
      responses: allFailures(),
      securitySchemes: {
        token: {
          type: "apiKey",
          in: "header",
          name: "Authorization",
          description: "`token TEXT`; also `token-sudo`, as docs/accounts.md says.",
        },
        bearer: { type: "http", scheme: "bearer" },
        basic: { type: "http", scheme: "basic", description: "The token as the name, without a password." },
        tokenParameter: { type: "apiKey", in: "query", name: "token" },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "sgs",
          description: "Below /.api/ only with the header X-Requested-With, or from a trusted origin.",
        },
      },
    },
  } as const;
  return document;
}

/** The path of an operation, as the document has it. */
export function openApiPath({ pattern, path }: Operation): string {
  return path ?? (pattern ?? "").replace(/[A-Z]{2,}/g, (name) => `{${name.toLowerCase()}}`);
}

const credentials = ["token", "bearer", "basic", "tokenParameter", "session"].map((name) => ({ [name]: [] }));

const security: Readonly<Record<Operation["access"], readonly object[]>> = {
  anyone: [{}],
  // A public instance asks for no credential.
  viewer: [{}, ...credentials],
  user: credentials,
  "site-admin": credentials,
  browser: [{ session: [] }],
  webhook: [{}],
};

function describe(operation: Operation, path: string): Schema {
  const { id, tag, summary, description, access, parameters = [], body, answers } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: security[access],
    parameters: [...pathParameters(operation, path), ...parameters.map(describeParameter)],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, ...body, content: describeContents(body.content) } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer)])),
      ...Object.fromEntries(findFailures(operation).map((status) => [status, refToFailure(operation, status)])),
      default: refToFailure(operation, undefined),
    },
  };
}

function pathParameters({ id, captures = [] }: Operation, path: string): Schema[] {
  const names = [...path.matchAll(/\{([a-z]+)\}/g)].map(([, name]) => name);
  assert(names.length === captures.length, `operation ${id} describes its captures`);
  return names.map((name, i) => ({
    name,
    in: "path",
    required: true,
    description: captures[i],
    schema: text,
  }));
}

function describeParameter({ name, in: place, description, schema }: Parameter): Schema {
  return { name, in: place, description, schema };
}

function describeAnswer({ description, content, headers }: Answer): Schema {
  return {
    description,
    ...(headers === undefined
      ? {}
      : {
          headers: Object.fromEntries(
            Object.entries(headers).map(([name, what]) => [name, { description: what, schema: text }]),
          ),
        }),
    ...(Object.keys(content).length === 0 ? {} : { content: describeContents(content) }),
  };
}

function describeContents(content: Readonly<Record<string, Content>>): Schema {
  return Object.fromEntries(
    Object.entries(content).map(([type, { schema, events }]) => [
      type,
      events === undefined ? { schema } : { schema, "x-events": events },
    ]),
  );
}

/** The statuses of errors that an operation may be answered with, apart from those of a fault of the server. */
export function findFailures({ access, body, failures = [], answers }: Operation): number[] {
  const all = [
    ...(access === "anyone" ? [] : [401]),
    ...(access === "viewer" || access === "user" || access === "site-admin" ? [403] : []),
    ...(body === undefined ? [] : [408, 413]),
    ...failures,
  ];
  return [...new Set(all)].filter((status) => answers[status] === undefined).sort((a, b) => a - b);
}

/** Errors are the same in most operations. */
function refToFailure({ errorForm }: Operation, status: number | undefined): Schema {
  return { $ref: `#/components/responses/${errorForm ?? "Error"}${status ?? ""}` };
}

function allFailures(): Schema {
  const all: Record<string, Schema> = {};
  for (const operation of operations)
    for (const status of [undefined, ...findFailures(operation)])
      all[`${operation.errorForm ?? "Error"}${status ?? ""}`] = failure(operation, status);
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** An error: its form, and its status or any. */
function failure({ errorForm }: Operation, status: number | undefined): Schema {
  return {
    description: status === undefined ? "Any other error." : (statusText[status] ?? "Error"),
    ...(status === 429
      ? { headers: { "Retry-After": { description: "Seconds to wait.", schema: text }, RateLimit: { schema: text } } }
      : {}),
    content: {
      "text/plain; charset=utf-8": { schema: text },
      "application/problem+json": { schema: refTo("Problem") },
      ...(errorForm === undefined ? {} : { "application/json": { schema: refTo(errorForm) } }),
    },
  };
}

/** The document of a daemon with all routes, as `docs/openapi.json` has it. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument("/"), null, 2)}\n`;
}

/** The description of the routes of this server, made when it is first asked for. */
export function addOpenApiRoute(
  server: HttpServer,
  externalUrl: () => string,
  guard: (handler: ViewerHandler) => Handler,
): void {
  let made: { readonly url: string; readonly json: string } | undefined;
  server.route(
    "GET",
    "/.api/openapi.json",
    guard((_, response) => {
      const url = externalUrl();
      if (made?.url !== url) {
        const document = openApiDocument(url, (method, pattern) => server.hasRoute(method, pattern));
        made = { url, json: JSON.stringify(document) };
      }
      response.reply(200, { "Content-Type": "application/json", "Cache-Control": "private, no-cache" }, made.json);
    }),
  );
}
