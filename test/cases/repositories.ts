import type { SearchContext } from "../../src/model/search-context.js";
import { rows } from "./row.js";

/*
 * Questions that choose repositories and shape answers: attributes, alerts. The form of the rows is that of `row.ts`.
 */

const context = (name: string, repositories: SearchContext["repositories"]): SearchContext => ({
  name,
  description: "",
  public: true,
  repositories,
  query: "",
});
const contextOf = (name: string, query: string): SearchContext => ({
  name,
  description: "",
  public: true,
  repositories: [],
  query,
});

/** What the daemon and the evaluator are asked with. */
export const contexts: readonly SearchContext[] = [
  context("team/core", [
    { name: "parser", revisions: [] },
    { name: "odd", revisions: [] },
    { name: "gone", revisions: [] },
  ]),
  context("pinned", [
    { name: "parser", revisions: ["dev"] },
    { name: "odd", revisions: [] },
  ]),
  context("two.revs", [{ name: "parser", revisions: ["main", "dev"] }]),
  context("nothing", [{ name: "gone", revisions: [] }]),
  context("all_forks-1", [{ name: "parser-fork", revisions: [] }]),
  contextOf("go-files", "repo:^parser$ lang:go"),
  contextOf("either", "repo:^odd$ or (repo:hid repo:den)"),
  contextOf("forks", "fork:yes repo:parser"),
  contextOf("at-dev", "repo:^parser$ rev:dev"),
  contextOf("of-team", "repo:has(team:core) or repo:has.description(of.tokens)"),
  contextOf("exact-case", "case:yes repo:^parser$"),
];

const unable = "alert: Unable To Process Query: Invalid predicate value: ";
const none = "alert: No repositories found: Try using a different `repo:<regexp>` filter to see results";

const descriptions = rows("repo:has.description", "standard", [
  ["a word, whatever its case", "repo:has.description(PARSER)", ["parser"]],
  ["a regexp", "repo:has.description(^assorted|tokens$)", ["acme/tools", "parser"]],
  ["a blank stands for anything between", "repo:has.description(a tokens)", ["parser"]],
  ["and for a newline", "repo:has.description(build web)", ["acme/tools"]],
  ["in this order", "repo:has.description(tokens parser)", [none]],
  ["a dot takes a newline", "repo:has.description(tools,.for)", ["acme/tools"]],
  ["a blank in a class is one", "repo:has.description(r[ ]of)", ["parser"]],
  ["a blank in a group", "repo:has.description((build web|nothing) )", ["acme/tools"]],
  ["repositories without a description have none", "repo:has.description(.*) type:repo", ["acme/tools", "parser"]],
  ["case:yes changes nothing", "case:yes repo:has.description(PARSER)", ["parser"]],
  ["and a pattern", "repo:has.description(parser) tokens type:file", ["parser:src/parser.go:L3"]],
  ["nothing to look for", "repo:has.description()", [`${unable}has.description argument should not be empty`]],
  ["no regexp", "repo:has.description([)", [`${unable}has.description argument: error parsing regexp: …`]],
  [
    "negated",
    "-repo:has.description(x)",
    [`${unable}search predicate "repo:has.description" does not support negation`],
  ],
]);

const topics = rows("repo:has.topic", "standard", [
  ["one", "repo:has.topic(go)", ["parser"]],
  ["of several repositories", "repo:has.topic(build)", ["acme/tools", "parser"]],
  ["exactly", "repo:has.topic(buil)", [none]],
  ["in its case", "repo:has.topic(Go)", [none]],
  ["all hold", "repo:has.topic(build) repo:has.topic(cli)", ["acme/tools"]],
  ["negated", "-repo:has.topic(build) type:repo", ["empty", "hidden", "odd"]],
  ["not", "NOT repo:has.topic(go) repo:has.topic(build)", ["acme/tools"]],
  ["one or the other", "repo:has.topic(go) or repo:has.topic(cli)", ["acme/tools", "parser"]],
  ["beside a name", "repo:parser repo:has.topic(build)", ["parser"]],
  ["forks have to have it, too, to be counted", "repo:has.topic(go) type:repo", ["parser"], []],
  ["at a branch", "repo:has.topic(go) rev:dev onlyOnDev", ["parser@dev:src/dev_only.go:L3"]],
  ["none", "repo:has.topic()", [`${unable}topic must be non-empty`]],
]);

const metadata = rows("repo:has.meta", "standard", [
  ["a pair", "repo:has.meta(team:core)", ["acme/tools"]],
  ["a pair that is not", "repo:has.meta(team:cor)", [none]],
  ["a key", "repo:has.meta(team)", ["acme/tools", "parser"]],
  ["a key without a value is a key", "repo:has.meta(tier)", ["acme/tools"]],
  ["a key without a value", "repo:has.meta(tier:)", ["acme/tools"]],
  ["a key with a value is not without", "repo:has.meta(team:)", [none]],
  ["an empty value is a value", "repo:has.meta(1st:)", [none]],
  ["an empty value", `repo:has.meta(1st:"")`, ["parser"]],
  ["quoted", `repo:has.meta("cost center":"r&d: 7")`, ["parser"]],
  ["single quotes", "repo:has.meta('cost center')", ["parser"]],
  ["a regexp for the value", "repo:has.meta(team:/^lang|CORE/)", ["parser"]],
  ["a regexp for the key", "repo:has.meta(/t.*r/)", ["acme/tools", "parser"]],
  ["a regexp for both", String.raw`repo:has.meta(/^c/:/\d/)`, ["parser"]],
  ["negated", "-repo:has.meta(team:core) repo:has.meta(team)", ["parser"]],
  ["a negated key", "-repo:has.meta(team) type:repo", ["empty", "hidden", "odd"]],
  ["no key", "repo:has.meta(:x)", [`${unable}key cannot be empty`]],
  ["more than a pair", "repo:has.meta(a:b:c)", [`${unable}unexpected extra content`]],
  ["a broken regexp for a key", "repo:has.meta(/[/:b)", [`${unable}has.meta key argument: error parsing regexp: …`]],
]);

const olderNames = rows("older names of repo:has.meta", "standard", [
  ["has", "repo:has(team:core)", ["acme/tools"]],
  ["has: quoted", `repo:has("team":"core")`, ["acme/tools"]],
  ["has: a key in single quotes", `repo:has('team':core)`, ["acme/tools"]],
  ["has: an escape", String.raw`repo:has("te\"am":core)`, [none]],
  ["has: a colon and a blank in quotes", `repo:has("te am:x":"co:re")`, [none]],
  ["has: more than a pair", "repo:has(a:b:c)", [`${unable}unexpected extra content`]],
  ["has: a quote without an end", `repo:has("team:core)`, [`${unable}key cannot be empty`]],
  ["has: text after a quote", `repo:has("team"x:core)`, [`${unable}unexpected extra content`]],
  ["has: an empty key in quotes", `repo:has("":core)`, [`${unable}key cannot be empty`]],
  ["has: an empty value", "repo:has(1st:)", ["parser"]],
  ["has.key", "repo:has.key(tier)", ["acme/tools"]],
  ["has.tag: a key without a value", "repo:has.tag(tier)", ["acme/tools"]],
  ["has.tag: a key with one", "repo:has.tag(team)", [none]],
  ["negated", "-repo:has.key(team) -repo:has.tag(x) -repo:has(a:b) type:repo", ["empty", "hidden", "odd"]],
  ["has without a value", "repo:has(team)", [`${unable}expected params of the form key:value`]],
  ["has without a key", "repo:has(:x)", [`${unable}key cannot be empty`]],
  ["has.key without a key", "repo:has.key( )", [`${unable}key must be non-empty`]],
  ["has.tag without a key", "repo:has.tag()", [`${unable}tag must be non-empty`]],
  ["another name is a regexp", "repo:has.nothing(x)", [none]],
]);

const rules = rows("select: and count: of one basic query", "standard", [
  [
    "select: for one of two",
    "(repo:^odd$ type:repo) or (repo:^parser$ type:file select:file tokens)",
    ["odd", "parser:src/parser.go"],
  ],
  [
    "two that differ",
    "(repo:^parser$ type:file select:repo tokens) or (repo:^parser$ type:file select:file.directory nil)",
    ["parser", "parser:src/"],
  ],
  [
    "one file, selected and not",
    "(repo:^parser$ type:file select:file tokens) or (repo:^parser$ type:file nil)",
    ["parser:src/parser.go:L10"],
  ],
  [
    "lines of one, none of the other",
    "(repo:^parser$ type:file select:content nil) or (repo:^parser$ select:content lexer.h)",
    ["parser:src/lexer.c:L1", "parser:src/parser.go:L10"],
  ],
  [
    "what both select is one result",
    "(repo:^parser$ type:repo) or (repo:^parser$ type:file select:repo tokens)",
    ["parser"],
  ],
  [
    "at two branches it is two",
    "(repo:^parser$@main select:repo tokens) or (repo:^parser$@dev type:file select:repo tokens)",
    ["parser@dev", "parser@main"],
  ],
  [
    "a limit for one",
    "(repo:^hidden$ type:file count:1 a) or (repo:^parser$ type:file (tokens or nil))",
    ["hidden:secret.txt:L1", "parser:src/parser.go:L3,L10"],
    ["shard-match-limit"],
  ],
  [
    "a limit for one that suffices",
    "(repo:^hidden$ type:file count:1 secret) or (repo:^parser$ type:file tokens)",
    ["hidden:secret.txt:L1", "parser:src/parser.go:L3"],
    [],
  ],
  [
    "a limit for one cuts its lines only",
    "(repo:^parser$ type:file count:2 file:lexer.c$ lex) or (repo:^parser$ type:file file:lexer.c$ main)",
    ["parser:src/lexer.c:L1,L2,L4"],
    ["shard-match-limit"],
  ],
  [
    "a limit for repositories",
    "(repo:^(odd|hidden)$ type:repo count:1) or (repo:^parser$ type:file tokens)",
    ["odd", "parser:src/parser.go:L3"],
    ["shard-match-limit"],
  ],
  ["the limit counts what is selected", "repo:^parser$ type:file select:repo count:1 e", ["parser"], []],
  [
    "of one basic query, too",
    "(repo:^parser$ type:file select:repo count:1 e) or (repo:^odd$ type:repo)",
    ["odd", "parser"],
    [],
  ],
  [
    "a file is one, whatever its lines",
    "(repo:^parser$ file:parser.go$ type:file select:file count:1 e) or (repo:^odd$ type:repo)",
    ["odd", "parser:src/parser.go"],
    [],
  ],
  [
    "directories",
    "(repo:^parser$ select:file.directory count:2 file:.) or (repo:^odd$ type:repo)",
    ["odd", "parser:./", "parser:docs/"],
    ["shard-match-limit"],
  ],
  [
    "a time for one",
    "(repo:^parser$ timeout:50s type:file tokens) or (repo:^odd$ timeout:40s type:repo)",
    ["odd", "parser:src/parser.go:L3"],
    [],
  ],
]);

const wrong = "alert: Unable To Process Query: ";

const searchContexts = rows("context:", "standard", [
  ["a list", "context:team/core type:repo", ["odd", "parser"], []],
  ["predicates on attributes", "context:of-team type:repo", ["acme/tools", "parser"]],
  ["predicates on attributes and a filter", "context:of-team -repo:has.key(tier) type:repo", ["parser"]],
  ["a list and a pattern", "context:team/core alpha one", ["odd:crlf.txt:L1"]],
  ["a list and a filter: both hold", "context:team/core repo:r", ["parser"]],
  ["a list and an exclusion", "context:team/core -repo:parser", ["odd"]],
  [
    "names of a list are names",
    "context:team/core repo:fork",
    ["alert: No repositories found for your query within the context team/core"],
  ],
  [
    "forks of a list are forks",
    "context:all_forks-1 type:repo",
    ["alert: No repositories found: Try altering the query…"],
    ["repository-fork"],
  ],
  ["forks of a list, asked for", "context:all_forks-1 fork:yes", ["parser-fork"]],
  ["a revision of a list", "context:pinned onlyOnDev", ["parser@dev:src/dev_only.go:L3"]],
  ["a revision of a list, beside none", "context:pinned type:repo", ["odd", "parser@dev"]],
  ["two revisions of a list", "context:two.revs type:repo", ["parser@dev", "parser@main"]],
  ["revisions of a list and of a filter: those in both", "context:two.revs repo:parser@dev:v1", ["parser@dev"]],
  [
    "none in both",
    "context:pinned repo:^parser$@main",
    ["alert: Some repositories could not be searched: The repository parser…"],
  ],
  ["a list of repositories that are not there", "context:nothing alpha", [none]],
  [
    "and a filter",
    "context:nothing repo:parser",
    ["alert: No repositories found for your query within the context nothing"],
  ],
  ["a query with a filter on files", "context:go-files tokens", ["parser:src/parser.go:L3"]],
  ["which leaves out repositories", "context:go-files type:repo", []],
  ["a query alone", "context:go-files", ["parser:src/parser.go", "parser:src/parser_test.go"]],
  ["a query with or", "context:either type:repo", ["hidden", "odd"]],
  ["a query with or, and a pattern", "context:either type:file alpha secret", ["hidden:secret.txt:L1"]],
  ["a query and a filter", "context:either repo:odd", ["odd"]],
  [
    "a query and a filter that excludes all",
    "context:either repo:parser",
    ["alert: No repositories found for your query within the context either"],
  ],
  ["a query that takes forks", "context:forks type:repo", ["parser", "parser-fork"], []],
  ["the query's own filter wins", "context:forks fork:no type:repo", ["parser"]],
  ["a query with a revision", "context:at-dev onlyOnDev", ["parser@dev:src/dev_only.go:L3"]],
  ["the query's own revision wins", "context:at-dev rev:main", ["parser@main"]],
  ["a query with case:yes", "context:exact-case type:file PARSE", []],
  [
    "whatever case is asked for wins",
    "context:exact-case case:no type:file file:README PARSE",
    ["parser:README.md:L1,L3"],
  ],
  ["one for each side of or", "(context:team/core repo:odd) or (context:either repo:hidden)", ["hidden", "odd"]],
  ["quoted", `context:"team/core" repo:odd`, ["odd"]],
  ["global", "context:global repo:^odd$", ["odd"]],
  ["empty", "context: repo:^odd$", ["odd"]],
  ["unknown", "repo:a context:unknown b", [`${wrong}Search context "unknown" not found`]],
  ["its case counts", "context:Either", [`${wrong}Search context "Either" not found`]],
  ["of a user", "context:@me/x", [`${wrong}Search context "@me/x" not found`]],
  ["negated", "-context:either a", [`${wrong}Field "context" does not support negation`]],
  ["twice", "context:either context:team/core a", [`${wrong}Field "context" may not be used more than once`]],
  [
    "@ beside a context's rev:",
    "context:at-dev repo:parser@main",
    [`${wrong}Invalid syntax. You specified both @ and rev:…`],
  ],
]);

const invalid = "alert: Invalid revision syntax: The revision ";

const revisionSyntax = rows("revisions that are none", "standard", [
  ["a range", "repo:^parser$@main..dev a", [`${invalid}"main..dev" cannot be searched…`]],
  ["a glob without its star", "repo:^parser$@v1* a", [`${invalid}"v1*" cannot be searched…`]],
  ["an option", "repo:^parser$@--all a", [`${invalid}"--all" cannot be searched…`]],
  ["with a blank", `repo:"^parser$@a b" c`, [`${invalid}"a b" cannot be searched…`]],
  ["in rev:", "repo:^parser$ rev:a[b", [`${invalid}"a[b" cannot be searched…`]],
  ["behind a good one", "repo:^parser$@main:a..b a", [`${invalid}"a..b" cannot be searched…`]],
]);

const many = (word: (i: number) => string): string => Array.from({ length: 100 }, (_, i) => word(i)).join(" or ");

const manyPatterns = rows("repository names and many patterns", "standard", [
  ["any of many", `type:repo ${many((i) => `none${i}`)} or odd or hid or parser`, ["hidden", "odd", "parser"]],
  ["any of many regexps", `type:repo ${many((i) => `/^n${i}[a-c]/`)} or /^o.d$/`, ["odd"]],
  ["with regard to case", `case:yes type:repo ${many((i) => `none${i}`)} or ODD`, []],
  [
    "none of many",
    `type:repo d and not (${many((i) => `none${i}`)})`,
    [`${wrong}It looks like you tried to use an expression after NOT…`],
  ],
  [
    "one, and not many others",
    `type:repo d ${Array.from({ length: 50 }, (_, i) => `not x${i}`).join(" ")} not odd`,
    ["hidden"],
  ],
  ["a text longer than any name", `type:repo odd or ${"x".repeat(300)}`, ["odd"]],
  ["a regexp too long for names", `type:repo odd or /${"x?".repeat(600)}/`, ["odd"]],
  ["many filters, in turns before the search", `(${many((i) => `repo:^none${i}$`)} or repo:^odd$) type:repo`, ["odd"]],
]);

export const repositoryCases = [
  manyPatterns,
  descriptions,
  topics,
  metadata,
  olderNames,
  rules,
  searchContexts,
  revisionSyntax,
].flat();
