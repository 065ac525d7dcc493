/** type:symbol finds exactly what ctags lists, filtered naively: name, kind, file, language, case and limits. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SseDecoder, type StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import { findCtags, symbolOptions, type CtagsProgram } from "../../src/indexer/symbols/ctags-program.js";
import { TrawlError } from "../../src/base/errors.js";
import { testDaemon, withSymbols, type DaemonProcess } from "../support/daemon.js";
import { isFull } from "../support/full-run.js";
import { ask } from "../support/graphql.js";
import { fixture } from "../support/git-mirror.js";
import { sharedDaemon } from "../support/shared-daemon.js";
import { until } from "../support/waiting.js";

const files: Readonly<Record<string, { readonly parser: string; readonly text: string }>> = {
  "src/list.c": {
    parser: "C",
    text: "struct list {\n\tint length;\n\tstruct list *next;\n};\n\nint list_length(struct list *list)\n{\n\treturn list->length;\n}\n#define LIST_MAX 10\nenum color { RED, GREEN };\n",
  },
  "src/list.py": {
    parser: "Python",
    text: "class List:\n    def length(self):\n        return 0\n    class Node:\n        next = None\n\ndef list_length(l):\n    pass\n# \u00e4 list_length is not a symbol here\n",
  },
  "web/app.ts": {
    parser: "TypeScript",
    text: "export interface Listing { length: number }\nexport function makeList(): Listing { return { length: 0 }; }\nconst LIST = 1;\n",
  },
  "copy/list.c": { parser: "C", text: "" },
  "notes.md": { parser: "", text: "# list_length\n" },
  "many.c": { parser: "C", text: Array.from({ length: 1300 }, (_, i) => `int many_${i};\n`).join("") },
};
const content = (path: string): string => files[path === "copy/list.c" ? "src/list.c" : path].text;

interface ListedSymbol {
  readonly path: string;
  readonly name: string;
  readonly line: number;
  readonly kind: string;
}

/** What ctags lists for the files, each under its own name. */
function listSymbols(folder: string, { parsers }: CtagsProgram): ListedSymbol[] {
  const options = symbolOptions(parsers).filter((option) => !option.startsWith("--map"));
  return Object.entries(files).flatMap(([path, { parser }]) => {
    if (parser === "") return [];
    const file = join(folder, path.replaceAll("/", "_"));
    writeFileSync(file, content(path));
    const args = [
      ...options,
      `--language-force=${parser}`,
      "--output-format=xref",
      "--_xformat=%n %K %N",
      "-o",
      "-",
      file,
    ];
    const lines = execFileSync("ctags", args, { stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim()
      .split("\n");
    return lines.map((line) => {
      const [, number, kind, name] = /^(\d+) (\S+) (.*)$/.exec(line) ?? [];
      return { path, name, kind, line: Number(number) };
    });
  });
}

interface SymbolMatch {
  readonly type: string;
  readonly path: string;
  readonly symbols: readonly {
    readonly name: string;
    readonly line: number;
    readonly kind: string;
    readonly url: string;
  }[];
}

const matchesIn = (events: readonly StreamEvent[]): SymbolMatch[] =>
  events.filter(({ name }) => name === "matches").flatMap(({ data }) => JSON.parse(data) as SymbolMatch[]);

const shown = (all: readonly { readonly path: string; readonly name: string; readonly line: number }[]): string[] =>
  all.map(({ path, name, line }) => `${path}:${line} ${name}`).sort();

/** Files with the name `expire`, in the order in which its results must come; other names surround it. */
const ranked: Readonly<Record<string, string>> = {
  "src/z/expire.c": "int expire(void)\n{\n\treturn 1;\n}\n",
  "src/b.c": "int expire;\n",
  "test/a.c": "int expire(void)\n{\n\treturn 2;\n}\n",
  "deps/a/expire.c": "int expire(void)\n{\n\treturn 3;\n}\n",
  "third_party/a.c": "int expire;\n",
  "src/a.c": "int expire_all(void)\n{\n\treturn 4;\n}\n",
  "vendor/a.c": "int expires(void)\n{\n\treturn 5;\n}\n",
  "src/c.c": "int do_expire(void)\n{\n\treturn 6;\n}\n",
  "a.c": "int unexpired(void)\n{\n\treturn 7;\n}\n",
};

/** More names than ranking looks at, of which the best are the last. */
const manyNames = [
  ...Array.from({ length: 1200 }, (_, i) => `int unwake_${i}(void) { return 0; }`),
  "int doWake(void) { return 0; }",
  "int rewake;",
  "int wake_level;",
  "int wake_up(void) { return 0; }",
  "int wake(void) { return 0; }",
  "int awake;",
  "",
].join("\n");

async function checkRanking(t: Test, daemon: DaemonProcess): Promise<void> {
  const source = fixture(t);
  const timers = { "timer/timer.c": "int timer;\n", "lib/timer.h": "int f(void);\n" };
  source.commit({ branch: "main", files: { ...ranked, ...timers } });
  await daemon.add("ranked", source.path);
  const many = fixture(t);
  many.commit({ branch: "main", files: { "many.c": manyNames } });
  await daemon.add("names", many.path);
  await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
  const found = async (q: string, parameters: Readonly<Record<string, string>> = {}): Promise<SymbolMatch[]> => {
    const search = new URLSearchParams({ q, v: "V3", t: "standard", display: "-1", ...parameters });
    const { text } = await daemon.get(`/.api/search/stream?${search}`);
    return matchesIn([...new SseDecoder().push(Buffer.from(text))]);
  };
  const pathsOf = async (q: string): Promise<string[]> => (await found(q)).map(({ path }) => path);
  const all = Object.keys(ranked);
  for (const query of ["expire", "/expire/", "EXPIRE", "expire count:9"])
    t.same(await pathsOf(`repo:ranked type:symbol ${query}`), all, query);
  t.same(await pathsOf("repo:ranked type:symbol expire count:2"), all.slice(0, 2), "the limit leaves the best");
  t.same(await pathsOf("repo:ranked type:symbol /^expire$/"), all.slice(0, 5));
  t.same(
    await pathsOf("repo:ranked type:symbol select:symbol.function expire"),
    all.filter((path) => !["src/b.c", "third_party/a.c"].includes(path)),
  );
  await t.test("where a limit cuts the symbols of a file, the best are left", async (t) => {
    const names = async (q: string, parameters: Readonly<Record<string, string>> = {}): Promise<string[]> =>
      (await found(`repo:names ${q}`, parameters)).flatMap(({ symbols }) => symbols.map(({ name }) => name));
    t.equal((await names("type:symbol wake")).length, 1206);
    t.same(await names("type:symbol wake count:1"), ["wake"]);
    t.same(await names("type:symbol /wake/ count:1"), ["wake"]);
    t.same(await names("type:symbol Wake case:yes count:1"), ["doWake"]);
    t.same(await names("type:symbol wake count:all", { display: "1" }), ["wake"], "what is shown");
    t.same(await names("type:symbol wake count:2"), ["wake_up", "wake"], "in the order of lines");
    const best = ["doWake", "wake_level", "wake_up", "wake"];
    t.same(await names("type:symbol wake count:4"), best);
    t.same(await names("type:symbol wake count:4", { resumable: "1" }), best);
    t.same(await names("type:symbol wake count:4", { duplicates: "1" }), best);
    t.same(await names("type:symbol wake count:5"), ["unwake_0", ...best], "of equal ones the first");
    const two = "(type:symbol wake count:2) or (type:symbol select:symbol.function unwake_0 count:9)";
    t.same(await names(two), ["unwake_0", "wake_up", "wake"], "each query with a limit of its own");
    t.same(await names("type:symbol count:4 file:many"), ["unwake_0", "unwake_1", "unwake_2", "unwake_3"]);
    const answer = await ask(
      daemon.url,
      `{ search(query: "repo:names type:symbol wake count:2", version: V3) { results { results {
          ... on FileMatch { symbols { name } } } } } }`,
    );
    t.match(answer, {
      data: { search: { results: { results: [{ symbols: [{ name: "wake_up" }, { name: "wake" }] }] } } },
    });
  });
  source.commit({ branch: "topic", files: { ...ranked, "src/z/new.c": "int expire(void)\n{\n\treturn 8;\n}\n" } });
  await daemon.sync("ranked");
  const atTopic = await pathsOf("repo:ranked@topic type:symbol expire");
  t.same(
    atTopic.filter((path) => path !== "src/z/new.c"),
    all,
    "and at a revision that is not indexed",
  );
  t.equal(atTopic.length, all.length + 1);
}

t.test("symbols are those of ctags, filtered naively", async (t) => {
  const program = await findCtags("ctags");
  if ("reason" in program) throw new TrawlError("bad-config", program.reason);
  const all = listSymbols(t.testdir({}), program);
  const source = fixture(t);
  source.commit({ branch: "main", files: Object.fromEntries(Object.keys(files).map((path) => [path, content(path)])) });
  const daemon = await testDaemon(t, withSymbols);
  await daemon.add("host/code", source.path);
  await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);

  const stream = async (q: string): Promise<readonly StreamEvent[]> => {
    const parameters = new URLSearchParams({ q, v: "V3", t: "standard", display: "-1" });
    const { text } = await daemon.get(`/.api/search/stream?${parameters}`);
    return [...new SseDecoder().push(Buffer.from(text))];
  };
  const search = async (query: string): Promise<SymbolMatch[]> => matchesIn(await stream(query));
  const find = async (query: string): Promise<string[]> => {
    const matches = await search(query);
    t.ok(
      matches.every(({ type }) => type === "symbol"),
      query,
    );
    return shown(matches.flatMap(({ path, symbols }) => symbols.map((symbol) => ({ path, ...symbol }))));
  };
  const expect = async (query: string, test: (symbol: ListedSymbol) => boolean): Promise<void> => {
    const expected = shown(all.filter(test));
    t.same(await find(query), expected, query);
    t.ok(expected.length > 0, query);
  };
  await expect("type:symbol list_length", ({ name }) => /list_length/i.test(name));
  await expect("type:symbol /^list$/", ({ name }) => /^list$/i.test(name));
  await expect("type:symbol /^list$/ case:yes", ({ name }) => /^list$/.test(name));
  await expect("type:symbol LIST case:yes", ({ name }) => name.includes("LIST"));
  await expect("type:symbol /l[ei]./", ({ name }) => /l[ei]./i.test(name));
  await expect("type:symbol /^[a-z]+\\s*$/ case:yes", ({ name }) => /^[a-z]+$/.test(name));
  await expect("type:symbol /(?s)^l.*h$/", ({ name }) => /^l.*h$/i.test(name));
  await expect("type:symbol length lang:python", ({ name, path }) => /length/i.test(name) && path.endsWith(".py"));
  await expect("type:symbol length file:^src/", ({ name, path }) => /length/i.test(name) && path.startsWith("src/"));
  await expect("type:symbol lang:typescript", ({ path }) => path.endsWith(".ts"));
  await expect("type:symbol", () => true);
  await expect("type:symbol many_1", ({ name }) => name.includes("many_1"));
  await expect("type:symbol red or makeList", ({ name }) => /red|makeList/i.test(name));
  await expect(
    "type:symbol select:symbol.function list",
    ({ name, kind }) => /list/i.test(name) && ["function", "macro"].includes(kind),
  );
  await expect("type:symbol select:symbol.enum-member", ({ kind }) => kind === "enumerator");
  await expect("type:symbol next AND color", ({ name, path }) => /next|color/i.test(name) && path.endsWith("list.c"));

  const [first] = await search("type:symbol /^makeList$/");
  t.match(first, {
    type: "symbol",
    path: "web/app.ts",
    repository: "host/code",
    language: "TypeScript",
    symbols: [
      {
        name: "makeList",
        containerName: "",
        kind: "FUNCTION",
        line: 2,
        url: "/host/code/-/blob/web/app.ts?L2:17-2:25",
      },
    ],
  });
  const [method] = await search("type:symbol /^length$/ file:py$");
  t.match(method.symbols, [{ containerName: "List", line: 2, kind: "FIELD" }]);

  const answer = await ask(
    daemon.url,
    `{ search(query: "type:symbol /^makeList$/", version: V3) { results { results { ... on FileMatch {
       file { path } symbols { name containerName kind language url location { resource { path } range { start { line character } end { character } } } } } } } } }`,
  );
  t.match(answer, {
    data: {
      search: {
        results: {
          results: [
            {
              file: { path: "web/app.ts" },
              symbols: [
                {
                  name: "makeList",
                  containerName: null,
                  kind: "FUNCTION",
                  language: "TypeScript",
                  url: "/host/code/-/blob/web/app.ts?L2:17-2:25",
                  location: {
                    resource: { path: "web/app.ts" },
                    range: { start: { line: 1, character: 16 }, end: { character: 24 } },
                  },
                },
              ],
            },
          ],
        },
      },
    },
  });

  const limited = await stream("type:symbol many_ count:1200");
  t.equal(matchesIn(limited).flatMap(({ symbols }) => symbols).length, 1200);
  const mixed = await stream("type:symbol type:file list_length lang:python");
  t.same(
    matchesIn(mixed).map(({ type }) => type),
    ["content", "symbol"],
  );
  t.same(
    (await search("type:symbol many_ select:file")).map(({ type, path }) => `${type} ${path}`),
    ["path many.c"],
  );
  t.same(await search("type:file select:symbol list"), []);

  const kindsIn = async (query: string): Promise<unknown> =>
    (await stream(query))
      .filter(({ name }) => name === "filters")
      .slice(-1)
      .flatMap(({ data }) => JSON.parse(data) as { kind: string; value: string; label: string; count: number }[])
      .filter(({ kind }) => kind === "symbol type")
      .map(({ value, label, count }) => `${value} ${label} ${count}`);
  t.same(await kindsIn("type:symbol file:^src/list.c$ count:all"), [
    "select:symbol.enum-member Enum-Member 2",
    "select:symbol.field Field 2",
    "select:symbol.function Function 2",
    "select:symbol.enum Enum 1",
    "select:symbol.struct Struct 1",
  ]);
  t.same(await kindsIn("type:symbol many_ count:1200"), ["select:symbol.variable Variable 1200"]);
  t.same(await kindsIn("type:file list"), []);
  t.same(await kindsIn("type:symbol select:symbol.enum color"), ["select:symbol.enum Enum 2"]);
  const refused = (await stream("type:symbol not list")).find(({ name }) => name === "alert");
  t.match(refused?.data, /Symbol search does not support negation/);
  await t.test("the first results are the best names", (t) => checkRanking(t, daemon));
  await t.test("type:path is suggested with the number of paths", async (t) => {
    const suggested = async (query: string): Promise<number | undefined> => {
      const sent = (await stream(query)).filter(({ name }) => name === "filters").at(-1);
      const filters = JSON.parse(sent?.data ?? "[]") as { value: string; count: number }[];
      return filters.find(({ value }) => value === "type:path")?.count;
    };
    const paths = (await search("repo:ranked timer type:path")).length;
    t.equal(paths, 2);
    t.equal(await suggested("repo:ranked timer"), paths, "not of the three places in them");
    t.equal(await suggested("repo:ranked timer -file:zzz"), paths);
    // The paths in which `file:` has a match are not those in which the pattern has one.
    for (const query of ["return file:src", "int timer patterntype:keyword", "type:symbol expire file:src"])
      t.equal(await suggested(`repo:ranked ${query}`), undefined, query);
    t.equal(await suggested("repo:ranked type:path file:timer"), 2);
  });
});

t.test("symbols that are not known are reported as missing", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { "a.c": "int first;\n" } });
  // In `make test` no daemon extracts symbols unless it is asked to.
  const daemon = await sharedDaemon(t, {}, isFull ? ["--set", "index.symbols=false"] : []);
  await daemon.add("code", source.path);
  const answer = await daemon.search("type:symbol first");
  t.same(answer.skipped, ["document-skipped"]);
  t.equal(answer.progress?.skipped[0].title, "symbols missing");
});
