/** The comparison with ctags: equal sets are equal, and a difference is seen. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { openRepository } from "../../native-bench/corpus/corpus.js";
import { commitFolder } from "../../native-bench/corpus/repositories.js";
import { runCtags, SymbolSet } from "../../native-bench/peers/ctags.js";
import { Trawl } from "../../native-bench/peers/trawl.js";
import { compareSymbols } from "../../native-bench/suites/symbols.js";

function folder(t: Test, files: Readonly<Record<string, string | Buffer>> = {}): string {
  const path = mkdtempSync(join(tmpdir(), "trawl-bench-symbols-"));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  mkdirSync(join(path, "lib"));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
  return path;
}

t.test("the symbols of a daemon are those of ctags", async (t) => {
  const path = folder(t, {
    "a.c": "struct pair { int left, right; };\nint main(void) { return 0; }\n",
    "lib/b.js": 'const { x } = require("y");\nclass A { f() {} }\nconst o = { "!not": 1, " lead": 2 };\n',
    "lib/latin1.c": Buffer.from("int gr\xfcn;\nint blau;\n", "latin1"),
    "empty.c": "",
    "notes.md": "# no symbol\n",
  });
  await commitFolder(path);
  const corpus = await openRepository(path, folder(t));
  const trawl = await Trawl.start(join(folder(t), "data"), []);
  t.teardown(() => trawl.stop());
  await trawl.add(corpus.name, corpus.path, () => {});
  await trawl.waitForSymbols();
  const names: string[] = [];
  const { found, files, ctags, differing } = await compareSymbols(
    trawl,
    corpus,
    () => {},
    (name) => names.push(name),
  );
  t.same(differing, []);
  t.equal(found, ctags.symbols.count);
  t.equal(files, 3);
  t.ok(["pair", "left", "main", "A", "f", "blau"].every((name) => names.includes(name)));
  t.ok(ctags.cpuSeconds >= 0);
});

t.test("another line, kind or name of a symbol is a difference, and so is a file that one side lacks", async (t) => {
  const path = folder(t, { "a.c": "int one;\nint two;\n" });
  const { symbols } = await runCtags(
    path,
    new Map([
      ["a.c", "C"],
      ["lib", ""],
    ]),
    () => {},
  );
  const setOf = (...all: (readonly [path: string, line: number, kind: string, name: string])[]): SymbolSet => {
    const set = new SymbolSet();
    for (const each of all) set.add(...each);
    return set;
  };
  const two = ["a.c", 2, "VARIABLE", "two"] as const;
  t.same(setOf(two, ["a.c", 1, "VARIABLE", "one"]).differing(symbols), [], "in any order");
  t.same(setOf(two).differing(symbols), ["a.c"]);
  t.same(setOf(two, ["a.c", 2, "VARIABLE", "one"]).differing(symbols), ["a.c"]);
  t.same(setOf(two, ["a.c", 1, "FUNCTION", "one"]).differing(symbols), ["a.c"]);
  t.same(setOf().differing(symbols), ["a.c"]);
  t.same(symbols.differing(setOf(["b.c", 1, "CLASS", "B"])), ["a.c", "b.c"]);
});
