import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { monotonicMs } from "../src/base/deadline.js";
import { TrawlError } from "../src/base/errors.js";
import { BlobReader } from "../src/git/blob-reader.js";
import { parseProgress } from "../src/git/fetch-progress.js";
import { Mirror, type SyncResult } from "../src/git/mirror.js";
import { listTree } from "../src/git/objects.js";
import { parseRemoteUrl } from "../src/git/remote-url.js";
import { neverStop } from "../src/git/run.js";
import { GitFixture } from "./support/git-fixture.js";
import { mirrorOf, openMirror, testMirrorOptions } from "./support/git-mirror.js";

function fixture(t: Test, kind: "bare" | "worktree" = "bare", format: "sha1" | "sha256" = "sha1"): GitFixture {
  const repository = GitFixture.create(kind, format);
  t.teardown(() => repository.remove());
  return repository;
}

/** A sync in one line: what changed, the default branch, then branches and tags by name. */
function printSync({ changed, defaultBranch, branches, tags }: SyncResult): string {
  const names = (map: ReadonlyMap<string, string>): string => [...map.keys()].sort().join(",");
  return `${changed ? "changed" : "same"} ${defaultBranch} [${names(branches)}] [${names(tags)}]`;
}

async function errorOf(work: Promise<unknown>): Promise<TrawlError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof TrawlError) return error;
  throw error ?? new TrawlError("internal", "no error");
}

/** Every file of every branch can be read. */
async function isWhole(mirror: Mirror): Promise<boolean> {
  const { branches } = await mirror.state(neverStop);
  const reader = new BlobReader({ directory: mirror.directory, contentBytesMax: 1 << 20, silenceMs: 10_000, stop: neverStop });
  let missing = 0;
  for (const commit of branches.values()) {
    const entries = await listTree(mirror.directory, commit, "without-sizes", neverStop);
    await reader.read(entries.map(({ oid }) => oid), (_, { kind }) => {
      if (kind === "missing") missing++;
    });
  }
  reader.close();
  return missing === 0 && branches.size > 0;
}

for (const kind of ["path, bare", "path, worktree", "file URL", "sha256"] as const) {
  t.test(`the life of a repository: ${kind}`, async (t) => {
    const source = fixture(t, kind === "path, worktree" ? "worktree" : "bare", kind === "sha256" ? "sha256" : "sha1");
    const mirror = await openMirror(source, kind === "file URL" ? `file://${source.path}` : source.path);
    const sync = async (): Promise<string> => printSync(await mirror.sync(neverStop));

    t.equal(await sync(), "same null [] []", "empty repository");
    const first = source.commit({ branch: "main", files: { a: "1" } });
    t.equal(await sync(), "changed main [main] []", "first commit");
    t.equal(await sync(), "same main [main] []", "nothing new");
    const second = source.commit({ branch: "main", files: { a: "2" } });
    const state = await mirror.sync(neverStop);
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
    t.match(await mirror.sync(neverStop), { changed: true, headCommit: forced }, "force-push");

    source.git("branch", "-m", "main", "trunk");
    source.setHead("trunk");
    t.equal(await sync(), "changed trunk [topic,trunk] [heavy]", "renamed default branch");
    t.equal(readFileSync(join(mirror.directory, "HEAD"), "utf8"), "ref: refs/heads/trunk\n");
    source.setHead("topic");
    t.equal(await sync(), "changed topic [topic,trunk] [heavy]", "another default branch, no new commit");
    source.setHead("unborn");
    t.equal(await sync(), "changed topic [topic,trunk] [heavy]".replace("changed", "same"), "a HEAD that names nothing");
    t.ok(await isWhole(mirror));
    t.notOk(existsSync(join(mirror.directory, "FETCH_HEAD")));
  });
}

t.test("a detached HEAD, with and without branches", async (t) => {
  const source = fixture(t, "worktree");
  const first = source.commit({ branch: "main", files: { a: "1" } });
  const second = source.commit({ branch: "main", files: { a: "2" } });
  source.detachHead(first);
  const mirror = await openMirror(source);
  t.match(await mirror.sync(neverStop), { changed: true, defaultBranch: null, headCommit: first });
  t.equal((await mirror.sync(neverStop)).changed, false);
  source.detachHead(second);
  source.deleteBranch("main");
  const gone = await mirror.sync(neverStop);
  t.match(gone, { changed: true, defaultBranch: null, headCommit: second });
  t.equal(gone.branches.size, 0);
  t.equal((await mirror.sync(neverStop)).changed, false);
  t.equal((await listTree(mirror.directory, second, "without-sizes", neverStop)).length, 1);
});

t.test("strange names of refs", async (t) => {
  const source = fixture(t);
  const commit = source.commit({ branch: "main", files: { a: "1" } });
  const names = ["-h", "--upload-pack=touch x", "größe", "a/b", "HEAD", "x;y", "$(z)", "'q'"].map((name) => name.replace(" ", "+"));
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
    const mirror = await Mirror.open(`${source}.mirror`, parseRemoteUrl(source), testMirrorOptions, neverStop);
    t.equal(printSync(await mirror.sync(neverStop)), "changed main [main] []", name);
    t.notOk(existsSync(join(mirror.directory, "objects/info/alternates")), `${name}: nothing is borrowed`);
    t.ok(await isWhole(mirror), name);
  }
});

t.test("a source that belongs to somebody else", { skip: process.getuid?.() !== 0 && "needs root" }, async (t) => {
  for (const kind of ["bare", "worktree"] as const) {
    const source = fixture(t, kind);
    source.commit({ branch: "main", files: { a: "1" } });
    execFileSync("chown", ["-R", "65534:65534", source.path]);
    const mirror = await mirrorOf(source);
    source.commit({ branch: "main", files: { a: "2" } });
    t.equal(printSync(await mirror.sync(neverStop)), "changed main [main] []", kind);
    chownSync(source.path, 0, 0);
  }
});

t.test("a source that vanishes leaves the mirror as it is", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "1" } });
  const mirror = await mirrorOf(source);
  renameSync(source.path, `${source.path}.away`);
  const error = await errorOf(mirror.sync(neverStop));
  t.equal(error.code, "git");
  t.match(error.message, /cannot read .*source: git ls-remote failed: .*does not (exist|appear to be)/s);
  t.ok(await isWhole(mirror));
  renameSync(`${source.path}.away`, source.path);
  t.equal(printSync(await mirror.sync(neverStop)), "same main [main] []");
});

t.test("a corrupt source leaves the mirror as it is", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "1" } });
  const mirror = await mirrorOf(source);
  source.commit({ branch: "main", files: { b: "2" } });
  const blob = source.git("rev-parse", "main:b");
  rmSync(join(source.path, "objects", blob.slice(0, 2), blob.slice(2)));
  t.equal((await errorOf(mirror.sync(neverStop))).code, "git");
  t.ok(await isWhole(mirror));
});

t.test("a mirror damaged in any way is made whole again", async (t) => {
  const damages: readonly (readonly [name: string, damage: (directory: string, commit: string) => void])[] = [
    ["gone", (directory) => rmSync(directory, { recursive: true })],
    ["a file", (directory) => (rmSync(directory, { recursive: true }), writeFileSync(directory, "x"))],
    ["empty", (directory) => (rmSync(directory, { recursive: true }), mkdirSync(directory))],
    ["no HEAD", (directory) => rmSync(join(directory, "HEAD"))],
    ["torn HEAD", (directory) => writeFileSync(join(directory, "HEAD"), "ref: refs/hea")],
    ["no objects", (directory) => rmSync(join(directory, "objects"), { recursive: true })],
    ["objects emptied", (directory) => (rmSync(join(directory, "objects"), { recursive: true }), mkdirSync(join(directory, "objects")))],
    ["foreign config", (directory) => writeFileSync(join(directory, "config"), "[core]\n\tsshCommand = touch /tmp/owned\n")],
    ["empty ref", (directory) => writeFileSync(join(directory, "refs/heads/main"), "")],
    ["torn ref", (directory) => writeFileSync(join(directory, "refs/heads/main"), "0123")],
    ["ref to nothing", (directory) => writeFileSync(join(directory, "refs/heads/main"), `${"1".repeat(40)}\n`)],
    ["empty commit object", (directory, commit) => damageObject(directory, commit)],
  ];
  for (const [name, damage] of damages) {
    const source = fixture(t);
    source.commit({ branch: "main", files: { a: "1" } });
    const { directory } = await mirrorOf(source);
    const commit = source.commit({ branch: "main", files: { a: "2" } });
    await (await openMirror(source)).sync(neverStop);
    damage(directory, commit);
    const mirror = await openMirror(source);
    await mirror.sync(neverStop);
    t.equal((await mirror.state(neverStop)).branches.get("main"), commit, name);
    t.ok(await isWhole(mirror), `${name}: whole`);
    t.equal(printSync(await mirror.sync(neverStop)), "same main [main] []", `${name}: once`);
  }
});

t.test("recreate, for a caller that misses objects", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "1" } });
  const mirror = await mirrorOf(source);
  await mirror.recreate(neverStop);
  t.equal((await mirror.state(neverStop)).branches.size, 0);
  t.equal(printSync(await mirror.sync(neverStop)), "changed main [main] []");
  t.ok(await isWhole(mirror));
});

t.test("what a killed fetch leaves behind is removed", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "1" } });
  source.commit({ branch: "topic", files: { a: "1" } });
  const { directory } = await mirrorOf(source);
  const leftovers = [
    "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock", "gc.pid", "HEAD.tmp", "refs/heads/main.lock", "refs/heads/new.lock",
    "objects/pack/tmp_pack_abc", "objects/pack/tmp_idx_abc", "objects/pack/pack-1.keep", "objects/pack/.tmp-9-pack-1.pack",
    "objects/pack/multi-pack-index.lock", "objects/info/commit-graph.lock", "objects/tmp_objdir-incoming-x/pack/p",
    "objects/00/tmp_obj_abc", "../mirror.new/HEAD", "../mirror.old/HEAD",
  ];
  for (const name of leftovers) {
    const path = join(directory, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, "");
  }
  const latin1Lock = Buffer.from(`${directory}/refs/heads/caf\xe9.lock`, "latin1");
  writeFileSync(latin1Lock, "");
  source.commit({ branch: "main", files: { a: "2" } });
  const mirror = await openMirror(source);
  for (const name of leftovers) t.notOk(existsSync(join(directory, name)), name);
  t.notOk(existsSync(latin1Lock), "a lock whose name is not UTF-8");
  t.equal(printSync(await mirror.sync(neverStop)), "changed main [main,topic] []");
  t.ok(await isWhole(mirror));
});

t.test("a fetch killed at any point is mended", async (t) => {
  const source = fixture(t);
  const files = (round: number) => Array.from({ length: 150 }, (_, index) => [`f${index}`, `${round} ${"x".repeat(index * 50)}`] as const);
  source.commit({ branch: "main", files: files(0) });
  const { directory } = await mirrorOf(source);
  for (let round = 1; round <= 12; round++) {
    source.commit({ branch: "main", files: files(round) });
    source.commit({ branch: `b${round}`, files: { a: String(round) } });
    killSync(t, source, directory, round * 4);
  }
  const mirror = await openMirror(source);
  const { branches } = await mirror.sync(neverStop);
  t.equal(branches.size, 13);
  t.ok(await isWhole(mirror));
});

t.test("repacking keeps what readers need", async (t) => {
  const source = fixture(t);
  const contents: string[] = [];
  const mirror = await openMirror(source);
  for (let round = 0; round < 31; round++) {
    const files = Array.from({ length: 100 }, (_, index) => [`f${index}`, `${round} ${index}`] as const);
    contents.push(source.commit({ branch: "main", files, orphan: round % 7 === 0 }));
    await mirror.sync(neverStop);
  }
  const entries = (await Promise.all(contents.map((commit) => listTree(mirror.directory, commit, "without-sizes", neverStop)))).flat();
  const reader = new BlobReader({ directory: mirror.directory, contentBytesMax: 1 << 20, silenceMs: 10_000, stop: neverStop });
  let missing = 0;
  let repacked: Promise<boolean> | null = null;
  await reader.read(entries.map(({ oid }) => oid), async (index, { kind }) => {
    if (index === 100) repacked = mirror.maintain(neverStop);
    if (index === 2500) await repacked;
    if (kind !== "content") missing++;
  });
  reader.close();
  t.equal(await repacked, true, "31 packs are too many");
  t.equal(missing, 0, "a reader at work misses nothing");
  t.equal(await mirror.maintain(neverStop), false, "once");
  t.equal(readdirSync(join(mirror.directory, "objects/pack")).filter((name) => name.endsWith(".pack")).length, 1);
  t.equal((await listTree(mirror.directory, contents[0] ?? "", "without-sizes", neverStop)).length, 100, "a commit that a force-push took away");
  t.ok(await isWhole(mirror));
});

t.test("nothing of the source runs", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "1", ".gitattributes": "* filter=x", ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::touch\n' } });
  const witness = source.sibling("owned");
  const command = `touch ${witness}`;
  for (const key of ["core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.alternateRefsCommand", "filter.x.smudge", "credential.helper", "core.gitProxy"]) {
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
    await mirror.recreate(neverStop);
    await mirror.sync(neverStop);
    t.notOk(existsSync(witness), "by a first fetch");
    source.commit({ branch: "main", files: { a: url } });
    t.ok(existsSync(witness), "a commit in the source itself does run its hook");
    rmSync(witness);
    await mirror.sync(neverStop);
    await mirror.repack(neverStop);
    t.notOk(existsSync(join(mirror.directory, "hooks")));
    t.notOk(existsSync(witness), "by a later fetch");
  }
});

t.test("a remote that accepts and never answers", async (t) => {
  const server = await listen(t, () => undefined);
  const source = fixture(t);
  const open = (limits: Partial<typeof testMirrorOptions>) =>
    Mirror.open(source.sibling("mirror"), parseRemoteUrl(server.url), { ...testMirrorOptions, ...limits }, neverStop);
  const startMs = monotonicMs();
  const error = await errorOf((await open({ listTimeoutMs: 500 })).sync(neverStop));
  t.match({ code: error.code, message: error.message }, { code: "git", message: /took longer than 500 ms/ });
  t.notMatch(error.message, /s3cret/);
  const stopMs = monotonicMs() + 300;
  const stopped = await errorOf((await open({})).sync(() => monotonicMs() > stopMs));
  t.equal(stopped.code, "cancelled");
  t.ok(monotonicMs() - startMs < 3_000, "in bounded time");
});

t.test("credentials go to the remote and nowhere else", async (t) => {
  let request = "";
  const server = await listen(t, (socket) => {
    socket.on("data", (part) => {
      request += part.toString("latin1");
      socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nWWW-Authenticate: Basic realm=x\r\n\r\n");
    });
  });
  const source = fixture(t);
  const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl(server.url), testMirrorOptions, neverStop);
  const error = await errorOf(mirror.sync(neverStop));
  t.equal(error.code, "git");
  t.notMatch(error.message, /s3cret/);
  t.match(request, `Authorization: Basic ${Buffer.from("ada:s3cret").toString("base64")}`);
  for (const name of readdirSync(mirror.directory, { withFileTypes: true }).filter((entry) => entry.isFile())) {
    t.notMatch(readFileSync(join(mirror.directory, name.name), "utf8"), /s3cret/, `not kept in ${name.name}`);
  }
});

t.test("redirects are refused", async (t) => {
  let followed = false;
  const inner = await listen(t, (socket) => {
    followed = true;
    socket.destroy();
  });
  for (const target of [inner.url, "file:///etc", "ext::touch x"]) {
    const server = await listen(t, (socket) => {
      socket.on("data", () => socket.end(`HTTP/1.1 302 Found\r\nLocation: ${target}\r\nContent-Length: 0\r\n\r\n`));
    });
    const source = fixture(t);
    const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl(server.url), testMirrorOptions, neverStop);
    t.equal((await errorOf(mirror.sync(neverStop))).code, "git", target);
  }
  t.notOk(followed);
});

t.test("an ssh host that does not answer", async (t) => {
  const source = fixture(t);
  const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl("ssh://git@127.0.0.1:1/x"), testMirrorOptions, neverStop);
  const error = await errorOf(mirror.sync(neverStop));
  t.match({ code: error.code, message: error.message }, { code: "git", message: /Connection refused/ });
});

t.test("a directory that cannot be written", async (t) => {
  const source = fixture(t);
  writeFileSync(source.sibling("file"), "");
  const open = Mirror.open(join(source.sibling("file"), "mirror"), parseRemoteUrl(source.path), testMirrorOptions, neverStop);
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
  source.commit({ branch: "main", files: Array.from({ length: 300 }, (_, index) => [`f${index}`, String(index)] as const) });
  const phases = new Set<string>();
  const options = { ...testMirrorOptions, onProgress: ({ phase }: { phase: string }) => void phases.add(phase) };
  const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl(source.path), options, neverStop);
  await mirror.sync(neverStop);
  source.commit({ branch: "main", files: Array.from({ length: 300 }, (_, index) => [`f${index}`, `${index}+`] as const) });
  await mirror.sync(neverStop);
  t.ok(phases.has("Counting objects"), [...phases].join());
});

/** Cuts a loose object, or all packs where it is not loose, to nothing. */
function damageObject(directory: string, oid: string): void {
  const loose = join(directory, "objects", oid.slice(0, 2), oid.slice(2));
  const packs = join(directory, "objects/pack");
  const paths = existsSync(loose) ? [loose] : readdirSync(packs).map((name) => join(packs, name));
  for (const path of paths) {
    chmodSync(path, 0o644);
    writeFileSync(path, "");
  }
}

/** Runs the fetch that `sync` would run, and kills it and all its children after a while. */
function killSync(t: Test, source: GitFixture, directory: string, delayMs: number): void {
  const refspecs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
  const fetch = ["--git-dir", directory, "fetch", "--prune", "--no-tags", "--no-write-fetch-head", source.path, ...refspecs];
  try {
    execFileSync("timeout", ["-s", "KILL", String(delayMs / 1000), "git", ...fetch], { stdio: "ignore" });
  } catch {
    t.comment(`killed after ${delayMs} ms`);
  }
}

async function listen(t: Test, serve: (socket: Socket) => void): Promise<{ server: Server; url: string }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    serve(socket);
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TrawlError("internal", "no port");
  return { server, url: `http://ada:s3cret@127.0.0.1:${address.port}/repo.git` };
}
