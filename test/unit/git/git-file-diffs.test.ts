/** Diffs by file, as git writes them: whatever lines look like, and for files that have no lines. */
import t from "tap";
import { readDiff } from "../../../src/git/history/file-diffs.js";
import { neverStop } from "../../../src/git/run/run.js";
import type { FixtureFiles } from "../../support/git-fixture.js";
import { fixture } from "../../support/git-mirror.js";

const source = fixture(t);

/** The changes of one commit: "old > new: hunks". */
async function diff(before: FixtureFiles, after: FixtureFiles, ignoreWhitespace = false): Promise<string[]> {
  const from = source.commit({ branch: "main", files: before });
  const to = source.commit({ branch: "main", files: after });
  const { files } = await readDiff(source.path, { base: from, head: to, paths: [], ignoreWhitespace }, neverStop);
  return files.map(({ oldPath, newPath, isTypeChange, hunks }) => {
    const shown = hunks.map(
      ({ oldStart, oldCount, newStart, newCount, section }) =>
        ` -${oldStart},${oldCount} +${newStart},${newCount} ${JSON.stringify(section)}`,
    );
    return `${oldPath} > ${newPath}${isTypeChange ? " type" : ""}:${shown.join("")}`;
  });
}

t.test("only a line feed ends a line", async (t) => {
  for (const end of ["\r", "\u2028", "\u2029"]) {
    const line = `one${end}diff --git a/x b/x${end}@@ -7 +7 @@ x${end}`;
    const name = `U+${end.charCodeAt(0).toString(16)}`;
    t.same(
      await diff(
        { "a.txt": `${line}\ntwo\n`, "b.txt": "three\n" },
        { "a.txt": `zero\n${line}\ntwo\n`, "b.txt": "four\n" },
      ),
      ['a.txt > a.txt: -1,2 +1,3 ""', 'b.txt > b.txt: -1,1 +1,1 ""'],
      name,
    );
    const section = `f${end}g`;
    t.same(
      await diff({ "c.txt": `${section}\n1\n2\n3\n4\n5\n` }, { "c.txt": `${section}\n1\n2\n3\n4\n6\n` }),
      [`c.txt > c.txt: -3,4 +3,4 ${JSON.stringify(section)}`],
      name,
    );
  }
});

t.test("files without lines, and files that become something else", async (t) => {
  t.same(await diff({ "a.bin": Buffer.from("\0one") }, { "a.bin": Buffer.from("\0two") }), ["a.bin > a.bin:"]);
  t.same(await diff({ "link.txt": "one\n" }, { "link.txt": { symlink: "a.txt" } }), [
    'link.txt > link.txt type: -1,1 +0,0 "" -0,0 +1,1 ""',
  ]);
  t.same(await diff({ "run.sh": "one\n" }, { "run.sh": { executable: "one\n" } }), ["run.sh > run.sh:"]);
});

t.test("changes of white space alone are left out, and no file gets the lines of another", async (t) => {
  const before = {
    "a.txt": "one\ntwo\n",
    "b.txt": "one\n",
    "c.txt": "\tone\n",
    "d.bin": Buffer.from("\0one"),
    "e.sh": "one\n",
    "f.txt": "same\n".repeat(20),
    "g.txt": "one\n",
  };
  const after = {
    "a.txt": "  one\ntwo \n",
    "b.txt": "other\n",
    "c.txt": "one\n",
    "d.bin": Buffer.from("\0 one"),
    "e.sh": { executable: "one \n" },
    "f.txt": { deleted: true },
    "f2.txt": `${"same\n".repeat(20)} \n`,
    "g.txt": "one\nadded\n",
  } as const;
  t.same(await diff(before, after, true), [
    "a.txt > a.txt:",
    'b.txt > b.txt: -1,1 +1,1 ""',
    "c.txt > c.txt:",
    "d.bin > d.bin:",
    "e.sh > e.sh:",
    'f.txt > f2.txt: -18,3 +18,4 "same"',
    'g.txt > g.txt: -1,1 +1,2 ""',
  ]);
});
