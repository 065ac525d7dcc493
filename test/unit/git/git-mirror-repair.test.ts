import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { BlobReader } from "../../../src/git/objects/blob-reader.js";
import { hasCommitGraph } from "../../../src/git/mirror/mirror-directory.js";
import { listTree } from "../../../src/git/objects/objects.js";
import { packCountMax } from "../../../src/git/mirror/mirror-rebuild.js";
import { neverStop } from "../../../src/git/run/run.js";
import { chosen, isFull, scaled } from "../../support/full-run.js";
import type { GitFixture } from "../../support/git-fixture.js";
import { fixture, isWhole, mirrorOf, openMirror, printSync } from "../../support/git-mirror.js";

function replace(path: string, create: () => void): void {
  rmSync(path, { recursive: true });
  create();
}

t.test("a mirror with any kind of damage is repaired", async (t) => {
  const damages: readonly (readonly [name: string, damage: (directory: string, commit: string) => void])[] = [
    ["gone", (directory) => rmSync(directory, { recursive: true })],
    ["a file", (directory) => replace(directory, () => writeFileSync(directory, "x"))],
    ["empty", (directory) => replace(directory, () => mkdirSync(directory))],
    ["no HEAD", (directory) => rmSync(join(directory, "HEAD"))],
    ["torn HEAD", (directory) => writeFileSync(join(directory, "HEAD"), "ref: refs/hea")],
    ["no objects", (directory) => rmSync(join(directory, "objects"), { recursive: true })],
    [
      "objects emptied",
      (directory) => replace(join(directory, "objects"), () => mkdirSync(join(directory, "objects"))),
    ],
    [
      "foreign config",
      (directory) => writeFileSync(join(directory, "config"), "[core]\n\tsshCommand = touch /tmp/owned\n"),
    ],
    ["empty ref", (directory) => writeFileSync(join(directory, "refs/heads/main"), "")],
    ["torn ref", (directory) => writeFileSync(join(directory, "refs/heads/main"), "0123")],
    ["ref to nothing", (directory) => writeFileSync(join(directory, "refs/heads/main"), `${"1".repeat(40)}\n`)],
    ["torn packed refs", (directory) => damagePackedRefs(directory, (text) => text.slice(0, -20))],
    ["packed refs without their start", (directory) => damagePackedRefs(directory, (text) => text.slice(70))],
    ["packed refs of zeros", (directory) => damagePackedRefs(directory, (text) => "\0".repeat(text.length))],
    [
      "packed refs out of order",
      (directory) => damagePackedRefs(directory, (text) => text.replace("refs/heads/main", "refs/heads/zain")),
    ],
    ["empty commit object", (directory, commit) => damageObject(directory, commit)],
  ];
  const tried = chosen(
    damages,
    "gone",
    "empty",
    "torn HEAD",
    "no objects",
    "foreign config",
    "torn ref",
    "ref to nothing",
    "packed refs of zeros",
    "packed refs out of order",
    "empty commit object",
  );
  for (const [name, damage] of tried) {
    const source = fixture(t);
    for (const branch of ["main", "topic"]) source.commit({ branch, files: { a: "1" } });
    const { directory } = await mirrorOf(source);
    const commit = source.commit({ branch: "main", files: { a: "2" } });
    await (await openMirror(source)).sync(neverStop);
    damage(directory, commit);
    const mirror = await openMirror(source);
    await mirror.sync(neverStop);
    t.equal((await mirror.state(neverStop)).branches.get("main"), commit, name);
    t.ok(await isWhole(mirror), `${name}: whole`);
    t.equal(printSync(await mirror.sync(neverStop)), "same main [main,topic] []", `${name}: once`);
  }
});

t.test("recreate, for a caller that finds objects missing", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "1" } });
  const mirror = await mirrorOf(source);
  await mirror.recreate();
  t.equal((await mirror.state(neverStop)).branches.size, 0);
  t.equal(printSync(await mirror.sync(neverStop)), "changed main [main] []");
  t.ok(await isWhole(mirror));
});

t.test("the remains of a killed fetch are removed", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "1" } });
  source.commit({ branch: "topic", files: { a: "1" } });
  const directory = source.sibling("mirror");
  // Incomplete loose objects are only looked for when a thread opens a mirror for the first time.
  cpSync((await mirrorOf(source, "first")).directory, directory, { recursive: true });
  const leftovers = [
    "HEAD.lock",
    "packed-refs.lock",
    "config.lock",
    "shallow.lock",
    "gc.pid",
    "HEAD.tmp",
    "refs/heads/main.lock",
    "refs/heads/new.lock",
    "objects/pack/tmp_pack_abc",
    "objects/pack/tmp_idx_abc",
    "objects/pack/pack-1.keep",
    "objects/pack/.tmp-9-pack-1.pack",
    "objects/pack/multi-pack-index.lock",
    "objects/info/commit-graph.lock",
    "objects/tmp_objdir-incoming-x/pack/p",
    "objects/00/tmp_obj_abc",
    "../mirror.new/HEAD",
    "../mirror.old/HEAD",
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

t.test("a fetch killed at any point is repaired", async (t) => {
  const source = fixture(t);
  const files = (round: number) =>
    Array.from({ length: 150 }, (_, index) => [`f${index}`, `${round} ${"x".repeat(index * 50)}`] as const);
  source.commit({ branch: "main", files: files(0) });
  const { directory } = await mirrorOf(source);
  const roundCount = scaled(4, 12);
  for (let round = 1; round <= roundCount; round++) {
    source.commit({ branch: "main", files: files(round) });
    source.commit({ branch: `b${round}`, files: { a: String(round) } });
    killSync(t, source, directory, Math.round((round * 48) / roundCount));
  }
  const mirror = await openMirror(source);
  const { branches } = await mirror.sync(neverStop);
  t.equal(branches.size, 1 + roundCount);
  t.ok(await isWhole(mirror));
});

t.test("repacking keeps what readers need", async (t) => {
  const source = fixture(t);
  const contents = commitPacks(source);
  const mirror = await mirrorOf(source);
  const entries = (
    await Promise.all(contents.map((commit) => listTree(mirror.directory, commit, "without-sizes", neverStop)))
  ).flat();
  const reader = new BlobReader({
    directory: mirror.directory,
    contentBytesMax: 1 << 20,
    silenceMs: 10_000,
    stop: neverStop,
  });
  let missing = 0;
  let repacked: Promise<boolean> | null = null;
  await reader.read(
    // What a force-push took away comes last.
    entries.map(({ oid }) => oid).reverse(),
    async (index, { kind }) => {
      if (index === 100) repacked = mirror.maintain(neverStop);
      if (index === 2500) await repacked;
      if (kind !== "content") missing++;
    },
  );
  reader.close();
  t.equal(await repacked, true, "31 packs are too many");
  t.equal(missing, 0, "a reader at work misses nothing");
  t.equal(await mirror.maintain(neverStop), false, "once");
  t.ok(hasCommitGraph(mirror.directory));
  t.equal(spawnSync("git", ["-C", mirror.directory, "commit-graph", "verify"]).status, 0);
  const packs = readdirSync(join(mirror.directory, "objects/pack"));
  const cruftPacks = packs.filter((name) => name.endsWith(".mtimes"));
  t.equal(cruftPacks.length, 1, "unreachable objects are in a pack of their own");
  t.equal(packs.filter((name) => name.endsWith(".pack")).length, 2);
  t.equal(
    (await listTree(mirror.directory, contents[0] ?? "", "without-sizes", neverStop)).length,
    100,
    "a commit that a force-push took away",
  );
  t.ok(await isWhole(mirror));
});

/** One more than a mirror may have. */
const packCount = packCountMax + 1;
const filesPerPack = 100;

/**
 * Makes commits of this many files, each in a pack of its own, and the last of them `main`, from which the first ones cannot
 * be reached; returns their oids.
 */
function commitPacks(source: GitFixture): readonly string[] {
  const commits = Array.from({ length: packCount }, (_, round) => {
    const files = Array.from({ length: filesPerPack }, (_, index) => {
      const text = `${round} ${index}`;
      return `M 100644 inline f${index}\ndata ${text.length}\n${text}\n`;
    });
    const start = round < 3 || (isFull && round % 7 === 0) ? "reset refs/heads/main\n" : "";
    const head = `commit refs/heads/main\nmark :${round + 1}\ncommitter a <a@example.org> ${1_700_000_000 + round} +0000\ndata 0\n`;
    // Only a pack of many objects is kept as it is.
    const end = `checkpoint\nget-mark :${round + 1}\n`;
    return `${start}${head}${files.join("")}\n${end}`;
  });
  const args = ["-C", source.path, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--force", "--done"];
  const oids = execFileSync("git", args, { input: `${commits.join("")}done\n`, encoding: "utf8" });
  return oids.trim().split("\n");
}

/** Packs all refs, and overwrites their file with another text. */
function damagePackedRefs(directory: string, damaged: (text: string) => string): void {
  execFileSync("git", ["--git-dir", directory, "pack-refs", "--all"]);
  const path = join(directory, "packed-refs");
  writeFileSync(path, damaged(readFileSync(path, "latin1")));
}

/** Truncates a loose object, or all packs if it is not loose, to zero bytes. */
function damageObject(directory: string, oid: string): void {
  const loose = join(directory, "objects", oid.slice(0, 2), oid.slice(2));
  const packs = join(directory, "objects/pack");
  const paths = existsSync(loose) ? [loose] : readdirSync(packs).map((name) => join(packs, name));
  for (const path of paths) {
    chmodSync(path, 0o644);
    writeFileSync(path, "");
  }
}

/** Runs the same fetch as `sync`, and kills it and all its children after a while. */
function killSync(t: Test, source: GitFixture, directory: string, delayMs: number): void {
  const refspecs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
  const fetch = [
    "--git-dir",
    directory,
    "fetch",
    "--prune",
    "--no-tags",
    "--no-write-fetch-head",
    source.path,
    ...refspecs,
  ];
  try {
    execFileSync("timeout", ["-s", "KILL", String(delayMs / 1000), "git", ...fetch], { stdio: "ignore" });
  } catch {
    t.comment(`killed after ${delayMs} ms`);
  }
}
