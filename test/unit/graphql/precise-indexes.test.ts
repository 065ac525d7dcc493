/** Uploaded indexes: who may upload them, how they arrive, and what they answer for their commit and for those near it. */
import { gzipSync } from "node:zlib";
import t from "tap";
import { fixture } from "../../support/git-mirror.js";
import { type Answer, GraphqlSite } from "../../support/graphql-site.js";
import { encodeScipIndex, indexWords, type ScipFile } from "../../support/scip-index.js";

const use = "import { open, Box } from './lib.ts'\nconst \u{1f680}box = open('ä') + open\nlet last\n";
const lib = "export function open(name) { return new Box(name) }\nexport class Box {}\nexport class Crate {}\n";

/** A line of which only a part is shown. */
const long = `let wide = wide ${"/* aside */ ".repeat(40)} + wide\n`;
const lastWide = long.lastIndexOf("wide");

/** What a compiler says about these files. */
const files: readonly ScipFile[] = [
  {
    path: "use.ts",
    encoding: 2,
    occurrences: [
      { range: [0, 9, 13], symbol: "t npm p 1 `lib.ts`/open()." },
      { range: [0, 15, 18], symbol: "t npm p 1 `lib.ts`/Box#" },
      { range: [1, 6, 11], symbol: "local 1", roles: 1 },
      { range: [1, 14, 18], symbol: "t npm p 1 `lib.ts`/open()." },
      { range: [1, 26, 30], symbol: "t npm p 1 `lib.ts`/open()." },
      { range: [2, 4, 8], symbol: "t npm other 2 `x.ts`/last." },
    ],
    symbols: [{ symbol: "local 1", documentation: ["```ts\nconst box: Box\n```\n\nA *box*."] }],
  },
  {
    path: "long.ts",
    encoding: 2,
    occurrences: [4, 11, lastWide].map((at, i) => ({
      range: [0, at, at + 4],
      symbol: "local 1",
      roles: i === 0 ? 1 : 0,
    })),
  },
  {
    path: "door.ts",
    encoding: 2,
    occurrences: [{ range: [1, 13, 17], symbol: "t npm p 1 `door.ts`/door.", roles: 1 }],
  },
  {
    path: "lib.ts",
    encoding: 2,
    occurrences: [
      { range: [0, 16, 20], symbol: "t npm p 1 `lib.ts`/open().", roles: 1 },
      { range: [0, 40, 43], symbol: "t npm p 1 `lib.ts`/Box#" },
      { range: [1, 13, 16], symbol: "t npm p 1 `lib.ts`/Box#", roles: 1 },
      { range: [2, 13, 18], symbol: "t npm p 1 `lib.ts`/Crate#", roles: 1 },
    ],
    symbols: [
      {
        symbol: "t npm p 1 `lib.ts`/open().",
        signature: "function open(name: string): Box",
        documentation: ["Opens."],
      },
      { symbol: "t npm p 1 `lib.ts`/Crate#", implements: "t npm p 1 `lib.ts`/Box#", kind: 7 },
    ],
  },
];

const door = "// A door.\nexport const door = 1\n";

const site = await GraphqlSite.start(t);
const source = fixture(t);
const commit = source.commit({
  branch: "main",
  files: { "pkg/use.ts": use, "pkg/lib.ts": lib, "pkg/long.ts": long, "pkg/door.ts": door },
});
await site.daemon.add("site/code", source.path);

type Query = Readonly<Record<string, string>>;
const index = encodeScipIndex(files);
const described: Query = { repository: "site/code", commit, root: "pkg" };

/** The status and the text of the answer. */
async function upload(query: Query, body?: Uint8Array<ArrayBuffer>, asker: "admin" | "ann" | "anonymous" = "admin") {
  const authorization = site.authorization(asker);
  const response = await fetch(`${site.daemon.url}/.api/scip/upload?${new URLSearchParams(query)}`, {
    method: "POST",
    headers: { ...(authorization === undefined ? {} : { authorization }) },
    ...(body === undefined ? {} : { body }),
  });
  return [response.status, await response.text()] as const;
}

const zipped = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(gzipSync(bytes));

interface Found {
  readonly definitions?: {
    readonly precision: string;
    readonly isUnique: boolean;
    readonly name: string;
    readonly nodes: readonly {
      readonly signature: string;
      readonly symbol: { readonly url: string; readonly kind: string };
    }[];
  };
}

const definitionFields =
  "definitions(line: $l, character: $c) { name precision isUnique nodes { signature symbol { url kind } } }";

async function ask(fields: string, line: number, character: number, { path = "pkg/use.ts", rev = "HEAD" } = {}) {
  const query = `query ($p: String!, $r: String!, $l: Int!, $c: Int!) { repository(name: "site/code") { commit(rev: $r) { blob(path: $p) { ${fields} } } } }`;
  const found = await site.data<{ repository: { commit: { blob: Found & Record<string, unknown> } } }>("admin", query, {
    p: path,
    r: rev,
    l: line,
    c: character,
  });
  return found.repository.commit.blob;
}

/** "PRECISE lib.ts?L1:17-1:21" */
async function define(line: number, character: number, place = {}): Promise<string> {
  const { definitions } = await ask(definitionFields, line, character, place);
  const urls = (definitions?.nodes ?? []).map(({ symbol: { url } }) => url.replace(/^.*\/pkg\//, ""));
  return [definitions?.precision, ...urls].join(" ");
}

t.test("who may upload what", async (t) => {
  t.match(await upload(described, zipped(index), "anonymous"), [401, /access token/]);
  t.match(await upload(described, zipped(index), "ann"), [403, /only site admins.*precise\.uploaders/]);
  t.match(await upload({ ...described, repository: "site/absent" }, zipped(index)), [404, /no repository/]);
  t.match(await upload({ ...described, commit: "main" }, zipped(index)), [400, /full id of the commit/]);
  t.match(await upload({ ...described, root: "../x" }, zipped(index)), [400, /root in the query/]);
  t.match(await upload(described), [400, /body is empty/]);
  t.match(await upload({ uploadId: "99", done: "true" }), [404, /no unfinished upload 99/]);
  const refused = async (query: Query, body: Uint8Array<ArrayBuffer>, why: RegExp): Promise<void> => {
    const [status, text] = await upload(query, body);
    t.same([status, why.test(text)], [400, true], text);
  };
  await refused(
    { ...described, commit: commit.replace(/^./, (digit) => (digit === "0" ? "1" : "0")) },
    zipped(index),
    /is not in site\/code: push it/,
  );
  await refused(described, new Uint8Array(index.subarray(0, 90)), /truncated: it ends after 90 bytes/);
  await refused(described, zipped(index).slice(0, 60), /not valid gzip/);
  await refused(described, new Uint8Array(Buffer.from('{"id":1,"type":"vertex"}')), /LSIF format/);
  await refused(described, zipped(encodeScipIndex(indexWords({ "a.ts": "a b" }))), /is a file of this commit.*"a.ts"/);
});

t.test("answers of an index", async (t) => {
  t.match(await upload({ ...described, indexerName: "test" }, zipped(index)), [202, /^\{"id":"\d+"\}$/]);
  t.equal(await define(1, 14), "PRECISE lib.ts?L1:17-1:21", "a code point before it has two UTF-16 units");
  t.equal(await define(1, 7), "PRECISE use.ts?L2:7-2:11");
  t.equal(await define(0, 15), "PRECISE lib.ts?L2:14-2:17");
  t.match(await define(2, 4), /^BY_NAME/, "it is defined in another package");
  t.match((await ask(definitionFields, 0, 9)).definitions, {
    name: "open",
    isUnique: true,
    nodes: [{ signature: "function open(name: string): Box", symbol: { kind: "FUNCTION" } }],
  });
  t.match(
    await ask("definitions(line: $l, character: $c) { nodes { documentation } }", 1, 14, { path: "pkg/door.ts" }),
    { definitions: { nodes: [{ documentation: "A door." }] } },
    "the comment of what the index says nothing about",
  );
  t.match(
    await ask(
      `definitions(line: $l, character: $c) { implementationCount nodes { documentation } }
      implementations(line: $l, character: $c) { name precision matchCount limitHit files { file { path } lines { line preview } } }`,
      0,
      15,
    ),
    {
      definitions: { implementationCount: 1, nodes: [{ documentation: "" }] },
      implementations: {
        name: "Box",
        precision: "PRECISE",
        matchCount: 1,
        limitHit: false,
        files: [{ file: { path: "pkg/lib.ts" }, lines: [{ line: 2, preview: lib.split("\n")[2] }] }],
      },
    },
  );
  t.match(await ask("implementations(line: $l, character: $c) { matchCount }", 0, 10), {
    implementations: { matchCount: 0 },
  });
  t.match(await ask("implementations(line: $l, character: $c) { matchCount }", 2, 0), { implementations: null });
  const hover =
    "hover(line: $l, character: $c) { precision markdown { text html } range { start { character } end { character } } }";
  t.same((await ask(hover, 0, 10))["hover"], {
    precision: "PRECISE",
    markdown: {
      text: "```typescript\nfunction open(name: string): Box\n```\n\n---\n\nOpens.",
      html: '<pre><code class="language-typescript">function open(name: string): Box\n</code></pre>\n<hr />\n<pre>Opens.</pre>\n',
    },
    range: { start: { character: 9 }, end: { character: 13 } },
  });
  t.match((await ask(hover, 1, 8))["hover"], {
    markdown: { text: "```typescript\nconst box: Box\n```\n\n---\n\nA *box*." },
  });
  const references =
    "references(line: $l, character: $c) { precision matchCount limitHit files { file { path } lines { line preview ranges { start end } } } }";
  t.same((await ask(references, 0, 16, { path: "pkg/lib.ts" }))["references"], {
    precision: "PRECISE",
    matchCount: 4,
    limitHit: false,
    files: [
      {
        file: { path: "pkg/lib.ts" },
        lines: [{ line: 0, preview: lib.split("\n")[0], ranges: [{ start: 16, end: 20 }] }],
      },
      {
        file: { path: "pkg/use.ts" },
        lines: [
          { line: 0, preview: use.split("\n")[0], ranges: [{ start: 9, end: 13 }] },
          {
            line: 1,
            preview: use.split("\n")[1],
            ranges: [
              { start: 13, end: 17 },
              { start: 25, end: 29 },
            ],
          },
        ],
      },
    ],
  });
  t.same((await ask(references, 0, 5, { path: "pkg/long.ts" }))["references"], {
    precision: "PRECISE",
    matchCount: 3,
    limitHit: false,
    files: [
      {
        file: { path: "pkg/long.ts" },
        lines: [
          {
            line: 0,
            preview: long.slice(0, 300),
            ranges: [
              { start: 4, end: 8 },
              { start: 11, end: 15 },
            ],
          },
        ],
      },
    ],
  });
  const lsif = `lsif { definitions(line: $l, character: $c) { nodes { url } } references(line: $l, character: $c, first: 9) { nodes { url } }
    implementations(line: $l, character: $c, first: 9) { nodes { url } } }`;
  t.match(await ask(lsif, 0, 15), {
    lsif: {
      definitions: { nodes: [{ url: /lib\.ts\?L2:14-2:17$/ }] },
      references: {
        nodes: [{ url: /use\.ts\?L1:16-1:19$/ }, { url: /lib\.ts\?L1:41-1:44$/ }, { url: /L2/ }, { url: /L3/ }],
      },
      implementations: { nodes: [{ url: /lib\.ts\?L3:14-3:19$/ }] },
    },
  });
});

t.test("answers for commits near it", async (t) => {
  source.commit({ branch: "main", files: { "pkg/lib.ts": `// a comment\n${lib}`, "pkg/other.ts": use } });
  const changed = use.replace("\n", "\n// in between\n").replace("let last", "let last = open");
  const later = source.commit({ branch: "main", files: { "pkg/use.ts": changed } });
  await site.daemon.sync("site/code");
  t.equal(await define(0, 10), "PRECISE lib.ts?L2:17-2:21", "the definition has moved");
  t.equal(await define(2, 14), "PRECISE lib.ts?L2:17-2:21", "so has the use");
  t.match(await define(3, 12), /^BY_NAME/, "this line is another one");
  t.match(await define(0, 10, { path: "pkg/other.ts" }), /^BY_NAME/, "this file was not indexed");
  t.equal(await define(1, 14, { rev: commit }), "PRECISE lib.ts?L1:17-1:21", "the commit itself");
  const gone = source.commit({ branch: "main", files: { "pkg/lib.ts": "export const nothing = 1\n" } });
  await site.daemon.sync("site/code");
  t.match(await define(0, 10), /^BY_NAME/, "what it led to is gone");
  t.notSame(gone, later);
});

t.test("an upload in parts", async (t) => {
  const whole = zipped(encodeScipIndex([...files, ...indexWords({ "extra.ts": "absent" })]));
  const [, begun] = await upload({ ...described, indexerName: "parts", multiPart: "true", numParts: "2" });
  const { id: uploadId } = JSON.parse(begun) as { id: string };
  const half = Math.floor(whole.length / 2);
  t.match(await upload({ uploadId, index: "1" }, whole.slice(half)), [202]);
  t.match(await upload({ uploadId, index: "2" }, whole.slice(half)), [400, /number from 0 to 1/]);
  t.match(await upload({ uploadId, done: "true" }), [400, /part 0 of 2/]);
  t.match(await upload({ uploadId, index: "0" }, whole.slice(0, half)), [202]);
  const ends = await Promise.all([1, 2].map(() => upload({ uploadId, done: "true" })));
  t.same(ends.map(([status]) => status).sort(), [202, 404], "it ends once");
  t.match(await upload({ uploadId, done: "true" }), [404]);
});

const listed = `query ($repo: ID!) { preciseIndexes(repo: $repo, first: 20) { totalCount
  nodes { id state failure inputCommit inputRoot inputIndexer indexerVersion documentCount leftOutDocumentCount } } }`;
interface Listed {
  readonly preciseIndexes: { readonly nodes: readonly { readonly id: string; readonly state: string }[] } | null;
}

t.test("the list, and what is deleted", async (t) => {
  const { repository } = await site.data<{ repository: { id: string } }>(
    "admin",
    '{ repository(name: "site/code") { id } }',
  );
  const list = () => site.data<Listed>("ann", listed, { repo: repository.id });
  const { preciseIndexes } = await list();
  const page = await fetch(`${site.daemon.url}/site/code/-/code-intelligence/uploads/x`);
  t.match(
    await page.text(),
    new RegExp(`^${commit.slice(0, 12)} COMPLETED parts pkg/\n`),
    "where src says that its state is",
  );
  const shown = '{ repository(name: "site/code") { preciseIndexes(first: 1, states: [ERRORED]) { nodes { state } } } }';
  t.same(await site.data("ann", shown), { repository: { preciseIndexes: { nodes: [{ state: "ERRORED" }] } } });
  const nodes = preciseIndexes?.nodes ?? [];
  t.match(nodes.slice(0, 2), [
    {
      state: "COMPLETED",
      inputCommit: commit,
      inputRoot: "pkg/",
      inputIndexer: "parts",
      documentCount: 4,
      leftOutDocumentCount: 1,
    },
    { state: "COMPLETED", inputIndexer: "test", indexerVersion: "1.0", documentCount: 4, leftOutDocumentCount: 0 },
  ]);
  t.match(nodes.slice(2), [
    { state: "ERRORED", failure: /"a.ts"/ },
    { failure: /LSIF/ },
    {},
    {},
    { failure: /push it/ },
  ]);
  const [first] = nodes;
  t.match(
    await site.data("ann", "query ($id: ID!) { node(id: $id) { ... on PreciseIndex { state } } }", { id: first?.id }),
    {
      node: { state: "COMPLETED" },
    },
  );
  const remove = "mutation ($id: ID!) { deletePreciseIndex(id: $id) { alwaysNil } }";
  const refused: Answer = await site.ask("ann", remove, { id: first?.id });
  t.match(refused.errors, [{ message: /site admin/ }]);
  for (const { id } of nodes) await site.data("admin", remove, { id });
  t.match(await list(), { preciseIndexes: { nodes: [] } });
  t.match(await define(1, 14, { rev: commit }), /^BY_NAME/);
  const events = site.audited.map(({ event, outcome }) => [event, outcome].join(" ").trim());
  t.ok(
    events.includes("index-uploaded") && events.includes("index-uploaded failed") && events.includes("index-deleted"),
  );
});
