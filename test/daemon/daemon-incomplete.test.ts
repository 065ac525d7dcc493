/**
 * Repositories of which objects are missing or damaged: what can be read is indexed, and what is missing is counted and
 * told.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { errorMessage } from "../../src/base/errors.js";
import { oneLine } from "../../src/base/text.js";
import { listTree } from "../../src/git/objects/objects.js";
import { listReadable } from "../../src/git/objects/readable-tree.js";
import { neverStop } from "../../src/git/run/run.js";
import { dataDirectory, DaemonProcess, runCommand } from "../support/daemon.js";
import { chosen, inLongRuns } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";
import type { Progress } from "../../src/model/stream-events.js";
import { serveHttp, type Answer } from "../support/http-remote.js";
import { until } from "../support/waiting.js";

const files = {
  "a.txt": "needle a\n",
  "d/b.txt": "needle b\n",
  "d/e/c.txt": "needle c\n",
  "f/g.txt": "needle g\n",
  "z.txt": "needle z\n",
};

/** The results for the pattern in the repository of this name, except in these paths. */
function linesWithout(name: string, ...missing: string[]): string[] {
  return Object.keys(files)
    .filter((path) => !missing.some((start) => path.startsWith(start)))
    .map((path) => `${name}:${path}:1`)
    .sort();
}

/** One worker starts faster; there are no symbols in these texts. */
const oneWorker = ["--set", "workers=1", "--set", "index.workers=1", "--set", "index.symbols=false"];

const data = dataDirectory(t);
let daemon: DaemonProcess;
t.before(async () => {
  daemon = await DaemonProcess.start(data, oneWorker);
});
t.teardown(() => daemon.kill());

/** A repository in which all objects are loose. */
function source(t: Test): GitFixture {
  const made = fixture(t);
  made.commit({ branch: "main", files });
  const packs = join(made.path, "objects", "pack");
  const aside = made.sibling("packs");
  if (readdirSync(packs).length > 0) {
    renameSync(packs, aside);
    for (const name of readdirSync(aside))
      if (name.endsWith(".pack"))
        execFileSync("sh", ["-c", `git -C "$1" unpack-objects -q <"$2"`, "sh", made.path, join(aside, name)]);
  }
  return made;
}

function objectFile(made: GitFixture, revision: string): string {
  const oid = made.git("rev-parse", revision);
  return join(made.path, "objects", oid.slice(0, 2), oid.slice(2));
}

async function requireIncomplete(
  t: Test,
  name: string,
  url: string,
  missing: readonly string[],
  missingCount: number,
): Promise<void> {
  const status = await daemon.add(name, url);
  t.match(
    status,
    { state: "searchable", error: "", skippedCounts: { missing: missingCount } },
    "it is searchable, and its status counts what is missing",
  );
  const answer = await daemon.search(`repo:^${name}$ needle`);
  t.same(answer.found, linesWithout(name, ...missing));
  t.same(answer.skipped, ["document-skipped"]);
  t.match(
    answer.progress?.skipped[0]?.message,
    new RegExp(
      `^Some files or directories could not be read, because objects in the repository are missing .* They belong to: ${name}$`,
    ),
  );
  t.match(await daemon.sync(name), { state: "searchable", error: "" }, "and stays so");
  t.teardown(() => daemon.remove(name));
}

t.test("a partial clone without its promisor remote", async (t) => {
  const origin = source(t);
  origin.git("config", "uploadpack.allowFilter", "true");
  origin.git("config", "uploadpack.allowAnySHA1InWant", "true");
  const partial = origin.sibling("partial");
  execFileSync("git", ["clone", "-q", "--filter=blob:none", "--no-checkout", `file://${origin.path}`, partial]);
  // As after a checkout of one directory.
  execFileSync("git", ["-C", partial, "cat-file", "blob", "origin/main:a.txt"]);
  renameSync(origin.path, origin.sibling("gone"));
  await requireIncomplete(t, "host/partial", partial, ["d/", "f/", "z"], 4);
  const { documentCount } = (await daemon.list()).find(({ name }) => name === "host/partial")!;
  t.equal(documentCount, 5, "all are found by name");
  renameSync(origin.sibling("gone"), origin.path);
  execFileSync("git", ["-C", partial, "fetch", "-q", "--refetch", "--no-filter", "origin"]);
  await daemon.sync("host/partial");
  const answer = await daemon.search("repo:^host/partial$ needle");
  t.same(
    [answer.found, answer.skipped],
    [linesWithout("host/partial"), []],
    "once the objects are there, they are indexed",
  );
});

t.test("a missing blob", async (t) => {
  const made = source(t);
  rmSync(objectFile(made, "main:d/b.txt"));
  await requireIncomplete(t, "host/blob", made.path, ["d/b"], 1);
  made.commit({ branch: "main", files: { "new.txt": "needle new\n" } });
  await daemon.sync("host/blob");
  t.ok(
    (await daemon.search("repo:^host/blob$ needle")).found.includes("host/blob:new.txt:1"),
    "a later commit is indexed",
  );
  const older = await daemon.search("repo:^host/blob$@main~1 needle");
  t.same(
    older.found,
    linesWithout("host/blob@main~1", "d/b").map((line) => line.replace("@main~1", "")),
  );
  t.same(older.skipped, ["document-skipped"]);
});

t.test("a truncated blob and an overwritten blob", inLongRuns, async (t) => {
  const made = source(t);
  for (const [path, damage] of [
    ["a.txt", (file: string) => truncateSync(file, statSync(file).size - 6)],
    ["z.txt", (file: string) => writeFileSync(file, "rubbish")],
  ] as const) {
    const file = objectFile(made, `main:${path}`);
    chmodSync(file, 0o600);
    damage(file);
  }
  await requireIncomplete(t, "host/cut", made.path, ["a", "z"], 2);
});

t.test("a missing directory", async (t) => {
  const made = source(t);
  rmSync(objectFile(made, "main:d"));
  await requireIncomplete(t, "host/tree", made.path, ["d/"], 1);
});

t.test("if nothing can be read, the error is one line", async (t) => {
  const made = source(t);
  rmSync(objectFile(made, "main^{tree}"));
  await t.rejects(daemon.add("host/nothing", made.path));
  const status = (await daemon.list()).find(({ name }) => name === "host/nothing")!;
  t.equal(status.state, "failed");
  t.match(status.error, /^[^\u0000-\u001f]{20,1000}$/);
  t.equal(oneLine(" a\r\n\u0000 b\tc\u007f ", 100), "a b c");
  t.equal(oneLine("x".repeat(30), 10), `${"x".repeat(10)}...`);
  await daemon.remove("host/nothing");
});

/** The mirror of the repository that was added last. */
function lastMirror(): string {
  const ids = readdirSync(join(data, "mirrors")).map((name) => Number.parseInt(name, 10));
  return join(data, "mirrors", `${Math.max(...ids)}.git`);
}

function removeFrom(mirror: string, made: GitFixture, ...revisions: string[]): void {
  for (const revision of revisions) {
    const oid = made.git("rev-parse", revision);
    rmSync(join(mirror, "objects", oid.slice(0, 2), oid.slice(2)));
  }
}

/** Makes the daemon index everything from the mirrors, as after damage to the shards. */
async function restartWithoutShards(): Promise<void> {
  await daemon.stop();
  rmSync(join(data, "shards"), { recursive: true });
  daemon = await DaemonProcess.start(data, oneWorker);
}

async function requireWhole(name: string): Promise<void> {
  await until(
    "all is found",
    async () => (await daemon.search(`repo:^${name}$ needle`)).found.length === Object.keys(files).length,
  );
}

for (const [name, restarts] of chosen(
  [
    ["host/mirror", false],
    ["host/restarted", true],
  ] as const,
  "host/restarted",
)) {
  const when = restarts ? " and the daemon starts again" : "";
  t.test(
    `a mirror loses a blob, and its remote is away: the rest is indexed; when the remote is back${when}, all is`,
    async (t) => {
      const made = source(t);
      const away = made.sibling("away");
      await daemon.add(name, made.path);
      removeFrom(lastMirror(), made, "main:f/g.txt");
      renameSync(made.path, away);
      await restartWithoutShards();
      await until("the rest is indexed", async () =>
        (await daemon.search(`repo:^${name}$ needle`)).skipped.includes("document-skipped"),
      );
      t.same((await daemon.search(`repo:^${name}$ needle`)).found, linesWithout(name, "f/"));
      await until("the list says what is wrong", async () =>
        /cannot read/.test((await daemon.list()).find((status) => status.name === name)!.error),
      );
      if (restarts) await daemon.stop();
      renameSync(away, made.path);
      if (restarts) daemon = await DaemonProcess.start(data, oneWorker);
      else await daemon.sync(name).catch(() => undefined);
      await requireWhole(name);
      await daemon.remove(name);
    },
  );
}

t.test("if a mirror has lost objects that a sync needs, everything is fetched again within that sync", async (t) => {
  const made = source(t);
  made.commit({ branch: "dev", files: { ...files, "h.txt": "needle h\n" } });
  await daemon.add("host/lacking", made.path);
  t.teardown(() => daemon.remove("host/lacking"));
  removeFrom(lastMirror(), made, "dev:h.txt");
  made.setHead("dev");
  const linesBefore = (await daemon.wholeLog()).length;
  const { state, error, skippedCounts } = await daemon.sync("host/lacking");
  t.same({ state, error, skippedCounts }, { state: "searchable", error: "", skippedCounts: {} });
  const { found, skipped } = await daemon.search("repo:^host/lacking$ needle");
  t.same([found.length, skipped], [Object.keys(files).length + 1, []]);
  t.same(
    // Its history, which is indexed in the background, may have found the loss first.
    (await daemon.wholeLog())
      .slice(linesBefore)
      .flatMap(({ repository, msg }) => (repository !== "host/lacking" || /history/.test(String(msg)) ? [] : [msg])),
    ["objects are missing from its mirror: everything is fetched again", "indexed"],
    "nothing was indexed from what the mirror had",
  );
});

t.test("a mirror that cannot be read at all is fetched again", inLongRuns, async (t) => {
  const made = source(t);
  await daemon.add("host/unreadable", made.path);
  removeFrom(lastMirror(), made, "main^{tree}");
  await restartWithoutShards();
  await requireWhole("host/unreadable");
});

t.test("the readable part of a commit", async (t) => {
  const made = source(t);
  made.commit({ branch: "main", files: { link: { symlink: "a.txt" }, "d/e/f/h": "1", "d/e.x": "2" } });
  const commit = made.git("rev-parse", "main");
  const whole = await listTree(made.path, commit, "without-sizes", neverStop);
  const told = (entries: readonly { path: Buffer; oid: string; mode: number }[]): string[] =>
    entries.map(({ path, oid, mode }) => `${mode.toString(8)} ${oid} ${path}`);
  t.same(told((await listReadable(made.path, commit, neverStop)).entries), told(whole));
  const file = objectFile(made, "main:f");
  chmodSync(file, 0o600);
  truncateSync(file, 15);
  const readable = await listReadable(made.path, commit, neverStop);
  t.same(
    told(readable.entries),
    told(whole.filter(({ path }) => !path.toString().startsWith("f/"))),
    "a directory that ends git is left out, and those after it are not",
  );
  t.equal(readable.missingCount, 1);
});

/** Answers with which a server, or what is in its place, looks like a repository without references. */
const emptyAnswers: Readonly<Record<string, Answer>> = {
  nothing: (_, response) => response.end(),
  OK: (_, response) => response.end("OK"),
  "a sign-in page": (_, response) =>
    response.writeHead(200, { "Content-Type": "text/html" }).end("<html><title>Sign in</title></html>"),
  JSON: (_, response) => response.writeHead(200, { "Content-Type": "application/json" }).end('{"ok":true}'),
  "204 No Content": (_, response) => response.writeHead(204).end(),
  "compressed text": (_, response) =>
    response.writeHead(200, { "Content-Encoding": "gzip" }).end(gzipSync("<p>Welcome</p>")),
  "git's own protocol": (request, response) => {
    const isListing = request.method === "POST";
    const kind = isListing ? "result" : "advertisement";
    response.writeHead(200, { "Content-Type": `application/x-git-upload-pack-${kind}` });
    response.end(isListing ? "0000" : "001e# service=git-upload-pack\n0000000eversion 2\n000cls-refs\n0000");
  },
};

/** Answers that git itself takes for errors, so that nothing is listed. */
const badAnswers: Readonly<Record<string, Answer>> = {
  "a page of two lines": (_, response) => response.end("<html>\nSign in</html>\n"),
  "a redirect to a sign-in page": (_, response) => response.writeHead(302, { Location: "/login" }).end(),
  "broken gzip": (_, response) => response.writeHead(200, { "Content-Encoding": "gzip" }).end("garbage"),
  "a cut list": (_, response) =>
    response
      .writeHead(200, { "Content-Type": "application/x-git-upload-pack-advertisement" })
      .end("001e# service=git-upload-pack\n0000"),
  "a plain list of objects that it does not have": (request, response) => {
    if (request.url?.includes("info/refs") === true) response.end(`${"12345678".repeat(5)}\trefs/heads/main\n`);
    else response.writeHead(404).end();
  },
  "304": (_, response) => response.writeHead(304).end(),
};

t.test("a remote that answers with something else does not empty the index", async (t) => {
  const name = "host/vanished";
  const made = source(t);
  made.commit({ branch: "dev", files: { "dev.txt": "needle dev\n" } });
  let answer: Answer | undefined;
  const port = await serveHttp(t, made, undefined, () => answer);
  const url = `http://ada:s3cret@127.0.0.1:${port}/`;
  await daemon.add(name, url, ["dev"]);
  const search = async (rev = ""): Promise<number> => (await daemon.search(`repo:^${name}$${rev} needle`)).found.length;
  const whole = { main: await search(), dev: await search("@dev") };
  t.same(whole, { main: 5, dev: 1 });
  const [emptiest, worst] = [Object.keys(emptyAnswers), Object.keys(badAnswers)];
  for (const what of [
    ...chosen(emptiest, "a sign-in page", "git's own protocol"),
    ...chosen(worst, "a redirect to a sign-in page", "a plain list of objects that it does not have"),
  ]) {
    const given = emptyAnswers[what] ?? badAnswers[what];
    answer = given;
    const reason = await daemon.sync(name).then(() => "believed", errorMessage);
    t.match(reason, what in badAnswers ? /cannot read|sent none/ : /the index and the mirror are kept/, what);
    t.match(
      (await daemon.list()).find((status) => status.name === name),
      { state: "searchable", error: reason, branches: { length: 2 } },
      `${what}: the list says it`,
    );
    t.same({ main: await search(), dev: await search("@dev") }, whole, `${what}: the index is kept`);
    const { stdout } = spawnSync("git", [`--git-dir=${lastMirror()}`, "for-each-ref"], { encoding: "utf8" });
    t.equal(stdout.split("\n").length - 1, 2, `${what}: the mirror is kept`);
  }
  answer = undefined;
  t.match(await daemon.sync(name), { error: "", documentCount: 6 }, "it goes on");
  answer = emptyAnswers["a sign-in page"];
  await t.rejects(daemon.add("host/new", `${url}new`), /not in git's protocol/, "nor is it a new, empty repository");
  await daemon.remove("host/new");
  const { exitCode, out } = await runCommand("repo", "sync", name, "--accept-empty", "--data", data);
  t.equal(exitCode, 0, "somebody says that it is empty");
  t.match(out, new RegExp(`^${name} .*searchable .* 0 documents`));
  t.equal(await search(), 0);
  answer = undefined;
  await daemon.sync(name);
  t.equal(await search(), 5, "and has something again");
  await daemon.remove(name);
});

t.test("a remote that loses its default branch, or all branches, does not empty the index", async (t) => {
  const name = "host/branches";
  const made = source(t);
  made.commit({ branch: "dev", files: { "dev.txt": "needle dev\n" } });
  await daemon.add(name, made.path);
  const search = async (): Promise<number> => (await daemon.search(`repo:^${name}$ needle`)).found.length;
  const [main, dev] = [made.git("rev-parse", "main"), made.git("rev-parse", "dev")];
  t.equal(await search(), 5);
  made.deleteBranch("main");
  await t.rejects(daemon.sync(name), /does not list the default branch "main" any more, and its HEAD names no other/);
  t.equal(await search(), 5, "all but the default branch");
  made.deleteBranch("dev");
  await t.rejects(daemon.sync(name), /lists no branches any more/);
  t.equal(await search(), 5, "no branch");
  made.updateRef("refs/heads/main", main);
  made.updateRef("refs/heads/dev", dev);
  t.match(await daemon.sync(name), { error: "", documentCount: 5 });
  made.setHead("dev");
  made.deleteBranch("main");
  t.match(await daemon.sync(name), { error: "", documentCount: 1 }, "a default branch that HEAD names is another one");
  await daemon.remove(name);
});

t.test("a local repository that vanishes does not empty the index", async (t) => {
  const name = "host/unmounted";
  const made = source(t);
  await daemon.add(name, made.path);
  const away = made.sibling("away");
  renameSync(made.path, away);
  const places: readonly (readonly [what: string, make: () => unknown])[] = [
    ["nothing", () => undefined],
    ["an empty folder", () => mkdirSync(made.path)],
    ["a file", () => writeFileSync(made.path, "")],
    ["an empty repository", () => execFileSync("git", ["init", "-q", "--bare", made.path])],
  ];
  for (const [what, make] of chosen(places, "nothing", "an empty repository")) {
    make();
    await t.rejects(daemon.sync(name), /cannot read|lists no branches any more/, what);
    t.equal((await daemon.search(`repo:^${name}$ needle`)).found.length, 5, what);
    rmSync(made.path, { recursive: true, force: true });
  }
  renameSync(away, made.path);
  t.match(await daemon.sync(name), { error: "", documentCount: 5 });
  await daemon.remove(name);
});

t.test("what of a repository is not indexed as expected is told", async (t) => {
  const made = source(t);
  const warningsOf = async (name: string): Promise<readonly string[]> => {
    const { warnings } = await daemon.sync(name);
    const log = await daemon.wholeLog();
    for (const warning of warnings) {
      t.ok(
        log.some(({ repository, msg }) => repository === name && msg === warning),
        `the log: ${warning}`,
      );
    }
    return warnings;
  };
  await daemon.add("host/warned", made.path, ["gone", "main"]);
  const warning = 'the remote has no branch "gone", which the configuration lists in `branches`';
  t.same(await warningsOf("host/warned"), [warning]);
  const { out } = await runCommand("repo", "list", "--data", data);
  t.ok(out.includes(`warning: ${warning}`), "so does `trawl repo list`");
  made.commit({ branch: "gone", files: {} });
  t.same(await warningsOf("host/warned"), [], "until it is there");
  made.setHead("unborn");
  t.match(await warningsOf("host/warned"), [
    /HEAD of the remote names a branch that does not exist: "main" is indexed in its place/,
  ]);
  made.annotatedTag("v1", made.git("rev-parse", "main"));
  made.git("symbolic-ref", "HEAD", "refs/tags/v1");
  t.match(await warningsOf("host/warned"), [/HEAD of the remote is "refs\/tags\/v1", which is not a branch/]);
  t.equal((await daemon.search("repo:^host/warned$ needle")).found.length, 5, "the commit of the tag is searched");
  made.setHead("main");
  made.updateRef("refs/heads/HEAD", made.commit({ branch: "other", files: { "h.txt": "needle h\n" } }));
  t.match(await warningsOf("host/warned"), [/a branch called HEAD/]);
  t.equal((await daemon.search("repo:^host/warned$@HEAD needle")).found.length, 5, "HEAD is the default branch");
  t.equal((await daemon.search("repo:^host/warned$@refs/heads/HEAD needle")).found.length, 1);
  await daemon.remove("host/warned");
});

t.test("a shallow source is told, and its mirror follows when it gets more of its history", async (t) => {
  const made = fixture(t);
  for (const i of [1, 2, 3, 4])
    made.commit({ branch: "main", files: { "a.txt": `needle ${i}\n` }, message: `message ${i}\n` });
  for (const [name, isLocal] of chosen(
    [
      ["host/cut", true],
      ["host/cut-http", false],
    ] as const,
    "host/cut-http",
  )) {
    const clone = made.sibling(name.replace("/", "-"));
    const git = (...args: string[]) => execFileSync("git", ["-C", clone, ...args], { encoding: "utf8" });
    execFileSync("git", ["clone", "-q", "--bare", "--depth=2", `file://${made.path}`, clone]);
    const port = await serveHttp(t, { path: clone } as GitFixture);
    const url = isLocal ? clone : `http://ada:s3cret@127.0.0.1:${port}/`;
    t.match(await daemon.add(name, url), { error: "", warnings: [/history of the remote is cut off/] });
    const search = async () => {
      const query = new URLSearchParams({ q: `repo:^${name}$ type:commit message count:all`, v: "V3", receipt: "1" });
      const { text } = await daemon.get(`/.api/search/stream?${query}`);
      const progress = [...text.matchAll(/^event: progress\ndata: (.*)$/gm)].at(-1)?.[1] ?? "{}";
      const { matchCount, receipt, skipped } = JSON.parse(progress) as Progress;
      return { matchCount, complete: receipt?.complete, cut: receipt?.excludedByReason["history-cut"], skipped };
    };
    t.match(await search(), { matchCount: 2, complete: false, cut: 1, skipped: [{ title: "1 shallow repository" }] });
    git("fetch", "-q", "--depth=3", "origin", "+main:main");
    t.match(await daemon.sync(name), { error: "", warnings: [/cut off/] });
    t.match(await search(), { matchCount: 3, cut: 1 });
    git("fetch", "-q", "--unshallow", "origin", "+main:main");
    t.match(await daemon.sync(name), { error: "", warnings: [] });
    t.match(await search(), { matchCount: 4, complete: true, cut: undefined, skipped: [] });
    await until("the history is indexed anew", async () => {
      const status = (await daemon.list()).find((one) => one.name === name);
      return status?.historyIndex.isUpToDate === true && status.historyIndex.indexedCount === 4;
    });
    await daemon.remove(name);
  }
});

/** The last test, because it ends the daemon. */
t.test("repositories of both object formats in one shard, and one that changes its format", async (t) => {
  if (spawnSync("git", ["init", "-q", "--bare", "--object-format=sha256", join(fixture(t).path, "x")]).status !== 0)
    return t.comment("git has no SHA-256");
  const made = Array.from({ length: 6 }, (_, i) => fixture(t, "bare", i % 2 === 0 ? "sha1" : "sha256"));
  const nameOf = (i: number): string => `format/r${i}`;
  for (const { name } of await daemon.list()) await daemon.remove(name);
  const text = "shared needle\n";
  for (const [i, one] of made.entries()) {
    one.commit({
      branch: "main",
      files: { "same.txt": text, "gone.txt": `needle gone ${i}\n`, "d/own.txt": `needle ${i}\n` },
    });
    one.git("branch", "dev", "main");
    await daemon.add(nameOf(i), one.path, ["dev"]);
  }
  await until("the shards are merged", async () => (await daemon.metric("trawl_index_shards")) === 1);
  const lines = async (): Promise<number> => (await daemon.search("repo:^format/ needle")).found.length;
  t.equal(await lines(), 18);
  // The key of a content begins with the oid of its blob.
  const query = new URLSearchParams({
    q: "repo:^format/ shared count:all",
    t: "literal",
    v: "V3",
    cm: "true",
    duplicates: "1",
  });
  const { text: stream } = await daemon.get(`/.api/search/stream?${query}`);
  const keys = [...stream.matchAll(/"contentKey":"([0-9a-f]+)\./g)].map(([, oid]) => oid);
  t.same(keys.sort(), made.map((one) => one.git("rev-parse", "main:same.txt")).sort());
  const linesBefore = (await daemon.wholeLog()).length;
  for (const [i, one] of made.entries()) {
    one.commit({
      branch: "dev",
      files: { "same.txt": text, "d/own.txt": `needle ${i}\n`, "gone.txt": { deleted: true } },
    });
    t.match(await daemon.sync(nameOf(i)), { error: "", skippedCounts: {} }, "a deletion on one branch");
  }
  t.same(
    (await daemon.wholeLog()).slice(linesBefore).filter(({ msg }) => /again/.test(String(msg))),
    [],
    "nothing is fetched again",
  );
  t.equal((await daemon.search("repo:^format/ rev:dev needle")).found.length, 12);
  const [sha1, sha256] = made;
  renameSync(sha1.path, sha1.sibling("old"));
  renameSync(sha256.path, sha1.path);
  t.match(await daemon.sync(nameOf(0)), { error: "", documentCount: 3 }, "SHA-1, then SHA-256");
  t.equal((await daemon.search("repo:^format/r0$ needle")).found.length, 3);
  const changed = sha256.sibling("changed");
  renameSync(sha1.path, changed);
  renameSync(sha1.sibling("old"), sha1.path);
  t.match(await daemon.sync(nameOf(0)), { error: "", documentCount: 3 }, "and SHA-1 again");
  t.equal((await daemon.search("repo:^format/r0$ needle")).found.length, 3);
  renameSync(changed, sha256.path);
  await daemon.stop();
  t.match(await runCommand("check", "--data", data), { exitCode: 0 });
});
