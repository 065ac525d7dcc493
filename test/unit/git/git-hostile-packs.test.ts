/**
 * Packs made to exhaust whoever reads them: what they claim is not believed, and what they unpack to is bounded. Sizes
 * here are what such objects unpack to; the packs themselves have a few kilobytes.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { neverStop, stopWhenSet, type StopSignal } from "../../../src/base/stop-signal.js";
import { parseCommitHeader } from "../../../src/git/objects/commit-header.js";
import { StoredObjects } from "../../../src/git/objects/stored-objects.js";
import { compareAlong } from "../../../src/git/objects/tree-chain.js";
import { Packs } from "../../../src/native/packs/packs.js";
import { GitFixture } from "../../support/git-fixture.js";
import { copy, deltaOf, insert, oidOf, treeOf, writePack, type PackedObject } from "../../support/pack-writer.js";

const mebibyte = 1 << 20;

/** A repository whose only pack contains these objects. */
function repositoryOf(t: Test, objects: readonly PackedObject[]): GitFixture {
  const repository = GitFixture.create("bare");
  t.teardown(() => repository.remove());
  writePack(repository.path, objects);
  return repository;
}

function open(t: Test, repository: GitFixture, stop: StopSignal = neverStop): StoredObjects {
  const packs = StoredObjects.open(repository.path, 40, stop);
  if (packs === undefined) throw t.error(new Error("the addon is not built"));
  t.teardown(() => packs.close());
  return packs;
}

/** By how much the resident memory of this process grows at most while `act` runs. */
function grownBytes(act: () => void): number {
  // Forgets the earlier peak, which is above what is resident now if the collector has freed some since.
  writeFileSync("/proc/self/clear_refs", "5");
  const before = statusBytes("VmRSS");
  act();
  return Math.max(0, statusBytes("VmHWM") - before);
}

function statusBytes(name: string): number {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return Number(kib) * 1024;
}

const sumOf = (number: number): string => number.toString(16).padStart(40, "0");

/** A chain of deltas on 16 MiB of zeros, each of which doubles its base. The last one copies one MiB of 1 GiB. */
function deltaBomb(): PackedObject[] {
  const baseBytes = 16 * mebibyte - 1;
  const objects: PackedObject[] = [{ type: "blob", content: Buffer.alloc(baseBytes), oid: sumOf(1) }];
  let byteCount = baseBytes;
  for (let step = 2; step <= 7; step++) {
    const copies = Array.from({ length: 2 ** (step - 1) }, (_, i) =>
      copy((i % 2 ** (step - 2)) * baseBytes, baseBytes),
    );
    objects.push({
      type: "oid-delta",
      base: sumOf(step - 1),
      oid: sumOf(step),
      content: deltaOf(byteCount, 2 * byteCount, ...copies),
    });
    byteCount *= 2;
  }
  objects.push({
    type: "oid-delta",
    base: sumOf(7),
    oid: sumOf(8),
    content: deltaOf(byteCount, mebibyte, copy(0, mebibyte)),
  });
  return objects;
}

t.test("deltas that double their base fit into the memory budget, or are left to git", async (t) => {
  const packs = open(t, repositoryOf(t, deltaBomb()));
  const out = Buffer.alloc(mebibyte);
  const grown = grownBytes(() => {
    t.same(packs.blobSizes([sumOf(8)]), [mebibyte], "its size is told by its first bytes");
    t.equal(packs.readBlob(sumOf(8), out), false);
  });
  t.ok(grown < 160 * mebibyte, `${Math.round(grown / mebibyte)} MiB`);
  const second = Buffer.alloc(2 * (16 * mebibyte - 1), 1);
  t.equal(packs.readBlob(sumOf(2), second), true, "one that fits is read");
  t.equal(second.equals(Buffer.alloc(second.length)), true);
});

t.test("reading the size of a delta unpacks only its first bytes", async (t) => {
  const delta = deltaOf(10, 7, Buffer.concat(Array.from({ length: 80_000 }, () => insert(Buffer.alloc(127)))));
  const objects: PackedObject[] = [{ type: "blob", content: Buffer.alloc(10), oid: sumOf(1) }];
  objects.push({ type: "oid-delta", base: sumOf(1), oid: sumOf(2), content: delta });
  const packs = open(t, repositoryOf(t, objects));
  const count = 2000;
  const cpu = process.cpuUsage();
  t.same(packs.blobSizes(new Array<string>(count).fill(sumOf(2))), new Array<number>(count).fill(7));
  const ms = process.cpuUsage(cpu).user / 1000;
  t.ok(ms < 500, `${count} times 10 MB take ${ms.toFixed(1)} ms`);
});

t.test("the declared size of an object is not trusted", async (t) => {
  const repository = repositoryOf(t, [
    { type: "blob", content: Buffer.from("small"), oid: sumOf(1), claimedBytes: 2 ** 30 - 1 },
    { type: "blob", content: Buffer.from("small"), oid: sumOf(2), claimedBytes: 4 },
    { type: "blob", content: Buffer.from("small"), oid: sumOf(3), claimedBytes: 600 },
    { type: "tree", content: Buffer.alloc(0), oid: sumOf(4), claimedBytes: 2 ** 34 },
    { type: "oid-delta", base: sumOf(2), oid: sumOf(5), content: deltaOf(5, 2 ** 32, copy(0, 5)) },
    {
      type: "oid-delta",
      base: sumOf(2),
      oid: sumOf(6),
      content: deltaOf(5, 2 ** 30, copy(0, 5)),
      claimedBytes: 2 ** 29,
    },
    { type: "oid-delta", base: sumOf(2), oid: sumOf(7), content: Buffer.from([0x85]) },
    { type: "oid-delta", base: sumOf(2), oid: sumOf(8), content: Buffer.alloc(40, 0xff) },
  ]);
  const packs = open(t, repository);
  const sizes = packs.blobSizes([1, 2, 3, 4, 5, 6, 7, 8].map(sumOf));
  t.same(sizes, [-1, 4, 600, -1, -1, -1, -1, -1]);
  t.equal(packs.readBlob(sumOf(2), Buffer.alloc(4)), false, "too short");
  t.equal(packs.readBlob(sumOf(3), Buffer.alloc(600)), false, "too long");
});

t.test("deltas in a cycle, or without a base, are not found", async (t) => {
  const repository = repositoryOf(t, [
    { type: "oid-delta", base: sumOf(2), oid: sumOf(1), content: deltaOf(5, 5, copy(0, 5)) },
    { type: "oid-delta", base: sumOf(1), oid: sumOf(2), content: deltaOf(5, 5, copy(0, 5)) },
    { type: "oid-delta", base: sumOf(3), oid: sumOf(3), content: deltaOf(5, 5, copy(0, 5)) },
    { type: "oid-delta", base: sumOf(99), oid: sumOf(4), content: deltaOf(5, 5, copy(0, 5)) },
  ]);
  const packs = open(t, repository);
  for (const oid of [1, 2, 3, 4].map(sumOf)) {
    t.same(packs.blobSizes([oid]), [-1]);
    t.equal(packs.readBlob(oid, Buffer.alloc(5)), false);
  }
});

t.test("chains of deltas are followed up to the length that git creates", async (t) => {
  const objects: PackedObject[] = [{ type: "blob", content: Buffer.from("start"), oid: sumOf(1) }];
  for (let i = 2; i < 5000; i++)
    objects.push({
      type: "oid-delta",
      base: sumOf(i - 1),
      oid: sumOf(i),
      content: deltaOf(5, 5, copy(0, 4), insert(Buffer.from([97 + (i % 26)]))),
    });
  const packs = open(t, repositoryOf(t, objects));
  const out = Buffer.alloc(5);
  t.equal(packs.readBlob(sumOf(4999), out), false);
  t.same(packs.blobSizes([sumOf(4999)]), [-1]);
  t.ok(packs.readBlob(sumOf(4000), out));
  t.equal(out.toString(), `star${String.fromCharCode(97 + (4000 % 26))}`);
});

/** `levels` trees, each of which contains the next one `width` times; the last one contains a file. */
function treeBomb(levels: number, width: number): { objects: PackedObject[]; root: string } {
  const objects: PackedObject[] = [{ type: "blob", content: Buffer.from("leaf") }];
  let entry: readonly [string, string] = ["100644", oidOf("blob", Buffer.from("leaf"))];
  for (let level = 0; level < levels; level++) {
    const content = treeOf(
      Array.from({ length: width }, (_, i) => [entry[0], `d${String(i).padStart(2, "0")}`, entry[1]]),
    );
    objects.push({ type: "tree", content });
    entry = ["40000", oidOf("tree", content)];
  }
  return { objects, root: entry[1] };
}

function commitOf(tree: string, seconds: number): Buffer {
  return Buffer.from(
    `tree ${tree}\nauthor A <a@example.org> ${seconds} +0000\ncommitter A <a@example.org> ${seconds} +0000\n\nhostile\n`,
  );
}

t.test("trees that contain one another ten times end with an error", async (t) => {
  const { objects, root } = treeBomb(10, 10);
  const commit = commitOf(root, 1_700_000_000);
  const repository = repositoryOf(t, [...objects, { type: "commit", content: commit }]);
  const cpu = process.cpuUsage();
  await t.rejects(compareAlong(repository.path, undefined, [oidOf("commit", commit)], 1000, neverStop), {
    code: "git",
    message: /more than 500000 paths/,
  });
  const ms = process.cpuUsage(cpu).user / 1000;
  t.ok(ms < 10_000, `${ms.toFixed(0)} ms`);
});

t.test("walks over trees without a file are limited", async (t) => {
  const empty = { type: "tree", content: Buffer.alloc(0) } as const;
  const objects: PackedObject[] = [empty];
  let below = oidOf("tree", empty.content);
  for (let level = 0; level < 12; level++) {
    const content = treeOf(Array.from({ length: 10 }, (_, i) => ["40000", `d${i}`, below]));
    objects.push({ type: "tree", content });
    below = oidOf("tree", content);
  }
  const packs = open(t, repositoryOf(t, objects));
  t.throws(() => packs.diffTrees(undefined, below, () => true), { code: "git", message: /16777216 entries/ });
});

t.test("a tree that contains itself, and one that is deeper than git allows, are left to git", async (t) => {
  const itself = sumOf(1);
  const objects: PackedObject[] = [
    { type: "tree", content: treeOf([["40000", "d", itself]]), oid: itself },
    { type: "blob", content: Buffer.from("leaf") },
  ];
  let below: readonly [string, string] = ["100644", oidOf("blob", Buffer.from("leaf"))];
  for (let level = 0; level < 2_100; level++) {
    const content = treeOf([[below[0], "d", below[1]]]);
    objects.push({ type: "tree", content });
    below = ["40000", oidOf("tree", content)];
  }
  const packs = open(t, repositoryOf(t, objects));
  t.equal(
    packs.diffTrees(undefined, itself, () => true),
    false,
  );
  t.equal(
    packs.diffTrees(undefined, below[1], () => true),
    false,
  );
});

t.test("the trees of one path fit into the budget together", async (t) => {
  const name = "n".repeat(8 * mebibyte);
  const objects: PackedObject[] = [];
  let below = "1".repeat(40);
  for (let level = 0; level < 10; level++) {
    const content = treeOf([
      ["40000", "a", below],
      ["100644", name, "2".repeat(40)],
    ]);
    objects.push({ type: "tree", content });
    below = oidOf("tree", content);
  }
  const packs = open(t, repositoryOf(t, objects));
  const grown = grownBytes(() =>
    t.equal(
      packs.diffTrees(undefined, below, () => true),
      false,
    ),
  );
  t.ok(grown < 160 * mebibyte, `${Math.round(grown / mebibyte)} MiB`);
});

t.test("a nonzero stop word stops each call", async (t) => {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const { objects, root } = treeBomb(10, 10);
  const packs = open(t, repositoryOf(t, [...objects, ...deltaBomb()]), stopWhenSet(new Int32Array(1), word));
  let pieceCount = 0;
  t.throws(
    () =>
      packs.diffTrees(undefined, root, () => {
        if (++pieceCount === 3) Atomics.store(word, 0, 1);
        return true;
      }),
    { code: "cancelled" },
  );
  t.equal(pieceCount, 3);
  t.throws(() => packs.blobSizes([sumOf(1)]), { code: "cancelled" });
  t.throws(() => packs.readBlob(sumOf(2), Buffer.alloc(2 * (16 * mebibyte - 1))), { code: "cancelled" });
});

/** Native loops check the words themselves: here the function returns false although the word is set. */
t.test("native loops check the stop words", async (t) => {
  const word = new Int32Array(new SharedArrayBuffer(4)).fill(1);
  const stop = Object.assign(() => false, { words: [word] });
  const { objects, root } = treeBomb(10, 10);
  const packs = open(t, repositoryOf(t, [...objects, ...deltaBomb()]), stop);
  t.throws(() => packs.blobSizes([sumOf(1)]), { code: "cancelled" });
  t.throws(() => packs.readBlob(sumOf(1), Buffer.alloc(16 * mebibyte - 1)), { code: "cancelled" });
  t.throws(() => packs.readBlob(sumOf(2), Buffer.alloc(2 * (16 * mebibyte - 1))), { code: "cancelled" });
  t.throws(() => packs.diffTrees(undefined, root, () => true), { code: "cancelled" });
});

/** Runs with too little system memory for the larger texts of the bomb, which fit into the budget. */
function readWithoutMemory(repository: string): string {
  const code = `const { Packs } = await import(${JSON.stringify(new URL("../../../src/native/packs/packs.js", import.meta.url).href)});
    const folder = ${JSON.stringify(join(repository, "objects", "pack"))};
    const files = [{ index: folder + "/pack-hostile.idx", pack: folder + "/pack-hostile.pack" }];
    const packs = Packs.open(folder, files, { oidBytes: 20, memoryBytesMax: 2 ** 32 - 1, stop: () => false });
    try {
      process.stdout.write(String(packs.read(Buffer.from("${sumOf(8)}", "hex"), Buffer.alloc(${mebibyte}))));
    } catch (error) {
      process.stdout.write(error.code);
    }`;
  const shell = 'ulimit -d 1048576 && exec "$0" --input-type=module -e "$1"';
  return execFileSync("bash", ["-c", shell, process.execPath, code], { encoding: "utf8" }).trim();
}

t.test("if the system is out of memory, a call throws and the process survives", async (t) => {
  const repository = repositoryOf(t, deltaBomb());
  t.equal(readWithoutMemory(repository.path), "ERR_MEMORY_ALLOCATION_FAILED");
});

t.test("calls with invalid arguments throw", async (t) => {
  const repository = repositoryOf(t, [{ type: "blob", content: Buffer.from("text") }]);
  const folder = join(repository.path, "objects", "pack");
  const files = [{ index: join(folder, "pack-hostile.idx"), pack: join(folder, "pack-hostile.pack") }];
  const packs = Packs.open(folder, files, { oidBytes: 20, memoryBytesMax: 1024, stop: neverStop });
  const out = Buffer.alloc(4);
  t.ok(packs?.read(Buffer.from(oidOf("blob", Buffer.from("text")), "hex"), out));
  t.throws(() => packs?.read(Buffer.alloc(3), out), { name: "TypeError" });
  packs?.close();
  t.throws(() => packs?.read(Buffer.alloc(20), out), { name: "TypeError" });
  t.throws(() => packs?.describe(Buffer.alloc(20), 1), { name: "TypeError" });
});

t.test("the head of a commit", async (t) => {
  const tree = "a".repeat(40);
  const text = (committer: string): string =>
    `tree ${tree}\nparent ${tree}\nauthor A <a> 1 +0000\ncommitter ${committer}\n\nmessage\ncommitter B <b> 5 +0000\n`;
  const rows: readonly (readonly [committer: string, seconds: number | undefined])[] = [
    ["A <a@example.org> 1700000000 +0000", 1_700_000_000],
    ["A <a> b> 12 -0130", 12],
    [" <> 0 +0000", 0],
    ["A <a> 1700000000", undefined],
    ["A <a> -5 +0000", undefined],
    ["A <a> 9999999999999999999 +0000", undefined],
    ["A a 12 +0000", undefined],
    ["", undefined],
  ];
  for (const [committer, seconds] of rows)
    t.equal(parseCommitHeader(text(committer))?.committedSeconds, seconds, committer);
  t.same(parseCommitHeader(text("A <a> 1 +0000")), { tree, committedSeconds: 1 });
  for (const broken of [
    "",
    "\n",
    "tree \n",
    `tree ${tree}`,
    `tree ${tree}\n\ncommitter A <a> 1 +0000\n`,
    `parent ${tree}\ntree ${tree}\ncommitter A <a> 1 +0000\n\n`,
  ]) {
    t.equal(parseCommitHeader(broken), undefined, JSON.stringify(broken));
  }
  const cpu = process.cpuUsage();
  parseCommitHeader(text("> 1 ".repeat(250_000)));
  parseCommitHeader(`tree ${tree}\n${"committer A <a> 1\n".repeat(60_000)}`);
  const ms = process.cpuUsage(cpu).user / 1000;
  t.ok(ms < 2_000, `${ms.toFixed(0)} ms; quadratic work takes minutes`);
});
