/** Symbols and languages of revisions that are not indexed are those that an indexed branch with the same files has. */
import { execFileSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import { testDaemon, withSymbols, type DaemonProcess } from "../support/daemon.js";
import { fixture } from "../support/git-mirror.js";
import { isFull } from "../support/full-run.js";
import { ask } from "../support/graphql.js";
import { sharedDaemon } from "../support/shared-daemon.js";
import { until } from "../support/waiting.js";

const symbolsOnly = [...withSymbols, "--set", "index.historyBytes=0"];

interface SymbolMatch {
  readonly path: string;
  readonly symbols?: readonly { readonly name: string; readonly line: number; readonly kind: string; url: string }[];
}

/** The symbols that a search finds, sorted, without the revision in their URLs; and why some are missing. */
async function find(daemon: DaemonProcess, q: string): Promise<{ found: string[]; skipped: string[] }> {
  const parameters = new URLSearchParams({ q, v: "V3", t: "standard", display: "-1" });
  const { text } = await daemon.get(`/.api/search/stream?${parameters}`);
  const events = [...new SseDecoder().push(Buffer.from(text))];
  const data = (name: string): unknown[] => events.filter((e) => e.name === name).map((e) => JSON.parse(e.data));
  const matches = (data("matches") as SymbolMatch[][]).flat();
  const last = (data("progress") as { skipped: { title: string; message: string }[] }[]).at(-1);
  return {
    found: matches
      .flatMap(({ path, symbols = [] }) =>
        symbols.map(
          (s) => `${path} ${s.name} ${s.kind} ${s.line} ${s.url.replace(/^\/(?:code|indexed)(?:@[^/]*)?/, "")}`,
        ),
      )
      .sort(),
    skipped: last?.skipped.map(({ title, message }) => `${title}: ${message}`) ?? [],
  };
}

const bodies = Object.fromEntries(
  Array.from({ length: 50 }, (_, i) => [
    [
      `src/file${i}.c`,
      `#define LIMIT_${i} ${i}\nstruct s${i} { int member_${i}; };\nint function_${i}(void)\n{\n\treturn ${i};\n}\n`,
    ],
    [`web/page${i}.py`, `class Page${i}:\n    def show_${i}(self):\n        pass\n`],
  ]).flat(),
);

const queries = (revision: string): string[] => [
  `type:symbol repo:code@${revision}`,
  `type:symbol repo:code@${revision} _7`,
  `type:symbol repo:code@${revision} /^show_1?5$/ lang:python`,
  `type:symbol repo:code@${revision} select:symbol.class page file:web`,
  `type:symbol repo:code@${revision} common`,
  `type:symbol type:file repo:code@${revision} function_42`,
];

t.test("the same answers as on an indexed branch", async (t) => {
  const source = fixture(t);
  const before = { "common.c": "int common(void);\nint common_one;\n", "old.c": "int only_old;\n" };
  source.commit({ branch: "main", files: before });
  const daemon = await sharedDaemon(t, {}, withSymbols);
  await daemon.add("code", source.path);
  await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
  source.commit({ branch: "topic", files: { ...before, ...bodies } });
  source.commit({ branch: "later", files: { ...before, ...bodies, "src/file7.c": "int replaced;\n" } });
  source.commit({ branch: "other", files: { ...before, "elsewhere.c": "int elsewhere;\n" } });
  await daemon.sync("code");
  // A shard of texts, whose symbols nobody needs: it has no file of the other commits.
  t.same((await daemon.search("repo:code@other elsewhere type:file")).found.length, 1);
  const first = await Promise.all(queries("topic").map((query) => find(daemon, query)));
  const again = await Promise.all(queries("topic").map((query) => find(daemon, query)));
  t.same(again, first, "nothing depends on what is cached");
  t.ok(first.every(({ found }) => found.length > 0));
  t.same(
    first.flatMap(({ skipped }) => skipped),
    [],
  );
  const later = await find(daemon, "type:symbol repo:code@later");
  t.ok(later.found.some((symbol) => symbol.includes(" replaced ")));
  t.notOk(later.found.some((symbol) => symbol.includes(" function_7 ")));
  const both = await find(daemon, "type:symbol repo:code@later:topic /^function_[78]$/");
  t.same(
    both.found.map((symbol) => symbol.split(" ")[1]),
    ["function_7", "function_8", "function_8"],
  );

  await daemon.add("indexed", source.path, ["topic"]);
  await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
  const queriesOfIndexed = queries("topic").map((query) => query.replace("repo:code", "repo:indexed"));
  const expected = await Promise.all(queriesOfIndexed.map((query) => find(daemon, query)));
  t.same(first, expected);
  await t.test("lang: finds what its suggestion counts, wherever files are listed", (t) => checkLanguages(t, daemon));
});

/** Files with a line that has "needle", by language: their paths alone would say something else, or nothing. */
const filesOfLanguages: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Python: { "bin/tool": "#!/usr/bin/env -S python3 -u\nprint('needle')\n", "a.py": "needle = 1\n" },
  Perl: { "bin/convert": "#!/usr/bin/perl\nprint 'needle';\n", "t/a.t": "use strict;\nmy $x = 'needle';\n" },
  Ruby: { rake: "# -*- ruby -*-\nputs 'needle'\n" },
  C: { "old.h": "/* needle */\nint f(void);\n" },
  "C++": { "new.h": "/* needle */\nnamespace a {\nclass B;\n}\n" },
  "Objective-C": { "View.m": "#import <Foundation/Foundation.h>\n@implementation View // needle\n@end\n" },
  MATLAB: { "solve.m": "% needle\nfunction y = solve(x)\ny = x;\n" },
};
const languagesOfTopic = { Shell: { configure: "#! /bin/bash -e\necho needle\n" } };

async function checkLanguages(t: Test, daemon: DaemonProcess): Promise<void> {
  const source = fixture(t);
  const inMain = Object.assign({}, ...Object.values(filesOfLanguages)) as Record<string, string>;
  source.commit({ branch: "main", files: { ...inMain, "bin/tool": "needle\n", note: "needle\n" } });
  source.commit({ branch: "main", files: { "bin/tool": inMain["bin/tool"] } });
  await daemon.add("mixed", source.path);
  source.commit({ branch: "topic", files: { ...inMain, ...languagesOfTopic.Shell, note: "needle\n" } });
  await daemon.sync("mixed");
  const filesOf = async (query: string): Promise<string[]> => {
    const { found } = await daemon.search(query);
    return found.map((place) => place.split(":")[1]).sort();
  };
  const revisions: readonly (readonly [revision: string, files: typeof filesOfLanguages])[] = [
    ["main", filesOfLanguages],
    ["topic", { ...filesOfLanguages, ...languagesOfTopic }],
  ];
  for (const [revision, expected] of revisions) {
    const query = `repo:mixed@${revision} needle`;
    const sent = (await daemon.stream(query)).filter(({ name }) => name === "filters").at(-1);
    const languages = (JSON.parse(sent?.data ?? "[]") as readonly Suggestion[]).filter(({ kind }) => kind === "lang");
    t.same(languages.map(({ label }) => label).sort(), Object.keys(expected).sort(), revision);
    for (const { label, value, count } of languages) {
      const found = await filesOf(`${query} ${value}`);
      t.same(found, Object.keys(expected[label]).sort(), `${value} at ${revision}`);
      t.equal(found.length, count, `${value} at ${revision} is counted`);
      t.notOk(
        (await filesOf(`${query} -${value}`)).some((path) => found.includes(path)),
        `-${value} at ${revision}`,
      );
    }
    const rest = languages.map(({ value }) => `-${value}`).join(" ");
    t.same(await filesOf(`${query} ${rest}`), ["note"], `the rest at ${revision}`);
    const answer = await ask(
      daemon.url,
      'query ($rev: String!) { repository(name: "mixed") { commit(rev: $rev) { languageStatistics { name } } } }',
      { rev: revision },
    );
    t.same(statisticsIn(answer), Object.keys(expected).sort(), `statistics of ${revision}`);
  }
  await until("the history is indexed", async () =>
    (await daemon.list()).every(({ historyIndex }) => historyIndex?.isUpToDate === true),
  );
  for (const index of ["", "index:no "])
    for (const [at, [condition, commits]] of (
      [
        ["lang:python", 2],
        ["lang:python file:bin/tool", 1],
        ["-lang:python file:bin/tool", 1],
        ["lang:shell", 0],
        ["lang:perl", 1],
        ["lang:c", 1],
        ["lang:c++ file:new.h", 1],
        ["lang:c file:new.h", 0],
        ["lang:matlab", 1],
      ] as const
    ).entries())
      for (const type of ["diff", "commit"].filter((_, i) => isFull || i === at % 2)) {
        const query = `${index}repo:mixed type:${type} ${condition}`;
        const events = await daemon.stream(query);
        const matches = events.flatMap(({ name, data }) =>
          name === "matches" ? (JSON.parse(data) as readonly unknown[]) : [],
        );
        t.equal(matches.length, commits, query);
      }
}

interface Suggestion {
  readonly kind: string;
  readonly label: string;
  readonly value: string;
  readonly count: number;
}

/** Names of the languages in an answer of GraphQL, sorted. */
function statisticsIn(answer: unknown): string[] {
  const { data } = answer as {
    data: { repository: { commit: { languageStatistics: readonly { readonly name: string }[] } } };
  };
  return data.repository.commit.languageStatistics.map(({ name }) => name).sort();
}

t.test("what is missing is said", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { "a.c": "int first;\n" } });
  source.commit({ branch: "topic", files: { "a.c": "int first;\n", "b.c": "int second;\n" } });
  const without = await testDaemon(t, [...symbolsOnly, "--set", "index.ctagsCommand=/nonexistent/ctags"]);
  await without.add("code", source.path);
  const none = await find(without, "type:symbol repo:code@topic");
  t.same(none.found, []);
  t.match(none.skipped, [/^symbols missing: .*\/nonexistent\/ctags is not installed/s]);
});

t.test("a search ends in time when ctags hangs", async (t) => {
  const real = execFileSync("sh", ["-c", "command -v ctags"]).toString().trim();
  const command = join(t.testdir({}), "ctags");
  writeFileSync(command, `#!/bin/sh\ncase "$*" in *--_interactive*) exec sleep 600;; *) exec ${real} "$@";; esac\n`);
  chmodSync(command, 0o755);
  const source = fixture(t);
  source.commit({ branch: "main", files: { "a.md": "# text\n" } });
  source.commit({ branch: "topic", files: { "a.md": "# text\n", "b.c": "int second;\n" } });
  const daemon = await testDaemon(t, [...symbolsOnly, "--set", `index.ctagsCommand=${command}`]);
  await daemon.add("code", source.path);
  const { found } = await find(daemon, "type:symbol repo:code@topic timeout:1s");
  t.same(found, []);
  t.same((await find(daemon, "type:file repo:code@topic second")).skipped, [], "text is searched as before");
});
