/** Diffs by file, as git writes them: whatever lines look like, and for files that have no lines. */
import t from "tap";
import { readDiff } from "../../../src/git/history/file-diffs.js";
import { neverStop } from "../../../src/git/run/run.js";
import type { FixtureFiles } from "../../support/git-fixture.js";
import { fixture } from "../../support/git-mirror.js";

const source = fixture(t);

/** The changes of one commit: "old > new: hunks". */
async function diff(before: FixtureFiles, after: FixtureFiles): Promise<string[]> {
  const from = source.commit({ branch: "main", files: before });
  const to = source.commit({ branch: "main", files: after });
  const { files } = await readDiff(source.path, from, to, [], neverStop);
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
