/** Flags of `trawl search` that are ripgrep's: which query they make, and that it finds the lines that ripgrep finds. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { run } from "../../../src/cli/main.js";
import { applyRipgrepFlags, type RipgrepFlags } from "../../../src/cli/search/ripgrep-flags.js";
import { fixture } from "../../support/git-mirror.js";
import { sharedDaemon } from "../../support/shared-daemon.js";

const none: RipgrepFlags = {
  regexp: [],
  glob: [],
  fixedStrings: false,
  wordRegexp: false,
  smartCase: false,
  patternType: undefined,
  query: "",
  patterns: undefined,
};

t.test("the query of flags", async (t) => {
  const rows: readonly (readonly [flags: Partial<RipgrepFlags>, query: string, type: string | undefined])[] = [
    [{ wordRegexp: true, query: "foo" }, "\\b(?:foo)\\b", "regexp"],
    [{ wordRegexp: true, query: "foo( repo:x" }, "repo:x \\b(?:foo\\()\\B", "regexp"],
    [{ wordRegexp: true, query: "foo bar" }, "\\b(?:foo\\x{20}bar)\\b", "regexp"],
    [{ wordRegexp: true, query: "foo  lang:c bar" }, "lang:c \\b(?:foo\\x{20}\\x{20}bar)\\b", "regexp"],
    [{ wordRegexp: true, query: "foo bar", patternType: "keyword" }, "\\b(?:foo)\\b and \\b(?:bar)\\b", "regexp"],
    [
      { wordRegexp: true, query: "repo:x (foo or /b+/) -file:y and not z" },
      "repo:x -file:y (\\b(?:foo)\\b or \\b(?:b+)\\b) and not \\b(?:z)\\b",
      "regexp",
    ],
    [{ wordRegexp: true, query: "foo|\\(b", patternType: "regexp" }, "(?:\\b(?:foo)\\b|\\B(?:\\(b)\\b)", "regexp"],
    [{ wordRegexp: true, query: "repo:x" }, "repo:x", "regexp"],
    [{ wordRegexp: true, query: 'content:"a b"' }, 'content:"\\\\b(?:a b)\\\\b"', "regexp"],
    [{ fixedStrings: true, query: "f(x" }, "f(x", "literal"],
    [{ fixedStrings: true, wordRegexp: true, query: "/f/" }, "\\B(?:/f/)\\B", "regexp"],
    [{ regexp: ["a+"] }, "content:a+", "regexp"],
    [{ regexp: ["a", "b"], query: "repo:x or repo:y" }, '(repo:x or repo:y) content:"(?:a)|(?:b)"', "regexp"],
    [{ regexp: ["a.b"], fixedStrings: true }, "content:a\\.b", "regexp"],
    [{ glob: ["*.ts"], query: "a or b" }, '(a or b) file:"^(?-i:(?:.*/)?[^/]*\\\\.ts)$"', undefined],
    [{ glob: ["!a/", "!/b?"], query: "x" }, 'x -file:"^(?-i:(?:.*/)?a)/" -file:"^(?-i:b[^/])(?:/|$)"', undefined],
  ];
  for (const [flags, query, type] of rows) {
    const found = applyRipgrepFlags({ ...none, ...flags });
    t.same([found.query, found.patternType], [query, type], JSON.stringify(flags));
  }
  const smart: readonly (readonly [flags: Partial<RipgrepFlags>, isSensitive: boolean])[] = [
    [{ query: "foo" }, false],
    [{ query: "fOo" }, true],
    [{ query: "foo repo:X lang:Go" }, false],
    [{ query: "foo\\W\\pL(?P<X>a)(?U)\\p{Greek}", patternType: "regexp" }, false],
    [{ query: "foo\\W" }, true],
    [{ regexp: ["a", "[A-C]"] }, true],
    [{ regexp: ["\\S"], fixedStrings: true }, true],
    [{ patterns: ["é", "É"] }, true],
  ];
  for (const [flags, isSensitive] of smart)
    t.equal(
      applyRipgrepFlags({ ...none, smartCase: true, ...flags }).caseSensitive,
      isSensitive,
      JSON.stringify(flags),
    );
});

t.test("flags that contradict each other or the query", async (t) => {
  const rows: readonly (readonly [flags: Partial<RipgrepFlags>, told: RegExp])[] = [
    [{ fixedStrings: true, patternType: "regexp" }, /-F is -t literal, .* leave out one/],
    [{ fixedStrings: true, query: "a patternType:keyword" }, /patternType: already: leave it out/],
    [{ regexp: ["a"], patternType: "keyword" }, /leave out -t keyword/],
    [{ regexp: ["a"], patterns: ["b"] }, /write the patterns of -e into the file/],
    [{ regexp: [""] }, /empty and would match everywhere/],
    [{ regexp: ["a"], query: "repo:x b" }, /"b" is none: write it after an -e/],
    [{ wordRegexp: true, patterns: ["b"] }, /-w does not apply to -f: write \\b/],
    [{ wordRegexp: true, regexp: [".a"] }, /begins with a letter.*\/\.a\/.*leave out -w, and write/],
    [{ wordRegexp: true, regexp: ["a[^b]"] }, /ends with a letter/],
    [{ smartCase: true, query: "a case:yes" }, /case: already: leave out it or -S/],
    [{ glob: ["src/"] }, /matches only folders.*write -g 'src\/\*\*'/],
    [{ glob: ["{a"] }, /is not a glob: a { is not closed: write \\{/],
    [{ glob: ["a}"] }, /} closes nothing/],
    [{ glob: ["[a"] }, /a \[ is not closed/],
    [{ glob: ["a\\"] }, /nothing follows/],
  ];
  for (const [flags, told] of rows)
    t.throws(() => applyRipgrepFlags({ ...none, query: "x", ...(flags.regexp && { query: "" }), ...flags }), {
      code: "bad-request",
      message: told,
    });
});

const files: Readonly<Record<string, string>> = {
  "top.ts": "foo bar\nfoobar foo\n",
  "src/a.ts": "Foo(x)\n(foo) $x = foo_bar\na.b axb FOO\n",
  "src/a.test.ts": "foo\nxfoo foox\n",
  "src/deep/b.js": "foo.bar() -foo-\nf(x) f(x)y\n",
  "src/deep/b.min.js": "foo\n",
  "src/vendor/c.ts": "foo\nb+c\n",
  "vendor/x/c.ts": "foo\n",
  "vendor/x/.hidden": "foo\n",
  "doc/read me.md": "foo\n",
  "doc/[x].md": "foo\n",
  "Upper/A.TS": "foo\n",
};

/** Runs `trawl` with these words in this process; what it writes to standard output and standard error. */
async function trawl(t: Test, words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const texts = { out: "", err: "" };
  const keep = (name: "out" | "err") => (text: string, done?: () => void) => {
    texts[name] += text;
    done?.();
    return true;
  };
  const captured = [t.capture(process.stdout, "write", keep("out")), t.capture(process.stderr, "write", keep("err"))];
  try {
    return { code: await run(["node", "trawl", ...words]), ...texts };
  } finally {
    for (const one of captured) one.restore();
  }
}

t.test("the lines are those of ripgrep", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files });
  const daemon = await sharedDaemon(t);
  await daemon.add("flags", source.path);
  const folder = t.testdir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const complete = ["complete", "--endpoint", daemon.url];
  let completed = "";
  // On a busy machine the daemon may not answer in time.
  for (let i = 0; i < 20 && completed === ""; i++) completed = (await trawl(t, [...complete, "fla"])).out;
  t.equal(completed, "flags\n");
  t.same(await trawl(t, [...complete, "lags"]), { code: 0, out: "", err: "" });
  t.same(await trawl(t, ["complete", "--endpoint", "http://127.0.0.1:1"]), { code: 0, out: "", err: "" });
  const rows: readonly (readonly [lineCount: number, ...words: string[]])[] = [
    [14, "-we", "foo"],
    [12, "-wse", "foo"],
    [12, "-nwS", "-e", "foo", "-g", "!top.ts"],
    [1, "-S", "-e", "Foo"],
    [15, "-S", "-e", "foo"],
    [3, "-wFe", "f(x)", "-e", "b+c", "-e", "(foo)"],
    [2, "-F", "-e", "a.b", "-e", "f("],
    [2, "-e", "a.b", "-e", "foo\\.", "-s"],
    [5, "-woe", "foo|foo_bar", "-g", "src/*"],
    [5, "-w", "-e", "\\(foo\\)|x", "-e", "bar"],
    [9, "-e", "foo", "-g", "*.ts"],
    [7, "-e", "foo", "-g", "*.ts", "-g", "!*.test.ts"],
    [9, "-e", "foo", "-g", "!*.test.ts", "-g", "*.ts"],
    [7, "-e", "foo", "-g", "*.ts", "-g", "!vendor"],
    [5, "-e", "foo", "-g", "*.ts", "-g", "!vendor/", "-g", "!/top.ts"],
    [8, "-e", "foo", "-g", "/src/**/*.{ts,js}"],
    [6, "-e", "foo", "-g", "src/**", "-g", "!**/deep/**"],
    [2, "-e", "foo", "-g", "*.js", "-g", "!*.min.js", "-g", "b.min.js"],
    [2, "-e", "foo", "-g", "doc/*"],
    [1, "-e", "foo", "-g", "\\[x].md"],
    [1, "-e", "foo", "-g", "read?me.[!a-l]d"],
    [1, "-e", "foo", "-g", "*.TS"],
    [2, "-e", "foo", "-g", "**/x/**"],
    [15, "-e", "foo", "-g", "!vendor", "-g", "*"],
  ];
  // Each search listens.
  const { stdout } = process;
  const listenersMax = stdout.getMaxListeners();
  stdout.setMaxListeners(0);
  t.teardown(() => stdout.setMaxListeners(listenersMax));
  const hasRipgrep = spawnSync("rg", ["--version"]).error === undefined;
  for (const [lineCount, ...words] of rows) {
    const told = words.join(" ");
    const limit = ["--endpoint", daemon.url, "--count", "all", "repo:^flags$"];
    const { out, err, code } = await trawl(t, ["search", ...words, ...limit]);
    t.same([code, err], [0, ""], told);
    const lines = out.trimEnd().split("\n");
    t.equal(lines.length, lineCount, told);
    if (!hasRipgrep) continue;
    // Case counts in ripgrep unless it does not.
    const asIn = /(^| )-\w*[sS]/.test(told) ? [] : ["-i"];
    const ripgrep = spawnSync("rg", [...asIn, ...words, "-n", "-.", "--no-heading"], {
      cwd: folder,
      encoding: "utf8",
      // Otherwise it searches standard input.
      stdio: ["ignore", "pipe", "pipe"],
    });
    const expected = ripgrep.stdout.trimEnd().split("\n");
    t.same(lines.map((line) => line.replace(/^flags:/, "")).sort(), expected.sort(), told);
  }
});
