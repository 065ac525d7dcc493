/** Bodies of GraphQL requests that are expensive to parse, validate or execute. Each is at most 1 MiB. */
import { filled, many } from "./hostile-queries.js";

const bytesMax = 1 << 20;

/** The longest document that is accepted. */
const documentMax = 250 << 10;

const body = (query: string, variables: unknown = null): string => JSON.stringify({ query, variables });

/**
 * Fields that read whole tables, in their most expensive form: with a search, in another order, with nested lists.
 */
const wholeTables = [
  'repositories(first: 1, query: "[a-y]+AT") { totalCount nodes { name } }',
  'repositories(last: 1, orderBy: REPOSITORY_CREATED_AT, descending: true, query: "AT") { totalCount pageInfo { endCursor } }',
  "repositories(first: 1000, cloneStatus: CLONED, failedFetch: false) { nodes { id } }",
  "repositoryStats { total cloned indexed }",
  'users(first: 1, query: "AT") { totalCount nodes { username } }',
  'users(first: 1, activePeriod: THIS_WEEK, query: "AT") { totalCount }',
  'organizations(first: 1, query: "AT") { totalCount nodes { members { totalCount } } }',
  'teams(first: 1, search: "AT", includeChildTeams: true) { totalCount nodes { members(first: 1) { totalCount } } }',
  'searchContexts(first: 1, query: "AT", orderBy: SEARCH_CONTEXT_UPDATED_AT) { totalCount nodes { spec } }',
  'savedSearches(first: 1, query: "AT", orderBy: SAVED_SEARCH_UPDATED_AT) { totalCount nodes { description } }',
  'search(query: "project AT type:repo count:all") { results { matchCount repositories { name } } }',
  'authorizedUserRepositories(username: "user-0000AT", first: 1) { totalCount nodes { name } }',
  "usersWithPendingPermissions",
  'site { users(query: "AT") { totalCount nodes { username } } }',
  'repoMeta { keys(first: 1) { totalCount } key(key: "team") { values(first: 1) { totalCount } } }',
  'isSearchContextAvailable(spec: "@user-00002/context-AT")',
  'node(id: "UmVwb3NpdG9yeTox") { ... on Repository { name permissionsInfo { __typename } } }',
  "currentUser { organizations { nodes { name members { totalCount } } } viewerCanAdminister }",
  "viewerSettings { final subjects { id latestSettings { contents } } }",
  'repository(name: "host.example/organization-1/project-00001") { name authorizedUsers(first: 1, permission: READ) { totalCount } }',
];

/** The field this many times, each time slightly different. */
const aliases = (field: string, count: number): string =>
  `{ ${many(count, (at) => `a${at}: ${field.replaceAll("AT", String(at % 10))} `)} }`;

export const hostileDocuments: readonly (readonly [name: string, body: string])[] = [
  ["selections in selections", body(`${"{a".repeat(documentMax / 3)}${"}".repeat(documentMax / 3)}`)],
  ["open braces", body("{".repeat(documentMax))],
  ["lists in lists", body(`{ a(x: ${"[".repeat(documentMax - 20)}`)],
  ["objects in objects", body(`{ a(x: ${"{a:".repeat(documentMax / 4)}`)],
  ["types in types", body(`query ($a: ${"[".repeat(100_000)}Int${"]".repeat(100_000)}) { currentUser { id } }`)],
  [
    "inline fragments in inline fragments",
    body(`{ ${"... { ".repeat(3_000)}currentUser { id }${" }".repeat(3_000)} }`),
  ],
  ["one field many times", body(`{ ${"currentUser { id } ".repeat(1_900)} }`)],
  ["a field many times that differs", body(`{ ${many(1_200, (at) => `a: repository(name: "${at}") { id } `)} }`)],
  ["fields that there are not", body(`{ ${many(9_000, (at) => `f${at} `)} }`)],
  [
    "fragments that spread each other",
    body(
      `{ ...f0 } ${many(60, (at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} } `)} fragment f60 on Query { currentUser { id } }`,
    ),
  ],
  [
    "fragments in a ring",
    body(`{ ...f0 } ${many(1_400, (at) => `fragment f${at} on Query { ...f${(at + 1) % 1_400} } `)}`),
  ],
  [
    "fragments that each spread all",
    body(
      `{ ...f0 } ${many(60, (at) => `fragment f${at} on Query { ${many(60 - at, (other) => `...f${at + 1 + other} `)} } `)} fragment f60 on Query { currentUser { id } }`,
    ),
  ],
  [
    "thousands of fragments",
    body(`{ ...f0 } ${many(1_600, (at) => `fragment f${at} on Query { currentUser { id } } `)}`),
  ],
  ["thousands of operations", body(many(1_900, (at) => `query q${at} { currentUser { id } } `))],
  ["directives", body(`{ currentUser ${"@include(if: true) ".repeat(1_400)} { id } }`)],
  ["directives that there are not", body(`{ currentUser ${many(4_900, (at) => `@d${at} `)} { id } }`)],
  ["variables", body(`query (${many(2_400, (at) => `$v${at}: Int `)}) { currentUser { id } }`)],
  [
    "variables that are used",
    body(
      `query (${many(490, (at) => `$v${at}: String `)}) { ${many(490, (at) => `a${at}: user(username: $v${at}) { id } `)} }`,
    ),
  ],
  ["a text", body(`{ repository(name: "${"a".repeat(documentMax - 100)}") { id } }`)],
  ["a text of escapes", body(`{ repository(name: "${"\\u00e9".repeat(40_000)}") { id } }`)],
  ["a block text of lines", body(`{ repository(name: """${"\n  ".repeat(80_000)}""") { id } }`)],
  ["a text without an end", body(`{ repository(name: "${"a".repeat(documentMax - 100)}`)],
  ["a number", body(`{ repositories(first: ${"9".repeat(documentMax - 100)}) { totalCount } }`)],
  ["a number with an exponent", body(`{ repositories(first: 1e${"9".repeat(100_000)}) { totalCount } }`)],
  ["comments", body(`${"#\n".repeat(documentMax / 2 - 50)}{ currentUser { id } }`)],
  ["commas", body(`${",".repeat(documentMax - 50)}{ currentUser { id } }`)],
  ["a long name", body(`{ ${"a".repeat(documentMax - 50)} }`)],
  ["a document that is too long", body("a".repeat(1_000_000))],
  [
    "introspection, deep",
    body(`{ __schema { types { fields { type ${"{ ofType ".repeat(15)}{ name }${" }".repeat(15)} } } } }`),
  ],
  [
    "introspection, all",
    body(
      "{ __schema { types { name description fields(includeDeprecated: true) { name description args { name description type { name kind ofType { name } } defaultValue } type { name kind ofType { name ofType { name } } } } inputFields { name } enumValues { name } possibleTypes { name } } directives { name args { name } } } }",
    ),
  ],
  [
    "introspection, in 60 ways",
    body(`{ ${many(60, (at) => `a${at}: __schema { types { name fields { name args { name } type { name } } } } `)} }`),
  ],
  [
    "introspection, in 400 ways",
    body(`{ ${many(400, (at) => `a${at}: __type(name: "Query") { fields { name description } } `)} }`),
  ],
  ["a long variable", body("query ($q: String!) { repository(name: $q) { id } }", { q: "a/".repeat(500_000) })],
  [
    "a long variable for a search",
    body("query ($q: String!) { search(query: $q) { results { matchCount } } }", { q: "a ".repeat(500_000) }),
  ],
  [
    "a long variable for 400 fields",
    body(`query ($q: String!) { ${many(400, (at) => `a${at}: repositories(first: 1, query: $q) { totalCount } `)} }`, {
      q: "(a|b)*".repeat(1_600),
    }),
  ],
  [
    "a regexp for names",
    body("query ($q: String!) { repositories(first: 1, query: $q) { totalCount } }", {
      q: filled((at) => `o.*${at}.*p|`, 8_000),
    }),
  ],
  [
    "a long regexp for names",
    body("query ($q: String!) { repositories(first: 1, query: $q) { totalCount } }", {
      q: filled((at) => `o.*${at}.*p|`, 1_000_000),
    }),
  ],
  [
    "a long list",
    body("query ($n: [String!]) { repositories(first: 1, names: $n) { totalCount } }", {
      n: Array.from({ length: 9_900 }, (_, at) => `host.example/${at}`),
    }),
  ],
  [
    "a list that is too long",
    body("query ($n: [String!]) { repositories(first: 1, names: $n) { totalCount } }", {
      n: Array.from({ length: 200_000 }, () => "a"),
    }),
  ],
  [
    "a list of lists",
    `{"query": "query ($n: [String!]) { repositories(first: 1, names: $n) { totalCount } }", "variables": {"n": ${"[".repeat(500_000)}${"]".repeat(500_000)}}}`,
  ],
  [
    "objects in a variable",
    `{"query": "query ($n: String) { user(username: $n) { id } }", "variables": {"n": ${'{"a":'.repeat(150_000)}1${"}".repeat(150_000)}}}`,
  ],
  [
    "many variables that are not asked for",
    body("{ currentUser { id } }", Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`v${at}`, at]))),
  ],
  ["a huge count", body("query ($n: Int) { repositories(first: $n) { totalCount } }", { n: 1e300 })],
  [
    "digits in a variable",
    `{"query": "query ($n: Int) { repositories(first: $n) { totalCount } }", "variables": {"n": ${"9".repeat(1_000_000)}}}`,
  ],
  [
    "ids that are none",
    body(`query ($i: ID!) { ${many(100, (at) => `a${at}: node(id: $i) { id } `)} }`, { i: "A".repeat(40_000) }),
  ],
  ["keys", `{${many(70_000, (at) => `"k${at}":1,`)}"query":"{ currentUser { id } }"}`],
  ["the same key", `{${'"query":"a",'.repeat(80_000)}"query":"{ currentUser { id } }"}`],
  [
    "an operation's long name",
    JSON.stringify({ query: "{ currentUser { id } }", operationName: "a".repeat(1_000_000) }),
  ],
  ["open lists", "[".repeat(bytesMax)],
  ["open objects", '{"a":'.repeat(200_000)],
  ["escapes", `{"query":"${"\\u007b".repeat(170_000)}"}`],
  ["blanks", " ".repeat(bytesMax)],
  ...wholeTables
    .filter((_, at) => at % 4 === 0)
    .map((field) => [`500 of ${field}`, body(aliases(field, 490))] as const),
  [
    "all of the whole tables at once",
    body(
      `{ ${many(480, (at) => `a${at}: ${wholeTables[at % wholeTables.length]?.replaceAll("AT", String(at)) ?? ""} `)} }`,
    ),
  ],
];
