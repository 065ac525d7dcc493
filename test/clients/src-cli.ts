import { mainGo, type ClientRequest } from "./client-request.js";
import { srcAccounts } from "./src-accounts.js";

const repositoryFields = `
  fragment RepositoryFields on Repository {
    id name url description createdAt updatedAt viewerCanAdminister
    externalRepository { id serviceType serviceID }
    defaultBranch { name displayName }
    keyValuePairs { key value }
  }`;

const searchResults = `
  fragment FileMatchFields on FileMatch {
    repository { name url }
    file { name path url content commit { oid } }
    lineMatches { preview lineNumber offsetAndLengths limitHit }
  }
  fragment CommitSearchResultFields on CommitSearchResult {
    messagePreview { value highlights { line character length } }
    diffPreview { value highlights { line character length } }
    label { html }
    url
    matches { url body { html text } highlights { character line length } }
    commit { repository { name } oid url subject author { date person { displayName } } }
  }
  fragment RepositoryFields on Repository { name url externalURLs { serviceType url } label { html } }
  fragment SearchResultsAlertFields on SearchResults { alert { title description proposedQueries { description query } } }
  query ($query: String!) {
    site { buildVersion }
    search(query: $query) {
      results {
        results {
          __typename
          ... on FileMatch { ...FileMatchFields }
          ... on CommitSearchResult { ...CommitSearchResultFields }
          ... on Repository { ...RepositoryFields }
        }
        limitHit
        cloning { name }
        missing { name }
        timedout { name }
        resultCount
        elapsedMilliseconds
        ...SearchResultsAlertFields
      }
    }
  }`;

const searchJobFields = `
  fragment SearchJobFields on SearchJob {
    id query state creator { username } createdAt startedAt finishedAt URL logURL repoStats { total completed failed inProgress }
  }`;

const resolveWorkspaces = `
  query ResolveWorkspacesForBatchSpec($spec: String!) {
    resolveWorkspacesForBatchSpec(batchSpec: $spec) {
      onlyFetchWorkspace ignored unsupported
      repository { id name url externalRepository { serviceType } defaultBranch { name target { oid } } }
      branch { name target { oid } }
      path searchResultPaths
    }
  }`;

/** Jobs are tested in search-jobs.test.ts; here only an account is missing, or the job. */
const searchJobs: readonly ClientRequest[] = [
  {
    name: "search-jobs list",
    query: `query SearchJobs($first: Int!, $descending: Boolean!, $orderBy: SearchJobsOrderBy!) { searchJobs(first: $first, orderBy: $orderBy, descending: $descending) { nodes { ...SearchJobFields } } } ${searchJobFields}`,
    variables: () => ({ first: 10, orderBy: "CREATED_AT", descending: true }),
    asAdmin: true,
    data: () => ({ searchJobs: { nodes: [] } }),
  },
  {
    name: "search-jobs create, first",
    query: "query ValidateSearchJob($query: String!) { validateSearchJob(query: $query) { alwaysNil } }",
    variables: () => ({ query: "greet" }),
    asAdmin: true,
  },
  {
    name: "search-jobs create",
    query: `mutation CreateSearchJob($query: String!) { createSearchJob(query: $query) { ...SearchJobFields } } ${searchJobFields}`,
    variables: () => ({ query: "greet" }),
    error: /^not authenticated/,
  },
  {
    name: "search-jobs get",
    query: `query SearchJob($id: ID!) { node(id: $id) { ... on SearchJob { ...SearchJobFields } } } ${searchJobFields}`,
    variables: () => ({ id: "U2VhcmNoSm9iOjY5" }),
    asAdmin: true,
    error: /^there is no such search job/,
  },
  {
    name: "search-jobs cancel",
    query: "mutation CancelSearchJob($id: ID!) { cancelSearchJob(id: $id) { alwaysNil } }",
    variables: () => ({ id: "U2VhcmNoSm9iOjY5" }),
    asAdmin: true,
    error: /^there is no such search job/,
  },
  {
    name: "search-jobs delete",
    query: "mutation DeleteSearchJob($id: ID!) { deleteSearchJob(id: $id) { alwaysNil } }",
    variables: () => ({ id: "U2VhcmNoSm9iOjY5" }),
    asAdmin: true,
    error: /^there is no such search job/,
  },
];

const repositoryId = (): string => Buffer.from("Repository:1").toString("base64");

/**
 * What describes repositories. Each is sent twice, so one that may not be repeated finds what it did the first time.
 */
const metadata: readonly ClientRequest[] = [
  {
    name: "repos update-metadata of a key that is not there",
    query:
      "mutation updateRepoMetadata($repo: ID!, $key: String!, $value: String) { updateRepoKeyValuePair(repo: $repo, key: $key, value: $value) { alwaysNil } }",
    variables: () => ({ repo: repositoryId(), key: "owner", value: "core" }),
    asAdmin: true,
    error: /./,
  },
  {
    name: "repos add-metadata, not signed in",
    query:
      "mutation addRepoMetadata($repo: ID!, $key: String!, $value: String) { addRepoKeyValuePair(repo: $repo, key: $key, value: $value) { alwaysNil } }",
    variables: () => ({ repo: repositoryId(), key: "owner", value: "core" }),
    error: /^(not authenticated|must be site admin)$/,
  },
  {
    name: "repos add-metadata, update and delete",
    query: `mutation ($repo: ID!, $key: String!) {
      add: addRepoKeyValuePair(repo: $repo, key: $key, value: null) { alwaysNil }
      update: updateRepoKeyValuePair(repo: $repo, key: $key, value: "core") { alwaysNil }
      delete: deleteRepoKeyValuePair(repo: $repo, key: $key) { alwaysNil }
    }`,
    variables: () => ({ repo: repositoryId(), key: "owner" }),
    data: () => ({ add: { alwaysNil: null }, update: { alwaysNil: null }, delete: { alwaysNil: null } }),
    asAdmin: true,
  },
  {
    name: "repos delete of one that is not there",
    query: "mutation DeleteRepository($repository: ID!) { deleteRepository(repository: $repository) { alwaysNil } }",
    variables: () => ({ repository: Buffer.from("Repository:999").toString("base64") }),
    asAdmin: true,
    error: /./,
  },
  {
    name: "extsvc list",
    query:
      "query ($first: Int!) { externalServices(first: $first) { nodes { id kind displayName config createdAt updatedAt } totalCount pageInfo { hasNextPage } } }",
    variables: () => ({ first: 1000 }),
    data: () => ({
      externalServices: { totalCount: 1, nodes: [{ kind: "OTHER", config: /./ }], pageInfo: { hasNextPage: false } },
    }),
    asAdmin: true,
  },
];

/** The `src` command. */
export const srcCli: readonly ClientRequest[] = [
  ...searchJobs,
  ...metadata,
  ...srcAccounts,
  {
    name: "lsp",
    query: `query Hover($repository: String!, $commit: String!, $path: String!, $line: Int!, $character: Int!) { repository(name: $repository) { commit(rev: $commit) { blob(path: $path) { lsif {
      hover(line: $line, character: $character) { markdown { text } range { start { line character } end { line character } } }
      references(line: $line, character: $character, first: 100) { nodes { resource { path repository { name } commit { oid } } range { start { line character } } } pageInfo { endCursor hasNextPage } }
    } } } } }`,
    variables: ({ name, head }) => ({ repository: name, commit: head, path: "src/main.go", line: 5, character: 6 }),
    data: ({ name, head }) => ({
      repository: {
        commit: {
          blob: {
            lsif: {
              hover: {
                markdown: { text: "```go\nfunc greet(name string) {\n```" },
                range: { start: { line: 5, character: 5 }, end: { line: 5, character: 10 } },
              },
              references: {
                nodes: [
                  {
                    resource: { path: "src/main.go", repository: { name }, commit: { oid: head } },
                    range: { start: { line: 4, character: 3 } },
                  },
                  { range: { start: { line: 5, character: 5 } } },
                ],
                pageInfo: { hasNextPage: false },
              },
            },
          },
        },
      },
    }),
  },
  {
    name: "codeowners get",
    query: `query GetCodeownersFile($repoName: String!) { repository(name: $repoName) { ingestedCodeowners { ...CodeownersFileFields } } }
      fragment CodeownersFileFields on CodeownersIngestedFile { contents repository { name } }`,
    variables: ({ name }) => ({ repoName: name }),
    data: () => ({ repository: { ingestedCodeowners: null } }),
  },
  { name: "login", query: "query CurrentUser { currentUser { username } }", data: () => ({ currentUser: null }) },
  {
    name: "instance",
    query: "query InstanceInfo { site { productVersion } }",
    data: () => ({ site: { productVersion: /^\d+\.\d+\.\d+$/ } }),
  },
  {
    name: "search",
    query: searchResults,
    variables: () => ({ query: "gre+t\\(" }),
    data: ({ name, head }) => ({
      site: { buildVersion: /\d{4}-\d{2}-\d{2}/ },
      search: {
        results: {
          limitHit: false,
          resultCount: 1,
          alert: null,
          cloning: [],
          missing: [],
          timedout: [],
          results: [
            {
              __typename: "FileMatch",
              repository: { name, url: `/${name}` },
              file: {
                name: "main.go",
                path: "src/main.go",
                url: `/${name}/-/blob/src/main.go`,
                content: mainGo,
                commit: { oid: head },
              },
              lineMatches: [
                { preview: "func greet(name string) {", lineNumber: 5, offsetAndLengths: [[5, 6]], limitHit: false },
              ],
            },
          ],
        },
      },
    }),
  },
  {
    name: "search for repositories",
    query: searchResults,
    variables: () => ({ query: "demo type:repo" }),
    data: ({ name }) => ({
      search: {
        results: {
          results: [
            {
              __typename: "Repository",
              name,
              url: `/${name}`,
              externalURLs: [],
              label: { html: /<a href="\/example.org\/demo"/ },
            },
          ],
        },
      },
    }),
  },
  {
    name: "search that is no query",
    query: searchResults,
    variables: () => ({ query: "count:many greet" }),
    data: () => ({
      search: {
        results: {
          results: [],
          resultCount: 0,
          alert: { title: "Unable To Process Query", description: /./, proposedQueries: null },
        },
      },
    }),
  },
  {
    name: "repos list",
    query: `query Repositories($first: Int, $query: String, $cloned: Boolean, $notCloned: Boolean, $indexed: Boolean, $notIndexed: Boolean, $orderBy: RepositoryOrderBy, $descending: Boolean) {
      repositories(first: $first, query: $query, cloned: $cloned, notCloned: $notCloned, indexed: $indexed, notIndexed: $notIndexed, orderBy: $orderBy, descending: $descending) {
        nodes { ...RepositoryFields }
      }
    } ${repositoryFields}`,
    variables: () => ({
      first: 1000,
      query: "",
      cloned: true,
      notCloned: true,
      indexed: true,
      notIndexed: true,
      orderBy: "REPOSITORY_NAME",
      descending: false,
    }),
    data: ({ name }) => ({
      repositories: {
        nodes: [
          {
            id: /^[A-Za-z0-9+/]+=*$/,
            name,
            url: `/${name}`,
            description: "",
            createdAt: /^\d{4}-\d\d-\d\dT.*Z$/,
            viewerCanAdminister: false,
            externalRepository: { id: name, serviceType: "other" },
            defaultBranch: { name: "refs/heads/main", displayName: "main" },
            keyValuePairs: [],
          },
        ],
      },
    }),
  },
  {
    name: "repos get",
    query: `query Repository($name: String!) { repository(name: $name) { ...RepositoryFields } } ${repositoryFields}`,
    variables: ({ name }) => ({ name }),
    data: ({ name }) => ({ repository: { name, defaultBranch: { displayName: "main" } } }),
  },
  {
    name: "repos get of none",
    query: `query Repository($name: String!) { repository(name: $name) { ...RepositoryFields } } ${repositoryFields}`,
    variables: () => ({ name: "example.org/none" }),
    data: () => ({ repository: null }),
  },
  {
    name: "config list",
    query: `query ViewerSettings { viewerSettings { subjects { ...SettingsSubjectFields } final } }
      fragment SettingsSubjectFields on SettingsSubject { id latestSettings { id contents author { id username } createdAt } settingsURL viewerCanAdminister }`,
    data: () => ({
      viewerSettings: {
        subjects: [{ latestSettings: null, viewerCanAdminister: false }, { settingsURL: /^\// }],
        final: /^\{/,
      },
    }),
  },
  {
    name: "batch validate, and whatever else src batch does first",
    query:
      "query InstanceInfo { site { productVersion } maxUnlicensedChangesets batchChanges(first: 1) { nodes { id } } }",
    data: () => ({ maxUnlicensedChangesets: 0, batchChanges: { nodes: [] } }),
  },
  {
    name: "batch repositories",
    query: resolveWorkspaces,
    variables: ({ name }) => ({
      spec: JSON.stringify({
        name: "hello",
        on: [
          { repositoriesMatchingQuery: "file:main.go greet" },
          { repository: name },
          { repository: name, branch: "feature" },
        ],
      }),
    }),
    data: ({ name, head, feature }) => ({
      resolveWorkspacesForBatchSpec: [
        {
          repository: { name, defaultBranch: { name: "refs/heads/main" } },
          branch: { name: "refs/heads/main", target: { oid: head } },
          ignored: false,
          unsupported: false,
        },
        { repository: { name }, branch: { name: "refs/heads/feature", target: { oid: feature } } },
      ],
    }),
  },
  ...[
    [{ on: [{ repository: "example.org/absent" }] }, /repository "example.org\/absent" not found/] as const,
    [{ on: [{ repository: "example.org/demo", branch: "none" }] }, /has no branch "none"/] as const,
    [{ on: [{ repositoriesMatchingQuery: "rev:x" }] }, /repositoriesMatchingQuery: Unable To Process Query/] as const,
    [{ on: [{}] }, /has a "repository" or/] as const,
    [{ on: 1 }, /"on" must be a list/] as const,
    [{ on: Array.from({ length: 101 }, () => ({})) }, /at most 100/] as const,
    [[], /not a JSON object/] as const,
  ].map(([spec, error]) => ({
    name: "batch repositories, with a spec that cannot be used",
    query: resolveWorkspaces,
    variables: () => ({ spec: JSON.stringify(spec) }),
    error,
  })),
  {
    name: "validate install",
    query:
      "query Search($query: String!) { search(query: $query, version: V2, patternType: literal) { results { matchCount } } }",
    variables: () => ({ query: "greet" }),
    data: () => ({ search: { results: { matchCount: 2 } } }),
  },
  {
    name: "validate install, clone status",
    query: "query ($name: String!) { repository(name: $name) { name mirrorInfo { cloned cloneInProgress } } }",
    variables: ({ name }) => ({ name }),
    data: () => ({ repository: { mirrorInfo: { cloned: true, cloneInProgress: false } } }),
  },
];
