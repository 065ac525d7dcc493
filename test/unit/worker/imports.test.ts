/** What a file imports, by how languages write it. */
import t from "tap";
import { readImports } from "../../../src/worker/read/imports.js";

const rows: readonly (readonly [path: string, text: string, ...imports: string[]])[] = [
  ["net/a.c", '#include <linux/fs.h>\n # include "b.h"\n', "linux/fs.h", "b.h"],
  ["src/a/b.ts", 'import {\n  x,\n} from "../base/text.js";\nimport "./c.css";', "src/base/text.js", "src/a/c.css"],
  ["src/a.js", 'const x = require("./b/c"), y = import("d");', "src/b/c"],
  ["cmd/main.go", 'import (\n\t"fmt"\n\tt "example.org/x/text"\n)\n', "fmt", "example.org/x/text"],
  [
    "app/main.py",
    "from ..lib.shapes import Circle, Square\nimport os.path\n",
    "lib/shapes",
    "lib/shapes/Circle",
    "lib/shapes/Square",
    "os/path",
  ],
  ["A.java", "import static org.acme.Names.of;\n", "org/acme/Names/of"],
  ["a.rs", "pub use crate::base::text;\n", "base/text"],
  ["a.ts", "const from = 1;\n"],
  ["a.ts", `import "${"x".repeat(600)}";\n`],
];

for (const [path, text, ...imports] of rows) {
  const found = readImports(Buffer.from(text), path);
  t.same(
    imports.filter((end) => !found.includes(end)),
    [],
    text,
  );
  if (imports.length === 0) t.same(found, [], text);
}

const many = Array.from({ length: 2000 }, (_, i) => `import "./x${i}";\n`).join("");
t.equal(readImports(Buffer.from(many), "a.ts").length, 500, "not more than 500");
t.same(readImports(Buffer.from("import ".repeat(2_000_000)), "a.ts"), [], "a long line");
