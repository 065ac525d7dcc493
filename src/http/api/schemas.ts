import { errorTable } from "../../base/errors.js";

/** A JSON Schema (2020-12), of which OpenAPI 3.1 makes use. */
export type Schema = { readonly [keyword: string]: unknown };

export const text: Schema = { type: "string" };
export const flag: Schema = { type: "boolean" };
export const count: Schema = { type: "integer", minimum: 0 };
const number: Schema = { type: "number" };
const date: Schema = { type: "string", format: "date-time" };

export function described(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

export function list(items: Schema): Schema {
  return { type: "array", items };
}

export function refTo(name: SchemaName): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function constant(value: string | boolean): Schema {
  return { const: value };
}

function oneOfTexts(...values: string[]): Schema {
  return { type: "string", enum: values };
}

type Members = Readonly<Record<string, Schema>>;

/** Further members may come, so an object is open. */
export function object(required: Members, optional: Members = {}, description?: string): Schema {
  return {
    type: "object",
    ...(description === undefined ? {} : { description }),
    properties: { ...required, ...optional },
    ...(Object.keys(required).length === 0 ? {} : { required: Object.keys(required) }),
  };
}

/** A list of this many elements of these types. */
function tuple(...prefixItems: Schema[]): Schema {
  return { type: "array", prefixItems, minItems: prefixItems.length, maxItems: prefixItems.length };
}

function mapTo(values: Schema): Schema {
  return { type: "object", additionalProperties: values };
}

const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

const matchOf = {
  /** What match objects of repositories and what is in them have. */
  repository: { repositoryID: count, repository: text },
  repositoryMaybe: { repoStars: count, repoLastFetched: date },
  file: { path: text },
  fileMaybe: {
    branches: described(list(text), 'The revision as typed, "" for the default branch.'),
    commit: text,
    language: text,
    escapedPath: described(text, "The path as URLs have it, if it is not UTF-8."),
    contentKey: described(text, "With duplicates=1: equal for files with the same content and matches."),
    debug: described(text, "With feat=search-debug: how it was scored."),
  },
} as const;

const lineStart = object({ byte: count, column: count }, {}, "What precedes a part of a line in the line.");
const patterns = described(
  list(tuple(count, count, count)),
  "Of a search for a list of patterns: the index of the pattern, and its start and end in bytes.",
);
const messageSkipped = object({ title: text, queryExpression: text });

const receiptRevision = object({ revision: text, commit: text });
const receiptRepository = object({ repository: text, generation: count, revisions: list(receiptRevision) });
const omission = object({ reason: text }, { repository: text, path: text, detail: text });

/** The named schemas of the document. The types of the package trawl-client are made from those of events. */
export const schemas = {
  Problem: object(
    {
      type: described(constant("about:blank"), "The status says what is wrong; `code` says it more precisely."),
      title: described(text, "The reason phrase of the status."),
      status: described(count, "The status of the response."),
      code: described(
        oneOfTexts(...Object.keys(errorTable).sort()),
        "Does not change; others may be added. docs/api-stability.md lists them.",
      ),
      detail: described(text, "A sentence for people, which may change."),
      requestId: described(text, "That of `X-Request-Id`, by which the operator finds the request in the log."),
    },
    {},
    "An error, for clients that accept `application/problem+json` (RFC 9457); for others, it is a line of text.",
  ),
  Location: object(
    {
      offset: described(count, "In bytes, from 0."),
      line: described(count, "From 0."),
      column: described(count, "In code points, from 0."),
    },
    {},
    "A location in a file or name.",
  ),
  Range: object({ start: ref("Location"), end: ref("Location") }, {}, "The end is exclusive."),
  LineMatch: object(
    {
      line: described(text, "Without its end."),
      lineNumber: described(count, "From 0."),
      offsetAndLengths: described(list(tuple(count, count)), "Start and length in code points."),
    },
    { patterns, lineStart, lineTruncated: flag },
    "A line with matches, or a part of a very long one.",
  ),
  ChunkMatch: object(
    { content: text, contentStart: ref("Location"), ranges: list(ref("Range")) },
    { patterns, lineStart, contentTruncated: flag },
    "Consecutive whole lines with matches, or a part of a very long line.",
  ),
  SymbolMatch: object(
    { url: text, name: text, containerName: text, kind: text, line: described(count, "From 1.") },
    {},
    "A definition in a file.",
  ),
  ContentMatch: object(
    { type: constant("content"), ...matchOf.repository, ...matchOf.file, hunks: { type: "null" } },
    {
      ...matchOf.repositoryMaybe,
      ...matchOf.fileMaybe,
      pathMatches: list(ref("Range")),
      lineMatches: described(list(ref("LineMatch")), "Without cm=t."),
      chunkMatches: described(list(ref("ChunkMatch")), "With cm=t."),
    },
    "A file with matches in its text.",
  ),
  PathMatch: object(
    { type: constant("path"), ...matchOf.repository, ...matchOf.file },
    {
      ...matchOf.repositoryMaybe,
      ...matchOf.fileMaybe,
      pathMatches: list(ref("Range")),
      duplicate: described(constant(true), "Another match object has the matches of its contentKey."),
    },
    "A file whose path matches, or a directory, whose path ends with a slash.",
  ),
  SymbolsMatch: object(
    { type: constant("symbol"), ...matchOf.repository, ...matchOf.file, symbols: list(ref("SymbolMatch")) },
    { ...matchOf.repositoryMaybe, ...matchOf.fileMaybe },
    "A file with symbols that match.",
  ),
  RepositoryMatch: object(
    { type: constant("repo"), ...matchOf.repository },
    {
      ...matchOf.repositoryMaybe,
      branches: list(text),
      repositoryMatches: described(list(ref("Range")), "In the name."),
      description: text,
      descriptionMatches: list(ref("Range")),
      fork: constant(true),
      archived: constant(true),
      private: constant(true),
      metadata: mapTo({ type: ["string", "null"] }),
      topics: list(text),
    },
    "A repository.",
  ),
  CommitMatch: object(
    {
      type: described(oneOfTexts("commit", "diff"), "A diff is `commit` for clients that know no other."),
      ...matchOf.repository,
      label: described(text, "Markdown."),
      url: text,
      detail: described(text, "Markdown."),
      oid: text,
      message: text,
      authorName: text,
      authorDate: date,
      committerName: text,
      committerDate: date,
      content: described(text, "The message or the diff, between lines of three backticks."),
      ranges: described(
        list(tuple(count, count, count)),
        "Line, from 1 because the fence is line 0; column and length in code points.",
      ),
    },
    { ...matchOf.repositoryMaybe, contentTruncated: constant(true) },
    "A commit whose message matches, or what it changed.",
  ),
  OwnerMatch: object(
    { type: constant("person"), handle: text, email: text },
    {},
    "An owner of files with matches, of `select:file.owners`. Clients that end their stream at such an object get none.",
  ),
  Match: {
    description: "An element of a `matches` event. Other types may be added.",
    oneOf: ["ContentMatch", "PathMatch", "SymbolsMatch", "RepositoryMatch", "CommitMatch", "OwnerMatch"].map(ref),
    discriminator: {
      propertyName: "type",
      mapping: {
        content: "#/components/schemas/ContentMatch",
        path: "#/components/schemas/PathMatch",
        symbol: "#/components/schemas/SymbolsMatch",
        repo: "#/components/schemas/RepositoryMatch",
        commit: "#/components/schemas/CommitMatch",
        diff: "#/components/schemas/CommitMatch",
        person: "#/components/schemas/OwnerMatch",
      },
    },
  },
  MatchChange: object(
    {
      change: described(oneOfTexts("came", "went", "moved"), "`moved`: the same line at another place."),
      type: oneOfTexts("content", "path", "symbol"),
      repository: text,
      repositoryID: count,
      revision: described(text, 'As typed; "" for the default branch.'),
      commit: text,
      path: text,
    },
    {
      lineNumber: described(count, "From 0; absent for a path."),
      line: text,
      offsetAndLengths: list(tuple(count, count)),
      symbol: object({ name: text, containerName: text, kind: text }),
      from: described(object({ commit: text, path: text }, { lineNumber: count }), "Where it was; only if it moved."),
    },
    "An element of a `changes` event.",
  ),
  Filter: object(
    {
      value: text,
      label: text,
      count,
      exhaustive: flag,
      limitHit: flag,
      kind: oneOfTexts("utility", "type", "lang", "repo", "file", "symbol type", "author", "commit date"),
    },
    {},
    "An element of a `filters` event: a suggestion for narrowing the search. Each event replaces the one before.",
  ),
  ResultGroups: object(
    {
      by: oneOfTexts("repository", "path", "language", "author", "capture"),
      groups: list(object({ value: text, label: text, count }, { query: text })),
      otherGroups: count,
      otherMatches: count,
      complete: flag,
    },
    {},
    "The data of a `groups` event, with `group`: matches counted by what they have in common. `query` searches for one group.",
  ),
  Skipped: object(
    { reason: text, title: text, message: text, severity: oneOfTexts("info", "warn") },
    { suggested: messageSkipped },
    "Why results may be incomplete.",
  ),
  Progress: object(
    { done: flag, matchCount: count, durationMs: count, skipped: list(ref("Skipped")) },
    {
      repositoriesCount: count,
      trace: text,
      receipt: ref("Receipt"),
      explain: ref("ExplainedCost"),
      changes: ref("ChangeSummary"),
      duplicates: object({ places: count, matchesInAllPlaces: count, complete: flag }),
    },
    "The data of a `progress` event. Each replaces the one before.",
  ),
  ExplainedCost: object(
    { plan: text, took: object({ durationMs: number }, { workerMs: number, stats: mapTo(number) }) },
    { estimate: object({ shards: count, shardsRuledOut: count, documents: count, textBytes: count }) },
    "With explain=1: what the search was expected to cost at most, and what it took.",
  ),
  ChangeSummary: object(
    {
      came: count,
      went: count,
      moved: count,
      revisionsChanged: count,
      repositoriesGone: list(text),
      basesGone: list(object({ repository: text, revision: text, commit: text })),
    },
    {},
    "With since or watch=1: what was compared.",
  ),
  Receipt: object(
    {
      url: described(text, "Of the whole lists."),
      generation: text,
      complete: flag,
      matchCount: count,
      documentsSearched: count,
      digest: text,
      digestedMatches: count,
      repositories: object({ count, items: list(receiptRepository) }),
      excluded: object({ count, items: list(omission) }),
      excludedByReason: mapTo(count),
    },
    {},
    "What a search covered; docs/query-syntax.md describes it.",
  ),
  ReceiptPage: object(
    { count, items: list({ anyOf: [receiptRepository, omission] }) },
    {},
    "A part of a list of a receipt: repositories, or what was left out.",
  ),
  Alert: object(
    { title: text, proposedQueries: { anyOf: [{ type: "null" }, list(ref("ProposedQuery"))] } },
    {
      description: text,
      kind: text,
      place: described(object({ from: count, to: count }), "What is wrong in the query: UTF-8 bytes, end exclusive."),
    },
    "The data of an `alert` event.",
  ),
  ProposedQuery: object({ query: text }, { description: text }),
  StreamError: object({ message: text }, {}, "The data of an `error` event; `done` follows."),
  ResumeNotice: object(
    { message: text },
    {},
    "The data of a `resume` event: why the stream may not be resumed after a crash of the daemon.",
  ),
  BlameHunk: object(
    {
      commitID: text,
      startLine: described(count, "From 1."),
      endLine: described(count, "Exclusive."),
      author: object({ Name: text, Email: text, Date: date }),
      message: described(text, "The first line."),
      filename: described(text, "The path in that commit."),
      commit: object({ parents: list(text), url: text }),
    },
    {},
    "The element of a `hunk` event: lines that come from one commit.",
  ),
  SearchJob: object(
    {
      name: described(text, "users/N/searchJobs/N"),
      query: text,
      state: oneOfTexts(
        "STATE_QUEUED",
        "STATE_PROCESSING",
        "STATE_ERRORED",
        "STATE_FAILED",
        "STATE_COMPLETED",
        "STATE_CANCELED",
      ),
      createTime: date,
    },
    {
      startTime: date,
      logsUrl: described(text, "As soon as it has begun."),
      resultsUrl: described(text, "When it has ended."),
    },
    "A search job.",
  ),
  SearchJobList: object({ searchJobs: list(ref("SearchJob")) }, { nextPageToken: text }),
  ConnectError: object({ code: text, message: text }, {}, "An error of the Connect protocol."),
  OAuthError: object({ error: text, error_description: text }, {}, "An error of OAuth 2.0 (RFC 6749, 5.2)."),
  Readiness: object(
    {
      ready: flag,
      repositories: list(
        object(
          { name: text, state: oneOfTexts("searchable", "pending", "failed") },
          {
            activity: text,
            error: text,
            warnings: list(text),
            history: object({ commits: { type: ["integer", "null"] }, indexed: count, bytes: count }, { error: text }),
          },
        ),
      ),
    },
    { damages: list(text) },
  ),
  RpcMessage: object(
    { jsonrpc: constant("2.0") },
    {
      id: { type: ["string", "integer", "null"] },
      method: text,
      params: { type: "object" },
      result: { type: "object" },
      error: object({ code: { type: "integer" }, message: text }, { data: {} }),
    },
    "A message of JSON-RPC 2.0, as the Model Context Protocol uses it.",
  ),
} as const satisfies Readonly<Record<string, Schema>>;

export type SchemaName = keyof typeof schemas;
