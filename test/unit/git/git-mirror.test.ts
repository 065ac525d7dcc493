import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parseProgress } from "../../../src/git/run/fetch-watch.js";
import { Mirror } from "../../../src/git/mirror/mirror.js";
import { listTree } from "../../../src/git/objects/objects.js";
import { parseRemoteUrl } from "../../../src/git/run/remote-url.js";
import { neverStop } from "../../../src/git/run/run.js";
import {
  errorOf,
  fixture,
  isWhole,
  mirrorOf,
  openMirror,
  printSync,
  testMirrorOptions,
} from "../../support/git-mirror.js";

for (const kind of ["path, bare", "path, worktree", "file URL", "sha256", "path, each sync requested"] as const) {
  t.test(`the life cycle of a repository: ${kind}`, async (t) => {
    const isRequested = kind === "path, each sync requested";
    const source = fixture(t, kind === "path, worktree" ? "worktree" : "bare", kind === "sha256" ? "sha256" : "sha1");
    const mirror = await openMirror(source, kind === "file URL" ? `file://${source.path}` : source.path);
    const sync = async (): Promise<string> => printSync(await mirror.sync(neverStop, isRequested));

    t.equal(await sync(), "same null [] []", "empty repository");
    const first = source.commit({ branch: "main", files: { a: "1" } });
    t.equal(await sync(), "changed main [main] []", "first commit");
    t.equal(await sync(), "same main [main] []", "nothing new");
    const second = source.commit({ branch: "main", files: { a: "2" } });
    const state = await mirror.sync(neverStop, isRequested);
    t.match(state, { changed: true, headCommit: second }, "second commit");
    t.equal(state.branches.get("main"), second);

    source.commit({ branch: "topic/x", files: { b: "1" } });
    source.tag("light", first);
    source.annotatedTag("heavy", first);
    t.equal(await sync(), "changed main [main,topic/x] [heavy,light]", "branch and tags");
    t.equal((await mirror.state(neverStop)).tags.get("heavy"), first, "an annotated tag stands for its commit");

    source.deleteBranch("topic/x");
    source.commit({ branch: "topic", files: { b: "1" } });
    t.equal(await sync(), "changed main [main,topic] [heavy,light]", "topic in place of topic/x");
    source.git("update-ref", "-d", "refs/tags/light");
    t.equal(await sync(), "changed main [main,topic] [heavy]", "deleted tag");

    const forced = source.commit({ branch: "main", files: { c: "1" }, orphan: true });
    t.match(await mirror.sync(neverStop, isRequested), { changed: true, headCommit: forced }, "force-push");

    source.git("branch", "-m", "main", "trunk");
    source.setHead("trunk");
    t.equal(await sync(), "changed trunk [topic,trunk] [heavy]", "renamed default branch");
    t.equal(readFileSync(join(mirror.directory, "HEAD"), "utf8"), "ref: refs/heads/trunk\n");
    source.setHead("topic");
    t.equal(await sync(), "changed topic [topic,trunk] [heavy]", "another default branch, no new commit");
    source.setHead("unborn");
    t.equal(
      await sync(),
      "changed topic [topic,trunk] [heavy]".replace("changed", "same"),
      "a HEAD that names nothing",
    );
    t.ok(await isWhole(mirror));
    t.notOk(existsSync(join(mirror.directory, "FETCH_HEAD")));
  });
}

for (const isRequested of [false, true]) {
  t.test(`a detached HEAD, with and without branches${isRequested ? ", each sync requested" : ""}`, async (t) => {
    const source = fixture(t, "worktree");
    const first = source.commit({ branch: "main", files: { a: "1" } });
    const second = source.commit({ branch: "main", files: { a: "2" } });
    source.detachHead(first);
    const mirror = await openMirror(source);
    t.match(await mirror.sync(neverStop, isRequested), { changed: true, defaultBranch: null, headCommit: first });
    t.equal((await mirror.sync(neverStop, isRequested)).changed, false);
    source.detachHead(second);
    source.deleteBranch("main");
    const gone = await mirror.sync(neverStop, isRequested);
    t.match(gone, { changed: true, defaultBranch: null, headCommit: second });
    t.equal(gone.branches.size, 0);
    t.equal((await mirror.sync(neverStop, isRequested)).changed, false);
    t.equal((await listTree(mirror.directory, second, "without-sizes", neverStop)).length, 1);
  });
}

t.test("unusual ref names", async (t) => {
  const source = fixture(t);
  const commit = source.commit({ branch: "main", files: { a: "1" } });
  const names = ["-h", "--upload-pack=touch x", "größe", "a/b", "HEAD", "x;y", "$(z)", "'q'"].map((name) =>
    name.replace(" ", "+"),
  );
  for (const name of names) source.updateRef(`refs/heads/${name}`, commit);
  source.updateRef("refs/pull/1/head", commit);
  writeFileSync(join(source.path, "packed-refs"), Buffer.from(`${commit} refs/heads/caf\xe9\n`, "latin1"));
  const mirror = await mirrorOf(source);
  const { branches, changed } = await mirror.sync(neverStop);
  t.strictSame([...branches.keys()].sort(), [...names, "main"].sort(), "all but the one that is not UTF-8");
  t.equal(changed, false, "which is mirrored all the same");
});

t.test("a source that cannot simply be copied", async (t) => {
  const origin = fixture(t);
  origin.commit({ branch: "main", files: { a: "1" } });
  origin.commit({ branch: "main", files: { a: "2" } });
  const clones: readonly (readonly [name: string, args: string[]])[] = [
    ["borrows objects", ["--shared"]],
    ["shallow", ["--depth=1"]],
  ];
  for (const [name, args] of clones) {
    const source = origin.sibling(name);
    origin.git("clone", "-q", ...args, `file://${origin.path}`.slice(args[0] === "--shared" ? 7 : 0), source);
    const mirror = await Mirror.open(`${source}.mirror`, parseRemoteUrl(source), testMirrorOptions);
    t.equal(printSync(await mirror.sync(neverStop)), "changed main [main] []", name);
    t.notOk(existsSync(join(mirror.directory, "objects/info/alternates")), `${name}: nothing is borrowed`);
    t.ok(await isWhole(mirror), name);
  }
});

t.test("a source that belongs to another user", { skip: process.getuid?.() !== 0 && "needs root" }, async (t) => {
  for (const kind of ["bare", "worktree"] as const) {
    const source = fixture(t, kind);
    source.commit({ branch: "main", files: { a: "1" } });
    execFileSync("chown", ["-R", "65534:65534", source.path]);
    const mirror = await mirrorOf(source);
    source.commit({ branch: "main", files: { a: "2" } });
    t.equal(printSync(await mirror.sync(neverStop)), "changed main [main] []", kind);
    execFileSync("chown", ["-R", "65534:65534", mirror.directory]);
    t.equal(
      printSync(await (await openMirror(source)).sync(neverStop)),
      "same main [main] []",
      `${kind}, and so does the mirror`,
    );
    t.ok(await isWhole(mirror));
  }
});

t.test("a source that disappears does not change the mirror", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "1" } });
  const mirror = await mirrorOf(source);
  renameSync(source.path, `${source.path}.away`);
  const error = await errorOf(mirror.sync(neverStop));
  t.equal(error.code, "git");
  t.match(
    error.message,
    /cannot read .*source: there is no such repository at .*git ls-remote failed: .*does not (exist|appear to be)/s,
  );
  t.ok(await isWhole(mirror));
  renameSync(`${source.path}.away`, source.path);
  t.equal(printSync(await mirror.sync(neverStop)), "same main [main] []");
});

t.test("a mirror of a corrupt source takes what can be read, and keeps what it has", async (t) => {
  const source = fixture(t);
  const lose = (revision: string): void => {
    const oid = source.git("rev-parse", revision);
    rmSync(join(source.path, "objects", oid.slice(0, 2), oid.slice(2)));
  };
  const has = (revision: string): boolean =>
    execFileSync("git", ["-C", mirror.directory, "cat-file", "--batch-check"], {
      input: `${revision}\n`,
      encoding: "latin1",
    }).includes(" blob ");
  source.commit({ branch: "main", files: { a: "1" } });
  const mirror = await mirrorOf(source);
  t.equal(mirror.isIncomplete, false);
  source.commit({ branch: "main", files: { b: "2", c: "3" } });
  lose("main:a");
  lose("main:b");
  t.equal(printSync(await mirror.sync(neverStop)), "changed main [main] []");
  t.same([has("main:a"), has("main:b"), has("main:c")], [true, false, true]);
  t.equal(mirror.isIncomplete, true);
  const again = await mirror.sync(neverStop);
  t.same(
    [printSync(again), again.recreated],
    ["same main [main] []", false],
    "nothing is done while the source stays as it is",
  );
  execFileSync("git", ["-C", source.path, "hash-object", "-w", "--stdin"], { input: "1" });
  execFileSync("git", ["-C", source.path, "hash-object", "-w", "--stdin"], { input: "2" });
  const repaired = await mirror.sync(neverStop);
  t.same([printSync(repaired), repaired.recreated, mirror.isIncomplete], ["same main [main] []", true, false]);
  t.ok(await isWhole(mirror));
});

t.test("no code of the source is executed", async (t) => {
  const source = fixture(t);
  source.commit({
    branch: "main",
    files: {
      a: "1",
      ".gitattributes": "* filter=x",
      ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::touch\n',
    },
  });
  const witness = source.sibling("owned");
  const command = `touch ${witness}`;
  for (const key of [
    "core.fsmonitor",
    "core.sshCommand",
    "uploadpack.packObjectsHook",
    "core.alternateRefsCommand",
    "filter.x.smudge",
    "credential.helper",
    "core.gitProxy",
  ]) {
    source.git("config", key, command);
  }
  for (const hook of ["post-checkout", "reference-transaction", "pre-auto-gc", "post-update"]) {
    const path = join(source.path, "hooks", hook);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n${command}\n`);
    chmodSync(path, 0o755);
  }
  for (const url of [source.path, `file://${source.path}`]) {
    const mirror = await openMirror(source, url);
    await mirror.recreate();
    await mirror.sync(neverStop);
    t.notOk(existsSync(witness), "by a first fetch");
    source.git("update-ref", "refs/heads/own", source.commit({ branch: "main", files: { a: url } }));
    t.ok(existsSync(witness), "a commit in the source itself does run its hook");
    rmSync(witness);
    await mirror.sync(neverStop);
    await mirror.repack(neverStop);
    t.notOk(existsSync(join(mirror.directory, "hooks")));
    t.notOk(existsSync(witness), "by a later fetch");
  }
});

t.test("a directory that cannot be written", async (t) => {
  const source = fixture(t);
  writeFileSync(source.sibling("file"), "");
  const open = Mirror.open(join(source.sibling("file"), "mirror"), parseRemoteUrl(source.path), testMirrorOptions);
  t.equal((await errorOf(open)).code, "storage");
});

t.test("progress", async (t) => {
  const cases: readonly (readonly [line: string, expected: string])[] = [
    ["remote: Counting objects:  40% (4/10)", "Counting objects 40"],
    ["Receiving objects: 100% (10/10), 1.20 MiB | 3.00 MiB/s, done.", "Receiving objects 100"],
    ["remote: Enumerating objects: 12, done.", "Enumerating objects null"],
    ["fatal: not a git repository: 12", "none"],
    [" * [new branch] main -> main", "none"],
  ];
  for (const [line, expected] of cases) {
    const progress = parseProgress(line);
    t.equal(progress === null ? "none" : `${progress.phase} ${progress.percent}`, expected, line);
  }
  const source = fixture(t);
  source.commit({
    branch: "main",
    files: Array.from({ length: 300 }, (_, index) => [`f${index}`, String(index)] as const),
  });
  const phases = new Set<string>();
  const options = { ...testMirrorOptions, onProgress: ({ phase }: { phase: string }) => void phases.add(phase) };
  const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl(source.path), options);
  await mirror.sync(neverStop);
  source.commit({
    branch: "main",
    files: Array.from({ length: 300 }, (_, index) => [`f${index}`, `${index}+`] as const),
  });
  await mirror.sync(neverStop);
  t.ok(phases.has("Counting objects"), [...phases].join());
});
