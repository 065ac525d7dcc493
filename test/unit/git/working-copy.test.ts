/** Uncommitted files of a folder, which may be hostile, become a commit of the mirror. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  captureWorkingCopy,
  dropWorkingCopy,
  knownWorkingCopy,
  workingCopyLimits,
} from "../../../src/git/mirror/working-copy.js";
import { neverStop } from "../../../src/git/run/run.js";

const limits = { ...workingCopyLimits, memoryBytesMax: 1 << 30, reserveBytes: 0 };

/** A checkout with two commits' worth of files, and a bare copy of it. */
function checkout(t: Test) {
  const root = t.testdir({ secret: "not of the folder\n", folder: {} });
  const folder = join(root, "folder");
  const mirror = join(root, "mirror.git");
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=b", ...args], { encoding: "utf8" });
  git("init", "-q", "-b", "main");
  for (const path of ["a.txt", "b.txt", "dir/c.txt", "run.sh", 'odd "name"\\\n.txt', "größe.txt"])
    write(path, `${path} one\n`);
  write(".gitignore", "*.log\n");
  git("add", "-A");
  git("commit", "-qm", "one");
  execFileSync("git", ["clone", "-q", "--bare", folder, mirror]);
  function write(path: string, text: string | Buffer): void {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const head = git("rev-parse", "HEAD").trim();
  const capture = (changes: Partial<typeof limits> = {}) =>
    captureWorkingCopy(mirror, folder, head, { ...limits, ...changes }, neverStop);
  const inMirror = (...args: string[]): string => execFileSync("git", ["-C", mirror, ...args], { encoding: "utf8" });
  /** What a commit changes. */
  const changes = (commit: string): string[] =>
    inMirror("diff", "--no-renames", "--name-status", "-z", head, commit)
      .split("\0")
      .slice(0, -1)
      .flatMap((text, i, all) => (i % 2 === 0 ? [`${text} ${all[i + 1]}`] : []));
  return { root, folder, mirror, git, write, head, capture, inMirror, changes };
}

t.test("changed, staged, untracked and deleted files", async (t) => {
  const { folder, mirror, git, write, head, capture, inMirror, changes } = checkout(t);
  t.same(await capture(), { commit: head, warnings: [] }, "nothing differs");
  write("a.txt", "two\n");
  write("staged.txt", "staged\n");
  git("add", "staged.txt");
  write("new/größe.txt", "untracked\n");
  write("new/x.log", "ignored\n");
  write('odd "name"\\\n.txt', "two\n");
  appendFileSync(join(folder, ".git/info/exclude"), "/private.txt\n");
  write("private.txt", "ignored here\n");
  rmSync(join(folder, "b.txt"));
  chmodSync(join(folder, "run.sh"), 0o755);
  rmSync(join(folder, "dir"), { recursive: true });
  write("dir", "a file by now\n");
  const before = git("status", "--porcelain");
  const { commit, warnings } = await capture();
  t.same(warnings, []);
  t.same(changes(commit), [
    "M a.txt",
    "D b.txt",
    "A dir",
    "D dir/c.txt",
    "A new/größe.txt",
    'M odd "name"\\\n.txt',
    "M run.sh",
    "A staged.txt",
  ]);
  t.equal(inMirror("show", `${commit}:new/größe.txt`), "untracked\n");
  t.equal(inMirror("rev-parse", "working-copy", `${commit}^`), `${commit}\n${head}\n`);
  t.match(inMirror("log", "-1", "--format=%an %s", commit), /working copy Uncommitted files of the working copy/);
  t.equal(git("status", "--porcelain"), before, "the folder is as it was");
  t.same(await capture(), { commit, warnings: [] }, "the same again");
  write("a.txt", "two\n");
  t.equal((await capture()).commit, commit, "another time and the same contents are the same commit");
  write("a.txt", "six\n");
  t.not((await capture()).commit, commit, "a change of the same length");
  git("add", "-A");
  git("stash", "-q");
  rmSync(join(folder, "private.txt"));
  t.equal((await capture()).commit, head, "put aside");
  t.equal(await knownWorkingCopy(mirror, neverStop), head);
  await dropWorkingCopy(mirror, neverStop);
  t.equal(await knownWorkingCopy(mirror, neverStop), undefined);
  t.throws(() => inMirror("rev-parse", "--verify", "--quiet", "working-copy"));
});

t.test("a new commit below the changes", async (t) => {
  const { mirror, folder, git, write, capture, inMirror } = checkout(t);
  write("a.txt", "two\n");
  write("b.txt", "two\n");
  await capture();
  git("add", "a.txt");
  git("commit", "-qm", "two");
  execFileSync("git", ["-C", mirror, "fetch", "-q", folder, "+main:main"]);
  const head = git("rev-parse", "HEAD").trim();
  const { commit } = await captureWorkingCopy(mirror, folder, head, limits, neverStop);
  t.equal(inMirror("diff", "--name-only", head, commit), "b.txt\n");
  execFileSync("git", ["-C", mirror, "update-ref", "-d", "refs/working-copy"]);
  t.equal(await knownWorkingCopy(mirror, neverStop), undefined, "a mirror that was made anew");
  t.equal((await captureWorkingCopy(mirror, folder, head, limits, neverStop)).commit, commit);
});

t.test("a hostile folder", async (t) => {
  const { root, folder, git, write, capture, inMirror, changes } = checkout(t);
  const marker = join(root, "was-run");
  const program = join(root, "program");
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> ${marker}\ncat\n`, { mode: 0o755 });
  for (const [name, value] of [
    ["core.fsmonitor", program],
    ["core.hooksPath", root],
    ["core.worktree", root],
    ["filter.x.clean", program],
    ["filter.x.process", program],
    ["filter.x.required", "true"],
    ["core.pager", program],
    ["core.attributesFile", join(root, "secret")],
    ["core.excludesFile", "/dev/zero"],
    ["diff.external", program],
  ])
    execFileSync("git", ["config", "-f", join(folder, ".git/config"), name, value]);
  write(".gitattributes", "* filter=x\n");
  write("a.txt", "two\n");
  // A repository within it, with a monitor of its own, and one that is a submodule of HEAD would be read by git status.
  execFileSync("git", ["init", "-q", join(folder, "nested")]);
  execFileSync("git", ["config", "-f", join(folder, "nested/.git/config"), "core.fsmonitor", program]);
  write("nested/n.txt", "nested\n");
  symlinkSync(join(root, "secret"), join(folder, "out"));
  rmSync(join(folder, "dir"), { recursive: true });
  mkdirSync(join(root, "elsewhere"));
  writeFileSync(join(root, "elsewhere/c.txt"), "not of the folder\n");
  symlinkSync(join(root, "elsewhere"), join(folder, "dir"));
  execFileSync("mkfifo", [join(folder, "pipe")]);
  rmSync(join(folder, "b.txt"));
  execFileSync("mkfifo", [join(folder, "b.txt")]);
  const socket = createServer().listen(join(folder, "socket"));
  t.teardown(() => socket.close());
  write("large.bin", Buffer.alloc(3 << 20));
  const { commit, warnings } = await capture({ fileBytesMax: 2 << 20 });
  t.same(changes(commit), ["A .gitattributes", "M a.txt", "D b.txt", "A dir", "D dir/c.txt", "A out"]);
  t.equal(inMirror("ls-tree", commit, "out").slice(0, 6), "120000");
  t.equal(inMirror("show", `${commit}:out`), join(root, "secret"), "a link is its target, not what is there");
  t.notMatch(inMirror("log", "-p", commit), "not of the folder");
  t.same(warnings, ['the working copy is indexed without 1 files larger than 2 MiB, such as "large.bin"']);
  t.notOk(existsSync(marker), existsSync(marker) ? readFileSync(marker, "utf8") : "nothing of the folder was run");
  t.equal(readFileSync(join(folder, "nested/.git/config"), "utf8").includes("fsmonitor"), true);
  void git;
});

t.test("limits", async (t) => {
  const { folder, write, capture, changes } = checkout(t);
  for (let i = 0; i < 9; i++) write(`new${i}.txt`, "1234567890");
  const few = await capture({ fileCountMax: 4 });
  t.equal(changes(few.commit).length, 4);
  t.match(few.warnings, [/without 5 files beyond the first 4 that differ, such as "new4/]);
  write("new0.txt", "1234567891");
  const small = await capture({ totalBytesMax: 35 });
  t.equal(changes(small.commit).length, 3);
  t.match(small.warnings, [/without 6 files beyond 0 MiB of files that differ/]);
  renameSync(folder, `${folder}2`);
  await t.rejects(capture(), { code: "git", message: /the working copy cannot be read: ENOENT/ });
});
