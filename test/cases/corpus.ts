/*
 * Eight small repositories that every row of the tables beside this file is asked about. Line numbers in the rows count
 * from 1 here, so a change of a file's lines has to be followed there.
 */

export interface CaseFile {
  /** Bytes where the name is not UTF-8. */
  readonly path: string | Buffer;
  readonly content: string | Buffer | { readonly symlink: string };
  readonly branches: readonly string[];
  /** Why only its name is searched; undefined for a file whose content is. */
  readonly skipped?: "binary" | "not-regular";
  /** Who commits it, after all files without an author. */
  readonly author?: string;
}

export interface CaseRepository {
  readonly name: string;
  readonly fork: boolean;
  readonly archived: boolean;
  readonly private: boolean;
  readonly stars: number;
  readonly description?: string;
  readonly topics?: readonly string[];
  readonly metadata?: Readonly<Record<string, string | null>>;
  /** Indexed branches, the default branch first; none in a repository without commits. */
  readonly branches: readonly string[];
  /** Tags, and the branch whose last commit each of them names. */
  readonly tags?: Readonly<Record<string, string>>;
  readonly files: readonly CaseFile[];
}

const both = ["main", "dev"];
const main = ["main"];

const parserSource = lines(
  "package parser",
  "",
  "// Parse reads tokens.",
  "func Parse(input string) error {",
  "\treturn parseAll(input, false)",
  "}",
  "",
  "func parseAll(input string, strict bool) error {",
  "\t// copy_to_user or copy_from_user",
  "\treturn nil",
  "}",
);

const parser: CaseRepository = {
  name: "parser",
  fork: false,
  archived: false,
  private: false,
  stars: 50,
  branches: both,
  description: "A Parser of tokens",
  topics: ["build", "go"],
  metadata: { team: "languages", "cost center": "r&d: 7", "1st": "" },
  files: [
    { path: "README.md", branches: main, content: lines("# Parser", "", "A small parser.", "See docs/usage.md.") },
    { path: "README.md", branches: ["dev"], content: lines("# Parser", "", "In development.") },
    {
      path: "docs/usage.md",
      branches: both,
      content: lines("Use it: parse foo bar.", "foo", "bar", "foo   bar", "bar foo", "C:\\temp and http://x.y"),
    },
    {
      path: "src/lexer.c",
      branches: both,
      content: lines(
        '#include "lexer.h"',
        "int lex(char *s) { return copy_from_user(s); }",
        "/* open ( */",
        "int main() { return lex(0); }",
      ),
    },
    { path: "src/lexer.h", branches: both, content: lines("int lex(char *s);") },
    { path: "src/parser.go", branches: both, content: parserSource },
    {
      path: "src/parser_test.go",
      branches: both,
      content: lines(
        "package parser",
        "",
        "func TestParse(t *testing.T) {",
        '\tParse("a b")',
        '\tParse("foo(a, b)")',
        "}",
      ),
    },
    { path: "src/dev_only.go", branches: ["dev"], content: lines("package parser", "", "var onlyOnDev = 1") },
  ],
};

const odd: CaseRepository = {
  name: "odd",
  fork: false,
  archived: false,
  private: false,
  stars: 5,
  branches: main,
  files: [
    { path: "crlf.txt", branches: main, content: "alpha one\r\nbeta two\r\nalpha three\r\n" },
    { path: "no-newline.txt", branches: main, content: "alpha end" },
    { path: "empty.txt", branches: main, content: "" },
    { path: "nul.bin", branches: main, content: "alpha\0beta\n", skipped: "binary" },
    // git, too, looks for NUL in the first 8,000 bytes.
    { path: "nul-8000.bin", branches: main, content: `${"-\n".repeat(3999)}-\0early gem\n`, skipped: "binary" },
    { path: "nul-8001.dat", branches: main, content: `${"-\n".repeat(4000)}late\0gem\n` },
    { path: "latin1.txt", branches: main, content: Buffer.from("caf\x81 alpha\nna\x81ve\n", "latin1") },
    { path: "link", branches: main, content: { symlink: "crlf.txt" }, skipped: "not-regular" },
    { path: Buffer.from("b\xffd.txt", "latin1"), branches: main, content: "odd name\n" },
    // The first two letters of the last line fold to k and s from outside ASCII.
    { path: "ü dir/grüße.txt", branches: main, content: lines("GRÜSSE", "grüße", "\u212aelvin \u017foft") },
    {
      path: "long.txt",
      branches: main,
      content: lines(`${"x".repeat(1_000_000)}needle${"y".repeat(1000)}`, "second needle"),
    },
    {
      path: "enc/utf-16le.dat",
      branches: main,
      content: Buffer.from("\ufeffzebra später\r\nzebra おはよう\r\n", "utf16le"),
    },
    {
      path: "enc/utf-16be.dat",
      branches: main,
      content: Buffer.from("\ufeffzebra\nzebra später\n", "utf16le").swap16(),
    },
    { path: "enc/utf-8.dat", branches: main, content: "\ufeffzebra später\n" },
    { path: "enc/latin-1.dat", branches: main, content: Buffer.from("zebra\nzebra Männer später\n", "latin1") },
    // これは日本語の文章です。
    {
      path: "enc/shift-jis.dat",
      branches: main,
      content: Buffer.from("7a656272612082b182ea82cd93fa967b8cea82cc95b68fcd82c582b781420a", "hex"),
    },
    { path: "enc/few.dat", branches: main, content: Buffer.from("zebra\nc\xe9\n", "latin1") },
    { path: 'quote".txt', branches: main, content: "quoted\n" },
    {
      path: "gaps.txt",
      branches: main,
      content: lines(
        "west east",
        "west  east",
        "west\teast",
        "west\u00a0east",
        "west\u3000east",
        "west \t east",
        "});",
        "if (g(x))) {",
        "smile :)",
        "D:\\temp \\d",
        "west",
        "east",
        'say "west  east" now',
        '\\d  "\\/x',
      ),
    },
  ],
};

const fork: CaseRepository = {
  name: "parser-fork",
  fork: true,
  archived: false,
  private: false,
  stars: 1,
  branches: main,
  files: [
    { path: "src/parser.go", branches: main, content: parserSource },
    { path: "fork.txt", branches: main, content: "forked alpha\n" },
  ],
};

const old: CaseRepository = {
  name: "old",
  fork: false,
  archived: true,
  private: false,
  stars: 3,
  branches: main,
  files: [{ path: "old.go", branches: main, content: lines("package old", "", "func Parse() {}") }],
};

const hidden: CaseRepository = {
  name: "hidden",
  fork: false,
  archived: false,
  private: true,
  stars: 0,
  branches: main,
  files: [{ path: "secret.txt", branches: main, content: "alpha secret\n" }],
};

const release = ["release/1.0"];
const mainAndRelease = ["main", "release/1.0"];
const ann = "Ann Example <ann@acme.test>";
const ben = "Ben <ben@acme.test>";

const tools: CaseRepository = {
  name: "acme/tools",
  fork: false,
  archived: false,
  private: false,
  stars: 20,
  branches: mainAndRelease,
  description: "Assorted build tools,\nfor the web",
  topics: ["build", "cli"],
  metadata: { team: "core", tier: null },
  tags: { "v1.0": "release/1.0" },
  files: [
    {
      path: "CODEOWNERS",
      branches: main,
      content: lines("* @acme/everyone", "*.py ann@acme.test", "/web/ @ben", "/web/legacy/"),
    },
    { path: ".hidden/config.yml", branches: main, content: lines("level: three", "name: tools") },
    { path: "Makefile", branches: mainAndRelease, content: lines("all:", "\tpython tools/build.py all") },
    {
      path: "a b/c+d (e).txt",
      branches: main,
      content: lines("spaced path", "plus+plus", "caret^dollar$", "under_score"),
    },
    { path: "lib/Widget.m", branches: main, content: lines("@implementation Widget", "@end") },
    {
      path: "lib/widget.cpp",
      branches: main,
      content: lines("struct Widget : Base {", "  std::vector<int> sizes;", "};"),
    },
    { path: "lib/widget.h", branches: main, content: lines("struct Widget;", "#define WIDGET_MAX size(x, y)") },
    { path: "src/mod.rs", branches: main, content: lines("pub fn target() -> &'static str {", '    "TARGET"', "}") },
    {
      path: "tools/build.py",
      branches: main,
      author: ann,
      content: lines(
        "#!/usr/bin/env python",
        "import os",
        "",
        "def build(target):",
        '    return os.path.join("out", target)',
      ),
    },
    {
      path: "tools/build.py",
      branches: release,
      author: ann,
      content: lines("#!/usr/bin/env python", "", "def build(goal):", "    return goal"),
    },
    { path: "tools/release.sh", branches: main, content: lines("#!/bin/sh", 'echo "release $VERSION" # not or and') },
    {
      path: "web/app.ts",
      branches: main,
      author: ben,
      content: lines("export const port: number = basePort;", "export function start(): void { listen(port); }"),
    },
    { path: "web/app.tsx", branches: main, author: ben, content: lines("export const App = () => <b>port</b>;") },
    { path: "web/legacy/app.js", branches: main, content: lines("var port = basePort;", "start(port, port);") },
    { path: "CHANGES", branches: release, content: lines("First release.") },
  ],
};

const mirror: CaseRepository = {
  name: "acme/tools-mirror",
  fork: true,
  archived: true,
  private: false,
  stars: 0,
  branches: main,
  files: [{ path: "tools/build.py", branches: main, content: lines("def build(mirrored): pass") }],
};

const empty: CaseRepository = {
  name: "empty",
  fork: false,
  archived: false,
  private: false,
  stars: 0,
  branches: [],
  files: [],
};

export const corpus: readonly CaseRepository[] = [parser, odd, fork, old, hidden, tools, mirror, empty];

function lines(...all: string[]): string {
  return all.map((line) => `${line}\n`).join("");
}
