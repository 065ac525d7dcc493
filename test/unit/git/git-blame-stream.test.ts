import t from "tap";
import { neverStop } from "../../../src/base/stop-signal.js";
import { readBlame, type BlameHunk } from "../../../src/git/history/blame.js";
import {
  IncrementalBlame,
  openBlame,
  parseBlameOutput,
  type FoundHunk,
} from "../../../src/git/history/blame-stream.js";
import type { FixtureFiles } from "../../support/git-fixture.js";
import { fixture } from "../../support/git-mirror.js";

const limits = { timeoutMs: 600_000, stop: neverStop };

/** Commit and path of each line. */
function origins(hunks: readonly (FoundHunk | BlameHunk)[]): string[] {
  const lines: string[] = [];
  for (const { startLine, lineCount, commit, path } of hunks)
    for (let i = 0; i < lineCount; i++) lines[startLine - 1 + i] = `${commit} ${path}`;
  return lines;
}

t.test("the same as all at once, in any order, with renames and ignored commits", async (t) => {
  const repository = fixture(t);
  const lines = Array.from({ length: 60 }, (_, i) => `line ${i} of the file\n`);
  const oids: string[] = [];
  const commit = (files: FixtureFiles): void => {
    oids.push(repository.commit({ branch: "main", files }));
  };
  commit({ "old name.txt": lines.join("") });
  for (let i = 0; i < 12; i++) {
    lines[i * 5] = `changed ${i}\n`;
    commit({ "old name.txt": lines.join("") });
  }
  commit({ "old name.txt": { deleted: true }, "new.txt": lines.join("") });
  lines[7] = "last\n";
  commit({ "new.txt": lines.join("") });
  const head = oids.at(-1) ?? "";
  for (const ignored of [[], [oids[3], oids[14]]]) {
    const found: FoundHunk[] = [];
    const output = openBlame(repository.path, { commit: head, path: "new.txt" }, ignored, limits);
    for await (const hunks of parseBlameOutput(output)) found.push(...hunks);
    const request = { commit: head, path: "new.txt", startLine: 1, endLine: 2 ** 31 - 1, ignoreWhitespace: false };
    const whole = await readBlame(repository.path, request, ignored, neverStop);
    t.same(origins(found), origins(whole));
    t.equal(
      found.reduce((sum, { lineCount }) => sum + lineCount, 0),
      60,
      "each line once",
    );
  }
});

t.test("a missing file, and a caller that wants no more", async (t) => {
  const repository = fixture(t);
  const commit = repository.commit({ branch: "main", files: { a: "1\n2\n" } });
  const first = (path: string, stop: () => boolean): Promise<unknown> =>
    parseBlameOutput(openBlame(repository.path, { commit, path }, [], { timeoutMs: 600_000, stop })).next();
  await t.rejects(first("b", neverStop), { code: "git", message: /no such path/ });
  const stream = parseBlameOutput(openBlame(repository.path, { commit, path: "a" }, [], limits));
  t.match((await stream.next()).value, [{ commit, startLine: 1, lineCount: 2, path: "a" }]);
  t.match(await stream.return(), { done: true });
});

t.test("however the output is cut", (t) => {
  const oid = "ab".repeat(20);
  const output = Buffer.from(`${oid} 1 4 2\nauthor A\nfilename é b\n${oid} 9 1 3\nfilename c\n`);
  const wanted = [
    { commit: oid, startLine: 4, lineCount: 2, path: "é b" },
    { commit: oid, startLine: 1, lineCount: 3, path: "c" },
  ];
  for (let size = 1; size < output.length; size++) {
    const parser = new IncrementalBlame();
    const found: FoundHunk[] = [];
    for (let at = 0; at < output.length; at += size) found.push(...parser.add(output.subarray(at, at + size)));
    t.same(found, wanted);
  }
  t.throws(() => new IncrementalBlame().add(Buffer.from("filename x\n")), { code: "git" });
  t.end();
});
