import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import t, { type Test } from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { StoredObjects } from "../../../src/git/objects/stored-objects.js";
import { blobSizes, readBlobs as readBlobsInOrder } from "../../../src/git/objects/read-blobs.js";
import { textOfBlob } from "../../../src/indexer/encoding/blob-text.js";
import { textKinds } from "../../../src/native/packs/packs.js";
import { neverStop } from "../../../src/git/run/run.js";
import { compareAlong } from "../../../src/git/objects/tree-chain.js";
import { scaled } from "../../support/full-run.js";
import { GitFixture } from "../../support/git-fixture.js";
import { readBlobs } from "../../support/git-oracle.js";

const oidLengths = { sha1: 40, sha256: 64 } as const;

interface Grown {
  readonly repository: GitFixture;
  readonly commits: string[];
}

/** Commits with files of many sizes and kinds, whose versions differ slightly, in one pack. */
function packed(t: Test, format: keyof typeof oidLengths): Grown {
  const given = grown(t, format);
  given.repository.git("repack", "-adfq", "--depth=10", "--window=10");
  given.repository.git("prune-packed");
  return given;
}

const grownOnce = new Map<string, Grown>();

/** The same as git has written them. Tests have copies, since a commit is a process. */
function grown(t: Test, format: keyof typeof oidLengths): Grown {
  const { repository: first, commits } = grownOnce.get(format) ?? grow(format);
  grownOnce.set(format, { repository: first, commits });
  const repository = GitFixture.create("bare", format);
  t.teardown(() => repository.remove());
  cpSync(first.path, repository.path, { recursive: true });
  return { repository, commits };
}

t.teardown(() => {
  for (const { repository } of grownOnce.values()) repository.remove();
});

function grow(format: keyof typeof oidLengths): Grown {
  const repository = GitFixture.create("bare", format);
  const random = Buffer.from(Array.from({ length: 70_000 }, (_, i) => Math.imul(i, 2_654_435_761) >>> 23));
  const lines = (count: number, changed: number): string =>
    Array.from({ length: count }, (_, i) =>
      i % 97 === changed ? `changed ${changed * i}` : `line ${i} of some text`,
    ).join("\n");
  const commits = [
    repository.commit({
      branch: "main",
      files: [
        ["empty", ""],
        ["byte", "x"],
        ["random", random],
        ["zeros", Buffer.alloc(300_000)],
        ["a/b/c/deep", "deep"],
        ["a.c", "beside"],
        ["same/x", "1"],
        [Buffer.from("caf\xe9/\xff", "latin1"), "name"],
      ],
    }),
  ];
  for (let i = 0; i < 12; i++) {
    commits.push(
      repository.commit({
        branch: "main",
        files: [
          ["long", lines(4000, i)],
          ["a/b/short", lines(20, i)],
          [`more/${i}/file`, lines(200, i)],
        ],
      }),
    );
  }
  commits.push(
    repository.commit({
      branch: "main",
      files: [
        ["a", { deleted: true }],
        ["byte", { executable: "x" }],
        ["random", { symlink: "byte" }],
      ],
    }),
  );
  commits.push(
    repository.commit({
      branch: "main",
      files: [
        ["a", "a file in place of a directory"],
        ["module", { gitlink: "1".repeat(oidLengths[format]) }],
        ["zeros/below", "a directory in place of a file"],
      ],
    }),
  );
  return { repository, commits };
}

function allBlobs(repository: GitFixture): string[] {
  const listed = repository.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)");
  return listed
    .split("\n")
    .filter((line) => line.endsWith(" blob"))
    .map((line) => line.split(" ")[0]);
}

function output(repository: GitFixture, ...args: string[]): Buffer {
  return execFileSync("git", ["-C", repository.path, ...args], { maxBuffer: 1 << 26 });
}

/** Gives every object a file of its own. */
function unpack(repository: GitFixture): void {
  const folder = join(repository.path, "objects", "pack");
  for (const name of readdirSync(folder)) renameSync(join(folder, name), join(repository.path, name));
  for (const name of readdirSync(repository.path).filter((each) => each.endsWith(".pack")))
    execFileSync("git", ["-C", repository.path, "unpack-objects", "-q"], {
      input: readFileSync(join(repository.path, name)),
    });
}

function open(t: Test, repository: GitFixture, format: keyof typeof oidLengths): StoredObjects {
  const packs = StoredObjects.open(repository.path, oidLengths[format], neverStop);
  if (packs === undefined) throw new TrawlError("internal", "the addon is not built");
  t.teardown(() => packs.close());
  return packs;
}

const loose = "loose";

const kinds: readonly (readonly [
  name: string,
  format: keyof typeof oidLengths,
  repack: readonly string[],
  config: readonly (readonly [string, string])[],
])[] = [
  [loose, "sha1", [], []],
  [`${loose}, sha256`, "sha256", [], []],
  ["sha1", "sha1", [], []],
  ["sha256", "sha256", [], []],
  ["deltas that name their bases", "sha1", [], [["repack.useDeltaBaseOffset", "false"]]],
  ["not compressed", "sha1", [], [["pack.compression", "0"]]],
  ["compressed quickly", "sha1", [], [["pack.compression", "1"]]],
  ["compressed well, in several packs", "sha1", ["--max-pack-size=1m"], [["pack.compression", "9"]]],
];

/** Numbers of commits. */
const comparedTrees = [
  [0, 1],
  [1, 9],
  [9, 1],
  [13, 14],
  [0, 14],
  [14, 0],
  [5, 5],
] as const;

/** What git says about the objects. */
interface Expected {
  readonly theirs: readonly Buffer[];
  /** By number of the commit. */
  readonly trees: readonly string[];
  /** Of `comparedTrees`. */
  readonly diffs: readonly string[];
  /** Of the last commit. */
  readonly fileCount: number;
}

const expectedOnce = new Map<string, Expected>();

/** The same however the objects of a format are packed. */
function expectedOf(
  format: keyof typeof oidLengths,
  repository: GitFixture,
  commits: readonly string[],
  blobs: readonly string[],
): Expected {
  const known = expectedOnce.get(format);
  if (known !== undefined) return known;
  const trees = repository.git("log", "--reverse", "--format=%T", commits.at(-1) ?? "").split("\n");
  const diffOf = ([from, to]: (typeof comparedTrees)[number]): string => {
    const command = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", trees[from], trees[to]];
    return output(repository, ...command).toString("latin1");
  };
  const expected: Expected = {
    theirs: readBlobs(repository.path, blobs),
    trees,
    diffs: comparedTrees.map(diffOf),
    fileCount: repository.git("ls-tree", "-r", trees[14]).split("\n").length,
  };
  expectedOnce.set(format, expected);
  return expected;
}

for (const [name, format, repack, config] of kinds) {
  t.test(`objects are the same as git's: ${name}`, async (t) => {
    const flags = config.flatMap(([key, value]) => ["-c", `${key}=${value}`]);
    const { repository, commits } = grown(t, format);
    repository.git(...flags, "repack", "-adfqF", "--depth=50", "--window=50", ...repack);
    if (name.startsWith(loose)) unpack(repository);
    const packs = open(t, repository, format);
    const blobs = allBlobs(repository);
    const sizes = packs.blobSizes(blobs);
    const { theirs, trees, diffs, fileCount } = expectedOf(format, repository, commits, blobs);
    const others = blobs.filter((oid, i) => {
      const ours = Buffer.alloc(sizes[i]);
      return !packs.readBlob(oid, ours) || !ours.equals(theirs[i]);
    });
    t.same([blobs.length > 40, others], [true, []], "blobs");
    t.match(packs.readCommit(commits[3]), `tree ${trees[3]}`);
    t.same(
      packs.blobSizes(trees),
      trees.map(() => -1),
      "a tree is no blob",
    );
    for (const [at, [from, to]] of comparedTrees.entries()) {
      const pieces: Buffer[] = [];
      t.ok(packs.diffTrees(trees[from], trees[to], (piece) => pieces.push(Buffer.from(piece)) > 0));
      t.equal(Buffer.concat(pieces).toString("latin1"), diffs[at], `trees of ${from} and ${to}`);
    }
    const listed: Buffer[] = [];
    t.ok(packs.diffTrees(undefined, trees[14], (piece) => listed.push(Buffer.from(piece)) > 0));
    t.equal(Buffer.concat(listed).toString("latin1").split("\0:").length, fileCount, "all files beside an empty tree");
  });
}

t.test("loose objects beside packs, and missing ones, which are left to git", async (t) => {
  const { repository, commits } = packed(t, "sha1");
  const loose = writeBlob(repository, "loose");
  const missing = "0123456789".repeat(4);
  const [packedOid] = allBlobs(repository).filter((oid) => oid !== loose);
  const packs = open(t, repository, "sha1");
  t.same(packs.blobSizes([loose, missing]), [5, -1]);
  t.equal(packs.readCommit(missing), undefined);
  t.notOk(packs.diffTrees(undefined, missing, () => true));
  const size = packs.blobSizes([packedOid])[0];
  t.same(await blobSizes(repository.path, [missing, loose, packedOid], neverStop), [-1, 5, size]);
  const told: string[] = [];
  const options = { directory: repository.path, contentBytesMax: 100_000, silenceMs: 10_000, stop: neverStop };
  const zeros = repository.git("rev-parse", `${commits[0]}:zeros`);
  await readBlobsInOrder(options, [loose, packedOid, missing, zeros], (i, outcome) => {
    told[i] = outcome.kind === "content" ? `${outcome.content.length} bytes` : outcome.kind;
  });
  t.same(told, ["5 bytes", `${size} bytes`, "missing", "too-large"]);
  await t.rejects(
    readBlobsInOrder({ ...options, stop: () => true }, [packedOid], () => undefined),
    { code: "cancelled" },
  );
});

t.test("a file that is not that of a loose object yields nothing", (t) => {
  const { repository } = packed(t, "sha1");
  const oid = writeBlob(repository, "some text");
  const file = join(repository.path, "objects", oid.slice(0, 2), oid.slice(2));
  const sound = readFileSync(file);
  const packs = open(t, repository, "sha1");
  const room = Buffer.alloc(9);
  t.ok(packs.readBlob(oid, room));
  t.equal(room.toString(), "some text");
  chmodSync(file, 0o600);
  for (const [what, bytes] of [
    ["empty", Buffer.alloc(0)],
    ["short", sound.subarray(0, sound.length - 1)],
    ["not compressed", Buffer.from("blob 9\0some text")],
    ["no size", deflateSync("blob \0some text")],
    ["no number", deflateSync("blob 9x\0some text")],
    ["a signed number", deflateSync("blob -9\0some text")],
    ["no end of the head", deflateSync(`blob ${"9".repeat(40)}`)],
    ["another kind", deflateSync("clob 9\0some text")],
    ["more text", deflateSync("blob 9\0some text.")],
    ["less text", deflateSync("blob 9\0some tex")],
    ["another size", deflateSync("blob 8\0some text")],
    ["a size that nothing has", deflateSync(`blob ${"9".repeat(18)}\0some text`)],
  ] as const) {
    writeFileSync(file, bytes);
    packs.blobSizes([oid]);
    t.notOk(packs.readBlob(oid, Buffer.alloc(9)), what);
    t.equal(packs.readCommit(oid), undefined, what);
  }
  for (let bit = 0; bit < 8 * sound.length; bit++) {
    const bytes = Buffer.from(sound);
    bytes[bit >> 3] ^= 1 << (bit & 7);
    writeFileSync(file, bytes);
    const text = Buffer.alloc(9);
    if (packs.readBlob(oid, text) && text.toString() !== "some text") t.fail(`bit ${bit}`);
  }
  rmSync(file);
  execFileSync("mkfifo", [file]);
  t.same(packs.blobSizes([oid]), [-1], "a pipe, which would block");
  t.end();
});

function writeBlob(repository: GitFixture, text: string): string {
  return execFileSync("git", ["-C", repository.path, "hash-object", "-w", "--stdin"], { input: text })
    .toString()
    .trim();
}

t.test("texts are unpacked one after another", (t) => {
  const { repository } = packed(t, "sha1");
  writeBlob(repository, "\ufeffm\u00e4rz, behind a byte order mark");
  const packs = open(t, repository, "sha1");
  const missing = "0123456789".repeat(4);
  const oids = [missing, ...allBlobs(repository)];
  const expected = [undefined, ...readBlobs(repository.path, oids.slice(1))];
  const sizes = Uint32Array.from(expected, (text) => text?.length ?? 1);
  const kinds = new Uint32Array(oids.length);
  const kindOf = (text: Buffer | undefined): number => {
    if (text === undefined) return textKinds.notFound;
    const { kind, text: decoded } = textOfBlob(text);
    if (kind === "binary" && text[0] > 0 && text[1] > 0 && text[0] < 0xfe) return textKinds.binary;
    if (kind !== "text" || !decoded.equals(text)) return textKinds.notFound;
    return text.some((byte) => byte >= 128) ? textKinds.other : textKinds.ascii;
  };
  for (const pauseBytes of [0, 1000, 0xffff_ffff]) {
    const out = Buffer.alloc(4 << 20);
    let bytes = 0;
    for (let next = 0; next < oids.length; ) {
      const request = [
        Buffer.from(oids.slice(next).join(""), "hex"),
        sizes.subarray(next),
        out.subarray(bytes),
      ] as const;
      const { count, byteCount } = packs.readTexts(...request, pauseBytes, kinds.subarray(next));
      const large = sizes
        .subarray(next, next + count - 1)
        .findIndex((size, i) => size > pauseBytes && kinds[next + i] < 2);
      t.equal(large, -1, "it returns after a text of more than that");
      t.ok(count > 0);
      next += count;
      bytes += byteCount;
    }
    t.same([...kinds], expected.map(kindOf));
    const written = expected.filter((_, i) => kinds[i] < textKinds.binary) as Buffer[];
    t.ok(out.subarray(0, bytes).equals(Buffer.concat(written)), "without gaps");
  }
  const [first] = allBlobs(repository).filter((oid) => packs.blobSizes([oid])[0] > 1);
  const [size] = packs.blobSizes([first]);
  const read = (room: number, stated: number): number =>
    packs.readTexts(Buffer.from(first, "hex"), Uint32Array.of(stated), Buffer.alloc(room), 0, kinds).count;
  t.equal(read(size - 1, size), 0, "no room");
  t.equal(read(size, size - 1), 1);
  t.equal(kinds[0], textKinds.notFound, "another size");
  t.end();
});

t.test("loose trees are compared with packed ones", async (t) => {
  const { repository, commits } = packed(t, "sha1");
  // After the commits that were copied.
  const last = repository.commit({ branch: "main", files: { long: "short" }, seconds: 1_800_000_000 });
  const chain = await compareAlong(repository.path, commits[0], [last, commits[5]], 1000, neverStop);
  t.same(chain.commits, [commits[5], last]);
  t.same(
    chain.paths.get("long")?.map(({ from }) => from),
    [-1, 0, 1],
  );
});

/** Of each file. */
const damageCount = scaled(20, 150);

t.test("a damaged pack yields correct contents, or none", async (t) => {
  const { repository } = packed(t, "sha1");
  const blobs = allBlobs(repository);
  const packs = open(t, repository, "sha1");
  const sizes = packs.blobSizes(blobs);
  const texts = blobs.map((oid, i) => {
    const text = Buffer.alloc(sizes[i]);
    packs.readBlob(oid, text);
    return text;
  });
  const folder = join(repository.path, "objects", "pack");
  let readCount = 0;
  for (const extension of [".pack", ".idx"]) {
    const file = join(folder, readdirSync(folder).find((name) => name.endsWith(extension)) ?? "");
    chmodSync(file, 0o600);
    const sound = readFileSync(file);
    for (let round = 0; round < damageCount; round++) {
      const bytes = Buffer.from(sound);
      const place = (Math.imul(round + 1, 2_654_435_761) >>> 0) % sound.length;
      bytes[place] ^= 1 << (round % 8);
      writeFileSync(file, round % 5 === 0 ? bytes.subarray(0, place) : bytes);
      const damaged = StoredObjects.open(repository.path, 40, neverStop);
      for (const [i, oid] of blobs.entries()) {
        const size = damaged?.blobSizes([oid])[0] ?? -1;
        const text = Buffer.alloc(Math.max(0, Math.min(size, 1 << 20)));
        if (extension === ".pack" && size === sizes[i] && damaged?.readBlob(oid, text) === true) {
          readCount++;
          if (!text.equals(texts[i])) t.fail(`${oid} is another text in round ${round}`);
        } else damaged?.readBlob(oid, text);
      }
      damaged?.close();
    }
    writeFileSync(file, sound);
  }
  t.ok(readCount > 10 * damageCount, `most texts are not where the damage is: ${readCount}`);
});
