/** Symbols in GraphQL: lists with pages and filters, and navigation by names within a file, a repository and beyond. */
import t from "tap";
import { fixture } from "../../support/git-mirror.js";
import { ask } from "../../support/graphql.js";
import { withSymbols } from "../../support/daemon.js";
import { sharedDaemon } from "../../support/shared-daemon.js";
import { until } from "../../support/waiting.js";

interface Answer {
  readonly data?: { readonly repository: { readonly commit: Readonly<Record<string, unknown>> } };
  readonly errors?: readonly { readonly message: string }[];
}

t.test("symbols and navigation", async (t) => {
  const near = fixture(t);
  near.commit({
    branch: "main",
    files: {
      "lib/use.c": "int start(void)\n{\n\treturn helper(1) + far_away() + \u00e4lter;\n}\n",
      "lib/help.c": "int helper(int n)\n{\n\treturn n;\n}\n",
      "lib/help.py": "helper = 1\n",
      "many.c": Array.from({ length: 1500 }, (_, i) => `int many_${i};\n`).join(""),
      "line.c": `${"x".repeat(899_990)} int last_one;`,
      "bin.c": "int \0 hidden;\n",
    },
  });
  const far = fixture(t);
  far.commit({ branch: "main", files: { "away.h": "/* So far. */\n#define far_away() 3\n" } });
  const daemon = await sharedDaemon(t, {}, withSymbols);
  await daemon.add("near", near.path);
  await daemon.add("far", far.path);
  await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
  const query = async (fields: string): Promise<Answer> =>
    (await ask(daemon.url, `{ repository(name: "near") { commit(rev: "") { ${fields} } } }`)) as Answer;
  const commit = async (fields: string) => (await query(fields)).data?.repository.commit;

  const page = async (after: string) => {
    const found = await commit(
      `symbols(first: 900, after: "${after}", query: "many_") { nodes { name } pageInfo { endCursor hasNextPage } }`,
    );
    return found?.["symbols"] as { nodes: { name: string }[]; pageInfo: { endCursor: string; hasNextPage: boolean } };
  };
  const first = await page("");
  const second = await page(first.pageInfo.endCursor);
  t.same(
    [...first.nodes, ...second.nodes].map(({ name }) => name),
    Array.from({ length: 1500 }, (_, i) => `many_${i}`),
    "in the order of the file",
  );
  t.equal(second.pageInfo.hasNextPage, false);
  t.match(await commit(`blob(path: "many.c") { symbols(first: 2, after: "1400") { nodes { name } } }`), {
    blob: { symbols: { nodes: [{ name: "many_1400" }, { name: "many_1401" }] } },
  });
  t.same(await commit(`blob(path: "bin.c") { symbols { nodes { name } } outline { depth } }`), {
    blob: { symbols: { nodes: [] }, outline: [] },
  });
  t.match((await query(`symbols(query: "[a") { nodes { name } }`)).errors, [{ message: /missing closing/ }]);
  t.match((await query(`blob(path: "many.c") { symbols(query: "(") { nodes { name } } }`)).errors, [{}]);
  t.match((await query(`blob(path: "many.c") { symbolInfo(line: -1, character: 0) { hover } }`)).errors, [
    { message: /counted from 0/ },
  ]);

  const use = (fields: string) => commit(`blob(path: "lib/use.c") { ${fields} }`);
  t.match(
    await use("symbolInfo(line: 2, character: 9) { definition { repo path range { line character length } } hover }"),
    {
      blob: {
        symbolInfo: {
          definition: { repo: "near", path: "lib/help.c", range: { line: 0, character: 4, length: 6 } },
          hover: "int helper(int n)",
        },
      },
    },
  );
  t.match(await use("symbolInfo(line: 2, character: 22) { definition { repo path } }"), {
    blob: { symbolInfo: { definition: { repo: "far", path: "away.h" } } },
  });
  t.match(
    await use(
      "definitions(line: 2, character: 22) { nodes { documentation } } hover(line: 2, character: 22) { markdown { text } }",
    ),
    {
      blob: {
        definitions: { nodes: [{ documentation: "So far." }] },
        hover: { markdown: { text: "```c\n#define far_away() 3\n```\n\n---\n\nSo far." } },
      },
    },
    "the comment above it",
  );
  t.same(await use("symbolInfo(line: 2, character: 36) { hover }"), { blob: { symbolInfo: null } }, "no such symbol");
  t.same(await use("symbolInfo(line: 900, character: 0) { hover }"), { blob: { symbolInfo: null } });
  const answer = await use(
    `definitions(line: 2, character: 9) { name precision isUnique range { start { character } }
      nodes { nearness signature symbol { name kind location { resource { path } } } } }
    hover(line: 2, character: 9) { markdown { text } }
    references(line: 2, character: 9) { name matchCount limitHit
      files { file { path } lines { line preview url ranges { start end } } } }
    none: definitions(line: 2, character: 36) { isUnique nodes { signature } }
    nowhere: references(line: 1, character: 0) { name }`,
  );
  const found = { line: 0, preview: "int helper(int n)", ranges: [{ start: 4, end: 10 }] };
  t.match(answer, {
    blob: {
      definitions: {
        name: "helper",
        precision: "BY_NAME",
        isUnique: true,
        range: { start: { character: 8 } },
        nodes: [{ nearness: "SAME_REPOSITORY", signature: "int helper(int n)", symbol: { kind: "FUNCTION" } }],
      },
      hover: { markdown: { text: "```c\nint helper(int n)\n```" } },
      references: {
        name: "helper",
        matchCount: 3,
        limitHit: false,
        files: [
          { file: { path: "lib/use.c" }, lines: [{ line: 2, ranges: [{ start: 8, end: 14 }] }] },
          { file: { path: "lib/help.c" }, lines: [{ ...found, url: "/near/-/blob/lib/help.c?L1:5-1:11" }] },
          { file: { path: "lib/help.py" } },
        ],
      },
      none: { isUnique: false, nodes: [] },
      nowhere: null,
    },
  });
  t.match(
    await commit(`blob(path: "line.c") { definitions(line: 0, character: 900000) { name nodes { signature } }
      references(line: 0, character: 900000) { files { lines { preview } } }
      long: definitions(line: 0, character: 10) { name } }`),
    { blob: { definitions: { name: "last_one", nodes: [{ signature: /^.{1,301}$/ }] }, long: null } },
    "a long line, and a word that no symbol can be",
  );
  t.match(
    await use(
      "lsif { references(line: 2, character: 9) { nodes { resource { path } range { start { line character } } } } }",
    ),
    {
      blob: {
        lsif: {
          references: {
            nodes: [
              { resource: { path: "lib/use.c" }, range: { start: { line: 2, character: 8 } } },
              { resource: { path: "lib/help.c" }, range: { start: { line: 0, character: 4 } } },
              { resource: { path: "lib/help.py" } },
            ],
          },
        },
      },
    },
  );
});
