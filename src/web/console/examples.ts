import type { ConsoleState } from "./console-state.js";

export interface Example {
  readonly title: string;
  readonly state: ConsoleState;
}

function example(title: string, query: string, variables: object = {}): Example {
  const text = Object.keys(variables).length === 0 ? "" : JSON.stringify(variables, null, 2);
  return { title, state: { query: `${query.trim()}\n`, variables: text, operationName: "" } };
}

export const examples: readonly Example[] = [
  example(
    "Search code",
    `
query Search($query: String!) {
  search(query: $query, version: V3) {
    results {
      matchCount
      limitHit
      results {
        __typename
        ... on FileMatch {
          repository { name }
          file { path url }
          lineMatches { lineNumber preview }
        }
      }
    }
  }
}`,
    { query: "main count:10" },
  ),
  example(
    "Repositories and their state",
    `
query Repositories {
  repositories(first: 20) {
    totalCount
    nodes {
      name
      mirrorInfo { cloned updatedAt lastError }
      textSearchIndex { status { updatedAt contentFilesCount } }
    }
  }
}`,
  ),
  example(
    "A file at a revision",
    `
query File($repository: String!, $revision: String!, $path: String!) {
  repository(name: $repository) {
    commit(rev: $revision) {
      oid
      file(path: $path) { byteSize totalLines content }
    }
  }
}`,
    { repository: "NAME", revision: "HEAD", path: "README.md" },
  ),
  example(
    "The newest commits",
    `
query Commits($repository: String!) {
  repository(name: $repository) {
    commit(rev: "HEAD") {
      ancestors(first: 10) {
        nodes { abbreviatedOID subject author { date person { name } } }
      }
    }
  }
}`,
    { repository: "NAME" },
  ),
  example(
    "What changed between two revisions",
    `
query Compare($repository: String!, $base: String!, $head: String!) {
  repository(name: $repository) {
    comparison(base: $base, head: $head) {
      commits(first: 20) { nodes { subject } }
      fileDiffs(first: 20) { nodes { newPath stat { added deleted } } }
    }
  }
}`,
    { repository: "NAME", base: "HEAD~3", head: "HEAD" },
  ),
  example("Search contexts", "query Contexts { searchContexts(first: 50) { nodes { spec description query } } }"),
  example("Who am I", "query Viewer { currentUser { username siteAdmin organizations { nodes { name } } } }"),
  example(
    "The schema, from itself",
    `
query Type($name: String!) {
  __type(name: $name) {
    description
    fields { name description type { kind name ofType { kind name } } }
  }
}`,
    { name: "Repository" },
  ),
];
