/** The query that a question becomes. */
import t from "tap";
import { readNaturalQuery } from "../../../src/mcp/tools/natural-query.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";

const rows: readonly (readonly [text: string, all: string, any?: string])[] = [
  ["where is the cache of queries?", "cach (queri OR query)", "(cach OR (queri OR query))"],
  ["How does the authentication work?", "authent work", "(authent OR work)"],
  ["retries, retrying and retried", "(retri OR retry)"],
  ["repo:code lang:go where are files opened", "repo:code lang:go file open", "repo:code lang:go (file OR open)"],
  ["opened not file:test lang:go", "NOT file:test lang:go open"],
  ["isn't it what's used", "isn't it what's used"],
  ["what of fooBar and list_length in main.c", "fooBar list_length main.c", "(fooBar OR list_length OR main.c)"],
  ['the "quoted text" of searches', '"quoted text" search', '("quoted text" OR search)'],
  ["/fo+/ matches", "/fo+/ match", "(/fo+/ OR match)"],
  ["the HTTP is", "HTTP"],
  ["opened AND (closing OR the)", "open AND (clos OR the)"],
  ["tags caught", "tag caught", "(tag OR caught)"],
  ["uses", "uses"],
  ["geese-like", "geese-like"],
  ["", ""],
  ["repo:code", "repo:code"],
  ['open "quote', 'open "quote', '(open OR "quote)'],
];

for (const [text, all, any] of rows)
  t.test(`"${text}"`, async (t) => {
    const query = readNaturalQuery(text);
    t.equal(query.all, all);
    t.equal(query.any, any);
    for (const one of [query.all, query.any ?? ""]) parseQuery(one, "keyword");
  });

t.test("each form of a word finds the others", async (t) => {
  const families = [
    ["cache", "caches", "caching", "cached"],
    ["query", "queries", "querying"],
    ["create", "creates", "creating"],
    ["box", "boxes", "boxed"],
    ["authenticate", "authentication", "authenticates"],
  ];
  for (const family of families)
    for (const form of family) {
      const found = readNaturalQuery(form).all.replaceAll(/[()]/g, "").split(" OR ");
      for (const other of family)
        t.ok(
          found.some((text) => other.includes(text)),
          `${form} finds ${other}`,
        );
    }
});

/** Of a processor. What is not linear takes minutes. */
const secondsMax = 5;

t.test("a long text takes time in proportion to its length", async (t) => {
  const before = process.cpuUsage();
  for (const word of ["y", "ya", "ational ", "a ", "(", '"'])
    readNaturalQuery(word.repeat(Math.floor(8_000 / word.length)));
  const { user, system } = process.cpuUsage(before);
  t.ok((user + system) / 1e6 < secondsMax);
});
