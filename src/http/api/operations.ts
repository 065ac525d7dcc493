import { count, described, flag, list, object, refTo, type Schema, type SchemaName, text } from "./schemas.js";

/** Who may send a request; a private instance admits no one to `viewer` without a credential. */
type Access = "anyone" | "viewer" | "user" | "site-admin" | "browser" | "webhook";

export type Tag = "search" | "search jobs" | "content" | "operation" | "assistants" | "accounts" | "oauth" | "clients";

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly description: string;
  readonly schema: Schema;
}

export interface Content {
  readonly schema: Schema;
  /** Of an event stream: the schema of the data of each event. */
  readonly events?: Readonly<Record<string, Schema>>;
}

export interface Answer {
  readonly description: string;
  /** By type. Empty: there is no body. */
  readonly content: Readonly<Record<string, Content>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that a route answers. What is not described here is in `docs/api-stability.md`. */
export interface Operation {
  readonly id: string;
  readonly method: "GET" | "POST";
  /** As the router has it, with captures in capitals; undefined for what is answered without a route, as pages are. */
  readonly pattern: string | undefined;
  /** As OpenAPI has it; by default, the pattern with its captures in braces. */
  readonly path?: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** Descriptions of the captures, in their order. */
  readonly captures?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly body?: { readonly content: Readonly<Record<string, Content>>; readonly description?: string };
  readonly answers: Readonly<Record<number, Answer>>;
  /** Statuses of errors that are not those of every request. */
  readonly failures?: readonly number[];
  /** The form of its own errors, if it is not a line of text or a problem. */
  readonly errorForm?: "ConnectError" | "OAuthError" | "RpcMessage";
}

const json = (schema: Schema): Answer["content"] => ({ "application/json": { schema } });
const plain: Answer["content"] = { "text/plain; charset=utf-8": { schema: text } };
const nothing: Answer["content"] = {};
const page: Answer["content"] = { "text/html; charset=utf-8": { schema: text } };
const ok = (content: Answer["content"], description = "Done."): Readonly<Record<number, Answer>> => ({
  200: { description, content },
});

const query = (name: string, description: string, schema: Schema = text): Parameter => ({
  name,
  in: "query",
  description,
  schema,
});
const header = (name: string, description: string): Parameter => ({ name, in: "header", description, schema: text });

/** As programs in Go write it; anything else is an error. */
const boolean: Schema = {
  type: "string",
  enum: ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"],
};
const integer: Schema = { type: "string", pattern: "^[+-]?[0-9]+$" };

const events = (data: Readonly<Record<string, Schema>>): Answer["content"] => ({
  "text/event-stream": {
    schema: described(text, "Events of two lines, `event: NAME` and `data: JSON`, and an empty line each."),
    events: data,
  },
});

const searchEvents: Readonly<Record<string, Schema>> = {
  matches: { type: "array", items: refTo("Match"), minItems: 1 },
  filters: { type: "array", items: refTo("Filter"), minItems: 1 },
  groups: refTo("ResultGroups"),
  progress: refTo("Progress"),
  alert: refTo("Alert"),
  error: refTo("StreamError"),
  done: object({}),
};
const changeEvents: Readonly<Record<string, Schema>> = {
  changes: { type: "array", items: refTo("MatchChange"), minItems: 1 },
};

const streamHeaders = {
  "RateLimit-Policy": "The limits on searches of the client.",
  RateLimit: "What is left of them.",
};

const streamParameters: readonly Parameter[] = [
  query("t", "The pattern type: standard, keyword, literal or regexp."),
  query("v", "A version of the syntax, which implies a pattern type if there is no `t`: V1, V2 or V3."),
  query("display", "Send at most this many matches, but count all.", integer),
  query("cm", "Send chunks of whole lines instead of lines.", boolean),
  query("cl", "Lines of context in chunks.", { type: "string", pattern: "^[0-9]+$" }),
  query("max-line-len", "Truncate longer lines in chunks to this many bytes.", integer),
  query("wait_for", "REPOSITORY@COMMIT: begin when an indexed branch has the commit."),
  query("receipt", "The last progress event has a receipt.", boolean),
  query("strict", "With a receipt, and an error if it is not complete.", boolean),
  query("explain", "The last progress event says what the search cost.", boolean),
  query("near", "With 0, try no similar queries if nothing is found.", boolean),
  query("feat", "search-debug: say how the first results were scored."),
];
const ordinaryParameters: readonly Parameter[] = [
  ...streamParameters,
  query("duplicates", "Send the matches of each content once.", boolean),
  query("group", "Send no matches, and count them by this: repository, path, language, author or capture."),
  query("groups", "With `group`: send at most this many groups, 100 unless given.", integer),
  query("resume", "Events have an id, after which the stream can be resumed.", boolean),
  query("lastEventId", "Go on after the event with this id, as with Last-Event-ID."),
  header("Last-Event-ID", "Go on after the event with this id."),
];
const since = query(
  "since",
  "A receipt, its id or url: send what changed since then. Without it, all matches come first.",
);
const watch = query("watch", "Go on, and say what changes.", boolean);

const eventsInTitle = "Parameters that are wrong are reported in an `error` event with status 200, as clients expect.";

function searchStream(id: string, pattern: string): readonly Operation[] {
  return [
    {
      id,
      method: "GET",
      pattern,
      tag: "search",
      summary: "Search, and receive results as a stream of events",
      description: eventsInTitle,
      access: "viewer",
      parameters: [query("q", "The query."), ...ordinaryParameters, since, watch],
      answers: {
        200: {
          description: "The events of the search; `done` is the last.",
          content: events({ ...searchEvents, ...changeEvents, resume: refTo("ResumeNotice") }),
          headers: streamHeaders,
        },
      },
      failures: [400, 410, 429],
    },
    {
      id: `${id}ForPatterns`,
      method: "POST",
      pattern,
      tag: "search",
      summary: "Search for many patterns at once",
      description: eventsInTitle,
      access: "viewer",
      parameters: [query("q", "A query of filters, which may be empty."), ...ordinaryParameters],
      body: { content: json(object({ patterns: { ...list({ ...text, minLength: 1 }), minItems: 1 } })) },
      answers: {
        200: {
          description: "The events of the search; `done` is the last.",
          content: events({ ...searchEvents, resume: refTo("ResumeNotice") }),
          headers: streamHeaders,
        },
      },
      failures: [400, 410, 429],
    },
  ];
}

const jobFiles: Readonly<Record<string, Content>> = {
  "application/jsonl; charset=utf-8": { schema: described(text, "A match object on each line.") },
  "text/csv; charset=utf-8": { schema: text },
  "application/vnd.apache.parquet": { schema: { type: "string", contentMediaType: "application/octet-stream" } },
};

function jobExport(id: string, pattern: string, file: string, path?: string): Operation {
  return {
    id,
    method: "GET",
    pattern,
    ...(path === undefined ? {} : { path }),
    tag: "search jobs",
    summary: "Results and log of a search job, also while it runs",
    access: "viewer",
    captures: [file],
    parameters: [header("Range", "Of the uncompressed file."), header("If-Range", "The entity tag of the file.")],
    answers: {
      200: {
        description: "The file, as far as it is committed.",
        content: jobFiles,
        headers: { ETag: "Of the file." },
      },
      206: { description: "The range.", content: jobFiles, headers: { "Content-Range": "Which bytes." } },
    },
    failures: [400, 404, 410, 416, 429, 507],
  };
}

const jobCalls: readonly (readonly [
  method: string,
  summary: string,
  message: Schema,
  answer: SchemaName | undefined,
])[] = [
  [
    "CreateSearchJob",
    "Begin a search job",
    object({ parent: described(text, "users/-"), searchJob: object({ query: text }) }),
    "SearchJob",
  ],
  ["GetSearchJob", "The state of a search job", object({ name: text }), "SearchJob"],
  [
    "ListSearchJobs",
    "Search jobs of a user, newest first",
    object({ parent: text }, { pageSize: count, pageToken: text }),
    "SearchJobList",
  ],
  ["CancelSearchJob", "Cancel a search job", object({ name: text }), "SearchJob"],
  ["DeleteSearchJob", "Delete a search job and its files", object({ name: text }), undefined],
];

const jobOperations: readonly Operation[] = jobCalls.map(([method, summary, message, answer]) => ({
  id: `${method[0].toLowerCase()}${method.slice(1)}`,
  method: "POST",
  pattern: "/api/searchjobs.v1.Service/METHOD",
  path: `/api/searchjobs.v1.Service/${method}`,
  tag: "search jobs",
  summary,
  access: "user",
  body: { content: json(message) },
  answers: ok(json(answer === undefined ? object({}) : refTo(answer))),
  failures: [400, 403, ...(method.startsWith("Create") || method.startsWith("List") ? [] : [404]), 415, 429, 501],
  errorForm: "ConnectError",
}));

function mcp(id: string, pattern: string, summary: string): Operation {
  return {
    id,
    method: "POST",
    pattern,
    tag: "assistants",
    summary,
    description: "docs/mcp.md describes the tools.",
    access: "viewer",
    body: { content: json(refTo("RpcMessage")) },
    answers: {
      200: { description: "The answer to a request.", content: json(refTo("RpcMessage")) },
      202: { description: "A notification was received.", content: nothing },
    },
    failures: [400, 404, 415, 429],
    errorForm: "RpcMessage",
  };
}

const form = (required: readonly string[], optional: readonly string[] = []): Operation["body"] => {
  const members = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, text]));
  return { content: { "application/x-www-form-urlencoded": { schema: object(members(required), members(optional)) } } };
};

function oauth(
  id: string,
  pattern: string,
  summary: string,
  body: Operation["body"],
  answer: Schema,
  failures: readonly number[] = [400, 401, 429],
): Operation {
  return {
    id,
    method: "POST",
    pattern,
    tag: "oauth",
    summary,
    access: "anyone",
    body,
    answers: ok(json(answer)),
    failures,
    errorForm: "OAuthError",
  };
}

/** Answers of the pages on which users authorize programs. */
const toSignIn: Operation["answers"] = {
  302: { description: "To the page for signing in.", content: plain, headers: { Location: "That page." } },
};
const notAuthorized: Operation["answers"] = {
  400: { description: "The program cannot be authorized: the page says why.", content: page },
};

const providerName = "The name of the identity provider in the configuration.";
const signedIn = (location: string): Operation["answers"] => ({
  302: {
    description: "The browser is signed in.",
    content: plain,
    headers: { Location: location, "Set-Cookie": "The session." },
  },
  403: { description: "The user is not signed in: the page says why.", content: page },
});
const notSignedIn: Operation["answers"] = {
  404: { description: "There is no such provider.", content: page },
  503: { description: "The provider does not answer: the page says why.", content: page },
};

/** What is in the metadata of this server, in both of its documents. */
const serverMetadata = {
  issuer: text,
  authorization_endpoint: text,
  token_endpoint: text,
  revocation_endpoint: text,
  grant_types_supported: list(text),
  response_types_supported: list(text),
  code_challenge_methods_supported: list(text),
  token_endpoint_auth_methods_supported: list(text),
  scopes_supported: list(text),
};

function resourceMetadata(id: string, path: string): Operation {
  return {
    id,
    method: "GET",
    pattern: `/.well-known/oauth-protected-resource${path}`,
    tag: "oauth",
    summary: "Where access to the tools is granted (RFC 9728)",
    access: "anyone",
    answers: ok(
      json(
        object({
          resource: text,
          resource_name: text,
          authorization_servers: list(text),
          scopes_supported: list(text),
          bearer_methods_supported: list(text),
        }),
      ),
    ),
  };
}

/** What an assistant asks of a user. */
const authorizationParameters = [
  query("response_type", "`code`."),
  query("client_id", "That of a registration, or the URL of a document that describes the program."),
  query("redirect_uri", "Where the browser takes the answer."),
  query("state", "Is in the answer as it is."),
  query("scope", "`mcp`."),
  query("resource", "The address of the tools."),
  query("code_challenge", "Of PKCE."),
  query("code_challenge_method", "`S256`."),
];

function signIn(id: string, pattern: string, summary: string, body: Schema, failures: readonly number[]): Operation {
  return {
    id,
    method: "POST",
    pattern,
    tag: "accounts",
    summary,
    access: "anyone",
    body: { content: json(body) },
    answers: ok(plain, "The cookie of a session, if one begins."),
    failures: [400, 403, ...failures],
  };
}

const newAccount = object({ username: text, email: text, password: text });

const indexUpload = (id: string, pattern: string): Operation => ({
  id,
  method: "POST",
  pattern,
  tag: "clients",
  summary: "Upload an index of definitions and references",
  description:
    "As `src code-intel upload` does. An index in one request is the body; one in parts begins with `multiPart` and `numParts`, sends each part as a body with `uploadId` and `index`, and ends with `uploadId` and `done`. An answer waits up to 20 seconds for the index to be read, and then is an error if it is not accepted. A body beyond precise.uploadBytes gets 413, one without room 507, and one while too many others arrive or are read 503, with `Retry-After`.",
  access: "user",
  parameters: [
    query("repository", "The name of the repository."),
    query("commit", "The full id of the commit that was indexed."),
    query("root", "The folder that was indexed."),
    query("indexerName", "The name of the indexer; by default the one that the index names."),
    query("indexerVersion", "Its version."),
    query("multiPart", "With true, begin an upload in parts."),
    query("numParts", "How many parts it has, at most 1,000."),
    query("uploadId", "The upload to which the request belongs."),
    query("index", "Which part the body is, from 0."),
    query("done", "With true, all parts have been sent."),
  ],
  body: {
    content: {
      "application/x-protobuf+scip": { schema: { type: "string", contentMediaType: "application/octet-stream" } },
    },
    description: "An index in the SCIP format, compressed with gzip or not; or a part of one.",
  },
  answers: {
    202: {
      description: "It is being read, or has been.",
      content: { "application/json; charset=utf-8": { schema: object({ id: text }) } },
    },
  },
  failures: [400, 404, 503, 507],
});

const fileBytes: Content = { schema: { type: "string", contentMediaType: "application/octet-stream" } };

/** All requests but GraphQL's and those for pages, in the order of the document. */
export const operations: readonly Operation[] = [
  ...searchStream("search", "/.api/search/stream"),
  ...searchStream("searchForPages", "/search/stream"),
  {
    id: "searchChanges",
    method: "POST",
    pattern: "/.api/search/changes",
    tag: "search",
    summary: "What changed in the results of a query since the receipt in the body",
    description: eventsInTitle,
    access: "viewer",
    parameters: [query("q", "The query."), ...streamParameters, watch],
    body: { content: { "application/json": { schema: refTo("Receipt") } }, description: "A receipt, its id or url." },
    answers: {
      200: {
        description: "What changed; `done` is the last event.",
        content: events({ ...searchEvents, ...changeEvents }),
        headers: streamHeaders,
      },
    },
    failures: [400, 429],
  },
  {
    id: "searchTrace",
    method: "GET",
    pattern: "/.api/search/trace/ID",
    tag: "search",
    summary: "The trace of a recent search, for people",
    access: "viewer",
    captures: ["As in the `trace` of a progress event."],
    answers: ok(plain, "The trace."),
    failures: [404],
  },
  {
    id: "searchReceipt",
    method: "GET",
    pattern: "/.api/search/receipt/ID",
    tag: "search",
    summary: "A part of a list of a recent receipt",
    access: "viewer",
    captures: ["As in the `url` of a receipt."],
    parameters: [
      query("list", "Which list.", { type: "string", enum: ["repositories", "excluded"] }),
      query("from", "Items to leave out.", { type: "string", pattern: "^[0-9]{1,15}$" }),
      query("count", "Items to send at most.", { type: "string", pattern: "^[0-9]{1,15}$" }),
    ],
    answers: ok(json(refTo("ReceiptPage")), "The items."),
    failures: [400, 404],
  },
  jobExport("exportSearchJob", "/.api/search/export/FILE", "N.jsonl, N.csv, N.parquet or N.log"),
  jobExport("exportSearchJobForPages", "/-/search-jobs/FILE", "N.jsonl, N.csv, N.parquet or N.log"),
  jobExport(
    "exportSearchJobOfUser",
    "/api/users/-/searchJobs/FILE",
    "N/results.jsonl, N/results.csv, N/results.parquet or N/logs.log",
  ),
  ...jobOperations,
  {
    id: "blame",
    method: "GET",
    pattern: "/.api/blame/NAME",
    path: "/.api/blame/{repository}/-/stream/{path}",
    tag: "content",
    summary: "The commits from which the lines of a file come",
    access: "viewer",
    captures: ["The name of a repository, with @ and a revision if it is not HEAD.", "The path of a file."],
    answers: ok(
      events({
        hunk: { type: "array", items: refTo("BlameHunk"), minItems: 1, maxItems: 1 },
        error: refTo("StreamError"),
        done: object({}),
      }),
      "An event for each run of lines, then `done`.",
    ),
    failures: [400, 404, 429],
  },
  {
    id: "rawContent",
    method: "GET",
    pattern: undefined,
    path: "/{repository}/-/raw/{path}",
    tag: "content",
    summary: "A file, the names in a directory, or an archive of either",
    access: "viewer",
    captures: ["The name of a repository, with @ and a revision if it is not HEAD.", "The path; empty for the root."],
    parameters: [
      query("format", "An archive.", { type: "string", enum: ["zip", "tar"] }),
      query("maxBytes", "Answer with 204 if there is no file of at most this many bytes."),
      query("as", "text: as searches see the text, in UTF-8; 204 if it is none."),
      query("list", "files: of a directory, the paths of all files below it, one a line."),
      header("Range", "Of a file."),
      header("If-None-Match", "Of an earlier answer."),
    ],
    answers: {
      200: {
        description: "The bytes of a file, names, or an archive.",
        content: {
          "text/plain; charset=utf-8": fileBytes,
          "application/zip": fileBytes,
          "application/x-tar": fileBytes,
        },
        headers: { ETag: "Of the content." },
      },
      204: { description: "Not a file that was asked for.", content: nothing },
      206: { description: "The range of a file.", content: { "text/plain; charset=utf-8": fileBytes } },
      304: { description: "The client has it.", content: nothing },
    },
    failures: [400, 404, 416, 429],
  },
  {
    id: "openApi",
    method: "GET",
    pattern: "/.api/openapi.json",
    tag: "operation",
    summary: "This document",
    access: "viewer",
    answers: ok(
      json({
        ...object({ openapi: text, info: { type: "object" }, paths: { type: "object" } }),
        additionalProperties: true,
      }),
    ),
  },
  {
    id: "health",
    method: "GET",
    pattern: "/healthz",
    tag: "operation",
    summary: "Whether the process answers",
    access: "anyone",
    answers: ok(plain, "It does."),
  },
  {
    id: "readiness",
    method: "GET",
    pattern: "/readyz",
    tag: "operation",
    summary: "Whether each repository is searchable or has failed",
    access: "anyone",
    answers: {
      200: { description: "They are.", content: json(refTo("Readiness")) },
      503: { description: "Not yet, or a store is damaged.", content: json(refTo("Readiness")) },
    },
  },
  {
    id: "metrics",
    method: "GET",
    pattern: "/metrics",
    tag: "operation",
    summary: "Metrics for Prometheus",
    access: "site-admin",
    answers: ok({ "text/plain; version=0.0.4; charset=utf-8": { schema: text } }, "The metrics."),
    failures: [403],
  },
  {
    id: "version",
    method: "GET",
    pattern: "/__version",
    tag: "operation",
    summary: "The version of the interface",
    access: "anyone",
    answers: ok(plain, "The version."),
  },
  mcp("mcp", "/.api/mcp", "A message of the Model Context Protocol"),
  mcp("mcpVersion1", "/.api/mcp/v1", "The same"),
  mcp("mcpAllTools", "/.api/mcp/all", "The same, with all tools"),
  signIn("signIn", "/-/sign-in", "Begin a session", object({ email: text, password: text }), [401, 422]),
  signIn("signUp", "/-/sign-up", "Create an account, where that is allowed", newAccount, [404, 409, 422]),
  signIn("initialiseSite", "/-/site-init", "Create the first account, of a site admin", newAccount, [422]),
  {
    ...signIn(
      "requestPasswordReset",
      "/-/reset-password-init",
      "Trawl sends no mail: a site admin creates a link",
      object({}),
      [404],
    ),
    answers: {},
  },
  signIn(
    "resetPassword",
    "/-/reset-password-code",
    "Set a password with the code of a link",
    object({ userID: count, code: text, password: text }),
    [],
  ),
  {
    id: "signOutByLink",
    method: "GET",
    pattern: "/-/sign-out",
    tag: "accounts",
    summary: "End the session, or ask whether to, if the link is of another site",
    access: "anyone",
    answers: {
      200: { description: "A page that asks.", content: page },
      302: { description: "The session has ended.", content: plain, headers: { Location: "The start page." } },
    },
  },
  {
    id: "signOut",
    method: "POST",
    pattern: "/-/sign-out",
    tag: "accounts",
    summary: "End the session",
    access: "anyone",
    answers: {
      ...ok(plain, "The session has ended."),
      303: { description: "For the form of a page.", content: plain, headers: { Location: "The start page." } },
    },
    failures: [403],
  },
  {
    id: "isUsernameTaken",
    method: "GET",
    pattern: "/-/check-username-taken/NAME",
    tag: "accounts",
    summary: "Whether a name is in use",
    access: "viewer",
    captures: ["The name."],
    answers: ok(plain, "It is; 404 if it is not."),
    failures: [404, 429],
  },
  {
    id: "oauthServer",
    method: "GET",
    pattern: "/.well-known/openid-configuration",
    tag: "oauth",
    summary: "The addresses of OAuth",
    access: "anyone",
    answers: ok(
      json(
        object({
          ...serverMetadata,
          device_authorization_endpoint: text,
          jwks_uri: text,
          subject_types_supported: list(text),
          id_token_signing_alg_values_supported: list(text),
        }),
      ),
    ),
  },
  {
    id: "oauthKeys",
    method: "GET",
    pattern: "/-/oauth/keys",
    tag: "oauth",
    summary: "No keys: nobody gets an ID token",
    access: "anyone",
    answers: ok(json(object({ keys: list(object({})) }))),
  },
  {
    id: "oauthMetadata",
    method: "GET",
    pattern: "/.well-known/oauth-authorization-server",
    tag: "oauth",
    summary: "The addresses of OAuth for assistants (RFC 8414)",
    access: "anyone",
    answers: ok(
      json(
        object(
          {
            ...serverMetadata,
            response_modes_supported: list(text),
            revocation_endpoint_auth_methods_supported: list(text),
            authorization_response_iss_parameter_supported: flag,
          },
          { registration_endpoint: text, client_id_metadata_document_supported: flag },
        ),
      ),
    ),
  },
  resourceMetadata("oauthResource", ""),
  resourceMetadata("oauthResourceMcp", "/.api/mcp"),
  resourceMetadata("oauthResourceVersion1", "/.api/mcp/v1"),
  resourceMetadata("oauthResourceAllTools", "/.api/mcp/all"),
  {
    id: "registerClient",
    method: "POST",
    pattern: "/-/oauth/register",
    tag: "oauth",
    summary: "Register an assistant (RFC 7591)",
    access: "anyone",
    body: { content: json(object({ redirect_uris: list(text) }, { client_name: text })) },
    answers: {
      201: {
        description: "What was registered.",
        content: json(
          object(
            {
              client_id: text,
              client_id_issued_at: count,
              redirect_uris: list(text),
              grant_types: list(text),
              response_types: list(text),
              token_endpoint_auth_method: text,
              scope: text,
            },
            { client_name: text },
          ),
        ),
      },
    },
    failures: [400, 429],
    errorForm: "OAuthError",
  },
  {
    id: "assistantPage",
    method: "GET",
    pattern: "/-/oauth/authorize",
    tag: "oauth",
    summary: "The page on which a user authorizes an assistant",
    access: "browser",
    parameters: authorizationParameters,
    answers: {
      ...ok(page, "The page."),
      ...toSignIn,
      303: {
        description: "Back to a program on the user's computer, with an error.",
        content: plain,
        headers: { Location: "The redirect URI." },
      },
      ...notAuthorized,
    },
    failures: [403],
  },
  {
    id: "signInWithProvider",
    method: "GET",
    pattern: "/-/oidc/NAME/sign-in",
    tag: "oauth",
    summary: "Sign in with an identity provider",
    access: "anyone",
    captures: [providerName],
    parameters: [query("returnTo", "The path to which the browser goes afterwards.")],
    answers: {
      302: {
        description: "To the provider.",
        content: plain,
        headers: { Location: "Its page.", "Set-Cookie": "What belongs to this sign-in." },
      },
      ...notSignedIn,
    },
  },
  {
    id: "answerOfProvider",
    method: "GET",
    pattern: "/-/oidc/NAME/callback",
    tag: "oauth",
    summary: "Where a provider sends the browser",
    access: "anyone",
    captures: [providerName],
    parameters: ["code", "state", "iss", "error", "error_description"].map((name) =>
      query(name, "As in OpenID Connect."),
    ),
    answers: {
      ...signedIn("A path."),
      ...notSignedIn,
    },
  },
  {
    id: "signInByProxy",
    method: "GET",
    pattern: "/-/proxy/sign-in",
    tag: "oauth",
    summary: "Sign in as the user whom a proxy names",
    access: "anyone",
    parameters: [query("returnTo", "The path to which the browser goes afterwards.")],
    answers: {
      ...signedIn("That path."),
      404: { description: "No proxy names a user.", content: page },
    },
  },
  {
    id: "linkAccountOfProvider",
    method: "POST",
    pattern: "/-/oidc/NAME/link",
    tag: "oauth",
    summary: "Begin to link an account of a provider to that of the user",
    access: "browser",
    captures: [providerName],
    answers: ok(json(object({ location: text })), "Where the user signs in there."),
    failures: [403, 404, 503],
  },
  {
    id: "logoutByProvider",
    method: "POST",
    pattern: "/-/oidc/NAME/backchannel-logout",
    tag: "oauth",
    summary: "A provider ends sessions (OpenID Connect Back-Channel Logout)",
    access: "anyone",
    captures: [providerName],
    body: form(["logout_token"]),
    answers: ok(json(object({}))),
    failures: [400, 404],
    errorForm: "OAuthError",
  },
  {
    id: "decideOnAssistant",
    method: "POST",
    pattern: "/-/oauth/authorize",
    tag: "oauth",
    summary: "What the form of that page sends",
    access: "browser",
    body: form(
      ["decision"],
      authorizationParameters.map(({ name }) => name),
    ),
    answers: {
      ...toSignIn,
      303: {
        description: "Back to the program, with a code or an error.",
        content: plain,
        headers: { Location: "The redirect URI." },
      },
      ...notAuthorized,
    },
    failures: [403],
  },
  oauth(
    "authorizeDevice",
    "/-/oauth/device/code",
    "Begin the authorization of a program in a browser (RFC 8628)",
    form(["client_id"], ["scope"]),
    object({
      device_code: text,
      user_code: text,
      verification_uri: text,
      verification_uri_complete: text,
      expires_in: count,
      interval: count,
    }),
  ),
  oauth(
    "issueToken",
    "/-/oauth/token",
    "Ask for the tokens of an authorized program, or refresh them",
    form(
      ["client_id", "grant_type"],
      ["code", "code_verifier", "device_code", "redirect_uri", "refresh_token", "resource", "scope"],
    ),
    object({ access_token: text, refresh_token: text, expires_in: count, token_type: text, scope: text }),
  ),
  oauth(
    "revokeToken",
    "/-/oauth/revoke",
    "Revoke a token (RFC 7009)",
    form(["client_id"], ["token"]),
    object({}),
    [401],
  ),
  {
    id: "authorizationPage",
    method: "GET",
    pattern: "/-/oauth/device",
    tag: "oauth",
    summary: "The page on which a user authorizes a program",
    access: "browser",
    parameters: [query("user_code", "The code that the program shows.")],
    answers: {
      ...ok(page, "The page."),
      ...toSignIn,
    },
    failures: [403],
  },
  {
    id: "decideAuthorization",
    method: "POST",
    pattern: "/-/oauth/device",
    tag: "oauth",
    summary: "What the form of that page sends",
    access: "browser",
    body: form(["user_code", "decision"]),
    answers: {
      ...ok(page, "A page that says what was done."),
      ...toSignIn,
      404: { description: "No program waits with this code: the page says so.", content: page },
    },
    failures: [403, 429],
  },
  {
    id: "clientConfig",
    method: "GET",
    pattern: "/.api/client-config",
    tag: "clients",
    summary: "What assistants in editors may use: nothing but search",
    access: "viewer",
    answers: ok(
      json(
        object({
          chatEnabled: flag,
          autoCompleteEnabled: flag,
          customCommandsEnabled: flag,
          attributionEnabled: flag,
          attribution: text,
          smartContextWindowEnabled: flag,
          modelsAPIEnabled: flag,
          userShouldUseEnterprise: flag,
          latestSupportedCompletionsStreamAPIVersion: count,
        }),
      ),
    ),
  },
  {
    id: "srcVersion",
    method: "GET",
    pattern: "/.api/src-cli/version",
    tag: "clients",
    summary: "The release of the command src that was tested",
    access: "viewer",
    answers: ok({ "application/json; charset=utf-8": { schema: object({ version: text }) } }),
  },
  {
    id: "srcBuild",
    method: "GET",
    pattern: "/.api/src-cli/FILE",
    tag: "clients",
    summary: "Where this release is",
    access: "viewer",
    captures: ["src_linux_amd64 and the like."],
    answers: { 302: { description: "There.", content: plain, headers: { Location: "The address." } } },
    failures: [404],
  },
  {
    id: "refreshRepository",
    method: "POST",
    pattern: "/.api/repos/NAME/-/refresh",
    tag: "content",
    summary: "Fetch a repository soon",
    access: "user",
    captures: ["The name of the repository."],
    answers: ok({ "application/json; charset=utf-8": { schema: object({}) } }),
    failures: [404],
  },
  {
    id: "repositoryShield",
    method: "GET",
    pattern: "/.api/repos/NAME/-/shield",
    tag: "clients",
    summary: "The text of a badge",
    access: "viewer",
    captures: ["The name of the repository."],
    answers: ok({ "application/json; charset=utf-8": { schema: object({ value: text }) } }),
  },
  {
    id: "canUploadScip",
    method: "GET",
    pattern: "/.api/scip/upload",
    tag: "clients",
    summary: "Whether indexes can be uploaded here",
    description: "HEAD is answered with 200, by which clients choose the path.",
    access: "viewer",
    answers: {},
    failures: [405],
  },
  indexUpload("uploadScip", "/.api/scip/upload"),
  indexUpload("uploadLsif", "/.api/lsif/upload"),
  {
    id: "webhook",
    method: "POST",
    pattern: "/.api/webhooks/ID",
    tag: "operation",
    summary: "A code host announces a push",
    description: "Signed by GitHub, Gitea or Forgejo, with the token of GitLab, or with `Authorization: Bearer`.",
    access: "webhook",
    captures: ["The id of the webhook in the configuration."],
    body: { content: json({ type: "object" }) },
    answers: {
      202: {
        description:
          "The repositories that will be fetched, and in a fleet sentences about nodes that could not be told. If no repository is known and some nodes could not be told, the status is 503.",
        content: json(object({ queued: list(text) }, { lacks: list(text) })),
        headers: { "RateLimit-Policy": "The limit on deliveries.", RateLimit: "What is left of it." },
      },
    },
    failures: [400, 401, 429, 503],
  },
  {
    id: "robots",
    method: "GET",
    pattern: "/robots.txt",
    tag: "clients",
    summary: "Rules for crawlers",
    access: "anyone",
    answers: ok(plain, "The rules."),
  },
  {
    id: "icon",
    method: "GET",
    pattern: "/favicon.ico",
    tag: "clients",
    summary: "The icon",
    access: "anyone",
    answers: ok({ "image/svg+xml": { schema: text } }, "The icon."),
  },
  {
    id: "openSearch",
    method: "GET",
    pattern: "/opensearch.xml",
    tag: "clients",
    summary: "How a browser searches here",
    access: "viewer",
    answers: ok({ "application/opensearchdescription+xml; charset=utf-8": { schema: text } }, "The description."),
  },
  {
    id: "webFile",
    method: "GET",
    pattern: "/.assets/NAME",
    tag: "clients",
    summary: "A script, style sheet or image of the web pages",
    access: "anyone",
    captures: ["The name, with a hash of the content."],
    answers: {
      200: {
        description: "The file.",
        content: Object.fromEntries(
          [
            "text/javascript; charset=utf-8",
            "text/css; charset=utf-8",
            "application/json",
            "image/png",
            "font/ttf",
            "font/woff2",
          ].map((type) => [type, fileBytes]),
        ),
      },
    },
    failures: [404],
  },
];

const scimRoute =
  (method: string) =>
  (name: string): readonly [string, string] => [
    `${method} /.api/scim/v2/${name}`,
    "SCIM describes itself by its schemas",
  ];

/** The routes that the document leaves out, and why. */
export const undescribedRoutes: ReadonlyMap<string, string> = new Map([
  ["POST /.api/graphql", "GraphQL describes itself by introspection"],
  ...["ServiceProviderConfig", "ResourceTypes", "ResourceTypes/ID", "Schemas", "Schemas/ID", "OTHER"].map(
    scimRoute("GET"),
  ),
  scimRoute("POST")(".search"),
  ...["Users", "Groups"].flatMap((name) => [
    ...["GET", "POST"].map((method) => scimRoute(method)(name)),
    ...["GET", "PUT", "PATCH", "DELETE"].map((method) => scimRoute(method)(`${name}/ID`)),
    scimRoute("POST")(`${name}/.search`),
  ]),
]);
