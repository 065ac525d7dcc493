import { mainGo, readme, type ClientRequest } from "./client-request.js";

/** Cody in its editors: what its code search asks. */
export const cody: readonly ClientRequest[] = [
  {
    name: "CurrentUser",
    query:
      "query CurrentUser { currentUser { id hasVerifiedEmail displayName username avatarURL primaryEmail { email } organizations { nodes { id name } } } }",
    data: () => ({ currentUser: null }),
  },
  {
    name: "SiteProductVersion",
    query: "query SiteProductVersion { site { productVersion } }",
    data: () => ({ site: { productVersion: /^[5-9]\.\d+\.\d+$/ } }),
  },
  {
    name: "SiteFields",
    query: 'query SiteGraphQLFields { __type(name: "Site") { fields { name } } }',
    data: () => ({ __type: { fields: [{ name: "id" }] } }),
  },
  {
    name: "IsCodyEnabled",
    query: "query { site { isCodyEnabled requiresVerifiedEmailForCody codyLLMConfiguration { chatModel } } }",
    data: () => ({ site: { isCodyEnabled: false, codyLLMConfiguration: null } }),
  },
  {
    name: "Repositories",
    query:
      "query Repositories($first: Int!, $after: String, $query: String) { repositories(first: $first, after: $after, query: $query) { nodes { id name } pageInfo { endCursor } } }",
    variables: () => ({ first: 10, query: "demo" }),
    data: ({ name }) => ({ repositories: { nodes: [{ name }], pageInfo: { endCursor: /./ } } }),
  },
  {
    name: "RepositoriesByName",
    query:
      "query Repositories($names: [String!]!, $first: Int!) { repositories(names: $names, first: $first) { nodes { name id } } }",
    variables: ({ name }) => ({ names: [name, "example.org/none"], first: 2 }),
    data: ({ name }) => ({ repositories: { nodes: [{ name }] } }),
  },
  {
    name: "Repository",
    query: "query Repository($name: String!) { repository(name: $name) { id } }",
    variables: ({ name }) => ({ name }),
    data: () => ({ repository: { id: /./ } }),
  },
  {
    name: "ResolveRepoName",
    query: "query ResolveRepoName($cloneURL: String!) { repository(cloneURL: $cloneURL) { name } }",
    variables: () => ({ cloneURL: "git@example.org:demo.git" }),
    data: ({ name }) => ({ repository: { name } }),
  },
  {
    name: "SuggestionsRepo",
    query:
      "query SuggestionsRepo($query: String!) { search(patternType: regexp, query: $query) { results { repositories { id name stars url } } } }",
    variables: () => ({ query: "type:repo count:10 demo" }),
    data: ({ name }) => ({ search: { results: { repositories: [{ name, stars: 0, url: `/${name}` }] } } }),
  },
  {
    name: "FuzzyFiles",
    query: `query FuzzyFiles($query: String!) { search(patternType: regexp, query: $query) { results { results {
      __typename ... on FileMatch { file { url path name byteSize isDirectory } repository { id name } }
    } } } }`,
    variables: () => ({ query: "type:path count:30 main" }),
    data: () => ({
      search: {
        results: {
          results: [{ file: { path: "src/main.go", name: "main.go", byteSize: mainGo.length, isDirectory: false } }],
        },
      },
    }),
  },
  {
    name: "FuzzySymbols",
    query: `query FuzzySymbols($query: String!) { search(patternType: regexp, query: $query) { results { results {
      __typename ... on FileMatch { symbols { name location { range { start { line } end { line } } resource { path } } } repository { id name } }
    } } } }`,
    variables: () => ({ query: "type:symbol count:30 greet" }),
    data: ({ name }) => ({
      search: {
        results: {
          results: [
            {
              symbols: [
                { name: "greet", location: { range: { start: { line: 5 } }, resource: { path: "src/main.go" } } },
              ],
              repository: { name },
            },
          ],
        },
      },
    }),
  },
  {
    name: "FileMatchSearchQuery",
    query: `query FileMatchSearchQuery($query: String!) { search(query: $query, version: V3, patternType: literal) { results { results {
      __typename ... on FileMatch { repository { id name } file { url path commit { oid } } }
    } } } }`,
    variables: () => ({ query: "Println(" }),
    data: ({ head }) => ({
      search: {
        results: { results: [{ __typename: "FileMatch", file: { path: "src/main.go", commit: { oid: head } } }] },
      },
    }),
  },
  {
    name: "NLSSearchQuery",
    query: `query NLSSearchQuery($query: String!) { search(query: $query, version: V3, patternType: nls) { results {
      dynamicFilters { value label count kind }
      results { __typename ... on FileMatch {
        repository { id name } file { url path commit { oid } }
        chunkMatches { content contentStart { line character } ranges { start { line character } end { line character } } }
        pathMatches { start { line character } end { line character } }
        symbols { name location { range { start { line character } end { line character } } } }
      } }
    } } }`,
    variables: () => ({ query: "greet hello" }),
    data: () => ({
      search: {
        results: {
          dynamicFilters: [{ kind: "type" }],
          results: [
            {
              file: { path: "src/main.go" },
              chunkMatches: [{ content: /greet/, contentStart: { character: 0 } }],
              symbols: [],
            },
          ],
        },
      },
    }),
  },
  {
    name: "FileContentsQuery",
    query:
      "query FileContentsQuery($repoName: String!, $filePath: String!, $rev: String!) { repository(name: $repoName) { commit(rev: $rev) { file(path: $filePath) { path url content } } } }",
    variables: ({ name }) => ({ repoName: name, filePath: "README.md", rev: "HEAD" }),
    data: ({ name }) => ({
      repository: { commit: { file: { path: "README.md", url: `/${name}@HEAD/-/blob/README.md`, content: readme } } },
    }),
  },
  {
    name: "GetRemoteFileQuery",
    query:
      'query GetRemoteFileQuery($repositoryName: String!, $filePath: String!, $startLine: Int, $endLine: Int) { repository(name: $repositoryName) { id commit(rev: "HEAD") { id oid blob(path: $filePath) { content(startLine: $startLine, endLine: $endLine) } } } }',
    variables: ({ name }) => ({ repositoryName: name, filePath: "README.md", startLine: 3, endLine: 99 }),
    data: ({ head }) => ({ repository: { commit: { oid: head, blob: { content: "Says hello.\n" } } } }),
  },
  {
    name: "HighlightedFile",
    query: `query HighlightedFile($repoName: String!, $commitID: String!, $filePath: String!, $disableTimeout: Boolean!, $ranges: [HighlightLineRange!]!, $format: HighlightResponseFormat!) {
      repository(name: $repoName) { commit(rev: $commitID) { file(path: $filePath) { isDirectory richHTML highlight(disableTimeout: $disableTimeout, format: $format) { aborted lineRanges(ranges: $ranges) } } } }
    }`,
    variables: ({ name, head }) => ({
      repoName: name,
      commitID: head,
      filePath: "README.md",
      disableTimeout: true,
      ranges: [{ startLine: 2, endLine: 3 }],
      format: "HTML_HIGHLIGHT",
    }),
    data: () => ({
      repository: { commit: { file: { highlight: { lineRanges: [[/data-line="3".*Says hello\./s]] } } } },
    }),
  },
  {
    name: "ViewerSettings",
    query: "query ViewerSettings { viewerSettings { final } }",
    data: () => ({ viewerSettings: { final: /^\{/ } }),
  },
  {
    name: "CodeSearchEnabled",
    query: 'query CodeSearchEnabled { codeSearchEnabled: enterpriseLicenseHasFeature(feature: "code-search") }',
    data: () => ({ codeSearchEnabled: true }),
  },
  {
    name: "ContextFilters",
    query: "query ContextFilters { site { codyContextFilters(version: V1) { raw } } }",
    data: () => ({ site: { codyContextFilters: { raw: null } } }),
  },
  {
    name: "EvaluateFeatureFlag",
    query: "query EvaluateFeatureFlag($flagName: String!) { evaluateFeatureFlag(flagName: $flagName) }",
    variables: () => ({ flagName: "any" }),
    data: () => ({ evaluateFeatureFlag: null }),
  },
  {
    name: "EvaluateFeatureFlags",
    query:
      "query EvaluateFeatureFlags($flagNames: [String!]!) { evaluateFeatureFlags(flagNames: $flagNames) { name value } }",
    variables: () => ({ flagNames: ["any", "other"] }),
    data: () => ({ evaluateFeatureFlags: [] }),
  },
  {
    name: "FeatureFlags",
    query: "query FeatureFlags { evaluatedFeatureFlags { name value } }",
    data: () => ({ evaluatedFeatureFlags: [] }),
  },
  {
    name: "RecordTelemetryEvents",
    query:
      "mutation RecordTelemetryEvents($events: [TelemetryEventInput!]!) { telemetry { recordEvents(events: $events) { alwaysNil } } }",
    variables: () => ({
      events: [
        {
          feature: "cody",
          action: "search",
          source: { client: "VSCode.Cody", clientVersion: "1" },
          parameters: { version: 0, metadata: [] },
        },
      ],
    }),
    data: () => ({ telemetry: { recordEvents: { alwaysNil: null } } }),
  },
];

/** Servers that hand code search to assistants. */
export const mcp: readonly ClientRequest[] = [
  {
    name: "file",
    query:
      'query ($repo: String!, $path: String!) { repository(name: $repo) { commit(rev: "HEAD") { file(path: $path) { path name content totalLines binary contentType richHTML languages } } } }',
    variables: ({ name }) => ({ repo: name, path: "src/main.go" }),
    data: () => ({
      repository: {
        commit: {
          file: {
            path: "src/main.go",
            name: "main.go",
            content: mainGo,
            totalLines: 8,
            binary: false,
            contentType: /^text\/plain/,
            richHTML: "",
            languages: ["Go"],
          },
        },
      },
    }),
  },
  {
    name: "tree",
    query:
      'query ($repo: String!) { repository(name: $repo) { commit(rev: "HEAD") { message tree(path: ".") { entries { name isDirectory ... on GitTree { entries { name isDirectory } } } } languages } } }',
    variables: ({ name }) => ({ repo: name }),
    data: () => ({
      repository: {
        commit: {
          message: /./,
          tree: {
            entries: [
              { name: "src", isDirectory: true, entries: [{ name: "main.go" }, { name: "util.go" }] },
              { name: "README.md", isDirectory: false },
            ],
          },
          languages: ["Go", "Markdown"],
        },
      },
    }),
  },
  {
    name: "search",
    query: `query ($query: String!) { search(query: $query, version: V3, patternType: literal) { results {
      matchCount limitHit cloning { name } missing { name } indexUnavailable approximateResultCount
      results { ... on FileMatch { file { path url } repository { name url } lineMatches { preview lineNumber offsetAndLengths } symbols { name kind location { resource { path } range { start { line } } } } } }
    } } }`,
    variables: () => ({ query: "greet" }),
    data: ({ name }) => ({
      search: {
        results: {
          matchCount: 2,
          approximateResultCount: "2",
          indexUnavailable: false,
          results: [{ repository: { name, url: `/${name}` } }],
        },
      },
    }),
  },
  {
    name: "keyword search",
    query:
      "query ($query: String!) { search(query: $query, version: V2, patternType: keyword) { results { matchCount, results { ... on FileMatch { file { path }, symbols { name, kind, containerName, url } } } } } }",
    variables: () => ({ query: "hello greet" }),
    data: () => ({ search: { results: { results: [{ file: { path: "src/main.go" } }] } } }),
  },
  {
    name: "entries",
    query:
      'query ($repo: String!, $path: String!) { repository(name: $repo) { commit(rev: "HEAD") { tree(path: $path) { entries { name path isDirectory url } } } } }',
    variables: ({ name }) => ({ repo: name, path: "src" }),
    data: () => ({ repository: { commit: { tree: { entries: [{ path: "src/main.go" }, { path: "src/util.go" }] } } } }),
  },
  {
    name: "CommitSearch",
    query:
      "query ($query: String!) { search(query: $query, version: V3) { results { results { ... on CommitSearchResult { commit { oid message author { person { name email } date } repository { name } } } } } } }",
    variables: () => ({ query: "hello" }),
    data: () => ({ search: { results: { results: [{}] } } }),
  },
  {
    name: "precise navigation",
    query:
      'query ($repo: String!, $path: String!) { repository(name: $repo) { commit(rev: "HEAD") { blob(path: $path) { lsif { hover(line: 1, character: 1) { markdown { text } } definitions(line: 1, character: 1) { nodes { url resource { path } range { start { line } } } } references(line: 1, character: 1) { nodes { url } } } } } } }',
    variables: ({ name }) => ({ repo: name, path: "src/main.go" }),
    data: () => ({
      repository: {
        commit: { blob: { lsif: { hover: null, definitions: { nodes: [] }, references: { nodes: [] } } } },
      },
    }),
  },
];

/** The Raycast extension. */
export const raycast: readonly ClientRequest[] = [
  {
    name: "GetFileContents",
    query:
      "query GetFileContents($repo: String!, $rev: String!, $path: String!) { repository(name: $repo) { id commit(rev: $rev) { id blob(path: $path) { path content binary byteSize } } } }",
    variables: ({ name, head }) => ({ repo: name, rev: head, path: "README.md" }),
    data: () => ({
      repository: { commit: { blob: { path: "README.md", content: readme, binary: false, byteSize: readme.length } } },
    }),
  },
];

/** A program that copies permissions from a code host: many nodes in one document. */
export const permissionSync: readonly ClientRequest[] = [
  {
    name: "users by id",
    query:
      "query ($id0: ID!, $id1: ID!) { user0: node(id: $id0) { __typename ... on User { id username } } user1: node(id: $id1) { __typename ... on User { id username } } }",
    variables: () => ({
      id0: Buffer.from("User:1").toString("base64"),
      id1: Buffer.from("User:999").toString("base64"),
    }),
    data: () => ({ user0: { __typename: "User", username: "admin" }, user1: null }),
    asAdmin: true,
  },
];
