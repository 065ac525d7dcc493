import type { ClientRequest } from "./client-request.js";

/** What a web page, and people in the console, ask of a repository. */
export const web: readonly ClientRequest[] = [
  {
    name: "RepositoryGitCommits",
    query: `query ($repo: ID!, $first: Int, $query: String) { node(id: $repo) { __typename ... on Repository { commit(rev: "HEAD") { ancestors(first: $first, query: $query) {
      nodes { oid abbreviatedOID subject body message author { person { name email displayName avatarURL user { username } } date } committer { date } parents { oid url } url canonicalURL externalURLs { url serviceKind } }
      totalCount pageInfo { hasNextPage endCursor }
    } } } } }`,
    variables: () => ({ repo: Buffer.from("Repository:1").toString("base64"), first: 1 }),
    data: ({ head, parent, name }) => ({
      node: {
        __typename: "Repository",
        commit: {
          ancestors: {
            nodes: [
              {
                oid: head,
                subject: "Greet",
                body: "People like it.",
                parents: [{ oid: parent }],
                canonicalURL: `/${name}/-/commit/${head}`,
              },
            ],
            pageInfo: { hasNextPage: true, endCursor: "1" },
          },
        },
      },
    }),
  },
  {
    name: "ancestors by message",
    query:
      'query ($name: String!) { repository(name: $name) { commit(rev: "main") { ancestors(query: "first") { nodes { oid } totalCount } } } }',
    variables: ({ name }) => ({ name }),
    data: ({ parent }) => ({ repository: { commit: { ancestors: { nodes: [{ oid: parent }], totalCount: 1 } } } }),
  },
  {
    name: "RepositoryGitRefs",
    query:
      'query ($name: String!) { repository(name: $name) { gitRefs(first: 10) { nodes { name abbrevName type prefix url target { oid commit { subject } } } totalCount } branches(query: "FEAT") { nodes { displayName } } tags { nodes { displayName target { commit { oid } } } } } }',
    variables: ({ name }) => ({ name }),
    data: ({ name, head, parent }) => ({
      repository: {
        gitRefs: {
          nodes: [
            { name: "refs/heads/feature" },
            {
              name: "refs/heads/main",
              type: "GIT_BRANCH",
              prefix: "refs/heads/",
              url: `/${name}@main`,
              target: { oid: head, commit: { subject: "Greet" } },
            },
            { type: "GIT_TAG" },
          ],
          totalCount: 3,
        },
        branches: { nodes: [{ displayName: "feature" }] },
        tags: { nodes: [{ displayName: "v1.0", target: { commit: { oid: parent } } }] },
      },
    }),
  },
  {
    name: "RepositoryComparison",
    query: `query ($name: String!, $base: String, $head: String) { repository(name: $name) { comparison(base: $base, head: $head) {
      range { expr mergeBase { oid } baseRevSpec { object { oid } } head { __typename } }
      commits(first: 10) { nodes { oid } }
      fileDiffs(first: 10) { totalCount diffStat { added deleted } rawDiff nodes {
        oldPath newPath internalID stat { added deleted } mostRelevantFile { url } oldFile { path } newFile { path content }
        hunks { oldRange { startLine lines } oldNoNewlineAt newRange { startLine lines } section body }
      } }
    } } }`,
    variables: ({ name }) => ({ name, base: "main", head: "feature" }),
    data: ({ parent, feature }) => ({
      repository: {
        comparison: {
          range: { expr: "main...feature", mergeBase: { oid: parent } },
          commits: { nodes: [{ oid: feature }] },
          fileDiffs: {
            totalCount: 1,
            diffStat: { added: 1, deleted: 0 },
            rawDiff: /^diff --git/,
            nodes: [
              {
                oldPath: null,
                newPath: "src/feature.go",
                oldFile: null,
                newFile: { content: "package main\n" },
                hunks: [{ newRange: { startLine: 1, lines: 1 }, body: "+package main\n" }],
              },
            ],
          },
        },
      },
    }),
  },
  {
    name: "commit diff",
    query:
      'query ($name: String!, $rev: String!) { repository(name: $name) { commit(rev: $rev) { diff { range { base { __typename ... on GitRevSpecExpr { object { oid } } } } fileDiffs { nodes { newPath hunks { body } } } } behindAhead(revspec: "feature") { behind ahead } } } }',
    variables: ({ name, head }) => ({ name, rev: head }),
    data: ({ parent }) => ({
      repository: {
        commit: {
          diff: { range: { base: { object: { oid: parent } } }, fileDiffs: { nodes: [{ newPath: "src/main.go" }] } },
          behindAhead: { behind: 1, ahead: 1 },
        },
      },
    }),
  },
  {
    name: "blame",
    query:
      'query ($name: String!) { repository(name: $name) { commit(rev: "main") { blob(path: "src/main.go") { blame(startLine: 1, endLine: 8) { startLine endLine startByte endByte rev message author { person { email } date } commit { oid parents { oid } } filename } } } } }',
    variables: ({ name }) => ({ name }),
    data: ({ head, parent }) => ({
      repository: {
        commit: {
          blob: {
            blame: [
              { startLine: 1, endLine: 5, startByte: 0, endByte: 28, rev: parent, filename: "src/main.go" },
              { startLine: 5, endLine: 9, startByte: 28, rev: head, commit: { parents: [{ oid: parent }] } },
            ],
          },
        },
      },
    }),
  },
  {
    name: "contributors",
    query:
      "query ($name: String!) { repository(name: $name) { contributors(first: 5) { totalCount nodes { count person { name email } commits(first: 1) { nodes { oid } } } pageInfo { hasNextPage } } firstEverCommit { oid } } }",
    variables: ({ name }) => ({ name }),
    data: ({ head, parent }) => ({
      repository: {
        contributors: { totalCount: 1, nodes: [{ count: 2, commits: { nodes: [{ oid: head }] } }] },
        firstEverCommit: { oid: parent },
      },
    }),
  },
  {
    name: "statistics",
    query:
      'query ($name: String!) { repository(name: $name) { language commit(rev: "main") { languageStatistics { name totalBytes totalLines } } textSearchIndex { refs { ref { name } indexedCommit { oid } } status { contentFilesCount } } } repositoryStats { total cloned indexed } statusMessages { __typename } }',
    variables: ({ name }) => ({ name }),
    data: ({ head }) => ({
      repository: {
        language: "Go",
        commit: { languageStatistics: [{ name: "Go", totalLines: 9 }, { name: "Markdown" }] },
        textSearchIndex: {
          refs: [{ ref: { name: "refs/heads/main" }, indexedCommit: { oid: head } }],
          status: { contentFilesCount: 3 },
        },
      },
      repositoryStats: { total: 1, cloned: 1, indexed: 1 },
      statusMessages: [],
    }),
  },
  {
    name: "symbols of a commit",
    query: `query ($name: String!) { repository(name: $name) { commit(rev: "main") {
      symbols(first: 10, query: "^GREET$", includePatterns: ["^src/", "go$"], excludePatterns: ["_test"], kinds: [FUNCTION]) { nodes { name kind language url location { resource { path } range { start { line character } end { character } } } } pageInfo { hasNextPage } }
      tree(path: "src") { symbols(query: "greet|main") { nodes { name canonicalURL } } }
    } } }`,
    variables: ({ name }) => ({ name }),
    data: ({ name, head }) => ({
      repository: {
        commit: {
          symbols: {
            nodes: [
              {
                name: "greet",
                kind: "FUNCTION",
                language: "Go",
                url: `/${name}@main/-/blob/src/main.go?L6:6-6:11`,
                location: { resource: { path: "src/main.go" }, range: { start: { line: 5, character: 5 } } },
              },
            ],
            pageInfo: { hasNextPage: false },
          },
          tree: {
            symbols: {
              nodes: [
                { name: "main" },
                { name: "greet", canonicalURL: `/${name}@${head}/-/blob/src/main.go?L6:6-6:11` },
                { name: "main" },
              ],
            },
          },
        },
      },
    }),
  },
  {
    name: "symbols of a file",
    query: `query ($name: String!, $rev: String!) { repository(name: $name) { commit(rev: $rev) { blob(path: "src/feature.go") {
      symbols(first: 1) { nodes { name kind } pageInfo { endCursor hasNextPage } }
      symbol(line: 0, character: 9) { name }
      outline { symbol { name } depth }
      symbolInfo(line: 0, character: 8) { definition { repo commit path range { line character length } } hover }
      localCodeIntel
    } } } }`,
    variables: ({ name, feature }) => ({ name, rev: feature }),
    data: ({ name, feature }) => ({
      repository: {
        commit: {
          blob: {
            symbols: { nodes: [{ name: "main", kind: "PACKAGE" }], pageInfo: { endCursor: null, hasNextPage: false } },
            symbol: { name: "main" },
            outline: [{ symbol: { name: "main" }, depth: 0 }],
            symbolInfo: {
              definition: {
                repo: name,
                commit: feature,
                path: "src/feature.go",
                range: { line: 0, character: 8, length: 4 },
              },
              hover: "package main",
            },
            localCodeIntel: {
              symbols: [{ name: "main", def: { row: 0, column: 8, length: 4 }, refs: [{ row: 0, column: 8 }] }],
            },
          },
        },
      },
    }),
  },
];
