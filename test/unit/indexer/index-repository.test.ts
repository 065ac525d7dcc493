/** The entries of several branches, each with the branches that have it, and the documents that are made of them. */
import t from "tap";
import { neverStop } from "../../../src/base/stop-signal.js";
import { contentLimitsFor } from "../../../src/indexer/classify.js";
import { entriesOfBranches, indexEntries, noCounts, type Entry } from "../../../src/indexer/index-repository.js";
import { ShardOutput } from "../../../src/indexer/shard-output.js";
import type { IndexedBranch } from "../../../src/model/repository.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { fixture } from "../../support/git-mirror.js";

const kernel = loadKernel("ts");

/** `path mask`, with "!" for what is no file. */
const print = (entries: readonly Entry[]): string[] =>
  entries.map(({ path, branchMask, isFile }) => `${path.toString()}${isFile ? "" : "!"} ${branchMask}`).sort();

t.test("a path with the same blob on several branches is one entry", async (t) => {
  const source = fixture(t);
  const branches: IndexedBranch[] = [
    { name: "main", bit: 0, commit: source.commit({ branch: "main", files: { a: "one", b: "two", c: "main" } }) },
    { name: "dev", bit: 3, commit: source.commit({ branch: "dev", files: { a: "one", b: "other", d: "dev" } }) },
    { name: "old", bit: 5, commit: source.commit({ branch: "old", files: { a: { executable: "one" }, c: "main" } }) },
  ];
  const { entries, missingTreeCount } = await entriesOfBranches(source.path, branches, neverStop);
  t.same(print(entries), ["a 41", "b 1", "b 8", "c 33", "d 8"]);
  t.equal(missingTreeCount, 0);
  t.same(print((await entriesOfBranches(source.path, branches.slice(1, 2), neverStop)).entries), ["a 8", "b 8", "d 8"]);
});

t.test("a link and a file with the same bytes are two entries", async (t) => {
  const source = fixture(t);
  const branches: IndexedBranch[] = [
    { name: "main", bit: 0, commit: source.commit({ branch: "main", files: { a: { symlink: "one" } } }) },
    { name: "dev", bit: 1, commit: source.commit({ branch: "dev", files: { a: "one" } }) },
  ];
  t.same(print((await entriesOfBranches(source.path, branches, neverStop)).entries), ["a 2", "a! 1"]);
});

t.test("each blob is read once, and what has no text in the index is counted by its reason", async (t) => {
  const source = fixture(t);
  const files = {
    "a.txt": "one",
    "copy/a.txt": "one",
    binary: "\0",
    large: "x".repeat(2_000),
    link: { symlink: "a.txt" },
    slow: "takes too long",
    "link-to-slow": { symlink: "takes too long" },
  };
  const commit = source.commit({ branch: "main", files });
  const { entries } = await entriesOfBranches(source.path, [{ name: "main", bit: 0, commit }], neverStop);
  const sizes: number[] = [];
  const store = {
    put: async (shards: readonly { readonly bytes: Buffer }[]) => void sizes.push(shards.length),
    putSymbols: () => Promise.resolve(),
    onBuild: () => undefined,
  };
  const output = new ShardOutput(kernel, store, new Int32Array(new SharedArrayBuffer(4)));
  const counts = noCounts();
  const reads = { blobCount: 0, byteCount: 0 };
  const limits = contentLimitsFor({ fileBytesMax: 1_000, largeFiles: [], trigramCountMax: 1_000 });
  await indexEntries(
    entries,
    {
      mirror: source.path,
      repositoryId: 7,
      output,
      kernel,
      limits,
      stop: neverStop,
      reads,
      onProgress: () => undefined,
      onFile: () => undefined,
      quarantined: new Set([source.git("rev-parse", "main:slow")]),
      withSubmodules: false,
    },
    counts,
  );
  await output.flush();
  t.same(counts, {
    documentCount: 7,
    contentBytes: 3,
    skippedCounts: { binary: 1, "too-large": 1, "not-regular": 2, quarantined: 1 },
  });
  t.equal(sizes.length, 1);
  t.match(output.records, [{ documentCount: 7, contentBytes: 3, repositoryIds: [7] }]);
  t.same(reads, { blobCount: 3, byteCount: 4 });
});
