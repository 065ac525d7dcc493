/** Uncommitted files of a folder, which may be hostile, become a commit of the mirror. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import {
  captureWorkingCopy,
  dropWorkingCopy,
  knownWorkingCopy,
  workingCopyLimits,
} from "../../../src/git/mirror/working-copy.js";
import type { RefState } from "../../../src/git/objects/refs.js";
import { neverStop } from "../../../src/git/run/run.js";
import { withWorkingCopy } from "../../../src/worker/ingest/mirror-fetch.js";

const limits = { ...workingCopyLimits, memoryBytesMax: 1 << 30, reserveBytes: 0 };

/** A checkout with two commits' worth of files, and a bare copy of it. */
function checkout(t: Test) {
  const root = t.testdir({ secret: "not of the folder\n", folder: {} });
  const folder = join(root, "folder");
  const dataFolder = join(root, "data");
  const mirror = join(dataFolder, "mirror.git");
  mkdirSync(dataFolder);
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
    captureWorkingCopy(mirror, { folder, dataFolder }, head, { ...limits, ...changes }, neverStop);
  const inMirror = (...args: string[]): string => execFileSync("git", ["-C", mirror, ...args], { encoding: "utf8" });
  /** What a commit changes. */
  const changes = (commit: string): string[] =>
    inMirror("diff", "--no-renames", "--name-status", "-z", head, commit)
      .split("\0")
      .slice(0, -1)
      .flatMap((text, i, all) => (i % 2 === 0 ? [`${text} ${all[i + 1]}`] : []));
  return { root, folder, dataFolder, mirror, git, write, head, capture, inMirror, changes };
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
  const { mirror, folder, dataFolder, git, write, capture, inMirror } = checkout(t);
  write("a.txt", "two\n");
  write("b.txt", "two\n");
  await capture();
  git("add", "a.txt");
  git("commit", "-qm", "two");
  execFileSync("git", ["-C", mirror, "fetch", "-q", folder, "+main:main"]);
  const head = git("rev-parse", "HEAD").trim();
  const { commit } = await captureWorkingCopy(mirror, { folder, dataFolder }, head, limits, neverStop);
  t.equal(inMirror("diff", "--name-only", head, commit), "b.txt\n");
  execFileSync("git", ["-C", mirror, "update-ref", "-d", "refs/working-copy"]);
  t.equal(await knownWorkingCopy(mirror, neverStop), undefined, "a mirror that was made anew");
  t.equal((await captureWorkingCopy(mirror, { folder, dataFolder }, head, limits, neverStop)).commit, commit);
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
  // The path of a socket has 107 bytes at most.
  const short = join(mkdtempSync(join(tmpdir(), "w-")), "f");
  symlinkSync(folder, short);
  const socket = createServer().listen(join(short, "socket"));
  t.teardown(() => {
    socket.close();
    rmSync(dirname(short), { recursive: true });
  });
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
  await t.rejects(capture(), { code: "git", message: /the working copy cannot be read: .*ENOENT/ });
});

t.test("what is ignored in one copy only", async (t) => {
  const { root, folder, mirror, dataFolder, git, head, capture, changes } = checkout(t);
  const exclude = join(folder, ".git/info/exclude");
  writeFileSync(exclude, "/private.txt\n");
  const captureIn = async (tree: string) => {
    writeFileSync(join(tree, "private.txt"), "ignored here\n");
    writeFileSync(join(tree, "new.txt"), "new\n");
    const { commit } = await captureWorkingCopy(mirror, { folder: tree, dataFolder }, head, limits, neverStop);
    return changes(commit);
  };
  await t.test("a work tree of another repository", async (t) => {
    git("worktree", "add", "-q", "--detach", join(root, "second"));
    t.same(await captureIn(join(root, "second")), ["A new.txt"]);
  });
  await t.test("a repository whose folder is elsewhere, as that of a submodule", async (t) => {
    const third = join(root, "third");
    execFileSync("git", ["clone", "-q", `--separate-git-dir=${join(root, "third.git")}`, folder, third]);
    writeFileSync(join(root, "third.git/info/exclude"), "/private.txt\n");
    t.same(await captureIn(third), ["A new.txt"]);
    rmSync(join(third, ".git"));
    symlinkSync(join(root, "third.git"), join(third, ".git"));
    t.same(await captureIn(third), ["A new.txt"], "a link");
  });
  t.same(await captureIn(folder), ["A new.txt"]);
  const refused = async (t: Test, reason: RegExp) => {
    await t.rejects(capture(), { code: "git", message: reason }, "and the copy before stays");
    t.ok(await knownWorkingCopy(mirror, neverStop));
    rmSync(exclude);
  };
  await t.test("a file that is too large", async (t) => {
    writeFileSync(exclude, `/private.txt\n${"#".repeat(64 << 10)}\n`);
    await refused(t, /info\/exclude cannot be told: .* larger than 64 KiB/);
  });
  await t.test("a pipe", async (t) => {
    execFileSync("mkfifo", [exclude]);
    await refused(t, /info\/exclude is not a plain file/);
  });
  await t.test("a link", async (t) => {
    symlinkSync(join(root, "secret"), exclude);
    await refused(t, /ELOOP/);
  });
  t.same(await captureIn(folder), ["A new.txt", "A private.txt"], "there is none");
});

t.test("a folder that becomes a link, and one in the data directory", async (t) => {
  const { root, folder, dataFolder, mirror, head, write, capture, changes } = checkout(t);
  const inside = join(folder, "data");
  write("data/other.git/secret.txt", "not of the folder\n");
  write("new.txt", "new\n");
  const { commit } = await captureWorkingCopy(mirror, { folder, dataFolder: inside }, head, limits, neverStop);
  t.same(changes(commit), ["A new.txt"], "nothing of a data directory within it");
  renameSync(folder, join(root, "private"));
  symlinkSync(join(root, "private"), folder);
  await t.rejects(capture(), { code: "git", message: /the working copy cannot be read: ELOOP|ENOTDIR/ });
  rmSync(folder);
  mkdirSync(folder);
  const parent = join(root, "parent");
  symlinkSync(root, parent);
  await t.rejects(
    captureWorkingCopy(mirror, { folder: join(parent, "private"), dataFolder }, head, limits, neverStop),
    { code: "git", message: /has become a link/ },
  );
  await t.rejects(captureWorkingCopy(mirror, { folder, dataFolder: root }, head, limits, neverStop), {
    code: "forbidden",
    message: /in the data directory/,
  });
});

t.test("a tracked file that becomes a folder, and a submodule", async (t) => {
  const { folder, dataFolder, mirror, git, write, inMirror } = checkout(t);
  git("clone", "-q", folder, join(folder, "sub"));
  git("-c", "advice.addEmbeddedRepo=false", "add", "sub");
  git("commit", "-qm", "with a submodule");
  execFileSync("git", ["-C", mirror, "fetch", "-q", folder, "+main:main"]);
  const head = git("rev-parse", "HEAD").trim();
  execFileSync("git", [
    ...["-C", join(folder, "sub"), "-c", "user.name=a", "-c", "user.email=b"],
    ...["commit", "-q", "--allow-empty", "-m", "more"],
  ]);
  const odd = 'odd "name"\\\n.txt';
  for (const path of ["a.txt", "größe.txt", odd]) {
    rmSync(join(folder, path));
    mkdirSync(join(folder, path));
  }
  write("a.txt/new.txt", "new\n");
  const { commit } = await captureWorkingCopy(mirror, { folder, dataFolder }, head, limits, neverStop);
  t.same(inMirror("diff", "--no-renames", "--name-status", "-z", head, commit).split("\0").slice(0, -1), [
    "D",
    "a.txt",
    "A",
    "a.txt/new.txt",
    "D",
    "größe.txt",
    "D",
    odd,
  ]);
  t.equal(
    execFileSync("git", ["-C", mirror, "ls-tree", commit, "sub"], { encoding: "utf8" }),
    execFileSync("git", ["-C", mirror, "ls-tree", head, "sub"], { encoding: "utf8" }),
    "the submodule is as in HEAD",
  );
});

t.test("a branch of that name", (t) => {
  const commit = (digit: string) => digit.repeat(40);
  const state: RefState = {
    defaultBranch: "main",
    headCommit: commit("1"),
    isHeadKnown: true,
    headRef: null,
    branches: new Map([["main", commit("1")]]),
    tags: new Map(),
  };
  const own = withWorkingCopy(state, commit("2"));
  t.same([...own.branches.keys()], ["main", "working-copy"]);
  t.equal(withWorkingCopy(own, commit("3")), own, "a branch comes first");
  t.end();
});

t.test("what is stored of changes", async (t) => {
  const { mirror, write, capture, inMirror } = checkout(t);
  const stateFile = join(mirror, "working-copy-state");
  const readState = () =>
    JSON.parse(readFileSync(stateFile, "utf8")) as {
      day: { date: string; byteCount: number };
      files: { blob: string }[];
    };
  const storedBytes = () => readState().day.byteCount;
  write("a.txt", "x".repeat(1000));
  write("b.txt", "y".repeat(1000));
  await capture();
  t.equal(storedBytes(), 2000);
  write("a.txt", "z".repeat(10));
  const { commit } = await capture();
  t.equal(storedBytes(), 2010, "only what has changed");
  t.equal(inMirror("show", `${commit}:a.txt`) + inMirror("show", `${commit}:b.txt`), "z".repeat(10) + "y".repeat(1000));
  await t.test("more than is stored in a day, and the next day", async (t) => {
    write("a.txt", "w".repeat(500));
    write("new.txt", "n".repeat(500));
    const late = await capture({ dayBytesMax: 2100 });
    t.equal(late.commit, commit, "as it was");
    t.match(late.warnings, [/without 2 files that changed after 0 MiB of changed files were stored on this day/]);
    t.same(await capture({ dayBytesMax: 2100 }), late);
    writeFileSync(stateFile, JSON.stringify({ ...readState(), day: { date: "2020-01-01", byteCount: 2010 } }));
    const next = await capture({ dayBytesMax: 2100 });
    t.same(next.warnings, [], "what was left out for a reason that passes is read again though nothing has changed");
    t.equal(inMirror("show", `${next.commit}:a.txt`), "w".repeat(500));
  });
  await t.test("an object that the mirror has lost", async (t) => {
    const lost = readState();
    for (const file of lost.files) file.blob = "1".repeat(40);
    writeFileSync(stateFile, JSON.stringify(lost));
    write("new.txt", "another\n");
    await t.rejects(capture(), { code: "git", message: /fast-import failed/ });
    t.same(
      readdirSync(mirror).filter((name) => name.includes("crash")),
      [],
      "no reports of git",
    );
    const { commit, warnings } = await capture();
    t.same(warnings, []);
    t.equal(inMirror("show", `${commit}:new.txt`), "another\n");
  });
});

t.test("a private index that is damaged", async (t) => {
  const { folder, dataFolder, mirror, git, write, capture, inMirror } = checkout(t);
  write("b.txt", "two\n");
  const { commit } = await capture();
  const index = join(mirror, "working-copy-index");
  truncateSync(index, 50);
  t.same(await capture(), { commit, warnings: [] });
  t.same(await capture(), { commit, warnings: [] });
  git("add", "b.txt");
  git("commit", "-qm", "two");
  execFileSync("git", ["-C", mirror, "fetch", "-q", folder, "+main:main"]);
  const head = git("rev-parse", "HEAD").trim();
  truncateSync(index, 50);
  write("a.txt", "two\n");
  const next = await captureWorkingCopy(mirror, { folder, dataFolder }, head, limits, neverStop);
  t.equal(inMirror("diff", "--name-only", head, next.commit), "a.txt\n", "for another commit");
});

t.test("names that git refuses", async (t) => {
  const { root, folder, write, capture, changes } = checkout(t);
  write("git~1/x", "x\n");
  write("dir/.git. /x", "x\n");
  write("new.txt", "new\n");
  symlinkSync(join(root, "secret"), join(folder, ".gitmodules"));
  const { commit, warnings } = await capture();
  t.same(changes(commit), ["A new.txt"]);
  t.match(warnings, [/without 3 files whose names git refuses, such as "\.gitmodules"/]);
});
