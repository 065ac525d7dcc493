import t from "tap";
import { neverStop } from "../../../src/base/stop-signal.js";
import { parseIgnoredCommits, readBlame } from "../../../src/git/history/blame.js";
import { GitFixture } from "../../support/git-fixture.js";

const unknown = "0123456789abcdef".repeat(3).slice(0, 40);

t.test("ignored commits are passed over, if an older origin is found", async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  const text = "first(line, one);\nsecond(line, two);\nthird(line, three);\n";
  const indented = text.replace(/^/gm, "  ");
  const written = fixture.commit({ branch: "main", files: { "a.c": text } });
  fixture.commit({ branch: "main", files: { "b/a.c": text, "a.c": { deleted: true } } });
  const formatted = fixture.commit({ branch: "main", files: { "b/a.c": indented } });
  const added = fixture.commit({ branch: "main", files: { "b/a.c": `${indented}new\n` } });
  const blame = async (ignored: readonly string[]) =>
    (
      await readBlame(
        fixture.path,
        { commit: added, path: "b/a.c", startLine: 1, endLine: 99, ignoreWhitespace: false },
        ignored,
        neverStop,
      )
    ).map(({ commit, path, lineCount }) => [commit, path, lineCount]);
  t.same(await blame([]), [
    [formatted, "b/a.c", 3],
    [added, "b/a.c", 1],
  ]);
  t.same(await blame([formatted, unknown]), [
    [written, "a.c", 3],
    [added, "b/a.c", 1],
  ]);
  t.same(await blame([added]), [
    [formatted, "b/a.c", 3],
    [added, "b/a.c", 1],
  ]);
});

t.test("where a file was before each commit, unless that commit added it", async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at}\n`);
  const text = (first: string): string => [first, ...lines].join("");
  const written = fixture.commit({ branch: "main", files: { "old é.c": text("a\n") } });
  const moved = fixture.commit({ branch: "main", files: { "old é.c": { deleted: true }, "new.c": text("b\n") } });
  const last = fixture.commit({ branch: "main", files: { "new.c": `${text("b\n")}end\n` } });
  const request = { commit: last, path: "new.c", startLine: 1, endLine: 99, ignoreWhitespace: false };
  const hunks = await readBlame(fixture.path, request, [], neverStop);
  t.same(
    hunks.map(({ commit, previous }) => [commit, previous]),
    [
      [moved, { commit: written, path: "old é.c" }],
      [written, undefined],
      [last, { commit: moved, path: "new.c" }],
    ],
  );
});

t.test("the list of ignored commits: oids at the start of a line, all else is skipped", async (t) => {
  const long = "ab".repeat(32);
  const list = `# formatter\n${unknown} # with a comment\n  ${long}\n${unknown.slice(1)}\n${unknown}0\n--help\nHEAD\nx ${unknown}\n`;
  t.same(parseIgnoredCommits(Buffer.from(list)), [unknown, long]);
  t.same(parseIgnoredCommits(Buffer.from(`\0\xff\r\n${unknown}`)), [unknown]);
  t.equal(parseIgnoredCommits(Buffer.from(`${unknown}\n`.repeat(20_000))).length, 10_000);
});
