/** Extraction with the installed ctags, and with programs that stand in for one that misbehaves. */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { TrawlError } from "../../../../src/base/errors.js";
import { neverStop } from "../../../../src/base/stop-signal.js";
import {
  findCtags,
  formatOptions,
  symbolOptions,
  type CtagsProgram,
} from "../../../../src/indexer/symbols/ctags-program.js";
import { describeSymbol } from "../../../../src/eval/results/describe-symbol.js";
import { SymbolExtractor, textLimits, type Extraction } from "../../../../src/indexer/symbols/symbol-extractor.js";
import { nameBytesMax } from "../../../../src/shard/symbols/content-symbols.js";
import { scaled } from "../../../support/full-run.js";
import { randomFrom } from "../../../support/random.js";

const installed = await findCtags("ctags");
if ("reason" in installed) throw new TrawlError("bad-config", installed.reason);
const program: CtagsProgram = installed;

function extractorOf(t: Test, command: string, limits = textLimits, stop = neverStop): SymbolExtractor {
  const extractor = new SymbolExtractor({ program: { ...program, command }, limits, stop });
  t.teardown(() => extractor.close());
  return extractor;
}

const text = (language: string, content: string | Buffer) => ({ language, text: Buffer.from(content) });

/** `line kind name < container`, for each symbol. */
function shown(extraction: Extraction | undefined): string[] | string {
  if (extraction?.kind !== "symbols") return extraction?.kind === "failed" ? extraction.fault : "unsupported";
  const { names, lines, kinds, containers } = extraction.symbols;
  return names.map((name, i) => `${lines[i]} ${kinds[i]} ${name}${containers[i] === "" ? "" : ` < ${containers[i]}`}`);
}

/** A program that answers like ctags until it reads a text with the word `bad`, and then runs `evil`. */
function standIn(t: Test, evil: string): string {
  const path = join(t.testdir({}), "ctags.cjs");
  writeFileSync(
    path,
    `#!${process.execPath}
const format = process.argv.find((one) => one.startsWith("--_xformat=")).slice(11);
const mark = format.slice(0, format.indexOf("%"));
const done = '{"_type": "completed", "command": "generate-tags"}\\n';
process.stdout.write('{"_type": "program", "name": "Universal Ctags", "version": "5.9.0"}\\n');
let bytes = Buffer.alloc(0);
process.stdin.on("data", (part) => {
  bytes = Buffer.concat([bytes, part]);
  for (;;) {
    const end = bytes.indexOf(10);
    if (end < 0) return;
    const { size } = JSON.parse(bytes.subarray(0, end).toString());
    if (bytes.length < end + 1 + size) return;
    const text = bytes.subarray(end + 1, end + 1 + size).toString("latin1");
    bytes = bytes.subarray(end + 1 + size);
    if (text.includes("bad")) { ${evil} }
    else if (text.startsWith("int check_"))
      process.stdout.write(mark + "1\\tvariable\\t" + text.slice(4, -2) + mark + "\\n" + done);
    else process.stdout.write(mark + "1\\tfunction\\t" + text.trim() + mark + "\\n" + done);
  }
});
`,
  );
  chmodSync(path, 0o755);
  return path;
}

t.test("symbols have a name, a line, a kind and a container", async (t) => {
  const extractor = extractorOf(t, "ctags");
  const [c, python, prose, go] = await extractor.extract([
    text("C", "struct pair {\n  int left, right;\n};\nint main(void) { return 0; }\n#define LIMIT 3\n"),
    text("Python", "class A:\n  def f(self): pass\n  class B:\n    x = 1\n"),
    text("Markdown", "# not indexed\n"),
    text("Go", ""),
  ]);
  t.same(shown(c), [
    "1 struct pair",
    "2 member left < pair",
    "2 member right < pair",
    "4 function main",
    "5 macro LIMIT",
  ]);
  t.same(shown(python), ["1 class A", "2 member f < A", "3 class B < A", "4 variable x < A.B"]);
  t.equal(shown(prose), "unsupported");
  t.same(shown(go), []);
});

t.test("offsets are those of the names in the text", async (t) => {
  const source = "int a, b, a2; /* \u00e4 */ int c;\n\nvoid f(int f2) {}\nint\ng(void);\nint x = 1; int y = 2;\n";
  const [result] = await extractorOf(t, "ctags").extract([text("C", source)]);
  if (result.kind !== "symbols") throw new Error("not extracted");
  const bytes = Buffer.from(source);
  const { names, offsets } = result.symbols;
  t.ok(names.length > 5);
  names.forEach((name, i) => t.equal(bytes.toString("latin1", offsets[i], offsets[i] + name.length), name));
});

/** The symbols of a text, each with its line, and its column if it is known. */
async function places(t: Test, language: string, content: string): Promise<string[]> {
  const [extraction] = await extractorOf(t, "ctags").extract([text(language, content)]);
  if (extraction.kind !== "symbols") throw new Error(`not extracted: ${extraction.kind}`);
  const { symbols } = extraction;
  return symbols.names.map((_, i) => {
    const { place, name, containerName } = describeSymbol(symbols, i, Buffer.from(content));
    return `${place} ${containerName === "" ? "" : `${containerName} `}${name}`;
  });
}

t.test("each symbol has its column, whatever the order in which ctags writes those of a line", async (t) => {
  t.same(
    await places(
      t,
      "JavaScript",
      "const obj = { one: 1, 'q r': { two: 2 } };\nfunction f() { const o = { z: 1 }; return o; }\n",
    ),
    ["L1:7-1:10 obj", "L1:15-1:18 obj one", "L1:24-1:27 obj q r", "L1:32-1:35 obj.q r two"].concat([
      "L2:10-2:11 f",
      "L2:22-2:23 f o",
      "L2:28-2:29 f.o z",
    ]),
  );
  t.same(
    await places(t, "C", "int n, t;\nstatic int i;\n"),
    ["L1:5-1:6 n", "L1:8-1:9 t", "L2:12-2:13 i"],
    "whole words",
  );
  const minified = `var a={${Array.from({ length: 3000 }, (_, i) => `k${i}:{v:${i}}`).join(",")}};\n`;
  const columns = (await places(t, "JavaScript", minified)).map((place) => Number(/^L1:(\d+)/.exec(place)?.[1] ?? 0));
  t.ok(columns.filter((column) => column > 0).length > 1000, "a long line");
});

t.test("names have backslashes as the text has them", async (t) => {
  const php = "<?php\nnamespace App\\Http;\nclass User {\n  function show() {}\n}\n";
  t.same(await places(t, "PHP", php), [
    "L2:11-2:19 App\\Http",
    "L3:7-3:11 App\\Http User",
    "L4:12-4:16 App\\Http\\User show",
  ]);
  t.same(
    await places(t, "Haskell", "module A where\n(\\\\) a b = a\n").then((all) => all.filter((one) => /\\/.test(one))),
    [],
  );
});

t.test("dialects have the symbols of their language", async (t) => {
  const rows: readonly (readonly [language: string, content: string, name: string])[] = [
    [
      "PLpgSQL",
      "CREATE FUNCTION app.add(a int) RETURNS int AS $$\nBEGIN RETURN 1; END;\n$$ LANGUAGE plpgsql;\n",
      "add",
    ],
    ["TSQL", "CREATE TABLE [dbo].[Users] (\n  [Id] INT\n)\nGO\n", "Users"],
    ["PLSQL", "CREATE OR REPLACE PACKAGE tools AS\n  FUNCTION one RETURN NUMBER;\nEND tools;\n/\n", "tools"],
    ["SQLPL", "CREATE PROCEDURE sleep (IN seconds INT)\nBEGIN\nEND!\n", "sleep"],
    ["Starlark", "def rule_of(name):\n    pass\n", "rule_of"],
    ["Cython", "cdef int twice(int a):\n    return a\n", "twice"],
    ["Snakemake", "def inputs(wildcards):\n    return 1\n", "inputs"],
    ["GLSL", "void main() {\n}\n", "main"],
    ["OpenCL", "__kernel void add(__global int *a) {\n}\n", "add"],
    ["Bison", "%%\nlist: item\n  ;\n", "list"],
    ["Lex", "%{\nstatic int scan(void)\n{\n  return 0;\n}\n%}\n%%\n", "scan"],
    ["ActionScript", "package {\n  public class A {\n    public function run():void {}\n  }\n}\n", "run"],
    ["Gentoo Ebuild", "src_compile() {\n  emake\n}\n", "src_compile"],
    ["fish", "function greet\n  echo hi\nend\n", "greet"],
    ["VBA", 'Attribute VB_Name = "A"\nPublic Sub Save()\nEnd Sub\n', "Save"],
    ["Apex", "public class Tools {\n  public void run() {}\n}\n", "run"],
    ["Hack", "<?hh\nclass Tools {\n  function run(): void {}\n}\n", "run"],
    ["Literate Haskell", "> module A where\n>\n> twice :: Int -> Int\n> twice x = x\n", "twice"],
    ["Racket", "(define (twice x) x)\n", "twice"],
    ["Batchfile", ":build\necho 1\n", "build"],
    ["Standard ML", "fun twice x = x\n", "twice"],
  ];
  for (const [language, content, name] of rows) {
    const found = (await places(t, language, content)).map((place) => place.split(" ").at(-1));
    t.ok(found.includes(name), `${language}: ${found.join(" ")}`);
  }
});

t.test("things without a name have no symbols, and are no containers", async (t) => {
  const [result] = await extractorOf(t, "ctags").extract([text("C", "struct { int a; } s;\nenum { B1 };\n")]);
  t.same(shown(result), ["1 member a", "1 variable s", "2 enumerator B1"]);
});

t.test("the end of a number is no symbol", async (t) => {
  const numbers =
    "const a = 10_000;\nlet b = 0xff_ff + 1_000n;\nclass X { y = 3_600_000; _0 = 1e5_0 }\nconst t = { cacheMs: 30_000 };\nenum E { A = 1_0, _1 = 2 }\nconst _2_000 = 2_000;\n";
  const [typescript, rust] = await extractorOf(t, "ctags").extract([
    text("TypeScript", numbers),
    text("Rust", "const A: u32 = 1_000;\nfn f2_000() {}\n"),
  ]);
  const namesIn = (one: Extraction | undefined) => (one?.kind === "symbols" ? [...one.symbols.names] : one?.kind);
  t.same(namesIn(typescript), ["a", "b", "X", "y", "_0", "t", "E", "A", "_1", "_2_000"]);
  t.same(namesIn(rust), ["f2_000"]);
  // A line whose numbers could be looked through again for each of them.
  const line = `let a = [${Array.from({ length: 20_000 }, (_, i) => `1${i}_000`).join(", ")}];`;
  t.same(namesIn((await extractorOf(t, "ctags").extract([text("TypeScript", line)]))[0]), ["a"]);
});

t.test("warnings of ctags about a text are not taken for garbage", async (t) => {
  const source = 'const { A, B } = require("x");\nconst { C } = require("y");\nfunction f() {}\n';
  const [result] = await extractorOf(t, "ctags").extract([text("JavaScript", source)]);
  t.ok(shown(result).includes("3 function f"), "ctags warns about symbols without a name in lines 1 and 2");
});

t.test("the symbols of texts do not depend on their order, and are those of ctags alone", async (t) => {
  const random = randomFrom(1);
  const folder = "/usr/include";
  const files = execFileSync("find", [folder, "-maxdepth", "2", "-name", "*.h", "-size", "-40k"])
    .toString()
    .split("\n")
    .filter((path) => path !== "")
    .sort()
    .slice(0, 150);
  const texts = files.map((path) => text("C++", readFileSync(path)));
  const order = [...files.keys()].sort(() => random(3) - 1);
  const [forward, shuffled] = [
    await extractorOf(t, "ctags").extract(texts),
    await extractorOf(t, "ctags").extract(order.map((i) => texts[i])),
  ];
  order.forEach((original, i) => t.same(shown(shuffled[i]), shown(forward[original]), files[original]));
  const options = symbolOptions(program.parsers).filter((option) => !option.startsWith("--map"));
  const batch = execFileSync(
    "ctags",
    [...options, "--language-force=C++", ...formatOptions("@"), "--sort=no", "-o", "-", ...files],
    { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] },
  ).toString("latin1");
  const expected = [...batch.matchAll(/@(\d+)\t([^\t]*)\t([^@\n]+)@/g)].map(([, line, kind, name]) =>
    [line, kind, name].join(" "),
  );
  const found = forward.flatMap((one) => shown(one)).map((one) => one.replace(/ < .*/, ""));
  t.same([...found].sort(), expected.sort());
  t.ok(expected.length > 500, `${expected.length} symbols`);
});

t.test("a ctags that does not end is killed, and only that text has no symbols", async (t) => {
  // A shell starts in a few milliseconds of processor time, and a program of Node in up to a second beside a full load. It may start
  // nothing else, so it reads lines: each text is one.
  const path = join(t.testdir({}), "ctags.sh");
  writeFileSync(
    path,
    `#!/bin/sh
for option; do
  case $option in --_xformat=*) format=\${option#--_xformat=} ;; esac
done
mark=\${format%%"%"*}
printf '{"_type": "program", "name": "Universal Ctags", "version": "5.9.0"}\\n'
while read -r request; do
  read -r text
  name=\${text#int }
  case $text in
  bad) while :; do :; done ;;
  "int check_"*) printf '%s1\\tvariable\\t%s%s\\n' "$mark" "\${name%;}" "$mark" ;;
  *) printf '%s1\\tfunction\\t%s%s\\n' "$mark" "$text" "$mark" ;;
  esac
  printf '{"_type": "completed", "command": "generate-tags"}\\n'
done
`,
  );
  chmodSync(path, 0o755);
  const extractor = extractorOf(t, path, { ...textLimits, cpuMs: 300 });
  const results = await extractor.extract(["one", "bad", "two"].map((name) => text("C", `${name}\n`)));
  t.same(results.map(shown), [["1 function one"], "time", ["1 function two"]]);
});

t.test("a ctags that waits for something else is killed", async (t) => {
  const hang = standIn(t, "setInterval(() => {}, 1000); process.stdin.pause(); return;");
  const [result] = await extractorOf(t, hang, { ...textLimits, wallMs: 500 }).extract([text("C", "bad")]);
  t.equal(shown(result), "time");
});

t.test("a ctags that crashes is started again, and only that text has no symbols", async (t) => {
  const extractor = extractorOf(t, standIn(t, "process.kill(process.pid, 'SIGSEGV'); return;"));
  const results = await extractor.extract(["one", "bad", "two", "bad", "three"].map((name) => text("C", name)));
  t.same(results.map(shown), [["1 function one"], "crash", ["1 function two"], "crash", ["1 function three"]]);
});

t.test("a ctags that is killed from outside is started again, and nothing is missing", async (t) => {
  const once = join(t.testdir({}), "killed");
  const extractor = extractorOf(
    t,
    standIn(
      t,
      `const fs = require("fs");
       if (!fs.existsSync(${JSON.stringify(once)})) {
         fs.writeFileSync(${JSON.stringify(once)}, "");
         process.kill(process.pid, "SIGKILL");
         return;
       }
       process.stdout.write(done);`,
    ),
  );
  const results = await extractor.extract(["one", "bad", "two"].map((name) => text("C", name)));
  t.same(results.map(shown), [["1 function one"], [], ["1 function two"]]);
});

t.test("garbage is not taken for symbols", async (t) => {
  for (const evil of [
    'process.stdout.write("hello\\n" + done);',
    'process.stdout.write(mark + "x\\tfunction\\tname" + mark + "\\n" + done);',
    'process.stdout.write(mark + "1 function name" + mark + "\\n" + done);',
    "process.stdout.write(done + done);",
    'process.stdout.write(Buffer.alloc(1 << 20, 255)); process.stdout.write("\\n" + done);',
  ]) {
    const results = await extractorOf(t, standIn(t, evil)).extract(
      ["one", "bad", "two"].map((name) => text("C", name)),
    );
    t.same(results.map(shown), [["1 function one"], "garbage", ["1 function two"]], evil);
  }
});

t.test("a program that fails for every text is not asked for each of many", async (t) => {
  const extractor = extractorOf(t, "/bin/false");
  await t.rejects(extractor.extract(Array.from({ length: 1000 }, () => text("C", "int a;"))), {
    code: "internal",
    message: /fails for every text/,
  });
});

t.test("a missing program, and one that is not Universal Ctags, are named with what to install", async (t) => {
  t.match(await findCtags("/nonexistent/ctags"), {
    reason: /is not installed. Install the Debian package universal-c/,
  });
  t.match(await findCtags("/bin/echo"), { reason: /is not Universal Ctags/ });
  t.match(await findCtags("/bin/false"), { reason: /cannot be used/ });
  const path = join(t.testdir({}), "ctags");
  writeFileSync(path, '#!/bin/sh\necho "Universal Ctags 4.0.1, and more"\n');
  chmodSync(path, 0o755);
  t.match(await findCtags(path), { reason: /Universal Ctags 4.0.1.*without the feature "interactive"/ });
});

t.test("very many symbols in one text", async (t) => {
  const symbolCount = scaled(60_000, 1_000_000);
  const lines = Array.from({ length: symbolCount }, (_, i) => `#define M${i} ${i}`);
  const [result] = await extractorOf(t, "ctags").extract([text("C", lines.join("\n"))]);
  if (result.kind !== "symbols") throw new Error(shown(result) as string);
  t.equal(result.symbols.names.length, symbolCount);
  t.equal(result.symbols.names.at(-1), `M${symbolCount - 1}`);
  t.equal(result.symbols.lines.at(-1), symbolCount);
  t.notOk(result.symbols.offsets.includes(-1));
});

t.test("many symbols in one line of a megabyte take linear time", async (t) => {
  const source = Array.from({ length: 60_000 }, (_, i) => `int variable${i};`).join(" ");
  const [result] = await extractorOf(t, "ctags").extract([text("C", source)]);
  t.equal(shown(result).length, 60_000);
});

t.test("a name of a megabyte is left out, and one of the greatest length is not", async (t) => {
  const longest = "b".repeat(nameBytesMax);
  const [result] = await extractorOf(t, "ctags").extract([
    text("C", `int ${"a".repeat(1 << 20)}(void) {}\nint ${longest}(void) {}\nint c;\n`),
  ]);
  t.same(shown(result), [`2 function ${longest}`, "3 variable c"]);
});

t.test("names that are not UTF-8 are found byte for byte", async (t) => {
  const source = Buffer.from("def f\xe9_\xff(): pass\n", "latin1");
  const [result] = await extractorOf(t, "ctags").extract([text("Python", source)]);
  t.same(shown(result), ["1 function f\xe9_\xff"]);
});

t.test("stopping ends the work at once", async (t) => {
  let isStopped = false;
  const extractor = extractorOf(t, standIn(t, "return;"), textLimits, () => isStopped);
  const work = extractor.extract([text("C", "bad")]);
  isStopped = true;
  await t.rejects(work, { code: "cancelled" });
});
