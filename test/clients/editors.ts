import { mainGo, type ClientRequest } from "./client-request.js";

const searchContexts = `query ListSearchContexts($first: Int!, $after: String, $query: String, $namespaces: [ID], $orderBy: SearchContextsOrderBy, $descending: Boolean) {
  searchContexts(first: $first, after: $after, query: $query, namespaces: $namespaces, orderBy: $orderBy, descending: $descending) {
    nodes {
      __typename id name spec description public autoDefined updatedAt viewerCanManage viewerHasAsDefault viewerHasStarred query
      namespace { __typename id namespaceName }
      repositories { __typename repository { name } revisions }
    }
    pageInfo { hasNextPage endCursor }
    totalCount
  }
}`;

/** The VS Code search extension. */
export const vscode: readonly ClientRequest[] = [
  {
    name: "SiteProductVersion",
    query: "query SiteProductVersion { site { productVersion } }",
    data: () => ({ site: { productVersion: /^.{1,8}$/ } }),
  },
  {
    name: "CurrentAuthState",
    query: `query CurrentAuthState { currentUser {
      __typename id databaseID username avatarURL email displayName siteAdmin url settingsURL hasVerifiedEmail tosAccepted completedPostSignup viewerCanAdminister
      organizations { nodes { __typename id name displayName url settingsURL } }
      session { canSignOut }
      emails { email verified isPrimary }
      latestSettings { id contents }
      permissions { nodes { id displayName } }
    } }`,
    data: () => ({ currentUser: null }),
  },
  {
    name: "BlobContent",
    query:
      "query BlobContent($repository: String!, $revision: String!, $path: String!) { repository(name: $repository) { id commit(rev: $revision) { blob(path: $path) { content binary byteSize } } } }",
    variables: ({ name }) => ({ repository: name, revision: "", path: "src/main.go" }),
    data: () => ({ repository: { commit: { blob: { content: mainGo, binary: false, byteSize: mainGo.length } } } }),
  },
  {
    name: "FileNames",
    query:
      "query FileNames($repository: String!, $revision: String!) { repository(name: $repository) { commit(rev: $revision) { fileNames } } }",
    variables: ({ name, head }) => ({ repository: name, revision: head }),
    data: () => ({ repository: { commit: { fileNames: ["README.md", "src/main.go", "src/util.go"] } } }),
  },
  {
    name: "RepositoryMetadata",
    query: `query RepositoryMetadata($repositoryName: String!) { repositoryRedirect(name: $repositoryName) {
      ... on Repository { id mirrorInfo { cloneInProgress cloneProgress cloned } commit(rev: "") { oid abbreviatedOID tree(path: "") { url } } defaultBranch { abbrevName } }
      ... on Redirect { url }
    } }`,
    variables: ({ name }) => ({ repositoryName: name }),
    data: ({ name, head }) => ({
      repositoryRedirect: {
        mirrorInfo: { cloned: true, cloneProgress: null },
        commit: { oid: head, abbreviatedOID: head.slice(0, 7), tree: { url: `/${name}` } },
        defaultBranch: { abbrevName: "main" },
      },
    }),
  },
  {
    name: "HighlightedFileVSCE",
    query: `query HighlightedFileVSCE($repoName: String!, $commitID: String!, $filePath: String!, $disableTimeout: Boolean!, $ranges: [HighlightLineRange!]!) {
      repository(name: $repoName) { commit(rev: $commitID) { file(path: $filePath) { isDirectory richHTML highlight(disableTimeout: $disableTimeout) { aborted lineRanges(ranges: $ranges) } } } }
    }`,
    variables: ({ name, head }) => ({
      repoName: name,
      commitID: head,
      filePath: "src/main.go",
      disableTimeout: false,
      ranges: [{ startLine: 0, endLine: 1 }],
    }),
    data: () => ({
      repository: {
        commit: {
          file: {
            isDirectory: false,
            highlight: {
              aborted: false,
              lineRanges: [[/^<tr>.*data-line="1".*<span class="hljs-keyword">package<\/span> main/s]],
            },
          },
        },
      },
    }),
  },
  {
    name: "ListSearchContexts",
    query: searchContexts,
    variables: () => ({ first: 50, query: "", namespaces: [], orderBy: "SEARCH_CONTEXT_SPEC", descending: false }),
    data: () => ({ searchContexts: { nodes: [{ spec: "global", autoDefined: true }] } }),
  },
  {
    name: "IsSearchContextAvailable",
    query: "query IsSearchContextAvailable($spec: String!) { isSearchContextAvailable(spec: $spec) }",
    variables: () => ({ spec: "global" }),
    data: () => ({ isSearchContextAvailable: true }),
  },
  {
    name: "ViewerSettings",
    query:
      "query ViewerSettings { viewerSettings { __typename subjects { __typename id settingsURL viewerCanAdminister } final } }",
    data: () => ({ viewerSettings: { final: "{}" } }),
  },
  {
    name: "highlightCode",
    query:
      "query highlightCode($code: String!, $fuzzyLanguage: String!, $disableTimeout: Boolean!) { highlightCode(code: $code, fuzzyLanguage: $fuzzyLanguage, disableTimeout: $disableTimeout) }",
    variables: () => ({ code: "a < b", fuzzyLanguage: "go", disableTimeout: false }),
    data: () => ({ highlightCode: /<table>.*a &lt; b/s }),
  },
  {
    name: "LogEvents",
    query: "mutation LogEvents($events: [Event!]) { logEvents(events: $events) { alwaysNil } }",
    variables: () => ({
      events: [
        {
          event: "SearchSubmitted",
          userCookieID: "c",
          url: "https://e",
          source: "IDEEXTENSION",
          argument: "{}",
          insertID: "1",
        },
      ],
    }),
    data: () => ({ logEvents: { alwaysNil: null } }),
  },
  {
    name: "CreateSavedSearch",
    asAdmin: true,
    query: `mutation CreateSavedSearch($owner: ID!) {
      createSavedSearch(input: { owner: $owner, description: "greetings", query: "hello" }) { description }
    }`,
    variables: () => ({ owner: Buffer.from("User:1").toString("base64") }),
    data: () => ({ createSavedSearch: { description: "greetings" } }),
  },
  {
    // A list, as in the schema of its time; today the field returns a connection.
    name: "savedSearches",
    asAdmin: true,
    query: `query savedSearches { savedSearches { ...SavedSearchFields } }
      fragment SavedSearchFields on SavedSearch {
        id description notify notifySlack query namespace { __typename id namespaceName } slackWebhookURL
      }`,
    data: () => ({ savedSearches: [{ description: "greetings", query: "hello", namespace: { __typename: "User" } }] }),
  },
];

/** The JetBrains search view. */
export const jetbrains: readonly ClientRequest[] = [
  {
    name: "SiteVersionAndCurrentUser",
    query: `query SiteVersionAndCurrentUser { site { productVersion } currentUser {
      __typename id databaseID username avatarURL email displayName siteAdmin url settingsURL hasVerifiedEmail
      organizations { nodes { id name displayName url settingsURL } } session { canSignOut } viewerCanAdminister
    } }`,
    data: () => ({ site: { productVersion: /./ }, currentUser: null }),
  },
  {
    name: "BlobContent",
    query:
      "query BlobContent($repoName: String!, $commitID: String!, $filePath: String!) { repository(name: $repoName) { commit(rev: $commitID) { file(path: $filePath) { content highlight(disableTimeout: false) { aborted } } } } }",
    variables: ({ name, head }) => ({ repoName: name, commitID: head, filePath: "src/main.go" }),
    data: () => ({ repository: { commit: { file: { content: mainGo, highlight: { aborted: false } } } } }),
  },
  {
    name: "ListSearchContexts",
    query: searchContexts,
    variables: () => ({ first: 10, query: "none of these" }),
    data: () => ({ searchContexts: { nodes: [], totalCount: 0, pageInfo: { hasNextPage: false } } }),
  },
];

/** sg.nvim: any error, and any missing value that it expects, is a failure. */
export const nvim: readonly ClientRequest[] = [
  {
    name: "VersionQuery",
    query: "query VersionQuery { site { productVersion buildVersion } }",
    data: () => ({ site: { productVersion: /./, buildVersion: /./ } }),
  },
  {
    name: "EnterpriseUserQuery",
    query: "query EnterpriseUserQuery { currentUser { id username } }",
    data: () => ({ currentUser: null }),
  },
  {
    name: "CommitQuery",
    query: "query CommitQuery($name: String!, $rev: String!) { repository(name: $name) { commit(rev: $rev) { oid } } }",
    variables: ({ name }) => ({ name, rev: "HEAD~1" }),
    data: ({ parent }) => ({ repository: { commit: { oid: parent } } }),
  },
  {
    name: "FileQuery",
    query:
      "query FileQuery($name: String!, $rev: String!, $path: String!) { repository(name: $name) { commit(rev: $rev) { file(path: $path) { __typename content } } } }",
    variables: ({ name }) => ({ name, rev: "feature", path: "src/feature.go" }),
    data: () => ({ repository: { commit: { file: { __typename: "GitBlob", content: "package main\n" } } } }),
  },
  {
    name: "ListFilesQuery",
    query:
      "query ListFilesQuery($name: String!, $rev: String!, $path: String!) { repository(name: $name) { commit(rev: $rev) { abbreviatedOID tree(path: $path, recursive: false) { entries { __typename path isDirectory url } } } } }",
    variables: ({ name, head }) => ({ name, rev: head, path: "" }),
    data: ({ name, head }) => ({
      repository: {
        commit: {
          tree: {
            entries: [
              { __typename: "GitTree", path: "src", isDirectory: true, url: `/${name}@${head}/-/tree/src` },
              { __typename: "GitBlob", path: "README.md", isDirectory: false },
            ],
          },
        },
      },
    }),
  },
  {
    name: "PathInfoQuery",
    query:
      "query PathInfoQuery($name: String!, $rev: String!, $path: String!) { repository(name: $name) { name commit(rev: $rev) { abbreviatedOID path(path: $path) { __typename ... on GitBlob { path isDirectory } ... on GitTree { path isDirectory } } } } }",
    variables: ({ name }) => ({ name, rev: "main", path: "src" }),
    data: ({ name }) => ({
      repository: { name, commit: { path: { __typename: "GitTree", path: "src", isDirectory: true } } },
    }),
  },
  {
    name: "SearchQuery",
    query: `query SearchQuery($query: String!) { search(query: $query, version: V2) { results { results {
      __typename ... on FileMatch { repository { name } file { path } lineMatches { preview lineNumber } symbols { name kind location { range { start { line character } } } } }
    } } } }`,
    variables: () => ({ query: "func greet(" }),
    data: ({ name }) => ({
      search: {
        results: {
          results: [
            { repository: { name }, file: { path: "src/main.go" }, lineMatches: [{ lineNumber: 5 }], symbols: [] },
          ],
        },
      },
    }),
  },
  {
    name: "SearchDefinitionQuery",
    query:
      "query SearchDefinitionQuery($query: String!) { search(query: $query, patternType: regexp) { results { results { ... on FileMatch { symbols { name canonicalURL location { range { start { line } end { line } } } } } } } } }",
    variables: () => ({ query: "type:symbol ^greet$" }),
    data: ({ name, head }) => ({
      search: {
        results: {
          results: [
            {
              symbols: [
                {
                  name: "greet",
                  canonicalURL: `/${name}@${head}/-/blob/src/main.go?L6:6-6:11`,
                  location: { range: { start: { line: 5 }, end: { line: 5 } } },
                },
              ],
            },
          ],
        },
      },
    }),
  },
];
