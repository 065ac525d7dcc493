import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { filterChanges } from "../../../src/git/history/change-filter.js";
import { listCommits, listedOids, type CommitList } from "../../../src/git/history/commit-list.js";
import { readPatches, usualPatchLimits } from "../../../src/git/history/patches.js";
import { minusSign, plusSign } from "../../../src/git/history/patch-file.js";
import { neverStop } from "../../../src/git/run/run.js";
import { scaled } from "../../support/full-run.js";
import { GitFixture } from "../../support/git-fixture.js";
import { generateHistory } from "../../support/history-repository.js";
import { randomFrom } from "../../support/random.js";

interface History {
  readonly path: string;
  readonly list: CommitList;
  /** Of each commit of the list: its changed lines, one character per byte, and whether something was left out. */
  readonly lines: readonly (readonly string[])[];
  readonly isCut: readonly boolean[];
}

async function readHistory(repository: GitFixture): Promise<History> {
  repository.git("repack", "-adfq");
  repository.git("prune-packed");
  const tips = repository.git("for-each-ref", "--format=%(objectname)", "refs/heads").trim().split("\n");
  const list = await listCommits(repository.path, tips, [], neverStop);
  const lines: string[][] = [];
  const isCut: boolean[] = [];
  await readPatches(
    {
      directory: repository.path,
      commits: listedOids(list, 0, list.count),
      limits: usualPatchLimits,
      stop: neverStop,
    },
    {
      commit: () => {
        lines.push([]);
        isCut.push(false);
      },
      file: ({ lineCount, lineSign, lineFrom, lineTo, bytes, isTooLarge }) => {
        if (isTooLarge) isCut[isCut.length - 1] = true;
        for (let i = 0; i < lineCount; i++)
          if (lineSign[i] === plusSign || lineSign[i] === minusSign)
            lines[lines.length - 1].push(bytes.toString("latin1", lineFrom[i], lineTo[i]));
      },
      endCommit: () => true,
      missing: () => undefined,
    },
  );
  return { path: repository.path, list, lines, isCut };
}

/** Returns how many commits are excluded that need not be read. */
function checkFilter(
  t: Test,
  { path, list, lines, isCut }: History,
  texts: readonly string[],
  foldCase: boolean,
): number {
  const bytes = texts.map((text) => Buffer.from(foldCase ? text.toLowerCase() : text));
  const found = new Set(filterChanges(path, list, 0, list.count, { texts: bytes, foldCase }, neverStop));
  const folded = (line: string): string => (foldCase ? Buffer.from(line, "latin1").toString().toLowerCase() : line);
  const wanted = bytes.map((text) => text.toString(foldCase ? "utf8" : "latin1"));
  lines.forEach((changed, i) => {
    if (found.has(i)) return;
    const line = changed.find((line) =>
      wanted.some((text) => folded(line.replace("\u00c5\u00bf", "s")).includes(text)),
    );
    if (line !== undefined) t.fail(`${texts.join()} in ${listedOids(list, i, i + 1)[0]}`, { line });
    if (isCut[i]) t.fail("a commit of which something was left out is not read");
  });
  return list.count - found.size;
}

t.test("a commit with a changed line that has the text is never excluded", async (t) => {
  for (const seed of [1, 2, 5, 8]) {
    const repository = generateHistory(seed, 200);
    t.teardown(() => repository.remove());
    const history = await readHistory(repository);
    let excluded = 0;
    for (const text of ["abk", "ask", "x", "return", "é", "foo(bar)", "Kas", "日本"])
      for (const foldCase of [false, true]) excluded += checkFilter(t, history, [text], foldCase);
    excluded += checkFilter(t, history, ["return", "日本"], false);
    t.ok(excluded > history.list.count, `${excluded} of 17 × ${history.list.count} are excluded`);
  }
});

t.test("lines that move, repeat, or change at both ends of a long file", async (t) => {
  const repository = GitFixture.create();
  t.teardown(() => repository.remove());
  const random = randomFrom(7);
  const words = ["one", "two", "needle", "{", "}", ""];
  let lines = Array.from({ length: 300 }, () => words[random(words.length)]);
  const commitCount = scaled(40, 120);
  for (let i = 0; i < commitCount; i++) {
    const at = random(lines.length);
    const count = random(4);
    const moved = lines.slice(at, at + count);
    lines = [
      ...lines.slice(0, at),
      ...(random(2) === 0 ? [words[random(words.length)]] : []),
      ...lines.slice(at + count),
    ];
    if (random(2) === 0) lines.splice(random(lines.length), 0, ...moved);
    repository.commit({ branch: "main", files: { f: lines.join("\n") + (random(3) === 0 ? "" : "\n") } });
  }
  const history = await readHistory(repository);
  let excluded = 0;
  for (const text of ["needle", "one", "{", "edl"]) excluded += checkFilter(t, history, [text], false);
  t.ok(excluded > commitCount / 2, `${excluded} of ${4 * commitCount} are excluded`);
});

t.test("what cannot be told without git is read", async (t) => {
  const repository = GitFixture.create();
  t.teardown(() => repository.remove());
  const many = Array.from({ length: 200_000 }, (_, i) => `line ${i}`).join("\n");
  const files = [
    { a: "nothing\n" },
    { huge: many },
    { module: { gitlink: "1".repeat(40) } },
    { large: Buffer.alloc(5 << 20, 1) },
    { a: "something\n" },
  ] as const;
  for (const each of files) repository.commit({ branch: "main", files: each });
  const history = await readHistory(repository);
  const { path, list } = history;
  const request = { texts: [Buffer.from("absent")], foldCase: false };
  const search = (): number[] => [...filterChanges(path, list, 0, list.count, request, neverStop)];
  t.strictSame(search(), [1, 2, 3], "a submodule, a large file and a large change");
  const link = repository.commit({ branch: "main", files: [["a", { symlink: "something\n" }]] });
  const linked = await listCommits(path, [link], [], neverStop);
  const texts = [Buffer.from("something")];
  const ofLink = filterChanges(path, linked, 0, 1, { texts, foldCase: false }, neverStop);
  t.strictSame([...ofLink], [0], "a file that becomes a link to its text");
  const loose = repository.commit({ branch: "main", files: { a: "else\n" } });
  const longer = await listCommits(path, [loose], [], neverStop);
  t.strictSame([...filterChanges(path, longer, 0, 1, request, neverStop)], [], "a loose commit");
  const file = join(path, "objects", loose.slice(0, 2), loose.slice(2));
  chmodSync(file, 0o600);
  writeFileSync(file, "");
  t.strictSame([...filterChanges(path, longer, 0, 1, request, neverStop)], [0], "an object that cannot be read");
  t.throws(() => filterChanges(path, list, 0, list.count, request, () => true), { code: "cancelled" });
  writeFileSync(join(path, "shallow"), `${loose}\n`);
  t.strictSame(search(), [0, 1, 2, 3, 4], "a shallow mirror");
});
