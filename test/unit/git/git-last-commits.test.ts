/** The newest commit that changed each entry of a directory: what git says of each, in one walk that can be continued. */
import { execFileSync } from "node:child_process";
import t from "tap";
import { findEntries, readLastCommits, type UnchangedEntries } from "../../../src/git/history/last-commits.js";
import { neverStop } from "../../../src/git/run/run.js";
import { fixture } from "../../support/git-mirror.js";

const source = fixture(t);

function git(...args: readonly string[]): string {
  return execFileSync("git", ["-C", source.path, ...args], { encoding: "utf8" }).trim();
}

/** By name. Every other part of the walk has the time of one parent. */
async function lastCommits(commit: string, path: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  let from: readonly UnchangedEntries[] = await findEntries(source.path, commit, path, neverStop);
  for (let count = 0; from.some(({ names }) => names.length > 0); count++) {
    const part = await readLastCommits(source.path, path, from, count % 2 === 0 ? 0 : 2, neverStop);
    for (const { name, commit: oid } of part.found) found.set(Buffer.from(name, "latin1").toString(), oid);
    from = part.left;
    if (count > 10_000) t.bailout("the walk does not end");
  }
  return found;
}

function expected(commit: string, path: string): Map<string, string> {
  const names = git("ls-tree", "-z", "--name-only", path === "" ? commit : `${commit}:${path}`).split("\0");
  return new Map(
    names
      .filter((name) => name !== "")
      .map((name) => [name, git("log", "-1", "--format=%H", commit, "--", path === "" ? name : `${path}/${name}`)]),
  );
}

t.test("the same as git log for each entry, over branches and merges", async (t) => {
  // Dates differ, so that git has one order.
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
  const paths = ["a", "b c", "d/é", "d/f", "d/g/h", "d/g/i", "x40000 d"];
  source.commit({ branch: "main", files: Object.fromEntries(paths.map((path) => [path, "0\n"])) });
  source.git("branch", "side", "main");
  for (let at = 1; at <= 40; at++) {
    const branch = random(2) === 0 ? "main" : "side";
    const path = paths[random(paths.length)];
    source.commit({
      branch,
      message: `${at}`,
      files: { [path]: random(9) === 0 ? { executable: `${at}\n` } : `${at % 5}\n` },
    });
    if (at % 8 !== 0) continue;
    const [one, other] = [git("rev-parse", "main"), git("rev-parse", "side")];
    const tree = git("rev-parse", `${random(2) === 0 ? one : other}^{tree}`);
    const date = `${1_800_000_000 + at} +0000`;
    const merge = execFileSync("git", ["-C", source.path, "commit-tree", tree, "-p", one, "-p", other, "-m", "merge"], {
      env: {
        ...process.env,
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_DATE: date,
        GIT_AUTHOR_NAME: "a",
        GIT_AUTHOR_EMAIL: "a",
        GIT_COMMITTER_NAME: "a",
        GIT_COMMITTER_EMAIL: "a",
      },
      encoding: "utf8",
    }).trim();
    source.git("update-ref", "refs/heads/main", merge);
  }
  const head = git("rev-parse", "main");
  for (const path of ["", "d", "d/g"]) t.same(await lastCommits(head, path), expected(head, path), `of "${path}"`);
  t.same(await lastCommits(head, "none"), new Map(), "of a directory that is not there");
});

t.test("the time ends also between the parents of one commit, and a later walk goes on there", async (t) => {
  const base = source.commit({ branch: "wide", files: { a: "0\n", b: "0\n", c: "0\n" } });
  const heads = ["a", "b", "c"].map((name) => {
    source.updateRef(`refs/heads/wide-${name}`, base);
    return source.commit({ branch: `wide-${name}`, files: { [name]: "1\n" } });
  });
  const last = source.commit({ branch: "wide", files: { a: "1\n", b: "1\n", c: "1\n" } });
  const people = ["AUTHOR", "COMMITTER"].flatMap((who) => [
    [`GIT_${who}_NAME`, "a"],
    [`GIT_${who}_EMAIL`, "a"],
  ]);
  const merge = execFileSync(
    "git",
    ["-C", source.path, "commit-tree", `${last}^{tree}`, ...heads.flatMap((head) => ["-p", head]), "-m", "merge"],
    { encoding: "utf8", env: { ...process.env, ...(Object.fromEntries(people) as Record<string, string>) } },
  ).trim();
  const names = ["a", "b", "c"];
  const first = await readLastCommits(source.path, "", [{ commit: merge, names }], 0, neverStop);
  t.same(first, {
    found: [],
    left: [
      { commit: heads[0], names: ["a"] },
      { commit: merge, names: ["b", "c"], parentsSeen: 1 },
    ],
  });
  t.same(await lastCommits(merge, ""), expected(merge, ""));
});

t.test("a walk is stopped, and a commit that is not there is said", async (t) => {
  const head = source.commit({ branch: "other", files: { a: "1\n" } });
  const from = [{ commit: head, names: ["a"] }];
  await t.rejects(
    readLastCommits(source.path, "", from, 1000, () => true),
    { code: "cancelled" },
  );
  const missing = [{ commit: "1".repeat(40), names: ["a"] }];
  await t.rejects(readLastCommits(source.path, "", missing, 1000, neverStop), /cannot be read/);
});

t.test("the names of a directory are bounded in number, in bytes each and together", async (t) => {
  const blob = source.git("hash-object", "-w", "/dev/null").trim();
  const commitNames = (names: readonly string[]): string => {
    const lines = names.map((name) => `100644 blob ${blob}\t${name}\n`);
    const input = { encoding: "utf8", input: lines.join("") } as const;
    const tree = execFileSync("git", ["-C", source.path, "mktree"], input).trim();
    return git("-c", "user.name=a", "-c", "user.email=a", "commit-tree", tree, "-m", "names");
  };
  const numbered = (count: number, length: number): string[] =>
    Array.from({ length: count }, (_, i) => String(i).padStart(length, "n"));
  const found = async (names: readonly string[]) => {
    const [entries] = await findEntries(source.path, commitNames(names), "", neverStop);
    return entries?.names ?? [];
  };
  t.same(await found(["a", "b".repeat(4_097), "c".repeat(4_096)]), ["a", "c".repeat(4_096)]);
  t.equal((await found(numbered(5_001, 8))).length, 5_000);
  t.equal((await found(numbered(300, 4_096))).length, 256);
});
