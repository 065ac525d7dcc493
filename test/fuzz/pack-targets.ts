import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { neverStop } from "../../src/base/stop-signal.js";
import { StoredObjects } from "../../src/git/objects/stored-objects.js";
import { Packs } from "../../src/native/packs/packs.js";
import { GitFixture } from "../support/git-fixture.js";
import { copy, deltaOf, insert, treeOf, writePack, type PackedObject } from "../support/pack-writer.js";
import { mutated, pick, type Random } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";

/** A pack and its index in one input: the length of the index, the index, the pack. */
function joined(index: Buffer, pack: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(index.length);
  return Buffer.concat([length, index, pack]);
}

function parted(input: Buffer): { index: Buffer; pack: Buffer } {
  const length = input.length < 4 ? 0 : input.readUInt32LE();
  return { index: input.subarray(4, 4 + length), pack: input.subarray(4 + length) };
}

/** What git says of every object of its own pack. */
interface Truth {
  readonly index: Buffer;
  readonly pack: Buffer;
  readonly texts: ReadonlyMap<string, Buffer>;
  readonly trees: readonly string[];
}

let known: Truth | undefined;

/** Made once, by git: some commits with deltas, small enough for many inputs. */
function truth(): Truth {
  known ??= makeTruth();
  return known;
}

/** The objects of the last commits of this checkout; those of `truth` where it has no history. */
function realTruth(): Truth {
  real ??= makeRealTruth() ?? truth();
  return real;
}

let real: Truth | undefined;

const realCommits = 8;

function makeRealTruth(): Truth | undefined {
  const repository = GitFixture.create("bare");
  try {
    const revisions = `HEAD\n^HEAD~${realCommits}\n`;
    const packed = execFileSync("git", ["pack-objects", "--revs", "--stdout", "-q"], {
      input: revisions,
      maxBuffer: 1 << 26,
    });
    execFileSync("git", ["-C", repository.path, "index-pack", "--stdin"], { input: packed });
    return readTruth(repository);
  } catch {
    return undefined;
  } finally {
    repository.remove();
  }
}

function makeTruth(): Truth {
  const repository = GitFixture.create("bare");
  try {
    const lines = (changed: number): string =>
      Array.from({ length: 60 }, (_, i) => (i === changed ? `changed ${i}` : `line ${i} of some text`)).join("\n");
    for (let i = 0; i < 8; i++)
      repository.commit({
        branch: "main",
        files: [
          ["long", lines(i)],
          [`dir/${i}/file`, `text ${i}\n`],
          ["dir/zeros", Buffer.alloc(1000 + i)],
        ],
      });
    repository.git("repack", "-adfq", "--depth=50", "--window=50");
    return readTruth(repository);
  } finally {
    repository.remove();
  }
}

function readTruth(repository: GitFixture): Truth {
  const folder = join(repository.path, "objects", "pack");
  const fileOf = (extension: string): Buffer =>
    readFileSync(join(folder, readdirSync(folder).find((name) => name.endsWith(extension)) ?? ""));
  const all = execFileSync("git", ["-C", repository.path, "cat-file", "--batch-all-objects", "--batch"], {
    maxBuffer: 1 << 28,
  });
  const texts = new Map<string, Buffer>();
  const trees: string[] = [];
  for (let at = 0; at < all.length; ) {
    const lineEnd = all.indexOf(10, at);
    const [oid, type, size] = all.toString("latin1", at, lineEnd).split(" ");
    if (type === "tree") trees.push(oid);
    if (type === "blob") texts.set(oid, Buffer.from(all.subarray(lineEnd + 1, lineEnd + 1 + Number(size))));
    at = lineEnd + 1 + Number(size) + 1;
  }
  return { index: fileOf(".idx"), pack: fileOf(".pack"), texts, trees };
}

/** Some of the objects do not fit. */
const smallBudget = 64 << 10;

let scratch: string | undefined;

/** A bare folder with this one pack; used for input after input. */
function packFolder({ index, pack }: { index: Buffer; pack: Buffer }): string {
  if (scratch === undefined) {
    const made = mkdtempSync(join(tmpdir(), "trawl-fuzz-"));
    process.once("exit", () => rmSync(made, { recursive: true, force: true }));
    mkdirSync(join(made, "objects", "pack"), { recursive: true });
    scratch = made;
  }
  writeFileSync(join(scratch, "objects", "pack", "pack-a.idx"), index);
  writeFileSync(join(scratch, "objects", "pack", "pack-a.pack"), pack);
  return scratch;
}

/** A blob that is read is the one that git wrote, or it is not found. The index is git's own. */
function compareBlobs(packs: StoredObjects, texts: ReadonlyMap<string, Buffer>): void {
  const oids = [...texts.keys()];
  const sizes = packs.blobSizes(oids);
  for (const [i, oid] of oids.entries()) {
    const text = texts.get(oid);
    if (sizes[i] < 0 || sizes[i] > 1 << 20) continue;
    const out = Buffer.alloc(sizes[i]);
    const isRead = packs.readBlob(oid, out);
    if (isRead && sizes[i] === text?.length && !out.equals(text)) throw new RangeError(`${oid} is another text`);
  }
}

function compareTrees(packs: StoredObjects, trees: readonly string[]): void {
  for (const tree of trees) {
    let pieceCount = 0;
    packs.diffTrees(undefined, tree, () => ++pieceCount < 100);
    packs.diffTrees(trees[0], tree, () => ++pieceCount < 100);
  }
}

function readAll(input: Buffer, isIndexTrue: boolean, { texts, trees } = truth()): void {
  const folder = packFolder(parted(input));
  const packs = StoredObjects.open(folder, 40, neverStop);
  if (packs === undefined) return;
  try {
    compareBlobs(packs, isIndexTrue ? texts : new Map([...texts.keys()].map((oid) => [oid, Buffer.alloc(0)])));
    compareTrees(packs, trees);
  } finally {
    packs.close();
  }
}

const hostileOids = Array.from({ length: 12 }, (_, i) => (i + 1).toString(16).padStart(40, "0"));

/** Objects that no git would write: wrong sizes, deltas on anything, trees of anything. */
function hostileObjects(random: Random): PackedObject[] {
  return hostileOids.map((oid): PackedObject => {
    const claimedBytes = random(3) === 0 ? [0, 1, 100, 1000, 2 ** 20, 2 ** 30, 2 ** 34][random(7)] : undefined;
    switch (random(4)) {
      case 0:
        return {
          type: pick(random, ["commit", "tree", "blob", "tag"] as const),
          content: Buffer.alloc(random(200), random(256)),
          oid,
          claimedBytes,
        };
      case 1:
        return { type: "tree", content: hostileTree(random), oid, claimedBytes };
      case 2:
        return { type: "oid-delta", base: pick(random, hostileOids), content: hostileDelta(random), oid, claimedBytes };
      default:
        return { type: "blob", content: Buffer.alloc(100, 97), oid };
    }
  });
}

function hostileTree(random: Random): Buffer {
  const names = ["a", "b", ".", "..", ".git", "a/b", "\n", "é", "", "n".repeat(300)];
  const tree = treeOf(
    Array.from(
      { length: random(5) },
      () =>
        [
          pick(random, ["40000", "100644", "120000", "160000", "0", "999", "7777777"]),
          pick(random, names),
          pick(random, hostileOids),
        ] as const,
    ),
  );
  return random(4) === 0 ? mutated(random, tree) : tree;
}

function hostileDelta(random: Random): Buffer {
  const commands = Array.from({ length: random(6) }, () =>
    random(2) === 0 ? copy(random(120), random(120)) : insert(Buffer.alloc(1 + random(20), 98)),
  );
  const delta = deltaOf(random(2) === 0 ? 100 : random(300), random(2) === 0 ? 100 : random(2 ** 31), ...commands);
  return random(4) === 0 ? mutated(random, delta) : delta;
}

function readHostile(input: Buffer): void {
  const folder = join(packFolder(parted(input)), "objects", "pack");
  const packs = Packs.open(
    join(folder, ".."),
    [{ index: join(folder, "pack-a.idx"), pack: join(folder, "pack-a.pack") }],
    {
      oidBytes: 20,
      memoryBytesMax: smallBudget,
      stop: neverStop,
    },
  );
  if (packs === undefined) return;
  try {
    const oids = Buffer.from(hostileOids.join(""), "hex");
    const described = packs.describe(oids, hostileOids.length);
    for (let i = 0; i < hostileOids.length; i++) {
      const oid = oids.subarray(20 * i, 20 * i + 20);
      packs.read(oid, Buffer.alloc(Math.min(described[2 * i + 1], 1 << 20)));
      let pieceCount = 0;
      packs.diff(Buffer.concat([Buffer.alloc(20), oid]), Buffer.alloc(4096), () => ++pieceCount < 200);
    }
  } finally {
    packs.close();
  }
}

function hostilePack(random: Random): Buffer {
  const folder = packFolder({ index: Buffer.alloc(0), pack: Buffer.alloc(0) });
  writePack(folder, hostileObjects(random), "a");
  const fileOf = (extension: string): Buffer => readFileSync(join(folder, "objects", "pack", `pack-a.${extension}`));
  return joined(fileOf("idx"), fileOf("pack"));
}

export const packTargets: readonly FuzzTarget[] = [
  {
    name: "pack",
    cpuMsMax: 200,
    testCount: 60,
    make: (random) => joined(truth().index, mutated(random, truth().pack)),
    run: (input) => readAll(input, parted(input).index.equals(truth().index)),
  },
  {
    name: "pack-index",
    cpuMsMax: 200,
    testCount: 60,
    make: (random) => joined(mutated(random, truth().index), truth().pack),
    run: (input) => readAll(input, false),
  },
  {
    name: "pack-real",
    cpuMsMax: 1000,
    testCount: 10,
    make: (random) => joined(realTruth().index, mutated(random, realTruth().pack)),
    run: (input) => readAll(input, parted(input).index.equals(realTruth().index), realTruth()),
  },
  { name: "pack-objects", cpuMsMax: 500, testCount: 60, make: hostilePack, run: readHostile },
];
